"""Layouts of bank checks, bank slips, identity papers and medical certificates."""

from __future__ import annotations

from collections.abc import Sequence

from setrbm_mail.generate import vocabulary
from setrbm_mail.generate.canvas import Point
from setrbm_mail.generate.parts import field, person_lines, photo, tear_line
from setrbm_mail.generate.sheet import Sheet
from setrbm_mail.generate.writing import amount_in_words, money

# Paper of banks and authorities has a pale tint.
TINT = 226


def lay_card(sheet: Sheet, width: float, height: float, gray: int) -> Point:
    """Lay a small paper on the bed of the scanner; return its top left corner."""
    x, y = sheet.between(16, sheet.width - width - 12), sheet.between(20, 240)
    sheet.canvas.fill(x + 2, y + 2, x + width + 3, y + height + 3, 170)
    sheet.canvas.fill(x, y, x + width, y + height, gray)
    sheet.canvas.box(x, y, x + width, y + height, 0.6, 120)
    return x, y


# --- money ---


def bank_check(sheet: Sheet) -> None:
    """Draw a check: payee, amount in digits and in words, signature, and the line for machines."""
    writer, canvas = sheet.writer, sheet.canvas
    width, height = sheet.pick(((500.0, 232.0), (455.0, 205.0)), ((440.0, 198.0), (480.0, 210.0)))
    x, y = lay_card(sheet, width, height, TINT)
    _guilloche(sheet, x, y, width, height)
    cents, hand = writer.cents(20, 9_000), sheet.chance(0.5)
    words = f"{amount_in_words(cents // 100)} and {cents % 100:02d}/100"
    sheet.put(x + 14, y + 26, writer.of(vocabulary.BANKS), 13, bold=True)
    sheet.put_lines(x + 14, y + 42, person_lines(sheet)[:3], 7)
    sheet.put(x + width - 14, y + 24, writer.digits(4), 11, bold=True, align="right")
    date_label, payee, dollars = sheet.pick(
        (("Issued", "Give to", "in letters"),),
        (("Date", "Pay to the order of", "Dollars"), ("Date", "Pay to", "Amount in words")),
    )
    sheet.put(x + width - 150, y + 48, f"{date_label} {writer.date()}", 9)
    sheet.put(x + 14, y + 92, payee, 8)
    canvas.line(x + 96, y + 94, x + width - 120, y + 94)
    sheet.put(x + 102, y + 91, writer.filled("{insurer}"), 10, hand=hand)
    canvas.box(x + width - 110, y + 76, x + width - 14, y + 98, 1.0)
    sheet.put(x + width - 104, y + 92, money(cents), 10, bold=not hand, hand=hand)
    canvas.line(x + 14, y + 122, x + width - 70, y + 122)
    sheet.put(x + 18, y + 119, words, 8.5 if hand else 10, hand=hand)
    sheet.put(x + width - 66, y + 120, dollars, 7)
    canvas.line(x + width - 190, y + height - 44, x + width - 14, y + height - 44)
    sheet.signature(x + width - 176, y + height - 52, 120)
    sheet.put(x + 14, y + height - 42, sheet.pick(("Note",), ("Memo", "For")) + f" {writer.number()}", 8)
    sheet.typed(x + 26, y + height - 14, f"|:{writer.digits(9)}|: {writer.digits(10)}|| {writer.digits(4)}", 12, 9.6)


def _guilloche(sheet: Sheet, x: float, y: float, width: float, height: float) -> None:
    """Draw the pale lines in the background of a check."""
    for k in range(6):
        wave = [(x + width * n / 30, y + height * (k + 0.5) / 6 + 7 * (-1) ** n) for n in range(31)]
        sheet.canvas.stroke(wave, 0.4, 208)


def bank_slip(sheet: Sheet) -> None:
    """Draw the slip of a bank transfer below a tear line, or twice on a page."""
    double = sheet.pick((True, False), (False, False, True))
    if not double:
        for k, line in enumerate((*person_lines(sheet), "", sheet.writer.filler("notice"))):
            sheet.put(56, 70 + 14 * k, line, 10)
    tops = (60.0, 450.0) if double else (sheet.height - 330,)
    for top in tops:
        tear_line(sheet, top - 14)
        _slip(sheet, top)


