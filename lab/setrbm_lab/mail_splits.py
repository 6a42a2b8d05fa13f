"""The splits of Table 2: five of each data set, fixed before any system was run on them.

In both real collections one half of the sets is never tested; defaults may be developed on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from setrbm._types import Integers
from setrbm.evaluation.splits import Split, repeated_folds
from setrbm_lab.mail_pictures import SEED

N_SPLITS = 5
# Of the real collections: the share of the sets that is tested, and of "threads" the shares that are trained on.
TESTED = 0.3
TRAINED = (0.5, 0.55, 0.6, 0.65, 0.7)
# The ratio of test to training sets, which the corrected t-test needs; of "threads" the mean over the splits.
RATIOS = {
    "DsUs": 1 / (N_SPLITS - 1),
    "DsDe": 1 / (N_SPLITS - 1),
    "threads": sum(TESTED / share for share in TRAINED) / len(TRAINED),
    "debian": TESTED / (1 - TESTED),
    "pictures": 1 / (N_SPLITS - 1),
}


def mail_splits(dataset: str, y: Any) -> list[Split]:
    """Return the splits of a data set of Table 2, given its labels."""
    if dataset == "threads":
        return in_order(len(y))
    if dataset == "debian":
        return from_second_half(len(y))
    return repeated_folds(y, folds=N_SPLITS, repeats=1, seed=SEED)


def in_order(n: int) -> list[Split]:
    """Return splits of n sets in the order of time: train on the first 50, 55, ..., 70%, test on the next 30%."""
    n_test = int(TESTED * n)
    starts = [int(share * n) for share in TRAINED]
    return [
        Split(0, fold, np.arange(start), np.arange(start, min(start + n_test, n))) for fold, start in enumerate(starts)
    ]


def from_second_half(n: int) -> list[Split]:
    """Return splits of n sets: 30% of all, drawn from one random half, are tested; all others are trained on."""
    order = np.random.default_rng(SEED).permutation(n)
    return [Split(0, fold, *_drawn(order, fold)) for fold in range(N_SPLITS)]


def _drawn(order: Integers, fold: int) -> tuple[Integers, Integers]:
    """Return the training and test sets of a split, each sorted."""
    n = len(order)
    test = np.random.default_rng([SEED, fold]).choice(order[n // 2 :], int(TESTED * n), replace=False)
    return np.setdiff1d(order, test), np.sort(test)
