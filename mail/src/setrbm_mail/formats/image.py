"""Pages of TIFF, JPEG and PNG files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from setrbm_mail.formats.source import A4_INCHES, Gray, Lettering
from setrbm_mail.limits import Limits
from setrbm_mail.pages import DocumentError

FORMATS = ("TIFF", "JPEG", "PNG")
# Believable dots per inch, and the longer side of a page in inches. Cameras record 72 or 96 whatever they
# photograph, and Pillow reports 72 if nothing is recorded.
DPI, INCHES = (99.0, 1250.0), (2.0, 50.0)
# Faxes have up to four times as many dots per inch in one direction as in the other, such as 204 x 98. No camera
# records that, so fewer dots are believable.
FAX_DPI, SAME, MOST_DIFFERENT = (60.0, 1250.0), 1.01, 4.5
# The Exif tag of how a picture is turned, and the values that swap its sides.
ORIENTATION, SWAPPED = 0x0112, (5, 6, 7, 8)
# Pictures within this factor of the wanted resolution are not resized; none is enlarged more than three times.
CLOSE, MOST_ENLARGED = 1.1, 3.0
# Sizes are checked here before anything is decoded.
Image.MAX_IMAGE_PIXELS = None


class ImageSource:
    """The pages of a picture file: each frame is one.

    Parameters
    ----------
    data : bytes
    limits : Limits
    """

    method = "text layer"

    def __init__(self, data: bytes, limits: Limits) -> None:
        self._data, self._limits = data, limits
        with _reporting_damage():
            self._image = self._opened()
            self.n_pages = int(getattr(self._image, "n_frames", 1)) if self._image.format == "TIFF" else 1

    def picture(self, number: int, dpi: float) -> tuple[Gray, float]:
        """Return a frame in gray, upright according to its metadata, with about the wanted dots per inch."""
        with _reporting_damage():
            image = self._frame(number)
            full, own = _full(image)
            if image.format == "JPEG":
                # Decodes at a half or a quarter of the size where that is enough.
                image.draft("L", tuple(max(1, int(side * dpi / min(own))) for side in image.size))
            ImageOps.exif_transpose(image, in_place=True)
            gray = _gray(image)
            across, down = (dots * now / old for dots, now, old in zip(own, gray.size, full, strict=True))
            return _resized(gray, across, down, dpi)

    def lettering(self, number: int, shape: tuple[int, int]) -> Lettering | None:
        """Return None: pictures have no text layer."""
        return None

    def _opened(self) -> Any:
        image = Image.open(io.BytesIO(self._data), formats=FORMATS)
        self._check_size(image)
        return image

    def _frame(self, number: int) -> Any:
        if number == 1:
            # Anew, since an earlier call may have reduced or turned it.
            self._image = self._opened()
        self._image.seek(number - 1)
        self._check_size(self._image)
        return self._image

    def _check_size(self, image: Any) -> None:
        width, height = image.size
        if width * height > self._limits.pixels:
            raise DocumentError(
                f"the picture has {width:,} x {height:,} pixels; the limit is {self._limits.pixels:,} (pixels)"
            )


@contextmanager
def _reporting_damage() -> Iterator[None]:
    """Turn what Pillow raises for damaged files, which may be any error, into a DocumentError."""
    try:
        yield
    except (DocumentError, MemoryError):
        raise
    except Exception:
        raise DocumentError("the picture is damaged") from None


def _full(image: Any) -> tuple[tuple[int, int], tuple[float, float]]:
    """Return width and height of a picture when it is upright, and its dots per inch across and down."""
    size, dpi = image.size, _recorded_dpi(image)
    if image.getexif().get(ORIENTATION) in SWAPPED:
        dpi = dpi[::-1]
        # Pillow swaps the sides of a TIFF itself.
        size = size if image.format == "TIFF" else size[::-1]
    return size, _resolution(size, *dpi)


def _resolution(size: tuple[int, int], across: float, down: float) -> tuple[float, float]:
    """Return the dots per inch as recorded, or as if the longer side of the picture were that of A4."""
    if _is_fax(across, down) and _is_size(max(size[0] / across, size[1] / down)):
        return across, down
    longest = float(max(size))
    own = across if DPI[0] <= across <= DPI[1] and _is_size(longest / across) else longest / A4_INCHES
    return own, own


def _recorded_dpi(image: Any) -> tuple[float, float]:
    """Return the dots per inch that are recorded in a picture; 0 if there are none, or none that make sense."""
    try:
        across, down = map(float, image.info.get("dpi", (0.0, 0.0)))
    except (TypeError, ValueError, ZeroDivisionError):
        return 0.0, 0.0
    return across, down


def _is_fax(across: float, down: float) -> bool:
    """Return whether believable resolutions differ, so that the dots are not square."""
    low, high = min(across, down), max(across, down)
    return FAX_DPI[0] <= low and high <= FAX_DPI[1] and SAME < high / low < MOST_DIFFERENT


def _is_size(inches: float) -> bool:
    return INCHES[0] <= inches <= INCHES[1]


def _gray(image: Any) -> Any:
    """Return a picture in 8-bit gray; what is transparent becomes white."""
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        return Image.fromarray(_stretched(np.asarray(image, dtype=np.float32)))
    if "transparency" in image.info or image.mode in ("RGBA", "LA", "PA"):
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        white.alpha_composite(image.convert("RGBA"))
        image = white
    return image.convert("L")


def _stretched(values: Any) -> Gray:
    """Return values of any range on the whole gray scale; equal ones are white."""
    values = np.nan_to_num(values)
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.full(values.shape, 255, np.uint8)
    return np.asarray(((values - low) * (255.0 / (high - low))).clip(0, 255), dtype=np.uint8)


def _resized(gray: Any, across: float, down: float, dpi: float) -> tuple[Gray, float]:
    """Return a picture with square dots and about the wanted dots per inch, and how many they are."""
    target = min(dpi, MOST_ENLARGED * min(across, down))
    is_square = max(across, down) <= SAME * min(across, down)
    if is_square and 1.0 / CLOSE <= target / across <= CLOSE:
        return np.array(gray, dtype=np.uint8), across
    size = max(1, round(gray.width * target / across)), max(1, round(gray.height * target / down))
    gray = gray.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)
    return np.array(gray, dtype=np.uint8), target
