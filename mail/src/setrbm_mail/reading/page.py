"""From a source to a page: words from its text layer or by OCR, thumbnail and layout."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from setrbm_mail.formats.source import NO_WORDS, Gray, PageSource
from setrbm_mail.pages import LONGEST_WORD, THUMBNAIL, Page
from setrbm_mail.reading.layout import binarized, statistics_of, zones_of
from setrbm_mail.reading.orientation import likely_rotation, upright
from setrbm_mail.reading.settings import Reading


def read_page(source: PageSource, number: int, reading: Reading) -> Page:
    """Read one page; raise DocumentError if it cannot be read."""
    picture, dpi = source.picture(number, reading.dpi)
    ink = binarized(picture, dpi)
    zones = zones_of(ink)
    method, rotation = source.method, 0
    lettering = source.lettering(number, picture.shape)
    if lettering is None:
        lettering, method = NO_WORDS, "none"
        if reading.ocr == "auto":
            from setrbm_mail.reading import ocr

            method, guess = "OCR", likely_rotation(ink, zones)
            lettering, rotation = ocr.read(picture, dpi, guess, reading.language, reading.language_folder)
    if rotation:
        picture = upright(picture, rotation)
        ink = binarized(picture, dpi)
        zones = zones_of(ink)
    height, width = picture.shape
    words = tuple(word[:LONGEST_WORD] for word in lettering.words)
    return Page(
        words=words, boxes=lettering.boxes, confidences=lettering.confidences, method=method, width=width,
        height=height, dpi=dpi, rotation=rotation, thumbnail=thumbnail_of(picture), layout=statistics_of(ink, zones),
    )  # fmt: skip


def thumbnail_of(picture: Gray) -> npt.NDArray[np.uint8]:
    """Return the mean gray values of a page on a grid of 32 rows and 24 columns."""
    return np.asarray(cv2.resize(picture, THUMBNAIL[::-1], interpolation=cv2.INTER_AREA), dtype=np.uint8)
