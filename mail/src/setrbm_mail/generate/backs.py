"""Layouts of envelopes and of blank pages."""

from __future__ import annotations

from setrbm_mail.generate.parts import insurer_lines, person_lines
from setrbm_mail.generate.sheet import Sheet, circle


def envelope(sheet: Sheet) -> None:
    """Draw an envelope on the bed of the scanner, with stamp and postmark."""
    canvas, writer = sheet.canvas, sheet.writer
    width, height = sheet.pick(
        ((462.0, 325.0), (520.0, 250.0), (420.0, 210.0)), ((540.0, 270.0), (480.0, 240.0), (560.0, 300.0))
    )
    x, y = sheet.between(8, sheet.width - width - 6), sheet.between(10, 180)
    _lay_paper(sheet, x, y, width, height, int(sheet.rng.integers(222, 250)))
    hand = sheet.chance(0.45)
    sheet.put_lines(x + 22, y + 28, person_lines(sheet), 8, hand=hand)
    size = 11.0 if hand else 12.0
    left = x + width * sheet.pick((0.35, 0.4, 0.55), (0.45, 0.5))
    sheet.put_lines(left, y + 0.58 * height, insurer_lines(sheet), size, leading=1.9 if hand else 1.35, hand=hand)
    _postage(sheet, x + width - 78, y + 16)
    if sheet.chance(0.3):
        sheet.put(
            x + 22,
            y + 0.5 * height,
            sheet.pick(("By courier",), ("PRIORITY", "Registered mail", "FIRST CLASS")),
            13,
            bold=True,
        )
    for k in range(sheet.pick((0, 30), (0, 40))):
        bar = 8.0 if writer.rng.random() < 0.5 else 4.0
        canvas.line(left + 4 * k, y + height - 14, left + 4 * k, y + height - 14 - bar, 1.0)


def _lay_paper(sheet: Sheet, x: float, y: float, width: float, height: float, gray: int) -> None:
    """Lay a small piece of paper on the bed: it throws a shadow."""
    canvas = sheet.canvas
    canvas.fill(x + 2, y + 2, x + width + 3, y + height + 3, 185)
    canvas.fill(x, y, x + width, y + height, gray)
    canvas.box(x, y, x + width, y + height, 0.5, 150)


def _postage(sheet: Sheet, x: float, y: float) -> None:
    """Draw a stamp and its postmark, or the mark of a franking machine."""
    canvas, writer = sheet.canvas, sheet.writer
    price = f"{writer.integer(55, 165)}"
    if sheet.chance(0.4):
        canvas.box(x - 60, y, x + 60, y + 52, 1.2, 60)
        sheet.put_lines(x - 52, y + 16, ("POSTAGE PAID", f"${price[0]}.{price[-2:]}", writer.date()), 9)
        return
    canvas.fill(x, y, x + 54, y + 64, int(sheet.rng.integers(140, 200)))
    canvas.box(x + 3, y + 3, x + 51, y + 61, 1.0, 250)
    canvas.polygon(circle(x + 27, y + 28, 14, 20), int(sheet.rng.integers(70, 130)))
    sheet.put(x + 27, y + 57, price, 11, bold=True, align="center", gray=30)
    canvas.stroke(circle(x - 10, y + 42, 27), 1.2, 60, closed=True)
    canvas.stroke(circle(x - 10, y + 42, 18), 0.7, 60, closed=True)
    sheet.put(x - 10, y + 45, writer.filled("{city}"), 7, align="center", gray=50)
    for k in range(4):
        wave = [(x + 18 + 4 * n, y + 28 + 9 * k + 3 * (-1) ** n) for n in range(11)]
        canvas.stroke(wave, 0.8, 70)


def blank_page(sheet: Sheet) -> None:
    """Draw an empty back: at most a page number, print that shines through, a shadow at the edge."""
    canvas = sheet.canvas
    if sheet.chance(0.35):
        number = str(sheet.writer.integer(2, 9))
        text = sheet.pick(("- {} -", "p. {}"), ("{}", "Page {}", "{} / 10")).format(number)
        sheet.put(sheet.width / 2, sheet.height - 40, text, 8, align="center")
    if sheet.chance(0.5):
        _shine_through(sheet)
    if sheet.chance(0.4):
        for k in range(8):
            canvas.fill(2.0 * k, 0, 2.0 * k + 2, sheet.height, 200 + 6 * k)


def _shine_through(sheet: Sheet) -> None:
    """Draw the faint bars of lines on the other side."""
    y = sheet.between(80, 200)
    for _ in range(int(sheet.rng.integers(4, 26))):
        sheet.canvas.fill(sheet.between(70, 160), y, sheet.width - 70, y + 5, 250)
        y += 16
