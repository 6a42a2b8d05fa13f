"""Statistics of repeated cross-validation: means, paired t-tests, ranks over data sets, calibration error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from setrbm._types import Floats

# A score for each (repeat, fold), as a fraction or in percent.
Scores = Mapping[tuple[int, int], float]
# Scores closer than this differ only by rounding.
SAME = 1e-9
LEVEL = 0.95


@dataclass(frozen=True)
class Summary:
    """Mean and spread of the scores of one system on one data set.

    Attributes
    ----------
    mean : float
        Over all folds.
    fold_spread, repeat_spread : float
        The standard deviation of the folds, and of the means of the repetitions; NaN if there is only one.
    n_folds, n_repeats : int
        The total number of folds, and of repetitions.
    """

    mean: float
    fold_spread: float
    repeat_spread: float
    n_folds: int
    n_repeats: int


@dataclass(frozen=True)
class Comparison:
    """A two-sided t-test of a mean difference.

    Attributes
    ----------
    difference : float
        The mean of a - b.
    t, p : float
    low, high : float
        The confidence interval of the difference.
    """

    difference: float
    t: float
    p: float
    low: float
    high: float


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


def summarize(scores: Scores) -> Summary:
    """Return the mean and spread of the scores of one system; every fold has the same weight."""
    values = _values(scores, sorted(scores), at_least=1)
    repeats = sorted({repeat for repeat, _ in scores})
    means = [float(np.mean([score for (r, _), score in sorted(scores.items()) if r == repeat])) for repeat in repeats]
    return Summary(float(values.mean()), _deviation(values), _deviation(means), len(values), len(repeats))


def paired_t_test(a: Scores, b: Scores, level: float = LEVEL) -> Comparison:
    """Return the plain paired t-test of a - b, which assumes independent folds.

    Training parts overlap, so this test rejects too often. See `corrected_t_test`.
    """
    left, right = _paired(a, b)
    difference = left - right
    if np.ptp(difference) <= SAME:
        return _without_variance(float(difference.mean()))
    result = stats.ttest_rel(left, right)
    interval = result.confidence_interval(level)
    return Comparison(
        float(difference.mean()), float(result.statistic), float(result.pvalue), float(interval.low),
        float(interval.high),
    )  # fmt: skip


def corrected_t_test(a: Scores, b: Scores, ratio: float | None = None, level: float = LEVEL) -> Comparison:
    r"""Return the corrected resampled t-test of a - b (Nadeau and Bengio, 2003).

    .. math:: t = \bar d \Big/ \sqrt{s_d^2 \left( \frac{1}{n} + \frac{n_{test}}{n_{train}} \right)}, \qquad
              n - 1 \text{ degrees of freedom}

    Parameters
    ----------
    a, b : mapping of (repeat, fold) to float
        The scores of two systems on the same folds.
    ratio : float, optional
        n_test / n_train; by default 1 / (k - 1) for k folds.
    level : float, default 0.95
        Of the confidence interval.
    """
    left, right = _paired(a, b)
    return _corrected(left - right, _fold_ratio(a) if ratio is None else ratio, level)


def one_sample_interval(scores: Scores, figure: float, ratio: float | None = None, level: float = LEVEL) -> Comparison:
    """Return the corrected t-test of the mean of ``scores`` minus one published figure.

    The figure is treated as exact, because its own spread is unknown: the true interval is wider.

    Parameters
    ----------
    scores : mapping of (repeat, fold) to float
    figure : float
        In the same unit as the scores.
    ratio, level : float
        As in `corrected_t_test`.
    """
    values = _values(scores, sorted(scores), at_least=2)
    return _corrected(values - figure, _fold_ratio(scores) if ratio is None else ratio, level)


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


def _values(scores: Scores, keys: Sequence[tuple[int, int]], at_least: int) -> Floats:
    if len(scores) < at_least:
        raise ValueError(f"There must be at least {at_least} folds. Got {len(scores)}.")
    values = np.array([scores[key] for key in keys], dtype=float)
    if (wrong := np.flatnonzero(~np.isfinite(values))).size:
        raise ValueError(
            f"Every score must be finite. Got {wrong.size} of {len(values)} that are not, the first at "
            f"(repeat, fold) {keys[wrong[0]]}."
        )
    return values


def _paired(a: Scores, b: Scores) -> tuple[Floats, Floats]:
    """Return the scores of the same folds in the same order."""
    if odd := sorted(set(a) ^ set(b)):
        raise ValueError(
            f"Both systems must have a score for each (repeat, fold). Got {len(a)} and {len(b)} scores, {len(odd)} of "
            f"them unpaired, the first at {odd[0]}."
        )
    keys = sorted(a)
    return _values(a, keys, at_least=2), _values(b, keys, at_least=2)


def _fold_ratio(scores: Scores) -> float:
    """Return n_test / n_train of k-fold cross-validation, 1 / (k - 1)."""
    folds: dict[int, set[int]] = {}
    for repeat, fold in scores:
        folds.setdefault(repeat, set()).add(fold)
    counts = {repeat: len(found) for repeat, found in sorted(folds.items())}
    if len(set(counts.values())) > 1 or min(counts.values()) < 2:
        raise ValueError(
            f"Every repetition must have the same number of folds, two or more. Got {list(counts.values())} folds. "
            "Finish the run, or pass the ratio of test to training sets."
        )
    return 1.0 / (next(iter(counts.values())) - 1)


def _corrected(difference: Floats, ratio: float, level: float) -> Comparison:
    if not ratio >= 0:
        raise ValueError(f"The ratio of test to training sets must be 0 or more. Got {ratio}.")
    n, mean = len(difference), float(difference.mean())
    if np.ptp(difference) <= SAME:
        return _without_variance(mean)
    error = math.sqrt(float(difference.var(ddof=1)) * (1 / n + ratio))
    t, reach = mean / error, float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    return Comparison(mean, t, float(2 * stats.t.sf(abs(t), n - 1)), mean - reach, mean + reach)


def _without_variance(mean: float) -> Comparison:
    """Return the limit of the test as all differences become equal."""
    if abs(mean) <= SAME:
        return Comparison(0.0, 0.0, 1.0, 0.0, 0.0)
    return Comparison(mean, math.copysign(math.inf, mean), 0.0, mean, mean)


def _deviation(values: npt.ArrayLike) -> float:
    array = np.asarray(values, dtype=float)
    return float(array.std(ddof=1)) if len(array) > 1 else math.nan
