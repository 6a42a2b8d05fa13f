"""Progress and callbacks of fits."""

import re
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse

from fitting import EpochCallback, easy
from setrbm import ClassSetRBM, ClassSetRBMCV


class TaskCallback(EpochCallback):
    """A scikit-learn callback that records the tasks that begin: name, name of the parent, subtasks announced, done."""

    def __init__(self):
        self.tasks = {}

    def on_fit_task_begin(self, estimator, context):
        parent = context.parent
        self.tasks[id(context)] = [context, context.task_name, context.max_subtasks, 0]
        if parent is not None:
            self.tasks[id(parent)][3] += 1

    def on_fit_task_end(self, estimator, context):
        pass

    def found(self):
        """Return name, announced and done of every task but epochs."""
        return [(name, announced, done) for _, name, announced, done in self.tasks.values() if name != "epoch"]


def test_progress_is_shown_when_asked(capsys):
    bags, y = easy()
    ClassSetRBM(5, max_epochs=3, verbose=2).fit(bags, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert re.match(
        r"\[ClassSetRBM\] fitting, epoch 3/3: loss \d\.\d+, held-out loss \d\.\d+ \(.* s, at most 0.0 s left\)",
        lines[-1],
    )
    ClassSetRBM(5, max_epochs=3).fit(bags, y)
    assert capsys.readouterr().err == ""


def test_a_callback_may_end_training():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=50, early_stopping=False, random_state=0)
    model.set_callbacks(EpochCallback(lambda phase, number: number == 4)).fit(bags, y)
    assert model.n_epochs_ == 4
    np.testing.assert_array_equal(
        model.W_, ClassSetRBM(5, max_epochs=4, early_stopping=False, random_state=0).fit(bags, y).W_
    )


@pytest.mark.parametrize(("pooling", "n_poolings"), [("hard", 1), ("mixed", 2)])
def test_callbacks_see_every_phase_and_epoch(pooling, n_poolings):
    bags, y = easy()
    seen = []
    settings = {"pooling": pooling, "learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 3, "random_state": 0}
    model = ClassSetRBMCV((3, 4), **settings)
    model.set_callbacks(EpochCallback(lambda phase, number: seen.append((phase, number)))).fit(bags, y)
    phases = ["choosing", "choosing"] + ["fitting"] * n_poolings
    assert seen == [(phase, n) for phase in phases for n in (1, 2, 3)]


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    ("settings", "n_choosing"),
    [
        ({}, 1),
        ({"pooling": ("mixed", "hard", "soft")}, 2),
        ({"n_hidden": (2, 3)}, 2),
        ({"constraint": ("xor", "or"), "pooling": "mean"}, 2),
        ({"refit": False}, 1),
        ({"n_hidden": (2, 3), "refit": False}, 2),
        ({"calibrate": True}, 1),
    ],
)
def test_as_many_tasks_are_announced_to_callbacks_as_are_run(settings, n_choosing, is_sparse):
    bags, y = easy()
    bags = bags.with_vectors(sparse.csr_array(bags.X)) if is_sparse else bags
    common = {"n_hidden": 3, "learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 3, "random_state": 0}
    callback = TaskCallback()
    model = ClassSetRBMCV(**common | settings).set_callbacks(callback).fit(bags, y)
    found = callback.found()
    assert all(announced == done for _, announced, done in found)
    assert found[:2] == [("fit", 1 + model.refit, 1 + model.refit), ("choosing", n_choosing, n_choosing)]
    # One training per kind of candidate, and one per pooling that is refitted.
    refitted = [("fitting", n := len(set(model.settings_.poolings)), n)] + n * [("fitting", 3, 3)]
    assert found[2:] == n_choosing * [("choosing", 3, 3)] + refitted * model.refit


def test_a_fit_that_needs_no_refit_has_a_phase_without_trainings():
    bags, y = easy(4)
    callback = TaskCallback()
    settings = {"n_fits": 1, "learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 3, "random_state": 0}
    with pytest.warns(UserWarning, match="No set can be held out"):
        ClassSetRBMCV(3, **settings).set_callbacks(callback).fit(bags[:2], y[:2])
    assert callback.found() == [("fit", 2, 2), ("choosing", 1, 1), ("choosing", 3, 3), ("fitting", 0, 0)]


def test_a_fit_that_chooses_nothing_has_one_training():
    bags, y = easy()
    callback = TaskCallback()
    ClassSetRBM(3, early_stopping=False, max_epochs=4, random_state=0).set_callbacks(callback).fit(bags, y)
    assert callback.found() == [("fit", 1, 1), ("fitting", 4, 4)]


@pytest.mark.parametrize("fails", [False, True])
def test_callbacks_are_torn_down_whether_fit_fails_or_not(fails):
    bags, y = easy()
    down = []
    callback = EpochCallback(lambda phase, number: None)
    callback.teardown = lambda estimator, context: down.append(context.task_name)
    model = ClassSetRBM(5, max_epochs=2).set_callbacks(callback)
    with pytest.raises(ValueError, match="finite") if fails else nullcontext():
        model.fit(bags.with_vectors(np.full(bags.X.shape, np.nan)) if fails else bags, y)
    assert down == ["fit"]
    assert not any("callback" in name for name in vars(model) if name != "_skl_callbacks")


def test_scikit_learns_progress_bar_shows_our_fits(capsys):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")
    bags, y = easy()
    model = ClassSetRBMCV(3, learning_rate=0.1, init_scale=0.3, max_epochs=3, random_state=0)
    model.set_callbacks(callback.ProgressBar()).fit(bags, y)
    shown = capsys.readouterr().out
    assert "ClassSetRBMCV" in shown and "choosing" in shown and "fitting" in shown and "100%" in shown
