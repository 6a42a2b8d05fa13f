"""Repeated stratified folds."""

import numpy as np
import pytest

from setrbm.evaluation.splits import repeated_folds, system_seed


@pytest.mark.parametrize("seed", range(3))
def test_folds_partition_the_sets_and_keep_the_class_proportions(seed):
    y = np.array([0] * 30 + [1] * 20)
    splits = repeated_folds(y, folds=10, repeats=3, seed=seed)
    assert len(splits) == 30
    for repeat in range(3):
        mine = [split for split in splits if split.repeat == repeat]
        assert sorted(np.concatenate([split.test for split in mine]).tolist()) == list(range(50))
        for split in mine:
            assert sorted(np.concatenate([split.train, split.test]).tolist()) == list(range(50))
            assert y[split.test].tolist() == [0] * 3 + [1] * 2
    assert any(splits[0].test != splits[10].test)


def test_fewer_sets_than_folds_are_refused():
    with pytest.raises(ValueError, match="at least as many sets as there are folds, 10. Got 9 of class b"):
        repeated_folds(["a"] * 20 + ["b"] * 9)
    assert len(repeated_folds(["a"] * 20 + ["b"] * 10, repeats=1)) == 10


@pytest.mark.parametrize("seed", [-1, 2**32 - 4])
def test_a_seed_must_leave_room_for_every_repetition(seed):
    with pytest.raises(ValueError, match=rf"\(seed \+ repeat\) must be from 0 to .* Got seed {seed} for 5 repetitions"):
        repeated_folds([0, 1] * 10, seed=seed)
    assert len(repeated_folds([0, 1] * 10, folds=2, repeats=4, seed=2**32 - 4)) == 8


def test_every_split_has_a_seed_of_its_own_which_never_changes():
    splits = repeated_folds([0, 1] * 10)
    seeds = [system_seed(0, split) for split in splits]
    assert len(set(seeds)) == len(splits) == 50
    # Results that were published were made with these.
    assert [seeds[k] for k in (0, 1, 10)] == [297876190, 2085425843, 394792945]
