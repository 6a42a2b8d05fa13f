"""Pages of PDF files: their pictures, and the words of their text layer."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from setrbm_mail.formats.source import Gray, Lettering
from setrbm_mail.limits import Limits
from setrbm_mail.pages import DocumentError

# A text layer is used if it has words, and most of its characters are letters that exist.
LARGEST_SHARE_OF_NONSENSE = 0.2
# On a page that is mostly a picture, a few words are a note added by the scanner, not its text.
PICTURE_SHARE, FEWEST_WORDS = 0.5, 20
# How deep pictures are looked for in forms, and the rows and columns of the grid on which their cover is measured.
DEPTH, GRID = 5, 100
POINTS_PER_INCH = 72.0


class PdfSource:
    """The pages of a PDF file.

    Parameters
    ----------
    data : bytes
    limits : Limits
    """

    method = "text layer"

    def __init__(self, data: bytes, limits: Limits) -> None:
        self._limits = limits
        try:
            self._pdf = pypdfium2.PdfDocument(data)
            self.n_pages = len(self._pdf)
        except pypdfium2.PdfiumError as error:
            raise DocumentError(_reason(error)) from None
        if not self.n_pages:
            raise DocumentError("the PDF has no pages")

    def picture(self, number: int, dpi: float) -> tuple[Gray, float]:
        """Return the gray picture of a page, and its dots per inch, which are fewer for very large pages."""
        with self._page(number) as page:
            width, height = self._size(page)
            self._check_pictures(page)
            scale = min(dpi / POINTS_PER_INCH, math.sqrt(self._limits.pixels / (width * height)))
            with closing(page.render(scale=scale, grayscale=True)) as bitmap:
                picture = bitmap.to_numpy()
                # A copy, since the bitmap is freed.
                return np.array(picture.reshape(picture.shape[:2]), order="C"), scale * POINTS_PER_INCH

    def lettering(self, number: int, shape: tuple[int, int]) -> Lettering | None:
        """Return the words of the text layer, placed in a picture of this shape; None if it has no good one."""
        with self._page(number) as page, closing(page.get_textpage()) as text:
            codes = [pdfium.FPDFText_GetUnicode(text, i) for i in range(text.count_chars())]
            words = _words(codes)
            if not words or not _is_sound(codes):
                return None
            if len(words) < FEWEST_WORDS and picture_share(page) > PICTURE_SHARE:
                return None
            if reason := self._limits.too_many_words(len(words)):
                raise DocumentError(reason)
            boxes = np.array([_box(text, page, first, last, shape) for first, last in words], dtype=np.int32)
            names = tuple("".join(map(chr, codes[first:last])) for first, last in words)
        return Lettering(names, boxes.reshape(len(words), 4), np.ones(len(words), np.float32))

    @contextmanager
    def _page(self, number: int) -> Iterator[Any]:
        """Provide a page, which is closed at once: memory must not grow with the number of pages."""
        try:
            self._make_fields_content(number)
            with closing(self._pdf[number - 1]) as page:
                yield page
        except pypdfium2.PdfiumError:
            raise DocumentError("the page is damaged") from None

    def _make_fields_content(self, number: int) -> None:
        """Make filled form fields and notes part of the page: else they are neither drawn nor read."""
        with closing(self._pdf[number - 1]) as page:
            if pdfium.FPDFPage_GetAnnotCount(page):
                pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)

    def _size(self, page: Any) -> tuple[float, float]:
        width, height = page.get_size()
        if not (0.0 < width < math.inf and 0.0 < height < math.inf):
            raise DocumentError("the page has no size")
        if max(width, height) > self._limits.page_points:
            raise DocumentError(
                f"the page measures {width:,.0f} x {height:,.0f} points; the limit is {self._limits.page_points:,.0f} "
                "(page_points)"
            )
        return float(width), float(height)

    def _check_pictures(self, page: Any) -> None:
        """Refuse a page with a picture that is too large: without memory, pdfium would leave it out silently."""
        for picture in _pictures(page):
            width, height = picture.get_px_size()
            if width * height > self._limits.pixels:
                raise DocumentError(
                    f"a picture on the page has {width:,} x {height:,} pixels; the limit is {self._limits.pixels:,} "
                    "(pixels)"
                )


def _pictures(page: Any) -> Iterator[Any]:
    return iter(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=DEPTH))


def _reason(error: Exception) -> str:
    text = str(error)
    if "password" in text:
        return "the PDF is encrypted and needs a password"
    return "the PDF is encrypted in an unknown way" if "security" in text else "the PDF is damaged"


def _is_sound(codes: list[int]) -> bool:
    """Return whether a person can read most of the characters."""
    visible = [code for code in codes if code > 32]
    nonsense = sum(0xE000 <= code <= 0xF8FF or code >= 0xFFF0 or 0x7F <= code < 0xA0 for code in visible)
    return bool(visible) and nonsense <= LARGEST_SHARE_OF_NONSENSE * len(visible)


def _words(codes: list[int]) -> list[tuple[int, int]]:
    """Return the first character and the end of every word."""
    words, first = [], None
    for i, code in enumerate([*codes, 32]):
        is_space = code <= 32 or code == 0xA0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF
        if is_space and first is not None:
            words.append((first, i))
            first = None
        elif not is_space and first is None:
            first = i
    return words


def _box(text: Any, page: Any, first: int, last: int, shape: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of characters, in pixels of a picture of this shape."""
    sides: list[list[float]] = []
    for i in range(first, last):
        left, right, bottom, top = (ctypes.c_double() for _ in range(4))
        if pdfium.FPDFText_GetCharBox(text, i, left, right, bottom, top):
            sides.append([left.value, bottom.value, right.value, top.value])
    if not sides:
        return 0, 0, 0, 0
    lefts, bottoms, rights, tops = zip(*sides, strict=True)
    corners = (min(lefts), max(tops)), (max(rights), min(bottoms))
    columns, rows = zip(*(_on_picture(page, x, y, shape) for x, y in corners), strict=True)
    height, width = shape
    # Whole pixels, so that the box has at least one.
    return (
        _within(min(columns), width), _within(min(rows), height), _within(max(columns) + 1, width),
        _within(max(rows) + 1, height),
    )  # fmt: skip


def _within(value: int, end: int) -> int:
    return max(0, min(value, end))


def _on_picture(page: Any, x: float, y: float, shape: tuple[int, int]) -> tuple[int, int]:
    height, width = shape
    column, row = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, column, row)
    return column.value, row.value


def picture_share(page: Any) -> float:
    """Return the share of the page that all its pictures cover together: a scan may be stored as strips or tiles."""
    covered = np.zeros((GRID, GRID), dtype=bool)
    for picture in _pictures(page):
        corners = np.array([_on_page(picture, page, corner) for corner in picture.get_quad_points()])
        (left, top), (right, bottom) = corners.min(axis=0).clip(0, GRID), corners.max(axis=0).clip(0, GRID)
        covered[top:bottom, left:right] = True
    return float(covered.mean())


def _on_page(item: Any, page: Any, corner: tuple[float, float]) -> tuple[int, int]:
    """Return where a corner of a picture is on the grid; what is in forms is placed by the matrices of the forms."""
    while item.container is not None:
        item = item.container
        corner = item.get_matrix().on_point(*corner)
    return _on_picture(page, *corner, (GRID, GRID))
