import numpy as np
import pytest
from scipy import stats

from setrbm import draws

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_numbers_of_one_key_are_uniform(seed):
    u = draws.uniform(draws.keys(seed, 3), 100_000)[0]
    assert stats.kstest(u, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("field", range(5))
def test_numbers_of_one_unit_are_uniform_over_every_field_of_the_key(field):
    fields = [1, 2, 0, draws.INPUT, 0]
    fields[field] = np.arange(100_000)
    u = draws.uniform(draws.keys(7, *fields), 1)[:, 0]
    assert stats.kstest(u, "uniform").pvalue > FALSE_ALARM


def test_neighboring_keys_and_units_are_independent():
    u = draws.uniform(draws.keys(7, np.arange(300)), 300)
    centered = u - 0.5
    n = 300 * 299
    for shifted in (centered[1:] * centered[:-1], centered[:, 1:] * centered[:, :-1]):
        # The mean of n products of independent uniforms has standard deviation 1 / (12 sqrt(n)).
        assert abs(shifted.mean()) * 12 * np.sqrt(n) < 5


def test_pairs_of_successive_numbers_are_uniform_on_the_square():
    u = draws.uniform(draws.keys(11), 200_001)[0]
    counts, _, _ = np.histogram2d(u[:-1], u[1:], bins=32)
    assert stats.chisquare(counts.ravel()).pvalue > FALSE_ALARM


def test_normal_numbers_are_normal():
    z = draws.normal(draws.keys(1, 0), draws.keys(1, 1), 100_000)[0]
    assert stats.kstest(z, "norm").pvalue > FALSE_ALARM


def test_uniform_numbers_are_exact_in_float32_and_strictly_between_zero_and_one():
    u = draws.uniform(draws.keys(5), 100_000)
    assert (u == u.astype(np.float32)).all()
    assert u.min() > 0.0
    assert u.max() < 1.0


def test_an_order_visits_every_set_once_and_changes_with_epoch_and_seed():
    sets = np.array([3, 1, 4, 15, 9])
    orders = {tuple(draws.order(seed, epoch, sets)) for seed in range(10) for epoch in range(10)}
    assert all(sorted(order) == sorted(sets) for order in orders)
    assert len(orders) > 50


def test_the_order_within_a_stream_does_not_depend_on_its_shards():
    whole = draws.order(1, 2, np.arange(20))
    tail = draws.order(1, 2, np.arange(10), first=10)
    assert [t + 10 for t in tail] == [t for t in whole if t >= 10]


def test_chain_numbers_do_not_depend_on_the_other_sets_of_the_batch():
    many = draws.ChainDraws(3, 1, np.array([5, 6, 9]), np.array([2, 1, 3]))
    one = draws.ChainDraws(3, 1, np.array([9]), np.array([3]))
    assert (many.per_vector(2, draws.INPUT, 7)[3:] == one.per_vector(2, draws.INPUT, 7)).all()
    assert (many.per_set(2, draws.HOLDER, 7)[2:] == one.per_set(2, draws.HOLDER, 7)).all()


def test_orders_of_several_seeds_equal_those_of_each_alone():
    sets = [np.array([3, 1, 4, 15]), np.arange(9), np.empty(0, dtype=np.intp), np.array([7])]
    seeds, firsts = [5, 6, 7, 2**31 - 2], [0, 100, 3, 0]
    together = draws.orders(seeds, 11, sets, firsts)
    for seed, chosen, first, got in zip(seeds, sets, firsts, together, strict=True):
        rank = draws.bits(draws.keys(seed, 11, draws.ORDER), chosen + first)[0]
        np.testing.assert_array_equal(got, chosen[np.argsort(rank, kind="stable")])
