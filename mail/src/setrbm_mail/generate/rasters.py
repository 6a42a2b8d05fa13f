"""Draw a canvas as a gray picture."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from setrbm_mail.generate.canvas import Area, Canvas, Stroke, Word

DPI = 200
POINTS_PER_INCH = 72.0
Picture = npt.NDArray[np.uint8]


def draw_raster(canvas: Canvas, dpi: float = DPI) -> Picture:
    """Return a canvas as gray values of shape (height, width).

    Parameters
    ----------
    canvas : Canvas
    dpi : float
        Pixels per inch.
    """
    k = dpi / POINTS_PER_INCH
    image = Image.new("L", (round(canvas.size[0] * k), round(canvas.size[1] * k)), canvas.paper)
    draw = ImageDraw.Draw(image)
    for item in canvas.items:
        if isinstance(item, Word):
            _draw_word(draw, item, k)
        elif isinstance(item, Stroke):
            _draw_stroke(draw, item, k)
        else:
            _fill_area(draw, item, k)
    return np.array(image)


def _draw_word(draw: ImageDraw.ImageDraw, word: Word, k: float) -> None:
    font = word.face.sized(word.size * k)
    if not word.pitch:
        draw.text((word.x * k, word.y * k), word.text, word.gray, font, anchor="ls")
        return
    for n, letter in enumerate(word.text):
        draw.text(((word.x + (n + 0.5) * word.pitch) * k, word.y * k), letter, word.gray, font, anchor="ms")


def _draw_stroke(draw: ImageDraw.ImageDraw, stroke: Stroke, k: float) -> None:
    points = stroke.points + (stroke.points[:1] if stroke.closed else ())
    scaled = [(x * k, y * k) for x, y in points]
    draw.line(scaled, stroke.gray, max(1, round(stroke.width * k)), joint="curve" if len(points) > 5 else None)


def _fill_area(draw: ImageDraw.ImageDraw, area: Area, k: float) -> None:
    draw.polygon([(x * k, y * k) for x, y in area.points], area.gray)
