"""Fits that continue: partial_fit and warm starts."""

import numpy as np
import pytest

from fitting import easy
from setrbm import ClassSetRBM
from setrbm.shards import write_shards


def test_several_calls_of_partial_fit_equal_a_fit_of_as_many_epochs():
    bags, y = easy()
    settings = {"n_hidden": 5, "random_state": 0}
    whole = ClassSetRBM(**settings, max_epochs=3, early_stopping=False).fit(bags, y)
    parts = ClassSetRBM(**settings)
    for _ in range(3):
        assert parts.partial_fit(bags, y, classes=[0, 1]) is parts
    np.testing.assert_allclose(parts.W_, whole.W_, rtol=0, atol=1e-14)
    assert parts.n_epochs_ == 3
    assert parts.history_["loss"] == pytest.approx(whole.history_["loss"])


def test_partial_fit_says_what_is_wrong_with_classes():
    bags, y = easy()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        ClassSetRBM().partial_fit(bags, y)
    model = ClassSetRBM(5).partial_fit(bags, y, classes=[0, 1, 2])
    assert model.predict_proba(bags).shape == (40, 3)
    with pytest.raises(ValueError, match=r"must be those of the first call, \[0, 1, 2\]"):
        model.partial_fit(bags, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"only the classes \[0, 1, 2\]. Got 7 at index 0"):
        model.partial_fit(bags, np.full(40, 7))


def test_a_warm_start_continues_from_the_fitted_parameters():
    bags, y = easy()
    settings = {"n_hidden": 5, "random_state": 0, "early_stopping": False}
    whole = ClassSetRBM(**settings, max_epochs=5).fit(bags, y)
    warm = ClassSetRBM(**settings, max_epochs=2, warm_start=True).fit(bags, y)
    warm.set_params(max_epochs=3).fit(bags, y)
    np.testing.assert_allclose(warm.W_, whole.W_, rtol=0, atol=1e-14)
    assert warm.n_epochs_ == warm.best_epoch_ == 5
    assert warm.history_["loss"] == pytest.approx(whole.history_["loss"])


def test_a_warm_start_keeps_its_held_out_sets_and_never_returns_a_worse_model():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=30, warm_start=True, random_state=None).fit(bags, y)
    seed, best = model.seed_, min(model.history_["held_out_loss"])
    before, best_epoch = model.predict_proba(bags), model.best_epoch_
    # A rate this large only spoils the model.
    model.set_params(learning_rate=3.0, max_epochs=4).fit(bags, y)
    assert model.seed_ == seed
    assert min(model.history_["held_out_loss"][30:]) > best
    np.testing.assert_array_equal(model.predict_proba(bags), before)
    assert (model.best_epoch_, model.n_epochs_, len(model.history_["loss"])) == (best_epoch, 34, 34)


def test_partial_fit_ignores_sets_of_weight_zero():
    bags, y = easy()
    weight = np.ones(40)
    weight[::4] = 0.0
    bags.X[bags.offsets[0] : bags.offsets[1]] = 77.0
    settings = {"n_hidden": 5, "random_state": 0}
    given = ClassSetRBM(**settings).partial_fit(bags, y, classes=[0, 1], sample_weight=weight)
    without = ClassSetRBM(**settings).partial_fit(bags[weight > 0], y[weight > 0], classes=[0, 1])
    np.testing.assert_array_equal(given.W_, without.W_)
    assert (given.partial_fit(bags, y, sample_weight=np.full(40, 2.0)).W_ != without.partial_fit(bags, y).W_).any()
    with pytest.raises(
        ValueError, match="must contain at least one non-zero|must have a weight above zero. Got zero for all 40"
    ):
        given.partial_fit(bags, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="At least one set must have a weight above zero. Got zero for all 40"):
        given.set_params(class_weight={0: 0.0, 1: 0.0}).partial_fit(bags, y)


def test_warm_start_refuses_another_number_of_hidden_units():
    model = ClassSetRBM(5, max_epochs=1, warm_start=True).fit(*easy())
    with pytest.raises(ValueError, match="continues with the 5 hidden units fitted. Got n_hidden=7"):
        model.set_params(n_hidden=7).fit(*easy())


def test_a_first_part_without_any_range_is_refused():
    with pytest.raises(ValueError, match="must show the range of the features. Every feature is constant"):
        ClassSetRBM().partial_fit([np.ones((1, 3))], [0], classes=[0, 1])


def test_partial_fit_refuses_another_number_of_hidden_units():
    bags, y = easy()
    model = ClassSetRBM(5).partial_fit(bags, y, classes=[0, 1])
    with pytest.raises(ValueError, match="continues with the 5 hidden units fitted. Got n_hidden=7"):
        model.set_params(n_hidden=7).partial_fit(bags, y)


def test_partial_fit_takes_no_classes_beside_shards(tmp_path):
    bags, y = easy()
    shards = write_shards(tmp_path, bags, y, sets_per_shard=20)
    with pytest.raises(ValueError, match="Shards bring their own classes. Got classes beside them"):
        ClassSetRBM(5).partial_fit(shards, classes=[0, 1, 2])
