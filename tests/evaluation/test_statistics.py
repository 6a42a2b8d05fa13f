"""Each statistic against arithmetic written out, against scipy, and against its limits."""

import math

import numpy as np
import pytest
from scipy import stats

from setrbm.evaluation.statistics import (
    corrected_t_test,
    one_sample_interval,
    paired_t_test,
    summarize,
)


def folds(values, n_folds):
    """The values in order as the scores of repetitions of n_folds folds."""
    return {divmod(i, n_folds): float(value) for i, value in enumerate(values)}


def drawn(seed, n_repeats=5, n_folds=10):
    rng = np.random.default_rng(seed)
    return tuple(folds(rng.normal(size=n_repeats * n_folds), n_folds) for _ in range(2))


# Differences 1, 2, 3, 4 in two repetitions of two folds.
A, B = folds([11, 22, 33, 44], 2), folds([10, 20, 30, 40], 2)


# --- means and spreads ---


def test_the_spreads_are_those_of_folds_and_of_repetitions():
    summary = summarize(folds([0.8, 0.9, 0.7, 0.8], 2))
    # The mean is 3.2 / 4; deviations 0, 0.1, -0.1, 0; the means of the repetitions are 0.85 and 0.75.
    assert summary.mean == pytest.approx(0.8)
    assert summary.fold_spread == pytest.approx(math.sqrt((0.01 + 0.01) / 3))
    assert summary.repeat_spread == pytest.approx(math.sqrt((0.05**2 + 0.05**2) / 1))
    assert (summary.n_folds, summary.n_repeats) == (4, 2)


def test_one_repetition_has_no_spread_of_repetitions():
    assert math.isnan(summarize(folds([0.8, 0.9], 2)).repeat_spread)
    assert math.isnan(summarize({(0, 0): 0.5}).fold_spread)


def test_the_order_in_which_folds_came_changes_nothing():
    a, b = drawn(0)
    turned = dict(reversed(a.items()))
    assert summarize(turned) == summarize(a)
    assert corrected_t_test(turned, b) == corrected_t_test(a, b)


# --- t-tests ---


def test_the_plain_test_equals_the_arithmetic():
    result = paired_t_test(A, B)
    # Mean 2.5, variance (2.25 + 0.25 + 0.25 + 2.25) / 3 = 5/3; error sqrt(5/3 / 4); t = 2.5 / sqrt(5/12) = sqrt(15).
    assert result.difference == pytest.approx(2.5)
    assert result.t == pytest.approx(math.sqrt(15))
    assert result.p == pytest.approx(stats.ttest_rel(list(A.values()), list(B.values())).pvalue)
    # The 97.5 % quantile of Student's t with 3 degrees of freedom is 3.182446.
    assert result.high == pytest.approx(2.5 + 3.182446 * math.sqrt(5 / 12), rel=1e-6)
    assert result.low == pytest.approx(2.5 - 3.182446 * math.sqrt(5 / 12), rel=1e-6)


