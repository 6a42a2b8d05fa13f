"""Blocks of numbers that can be asked for besides the words: a gray grid, the layout, and scores of page types.

They are the paper's. On generated mail they add nothing that could be measured, so none is used unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin

from setrbm.bags import Bags
from setrbm.datasets.mail_plan import PAGE_TYPES
from setrbm.text.documents import joined_pages
from setrbm_mail._types import Floats, Integers
from setrbm_mail.features.page_types import detectors
from setrbm_mail.pages import LAYOUT, THUMBNAIL, Document, Page

# Rows and columns of the gray grid.
GRID = (8, 6)


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


# What can be appended to the words.
NUMBERS: dict[str, type[_PageTransformer]] = {"grid": PageGrid, "layout": PageLayout, "types": PageTypes}


def pages_of(documents: Iterable[Document]) -> tuple[list[Page], Integers]:
    """Return the pages of all documents and the offsets at which each begins; refuse documents without pages."""
    pages = [document_pages(document, k) for k, document in enumerate(documents)]
    return joined_pages(pages, "Use documents.readable.")


def document_pages(document: Any, k: int) -> list[Page]:
    """Return the pages of a document; refuse objects that are not documents."""
    if not isinstance(document, Document):
        raise TypeError(
            f"X must be Documents, as read_documents returns them. Got an object of class {type(document).__name__} "
            f"at index {k}."
        )
    return document.pages
