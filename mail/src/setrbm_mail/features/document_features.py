"""From documents to sets of page vectors: words, a gray grid, the layout, and scores of page types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from setrbm.bags import Bags
from setrbm.datasets.mail_plan import PAGE_TYPES
from setrbm.estimators import PageWords
from setrbm.estimators.file_parts import CanSave
from setrbm.estimators.inputs import unchanged_on_error
from setrbm.estimators.page_words import joined_pages
from setrbm.label_order import check_order
from setrbm_mail._types import Floats, Integers
from setrbm_mail.features.page_types import detectors
from setrbm_mail.features.words import page_text
from setrbm_mail.pages import LAYOUT, THUMBNAIL, Document, Page

# Rows and columns of the gray grid.
GRID = (8, 6)
BLOCKS = ("words", "grid", "layout", "types")


def grid_of(pages: Sequence[Page]) -> Floats:
    """Return how dark each page is on a grid of 8 rows and 6 columns: 0 is white, 1 is black; shape (n_pages, 48)."""
    rows, columns = GRID
    thumbnails = np.array([page.thumbnail for page in pages], dtype=np.float64).reshape(-1, *THUMBNAIL)
    shape = (len(pages), rows, THUMBNAIL[0] // rows, columns, THUMBNAIL[1] // columns)
    return np.asarray(1.0 - thumbnails.reshape(shape).mean(axis=(2, 4)) / 255.0).reshape(len(pages), rows * columns)


def layout_of_pages(pages: Sequence[Page]) -> Floats:
    """Return the layout statistics of each page; shape (n_pages, 17)."""
    return np.array([page.layout for page in pages], dtype=np.float64).reshape(len(pages), len(LAYOUT))


def types_of(pages: Sequence[Page]) -> Floats:
    """Return the scores of the page types; shape (n_pages, 18)."""
    return detectors().scores(pages)


class _PageTransformer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """A transformer of documents that needs no training: one vector of numbers per page."""

    values: Callable[[Sequence[Page]], Floats]
    names: tuple[str, ...]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: there is nothing to learn.

        Parameters
        ----------
        X : Documents
        y : ignored

        Returns
        -------
        self
        """
        return self

    def transform(self, X: Any) -> Bags:
        """Return one set per document, with one vector per page."""
        pages, offsets = pages_of(X)
        return Bags(type(self).values(pages), offsets, feature_names=self.names)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the features."""
        return np.array(self.names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class PageGrid(_PageTransformer):
    """48 mean gray values per page, on a grid of 8 rows and 6 columns: 0 is white, 1 is black."""

    values = staticmethod(grid_of)
    names = tuple(f"gray {row + 1},{column + 1}" for row in range(GRID[0]) for column in range(GRID[1]))


class PageLayout(_PageTransformer):
    """17 statistics per page of its boxes, lines, printed and handwritten zones, from 0 to 1.

    For each kind of zone: how many there are, the share of the page they cover, their mean height and their mean place
    from top to bottom; then the share of the page that is ink.
    """

    values = staticmethod(layout_of_pages)
    names = tuple(f"layout {name}" for name in LAYOUT)


class PageTypes(_PageTransformer):
    """18 scores per page, from 0 to 1: is it a printed letter, a form, a bank check, ...?

    The detectors come with the package. They were trained on generated pages (``lab/experiments/page_types.py``).
    """

    values = staticmethod(types_of)
    names = tuple(f"type {name}" for name in PAGE_TYPES)


# What is appended to the words.
NUMBERS: dict[str, type[_PageTransformer]] = {"grid": PageGrid, "layout": PageLayout, "types": PageTypes}


class DocumentFeatures(CanSave, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn documents into sets of sparse page vectors: words, gray grid, layout and page types, as in the paper.

    Parameters
    ----------
    blocks : tuple of {"words", "grid", "layout", "types"}
        What the vectors consist of.
    words : PageWords or None
        How words are weighted; None is ``PageWords()``.

    Attributes
    ----------
    words_ : PageWords
        The fitted vocabulary; None without words.
    feature_names_ : ndarray of str
    """

    words_: PageWords | None
    feature_names_: npt.NDArray[Any]

    def __init__(self, *, blocks: Any = BLOCKS, words: Any = None) -> None:
        self.blocks = blocks
        self.words = words

    def fit(self, X: Any, y: Any = None) -> Self:
        """Make the vocabulary.

        Parameters
        ----------
        X : Documents
        y : array-like of shape (n_documents,), optional
            The labels, if the weights of the words need them.

        Returns
        -------
        self
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Bags:
        """Make the vocabulary and return the sets of the documents."""
        self._check_blocks()
        check_order(X, y)
        words = None
        if "words" in self.blocks:
            vocabulary = PageWords() if self.words is None else clone(self.words)
            words = vocabulary.fit_transform(texts_of(X), y)
        with unchanged_on_error(self):
            self._keep(vocabulary if words is not None else None)
            return self._joined(X, words)

    def transform(self, X: Any) -> Bags:
        """Return one set per document, with one vector per page."""
        check_is_fitted(self, "feature_names_")
        return self._joined(X, None if self.words_ is None else self.words_.transform(texts_of(X)))

    def _keep(self, words: PageWords | None) -> None:
        self.words_ = words
        names = [] if words is None else words.words_.tolist()
        for block in self._numbers():
            names += list(NUMBERS[block].names)
        self.feature_names_ = np.array(names, dtype=object)

    def _numbers(self) -> list[str]:
        return [block for block in NUMBERS if block in self.blocks]

    def _joined(self, X: Any, words: Bags | None) -> Bags:
        pages, offsets = pages_of(X)
        blocks = [] if words is None else [words.X]
        blocks += [sparse.csr_array(NUMBERS[block].values(pages), dtype=np.float32) for block in self._numbers()]
        joined = sparse.hstack(blocks, format="csr", dtype=np.float32)
        return Bags(sparse.csr_array(joined), offsets, feature_names=self.feature_names_)

    def _check_blocks(self) -> None:
        blocks = self.blocks
        known = isinstance(blocks, tuple | list) and all(isinstance(one, str) and one in BLOCKS for one in blocks)
        if not known or not blocks or len(set(blocks)) < len(blocks):
            raise ValueError(f"blocks must be one or more of {', '.join(map(repr, BLOCKS))}. Got {blocks!r}.")

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the words of the vocabulary, and the names of the other features."""
        check_is_fitted(self, "feature_names_")
        return self.feature_names_


def pages_of(documents: Iterable[Document]) -> tuple[list[Page], Integers]:
    """Return the pages of all documents and the offsets at which each begins; refuse documents without pages."""
    return joined_pages([_pages(document, k) for k, document in enumerate(documents)], "Use documents.readable.")


def _pages(document: Any, k: int) -> list[Page]:
    if not isinstance(document, Document):
        raise TypeError(
            f"X must be Documents, as read_documents returns them. Got an object of class {type(document).__name__} "
            f"at index {k}."
        )
    return document.pages


def texts_of(documents: Iterable[Document]) -> list[list[str]]:
    """Return the text of each page of each document, in a form that varies less with OCR."""
    return [[page_text(page) for page in _pages(document, k)] for k, document in enumerate(documents)]
