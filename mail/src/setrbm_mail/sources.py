"""Where pages come from: what a source of pages can do, and which class reads which kind of file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from setrbm_mail.kinds import Kind
from setrbm_mail.limits import Limits

Gray = npt.NDArray[np.uint8]
A4_POINTS = (595.0, 842.0)
# The longer side of A4, for pictures that do not say how large they are.
A4_INCHES = 11.69


@dataclass(frozen=True)
class Lettering:
    """Words, their boxes (left, top, right, bottom) and confidences."""

    words: tuple[str, ...]
    boxes: npt.NDArray[np.int32]
    confidences: npt.NDArray[np.float32]


NO_WORDS = Lettering((), np.empty((0, 4), np.int32), np.empty(0, np.float32))


class Source(Protocol):
    """The pages of one file or attachment. Pages are counted from 1."""

    n_pages: int

    def picture(self, number: int, dpi: float) -> tuple[Gray, float]:
        """Return the gray picture of a page and its dots per inch."""

    def lettering(self, number: int, shape: tuple[int, int]) -> Lettering | None:
        """Return the words of a page that are stored as text, placed in a picture of this shape; None without any."""


def open_source(kind: Kind, data: bytes, limits: Limits) -> Source:
    """Return the pages of a file; raise DocumentError if it cannot be opened."""
    if kind is Kind.PDF:
        from setrbm_mail.pdf_source import PdfSource

        return PdfSource(data, limits)
    if kind is Kind.IMAGE:
        from setrbm_mail.image_source import ImageSource

        return ImageSource(data, limits)
    from setrbm_mail.text_source import TextSource

    return TextSource(data.decode("utf-8", errors="replace"))
