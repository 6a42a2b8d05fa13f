"""Pages of PDF files: their pictures, and the words of their text layer."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from setrbm.documents.limits import Limits
from setrbm.documents.pages import DocumentError
from setrbm.documents.sources import A4_POINTS, Gray, Lettering

# A text layer is used if it has words, and most of its characters are letters that exist.
LARGEST_SHARE_OF_NONSENSE = 0.2
# Of a page that is mostly a picture, a few words are a note of the scanner's, not its text.
PICTURE_SHARE, FEWEST_WORDS = 0.5, 20
# More characters, or pictures, than this are not looked at.
MOST_CHARACTERS, MOST_PICTURES = 60_000, 50
POINTS_PER_INCH = 72.0


class PdfSource:
    """The pages of a PDF file.

    Parameters
    ----------
    data : bytes
    limits : Limits
    """

    def __init__(self, data: bytes, limits: Limits) -> None:
        try:
            self._pdf = pypdfium2.PdfDocument(data)
            self.n_pages = len(self._pdf)
        except pypdfium2.PdfiumError as error:
            raise DocumentError(_reason(error)) from None
        if not self.n_pages:
            raise DocumentError("the PDF has no pages")
        self._limits = limits

    def picture(self, number: int, dpi: float) -> tuple[Gray, float]:
        """Return the gray picture of a page, and its dots per inch, which are fewer for very large pages."""
        page = self._page(number)
        width, height = self._size(page)
        scale = min(dpi / POINTS_PER_INCH, math.sqrt(self._limits.pixels / (width * height)))
        bitmap = page.render(scale=scale, grayscale=True)
        picture = bitmap.to_numpy()
        return np.ascontiguousarray(picture.reshape(picture.shape[:2])), scale * POINTS_PER_INCH

    def lettering(self, number: int, shape: tuple[int, int]) -> Lettering | None:
        """Return the words of the text layer, placed in a picture of this shape; None if it has no good one."""
        page = self._page(number)
        text = page.get_textpage()
        n_characters = min(text.count_chars(), MOST_CHARACTERS)
        codes = [pdfium.FPDFText_GetUnicode(text, i) for i in range(n_characters)]
        if not _is_sound(codes):
            return None
        words = _words(codes)
        if len(words) < FEWEST_WORDS and _picture_share(page, *self._size(page)) > PICTURE_SHARE:
            return None
        boxes = np.array([_box(text, page, first, last, shape) for first, last in words], dtype=np.int32)
        names = tuple("".join(map(chr, codes[first:last])) for first, last in words)
        return Lettering(names, boxes.reshape(len(words), 4), np.ones(len(words), np.float32))

    def _page(self, number: int) -> Any:
        try:
            return self._pdf[number - 1]
        except pypdfium2.PdfiumError:
            raise DocumentError("the page is damaged") from None

    def _size(self, page: Any) -> tuple[float, float]:
        width, height = page.get_size()
        if not (0.0 < width < math.inf and 0.0 < height < math.inf):
            return A4_POINTS
        if max(width, height) > self._limits.page_points:
            raise DocumentError(
                f"the page measures {width:,.0f} x {height:,.0f} points; the limit is {self._limits.page_points:,.0f} "
                "(page_points)"
            )
        return float(width), float(height)


def _reason(error: Exception) -> str:
    text = str(error)
    if "Incorrect password" in text:
        return "the PDF is encrypted and needs a password"
    return "the PDF is damaged" if "Data format" in text else f"the PDF cannot be opened ({text})"


def _is_sound(codes: list[int]) -> bool:
    """Return whether characters are mostly such as a person can read."""
    visible = [code for code in codes if code > 32]
    nonsense = sum(0xE000 <= code <= 0xF8FF or code >= 0xFFF0 or 0x7F <= code < 0xA0 for code in visible)
    return bool(visible) and nonsense <= LARGEST_SHARE_OF_NONSENSE * len(visible)


def _words(codes: list[int]) -> list[tuple[int, int]]:
    """Return first character and end of every word."""
    found, first = [], None
    for i, code in enumerate([*codes, 32]):
        is_space = code <= 32 or code == 0xA0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF
        if is_space and first is not None:
            found.append((first, i))
            first = None
        elif not is_space and first is None:
            first = i
    return found


def _box(text: Any, page: Any, first: int, last: int, shape: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of characters, in pixels of a picture of this shape."""
    corners: list[tuple[int, int]] = []
    for i in (first, last - 1):
        left, right, bottom, top = (ctypes.c_double() for _ in range(4))
        pdfium.FPDFText_GetCharBox(text, i, left, right, bottom, top)
        corners += [
            _on_picture(page, left.value, top.value, shape),
            _on_picture(page, right.value, bottom.value, shape),
        ]
    columns, rows = zip(*corners, strict=True)
    height, width = shape
    return (
        _within(min(columns), width), _within(min(rows), height), _within(max(columns), width),
        _within(max(rows), height),
    )  # fmt: skip


def _within(value: int, end: int) -> int:
    return max(0, min(value, end))


def _on_picture(page: Any, x: float, y: float, shape: tuple[int, int]) -> tuple[int, int]:
    height, width = shape
    column, row = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, column, row)
    return column.value, row.value


def _picture_share(page: Any, width: float, height: float) -> float:
    """Return the share of the page that the largest pictures cover."""
    share = 0.0
    for i, found in enumerate(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=2)):
        if i == MOST_PICTURES:
            break
        left, bottom, right, top = found.get_bounds()
        share = max(share, min(right - left, width) * min(top - bottom, height) / (width * height))
    return share
