"""The splits of Table 2, exactly as they were fixed."""

import numpy as np
import pytest

from setrbm.evaluation.splits import repeated_folds
from setrbm_lab.mail_data import ALL
from setrbm_lab.mail_splits import RATIOS, mail_splits

# The first test sets of "debian".
FIRST = [[3, 7, 9], [4, 7, 10], [3, 4, 15], [4, 7, 9], [3, 9, 10]]
SIZES = {"DsUs": 16_808, "DsDe": 14_593, "threads": 7608, "debian": 3440, "pictures": 1000}


def splits_of(dataset, n=None):
    return mail_splits(dataset, np.arange(n or SIZES[dataset]) % 6)


@pytest.mark.parametrize("dataset", ALL)
def test_there_are_five_splits_whose_parts_are_disjoint(dataset):
    splits = splits_of(dataset)
    assert [(split.repeat, split.fold) for split in splits] == [(0, fold) for fold in range(5)]
    for split in splits:
        assert not set(split.train) & set(split.test)
        assert len(set(split.test)) == len(split.test)
        assert len(set(split.train)) == len(split.train)


def test_generated_mail_has_stratified_folds_of_seed_2011():
    for got, expected in zip(splits_of("DsDe"), repeated_folds(np.arange(14_593) % 6, 5, 1, 2011), strict=True):
        np.testing.assert_array_equal(got.test, expected.test)
        np.testing.assert_array_equal(got.train, expected.train)


@pytest.mark.parametrize("n", [7608, 600, 101])
def test_threads_are_trained_on_earlier_than_tested(n):
    for split, percent in zip(splits_of("threads", n), (50, 55, 60, 65, 70), strict=True):
        assert split.train.tolist() == list(range(int(percent / 100 * n)))
        assert split.test.tolist() == list(range(len(split.train), len(split.train) + int(0.3 * n)))
        # The first half is never tested.
        assert split.test.min() >= n // 2


@pytest.mark.parametrize("n", [3440, 601])
def test_packages_are_tested_from_one_half_only(n):
    order = np.random.default_rng(2011).permutation(n)
    for k, split in enumerate(splits_of("debian", n)):
        second = order[n // 2 :]
        drawn = np.random.default_rng([2011, k]).choice(second, int(0.3 * n), replace=False)
        assert split.test.tolist() == sorted(drawn)
        assert sorted([*split.train, *split.test]) == list(range(n))
        assert not set(order[: n // 2]) & set(split.test)


def test_the_first_sets_of_each_split_are_those_of_the_recorded_ones():
    """So that another version of numpy cannot change them unnoticed."""
    assert [split.test[:3].tolist() for split in splits_of("debian")] == FIRST


@pytest.mark.parametrize("dataset", ALL)
def test_the_ratio_of_test_to_training_sets_is_that_of_the_splits(dataset):
    ratios = [len(split.test) / len(split.train) for split in splits_of(dataset)]
    assert RATIOS[dataset] == pytest.approx(np.mean(ratios), rel=1e-3)
