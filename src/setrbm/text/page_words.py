"""PageWords: from documents with pages of text to sets of word vectors."""

from __future__ import annotations

import re
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from setrbm._types import Floats, Integers
from setrbm.bags import Bags
from setrbm.estimators.labels import as_labels, codes_of
from setrbm.estimators.savable import CanSave
from setrbm.estimators.settings import flag_or_auto, integer, one_of
from setrbm.text.documents import as_pages
from setrbm.text.word_pairs import pairs_help
from setrbm.text.word_weights import LENGTH, WEIGHTS, information, smooth_idf, weighted
from setrbm.tools.text import count

# scikit-learn's default: two or more letters, digits or underscores.
WORD = re.compile(r"\b\w\w+\b")


class RareWordsError(ValueError):
    """No word occurs in enough documents."""


class PageWords(CanSave, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn documents with pages of text into sets of sparse word vectors, one vector per page.

    Words are lower-cased and consist of two or more letters, digits or underscores, as in scikit-learn's
    CountVectorizer. If they help, pairs of consecutive words count as words too. The vocabulary is made from the
    training documents; other words are ignored. A page without any known word is a vector of zeros.

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
    pairs : bool or "auto"
        Whether pairs of consecutive words, such as "cancel contract", are words as well. With "auto" they are if a
        linear SVM classifies left-out training documents better with them, by more than a standard error. Without
        labels, "auto" means no pairs.

    Attributes
    ----------
    words_ : ndarray of shape (n_words,)
        The vocabulary in alphabetical order; the names of the features.
    factors_ : ndarray of shape (n_words,)
        The factor of each word; 1 with "binary" and "counts".
    pairs_ : bool
        Whether pairs are used.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from setrbm import ClassSetRBMCV
    >>> from setrbm.text import PageWords
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
    pairs_: bool

    def __init__(
        self, *, weights: Any = "informative", max_words: Any = 50_000, min_sets: Any = 2, pairs: Any = "auto"
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
            The labels. "informative" weights need them; otherwise only ``pairs="auto"`` uses them.

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
        codes = self._codes_of(X, y, len(offsets) - 1)
        if not any(WORD.search(page) for page in pages):
            raise ValueError(
                "At least one training page must have a word, that is, two or more letters or digits in a row. Got "
                f"none on {count(len(pages), 'page')}."
            )
        vectorizer = self._vectorizer(None, self.pairs is not False)
        counts = sparse.csr_array(vectorizer.fit_transform(pages))
        words = vectorizer.get_feature_names_out()
        usable, pairs = self._usable(words, counts, offsets, codes)
        kept, factors = self._vocabulary(counts[:, usable], offsets, codes)
        self.words_ = np.array(words[usable][kept], dtype=object)
        self.factors_, self.pairs_ = factors, pairs
        return self._as_bags(counts[:, usable[kept]], offsets)

    def transform(self, X: Any) -> Bags:
        """Return one set per document, with one vector per page."""
        check_is_fitted(self, "words_")
        self._check_settings()
        pages, offsets = as_pages(X)
        columns = {word: column for column, word in enumerate(self.words_.tolist())}
        return self._as_bags(sparse.csr_array(self._vectorizer(columns, self.pairs_).transform(pages)), offsets)

    def _vectorizer(self, columns: dict[str, int] | None, pairs: bool) -> CountVectorizer:
        longest = 2 if pairs else 1
        return CountVectorizer(
            token_pattern=WORD.pattern, ngram_range=(1, longest), dtype=np.float32, vocabulary=columns
        )

    def _usable(
        self, words: npt.NDArray[Any], counts: Any, offsets: Integers, codes: Integers | None
    ) -> tuple[Integers, bool]:
        """Return the columns of the words that may be used, and whether pairs are among them."""
        columns = np.arange(len(words))
        if self.pairs != "auto":
            return columns, bool(self.pairs)
        is_pair = np.array([" " in word for word in words])
        try:
            helps = codes is not None and pairs_help(_sums(counts, offsets), is_pair, codes, self._weigh)
        except RareWordsError:
            # Too few documents to leave any out.
            helps = False
        return columns if helps else columns[~is_pair], helps

    def _weigh(self, counts: Any, codes: Integers, others: Any) -> tuple[Any, Any]:
        """Return the vectors of documents of one page, and of others, by the vocabulary of the former."""
        kept, factors = self._vocabulary(counts, np.arange(counts.shape[0] + 1), codes)
        X, X_others = (weighted(part[:, kept], self.weights, factors) for part in (counts, others))
        if self.weights in ("binary", "counts"):
            # Of very different lengths, on which linear SVMs converge slowly.
            X, X_others = (LENGTH * normalize(part, copy=False) for part in (X, X_others))
        return X, X_others

    def _as_bags(self, counts: Any, offsets: Integers) -> Bags:
        return Bags(weighted(counts, self.weights, self.factors_), offsets, feature_names=self.words_)

    def _codes_of(self, X: Any, y: Any, n_sets: int) -> Integers | None:
        """Return the class of each document; None if there are no labels, or none that are used."""
        if self.weights == "informative" and y is None:
            raise ValueError("PageWords(weights='informative') needs labels: fit(X, y). Without labels, use 'tfidf'.")
        if y is None or (self.weights != "informative" and self.pairs != "auto"):
            return None
        return codes_of(as_labels(X, y, n_sets))[1]

    def _vocabulary(self, counts: Any, offsets: Integers, codes: Integers | None) -> tuple[Integers, Floats]:
        """Return the columns of the words of the vocabulary, in alphabetical order, and the factor of each."""
        n_sets = len(offsets) - 1
        # Without labels, all documents are of one class.
        codes = np.zeros(n_sets, dtype=np.intp) if codes is None or self.weights != "informative" else codes
        by_class = sparse.csr_array((np.ones(n_sets), codes, np.arange(n_sets + 1)))
        occurs = _sums(counts, offsets)
        occurs.data[:] = 1.0
        frequent = self._frequent(np.bincount(occurs.indices, minlength=counts.shape[1]), n_sets)
        factors, rank = self._factors((occurs[:, frequent].T @ by_class).toarray(), by_class.sum(axis=0))
        kept = np.sort(np.argsort(-rank, kind="stable")[: self.max_words])
        return frequent[kept], factors[kept]

    def _frequent(self, n_sets_of_word: Integers, n_sets: int) -> Integers:
        """Return the columns of the words that occur in enough documents."""
        frequent = np.flatnonzero(n_sets_of_word >= self.min_sets)
        if not len(frequent):
            raise RareWordsError(
                f"At least one word must occur in {self.min_sets} (min_sets) or more documents. Got "
                f"{count(len(n_sets_of_word), 'word')} in {count(n_sets, 'document')}, none of them in more than "
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
        gain = information(n_sets_of_word_and_class, n_sets_of_class)
        return idf * np.sqrt(gain), n_sets_of_word * gain

    def _check_settings(self) -> None:
        one_of(*WEIGHTS)("weights", self.weights)
        integer("max_words", self.max_words)
        integer("min_sets", self.min_sets)
        flag_or_auto("pairs", self.pairs)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the words of the vocabulary."""
        check_is_fitted(self, "words_")
        return self.words_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _sums(counts: Any, offsets: Integers) -> Any:
    """Return how often each word occurs in each document, given how often it occurs on each page."""
    n_pages = counts.shape[0]
    # 32-bit indices, which are all that liblinear takes.
    pages, starts = np.arange(n_pages, dtype=np.int32), offsets.astype(np.int32)
    pages_of_sets = sparse.csr_array((np.ones(n_pages, counts.dtype), pages, starts))
    return sparse.csr_array(pages_of_sets @ counts)