def test_the_corrected_test_equals_the_arithmetic():
    result = corrected_t_test(A, B)
    # Two folds: n_test / n_train = 1. Error sqrt(5/3 (1/4 + 1)) = sqrt(25/12); t = 2.5 / sqrt(25/12) = sqrt(3).
    assert result.t == pytest.approx(math.sqrt(3))
    # With 3 degrees of freedom F(t) = 1/2 + (x / (1 + x^2) + arctan x) / pi, x = t / sqrt(3) = 1:
    # F = 1/2 + (1/2 + pi/4) / pi = 3/4 + 1/(2 pi), so p = 2 (1 - F) = 1/2 - 1/pi.
    assert result.p == pytest.approx(0.5 - 1 / math.pi)
    assert result.low == pytest.approx(2.5 - 3.182446 * math.sqrt(25 / 12), rel=1e-6)
    assert result.high == pytest.approx(2.5 + 3.182446 * math.sqrt(25 / 12), rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_five_times_ten_folds_add_one_ninth_to_the_variance(seed):
    a, b = drawn(seed)
    d = np.array([a[key] - b[key] for key in a])
    t = d.mean() / math.sqrt(d.var(ddof=1) * (1 / 50 + 1 / 9))
    result = corrected_t_test(a, b)
    np.testing.assert_allclose([result.t, result.p], [t, 2 * stats.t.sf(abs(t), 49)], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_without_a_correction_the_corrected_test_is_the_plain_one(seed):
    a, b = drawn(seed)
    plain, limit = paired_t_test(a, b), corrected_t_test(a, b, ratio=0.0)
    for name in ("difference", "t", "p", "low", "high"):
        np.testing.assert_allclose(getattr(limit, name), getattr(plain, name), rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("test", [paired_t_test, corrected_t_test])
def test_the_interval_holds_zero_where_p_is_above_its_level(test, seed):
    a, b = drawn(seed)
    p = test(a, b).p
    assert test(a, b, level=1 - 0.9 * p).low <= 0 <= test(a, b, level=1 - 0.9 * p).high
    assert not test(a, b, level=1 - 1.1 * p).low <= 0 <= test(a, b, level=1 - 1.1 * p).high


def test_the_corrected_test_keeps_its_level_where_folds_are_dependent_and_the_plain_one_does_not():
    # Differences that share a part, with correlation rho = n_test / (n_test + n_train) = 1/10 and mean 0: the case
    # the correction is made for. The bars are 4 standard errors of 1000 draws, sqrt(0.05 0.95 / 1000) = 0.0069.
    rng = np.random.default_rng(0)
    shared, own = rng.normal(size=(1000, 1)), rng.normal(size=(1000, 50))
    zero = folds(np.zeros(50), 10)
    draws = [folds(d, 10) for d in math.sqrt(0.1) * shared + math.sqrt(0.9) * own]
    corrected = np.mean([corrected_t_test(d, zero).p < 0.05 for d in draws])
    plain = np.mean([corrected_t_test(d, zero, ratio=0.0).p < 0.05 for d in draws])
    assert abs(corrected - 0.05) < 0.028
    assert plain > 0.3


@pytest.mark.parametrize("test", [paired_t_test, corrected_t_test])
def test_equal_scores_are_not_significantly_different(test):
    result = test(A, A)
    assert (result.difference, result.t, result.p, result.low, result.high) == (0, 0, 1, 0, 0)


@pytest.mark.parametrize("test", [paired_t_test, corrected_t_test])
def test_a_difference_without_variance_is_certain(test):
    # 0.9 - 0.8, 0.8 - 0.7 and so on are not the same floating-point numbers.
    high, low = folds([0.9, 0.8, 0.7, 0.6], 2), folds([0.8, 0.7, 0.6, 0.5], 2)
    assert (test(high, low).t, test(high, low).p) == (math.inf, 0)
    assert (test(low, high).t, test(low, high).p) == (-math.inf, 0)
    assert test(high, low).low == test(high, low).high == pytest.approx(0.1)


def test_the_interval_against_a_figure_is_that_against_a_constant_system():
    a, _ = drawn(3)
    constant = dict.fromkeys(a, 0.3)
    assert one_sample_interval(a, 0.3) == corrected_t_test(a, constant)
    # The arithmetic of the corrected test above, with a - b in the place of a and 0 in that of the figure.
    assert one_sample_interval(folds([1, 2, 3, 4], 2), 0.0).t == pytest.approx(math.sqrt(3))


@pytest.mark.parametrize("test", [paired_t_test, corrected_t_test])
def test_scores_that_do_not_pair_are_refused(test):
    other = {key: score for key, score in B.items() if key != (1, 0)}
    with pytest.raises(ValueError, match=r"Got 4 and 3 scores, 1 of them unpaired, the first at \(1, 0\)"):
        test(A, other)
    with pytest.raises(ValueError, match="Got 3 and 4 scores, 1 of them unpaired"):
        test(other, A)


def test_too_few_folds_are_refused():
    with pytest.raises(ValueError, match="There must be at least 2 folds. Got 1"):
        paired_t_test({(0, 0): 1.0}, {(0, 0): 0.5})
    with pytest.raises(ValueError, match="There must be at least 2 folds. Got 1"):
        one_sample_interval({(0, 0): 1.0}, 0.5)
    with pytest.raises(ValueError, match="There must be at least 1 folds. Got 0"):
        summarize({})


def test_repetitions_of_unequal_folds_need_a_ratio():
    part = {key: score for key, score in A.items() if key != (1, 1)}
    with pytest.raises(ValueError, match=r"the same number of folds, two or more. Got \[2, 1\] folds. Finish the run"):
        one_sample_interval(part, 0.0)
    assert one_sample_interval(part, 0.0, ratio=1.0).difference == pytest.approx(22)


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match=r"Got 1 of 4 that are not, the first at \(repeat, fold\) \(1, 0\)"):
        summarize({**A, (1, 0): math.nan})


def test_a_negative_ratio_is_refused():
    with pytest.raises(ValueError, match="must be 0 or more. Got -0.1"):
        corrected_t_test(A, B, ratio=-0.1)
