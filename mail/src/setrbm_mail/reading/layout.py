"""Document layout: 17 statistics of the boxes, lines, printed and handwritten zones of a page."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from setrbm_mail.formats.source import Gray

# Left, top, width and height in pixels, one row per zone or letter.
Rows = npt.NDArray[np.int32]

# All sizes are in inches; pages are analyzed at this many dots per inch.
DPI = 150.0
# Shortest line, thickest line, and smallest side of a box.
LINE, THICK, BOX = 0.6, 0.06, 0.12
# Letters are between these heights; gaps between the letters of a zone are at most this wide.
LETTER, GAP = (0.03, 0.45), 0.16
# Ink is at least 25 gray values darker than the mean of the 61 x 61 pixels around it.
AROUND, DARKER = 61, 25
# The factor by which the resolution is reduced for lines and boxes.
HALF = 2
# Zones with fewer letters than this are not judged.
FEWEST_LETTERS = 5
# A zone is handwritten if its letters are this uneven: most printed lines are below 0.17, most handwritten ones above.
UNEVEN = 0.2
# For each kind of zone, the number n at which n / (n + MANY) is a half.
MANY = (10.0, 10.0, 20.0, 10.0)


@dataclass(frozen=True)
class TextLine:
    """A printed or handwritten line: its zone, and its letters."""

    zone: Rows
    letters: Rows


@dataclass(frozen=True)
class Zones:
    """The zones of a page by kind.

    ``n_letters`` counts all shapes that look like letters, also outside of lines of text.
    """

    boxes: Rows
    lines: Rows
    printed: list[TextLine]
    handwritten: list[TextLine]
    n_letters: int

    @property
    def kinds(self) -> tuple[Rows, ...]:
        """The zones of each kind, in the order of ``pages.ZONES``."""
        texts = ([line.zone for line in lines] for lines in (self.printed, self.handwritten))
        return self.boxes, self.lines, *(np.array(rows, np.int32).reshape(-1, 4) for rows in texts)


def layout_of(picture: Gray, dpi: float) -> npt.NDArray[np.float32]:
    """Return the layout statistics of a page, from 0 to 1, in the order of ``pages.LAYOUT``.

    For each kind of zone: how many there are (n / (n + many)), the share of the page that they cover, their mean height
    and their mean place from top to bottom, as shares of the height of the page; then the share of the page that is
    ink.
    """
    ink = binarized(picture, dpi)
    return statistics_of(ink, zones_of(ink))


def statistics_of(ink: Gray, zones: Zones) -> npt.NDArray[np.float32]:
    """Return the layout statistics of a page from its ink and zones, as ``layout_of`` describes them."""
    height, width = ink.shape
    statistics: list[float] = []
    for rows, many in zip(zones.kinds, MANY, strict=True):
        statistics += _statistics(rows, height, width, many)
    values = np.array([*statistics, (ink > 0).mean()], dtype=np.float32)
    return np.clip(values, 0.0, 1.0)


def _statistics(rows: Rows, height: int, width: int, many: float) -> list[float]:
    if not len(rows):
        return [0.0] * 4
    areas = rows[:, 2].astype(float) * rows[:, 3]
    places = (rows[:, 1] + rows[:, 3] / 2.0) / height
    return [len(rows) / (len(rows) + many), areas.sum() / (height * width), rows[:, 3].mean() / height, places.mean()]


def binarized(picture: Gray, dpi: float) -> Gray:
    """Return the ink of a page, 255 on 0, at ``DPI``."""
    factor = DPI / dpi
    size = tuple(max(1, round(side * factor)) for side in picture.shape[::-1])
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA) if factor != 1.0 else picture
    # Compared with the brightness around it, since scans are uneven.
    mode = (cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV)
    return np.asarray(cv2.adaptiveThreshold(np.asarray(small, np.uint8), 255, *mode, AROUND, DARKER), np.uint8)


def zones_of(ink: Gray) -> Zones:
    """Return the zones of a page."""
    lines = _lines(ink)
    text = cv2.subtract(ink, cv2.dilate(lines, np.ones((3, 3), np.uint8)))
    texts, n_letters = _texts(np.asarray(text, np.uint8))
    kinds: dict[bool, list[TextLine]] = {False: [], True: []}
    for line in texts:
        kinds[unevenness(line.letters) > UNEVEN].append(line)
    # Lines are long: half the resolution is enough to count them, and takes a quarter of the time.
    half = np.array(cv2.dilate(lines, np.ones((HALF, HALF), np.uint8))[::HALF, ::HALF], dtype=np.uint8, order="C")
    return Zones(HALF * _boxes(half), HALF * _components(half)[1][:, :4], kinds[False], kinds[True], n_letters)


def _lines(ink: Gray) -> Gray:
    """Return the ink of straight lines."""
    length = round(LINE * DPI)
    across, down = (_opened(ink, kernel) for kernel in ((1, length), (length, 1)))
    return np.asarray(cv2.bitwise_or(_thin(across, axis=0), _thin(down, axis=1)), np.uint8)


def _boxes(lines: Gray) -> Rows:
    """Return the boxes that lines enclose."""
    # Small gaps at corners are closed first, so that they do not open a box.
    closed = cv2.morphologyEx(lines, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    inside = _components(np.asarray(cv2.bitwise_not(closed), np.uint8), connectivity=4)[1]
    small, (height, width) = BOX * DPI / HALF, lines.shape
    keep = (inside[:, 2] > small) & (inside[:, 3] > small)
    # The outside of all boxes touches the edge of the page.
    keep &= (inside[:, 0] > 0) & (inside[:, 1] > 0)
    keep &= (inside[:, 0] + inside[:, 2] < width) & (inside[:, 1] + inside[:, 3] < height)
    # Boxes are full: other holes are not.
    keep &= inside[:, 4] > 0.8 * inside[:, 2] * inside[:, 3]
    return inside[keep, :4]


def _thin(lines: Gray, axis: int) -> Gray:
    """Return lines without areas that are too thick to be lines."""
    thick = round(THICK * DPI)
    kernel = (thick, 1) if axis == 0 else (1, thick)
    areas = cv2.dilate(_opened(lines, kernel), np.ones(kernel, np.uint8))
    return np.asarray(cv2.subtract(lines, areas), np.uint8)


def _opened(ink: Gray, kernel: tuple[int, int]) -> Gray:
    """Return the ink in which a block of this many rows and columns fits."""
    return np.asarray(cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones(kernel, np.uint8)), np.uint8)


def _components(ink: Gray, connectivity: int = 8) -> tuple[npt.NDArray[np.int32], Rows]:
    """Return the label of every pixel, and left, top, width, height and area of every component."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=connectivity)
    return np.asarray(labels, np.int32), np.asarray(stats[1:], np.int32)


