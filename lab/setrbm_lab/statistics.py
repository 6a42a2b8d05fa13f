"""Statistics over data sets and families of tests, and the calibration error, for the tables.

The tests of two systems on one data set are in ``setrbm.evaluation.statistics``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from setrbm._types import Floats
from setrbm.evaluation.statistics import LEVEL, SAME


@dataclass(frozen=True)
class Friedman:
    """The Friedman test of systems over data sets.

    Attributes
    ----------
    statistic, p : float
    ranks : ndarray of shape (n_systems,)
        The average rank of each system; 1 is the best.
    """

    statistic: float
    p: float
    ranks: Floats


def holm(p_values: Sequence[float]) -> list[float]:
    r"""Return the p-values of a family of tests adjusted by Holm's method, in the order given.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\{1, (m - j + 1)\, p_{(j)}\}
    """
    p = np.asarray(p_values, dtype=float)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"Every p-value must be from 0 to 1. Got {p[~((p >= 0) & (p <= 1))][0]}.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, p[order] * np.arange(len(p), 0, -1)))
    return [float(value) for value in adjusted]


def friedman(scores: npt.ArrayLike) -> Friedman:
    """Return the Friedman test of systems over data sets, with average ranks; ties share their rank.

    Parameters
    ----------
    scores : array of shape (n_datasets, n_systems)
        Higher is better.
    """
    table = np.round(np.asarray(scores, dtype=float) / SAME) * SAME
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 3:
        raise ValueError(
            f"The Friedman test needs two or more data sets and three or more systems. Got shape {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError(
            f"Every score must be finite. Got {(~np.isfinite(table)).sum()} that are not. Leave those systems out."
        )
    ranks = np.asarray(stats.rankdata(-table, axis=1), dtype=float)
    # If all systems are equal on every data set, the statistic is 0 / 0.
    if (np.ptp(table, axis=1) == 0).all():
        return Friedman(0.0, 1.0, ranks.mean(axis=0))
    result = stats.friedmanchisquare(*(-table.T))
    return Friedman(float(result.statistic), float(result.pvalue), ranks.mean(axis=0))


def critical_difference(n_systems: int, n_datasets: int, level: float = LEVEL) -> float:
    r"""Return the difference of average ranks that is significant in Nemenyi's test.

    .. math:: CD = \frac{q}{\sqrt 2} \sqrt{\frac{k (k + 1)}{6 N}}

    with q the quantile of the studentized range of k systems, and N data sets.
    """
    if n_systems < 2 or n_datasets < 1:
        raise ValueError(
            f"There must be two or more systems and one or more data sets. Got {n_systems} and {n_datasets}."
        )
    q = float(stats.studentized_range.ppf(level, n_systems, np.inf)) / math.sqrt(2)
    return q * math.sqrt(n_systems * (n_systems + 1) / (6 * n_datasets))


def cliques(ranks: npt.ArrayLike, difference: float) -> list[list[int]]:
    """Return the largest groups of systems that are not significantly different, best first.

    Parameters
    ----------
    ranks : array of shape (n_systems,)
    difference : float
        The critical difference: ranks within a group differ by no more than this.

    Returns
    -------
    list of list of int
        Positions in ``ranks``. A system that differs from all others is in no group.
    """
    values = np.asarray(ranks, dtype=float)
    order = np.argsort(values, kind="stable")
    groups: list[list[int]] = []
    reached = 0
    for start in range(len(order)):
        end = int(np.searchsorted(values[order], values[order[start]] + difference + SAME, side="right"))
        if end > reached and end - start > 1:
            groups.append([int(i) for i in order[start:end]])
        reached = max(reached, end)
    return groups


def expected_calibration_error(p: npt.ArrayLike, y: npt.ArrayLike, bins: int = 10) -> float:
    r"""Return the expected calibration error of the predictions of a binary classifier.

    .. math:: ECE = \sum_b \frac{n_b}{n} \left| \mathrm{accuracy}_b - \mathrm{confidence}_b \right|

    Parameters
    ----------
    p : array of shape (n_sets,)
        The predicted probability of class 1.
    y : array of shape (n_sets,)
        The labels, 0 or 1.
    bins : int
        Number of bins of equal width, by the probability of the predicted class, from 1/2 to 1.
    """
    p, y = np.asarray(p, dtype=float), np.asarray(y)
    confidence, right = np.maximum(p, 1.0 - p), (p > 0.5) == (y == 1)
    which = np.minimum(((confidence - 0.5) * 2.0 * bins).astype(int), bins - 1)
    gaps = np.bincount(which, weights=right - confidence, minlength=bins)
    return float(np.abs(gaps).sum() / len(p))
