"""DocumentFeatures: from documents to sets of page vectors, of words and of blocks of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from setrbm.bags import Bags
from setrbm.estimators.inputs import unchanged_on_error
from setrbm.estimators.savable import CanSave
from setrbm.label_order import check_order
from setrbm.text import PageWords
from setrbm_mail.features.blocks import NUMBERS, document_pages, pages_of
from setrbm_mail.features.words import page_text
from setrbm_mail.pages import Document

# All blocks, as in the paper, and those that help, measured: see docs/scanned_mail.md.
BLOCKS = ("words", *NUMBERS)
DEFAULT_BLOCKS = ("words",)


class DocumentFeatures(CanSave, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn documents into sets of sparse page vectors: words and, if asked for, gray grid, layout and page types.

    Parameters
    ----------
    blocks : tuple of {"words", "grid", "layout", "types"}
        What the vectors consist of. The paper has all of them; on generated mail, words alone are as good
        (``docs/scanned_mail.md``).
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

    def __init__(self, *, blocks: Any = DEFAULT_BLOCKS, words: Any = None) -> None:
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
            self._set_words(vocabulary if words is not None else None)
            return self._joined(X, words)

    def transform(self, X: Any) -> Bags:
        """Return one set per document, with one vector per page."""
        check_is_fitted(self, "feature_names_")
        return self._joined(X, None if self.words_ is None else self.words_.transform(texts_of(X)))

    def _set_words(self, words: PageWords | None) -> None:
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
        known = isinstance(blocks, tuple | list) and all(isinstance(block, str) and block in BLOCKS for block in blocks)
        if not known or not blocks or len(set(blocks)) < len(blocks):
            raise ValueError(f"blocks must be one or more of {', '.join(map(repr, BLOCKS))}. Got {blocks!r}.")

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the words of the vocabulary, and the names of the other features."""
        check_is_fitted(self, "feature_names_")
        return self.feature_names_


def texts_of(documents: Iterable[Document]) -> list[list[str]]:
    """Return the text of each page of each document, in a form that varies less with OCR."""
    return [[page_text(page) for page in document_pages(document, k)] for k, document in enumerate(documents)]
