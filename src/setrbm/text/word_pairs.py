"""Whether pairs of words help to tell the classes: a quick comparison inside the training documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from setrbm._types import Integers, Mask

N_PARTS = 3
# More documents than this would take longer without changing the answer.
MOST_SETS = 6_000

# Takes the counts of the training documents, their codes, and the counts of others; returns the vectors of both.
Weigh = Callable[[Any, Integers, Any], tuple[Any, Any]]


def pairs_help(counts: Any, is_pair: Mask, codes: Integers, weigh: Weigh) -> bool:
    """Return whether a linear SVM is right more often with pairs than without, by more than a standard error.

    Every document is left out once, in one of three parts with the classes in proportion. Nothing is random. Classes
    with fewer than three documents are not compared.

    Parameters
    ----------
    counts : csr_array of shape (n_sets, n_words)
        How often each word and pair occurs in each document.
    is_pair : ndarray of bool, of shape (n_words,)
    codes : ndarray of shape (n_sets,)
        The class of each document.
    weigh : callable
        Makes a vocabulary from training documents, and vectors of these and of others.
    """
    chosen = compared_sets(codes)
    classes, codes = np.unique(codes[chosen], return_inverse=True)
    if len(classes) < 2:
        return False
    counts = counts[chosen]
    without, with_pairs = (_right(counts[:, columns], codes, weigh) for columns in (~is_pair, slice(None)))
    gain = with_pairs.astype(float) - without
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))


def compared_sets(codes: Integers) -> Integers:
    """Return the documents to compare on: evenly spaced if there are too many, and of classes with at least three."""
    spaced = np.arange(0, len(codes), max(1, -(-len(codes) // MOST_SETS)))
    return np.asarray(spaced[np.bincount(codes[spaced])[codes[spaced]] >= N_PARTS])


def parts_of(codes: Integers) -> Integers:
    """Return the part of each document: the documents of a class go to the parts in turn."""
    parts = np.empty(len(codes), dtype=np.intp)
    parts[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % N_PARTS
    return parts


def _right(counts: Any, codes: Integers, weigh: Weigh) -> Mask:
    """Return which documents a linear SVM classifies correctly when they are left out."""
    right, parts = np.empty(len(codes), dtype=np.bool_), parts_of(codes)
    for part in range(N_PARTS):
        rest, held_out = parts != part, parts == part
        X, X_held_out = weigh(counts[rest], codes[rest], counts[held_out])
        svm = LinearSVC(random_state=0).fit(X, codes[rest])
        right[held_out] = svm.predict(X_held_out) == codes[held_out]
    return right
