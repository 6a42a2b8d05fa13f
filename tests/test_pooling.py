import ast
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, log_expit

from brute import CONSTRAINTS, DEFINITIONS, POOLINGS
from setrbm.pooling import MIXED
from setrbm.pooling import POOLINGS as RECORDS
from setrbm.pooling.pools import JOIN, JOIN_SETS, hard_pool, pools_without_each, set_pool, soft_pool

ROOT = Path(__file__).parents[1]
OFFSETS = np.array([0, 1, 4, 9])


@pytest.fixture(params=range(3))
def a(request):
    return np.random.default_rng(request.param).normal(scale=3.0, size=(9, 4))


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_pools_equal_their_definition(a, constraint, pooling):
    v = a if constraint == "xor" else np.log(expit(a))
    expected = [DEFINITIONS[pooling](v[start:stop]) for start, stop in pairwise(OFFSETS)]
    pool, _ = set_pool(a, OFFSETS, constraint, pooling)
    np.testing.assert_allclose(pool, expected, rtol=1e-12)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("pooling", [*POOLINGS, "mixed"])
def test_the_slope_equals_finite_differences(a, constraint, pooling):
    if pooling == "mixed":
        # Five parts of two units.
        a = np.random.default_rng(9).permuted(np.tile(a, (1, 3))[:, :10], axis=0)
    _, slope = set_pool(a, OFFSETS, constraint, pooling)
    step = 1e-6
    for s, j in np.ndindex(a.shape):
        k = np.searchsorted(OFFSETS, s, side="right") - 1
        moved = [a.copy(), a.copy()]
        moved[0][s, j] += step
        moved[1][s, j] -= step
        up, down = (set_pool(m, OFFSETS, constraint, pooling)[0][k, j] for m in moved)
        assert slope[s, j] == pytest.approx((up - down) / (2 * step), abs=1e-8)


@pytest.mark.parametrize("n_units", [5, 20])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_with_mixed_pooling_four_fifths_of_the_units_are_hard_and_the_last_fifth_is_mean(constraint, n_units):
    assert MIXED == ("hard", "hard", "hard", "hard", "mean")
    a = np.random.default_rng(n_units).normal(scale=3.0, size=(9, n_units))
    n_hard = 4 * n_units // 5
    mixed, hard, mean = (set_pool(a, OFFSETS, constraint, pooling) for pooling in ("mixed", "hard", "mean"))
    for whole, first, last in zip(mixed, hard, mean, strict=True):
        np.testing.assert_array_equal(whole, np.hstack([first[:, :n_hard], last[:, n_hard:]]))
    # Sets of one vector are the same for both, larger ones are not.
    assert np.abs(hard[0] - mean[0])[1:].min() > 1e-6


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_repeating_every_vector_k_times_adds_log_k_to_soft_pools_and_nothing_to_others(a, constraint):
    k, first = 3, OFFSETS[1:3]
    part = a[first[0] : first[1]]
    for pooling, shift in (("soft", np.log(k)), ("hard", 0.0), ("mean", 0.0)):
        once, _ = set_pool(part, np.array([0, 3]), constraint, pooling)
        often, _ = set_pool(np.repeat(part, k, axis=0), np.array([0, 3 * k]), constraint, pooling)
        np.testing.assert_allclose(often, once + shift, rtol=0, atol=1e-14)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_hard_is_the_limit_of_soft_as_the_pooled_values_are_scaled(a, constraint):
    v = a if constraint == "xor" else log_expit(a)
    hard, _ = set_pool(a, OFFSETS, constraint, "hard")
    gaps = []
    for beta in (10.0, 100.0, 1000.0):
        soft, _ = soft_pool(beta * v, OFFSETS)
        gaps.append(np.abs(soft / beta - hard).max())
        # log-sum-exp exceeds the maximum by at most the log of the set size.
        assert gaps[-1] <= np.log(5) / beta + 1e-12
    assert gaps[0] > gaps[1] > gaps[2]


def test_ties_go_to_the_first_vector():
    _, winner = hard_pool(np.ones((5, 2)), np.array([0, 2, 5]))
    assert winner.tolist() == [[0, 0], [2, 2]]


def test_or_hard_compares_activations_where_log_sigm_rounds_to_zero():
    a = np.array([[800.0], [900.0]])
    _, slope = set_pool(a, np.array([0, 2]), "or", "hard")
    assert log_expit(a)[0, 0] == log_expit(a)[1, 0] == 0.0
    assert slope[0, 0] == 0.0


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("size", [1, 10_000])
def test_large_activations_give_no_nan_and_no_overflow(constraint, pooling, size):
    a = np.tile([[1e4, -1e4, 0.0]], (size, 1))
    pool, slope = set_pool(a, np.array([0, size]), constraint, pooling)
    assert np.isfinite(pool).all()
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_another_vector_never_lowers_a_monotone_pool_and_lowers_any_other(a, constraint, pooling):
    without = pools_without_each(a if constraint == "xor" else log_expit(a), OFFSETS, pooling)
    pool, _ = set_pool(a, OFFSETS, constraint, pooling)
    never_lower = (np.repeat(pool, np.diff(OFFSETS), axis=0) >= without - 1e-12).all()
    assert never_lower == RECORDS[pooling].is_monotone


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_pools_without_each_vector_equal_the_pools_of_the_others(a, constraint, pooling):
    without = pools_without_each(a if constraint == "xor" else log_expit(a), OFFSETS, pooling)
    assert (without[0] == -np.inf).all()
    for start, stop in pairwise(OFFSETS[1:]):
        for s in range(start, stop):
            others = np.delete(a[start:stop], s - start, axis=0)
            pool, _ = set_pool(others, np.array([0, len(others)]), constraint, pooling)
            np.testing.assert_allclose(without[s], pool[0], rtol=1e-12)


def test_contributing_names_the_files_of_a_pooling_and_they_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## To add a variant")[1].split("\n## ")[0]
    named = re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE)
    assert len(named) == 8
    assert [name for name in named if not (ROOT / name).is_file()] == []


def tables(path):
    """Return the keys of every table at the top level of a module."""
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    dicts = [one.value for one in statements if isinstance(one, ast.Assign) and isinstance(one.value, ast.Dict)]
    return [[key.value for key in table.keys] for table in dicts]


def test_every_engine_and_the_guide_have_every_pooling():
    engines = [ROOT / "src" / "setrbm" / "engines" / name / "pools.py" for name in ("cpu", "gpu")]
    found = [*map(list, (JOIN_SETS, JOIN, DEFINITIONS)), *(table for path in engines for table in tables(path))]
    assert len(found) == 5
    assert all(sorted(names) == sorted(POOLINGS) for names in found)
    guide = (ROOT / "docs" / "guide" / "variants.md").read_text(encoding="utf-8")
    assert [name for name in POOLINGS if f'`pooling="{name}"`' not in guide] == []
