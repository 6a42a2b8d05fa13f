"""Detectors of page types: 18 scores from 0 to 1, learned from generated pages (lab/experiments/page_types.py)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from safetensors import safe_open
from scipy.special import expit

from setrbm.datasets.mail_plan import PAGE_TYPES
from setrbm_mail._types import Floats
from setrbm_mail.features.words import clean_words
from setrbm_mail.pages import LAYOUT, THUMBNAIL, Page

DATA = "page_types.safetensors"
# The thumbnail is reduced by this factor.
REDUCED = 2
N_LOOKS = THUMBNAIL[0] * THUMBNAIL[1] // REDUCED**2
TEXT_STATISTICS = ("words", "digits", "capitals", "length", "mixed")


@dataclass(frozen=True)
class Detectors:
    """Linear detectors.

    Attributes
    ----------
    words : tuple of str
        The words whose presence they use.
    center, scale : ndarray of shape (n_features,)
    weights : ndarray of shape (n_features, n_types)
    bias : ndarray of shape (n_types,)
    """

    words: tuple[str, ...]
    center: Floats
    scale: Floats
    weights: Floats
    bias: Floats

    def scores(self, pages: Sequence[Page]) -> Floats:
        """Return the score of each page for each type, from 0 to 1; shape (n_pages, n_types)."""
        X = (looks_of(pages, self.words) - self.center) / self.scale
        return np.asarray(expit(X @ self.weights + self.bias))


@cache
def detectors() -> Detectors:
    """Return the detectors that come with the package."""
    path = files("setrbm_mail") / "data" / DATA
    with safe_open(str(path), framework="numpy") as file:
        arrays = {name: file.get_tensor(name).astype(np.float64) for name in file.keys()}  # noqa: SIM118
        words, types = (tuple(json.loads(file.metadata()[name])) for name in ("words", "types"))
    if types != tuple(PAGE_TYPES):
        raise ValueError(f"The detectors must be those of the page types {', '.join(PAGE_TYPES)}.")
    return Detectors(words=words, **arrays)


def looks_of(pages: Sequence[Page], words: Sequence[str]) -> Floats:
    """Return what the detectors see: the thumbnail, the layout, statistics of the text, and which words occur."""
    place = {word: i for i, word in enumerate(words)}
    X = np.zeros((len(pages), N_LOOKS + len(LAYOUT) + len(TEXT_STATISTICS) + len(words)))
    rows, columns = THUMBNAIL
    for row, page in zip(X, pages, strict=True):
        dark = 1.0 - page.thumbnail / 255.0
        reduced = dark.reshape(rows // REDUCED, REDUCED, columns // REDUCED, REDUCED).mean(axis=(1, 3))
        row[:N_LOOKS] = reduced.ravel()
        row[N_LOOKS:][: len(LAYOUT)] = page.layout
        row[N_LOOKS + len(LAYOUT) :][: len(TEXT_STATISTICS)] = _text_statistics(page)
        known = [place[word] for word in set(clean_words(page.words)) if word in place]
        row[N_LOOKS + len(LAYOUT) + len(TEXT_STATISTICS) :][known] = 1.0
    return X


def _text_statistics(page: Page) -> list[float]:
    """Return the number of words, shares of digits and capitals, length of words, and share with digits."""
    text: Any = "".join(page.words)
    if not text:
        return [0.0] * len(TEXT_STATISTICS)
    n = len(page.words)
    digits, capitals = (sum(map(test, text)) / len(text) for test in (str.isdigit, str.isupper))
    mixed = sum(any(map(str.isdigit, word)) for word in page.words) / n
    return [np.log1p(n) / 7.0, digits, capitals, len(text) / n / 10.0, mixed]
