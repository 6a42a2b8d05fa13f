"""Pages for text that has none: the body of a mail, set like a typed page."""

from __future__ import annotations

import textwrap

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from setrbm_mail.formats.source import A4_POINTS, Gray, Lettering
from setrbm_mail.limits import Limits

# Characters per line, lines per page, and points: margin, letters, and distance of lines.
COLUMNS, LINES = 90, 56
MARGIN, LETTERS, LEADING = 57.0, 10.0, 13.0
POINTS_PER_INCH = 72.0


class TextSource:
    """The pages of a text.

    Parameters
    ----------
    text : str
    """

    method = "mail text"

    def __init__(self, text: str) -> None:
        lines = [part for line in text.splitlines() for part in textwrap.wrap(_printable(line), COLUMNS) or [""]]
        self._pages = [lines[first : first + LINES] for first in range(0, max(len(lines), 1), LINES)]
        self.n_pages = len(self._pages)

    def picture(self, number: int, dpi: float) -> tuple[Gray, float]:
        """Return the page as it would be typed."""
        scale = dpi / POINTS_PER_INCH
        width, height = (round(side * scale) for side in A4_POINTS)
        image = Image.new("L", (width, height), 255)
        draw, font = ImageDraw.Draw(image), ImageFont.load_default(LETTERS * scale)
        for i, line in enumerate(self._pages[number - 1]):
            draw.text((MARGIN * scale, (MARGIN + i * LEADING) * scale), line, fill=0, font=font)
        return np.array(image, dtype=np.uint8), dpi

    def lettering(self, number: int, shape: tuple[int, int]) -> Lettering | None:
        """Return the words, where ``picture`` draws them."""
        scale = shape[0] / A4_POINTS[1]
        font = ImageFont.load_default(LETTERS * scale)
        words, boxes = [], []
        for i, line in enumerate(self._pages[number - 1]):
            top, at = (MARGIN + i * LEADING) * scale, 0
            for word in line.split():
                at = line.index(word, at)
                left = MARGIN * scale + font.getlength(line[:at])
                at += len(word)
                words.append(word)
                boxes.append((left, top, MARGIN * scale + font.getlength(line[:at]), top + LEADING * scale))
        places = np.array(boxes, dtype=np.float64).reshape(len(words), 4).astype(np.int32)
        return Lettering(tuple(words), places, np.ones(len(words), np.float32))


def text_source(content: bytes, limits: Limits) -> TextSource:
    """Return the pages of a text in UTF-8."""
    return TextSource(content.decode("utf-8", errors="replace"))


def _printable(line: str) -> str:
    """Return a line with spaces in place of characters that cannot be shown."""
    return line if line.isprintable() else "".join(character if character.isprintable() else " " for character in line)
