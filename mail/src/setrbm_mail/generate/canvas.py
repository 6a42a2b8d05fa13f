"""A page as a list of words, strokes and filled areas, in points from the top left corner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from setrbm_mail.generate.fonts import Face

A4 = 595.3, 841.9
LETTER = 612.0, 792.0
Point = tuple[float, float]


@dataclass(frozen=True)
class Word:
    """A word on its baseline.

    Attributes
    ----------
    text : str
    x, y : float
        The left end of the baseline.
    width, size : float
    face : Face
    gray : int
        0 is black, 255 white.
    pitch : float
        The distance between letters, as from a typewriter; 0 if the font says it.
    """

    text: str
    x: float
    y: float
    width: float
    size: float
    face: Face
    gray: int = 0
    pitch: float = 0.0

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        return self.x, self.y - 0.76 * self.size, self.x + self.width, self.y + 0.22 * self.size


@dataclass(frozen=True)
class Stroke:
    """A line through points; closed if it returns to the first."""

    points: tuple[Point, ...]
    width: float = 0.6
    gray: int = 0
    closed: bool = False


@dataclass(frozen=True)
class Area:
    """A filled polygon."""

    points: tuple[Point, ...]
    gray: int


@dataclass
class Canvas:
    """A page as a list of what is on it, in drawing order.

    Attributes
    ----------
    page_type : str
    size : tuple of float
        Width and height in points.
    paper : int
        The gray value of the paper.
    items : list of Word, Stroke or Area
    """

    page_type: str = ""
    size: tuple[float, float] = A4
    paper: int = 255
    items: list[Word | Stroke | Area] = field(default_factory=list)

    @property
    def words(self) -> list[Word]:
        """The words in the order in which they were written."""
        return [item for item in self.items if isinstance(item, Word)]

    @property
    def text(self) -> str:
        """All words, with a blank between them."""
        return " ".join(word.text for word in self.words)

    def write(
        self, x: float, y: float, text: str, face: Face, size: float, *, gray: int = 0, pitch: float = 0.0
    ) -> float:
        """Write words to the right of a point on the baseline; return where they end."""
        blank = pitch or face.blank(size)
        end = x
        for text_of_word in text.split():
            width = pitch * len(text_of_word) if pitch else face.width(text_of_word, size)
            self.items.append(Word(text_of_word, x, y, width, size, face, gray, pitch))
            end = x + width
            x = end + blank
        return end

    def stroke(self, points: Sequence[Point], width: float = 0.6, gray: int = 0, closed: bool = False) -> None:
        """Draw a line through points."""
        self.items.append(Stroke(tuple(points), width, gray, closed))

    def line(self, x0: float, y0: float, x1: float, y1: float, width: float = 0.6, gray: int = 0) -> None:
        """Draw a straight line."""
        self.stroke([(x0, y0), (x1, y1)], width, gray)

    def box(self, x0: float, y0: float, x1: float, y1: float, width: float = 0.6, gray: int = 0) -> None:
        """Draw the outline of a rectangle."""
        self.stroke(corners(x0, y0, x1, y1), width, gray, closed=True)

    def fill(self, x0: float, y0: float, x1: float, y1: float, gray: int) -> None:
        """Fill a rectangle."""
        self.items.append(Area(tuple(corners(x0, y0, x1, y1)), gray))

    def polygon(self, points: Sequence[Point], gray: int) -> None:
        """Fill a polygon."""
        self.items.append(Area(tuple(points), gray))

    def check_box(self, x: float, y: float, size: float, checked: bool, gray: int = 0) -> None:
        """Draw a box on the baseline, with a cross if it is checked."""
        self.box(x, y - size, x + size, y, 0.7, gray)
        if checked:
            reach = 0.15 * size
            self.line(x - reach, y - size - reach, x + size + reach, y + reach, 1.3, 40)
            self.line(x - reach, y + reach, x + size + reach, y - size - reach, 1.3, 40)


def corners(x0: float, y0: float, x1: float, y1: float) -> list[Point]:
    """Return the corners of a rectangle, clockwise from the top left."""
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def wrapped(text: str, face: Face, size: float, width: float) -> Iterator[list[str]]:
    """Split a text into lines of words that fit into a width."""
    line: list[str] = []
    used, blank = 0.0, face.blank(size)
    for word in text.split():
        length = face.width(word, size)
        if line and used + blank + length > width:
            yield line
            line, used = [], 0.0
        used += length + (blank if line else 0.0)
        line.append(word)
    if line:
        yield line
