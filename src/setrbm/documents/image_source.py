"""Pages of TIFF, JPEG and PNG files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from setrbm.documents.limits import Limits
from setrbm.documents.pages import DocumentError
from setrbm.documents.sources import A4_INCHES, Gray, Lettering

FORMATS = ("TIFF", "JPEG", "PNG")
# Believable dots per inch, and the longer side of a page in inches. Cameras say 72 or 96 whatever they photograph, and
# Pillow says 72 where nothing is said.
DPI, INCHES = (99.0, 1250.0), (2.0, 50.0)
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

    def __init__(self, data: bytes, limits: Limits) -> None:
        self._data, self._limits = data, limits
        with _reporting_damage():
            self._image = self._opened()
            self.n_pages = int(getattr(self._image, "n_frames", 1)) if self._image.format == "TIFF" else 1

    def picture(self, number: int, dpi: float) -> tuple[Gray, float]:
        """Return a frame in gray, upright by its own record, with about the wanted dots per inch."""
        with _reporting_damage():
            image = self._frame(number)
            full, own = max(image.size), _dpi(image)
            if image.format == "JPEG":
                # Decodes at a half or a quarter of the size where that is enough.
                image.draft("L", tuple(max(1, int(side * dpi / own)) for side in image.size))
            ImageOps.exif_transpose(image, in_place=True)
            gray = _gray(image)
            return _resized(gray, own * max(gray.size) / full, dpi)

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


def _dpi(image: Any) -> float:
    """Return the dots per inch of a picture as it says, or as if its longer side were that of A4."""
    longest = float(max(image.size))
    try:
        said = float(image.info.get("dpi", (0.0, 0.0))[0])
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        said = 0.0
    is_likely = DPI[0] <= said <= DPI[1] and INCHES[0] <= longest / said <= INCHES[1]
    return said if is_likely else longest / A4_INCHES


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


def _resized(gray: Any, own: float, dpi: float) -> tuple[Gray, float]:
    factor = min(dpi / own, MOST_ENLARGED)
    if not 1.0 / CLOSE <= factor <= CLOSE:
        size = tuple(max(1, round(side * factor)) for side in gray.size)
        gray = gray.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)
        own *= factor
    return np.array(gray, dtype=np.uint8), own
