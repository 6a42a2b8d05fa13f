"""Pages of generated mail: what is drawn on each, how it is scanned, and the truth about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from setrbm_mail.generate.canvas import Canvas
from setrbm_mail.generate.layouts import draw_page
from setrbm_mail.generate.pdf_files import ScannedPage
from setrbm_mail.generate.phrases import CLASSES, Part
from setrbm_mail.generate.rasters import DPI, Picture, draw_raster
from setrbm_mail.generate.scanning import Noise, draw_rotation, jpeg_file, scan


@dataclass(frozen=True)
class DrawnPage:
    """A page and how it gets into a file.

    Attributes
    ----------
    canvas : Canvas
    subject : int or None
    noise : Noise
    seed : tuple of int
        Seeds the random numbers of the scanner.
    digital : bool
        Whether a PDF has the page as text instead of a scan.
    """

    canvas: Canvas
    subject: int | None
    noise: Noise
    seed: tuple[int, ...]
    digital: bool = False

    def picture(self) -> Picture:
        """Return the page as it was scanned."""
        return scan(draw_raster(self.canvas), self.noise, np.random.default_rng(self.seed)).picture

    def scanned(self) -> ScannedPage:
        """Return the page as it was scanned, as JPEG."""
        picture = self.picture()
        height, width = picture.shape
        return ScannedPage(jpeg_file(picture, self.noise.jpeg_quality), (width, height), DPI)

    def truth(self) -> dict[str, Any]:
        """Return the truth about the page, for JSON."""
        rotation = 0 if self.digital else draw_rotation(self.noise, np.random.default_rng(self.seed))
        return {
            "type": self.canvas.page_type,
            "subject": None if self.subject is None else CLASSES[self.subject],
            "text": self.canvas.text,
            "noise": 0.0 if self.digital else round(self.noise.level, 4),
            "rotation": rotation,
            "digital": self.digital,
        }


def page_picture(
    page_type: str, subject: int | None = None, *, style: str, rng: np.random.Generator, phrases: Part = "train",
    noise: Noise | None = None, dpi: float = DPI,
) -> Picture:  # fmt: skip
    """Draw a random page and scan it.

    Parameters
    ----------
    page_type : str
    subject : int or None
    style : {"a", "b"}
    rng : Generator
    phrases : {"train", "test"}
    noise : Noise, optional
        By default the level is drawn from [0, 1] and the page is not rotated.
    dpi : float

    Returns
    -------
    picture : ndarray of shape (height, width)
        Gray values, uint8.
    """
    canvas = draw_page(page_type, subject, style=style, rng=rng, phrases=phrases)
    noise = Noise(float(rng.random()), rotated=0.0) if noise is None else noise
    return scan(draw_raster(canvas, dpi), noise, rng, dpi).picture
