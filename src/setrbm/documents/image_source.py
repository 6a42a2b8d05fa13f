"""Pages of TIFF, JPEG and PNG files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from setrbm.documents.limits import Limits
from setrbm.documents.pages import DocumentError
from setrbm.documents.sources import A4_INCHES, Gray, Lettering

FORMATS = ("TIFF", "JPEG", "PNG")
# Believable dots per inch, and the longer side of a page in inches.
DPI, INCHES = (50.0, 1250.0), (2.0, 50.0)
# Pictures within this factor of the wanted resolution are not resized; none is enlarged more than three times.
CLOSE, MOST_ENLARGED = 1.1, 3.0
# What Pillow raises for damaged files.
DAMAGED = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
    ZeroDivisionError,
)
# Sizes are checked here before anything is decoded.
Image.MAX_IMAGE_PIXELS = None


class ImageSource:
    """The frames of a picture file, each a page.

    Parameters
    ----------
    data : bytes
    limits : Limits
    """

    def __init__(self, data: bytes, limits: Limits) -> None:
        try:
            self._image: Any = Image.open(io.BytesIO(data), formats=FORMATS)
            self._check_size(limits)
            self.n_pages = int(getattr(self._image, "n_frames", 1)) if self._image.format == "TIFF" else 1
        except (UnidentifiedImageError, *DAMAGED) as error:
            raise _damaged(error) from None
        self._limits = limits

    def picture(self, number: int, dpi: float) -> tuple[Gray, float]:
        """Return a frame in gray, upright by its own record, with about the wanted dots per inch."""
        image = self._image
        try:
            image.seek(number - 1)
            self._check_size(self._limits)
            own = _dpi(image)
            if image.format == "JPEG":
                # Decodes at a half or a quarter of the size where that is enough.
                image.draft("L", tuple(int(side * dpi / own) for side in image.size))
            full = image.size
            gray = _gray(ImageOps.exif_transpose(image))
        except MemoryError:
            raise
        except DAMAGED as error:
            raise _damaged(error) from None
        own *= max(gray.size) / max(full) if max(full) else 1.0
        return _resized(gray, own, dpi)

    def lettering(self, number: int, shape: tuple[int, int]) -> Lettering | None:
        """Return None: pictures have no text layer."""
        return None

    def _check_size(self, limits: Limits) -> None:
        width, height = self._image.size
        if width * height > limits.pixels:
            raise DocumentError(
                f"the picture has {width:,} x {height:,} pixels; the limit is {limits.pixels:,} (pixels)"
            )


def _damaged(error: Exception) -> DocumentError:
    return error if isinstance(error, DocumentError) else DocumentError("the picture is damaged")


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
    if image.mode in ("I;16", "I;16B", "I;16L", "I", "F"):
        values = np.asarray(image, dtype=np.float64)
        low, high = float(values.min()), float(values.max())
        # 16-bit gray; other ranges are stretched to the whole scale.
        low, high = (0.0, 65535.0) if image.mode.startswith("I;16") else (low, high)
        return Image.fromarray(((values - low) * (255.0 / max(high - low, 1e-9))).clip(0, 255).astype(np.uint8))
    if "transparency" in image.info or image.mode in ("RGBA", "LA", "PA"):
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, image)
    return image.convert("L")


def _resized(gray: Any, own: float, dpi: float) -> tuple[Gray, float]:
    factor = min(dpi / own, MOST_ENLARGED)
    if not 1.0 / CLOSE <= factor <= CLOSE:
        size = tuple(max(1, round(side * factor)) for side in gray.size)
        gray = gray.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)
        own *= factor
    return np.array(gray, dtype=np.uint8), own
