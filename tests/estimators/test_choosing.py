"""How the estimators that choose find their settings."""

from dataclasses import replace

import numpy as np
import pytest

from fitting import easy
from setrbm import ClassSetRBM, ClassSetRBMCV
from setrbm.energy import free_energy
from setrbm.estimators.search.search import TrainingBatch


@pytest.fixture
def early_rungs(monkeypatch):
    monkeypatch.setattr("setrbm.training.early_stopping.FEWEST_BEFORE_RUNG", 1)


def test_cv_chooses_the_best_held_out_score_and_refits_on_all_sets():
    bags, y = easy(60)
    settings = {"init_scale": 0.3, "max_epochs": 30, "early_stopping": True, "n_fits": 1, "random_state": 0}
    model = ClassSetRBMCV(5, pooling="hard", learning_rate=(1e-5, 0.1), **settings).fit(bags, y)
    assert model.best_params_ == {"learning_rate": 0.1}
    assert model.best_score_ == max(model.cv_results_["mean_test_score"])
    assert model.cv_results_["rank_test_score"][model.best_index_] == 1
    chosen = model.cv_results_["n_epochs"][model.best_index_]
    assert model.n_epochs_ == chosen
    again = ClassSetRBM(
        5, learning_rate=0.1, init_scale=0.3, weight_decay=model.weight_decay, max_epochs=chosen,
        early_stopping=False, random_state=0,
    ).fit(bags, y)  # fmt: skip
    np.testing.assert_array_equal(model.W_, again.W_)


def test_cv_without_refit_is_the_procedure_of_the_paper():
    bags, y = easy(60)
    settings = {"max_epochs": 30, "patience": 5, "init_scale": 0.3, "learning_rate": 0.1, "weight_decay": 0.0}
    kept = ClassSetRBMCV(5, refit=False, early_stopping=True, random_state=0, **settings).fit(bags, y)
    alone = ClassSetRBM(5, random_state=0, **settings).fit(bags, y)
    np.testing.assert_array_equal(kept.W_, alone.W_)


def test_cv_chooses_among_models_of_different_shape():
    bags, y = easy()
    model = ClassSetRBMCV(
        (3, 5), constraint=("xor", "or"), pooling=("soft", "hard"), learning_rate=0.05, init_scale=0.3, max_epochs=3
    ).fit(bags, y)
    assert set(model.best_params_) == {"n_hidden", "constraint", "pooling"}
    assert len(model.cv_results_["params"]) == 8
    assert model.W_.shape[0] == 5 * model.best_params_["n_hidden"]
    expected = free_energy(
        model._scaled(bags).X, bags.offsets, model._params(), model.best_params_["constraint"],
        model.best_params_["pooling"],
    )  # fmt: skip
    np.testing.assert_allclose(model.free_energy(bags), expected, rtol=1e-10)


def test_cv_survives_candidates_that_diverge_and_says_which():
    bags, y = easy()
    settings = {"init_scale": 0.3, "max_epochs": 5, "weight_decay": 0.0, "random_state": 0}
    model = ClassSetRBMCV(5, learning_rate=(0.1, 1e9), **settings).fit(bags, y)
    assert model.cv_results_["diverged"].tolist() == [False, True]
    assert [len(history["loss"]) for history in model.cv_results_["split0_history"]] == [5, 1]
    with pytest.raises(ValueError, match="Training diverged"):
        ClassSetRBMCV(5, learning_rate=(1e9, 1e10), **settings).fit(bags, y)
    overturned = ClassSetRBMCV(5, learning_rate=0.1, **settings | {"weight_decay": (0.0, 20.0)}).fit(bags, y)
    assert overturned.cv_results_["diverged"].tolist() == [False, True]


def test_every_initial_size_begins_at_its_own_size():
    bags, y = easy()
    settings = {"learning_rate": 0.05, "max_epochs": 3, "n_fits": 1, "refit": False, "random_state": 0}
    both = ClassSetRBMCV(4, init_scale=(0.01, 2.0), **settings).fit(bags, y)
    for place, size in enumerate((0.01, 2.0)):
        alone = ClassSetRBMCV(4, init_scale=size, **settings).fit(bags, y)
        assert both.cv_results_["split0_history"][place] == alone.cv_results_["split0_history"][0]
    assert both.cv_results_["split0_history"][0] != both.cv_results_["split0_history"][1]


def test_cv_checks_every_choice():
    bags, y = easy()
    with pytest.raises(ValueError, match="learning_rate must be a positive number. Got -0.1"):
        ClassSetRBMCV(learning_rate=(0.1, -0.1)).fit(bags, y)


def test_empty_and_impossible_choices_are_refused():
    with pytest.raises(ValueError, match="learning_rate must offer at least one value"):
        ClassSetRBMCV(learning_rate=()).fit(*easy())
    with pytest.raises(ValueError, match=r"visible must be one of 'binary', 'gaussian'. Got \['binary'\]"):
        ClassSetRBMCV(visible=["binary"]).fit(*easy())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_fits": 0}, "n_fits must be 'auto' or an integer of 1 or more. Got 0"),
        ({"n_fits": "many"}, "n_fits must be 'auto' or an integer of 1 or more. Got 'many'"),
        ({"n_fits": 2, "refit": False}, r"n_fits must be 1 or 'auto' if nothing is refitted \(refit=False\)"),
        ({"refit": "no"}, "refit must be True or False. Got 'no'"),
        ({"halving": "no"}, "halving must be True or False. Got 'no'"),
        ({"early_stopping": "never"}, "early_stopping must be True, False or 'auto'. Got 'never'"),
        ({"max_epochs": (10, 0)}, "max_epochs must be an integer of 1 or more. Got 0"),
        ({"max_epochs": ()}, "max_epochs must offer at least one value"),
    ],
)
def test_invalid_settings_of_choosing_are_refused_by_name(setting, message):
    with pytest.raises(ValueError, match=message):
        ClassSetRBMCV(5, **setting).fit(*easy())


