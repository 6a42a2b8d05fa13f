"""Layouts of letters, notices and advertisements."""

from __future__ import annotations

from setrbm_mail.generate import filler, vocabulary
from setrbm_mail.generate.parts import footer, insurer_lines, person_lines
from setrbm_mail.generate.sheet import HAND_SIZE, Sheet, circle

# --- printed letters ---


def printed_letter(sheet: Sheet) -> None:
    """Draw a letter from a person or a company."""
    head = sheet.pick((_head_right, _head_centered, _head_stripe), (_head_personal, _head_company, _head_window))
    y = head(sheet)
    margin, size = sheet.between(56, 80), sheet.between(9.5, 11.5)
    width = sheet.width - 2 * margin
    title = sheet.writer.title()
    sheet.put(
        margin, y, sheet.pick(("Concerns: {}", "{}"), ("Re: {}", "{}", "Subject: {}")).format(title), size, bold=True
    )
    sheet.put(margin, y + 2.6 * size, sheet.writer.of(filler.GREETINGS), size)
    paragraphs = sheet.writer.paragraphs(int(sheet.rng.integers(7, 14)))
    justify = sheet.pick((True, False), (True, False, False))
    y = sheet.flow_all(margin, y + 4.6 * size, width, paragraphs, size, justify=justify)
    _closing(
        sheet, sheet.pick((0.58 * sheet.width, 0.3 * sheet.width), (margin, margin, 0.5 * sheet.width)), y + size, size
    )


def _closing(sheet: Sheet, x: float, y: float, size: float, hand: bool = False) -> None:
    sheet.put(x, y, sheet.writer.of(filler.CLOSINGS), size, hand=hand)
    if hand and sheet.chance(0.5):
        sheet.put(x, y + 2.5 * size, sheet.writer.sender, size, hand=True)
        return
    sheet.signature(x, y + 34, sheet.between(70, 120))
    if not hand:
        sheet.put(x, y + 58, sheet.writer.sender, size)


def _head_personal(sheet: Sheet) -> float:
    """Sender and recipient on the left, the date on the right."""
    y = sheet.put_lines(64, sheet.between(60, 84), [*person_lines(sheet), f"Phone {sheet.writer.phone()}"], 10)
    y = sheet.put_lines(64, y + sheet.between(20, 34), insurer_lines(sheet), 10)
    sheet.put(sheet.width - 64, y + 14, f"{sheet.writer.filled('{city}')}, {sheet.writer.date()}", 10, align="right")
    return y + 48


def _head_company(sheet: Sheet) -> float:
    """A letterhead with a logo, a row of references and a footer."""
    writer = sheet.writer
    sheet.logo(56, 40, 34)
    sheet.put(100, 62, writer.company(), 17, bold=True, gray=40)
    sheet.canvas.line(56, 84, sheet.width - 56, 84, 1.2, 90)
    y = sheet.put_lines(64, 130, insurer_lines(sheet), 10) + 34
    columns = (("Your reference", writer.number()), ("Our reference", writer.number()), ("Date", writer.date()))
    for k, (label, value) in enumerate(columns):
        x = 64 + k * (sheet.width - 128) / 3
        sheet.put(x, y, label, 7.5, gray=60)
        sheet.put(x, y + 13, value, 9.5)
    footer(sheet)
    return y + 52


def _head_window(sheet: Sheet) -> float:
    """A tiny sender over the address for a window envelope; a block of facts on the right."""
    writer = sheet.writer
    person = person_lines(sheet)
    sheet.put(64, 128, " - ".join(person), 6.5)
    sheet.canvas.line(64, 131, 300, 131, 0.4)
    sheet.put_lines(64, 148, insurer_lines(sheet), 10)
    facts = (
        ("Date", writer.date()),
        ("Phone", writer.phone()),
        ("Customer no.", writer.number()),
        ("Pages", str(writer.integer(1, 9))),
    )
    for k, (label, value) in enumerate(facts):
        sheet.put(370, 130 + 15 * k, label, 8.5, bold=True)
        sheet.put(442, 130 + 15 * k, value, 8.5)
    sheet.put(64, 70, person[0], 20, bold=True, gray=50)
    return 262.0


def _head_right(sheet: Sheet) -> float:
    """The sender flush right, the recipient lower on the left."""
    right = sheet.width - 60
    for k, line in enumerate([*person_lines(sheet), sheet.writer.date()]):
        sheet.put(right, 58 + 14 * k + (8 if k == 3 else 0), line, 10, align="right")
    return sheet.put_lines(60, 150, insurer_lines(sheet), 10) + 44


