"""Parts of the systems of Table 2: words of the pages, whole documents as text, and kernel machines on a sample."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import train_test_split

from setrbm._types import Integers
from setrbm.bags import Bags
from setrbm.estimators import SetSVCCV
from setrbm.text import PageWords
from setrbm_mail import DocumentFeatures
from setrbm_mail.features.document_features import BLOCKS
from setrbm_mail.pages import Documents


class BinaryWords(PageWords):
    """The features of the rows of the paper, whatever a data set has.

    Generated mail, which has them already, is left as it is. Of page texts they are binary words; of pages that were
    read from pictures, binary words, gray grid, layout and page types.
    """

    def __init__(
        self, *, weights: Any = "binary", max_words: Any = 10_000, min_sets: Any = 2, pairs: Any = False
    ) -> None:
        super().__init__(weights=weights, max_words=max_words, min_sets=min_sets, pairs=pairs)

    def fit_transform(self, X: Any, y: Any = None) -> Bags:
        """Make the vocabulary and return the sets of the documents."""
        if isinstance(X, Documents):
            self.features_ = DocumentFeatures(blocks=BLOCKS, words=clone(self))
            return self.features_.fit_transform(X, y)
        return X if isinstance(X, Bags) else super().fit_transform(X, y)

    def transform(self, X: Any) -> Bags:
        """Return one set per document, with one vector per page."""
        if isinstance(X, Documents):
            return self.features_.transform(X)
        return X if isinstance(X, Bags) else super().transform(X)


class WholeTexts(TransformerMixin, BaseEstimator):
    """Join the pages of each document to one text."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: there is nothing to learn."""
        return self

    def transform(self, X: Any) -> list[str]:
        """Return one text per document."""
        return ["\n".join(pages) for pages in X]

    def __sklearn_is_fitted__(self) -> bool:
        return True


@dataclass(eq=False, repr=False)
class SampledSetSVC(SetSVCCV):
    """SetSVCCV on a random sample of the training sets, with the time that this and half the sample take.

    Parameters
    ----------
    n_sample : int
        The largest number of sets to learn from. Their classes are in proportion.

    Attributes
    ----------
    measured_ : dict
        The number of sets to learn from (``n_train``), the sizes of the sample and of half of it (``n_sets``), and the
        seconds to fit each (``seconds``).
    """

    _: KW_ONLY
    n_sample: int = 2000

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to half of the sample, to measure the growth, then to all of it."""
        codes = np.asarray(y)
        sample = drawn(np.arange(len(X)), codes, self.n_sample, self.random_state)
        parts = [drawn(sample, codes, len(sample) // 2, self.random_state), sample]
        seconds = []
        for part in parts:
            begin = time.perf_counter()
            super().fit(X[part], codes[part])
            seconds.append(round(time.perf_counter() - begin, 3))
        self.measured_ = {"n_train": len(X), "n_sets": [len(part) for part in parts], "seconds": seconds}
        return self


def drawn(sets: Integers, y: Any, n: int, seed: Any) -> Integers:
    """Return n of these sets in their order, with their classes in proportion; all if there are no more than n."""
    if len(sets) <= n:
        return sets
    part, _ = train_test_split(sets, train_size=n, stratify=y[sets], random_state=seed)
    return np.sort(part)
