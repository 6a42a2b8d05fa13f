"""Fonts for generated pages: two styles that share no font file.

Style "a" is for training detectors, style "b" for mail, so that detectors are judged on fonts they never saw.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
from PIL import ImageFont

STYLES = ("a", "b")
# The entry point group of the index's font packages; each entry is a dictionary of file paths.
GROUP = "fonts_ttf", "fonts_otf"
# File name stems: regular and bold. Serif families are marked.
PRINTED = {
    "a": (
        ("Roboto-Regular", "Roboto-Bold", False),
        ("SourceSansPro-Regular", "SourceSansPro-Bold", False),
        ("Caladea-Regular", "Caladea-Bold", True),
    ),
    "b": (
        ("Lato-Regular", "Lato-Bold", False),
        ("Manrope-Regular", "Manrope-Bold", False),
        ("HankenGrotesk-Regular", "HankenGrotesk-Bold", False),
        ("SourceSerifPro-Regular", "SourceSerifPro-Bold", True),
    ),
}
HANDWRITTEN = {
    "a": ("AmaticSC-Bold", "dkg", "dkgIt", "Breip", "BecauseWeBuild-Regular", "BecauseWeLearn-Regular"),
    "b": ("Intuitive", "Rufscript010", "SteveHand", "Delphine", "BecauseWeOrganize-Regular", "BecauseWeMentor-Regular"),
}
SYSTEM_FOLDER = Path("/usr/share/fonts")
INSTALL = (
    "pip install font-roboto font-lato font-source-sans-pro font-source-serif-pro font-caladea font-manrope "
    "font-hanken-grotesk font-amatic-sc font-intuitive"
)
# Widths are measured in pixels at 200 dpi: FreeType rounds the advances of small letters, so they do not scale.
PIXELS_PER_POINT = 200 / 72
MEASURE = 100
# The narrowest blank, as a share of the font size; some fonts have narrower ones, which OCR does not see.
BLANK = 0.26
# The height of a handwritten "n", as a share of the font size.
HAND_HEIGHT = 0.46


@dataclass(frozen=True)
class Face:
    """One font file.

    Attributes
    ----------
    path : str
    bold, serif, handwritten : bool
    """

    path: str
    bold: bool = False
    serif: bool = False
    handwritten: bool = False

    def width(self, text: str, size: float) -> float:
        """Return the width of a text in points."""
        return _length(self, text, size)

    def blank(self, size: float) -> float:
        """Return the width of a blank in points."""
        return max(self.width(" ", size), BLANK * size)

    @property
    def scale(self) -> float:
        """The factor that gives all handwriting fonts the same height; 1 for printed ones."""
        return _hand_scale(self) if self.handwritten else 1.0

    def sized(self, pixels: float) -> ImageFont.FreeTypeFont:
        """Return the font for drawing at a size in pixels, rounded to a quarter so that few sizes are loaded."""
        return _load(self.path, round(4 * pixels * self.scale) / 4)


@dataclass(frozen=True)
class PageFonts:
    """The fonts of one page: for text, for headings, and for handwriting."""

    regular: Face
    bold: Face
    hand: Face


@dataclass(frozen=True)
class Fonts:
    """All fonts of a style.

    Attributes
    ----------
    printed : tuple of pairs of Face
        Regular and bold.
    handwritten : tuple of Face
    """

    printed: tuple[tuple[Face, Face], ...]
    handwritten: tuple[Face, ...]

    def choose(self, rng: np.random.Generator) -> PageFonts:
        """Return random fonts for one page."""
        regular, bold = self.printed[rng.integers(len(self.printed))]
        return PageFonts(regular, bold, self.handwritten[rng.integers(len(self.handwritten))])

    @property
    def files(self) -> list[str]:
        """The names of all font files, sorted."""
        faces = [*(face for pair in self.printed for face in pair), *self.handwritten]
        return sorted(Path(face.path).name for face in faces)


@cache
def find_fonts(style: str) -> Fonts:
    """Return the installed fonts of a style.

    Parameters
    ----------
    style : {"a", "b"}
    """
    if style not in STYLES:
        raise ValueError(f"style must be 'a' or 'b'. Got {style!r}.")
    installed = _installed()
    printed = tuple(
        (Face(installed[regular], serif=serif), Face(installed[bold], bold=True, serif=serif))
        for regular, bold, serif in PRINTED[style]
        if regular in installed and bold in installed
    )
    hands = tuple(Face(installed[name], handwritten=True) for name in HANDWRITTEN[style] if name in installed)
    for kind, faces in (("printed", printed), ("handwriting", hands)):
        if not faces:
            raise RuntimeError(
                f"Pages of style {style!r} need a {kind} font. Found none among the installed font packages. "
                f"Install them: {INSTALL}"
            )
    return Fonts(printed, hands)


@cache
def _installed() -> dict[str, str]:
    """Return the paths of all known fonts by the stems of their names; of two formats, TrueType."""
    files = [Path(path) for group in GROUP for entry in entry_points(group=group) for path in entry.load().values()]
    wanted = {name for names in HANDWRITTEN.values() for name in names}
    if SYSTEM_FOLDER.is_dir():
        files += [path for path in sorted(SYSTEM_FOLDER.rglob("*.[ot]tf")) if path.stem in wanted]
    paths: dict[str, str] = {}
    for path in files:
        paths.setdefault(path.stem, str(path))
    return paths


@lru_cache(maxsize=1024)
def _load(path: str, pixels: float) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, pixels, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=50_000)
def _length(face: Face, text: str, size: float) -> float:
    return float(face.sized(size * PIXELS_PER_POINT).getlength(text)) / PIXELS_PER_POINT


@cache
def _hand_scale(face: Face) -> float:
    _, top, _, bottom = _load(face.path, MEASURE).getbbox("n", anchor="ls")
    return float(np.clip(HAND_HEIGHT * MEASURE / (bottom - top), 0.6, 2.0))
