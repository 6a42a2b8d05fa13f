"""Which way up a page probably is, from the shapes of its lines of text, in a fraction of the time of OCR.

The letters of an upright page stand on lines; those of a page on its side do not. Letters of the Latin alphabet reach
above the others (b, d, f, capitals) more often than below them (g, p, y). Patterns on an identity paper can look
otherwise, so the words that are read then decide: see ``setrbm_mail.reading.ocr``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from setrbm_mail._types import Floats
from setrbm_mail.formats.source import Gray
from setrbm_mail.reading.layout import Rows, Zones, slope_of, zones_of

# A page needs this many letters to be judged. If fewer than the first share of them stand on lines, it may be on its
# side; it is if more than the second share do after a quarter turn. Of 150 generated pages, at most 0.08 of the letters
# stood on lines on their sides, and at least 0.2 upright, but for papers with few words.
FEWEST_LETTERS, ON_ITS_SIDE, STANDING = 60, 0.1, 0.15
# Lines with fewer letters than this are not looked at.
FEWEST_IN_LINE = 8
# A letter stands on its line if it is off by less than this share of the median height; else it reaches out of it.
ON_LINE = 0.15
# How many letters must reach out of their lines, and which share of them in the same direction. Of 300 generated pages
# with all levels of noise, 240 are judged then, all of them rightly.
EVIDENCE, AGREED = 20, 0.65


@dataclass(frozen=True)
class Guess:
    """By how many degrees a page must probably be turned clockwise to be upright, and whether that is fairly sure."""

    rotation: int = 0
    is_sure: bool = False


UNKNOWN = Guess()


def likely_rotation(ink: Gray, zones: Zones) -> Guess:
    """Guess which way up a page is, from its ink and zones as ``setrbm_mail.reading.layout`` finds them."""
    sideways = 0
    if zones.n_letters >= FEWEST_LETTERS and _standing(zones) < ON_ITS_SIDE:
        turned = zones_of(np.ascontiguousarray(np.rot90(ink, -1)))
        if _standing(turned) > STANDING:
            sideways, zones = 90, turned
    above, below = reaching_out(zones)
    if above + below < EVIDENCE or max(above, below) < AGREED * (above + below):
        return Guess(sideways)
    return Guess(sideways + 180 * (below > above), is_sure=True)


def upright(picture: Gray, rotation: int) -> Gray:
    """Return a picture turned clockwise by 0, 90, 180 or 270 degrees."""
    return np.ascontiguousarray(np.rot90(picture, -rotation // 90))


def _lines(zones: Zones) -> list[Rows]:
    lines = [line.letters for line in (*zones.printed, *zones.handwritten)]
    return [letters for letters in lines if len(letters) >= FEWEST_IN_LINE]


def _standing(zones: Zones) -> float:
    """Return the share of the letters that stand on lines."""
    n = sum(int((np.abs(feet) < ON_LINE).sum()) for _, feet in map(_leveled, _lines(zones)))
    return n / max(zones.n_letters, 1)


def reaching_out(zones: Zones) -> tuple[int, int]:
    """Return how many letters reach above the others of their line only, and how many below only."""
    above = below = 0
    for tops, feet in map(_leveled, _lines(zones)):
        above += int(((tops < -ON_LINE) & (np.abs(feet) < ON_LINE)).sum())
        below += int(((feet > ON_LINE) & (np.abs(tops) < ON_LINE)).sum())
    return above, below


def _leveled(letters: Rows) -> tuple[Floats, Floats]:
    """Return how far tops and feet of the letters of a line are below their medians, in units of the median height."""
    heights = letters[:, 3].astype(float)
    height = max(float(np.median(heights)), 1.0)
    middle, tops = letters[:, 0] + letters[:, 2] / 2.0, letters[:, 1].astype(float)
    slope = slope_of(middle, tops + heights, height)
    tops, feet = ((edge - slope * middle) / height for edge in (tops, tops + heights))
    return tops - np.median(tops), feet - np.median(feet)