def _head_stripe(sheet: Sheet) -> float:
    """A dark stripe at the left edge, the letterhead on the right, the recipient below it."""
    sheet.canvas.fill(0, 0, 26, sheet.height, 110)
    sheet.logo(sheet.width - 100, 36, 40)
    sheet.put(sheet.width - 112, 60, sheet.writer.company(), 13, bold=True, align="right")
    y = sheet.put_lines(72, 110, [sheet.writer.date(), "", *insurer_lines(sheet)], 10)
    return y + 36


def _head_centered(sheet: Sheet) -> float:
    """A centered letterhead between two lines, the recipient on the right."""
    middle = sheet.width / 2
    sheet.canvas.line(120, 40, sheet.width - 120, 40, 1.5)
    sheet.put(middle, 62, sheet.writer.company().upper(), 15, bold=True, align="center")
    sheet.put(middle, 76, " | ".join((sheet.writer.street(), sheet.writer.town())), 8, align="center")
    sheet.canvas.line(120, 84, sheet.width - 120, 84, 1.5)
    y = sheet.put_lines(340, 124, insurer_lines(sheet), 10)
    sheet.put(60, y, sheet.writer.date(), 10)
    return y + 40


# --- handwritten letters ---


def handwritten_letter(sheet: Sheet) -> None:
    """Draw a letter written by hand, on plain, lined or squared paper."""
    size = sheet.between(9.5, 12.0)
    spacing = size * HAND_SIZE * 1.35
    ruling = sheet.pick(("plain", "squares"), ("plain", "lines", "lines", "margin"))
    top = sheet.between(56, 80)
    _rule_paper(sheet, ruling, top, spacing)
    left = sheet.pick((60.0, 76.0), (84.0, 96.0) if ruling == "margin" else (56.0, 68.0))
    side = sheet.pick((left, 300.0), (330.0, 350.0))
    y = top
    for line in person_lines(sheet):
        sheet.put(side, y, line, size * 0.85, hand=True)
        y += spacing
    date_x = sheet.pick((360.0, 240.0), (left, left, 330.0))
    sheet.put(date_x, y, sheet.writer.date(), size, hand=True)
    y += 2 * spacing
    for line in (sheet.writer.title(), "", sheet.writer.of(filler.GREETINGS)):
        sheet.put(left, y, line, size, hand=True)
        y += spacing
    for paragraph in sheet.writer.paragraphs(int(sheet.rng.integers(4, 8))):
        y = sheet.flow(left, y, sheet.width - left - 44, paragraph, size, hand=True)
    _closing(sheet, sheet.pick((left, 200.0), (left, 320.0)), y + spacing, size, hand=True)


def _rule_paper(sheet: Sheet, ruling: str, top: float, spacing: float) -> None:
    canvas, gray = sheet.canvas, int(sheet.rng.integers(180, 222))
    if ruling == "plain":
        return
    if ruling == "squares":
        for n in range(int(sheet.width / 14.2) + 1):
            canvas.line(14.2 * n, 0, 14.2 * n, sheet.height, 0.3, gray)
        for n in range(int(sheet.height / 14.2) + 1):
            canvas.line(0, 14.2 * n, sheet.width, 14.2 * n, 0.3, gray)
        return
    y = top + 3
    while y < sheet.height - 20:
        canvas.line(0, y, sheet.width, y, 0.5, gray)
        y += spacing
    if ruling == "margin":
        canvas.line(74, 0, 74, sheet.height, 0.6, gray)


# --- notices and advertisements ---


def notice(sheet: Sheet) -> None:
    """Draw a notice: a large title, a frame or a bar, and few paragraphs."""
    frame = sheet.pick(("double", "none"), ("bar", "frame", "header"))
    title = sheet.pick(
        ("BULLETIN", "POSTING", "CIRCULAR"),
        ("NOTICE", "Important notice", "Announcement", "INFORMATION FOR CUSTOMERS", "Reminder"),
    )
    top = sheet.between(90, 130)
    _decorate(sheet, frame, top)
    gray = 255 if frame == "bar" else 0
    sheet.put(sheet.width / 2, top, title, sheet.between(22, 30), bold=True, align="center", gray=gray)
    size, margin = sheet.between(11, 13), 84.0
    sheet.put(margin, top + 60, sheet.writer.title(), size + 1, bold=True)
    sheet.put(sheet.width - margin, top + 36, sheet.writer.date(), 9, align="right")
    paragraphs = sheet.writer.paragraphs(int(sheet.rng.integers(5, 9)), "notice")
    y = sheet.flow_all(margin, top + 88, sheet.width - 2 * margin, paragraphs, size, gap=1.0)
    if sheet.chance(0.5):
        y = _points(sheet, margin, y + 6, size)
    sheet.put(margin, y + 20, sheet.writer.sender, size)
    sheet.put(margin, y + 20 + 1.3 * size, sheet.writer.of(vocabulary.INSURERS), size - 2)


