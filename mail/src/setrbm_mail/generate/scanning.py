"""What a scanner does to a page: skew, blur, noise, uneven light, stamps, dark edges, pages the wrong way round."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from setrbm_mail.generate.rasters import DPI, POINTS_PER_INCH, Picture

Matrix = npt.NDArray[np.float64]
ROTATIONS = (90, 180, 270)
# Noise is drawn once for a tile of this many pixels and repeated; drawing it for the whole page takes longer than all
# other steps together.
TILE = 512
# Ink fades towards this gray value, by shares that are drawn on a coarse grid.
FADED, FADING_GRID = 236, (14, 8)
INK = np.clip(FADED - np.arange(256), 0, 255).astype(np.uint8)
STAMPS = ("RECEIVED", "MAILROOM", "ENTERED", "IN")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


@dataclass(frozen=True)
class Noise:
    """How badly a page is scanned.

    Attributes
    ----------
    level : float
        From 0, a clean scan, to 1, which makes OCR misread about half of the words of a printed letter.
    skew : float
        The largest angle in degrees.
    rotated, stamped, bordered : float
        The shares of pages that are rotated by 90, 180 or 270 degrees, that have a stamp, and that have a dark border.
    """

    level: float = 0.3
    skew: float = 2.0
    rotated: float = 0.03
    stamped: float = 0.12
    bordered: float = 0.2

    def __post_init__(self) -> None:
        for name in ("level", "rotated", "stamped", "bordered"):
            if not 0.0 <= (value := getattr(self, name)) <= 1.0:
                raise ValueError(f"{name} must lie between 0 and 1. Got {value!r}.")
        if not 0.0 <= self.skew <= 45.0:
            raise ValueError(f"skew must lie between 0 and 45 degrees. Got {self.skew!r}.")

    @property
    def jpeg_quality(self) -> int:
        """The quality of the JPEG file, from 1 to 100."""
        return round(78 - 33 * self.level)


@dataclass(frozen=True)
class Scan:
    """A scanned page.

    Attributes
    ----------
    picture : ndarray of shape (height, width)
        Gray values.
    rotation : int
        By how many degrees the page is rotated clockwise: 0, 90, 180 or 270.
    matrix : ndarray of shape (2, 3)
        Takes points of the canvas, with a third coordinate of 1, to pixels.
    """

    picture: Picture
    rotation: int
    matrix: Matrix

    def pixels(self, points: npt.ArrayLike) -> Matrix:
        """Return where points of the canvas are in the picture.

        Parameters
        ----------
        points : array-like of shape (n, 2)
        """
        places = np.asarray(points, dtype=np.float64)
        return np.asarray(places @ self.matrix[:, :2].T + self.matrix[:, 2])


def scan(picture: Picture, noise: Noise, rng: np.random.Generator, dpi: float = DPI) -> Scan:
    """Return a picture as a scanner delivers it."""
    rotation = draw_rotation(noise, rng)
    matrix = _placing(picture.shape, noise, rng)
    scale = dpi / DPI
    height, width = picture.shape
    lid = int(rng.integers(200, 250))
    page = _bytes(cv2.warpAffine(picture, matrix, (width, height), flags=cv2.INTER_LINEAR, borderValue=lid))
    if rng.random() < noise.stamped:
        page = _stamped(page, rng, scale)
    page = _blurred(page, noise, rng, scale)
    page = _lit(page, noise, rng)
    page = _speckled(page, noise, rng)
    if rng.random() < noise.bordered:
        _darken_border(page, rng, scale)
    page, turn = _rotated(page, rotation)
    to_pixels = np.array([[dpi / POINTS_PER_INCH, 0, 0], [0, dpi / POINTS_PER_INCH, 0], [0, 0, 1.0]])
    return Scan(page, rotation, turn @ np.vstack([matrix, [0, 0, 1]]) @ to_pixels)


def draw_rotation(noise: Noise, rng: np.random.Generator) -> int:
    """Return by how many degrees a page is rotated; uses two random numbers."""
    is_rotated, which = rng.random(), int(rng.integers(len(ROTATIONS)))
    return ROTATIONS[which] if is_rotated < noise.rotated else 0


def jpeg_file(picture: Picture, quality: int, dpi: float = DPI) -> bytes:
    """Return a gray picture as a JPEG file."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=quality, dpi=(round(dpi), round(dpi)))
    return file.getvalue()


def _bytes(picture: Any) -> Picture:
    """Return a result of OpenCV, whose annotations do not give its type."""
    return np.asarray(picture, dtype=np.uint8)


def _placing(shape: tuple[int, ...], noise: Noise, rng: np.random.Generator) -> Matrix:
    """Return a small turn around the middle and a small shift."""
    height, width = shape
    angle = float(rng.uniform(-noise.skew, noise.skew))
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), angle, float(rng.uniform(0.985, 1.005)))
    matrix = np.array(turn, dtype=np.float64)
    matrix[:, 2] += rng.uniform(-0.006, 0.006, 2) * width
    return matrix


