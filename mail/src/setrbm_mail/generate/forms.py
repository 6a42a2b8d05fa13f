"""Layouts of forms, questionnaires, invoices and receipts."""

from __future__ import annotations

from setrbm_mail.generate import vocabulary
from setrbm_mail.generate.parts import field, footer, person_lines, table
from setrbm_mail.generate.sheet import Sheet
from setrbm_mail.generate.writing import money

FORM_TITLES = {
    "a": ("Declaration sheet", "Entry sheet", "Master sheet 12-B"),
    "b": ("Customer form", "Service request form", "Contact form", "Form 27", "Request form"),
}
REMARKS = {
    "a": ("Annotations", "In your own words"),
    "b": ("Your message to us", "Remarks", "Details", "Description", "Reason for writing"),
}
# Labels of form fields and what fills them.
FIELDS = {
    "a": (
        ("Surname, given name", "{name}"),
        ("Dwelling", "{street}"),
        ("Town", "{city}"),
        ("Born on", "{birthday}"),
        ("Callable under", "{phone}"),
        ("Contract mark", "{number}"),
        ("Occupation held", "{job}"),
        ("Set up in", "{year}"),
    ),
    "b": (
        ("Name", "{name}"),
        ("Street and number", "{street}"),
        ("City", "{city}"),
        ("Date of birth", "{birthday}"),
        ("Telephone", "{phone}"),
        ("Policy number", "{number}"),
        ("Customer since", "{year}"),
        ("Occupation", "{job}"),
        ("Product", "{product}"),
        ("Contact person", "{name}"),
    ),
}
CHECKS = {
    "a": ("Reachable by day", "Paperless wanted", "Copy kept", "First time"),
    "b": (
        "I agree to be contacted by phone",
        "Copies enclosed",
        "Please send a confirmation",
        "I have read the privacy notice",
        "Reply by e-mail",
        "Documents to follow",
    ),
}


