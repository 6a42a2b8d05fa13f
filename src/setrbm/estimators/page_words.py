"""PageWords: from documents with pages of text to sets of word vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from setrbm._types import Floats, Integers
from setrbm.bags import Bags, offsets_of
from setrbm.estimators.file_parts import CanSave
from setrbm.estimators.labels import as_labels, codes_of
from setrbm.estimators.settings import flag, integer, one_of
from setrbm.estimators.word_weights import WEIGHTS, information, smooth_idf, weighted

# scikit-learn's default: two or more letters, digits or underscores.
WORD = re.compile(r"\b\w\w+\b")

# What to write instead of a page that is not text.
CURES: dict[type, str] = {
    bytes: " Decode it first: page.decode().",
    type(None): " A page without text is ''.",
}


class RareWordsError(ValueError):
    """No word occurs in enough documents."""


class PageWords(CanSave, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn documents with pages of text into sets of sparse word vectors, one vector per page.

    Words are lower-cased and consist of two or more letters, digits or underscores, as in scikit-learn's
    CountVectorizer. Pairs of consecutive words count as words too. The vocabulary is made from the training documents;
    other words are ignored. A page without any known word is a vector of zeros.

    Parameters
    ----------
    weights : {"informative", "tfidf", "binary", "counts"}
        The values of the vectors. "tfidf" is 1 + log(count) times the smoothed inverse document frequency of the word,
        counted over documents, with each page then scaled to length 2. "informative" multiplies this by the square root
        of how much the word says about the class, so that words that occur in all classes alike hardly count; it needs
        labels. "binary" is 1 for a word that occurs on the page, as in the paper, and "counts" is how often it occurs.
    max_words : int
        The largest size of the vocabulary. The words that occur in the most training documents are kept; with
        "informative", those that say the most about the classes of all training documents.
    min_sets : int
        In how many training documents a word must occur.
    pairs : bool
        Whether pairs of consecutive words, such as "cancel contract", are words as well.

    Attributes
    ----------
    words_ : ndarray of shape (n_words,)
        The vocabulary in alphabetical order; the names of the features.
    factors_ : ndarray of shape (n_words,)
        The factor of each word; 1 with "binary" and "counts".

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from setrbm import ClassSetRBMCV
    >>> from setrbm.estimators import PageWords
    >>> documents = [
    ...     ["Dear customer, your invoice is attached.", "Amount due: 40 euros."],
    ...     ["Please find our invoice below.", "Total amount: 99 euros.", "Terms of sale."],
    ...     ["I want to cancel my contract."],
    ...     ["Hello, please cancel my subscription."],
    ... ] * 5
    >>> y = ["invoice", "invoice", "cancellation", "cancellation"] * 5
    >>> PageWords(pairs=False).fit_transform(documents, y)
    Bags(20 sets, 35 vectors, 26 features, CSR float32)
    >>> model = make_pipeline(PageWords(), ClassSetRBMCV.for_text(max_epochs=20, random_state=0)).fit(documents, y)
    >>> model.predict([["Hello,", "our invoice: amount due 12 euros."]]).tolist()
    ['invoice']
    """

    words_: npt.NDArray[Any]
    factors_: Floats

    def __init__(
        self, *, weights: Any = "informative", max_words: Any = 50_000, min_sets: Any = 2, pairs: Any = True
    ) -> None:
        self.weights = weights
        self.max_words = max_words
        self.min_sets = min_sets
        self.pairs = pairs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Make the vocabulary.

        Parameters
        ----------
        X : sequence of documents, each a sequence of page texts
        y : array-like of shape (n_documents,), optional
            The labels, which only "informative" weights need and use.

        Returns
        -------
        self
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Bags:
        """Make the vocabulary and return the sets of the documents; the pages are read only once."""
        self._check_settings()
        pages, offsets = as_pages(X)
        by_class = self._classes_of(y, len(offsets) - 1)
        if not any(WORD.search(page) for page in pages):
            raise ValueError(
                "At least one training page must have a word, that is, two or more letters or digits in a row. Got "
                f"none on {len(pages)} page(s)."
            )
        vectorizer = self._vectorizer(None)
        counts = sparse.csr_array(vectorizer.fit_transform(pages))
        kept, factors = self._vocabulary(counts, offsets, by_class)
        self.words_ = np.array(vectorizer.get_feature_names_out()[kept], dtype=object)
        self.factors_ = factors
        return self._as_bags(counts[:, kept], offsets)

    def transform(self, X: Any) -> Bags:
        """Return one set per document, with one vector per page."""
        check_is_fitted(self, "words_")
        self._check_settings()
        pages, offsets = as_pages(X)
        columns = {word: column for column, word in enumerate(self.words_.tolist())}
        return self._as_bags(sparse.csr_array(self._vectorizer(columns).transform(pages)), offsets)

    def _vectorizer(self, columns: dict[str, int] | None) -> CountVectorizer:
        longest = 2 if self.pairs else 1
        return CountVectorizer(
            token_pattern=WORD.pattern, ngram_range=(1, longest), dtype=np.float32, vocabulary=columns
        )

    def _as_bags(self, counts: Any, offsets: Integers) -> Bags:
        return Bags(weighted(counts, self.weights, self.factors_), offsets, feature_names=self.words_)

    def _classes_of(self, y: Any, n_sets: int) -> Any:
        """Return a matrix with a 1 for the class of each document; all are of one class if labels are not used."""
        if self.weights != "informative":
            return sparse.csr_array(np.ones((n_sets, 1)))
        if y is None:
            raise ValueError("PageWords(weights='informative') needs labels: fit(X, y). Without labels, use 'tfidf'.")
        _, codes = codes_of(as_labels(y, n_sets))
        return sparse.csr_array((np.ones(n_sets), codes, np.arange(n_sets + 1)))

    def _vocabulary(self, counts: Any, offsets: Integers, by_class: Any) -> tuple[Integers, Floats]:
        """Return the columns of the words of the vocabulary, in alphabetical order, and the factor of each."""
        n_pages = counts.shape[0]
        pages_of_sets = sparse.csr_array((np.ones(n_pages, np.float32), np.arange(n_pages), offsets))
        occurs = sparse.csr_array(pages_of_sets @ counts)
        occurs.data[:] = 1.0
        frequent = self._frequent(np.bincount(occurs.indices, minlength=counts.shape[1]), len(offsets) - 1)
        factors, rank = self._factors((occurs[:, frequent].T @ by_class).toarray(), by_class.sum(axis=0))
        kept = np.sort(np.argsort(-rank, kind="stable")[: self.max_words])
        return frequent[kept], factors[kept]

    def _frequent(self, n_sets_of_word: Integers, n_sets: int) -> Integers:
        """Return the columns of the words that occur in enough documents."""
        frequent = np.flatnonzero(n_sets_of_word >= self.min_sets)
        if not len(frequent):
            raise RareWordsError(
                f"At least one word must occur in {self.min_sets} (min_sets) or more documents. Got "
                f"{len(n_sets_of_word)} word(s) in {n_sets} document(s), none of them in more than "
                f"{n_sets_of_word.max()}. Use a smaller min_sets, or more documents."
            )
        return frequent

    def _factors(self, n_sets_of_word_and_class: Floats, n_sets_of_class: Any) -> tuple[Floats, Floats]:
        """Return the factor of each word, and how much it deserves a place in the vocabulary."""
        n_sets_of_word = n_sets_of_word_and_class.sum(axis=1)
        if self.weights in ("binary", "counts"):
            return np.ones(len(n_sets_of_word)), n_sets_of_word
        idf = smooth_idf(n_sets_of_word, n_sets_of_class.sum())
        if self.weights == "tfidf":
            return idf, n_sets_of_word
        told = information(n_sets_of_word_and_class, n_sets_of_class)
        return idf * np.sqrt(told), n_sets_of_word * told

    def _check_settings(self) -> None:
        one_of(*WEIGHTS)("weights", self.weights)
        integer("max_words", self.max_words)
        integer("min_sets", self.min_sets)
        flag("pairs", self.pairs)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the words of the vocabulary."""
        check_is_fitted(self, "words_")
        return self.words_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def as_pages(documents: Any) -> tuple[list[str], Integers]:
    """Return the pages of all documents and the offsets at which each document begins; refuse what is not text."""
    if isinstance(documents, str | bytes | dict | set | Bags) or not _is_list_like(documents):
        cure = " One document is [pages]." if isinstance(documents, str) else ""
        raise TypeError(f"X must be a list of documents, each a list of page texts. Got {_in_words(documents)}.{cure}")
    sets = [_as_document(document, k) for k, document in enumerate(documents)]
    if not sets:
        raise ValueError("There must be at least one document. Got none.")
    sizes = np.array([len(pages) for pages in sets])
    if (empty := np.flatnonzero(sizes == 0)).size:
        raise ValueError(
            f"Every document must have at least one page. Got {empty.size} without pages of {len(sizes)} documents, "
            f"the first at index {empty[0]}. Drop them first."
        )
    return [page for pages in sets for page in pages], offsets_of(sizes)


def _as_document(document: Any, k: int) -> list[str]:
    if isinstance(document, str | bytes | dict | set) or not _is_list_like(document):
        cure = " A document of one page is [text]." if isinstance(document, str) else ""
        raise TypeError(
            f"Each document must be a list of page texts. Got {_in_words(document)} for the document at index {k}."
            f"{cure}"
        )
    pages = list(document)
    for s, page in enumerate(pages):
        if not isinstance(page, str):
            raise TypeError(
                f"Every page must be text (str). Got {_in_words(page)} for page {s} of the document at index {k}."
                + CURES.get(type(page), "")
            )
    return pages


def _is_list_like(value: Any) -> bool:
    """Return whether a value can be read element by element; iterating over a frame or a matrix gives no elements."""
    return isinstance(value, Iterable) and not sparse.issparse(value) and not hasattr(value, "columns")


def _in_words(value: Any) -> str:
    """Return what a value is, for a message."""
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "None" if value is None else f"an object of class {type(value).__name__}"
