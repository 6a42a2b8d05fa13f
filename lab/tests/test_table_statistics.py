"""Statistics over data sets: against the arithmetic, against scipy, and in the limit."""

import math

import numpy as np
import pytest
from scipy import stats

from setrbm_lab.statistics import cliques, critical_difference, expected_calibration_error, friedman, holm

# --- Holm ---


def test_holm_equals_the_arithmetic():
    # In order 0.005 x 4, 0.01 x 3, 0.03 x 2, 0.04 x 1 = 0.02, 0.03, 0.06, 0.04; the last is raised to 0.06.
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02], rtol=1e-12)


def test_holm_keeps_a_single_p_value_and_is_at_most_one():
    assert holm([0.03]) == [0.03]
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize("seed", range(5))
def test_holm_rejects_what_stepping_down_rejects(seed):
    p = np.random.default_rng(seed).random(12) ** 4
    rejected = set()
    for step, i in enumerate(np.argsort(p)):
        if p[i] > 0.05 / (len(p) - step):
            break
        rejected.add(int(i))
    assert {i for i, value in enumerate(holm(list(p))) if value <= 0.05} == rejected


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_holm_refuses_invalid_p_values(wrong):
    with pytest.raises(ValueError, match=f"Every p-value must be from 0 to 1. Got {wrong}"):
        holm([0.5, wrong])


# --- ranks ---


def test_friedman_equals_the_arithmetic():
    # Ranks 1 2 3, 1 2 3, 1 3 2, 2 1 3; their sums are 5, 8, 11.
    result = friedman([[90, 80, 70], [60, 50, 40], [9, 7, 8], [0.8, 0.9, 0.7]])
    np.testing.assert_allclose(result.ranks, [5 / 4, 8 / 4, 11 / 4], rtol=1e-12)
    # 12 / (4 x 3 x 4) x (25 + 64 + 121) - 3 x 4 x 4 = 52.5 - 48; with 2 degrees of freedom p = exp(-4.5 / 2).
    assert result.statistic == pytest.approx(4.5)
    assert result.p == pytest.approx(math.exp(-2.25))


@pytest.mark.parametrize("seed", range(5))
def test_friedman_equals_scipys_also_with_ties(seed):
    scores = np.random.default_rng(seed).integers(0, 5, (5, 8)).astype(float)
    result, expected = friedman(scores), stats.friedmanchisquare(*scores.T)
    np.testing.assert_allclose([result.statistic, result.p], list(expected), rtol=1e-10)
    assert result.ranks.sum() == pytest.approx(8 * 9 / 2)


def test_scores_that_differ_by_rounding_share_their_rank():
    result = friedman([[0.1 + 0.2, 0.3, 0.1], [0.1 + 0.2, 0.3, 0.4]])
    np.testing.assert_allclose(result.ranks, [(1.5 + 2.5) / 2, (1.5 + 2.5) / 2, (3 + 1) / 2], rtol=1e-12)


def test_systems_with_equal_scores_share_all_ranks():
    result = friedman(np.ones((5, 4)))
    assert (result.statistic, result.p, list(result.ranks)) == (0.0, 1.0, [2.5] * 4)


@pytest.mark.parametrize("shape", [(5,), (1, 4), (5, 2)])
def test_friedman_refuses_what_it_cannot_rank(shape):
    with pytest.raises(ValueError, match="two or more data sets and three or more systems. Got shape"):
        friedman(np.ones(shape))


def test_friedman_refuses_missing_scores():
    with pytest.raises(ValueError, match="Every score must be finite. Got 1 that are not. Leave those systems out"):
        friedman([[1.0, 2.0, math.nan], [1.0, 2.0, 3.0]])


@pytest.mark.parametrize("n", [1, 5, 20])
def test_the_critical_difference_of_two_systems_is_a_normal_quantile(n):
    # q / sqrt(2) of two is the two-sided normal quantile 1.96, and k (k + 1) / 6 = 1.
    assert critical_difference(2, n) == pytest.approx(1.959964 / math.sqrt(n), rel=1e-6)


@pytest.mark.parametrize("k", [3, 15])
def test_the_critical_difference_is_the_quantile_of_a_range(k):
    draws = np.random.default_rng(k).normal(size=(100_000, k))
    q = np.quantile(np.ptp(draws, axis=1), 0.95) / math.sqrt(2)
    assert critical_difference(k, 5) == pytest.approx(q * math.sqrt(k * (k + 1) / 30), rel=0.01)


def test_a_critical_difference_needs_systems_and_data_sets():
    with pytest.raises(ValueError, match="two or more systems and one or more data sets. Got 1 and 5"):
        critical_difference(1, 5)


def test_cliques_are_the_largest_groups_within_the_critical_difference():
    assert cliques([1.2, 1.9, 3.1, 3.8], 1.0) == [[0, 1], [2, 3]]
    assert cliques([3, 1, 2], 1.0) == [[1, 2], [2, 0]]
    assert cliques([1, 3, 5], 1.0) == []
    assert cliques([3, 1, 2], 5.0) == [[1, 2, 0]]


@pytest.mark.parametrize("seed", range(10))
def test_two_systems_share_a_clique_if_and_only_if_their_ranks_are_close(seed):
    ranks = np.random.default_rng(seed).uniform(1, 12, 12)
    together = {(i, j) for group in cliques(ranks, 2.5) for i in group for j in group if i < j}
    assert together == {(i, j) for i in range(12) for j in range(i + 1, 12) if abs(ranks[i] - ranks[j]) <= 2.5}


# --- calibration ---


def test_the_calibration_error_equals_the_arithmetic():
    # Confidences 0.9, 0.9 (one right) in one bin, 0.6 (right) in another: (2 |0.5 - 0.9| + |1 - 0.6|) / 3 = 0.4.
    assert expected_calibration_error([0.9, 0.1, 0.4], [1, 1, 0]) == pytest.approx(0.4)


def test_calibrated_predictions_have_no_calibration_error_and_certain_mistakes_the_largest():
    p = np.repeat([0.2, 0.7], [10, 10])
    y = np.r_[np.ones(2), np.zeros(8), np.ones(7), np.zeros(3)]
    assert expected_calibration_error(p, y) == pytest.approx(0.0, abs=1e-12)
    assert expected_calibration_error(1.0 - y, y) == 1.0
    assert expected_calibration_error(y, y) == 0.0