def _texts(text: Gray) -> tuple[list[TextLine], int]:
    """Return the lines of text, and the number of all letters."""
    letters = _components(text)[1][:, :4]
    low, high = LETTER[0] * DPI, LETTER[1] * DPI
    letters = letters[(letters[:, 3] >= low) & (letters[:, 3] <= high) & (letters[:, 2] <= 20 * high)]
    # Letters smeared sideways join to lines.
    smeared = cv2.morphologyEx(text, cv2.MORPH_CLOSE, np.ones((1, 2 * round(GAP * DPI) + 1), np.uint8))
    labels, zones = _components(np.asarray(smeared, np.uint8))
    middle = (letters[:, 1] + letters[:, 3] // 2, letters[:, 0] + letters[:, 2] // 2)
    # The middle of a letter may be a hole: its first ink pixel has the same label as its box.
    of_letter = np.maximum(labels[middle], labels[letters[:, 1], letters[:, 0]])
    groups = [own for own in _groups(of_letter) if len(own) >= FEWEST_LETTERS]
    return [TextLine(zones[of_letter[own[0]] - 1, :4], letters[own]) for own in groups], len(letters)


def _groups(labels: npt.NDArray[np.int32]) -> list[npt.NDArray[np.int64]]:
    """Return the positions of each label above 0."""
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 1) :]
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def unevenness(letters: Rows) -> float:
    """Return how much the feet and the heights of the letters of a line vary, in units of their median height.

    Printed letters are on a straight line, if not always a level one, and have few heights; handwritten ones vary.
    """
    heights = letters[:, 3].astype(float)
    median = max(float(np.median(heights)), 1.0)
    middle, feet = letters[:, 0] + letters[:, 2] / 2.0, letters[:, 1] + heights
    off = feet - slope_of(middle, feet, median) * middle
    # Letters with descenders are off the line in print too; they are fewer than a quarter.
    feet_off = float(np.percentile(np.abs(off - np.median(off)), 75))
    return (feet_off + 0.5 * float(heights.std())) / median


def slope_of(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], apart: float) -> float:
    """Return the median slope between points that are half a line away from each other."""
    dx, dy = np.roll(x, len(x) // 2) - x, np.roll(y, len(y) // 2) - y
    far = np.abs(dx) > apart
    return float(np.median(dy[far] / dx[far])) if far.any() else 0.0
