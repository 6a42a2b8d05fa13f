"""How the time of a fit grows: one exponent from several data sets, and what it leaves open."""

import numpy as np
import pytest

from setrbm_lab.growth import exponent, fit_growth


@pytest.mark.parametrize("power", [1.0, 2.0, 2.7])
def test_the_exponent_of_a_power_law_is_found(power):
    assert exponent([500, 1000], [3.0 * (n / 1000) ** power for n in (500, 1000)]) == pytest.approx(power)


@pytest.mark.parametrize(("n_sets", "seconds"), [([5, 5], [1.0, 2.0]), ([5, 10], [0.0, 2.0]), ([0, 10], [1.0, 2.0])])
def test_measurements_that_show_no_growth_are_refused(n_sets, seconds):
    with pytest.raises(ValueError, match=r"two numbers of sets, the second larger, and positive times\. Got "):
        exponent(n_sets, seconds)


def test_each_data_set_counts_once():
    growth = fit_growth({"a": [1.0] * 30, "b": [2.0], "c": [1.0, 2.0]})
    assert growth.power == pytest.approx(1.5)
    assert growth.error == pytest.approx(0.5 / np.sqrt(3))


def test_one_data_set_is_not_enough():
    assert fit_growth({"a": [1.0, 2.0]}) is None


def test_time_is_extrapolated_from_the_larger_measurement():
    growth = fit_growth({"a": [1.5], "b": [2.0]})
    assert growth.extrapolate(100, 3.0, 100) == pytest.approx((3.0, 3.0, 3.0))
    likely, low, high = growth.extrapolate(100, 3.0, 400)
    assert likely == pytest.approx(3.0 * 4**1.75)
    assert likely / low == pytest.approx(high / likely) == pytest.approx(4**growth.margin)
    with pytest.raises(ValueError, match=r"n must be at least n_measured=100\. Got 99\."):
        growth.extrapolate(100, 3.0, 99)


@pytest.mark.parametrize("k", [3, 5])
def test_the_interval_contains_the_exponent_of_a_new_data_set_as_often_as_it_says(k):
    rng = np.random.default_rng(k)
    inside = []
    for _ in range(2000):
        *known, new = rng.normal(1.8, 0.3, k + 1)
        growth = fit_growth({str(i): [value] for i, value in enumerate(known)})
        inside.append(abs(new - growth.power) <= growth.margin)
    # Four standard errors of 2,000 draws.
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)
