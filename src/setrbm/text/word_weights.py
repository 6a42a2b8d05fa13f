"""The weights of words on pages: how counts become values of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from setrbm._types import Floats, Integers

WEIGHTS = ("informative", "tfidf", "binary", "counts")
# How many sets the classes' overall frequencies count for in those of a word.
PRIOR_SETS = 2.0
# The length of the vector of a page, with weights that scale pages (lab/experiments/text_preset.py).
LENGTH = 2.0


def smooth_idf(n_sets_of_word: Integers, n_sets: int) -> Floats:
    r"""Return the inverse document frequency of each word, as scikit-learn's TfidfTransformer computes it.

    .. math:: \mathrm{idf}_w = 1 + \log \frac{1 + n}{1 + n_w}

    Parameters
    ----------
    n_sets_of_word : ndarray of shape (n_words,)
        In how many training sets each word occurs.
    n_sets : int
        How many training sets there are.
    """
    return np.asarray(1.0 + np.log((1.0 + n_sets) / (1.0 + n_sets_of_word)))


def information(n_sets_of_word_and_class: Floats, n_sets_of_class: Integers) -> Floats:
    r"""Return how much each word says about the class of a set: the divergence from all sets to those with the word.

    .. math:: I_w = \sum_y p(y \mid w) \log \frac{p(y \mid w)}{p(y)}, \qquad
              p(y \mid w) = \frac{n_{wy} + \alpha \, p(y)}{n_w + \alpha}, \qquad p(y) = \frac{n_y}{n}

    The frequencies of a rare word are drawn toward those of all sets by :math:`\alpha = 2` sets.

    Parameters
    ----------
    n_sets_of_word_and_class : ndarray of shape (n_words, n_classes)
        In how many training sets of each class each word occurs.
    n_sets_of_class : ndarray of shape (n_classes,)
        How many training sets each class has; none is zero.
    """
    p = n_sets_of_class / n_sets_of_class.sum()
    total = n_sets_of_word_and_class.sum(axis=1, keepdims=True)
    p_of_word = (n_sets_of_word_and_class + PRIOR_SETS * p) / (total + PRIOR_SETS)
    # Rounding may leave a word that occurs in all sets a little below zero.
    return np.asarray(np.maximum((p_of_word * np.log(p_of_word / p)).sum(axis=1), 0.0))


def weighted(counts: Any, weights: str, factors: Floats) -> Any:
    r"""Return the values of words on pages; a page without words stays zero.

    "binary" is 1 for every word that occurs and "counts" how often it occurs. All other weights are

    .. math:: (1 + \log c_{pw}) \, f_w

    with each page then scaled to length 2.

    Parameters
    ----------
    counts : csr_array of shape (n_pages, n_words)
        How often each word occurs on each page; overwritten.
    weights : one of WEIGHTS
    factors : ndarray of shape (n_words,)
        The factor of each word.
    """
    if weights == "binary":
        counts.data[:] = 1.0
    elif weights != "counts":
        counts.data = (1.0 + np.log(counts.data)) * factors.astype(counts.dtype)[counts.indices]
        normalize(counts, copy=False)
        counts.data *= LENGTH
    return counts
