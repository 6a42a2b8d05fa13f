from contextlib import nullcontext, suppress

import pytest
from sklearn.base import BaseEstimator, clone

from setrbm.estimators.callbacks import CallbackSupport, tearing_down
from setrbm.estimators.progress import following
from setrbm.training import Epoch


class Recorder:
    """A callback that records what it is told, and ends a phase after an epoch with this loss."""

    def __init__(self, calls, last_loss=None):
        self.calls, self.last_loss = calls, last_loss

    def setup(self, estimator, context):
        self._record("setup", context)

    def teardown(self, estimator, context):
        self._record("teardown", context)

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self._record("begin", context, X, y, fitted_estimator)

    def on_fit_task_end(self, estimator, context, *, metadata):
        self._record("end", context, metadata)
        return context.task_name == "epoch" and metadata["loss"] == self.last_loss

    def _record(self, hook, context, *told):
        parent = None if context.parent is None else context.parent.task_name
        self.calls.append((hook, context.task_name, context.task_id, context.max_subtasks, parent, *told))


def estimator_with(mixin, managed):
    """Return an estimator whose fit has two phases of at most three epochs, and returns how many there were."""

    class Estimator(mixin, BaseEstimator):
        verbose = 0

        @managed
        def fit(self, fails=False):
            n_epochs = []
            with following(self, n_tasks=2) as monitor:
                for phase in ("choosing", "fitting"):
                    epochs = (Epoch(phase, number, 3, 1, 1.0 / number, 2.0, 0.0) for number in (1, 2, 3))
                    n_epochs.append(next((epoch.number for epoch in epochs if monitor and monitor.on_epoch(epoch)), 3))
                    if fails:
                        raise ValueError("the fit fails")
            return n_epochs

    return Estimator()


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("last_loss", [None, 0.5])
def test_the_stand_in_tells_callbacks_what_scikit_learn_tells_them(last_loss, fails):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")
    found = []
    for support in [(CallbackSupport, tearing_down), (callback.CallbackSupportMixin, callback.with_callbacks)]:
        calls, n_epochs = [], None
        estimator = estimator_with(*support).set_callbacks(Recorder(calls), Recorder(calls, last_loss))
        with suppress(ValueError):
            n_epochs = estimator.fit(fails)
        found.append((calls, n_epochs, sorted(vars(estimator))))
    assert found[0] == found[1]
    assert found[0][0][0][:2] == ("setup", "fit") and found[0][0][-1][:2] == ("teardown", "fit")


@pytest.mark.parametrize("fails", [False, True])
def test_the_stand_in_tears_callbacks_down_once_whether_the_fit_fails_or_not(fails):
    calls = []
    estimator = estimator_with(CallbackSupport, tearing_down).set_callbacks(Recorder(calls))
    with pytest.raises(ValueError, match="the fit fails") if fails else nullcontext():
        estimator.fit(fails)
    assert [call[0] for call in calls].count("teardown") == 1
    estimator.set_callbacks().fit()
    assert [call[0] for call in calls].count("teardown") == 1
    assert vars(estimator) == {}


def test_a_callback_ends_one_phase_of_a_fit_with_the_stand_in():
    estimator = estimator_with(CallbackSupport, tearing_down)
    assert estimator.fit() == [3, 3]
    assert estimator.set_callbacks(Recorder([], last_loss=0.5)).fit() == [2, 2]


@pytest.mark.parametrize("callback", [Recorder, print, None])
def test_the_stand_in_refuses_what_is_no_callback(callback):
    estimator = estimator_with(CallbackSupport, tearing_down)
    with pytest.raises(TypeError, match="callbacks must be objects with the methods setup, on_fit_task_begin"):
        estimator.set_callbacks(callback)


@pytest.mark.parametrize("callbacks", [[], [Recorder([])]])
def test_a_clone_has_the_callbacks_of_its_original(callbacks):
    estimator = estimator_with(CallbackSupport, tearing_down).set_callbacks(*callbacks)
    assert vars(clone(estimator)) == vars(estimator)
    assert clone(estimator) is not estimator
