"""Ctrl-C at any time: what is kept, and what is left unchanged."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from fitting import EpochCallback, easy
from setrbm import ClassSetRBM, ClassSetRBMCV
from setrbm.estimators.search import refits
from setrbm.estimators.search.search import TrainingBatch
from setrbm.training import train

# The coordinates in which the settings of a pooling are chosen, always with hard pooling.
CHOSEN_IN = [("hard", "auto"), ("mixed", "center")]


def test_ctrl_c_ends_the_whole_choice_and_keeps_the_best_candidate_so_far():
    bags, y = easy()
    epochs = []

    def interrupt(phase, number):
        epochs.append(number)
        if len(epochs) == 6:
            raise KeyboardInterrupt

    # Three shapes, so three groups; Ctrl-C comes in the second.
    model = ClassSetRBMCV((3, 4, 5), learning_rate=(0.05, 0.1), init_scale=0.3, max_epochs=4, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(EpochCallback(interrupt)).fit(bags, y)
    assert epochs == [1, 2, 3, 4, 1, 2]
    assert np.isfinite(model.cv_results_["mean_test_score"]).tolist() == [True] * 4 + [False] * 2
    assert model.best_score_ == np.nanmax(model.cv_results_["mean_test_score"])
    assert len(model.c_) == model.best_params_["n_hidden"]


@pytest.mark.parametrize("warm_start", [False, True])
def test_ctrl_c_stores_the_best_parameters_so_far_and_is_raised(warm_start):
    bags, y = easy(200)

    def interrupt(phase, number):
        if number == 30:
            raise KeyboardInterrupt

    model = ClassSetRBM(20, max_epochs=100_000, patience=None, warm_start=warm_start, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(EpochCallback(interrupt)).fit(bags, y)
    whole = ClassSetRBM(20, max_epochs=30, patience=None, random_state=0).fit(bags, y)
    np.testing.assert_array_equal(model.W_, whole.W_)
    np.testing.assert_array_equal(model.predict_proba(bags), whole.predict_proba(bags))


def test_ctrl_c_after_the_pass_of_partial_fit_leaves_the_model_unchanged():
    bags, y = easy()

    def interrupt(phase, number):
        raise KeyboardInterrupt

    model = ClassSetRBM(5, random_state=0).partial_fit(bags, y, classes=[0, 1])
    before = {name: np.copy(value) for name, value in vars(model).items() if name != "history_"}
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(EpochCallback(interrupt)).partial_fit(bags, y)
    model.set_callbacks()
    assert {name for name in vars(model) if name != "history_"} == set(before)
    np.testing.assert_array_equal(model.W_, before["W_"])
    assert model.n_epochs_ == 1


@pytest.mark.parametrize("estimator", [ClassSetRBM(5, max_epochs=50), ClassSetRBMCV(5, max_epochs=50)])
def test_ctrl_c_stops_cross_validation(estimator):
    bags, y = easy()
    begun = []

    def interrupt(phase, number):
        begun.append(number)
        if number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_val_score(clone(estimator).set_callbacks(EpochCallback(interrupt)), bags, y, cv=5)
    assert begun == [1, 2, 3]


@pytest.mark.parametrize("estimator", [ClassSetRBM(5), ClassSetRBM(5, early_stopping=False), ClassSetRBMCV(5)])
def test_ctrl_c_before_the_first_epoch_leaves_the_estimator_unchanged(monkeypatch, estimator):
    def interrupt(self, placed, orders, epoch):
        raise KeyboardInterrupt

    bags, y = easy()
    parts = ClassSetRBM(5, random_state=0).partial_fit(bags, y, classes=[0, 1])
    before = parts.W_.copy()
    monkeypatch.setattr("setrbm.engines.cpu.CpuSession.run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(bags, y)
    assert not hasattr(estimator, "W_")
    with pytest.raises(KeyboardInterrupt):
        parts.partial_fit(bags, y)
    np.testing.assert_array_equal(parts.W_, before)


@pytest.mark.parametrize(("pooling", "scale"), CHOSEN_IN)
@pytest.mark.parametrize("epoch", [1, 3])
def test_ctrl_c_in_the_refit_keeps_the_best_candidate(epoch, pooling, scale):
    bags, y = easy()
    settings = {"learning_rate": (0.05, 0.1), "init_scale": 0.3, "max_epochs": 20, "random_state": 0}
    kept = ClassSetRBMCV(5, pooling="hard", scale=scale, refit=False, **settings).fit(bags, y)

    def interrupt(phase, number):
        if phase == "fitting" and number == epoch:
            raise KeyboardInterrupt

    model = ClassSetRBMCV(5, pooling=pooling, **settings).set_callbacks(EpochCallback(interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(bags, y)
    np.testing.assert_array_equal(model.W_, kept.W_)
    np.testing.assert_array_equal(model.predict_proba(bags), kept.predict_proba(bags))
    assert (model.settings_.pooling, model.temperature_) == ("hard", 1.0)


def test_ctrl_c_in_an_epoch_that_diverged_is_raised_and_changes_nothing():
    bags, y = easy()
    begun = []

    def interrupt(phase, number):
        begun.append(number)
        raise KeyboardInterrupt

    model = ClassSetRBM(5, learning_rate=1e6, weight_decay=0.0, max_epochs=5, random_state=0)
    model.set_callbacks(EpochCallback(interrupt))
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(model, bags, y, cv=4)
    assert begun == [1]
    with pytest.raises(KeyboardInterrupt):
        model.fit(bags, y)
    assert not hasattr(model, "W_")


def test_ctrl_c_is_not_hidden_by_a_warning():
    bags, _ = easy()
    y = np.random.default_rng(0).integers(0, 2, len(bags))

    def interrupt(phase, number):
        raise KeyboardInterrupt

    # Warnings are errors in these tests; without Ctrl-C this model is warned about.
    model = ClassSetRBM(learning_rate=3.0, early_stopping=False, max_epochs=3, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(EpochCallback(interrupt)).fit(bags, y)


def test_ctrl_c_after_all_begun_candidates_diverged_leaves_the_estimator_unchanged(monkeypatch):
    bags, y = easy()
    calls = []

    def second_is_interrupted(*args, real=train):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr("setrbm.estimators.search.search.train", second_is_interrupted)
    model = ClassSetRBMCV((5, 7), learning_rate=1e6, init_scale=0.3, max_epochs=5, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(bags, y)
    assert len(calls) == 2
    assert not hasattr(model, "W_")


@pytest.mark.parametrize(("pooling", "scale"), CHOSEN_IN)
def test_ctrl_c_while_the_refit_is_prepared_keeps_the_best_candidate(monkeypatch, pooling, scale):
    bags, y = easy()
    settings = {"learning_rate": (0.05, 0.1), "init_scale": 0.3, "max_epochs": 4, "random_state": 0}

    def interrupt(search):
        raise KeyboardInterrupt

    monkeypatch.setattr(refits, "to_refit", interrupt)
    model = ClassSetRBMCV(5, pooling=pooling, **settings)
    with pytest.raises(KeyboardInterrupt):
        model.fit(bags, y)
    monkeypatch.undo()
    kept = ClassSetRBMCV(5, pooling="hard", scale=scale, refit=False, **settings).fit(bags, y)
    np.testing.assert_array_equal(model.W_, kept.W_)


def raising(*_):
    raise RuntimeError("the scorer cannot score this")


def nothing(*_):
    return float("nan")


@pytest.mark.parametrize(
    "settings",
    [{"scoring": raising}, {"scoring": nothing}, {"scoring": "accuracy", "cv": 3, "early_stopping": True}],
    ids=["a scorer that raises", "a scorer without a score", "a scorer that is refused later"],
)
def test_ctrl_c_is_raised_whatever_the_scorer_says(settings):
    """Meta-estimators go on after any other error."""
    bags, y = easy()
    epochs = []

    def interrupt(phase, number):
        epochs.append(number)
        if number == 3:
            raise KeyboardInterrupt

    model = ClassSetRBMCV(5, learning_rate=(0.05, 0.1), init_scale=0.3, max_epochs=20, random_state=0, **settings)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(EpochCallback(interrupt)).fit(bags, y)
    assert not hasattr(model, "W_")
    search = GridSearchCV(model, {"n_hidden": [4, 5]}, cv=2, error_score=np.nan, scoring="accuracy")
    with pytest.raises(KeyboardInterrupt):
        search.fit(bags, y)
    assert epochs == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize("estimator", [ClassSetRBM(5), ClassSetRBMCV(5, learning_rate=0.1)])
def test_callbacks_are_not_told_that_an_interrupted_fit_has_ended(estimator):
    ended = []

    class Following(EpochCallback):
        def on_fit_task_end(self, estimator, context):
            ended.append(context.task_name)
            return super().on_fit_task_end(estimator, context)

    def interrupt(phase, number):
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clone(estimator).set_params(max_epochs=5).set_callbacks(Following(interrupt)).fit(*easy())
    assert ended == ["epoch", "epoch"]


def test_a_fit_that_does_not_fit_into_memory_leaves_the_estimator_unchanged(monkeypatch):
    def full(*_):
        raise MemoryError("It is full.")

    monkeypatch.setattr(TrainingBatch, "train", full)
    model = ClassSetRBMCV(5)
    with pytest.raises(MemoryError, match=r"It is full\."):
        model.fit(*easy())
    assert vars(model) == vars(clone(model))