def _slip(sheet: Sheet, y: float) -> None:
    writer, canvas, hand = sheet.writer, sheet.canvas, sheet.chance(0.35)
    labels = sheet.pick(
        (("Order", "Recipient", "To account", "With", "Sum", "Text", "Ordered by"),),
        (
            (
                "Bank transfer",
                "Beneficiary",
                "IBAN of beneficiary",
                "Bank of beneficiary",
                "Amount",
                "Reference",
                "Account holder",
            ),
            ("PAYMENT SLIP", "Payee", "Payee's account", "Payee's bank", "Amount in $", "Purpose", "Payer"),
        ),
    )
    canvas.fill(50, y, sheet.width - 50, y + 290, TINT)
    canvas.box(50, y, sheet.width - 50, y + 290, 1.0)
    sheet.put(64, y + 24, labels[0], 14, bold=True)
    sheet.put(sheet.width - 64, y + 24, writer.of(vocabulary.BANKS), 10, bold=True, align="right")
    cents = money(writer.cents()).removeprefix("$")
    values = (writer.filled("{insurer}"), writer.iban(), writer.filled("{bank}"), cents, writer.number(), writer.sender)
    for k, (label, value) in enumerate(zip(labels[1:], values, strict=True)):
        left = 300.0 if k == 3 else 64.0
        top = y + 50 + 34 * k
        canvas.fill(left, top + 3, sheet.width - 64, top + 21, 255)
        if hand:
            field(sheet, left, top, sheet.width - 64 - left, label, value, hand=True, boxed=True, size=7)
        else:
            _in_cells(sheet, left, top, label, value)
    sheet.put(64, y + 276, writer.date(), 9)
    sheet.signature(330, y + 272, 110)


def _in_cells(sheet: Sheet, x: float, y: float, label: str, value: str) -> None:
    """Write a value with one letter per cell."""
    sheet.put(x, y, label, 7)
    cell = 13.0
    for n in range(int((sheet.width - 64 - x) / cell)):
        sheet.canvas.box(x + cell * n, y + 3, x + cell * (n + 1), y + 21, 0.5, 140)
    sheet.typed(x, y + 16, value[: int((sheet.width - 64 - x) / cell)].upper(), 10, cell)


# --- identity papers ---


def identity_paper(sheet: Sheet) -> None:
    """Draw an identity card or the page of a passport: photo, fields and two lines for machines."""
    passport = sheet.pick((False, True), (False, True))
    width, height = (356.0, 250.0) if passport else (300.0, 190.0)
    x, y = lay_card(sheet, width, height, TINT)
    _guilloche(sheet, x, y, width, height)
    title = sheet.pick(
        ("PERSONAL CARD", "CITIZEN PASS"),
        ("PASSPORT",) if passport else ("IDENTITY CARD", "DRIVING LICENSE", "RESIDENCE PERMIT"),
    )
    sheet.put(x + 12, y + 20, title, 12, bold=True)
    sheet.put(x + width - 12, y + 20, sheet.writer.digits(9), 9, bold=True, align="right")
    left = sheet.pick((False, False, True), (True,))
    photo_x = x + 12 if left else x + width - 88
    photo(sheet, photo_x, y + 32, 76, 98)
    last, first = sheet.writer.filled("{last}"), sheet.writer.filled("{first}")
    _identity_fields(sheet, x + 100 if left else x + 12, y + 40, last, first)
    _machine_lines(sheet, x, y, width, height, last, first)
    if sheet.chance(0.4):
        _back_of_card(sheet, x, y + height + 40, width, height * 0.8)


