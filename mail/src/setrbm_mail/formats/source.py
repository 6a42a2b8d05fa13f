"""What the reader of a format returns: a source of pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

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


class PageSource(Protocol):
    """The pages of one file or attachment. Pages are counted from 1.

    Attributes
    ----------
    n_pages : int
    method : {"text layer", "mail text"}
        What to call words that are stored as text.
    """

    n_pages: int
    method: str

    def picture(self, number: int, dpi: float) -> tuple[Gray, float]:
        """Return the gray picture of a page and its dots per inch."""

    def lettering(self, number: int, shape: tuple[int, int]) -> Lettering | None:
        """Return the words of a page that are stored as text, placed in a picture of this shape; None without any."""
