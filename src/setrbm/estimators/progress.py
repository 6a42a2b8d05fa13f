"""Progress of fits: what ``verbose`` prints, and scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from setrbm.training import Epoch, Monitor, Monitors, Phase, PrintingMonitor


@contextmanager
def following(estimator: Any, n_tasks: int) -> Iterator[Monitor | None]:
    """Provide the monitor of a fit of this many phases, or of one training without phases; None if nothing follows it.

    The fit must be decorated with scikit-learn's ``with_callbacks``.
    """
    monitors: list[Monitor] = []
    if estimator.verbose > 0:
        monitors.append(PrintingMonitor(type(estimator).__name__, every=estimator.verbose > 1))
    if not getattr(estimator, "_skl_callbacks", []):
        yield monitors[0] if monitors else None
        return
    callbacks = CallbackMonitor(estimator, n_tasks)
    yield Monitors([*monitors, callbacks])
    callbacks.end_tasks(0)


class CallbackMonitor(Monitor):
    """Reports to the scikit-learn callbacks of an estimator: a fit has phases, a phase trainings, a training epochs.

    A fit that chooses nothing has one training and no phases.
    """

    def __init__(self, estimator: Any, n_tasks: int) -> None:
        self.estimator = estimator
        # The tasks that have begun and not ended, each part of the one before; and how many contain a training.
        self.tasks: list[Any] = []
        self.depth = 1
        self._begin(estimator._init_callback_context(max_subtasks=n_tasks))

    def on_phase(self, phase: Phase, n_trainings: int) -> None:
        """Report the begin of a phase, and the end of the one before."""
        self.end_tasks(1)
        self._begin(self.tasks[-1].subcontext(task_name=phase, max_subtasks=n_trainings))
        self.depth = 2

    def on_epoch(self, epoch: Epoch) -> bool | None:
        """Report an epoch; return whether a callback wants the training to end."""
        if epoch.number == 1:
            self.end_tasks(self.depth)
            self._begin(self.tasks[-1].subcontext(task_name=epoch.phase, max_subtasks=epoch.max_epochs))
        task = self.tasks[-1].subcontext(task_name="epoch")
        task.call_on_fit_task_begin(estimator=self.estimator)
        losses = {"loss": epoch.loss, "held_out_loss": epoch.held_out_loss}
        return bool(task.call_on_fit_task_end(estimator=self.estimator, metadata=losses))

    def _begin(self, task: Any) -> None:
        self.tasks.append(task)
        task.call_on_fit_task_begin(estimator=self.estimator)

    def end_tasks(self, n_left: int) -> None:
        """Report the end of all tasks but the first."""
        while len(self.tasks) > n_left:
            self.tasks.pop().call_on_fit_task_end(estimator=self.estimator)