def _identity_fields(sheet: Sheet, x: float, y: float, last: str, first: str) -> None:
    writer = sheet.writer
    labels = sheet.pick(
        (("Family", "Given", "Born", "At", "Good until"),),
        (
            ("Surname", "Given names", "Date of birth", "Place of birth", "Date of expiry"),
            ("Name", "First name", "Born on", "Birthplace", "Valid until"),
        ),
    )
    values = (last.upper(), first, writer.birthday(), writer.filled("{city}"), writer.date())
    for label, value in zip(labels, values, strict=True):
        sheet.put(x, y, label, 5.8, gray=60)
        sheet.put(x, y + 11, value, 9, bold=True)
        y += 22


def _machine_lines(sheet: Sheet, x: float, y: float, width: float, height: float, last: str, first: str) -> None:
    writer, n = sheet.writer, 36
    top = f"ID<<{last.upper()}<<{first.upper()}".ljust(n, "<")[:n]
    bottom = f"{writer.digits(9)}<{writer.digits(7)}M{writer.digits(7)}".ljust(n - 1, "<")[: n - 1] + writer.digits(1)
    pitch = (width - 20) / n
    sheet.typed(x + 10, y + height - 24, top, 9.5, pitch)
    sheet.typed(x + 10, y + height - 10, bottom, 9.5, pitch)


def _back_of_card(sheet: Sheet, x: float, y: float, width: float, height: float) -> None:
    canvas = sheet.canvas
    canvas.fill(x, y, x + width, y + height, TINT)
    canvas.box(x, y, x + width, y + height, 0.6, 120)
    for k, line in enumerate((sheet.writer.street(), sheet.writer.town(), f"{sheet.writer.integer(155, 196)} cm")):
        sheet.put(x + 14, y + 26 + 15 * k, line, 9)
    sheet.signature(x + width - 130, y + height - 30, 100)


# --- medical certificates ---


def medical_certificate(sheet: Sheet) -> None:
    """Draw the certificate of a doctor, with a round or a square stamp."""
    writer, canvas = sheet.writer, sheet.canvas
    doctor = f"Dr. {writer.name()}"
    title = sheet.pick(
        ("Doctor's note", "Attestation"), ("Medical certificate", "MEDICAL CERTIFICATE", "Certificate of the physician")
    )
    right = sheet.pick((True, False), (False,))
    align = sheet.width - 70 if right else 70.0
    for k, line in enumerate(
        (
            doctor,
            sheet.pick(("Healer's office",), ("General practice", "Internal medicine", "Family medicine")),
            writer.street(),
            writer.town(),
        )
    ):
        sheet.put(align, 66 + 14 * k, line, 11 if k == 0 else 9.5, bold=k == 0, align="right" if right else "left")
    if not right:
        canvas.fill(sheet.width - 94, 56, sheet.width - 82, 92, 90)
        canvas.fill(sheet.width - 106, 68, sheet.width - 70, 80, 90)
    sheet.put(sheet.width / 2, 168, title, 20, bold=True, align="center")
    labels = sheet.pick((("For", "born"),), (("Patient", "Date of birth"), ("Name of patient", "Born on")))
    for k, (label, value) in enumerate(zip(labels, (writer.sender, writer.birthday()), strict=True)):
        field(sheet, 70 + 250 * k, 206, 210, label, value, hand=sheet.chance(0.4), boxed=False, size=9)
    y = sheet.flow_all(70, 262, sheet.width - 140, writer.paragraphs(int(sheet.rng.integers(4, 8)), "medical"), 11)
    _rubber_stamp(sheet, 90, y + 40, (doctor, writer.town()))
    sheet.signature(340, y + 74, 120)
    canvas.line(330, y + 84, sheet.width - 70, y + 84)
    sheet.put(330, y + 96, sheet.pick(("The doctor",), ("Signature and stamp", "Physician")), 8)


def _rubber_stamp(sheet: Sheet, x: float, y: float, lines: Sequence[str]) -> None:
    sheet.canvas.box(x - 8, y - 14, x + 142, y + 16 * len(lines) + 2, 1.4, 100)
    for k, line in enumerate(lines):
        sheet.put(x, y + 4 + 15 * k, line, 9.5, bold=True, gray=100)