def _blurred(page: Picture, noise: Noise, rng: np.random.Generator, scale: float) -> Picture:
    """Blur the page, and let the ink fade: a little everywhere, almost entirely in some places."""
    sigma = scale * (0.4 + 0.6 * noise.level) * rng.uniform(0.9, 1.1)
    page = _bytes(cv2.GaussianBlur(page, (0, 0), sigma))
    # OCR goes from reading everything to reading nothing within a narrow range of any uniform noise. Therefore the
    # level changes the area where the ink is too weak.
    drawn = rng.random(FADING_GRID, dtype=np.float32)
    weak = np.clip((drawn - 0.85 + 0.52 * noise.level) / 0.1, 0.0, 1.0)
    fading = 0.05 + 0.15 * noise.level + (0.88 - 0.15 * noise.level) * weak
    missing = cv2.resize((255 * fading).astype(np.uint8), page.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return _bytes(cv2.add(page, cv2.multiply(cv2.LUT(page, INK), missing, scale=1 / 255)))


def _lit(page: Picture, noise: Noise, rng: np.random.Generator) -> Picture:
    """Multiply by uneven light, drawn on a coarse grid."""
    dark = 8 + 22 * noise.level
    coarse = (255 - rng.uniform(0, dark, (4, 3))).astype(np.uint8)
    light = cv2.resize(coarse, page.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return _bytes(cv2.multiply(page, light, scale=1 / 255))


def _speckled(page: Picture, noise: Noise, rng: np.random.Generator) -> Picture:
    """Add Gaussian noise, and set single pixels to black or white."""
    tile = rng.standard_normal((TILE, TILE), dtype=np.float32) * (3 + 4 * noise.level)
    height, width = page.shape
    grain = np.tile(tile.astype(np.int16), (height // TILE + 1, width // TILE + 1))[:height, :width]
    page = _bytes(cv2.add(page, grain, dtype=cv2.CV_8U))
    n = rng.poisson(page.size * (0.0001 + 0.0015 * noise.level))
    page.ravel()[rng.integers(0, page.size, n)] = np.where(rng.random(n) < 0.5, 20, 250).astype(np.uint8)
    return page


def _stamped(page: Picture, rng: np.random.Generator, scale: float) -> Picture:
    """Print a slanted stamp of the mailroom somewhere in the upper half."""
    k = scale
    stamp = np.full((round(150 * k), round(420 * k)), 255, dtype=np.uint8)
    cv2.rectangle(stamp, (round(12 * k), round(12 * k)), (round(408 * k), round(138 * k)), 90, round(5 * k) or 1)
    day = f"{int(rng.integers(1, 29))} {MONTHS[rng.integers(12)]} {int(rng.integers(2019, 2026))}"
    for text, y, size in ((STAMPS[rng.integers(len(STAMPS))], 66, 1.6), (day, 118, 1.4)):
        cv2.putText(
            stamp, text, (round(34 * k), round(y * k)), cv2.FONT_HERSHEY_DUPLEX, size * k, 90, round(3 * k) or 1
        )
    turn = cv2.getRotationMatrix2D((stamp.shape[1] / 2, stamp.shape[0] / 2), float(rng.uniform(-12, 12)), 0.9)
    stamp = _bytes(cv2.warpAffine(stamp, turn, stamp.shape[::-1], borderValue=255))
    y = int(rng.integers(0, page.shape[0] // 2 - stamp.shape[0]))
    x = int(rng.integers(0, page.shape[1] - stamp.shape[1]))
    place = page[y : y + stamp.shape[0], x : x + stamp.shape[1]]
    np.minimum(place, stamp, out=place)
    return page


def _darken_border(page: Picture, rng: np.random.Generator, scale: float) -> None:
    """Darken a strip along one or two edges, where the lid was open."""
    for edge in rng.permutation(4)[: int(rng.integers(1, 3))]:
        # A view in which the edge is on the left.
        view = np.rot90(page, edge)
        width = int(rng.integers(4, 26) * scale) + 1
        shade = np.linspace(rng.uniform(0.1, 0.4), 1.0, width)
        view[:, :width] = (view[:, :width] * shade).astype(np.uint8)


def _rotated(page: Picture, degrees: int) -> tuple[Picture, Matrix]:
    """Rotate a page clockwise; return it with the matrix that takes old pixels to new ones."""
    height, width = page.shape
    turns = {
        0: [[1, 0, 0], [0, 1, 0]],
        90: [[0, -1, height - 1], [1, 0, 0]],
        180: [[-1, 0, width - 1], [0, -1, height - 1]],
        270: [[0, 1, 0], [-1, 0, width - 1]],
    }
    return np.ascontiguousarray(np.rot90(page, -degrees // 90)), np.array(turns[degrees], dtype=np.float64)
