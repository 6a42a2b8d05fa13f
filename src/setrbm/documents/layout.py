"""Document layout: 17 statistics of the boxes, lines, printed and handwritten zones of a page."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from setrbm.documents.sources import Gray

# All sizes are in inches; pages are analyzed at this many dots per inch.
DPI = 100.0
# Shortest line, thickest line, and smallest side of a box.
LINE, THICK, BOX = 0.6, 0.06, 0.12
# Letters are between these heights; gaps between the letters of a zone are at most this wide.
LETTER, GAP = (0.03, 0.45), 0.16
# Zones with fewer letters than this are not judged.
FEWEST_LETTERS = 3
# A zone is handwritten if its letters are this uneven.
UNEVEN = 0.42
# How many zones of each kind count as many: numbers n become n / (n + MANY).
MANY = (10.0, 10.0, 20.0, 10.0)


@dataclass(frozen=True)
class Zones:
    """The zones of a page by kind: rows of left, top, width and height in pixels."""

    boxes: npt.NDArray[np.int32]
    lines: npt.NDArray[np.int32]
    printed: npt.NDArray[np.int32]
    handwritten: npt.NDArray[np.int32]

    @property
    def kinds(self) -> tuple[npt.NDArray[np.int32], ...]:
        """The zones of each kind, in the order of ``pages.ZONES``."""
        return self.boxes, self.lines, self.printed, self.handwritten


def layout_of(picture: Gray, dpi: float) -> npt.NDArray[np.float32]:
    """Return the layout statistics of a page, from 0 to 1, in the order of ``pages.LAYOUT``.

    For each kind of zone: how many there are (n / (n + many)), the share of the page that they cover, their mean height
    and their mean place from top to bottom, as shares of the height of the page; then the share of the page that is
    ink.
    """
    ink = binarized(picture, dpi)
    zones = zones_of(ink)
    height, width = ink.shape
    found: list[float] = []
    for rows, many in zip(zones.kinds, MANY, strict=True):
        found += _statistics(rows, height, width, many)
    values = np.array([*found, (ink > 0).mean()], dtype=np.float32)
    return np.clip(values, 0.0, 1.0)


def _statistics(rows: npt.NDArray[np.int32], height: int, width: int, many: float) -> list[float]:
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
    around = cv2.blur(small, (41, 41))
    return np.where(small.astype(np.int16) < around.astype(np.int16) - 25, 255, 0).astype(np.uint8)


def zones_of(ink: Gray) -> Zones:
    """Return the zones of a page."""
    lines, boxes = _lines_and_boxes(ink)
    text = cv2.subtract(ink, cv2.dilate(lines, np.ones((3, 3), np.uint8)))
    printed, handwritten = _text_zones(np.asarray(text, np.uint8))
    return Zones(boxes, _line_zones(lines), printed, handwritten)


def _lines_and_boxes(ink: Gray) -> tuple[Gray, npt.NDArray[np.int32]]:
    """Return the ink of straight lines, and the boxes that such lines enclose."""
    length = round(LINE * DPI)
    across, down = (_opened(ink, kernel) for kernel in ((1, length), (length, 1)))
    lines = np.asarray(cv2.bitwise_or(_thin(across, axis=0), _thin(down, axis=1)), np.uint8)
    # Small gaps at corners are closed before looking for what is enclosed.
    closed = cv2.morphologyEx(lines, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    inside = _components(np.asarray(cv2.bitwise_not(closed), np.uint8), connectivity=4)[1]
    small, (height, width) = BOX * DPI, ink.shape
    keep = (inside[:, 2] > small) & (inside[:, 3] > small)
    # The outside of all boxes touches the edge of the page.
    keep &= (inside[:, 0] > 0) & (inside[:, 1] > 0)
    keep &= (inside[:, 0] + inside[:, 2] < width) & (inside[:, 1] + inside[:, 3] < height)
    # Boxes are full: other holes are not.
    keep &= inside[:, 4] > 0.8 * inside[:, 2] * inside[:, 3]
    return lines, inside[keep, :4]


def _thin(lines: Gray, axis: int) -> Gray:
    """Return lines without areas that are too thick to be lines."""
    thick = round(THICK * DPI)
    kernel = (thick, 1) if axis == 0 else (1, thick)
    areas = cv2.dilate(_opened(lines, kernel), np.ones(kernel, np.uint8))
    return np.asarray(cv2.subtract(lines, areas), np.uint8)


def _opened(ink: Gray, kernel: tuple[int, int]) -> Gray:
    """Return the ink in which a block of this many rows and columns fits."""
    return np.asarray(cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones(kernel, np.uint8)), np.uint8)


def _components(ink: Gray, connectivity: int = 8) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the label of every pixel, and left, top, width, height and area of every component."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=connectivity)
    return np.asarray(labels, np.int32), np.asarray(stats[1:], np.int32)


def _line_zones(lines: Gray) -> npt.NDArray[np.int32]:
    return _components(lines)[1][:, :4]


def _text_zones(text: Gray) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the printed and the handwritten lines of text."""
    letters = _components(text)[1][:, :4]
    low, high = LETTER[0] * DPI, LETTER[1] * DPI
    letters = letters[(letters[:, 3] >= low) & (letters[:, 3] <= high) & (letters[:, 2] <= 20 * high)]
    # Letters smeared sideways join to lines.
    smeared = cv2.morphologyEx(text, cv2.MORPH_CLOSE, np.ones((1, 2 * round(GAP * DPI) + 1), np.uint8))
    labels, zones = _components(np.asarray(smeared, np.uint8))
    middle = (letters[:, 1] + letters[:, 3] // 2, letters[:, 0] + letters[:, 2] // 2)
    # The middle of a letter may be a hole: its first ink pixel has the same label as its box.
    of_letter = np.maximum(labels[middle], labels[letters[:, 1], letters[:, 0]])
    kinds: dict[bool, list[npt.NDArray[np.int32]]] = {False: [], True: []}
    for zone in np.unique(of_letter[of_letter > 0]):
        own = letters[of_letter == zone]
        if len(own) >= FEWEST_LETTERS:
            kinds[unevenness(own) > UNEVEN].append(zones[zone - 1, :4])
    printed, handwritten = (np.array(kinds[one], np.int32).reshape(-1, 4) for one in (False, True))
    return printed, handwritten


def unevenness(letters: npt.NDArray[np.int32]) -> float:
    """Return how much the heights and the feet of the letters of a line vary, in units of their median height.

    Print stands on one line and has few heights; handwriting varies, and its letters are joined.
    """
    heights = letters[:, 3].astype(float)
    median = max(float(np.median(heights)), 1.0)
    feet = letters[:, 1] + heights
    joined = float(np.median(letters[:, 2])) / median
    return float(heights.std() / median + np.abs(feet - np.median(feet)).mean() / median + 0.1 * max(joined - 1.0, 0.0))
