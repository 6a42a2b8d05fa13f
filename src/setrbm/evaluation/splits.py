"""Repeated stratified cross-validation by whole sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from setrbm import draws
from setrbm._types import Integers


@dataclass(frozen=True)
class Split:
    """One fold of one repetition: the indices of the training sets and of the test sets."""

    repeat: int
    fold: int
    train: Integers
    test: Integers


def repeated_folds(y: Any, folds: int = 10, repeats: int = 5, seed: int = 0) -> list[Split]:
    """Return the splits of a repeated stratified k-fold cross-validation.

    Parameters
    ----------
    y : array-like of shape (n_sets,)
    folds, repeats : int
    seed : int
        Repetition r is shuffled with ``seed + r``.

    Examples
    --------
    >>> splits = repeated_folds([0, 1] * 10, folds=5, repeats=2)
    >>> len(splits), len(splits[0].test)
    (10, 4)
    """
    if not 0 <= seed <= 2**32 - repeats:
        raise ValueError(
            f"The seed of every repetition (seed + repeat) must be from 0 to 2**32 - 1. Got seed {seed} for {repeats} "
            "repetitions."
        )
    classes, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes)
    if counts.min() < folds:
        raise ValueError(
            f"Each class must have at least as many sets as there are folds, {folds}. Got {counts.min()} of class "
            f"{classes[counts.argmin()]!s}."
        )
    return [
        Split(repeat, fold, train, test)
        for repeat in range(repeats)
        for fold, (train, test) in enumerate(
            StratifiedKFold(folds, shuffle=True, random_state=seed + repeat).split(codes, codes)
        )
    ]


def system_seed(seed: int, split: Split) -> int:
    """Return the random seed for an estimator in a split; every estimator that is compared gets the same."""
    return int(draws.keys(seed, split.repeat, split.fold)[0] >> np.uint64(33))
