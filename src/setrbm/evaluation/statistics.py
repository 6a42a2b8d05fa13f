"""Statistics of repeated cross-validation: means, paired t-tests, and a test against a figure."""

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