def test_auto_early_stopping_depends_on_the_number_of_held_out_sets():
    rng = np.random.default_rng(0)
    settings = {"learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 12, "patience": 2, "random_state": 0}

    def lengths(n_sets):
        X, y = rng.random((n_sets, 3)), np.arange(n_sets) % 2
        model = ClassSetRBMCV(3, **settings).fit(X, y)
        return len(model.cv_results_["split0_history"][0]["loss"])

    # Labels that cannot be learned: the best epoch comes early, where it may.
    assert lengths(995) == 12
    assert lengths(1000) < 12


def test_a_dropped_candidate_is_not_chosen_even_if_it_looked_better(early_rungs):
    # Labels that cannot be learned: the held-out loss grows with training, so what ended early has the least.
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), rng.integers(0, 2, 60)
    settings = {"learning_rate": (0.5, 0.6), "init_scale": 1.0, "max_epochs": 80, "n_fits": 1, "random_state": 0}
    model = ClassSetRBMCV(20, **settings).fit(X, y)
    left = model.cv_results_["dropped"].tolist().index(True)
    at_its_end = model.cv_results_["split0_history"][left]["held_out_loss"][-1]
    assert -at_its_end > model.best_score_ == np.nanmax(model.cv_results_["mean_test_score"])
    assert np.isnan(model.cv_results_["mean_test_score"][left])
    assert model.best_params_["learning_rate"] == (0.5, 0.6)[1 - left]


def test_where_training_only_harms_the_shortest_end_is_chosen():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), rng.integers(0, 2, 60)
    settings = {"learning_rate": 0.5, "init_scale": 1.0, "n_fits": 1, "random_state": 0}
    assert ClassSetRBMCV(20, max_epochs=(80, 10, 40), **settings).fit(X, y).best_epoch_ == 10


def test_a_candidate_that_reached_an_end_is_not_dropped():
    assert ClassSetRBMCV(max_epochs=(200, 400))._choices().schedule(10).rungs == (50, 100)
    assert ClassSetRBMCV(max_epochs=(80, 400))._choices().schedule(10).rungs == (50,)
    assert ClassSetRBMCV(max_epochs=(100, 400))._choices().schedule(10).rungs == (50,)
    assert ClassSetRBMCV(max_epochs=(50, 400))._choices().schedule(10).rungs == ()
    assert ClassSetRBMCV(max_epochs=(10, 400))._choices().schedule(10).rungs == ()
    assert ClassSetRBMCV(max_epochs=150)._choices().schedule(10).rungs == (37,)
    assert ClassSetRBMCV(max_epochs=100)._choices().schedule(10).rungs == (25,)
    assert ClassSetRBMCV(max_epochs=99)._choices().schedule(10).rungs == ()
    assert ClassSetRBMCV(halving=False)._choices().schedule(10).rungs == ()


@pytest.mark.parametrize("max_epochs", [16, (8, 16)])
def test_if_all_others_diverged_the_best_dropped_candidate_is_trained_to_the_end(early_rungs, monkeypatch, max_epochs):
    def train_apart(*args, real=TrainingBatch.train):
        outcomes = real(*args)
        return [
            o if o.dropped or not o.history["held_out_loss"][0] > 0 else replace(o, diverged_in=9) for o in outcomes
        ]

    monkeypatch.setattr(TrainingBatch, "train", train_apart)
    bags, y = easy()
    settings = {"init_scale": 0.3, "max_epochs": max_epochs, "n_fits": 1, "random_state": 0}
    with pytest.warns(UserWarning, match="The best of the dropped ones is used; offer smaller learning rates"):
        model = ClassSetRBMCV(5, learning_rate=(1e-7, 0.04, 0.05, 0.1), **settings).fit(bags, y)
    assert model.cv_results_["dropped"][model.best_index_]
    assert model.best_params_["learning_rate"] > 1e-7
    assert model.n_epochs_ == model.best_params_.get("max_epochs", 16) == 16


def test_the_number_of_epochs_can_be_one_of_several():
    bags, y = easy()
    settings = {"learning_rate": (0.05, 0.1), "init_scale": 0.3, "n_fits": 1, "random_state": 0, "halving": False}
    model = ClassSetRBMCV(5, max_epochs=(16, 4, 8), early_stopping=False, **settings).fit(bags, y)
    assert model.best_params_["max_epochs"] == model.best_epoch_ == model.n_epochs_
    assert model.best_epoch_ in (4, 8, 16)
    scores = [
        ClassSetRBMCV(5, max_epochs=n, early_stopping=False, **settings).fit(bags, y).best_score_ for n in (4, 8, 16)
    ]
    assert model.best_score_ == pytest.approx(max(scores), rel=1e-12)


def test_dropped_candidates_are_recorded_and_never_chosen(early_rungs):
    bags, y = easy()
    rates = (1e-7, 1e-6, 0.05, 0.1)
    model = ClassSetRBMCV(5, learning_rate=rates, init_scale=0.3, max_epochs=16, random_state=0).fit(bags, y)
    assert model.cv_results_["dropped"][:2].tolist() == [True, True]
    assert sum(model.cv_results_["dropped"]) == 3
    assert [len(history["loss"]) for history in model.cv_results_["split0_history"]][:2] == [2, 2]
    assert not model.cv_results_["dropped"][rates.index(model.best_params_["learning_rate"])]
