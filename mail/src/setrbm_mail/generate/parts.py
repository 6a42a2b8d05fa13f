"""Parts that several layouts share: addresses, tables, fields to fill in, footers."""

from __future__ import annotations

from collections.abc import Sequence

from setrbm_mail.generate import vocabulary
from setrbm_mail.generate.sheet import Sheet, circle


def person_lines(sheet: Sheet) -> list[str]:
    """Return name and address of the sender."""
    writer = sheet.writer
    return [writer.sender, writer.street(), writer.town()]


def insurer_lines(sheet: Sheet) -> list[str]:
    """Return name and address of the company that receives the mail."""
    writer = sheet.writer
    lines = [writer.of(vocabulary.INSURERS), writer.of(vocabulary.DEPARTMENTS)]
    return [*lines, sheet.pick(("P.O. Box 77", "Postal drawer 3"), ("P.O. Box 1200", writer.street())), writer.town()]


def table(
    sheet: Sheet, x: float, y: float, widths: Sequence[float], rows: Sequence[Sequence[str]], size: float = 9.0, *,
    ruled: bool = True, shaded: bool = False,
) -> float:  # fmt: skip
    """Draw a table whose first row is the header; columns after the first are flush right. Return its bottom.

    Parameters
    ----------
    sheet : Sheet
    x, y : float
        The top left corner.
    widths : sequence of float
    rows : sequence of sequences of str
    size : float
        The font size.
    ruled : bool
        Draw lines around all cells, or only under the rows.
    shaded : bool
        Fill the header.
    """
    row_height, total = size * 1.75, sum(widths)
    if shaded:
        sheet.canvas.fill(x, y, x + total, y + row_height, 215)
    for n, row in enumerate(rows):
        left = x
        baseline = y + n * row_height + 1.25 * size
        for k, (cell, width) in enumerate(zip(row, widths, strict=True)):
            place, align = (left + 3, "left") if k == 0 else (left + width - 3, "right")
            sheet.put(place, baseline, cell, size, bold=n == 0, align="left" if align == "left" else "right")
            left += width
    _rule(sheet, x, y, widths, len(rows), row_height, ruled)
    return y + len(rows) * row_height


def _rule(sheet: Sheet, x: float, y: float, widths: Sequence[float], n_rows: int, height: float, ruled: bool) -> None:
    total, bottom = sum(widths), y + n_rows * height
    for n in range(n_rows + 1):
        if ruled or n in (0, 1, n_rows):
            sheet.canvas.line(x, y + n * height, x + total, y + n * height, 0.5, 60)
    if ruled:
        left = x
        for width in (0.0, *widths):
            left += width
            sheet.canvas.line(left, y, left, bottom, 0.5, 60)


def field(
    sheet: Sheet,
    x: float,
    y: float,
    width: float,
    label: str,
    value: str,
    *,
    hand: bool,
    boxed: bool,
    size: float = 8.0,
) -> None:
    """Draw a label and its value, on a line or in a box."""
    sheet.put(x, y, label, size)
    if boxed:
        sheet.canvas.box(x, y + 3, x + width, y + 21, 0.6, 70)
    else:
        sheet.canvas.line(x, y + 20, x + width, y + 20, 0.6, 70)
    sheet.put(x + 4, y + 16, value, 10.5 if hand else 10.0, hand=hand)


def footer(sheet: Sheet, size: float = 7.0) -> None:
    """Write the small print of a company at the bottom of the page."""
    writer, y = sheet.writer, sheet.height - 52
    sheet.canvas.line(56, y - 10, sheet.width - 56, y - 10, 0.5, 90)
    for k, lines in enumerate((
        (writer.company(), writer.street(), writer.town()),
        (f"Phone {writer.phone()}", f"Fax {writer.phone()}", f"Tax no. {writer.digits(8)}"),
        (writer.of(vocabulary.BANKS), writer.iban(), f"Register {writer.digits(5)}"),
    )):  # fmt: skip
        sheet.put_lines(56 + k * (sheet.width - 112) / 3, y, lines, size)


def tear_line(sheet: Sheet, y: float) -> None:
    """Draw a dashed line across the page."""
    for n in range(int(sheet.width // 10)):
        sheet.canvas.line(10 * n + 2, y, 10 * n + 7, y, 0.6, 80)


def photo(sheet: Sheet, x: float, y: float, width: float, height: float) -> None:
    """Draw the photo of a face: gray, with head and shoulders."""
    canvas = sheet.canvas
    canvas.fill(x, y, x + width, y + height, int(sheet.rng.integers(150, 200)))
    skin, cloth = sheet.rng.integers(90, 140), sheet.rng.integers(40, 90)
    middle = x + width / 2
    shoulders = [(x + 0.08 * width, y + height), (x + 0.2 * width, y + 0.74 * height), (middle, y + 0.66 * height)]
    mirrored = [(2 * middle - px, py) for px, py in reversed(shoulders[:2])]
    canvas.polygon([*shoulders, *mirrored], int(cloth))
    oval = [(middle + 0.24 * width * dx, y + 0.42 * height + 0.27 * height * dy) for dx, dy in circle(0.0, 0.0, 1.0)]
    canvas.polygon(oval, int(skin))
    canvas.polygon([(px, min(py, y + 0.33 * height)) for px, py in oval], int(cloth))
    canvas.box(x, y, x + width, y + height, 0.5, 80)