def _points(sheet: Sheet, x: float, y: float, size: float) -> float:
    for _ in range(3):
        sheet.canvas.polygon(circle(x + 4, y - 0.3 * size, 2.0, 12), 0)
        y = sheet.flow(x + 16, y, sheet.width - 2 * x - 16, sheet.writer.filler("notice"), size) + 4
    return y


def _decorate(sheet: Sheet, frame: str, top: float) -> None:
    canvas, width, height = sheet.canvas, sheet.width, sheet.height
    if frame == "bar":
        canvas.fill(50, top - 34, width - 50, top + 16, 60)
    elif frame == "frame":
        canvas.box(40, 40, width - 40, height - 60, 3)
    elif frame == "double":
        canvas.box(36, 36, width - 36, height - 36, 1)
        canvas.box(42, 42, width - 42, height - 42, 1)
    elif frame == "header":
        sheet.logo(60, 40, 30)
        sheet.put(102, 60, sheet.writer.of(vocabulary.INSURERS), 13, bold=True, gray=50)
        canvas.line(84, top + 14, width - 84, top + 14, 2)


def advertisement(sheet: Sheet) -> None:
    """Draw a flyer: large words, dark areas, prices and a coupon."""
    canvas, writer = sheet.canvas, sheet.writer
    dark = int(sheet.rng.integers(30, 110))
    y = sheet.pick((_banner_bottom, _banner_frame), (_banner_top, _banner_side))(sheet, dark)
    slogan = sheet.pick(
        ("COME IN!", "HURRAY!", "BARGAINS"),
        ("SPECIAL OFFER", "Summer SALE", "Don't miss this!", "NEW in town", "Your chance to win"),
    )
    sheet.put(sheet.width / 2 + 20, y, slogan, sheet.between(34, 46), bold=True, align="center", gray=dark)
    for _ in range(int(sheet.rng.integers(2, 4))):
        y = sheet.flow(
            150, y + 44, sheet.width - 210, writer.filler("offer"), sheet.between(14, 20), bold=sheet.chance(0.5)
        )
    columns = int(sheet.rng.integers(2, 4))
    for k in range(columns):
        _product(sheet, 150 + k * (sheet.width - 200) / columns, y + 12, (sheet.width - 200) / columns - 14)
    y += 210
    for _ in range(3):
        y = sheet.flow(150, y, sheet.width - 210, writer.filler("offer"), 10)
    canvas.box(170, y + 10, sheet.width - 80, y + 74, 1.5, 40)
    sheet.put(
        184, y + 34, sheet.pick(("VOUCHER",), ("COUPON", "GIFT CARD")) + f" {5 * writer.integer(1, 10)}%", 20, bold=True
    )
    sheet.put(184, y + 56, f"{writer.company()}, {writer.street()}, {writer.town()}", 8)


def _product(sheet: Sheet, x: float, y: float, width: float) -> None:
    """Draw a picture of a product with its price."""
    writer = sheet.writer
    sheet.canvas.fill(x, y, x + width, y + 120, int(sheet.rng.integers(140, 215)))
    shade = int(sheet.rng.integers(60, 140))
    sheet.canvas.polygon(circle(x + width / 2, y + 60, 0.34 * min(width, 120), int(sheet.rng.integers(4, 9))), shade)
    sheet.put(x + 4, y + 136, writer.of(vocabulary.GOODS), 10)
    sheet.put(x + 4, y + 158, f"${writer.integer(2, 400)}.99", 18, bold=True)


def _banner_top(sheet: Sheet, dark: int) -> float:
    sheet.canvas.fill(0, 0, sheet.width, 150, dark)
    sheet.put(sheet.width / 2, 88, sheet.writer.company(), 28, bold=True, align="center", gray=255)
    return 214.0


def _banner_side(sheet: Sheet, dark: int) -> float:
    sheet.canvas.fill(0, 0, 120, sheet.height, dark)
    sheet.put(140, 60, sheet.writer.company(), 22, bold=True)
    return 150.0


def _banner_frame(sheet: Sheet, dark: int) -> float:
    sheet.canvas.box(24, 24, sheet.width - 24, sheet.height - 24, 14, dark)
    sheet.put(sheet.width - 60, 76, sheet.writer.company(), 20, bold=True, align="right")
    return 140.0


def _banner_bottom(sheet: Sheet, dark: int) -> float:
    sheet.canvas.fill(0, sheet.height - 110, sheet.width, sheet.height, dark)
    sheet.put(60, sheet.height - 50, sheet.writer.company(), 26, bold=True, gray=255)
    return 120.0
