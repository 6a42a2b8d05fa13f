"""A sheet of paper with its fonts and its writer: what layouts draw with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from setrbm_mail.generate.canvas import Canvas, Point, wrapped
from setrbm_mail.generate.fonts import Face, PageFonts
from setrbm_mail.generate.writing import Writer

Choice = TypeVar("Choice")
Align = Literal["left", "center", "right"]
# Handwriting is larger than print at the same nominal size, and leans off the line.
HAND_SIZE, HAND_JITTER = 1.6, 0.05


@dataclass
class Sheet:
    """A canvas, its fonts, and the writer of its words.

    Attributes
    ----------
    canvas : Canvas
    fonts : PageFonts
    writer : Writer
    """

    canvas: Canvas
    fonts: PageFonts
    writer: Writer

    @property
    def rng(self) -> np.random.Generator:
        """The random numbers of the page."""
        return self.writer.rng

    @property
    def width(self) -> float:
        """The width of the paper in points."""
        return self.canvas.size[0]

    @property
    def height(self) -> float:
        """The height of the paper in points."""
        return self.canvas.size[1]

    def chance(self, probability: float) -> bool:
        """Return true with a probability."""
        return bool(self.rng.random() < probability)

    def between(self, low: float, high: float) -> float:
        """Return a random number."""
        return float(self.rng.uniform(low, high))

    def pick(self, a: Sequence[Choice], b: Sequence[Choice]) -> Choice:
        """Return one of the choices of the page's style."""
        choices = a if self.writer.style == "a" else b
        return choices[int(self.rng.integers(len(choices)))]

    def face(self, bold: bool = False, hand: bool = False) -> Face:
        """Return a font of the page."""
        if hand:
            return self.fonts.hand
        return self.fonts.bold if bold else self.fonts.regular

    def put(
        self, x: float, y: float, text: str, size: float = 10.0, *, bold: bool = False, hand: bool = False,
        align: Align = "left", gray: int = 0,
    ) -> float:  # fmt: skip
        """Write one line; return where it ends."""
        face = self.face(bold, hand)
        size = size * HAND_SIZE if hand else size
        if align != "left":
            x -= face.width(text, size) * (0.5 if align == "center" else 1.0)
        if hand:
            return self._scrawl(x, y, text, face, size)
        return self.canvas.write(x, y, text, face, size, gray=gray)

    def _scrawl(self, x: float, y: float, text: str, face: Face, size: float) -> float:
        """Write words by hand: none is quite on the line or of the same size; the pen is dark but not black."""
        gray = int(self.rng.integers(10, 70))
        end = x
        for word in text.split():
            drift, scale = self.rng.normal(0.0, HAND_JITTER, 2)
            end = self.canvas.write(x, y + drift * size, word, face, size * (1 + 0.6 * scale), gray=gray)
            x = end + 1.2 * face.blank(size)
        return end

    def put_lines(
        self, x: float, y: float, lines: Sequence[str], size: float = 10.0, leading: float = 1.3, **options: bool
    ) -> float:
        """Write lines below each other; return the baseline after the last."""
        for line in lines:
            self.put(x, y, line, size, bold=options.get("bold", False), hand=options.get("hand", False))
            y += size * leading
        return y

    def flow(
        self, x: float, y: float, width: float, text: str, size: float = 10.0, *, leading: float = 1.35,
        bold: bool = False, hand: bool = False, justify: bool = False, bottom: float = np.inf,
    ) -> float:  # fmt: skip
        """Write a paragraph, wrapped to a width, down to a bottom; return the baseline after the last line."""
        face = self.face(bold, hand)
        drawn = size * HAND_SIZE if hand else size
        lines = list(wrapped(text, face, drawn, width * (0.9 if hand else 1.0)))
        for n, words in enumerate(lines):
            if y > bottom:
                break
            if hand:
                self._scrawl(x, y, " ".join(words), face, drawn)
            else:
                self._set_line(x, y, words, face, size, width if justify and n < len(lines) - 1 else 0.0)
            y += drawn * leading
        return y

    def _set_line(self, x: float, y: float, words: list[str], face: Face, size: float, width: float) -> None:
        """Write the words of a line; a width stretches the blanks between them."""
        natural = sum(face.width(word, size) for word in words)
        blank = (width - natural) / (len(words) - 1) if width and len(words) > 1 else face.blank(size)
        for word in words:
            x = self.canvas.write(x, y, word, face, size) + blank

    def flow_all(
        self,
        x: float,
        y: float,
        width: float,
        paragraphs: Sequence[str],
        size: float = 10.0,
        *,
        gap: float = 0.7,
        bottom: float = np.inf,
        **options: bool,
    ) -> float:
        """Write paragraphs with a gap between them, down to a bottom; return the baseline after the last."""
        for paragraph in paragraphs:
            if y > bottom:
                break
            y = self.flow(
                x,
                y,
                width,
                paragraph,
                size,
                hand=options.get("hand", False),
                justify=options.get("justify", False),
                bottom=bottom,
            )
            y += gap * size
        return y

    def typed(self, x: float, y: float, text: str, size: float, pitch: float) -> float:
        """Write with one distance between all letters; return where it ends."""
        return self.canvas.write(x, y, text, self.fonts.regular, size, pitch=pitch)

    def signature(self, x: float, y: float, width: float = 90.0) -> None:
        """Draw a signature: loops of changing height along a line, as of a fast pen."""
        n = int(self.rng.integers(5, 9))
        phase = np.linspace(0.0, 2 * np.pi * n, 14 * n)
        heights = np.repeat(self.rng.gamma(3.0, 1.9, n) * np.linspace(1.5, 0.6, n), 14)
        along = phase / phase[-1] + 0.035 * self.rng.uniform(0.6, 1.6) * np.sin(phase)
        rise = heights * (1 - np.cos(phase)) / 2 + 2.0 * np.sin(phase / 3)
        points = zip(x + width * along, y - rise, strict=True)
        self.canvas.stroke([(float(px), float(py)) for px, py in points], 1.0, 35)
        if self.chance(0.5):
            self.canvas.line(x, y + 4, x + width * self.between(0.6, 1.1), y + self.between(-2, 5), 0.9, 35)

    def logo(self, x: float, y: float, size: float) -> None:
        """Draw a simple logo."""
        gray = int(self.rng.integers(40, 150))
        shape = self.pick(("bars", "triangle"), ("circle", "square", "diamond"))
        LOGOS[shape](self.canvas, x, y, size, gray)