def form(sheet: Sheet) -> None:
    """Draw a form with filled fields, check boxes and a text field."""
    writer = sheet.writer
    boxed, hand = sheet.pick((False, True), (True, True, False)), sheet.chance(0.4)
    columns = sheet.pick((1, 3), (2,))
    y = _form_head(sheet, writer.of(FORM_TITLES))
    order = writer.rng.permutation(len(FIELDS[writer.style]))[: int(sheet.rng.integers(5, 9))]
    width = (sheet.width - 112) / columns
    for k, n in enumerate(order):
        label, pattern = FIELDS[writer.style][n]
        place = 56 + width * (k % columns), y + 32 * (k // columns)
        field(sheet, *place, width - 14, label, writer.filled(pattern), hand=hand, boxed=boxed)
    y += 32 * -(-len(order) // columns) + 16
    y = _check_list(sheet, y)
    y = _text_field(sheet, y, boxed)
    sheet.put(56, y + 46, sheet.pick(("Place, day", "Given on"), ("Date", "City, date")) + f": {writer.date()}", 9)
    sheet.canvas.line(330, y + 48, sheet.width - 56, y + 48)
    sheet.put(330, y + 58, sheet.pick(("Undersigned",), ("Signature", "Signature of customer")), 7)
    sheet.signature(340, y + 42)


def _form_head(sheet: Sheet, title: str) -> float:
    """Draw the title of a form in one of several ways; return the first baseline below it."""
    canvas, width = sheet.canvas, sheet.width
    kind = sheet.pick(("plain", "right"), ("bar", "logo", "boxed"))
    if kind == "bar":
        canvas.fill(56, 52, width - 56, 86, 70)
        sheet.put(66, 75, title, 17, bold=True, gray=255)
    elif kind == "logo":
        sheet.logo(width - 96, 44, 36)
        sheet.put(56, 70, title, 19, bold=True)
        sheet.put(56, 88, sheet.writer.of(vocabulary.INSURERS), 9)
    elif kind == "boxed":
        canvas.box(56, 48, width - 56, 92, 1.2)
        sheet.put(width / 2, 76, title, 17, bold=True, align="center")
    elif kind == "right":
        sheet.put(width - 56, 72, title, 18, bold=True, align="right")
        canvas.line(56, 82, width - 56, 82, 2)
    else:
        sheet.put(56, 72, title.upper(), 15, bold=True)
    return 120.0


def _check_list(sheet: Sheet, y: float) -> float:
    for n in sheet.rng.permutation(len(CHECKS[sheet.writer.style]))[: int(sheet.rng.integers(2, 5))]:
        sheet.canvas.check_box(58, y, 9, sheet.chance(0.5))
        sheet.put(76, y - 1, CHECKS[sheet.writer.style][n], 9)
        y += 17
    return y + 10


def _text_field(sheet: Sheet, y: float, boxed: bool) -> float:
    """Draw the field for free text, where the subject of the page is written."""
    sheet.put(56, y, f"{sheet.writer.of(REMARKS)}: {sheet.writer.title()}", 9.5, bold=True)
    text = " ".join(sheet.writer.sentences(int(sheet.rng.integers(4, 8))))
    bottom = sheet.flow(64, y + 20, sheet.width - 128, text, 10)
    if boxed:
        sheet.canvas.box(56, y + 6, sheet.width - 56, bottom, 0.7, 60)
    return bottom


# --- questionnaires ---

SCALE = {"a": ("++", "+", "-", "--"), "b": ("1", "2", "3", "4", "5")}


def questionnaire(sheet: Sheet) -> None:
    """Draw questions, each with a row of boxes to check."""
    writer = sheet.writer
    y = _form_head(
        sheet, sheet.pick(("Opinion sheet", "Poll"), ("Customer survey", "Questionnaire", "Your opinion counts"))
    )
    y = sheet.flow(56, y, sheet.width - 112, writer.filler("notice"), 9.5) + 14
    in_rows = sheet.pick((False, True), (True, True, False))
    for n in range(int(sheet.rng.integers(8, 13))):
        if y > sheet.height - 90:
            break
        width = 300 if in_rows else sheet.width - 112
        bottom = sheet.flow(56, y, width, f"{n + 1}. {writer.filler('question')}", 10)
        _answers(sheet, 370 if in_rows else 74, y if in_rows else bottom + 2)
        y = bottom + (14 if in_rows else 30)
    sheet.put(56, sheet.height - 60, sheet.pick(("Done!",), ("Thank you for taking part.",)), 9)


def _answers(sheet: Sheet, x: float, y: float) -> None:
    marks = SCALE[sheet.writer.style]
    chosen = int(sheet.rng.integers(len(marks)))
    for k, mark in enumerate(marks):
        sheet.canvas.check_box(x + 34 * k, y, 9, k == chosen)
        sheet.put(x + 34 * k + 13, y - 1, mark, 8.5)


# --- invoices and receipts ---

INVOICE_WORDS = {
    "a": (
        ("Bill", "Article", "Qty.", "Each", "Sum", "Payable"),
        ("Statement of charges", "What", "No.", "Rate", "Value", "Grand total"),
    ),
    "b": (
        ("INVOICE", "Description", "Quantity", "Unit price", "Amount", "Total due"),
        ("Invoice", "Item", "Units", "Price", "Total", "Amount payable"),
        ("Tax invoice", "Position", "Qty", "Price", "Net", "Invoice total"),
    ),
}


def invoice(sheet: Sheet) -> None:
    """Draw an invoice: addresses, facts, a table with amounts, and a note."""
    writer = sheet.writer
    title, *header, total = sheet.pick(INVOICE_WORDS["a"], INVOICE_WORDS["b"])
    y = sheet.pick((_invoice_head_right, _invoice_head_framed), (_invoice_head_left, _invoice_head_bar))(sheet, title)
    text = writer.sentences(int(sheet.rng.integers(3, 6))) if writer.subject is not None or sheet.chance(0.5) else []
    above, below = (text, []) if sheet.chance(0.5) else ([], text)
    y = sheet.flow_all(56, y, sheet.width - 112, above, 10, gap=0.2)
    items, cents = _items(sheet, int(sheet.rng.integers(2, 8)))
    widths = [sheet.width - 112 - 210, 50, 80, 80]
    y = table(sheet, 56, y + 8, widths, [header, *items], 9, ruled=sheet.chance(0.5), shaded=sheet.chance(0.6))
    tax = round(cents * 0.08)
    for label, value in (("Net", cents), (sheet.pick(("VAT",), ("Sales tax 8%",)), tax), (total, cents + tax)):
        y += 18
        sheet.put(sheet.width - 150, y, label, 10, bold=label == total, align="right")
        sheet.put(sheet.width - 59, y, money(value), 10, bold=label == total, align="right")
    note = sheet.pick(
        ("To be settled by {date}.",),
        (
            "Please pay by {date} to account {iban}.",
            "Payable within 30 days. Thank you for your business.",
            "Please quote {number} with your payment.",
        ),
    )
    sheet.flow_all(56, y + 40, sheet.width - 112, [writer.filled(note), *below], 9.5, gap=0.3)
    footer(sheet)


def _items(sheet: Sheet, n: int) -> tuple[list[list[str]], int]:
    """Return the rows of an invoice, and their sum in cents."""
    writer, rows, total = sheet.writer, [], 0
    for _ in range(n):
        quantity, price = writer.integer(1, 9), writer.cents(3, 300)
        total += quantity * price
        rows.append([writer.of(vocabulary.GOODS), str(quantity), money(price), money(quantity * price)])
    return rows, total


def _facts(sheet: Sheet, x: float, y: float) -> float:
    writer = sheet.writer
    labels = sheet.pick((("Bill mark", "Day"),), (("Invoice no.", "Invoice date"), ("Number", "Date")))
    values = (f"{writer.integer(2019, 2025)}-{writer.digits(5)}", writer.date())
    for label, value in (
        *zip(labels, values, strict=True),
        (sheet.pick(("Client",), ("Customer no.",)), writer.number()),
    ):
        sheet.put(x, y, label, 9)
        sheet.put(x + 76, y, value, 9)
        y += 14
    return y


def _invoice_head_left(sheet: Sheet, title: str) -> float:
    sheet.logo(56, 40, 30)
    sheet.put(96, 60, sheet.writer.company(), 15, bold=True)
    sheet.put_lines(56, 130, person_lines(sheet), 10)
    _facts(sheet, 370, 130)
    sheet.put(56, 222, title, 20, bold=True)
    return 250.0


def _invoice_head_bar(sheet: Sheet, title: str) -> float:
    sheet.canvas.fill(0, 30, sheet.width, 84, 80)
    sheet.put(56, 64, title, 24, bold=True, gray=255)
    sheet.put(sheet.width - 56, 62, sheet.writer.company(), 12, bold=True, align="right", gray=255)
    sheet.put(56, 116, sheet.pick(("To",), ("Bill to", "Customer")), 8, bold=True)
    sheet.put_lines(56, 130, person_lines(sheet), 10)
    _facts(sheet, 370, 130)
    return 206.0


def _invoice_head_framed(sheet: Sheet, title: str) -> float:
    sheet.canvas.box(48, 40, sheet.width - 48, 190, 0.8)
    sheet.put(sheet.width / 2, 64, sheet.writer.company(), 15, bold=True, align="center")
    sheet.put_lines(60, 110, person_lines(sheet), 10)
    _facts(sheet, 340, 110)
    sheet.put(sheet.width / 2, 222, title, 18, bold=True, align="center")
    return 250.0


def _invoice_head_right(sheet: Sheet, title: str) -> float:
    sheet.put(sheet.width - 56, 64, sheet.writer.company(), 14, bold=True, align="right")
    sheet.put(56, 64, title, 22, bold=True)
    _facts(sheet, 56, 90)
    sheet.put_lines(340, 130, person_lines(sheet), 10)
    return 206.0


def receipt(sheet: Sheet) -> None:
    """Draw the strip of a till, typed, on the bed of the scanner."""
    writer, canvas = sheet.writer, sheet.canvas
    n, width = int(sheet.rng.integers(4, 14)), sheet.between(190, 230)
    x, y = sheet.between(30, sheet.width - width - 30), sheet.between(20, 120)
    canvas.fill(x, y, x + width, y + 190 + 14 * n, 247)
    canvas.box(x, y, x + width, y + 190 + 14 * n, 0.5, 170)
    pitch, middle = (width - 28) / 28, x + width / 2
    for line in (writer.company(), writer.street(), writer.town()):
        y += 15
        sheet.typed(middle - len(line) * pitch / 2, y + 10, line, 9, pitch)
    y += 34
    total = 0
    for _ in range(n):
        cents = writer.cents(1, 30)
        total += cents
        _till_line(sheet, x + 14, y, writer.of(vocabulary.GROCERIES), f"{cents / 100:.2f}", pitch)
        y += 14
    canvas.line(x + 14, y - 6, x + width - 14, y - 6, 0.8)
    for label, value in (
        (sheet.pick(("SUM",), ("TOTAL", "AMOUNT DUE")), total),
        (sheet.pick(("PAID",), ("CASH", "CARD")), total),
    ):
        y += 10
        _till_line(sheet, x + 14, y, label, f"{value / 100:.2f}", pitch)
        y += 6
    sheet.typed(x + 14, y + 26, writer.date(), 9, pitch)
    thanks = sheet.pick(("COME AGAIN",), ("THANK YOU", "Have a nice day"))
    sheet.typed(middle - len(thanks) * pitch / 2, y + 46, thanks, 9, pitch)


def _till_line(sheet: Sheet, x: float, y: float, label: str, value: str, pitch: float) -> None:
    sheet.typed(x, y, label, 9, pitch)
    sheet.typed(x + (28 - len(value)) * pitch, y, value, 9, pitch)
