"""A canvas as the operators of a PDF page, in the fonts that every PDF reader has.

Words keep the places and widths of the canvas: each is stretched to the width of its own font.
"""

from __future__ import annotations

from setrbm_mail.generate.canvas import Area, Canvas, Point, Stroke, Word
from setrbm_mail.generate.fonts import Face

FONT_NAMES = ("Helvetica", "Helvetica-Bold", "Times-Roman", "Times-Bold", "Courier")
SANS, SANS_BOLD, SERIF, SERIF_BOLD, FIXED = range(len(FONT_NAMES))
# Widths of the characters 32 to 126 in thousandths of the size, in WinAnsiEncoding.
WIDTHS = {
    SANS: (
        "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 "
        "278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 "
        "667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 "
        "556 333 500 278 556 500 722 500 500 500 334 260 334 584"
    ),
    SANS_BOLD: (
        "278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 "
        "333 584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 "
        "667 944 667 667 611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 "
        "611 389 556 333 611 556 778 556 556 500 389 280 389 584"
    ),
    SERIF: (
        "250 333 408 500 500 833 778 180 333 333 500 564 250 333 250 278 500 500 500 500 500 500 500 500 500 500 278 "
        "278 564 564 564 444 921 722 667 667 722 611 556 722 722 333 389 722 611 889 722 722 556 722 667 556 611 722 "
        "722 944 722 722 611 333 278 333 469 500 333 444 500 444 500 444 333 500 500 278 278 500 278 778 500 500 500 "
        "500 333 389 278 500 500 722 500 500 444 480 200 480 541"
    ),
    SERIF_BOLD: (
        "250 333 555 500 500 1000 833 278 333 333 500 570 250 333 250 278 500 500 500 500 500 500 500 500 500 500 333 "
        "333 570 570 570 500 930 722 667 722 722 667 611 778 778 389 500 778 667 944 722 778 611 778 722 556 667 722 "
        "722 1000 722 722 667 333 278 333 581 500 333 500 556 444 556 444 333 500 556 278 333 556 278 833 556 500 556 "
        "556 444 389 333 556 500 722 500 500 444 394 220 394 520"
    ),
    FIXED: " ".join(["600"] * 95),
}
WIDTH_OF = {font: [int(width) for width in widths.split()] for font, widths in WIDTHS.items()}


def pdf_operators(canvas: Canvas) -> bytes:
    """Return the content stream of a page that looks like the canvas and has its words as text."""
    parts = [] if canvas.paper == 255 else [_filled(_page_corners(canvas), canvas.paper, canvas)]
    for item in canvas.items:
        if isinstance(item, Word):
            parts.append(_shown(item, canvas))
        elif isinstance(item, Stroke):
            parts.append(_stroked(item, canvas))
        else:
            parts.append(_filled(item, item.gray, canvas))
    return "\n".join(parts).encode("latin-1", "replace") + b"\n"


def builtin_font(face: Face, pitch: float = 0.0) -> int:
    """Return the position in ``FONT_NAMES`` of the font that stands for a face; handwriting is typed."""
    if pitch or face.handwritten:
        return FIXED
    return (SERIF if face.serif else SANS) + face.bold


def _shown(word: Word, canvas: Canvas) -> str:
    font = builtin_font(word.face, word.pitch)
    widths = WIDTH_OF[font]
    natural = sum(widths[ord(c) - 32] if 32 <= ord(c) < 127 else 556 for c in word.text) * word.size / 1000.0
    stretch = 100.0 * word.width / natural
    escaped = word.text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    # The blank separates words for readers of the text layer.
    return (
        f"BT {_gray(word.gray)} g /F{font} {word.size:.2f} Tf {stretch:.2f} Tz "
        f"{word.x:.2f} {canvas.size[1] - word.y:.2f} Td ({escaped} ) Tj ET"
    )


def _stroked(stroke: Stroke, canvas: Canvas) -> str:
    ending = "s" if stroke.closed else "S"
    return f"{_gray(stroke.gray)} G {stroke.width:.2f} w {_path(stroke.points, canvas)} {ending}"


def _filled(area: Area, gray: int, canvas: Canvas) -> str:
    return f"{_gray(gray)} g {_path(area.points, canvas)} f"


def _path(points: tuple[Point, ...], canvas: Canvas) -> str:
    height = canvas.size[1]
    places = [f"{x:.2f} {height - y:.2f}" for x, y in points]
    return f"{places[0]} m " + " ".join(f"{place} l" for place in places[1:])


def _page_corners(canvas: Canvas) -> Area:
    width, height = canvas.size
    return Area(((0.0, 0.0), (width, 0.0), (width, height), (0.0, height)), canvas.paper)


def _gray(value: int) -> str:
    return f"{value / 255.0:.3f}"