def circle(x: float, y: float, radius: float, n: int = 40) -> list[Point]:
    """Return points on a circle."""
    angles = np.linspace(0.0, 2 * np.pi, n, endpoint=False)
    return [(float(x + radius * np.cos(a)), float(y + radius * np.sin(a))) for a in angles]


def _bars(canvas: Canvas, x: float, y: float, size: float, gray: int) -> None:
    for n in range(3):
        canvas.fill(x + n * 0.36 * size, y + (2 - n) * 0.25 * size, x + (n * 0.36 + 0.28) * size, y + size, gray)


def _triangle(canvas: Canvas, x: float, y: float, size: float, gray: int) -> None:
    canvas.polygon([(x, y + size), (x + size / 2, y), (x + size, y + size)], gray)


def _circle(canvas: Canvas, x: float, y: float, size: float, gray: int) -> None:
    canvas.polygon(circle(x + size / 2, y + size / 2, size / 2), gray)
    canvas.polygon(circle(x + 0.6 * size, y + 0.42 * size, size / 4), 255)


def _square(canvas: Canvas, x: float, y: float, size: float, gray: int) -> None:
    canvas.fill(x, y, x + size, y + size, gray)
    canvas.stroke(
        [(x + 0.2 * size, y + 0.7 * size), (x + 0.5 * size, y + 0.3 * size), (x + 0.8 * size, y + 0.7 * size)], 2.5, 255
    )


def _diamond(canvas: Canvas, x: float, y: float, size: float, gray: int) -> None:
    half = size / 2
    canvas.polygon([(x, y + half), (x + half, y), (x + size, y + half), (x + half, y + size)], gray)


LOGOS: dict[str, Callable[[Canvas, float, float, float, int], None]] = {
    "bars": _bars, "triangle": _triangle, "circle": _circle, "square": _square, "diamond": _diamond,
}  # fmt: skip
