"""Progress of fits: what ``verbose`` prints, and scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from setrbm.training import Epoch, Monitor, Monitors, PrintingMonitor


@contextmanager
def following(estimator: Any, n_phases: int) -> Iterator[Monitor]:
    """Provide the monitor of a fit that has at most this many phases.

    The fit must be decorated with scikit-learn's ``with_callbacks``.
    """
    monitors: list[Monitor] = []
    if estimator.verbose > 0:
        monitors.append(PrintingMonitor(type(estimator).__name__, every=estimator.verbose > 1))
    if not getattr(estimator, "_skl_callbacks", []):
        yield Monitors(monitors)
        return
    callbacks = CallbackMonitor(estimator, n_phases)
    yield Monitors([*monitors, callbacks])
    callbacks.close()


class CallbackMonitor(Monitor):
    """Reports to the scikit-learn callbacks of an estimator: a fit has phases, a phase has epochs."""

    def __init__(self, estimator: Any, n_phases: int) -> None:
        self.estimator = estimator
        self.fit = estimator._init_callback_context(max_subtasks=n_phases)
        self.fit.call_on_fit_task_begin(estimator=estimator)
        self.phase: Any = None

    def on_epoch(self, epoch: Epoch) -> bool | None:
        """Report an epoch; return whether a callback wants the phase to end."""
        if epoch.number == 1:
            self._end_phase()
            self.phase = self.fit.subcontext(task_name=epoch.phase, max_subtasks=epoch.max_epochs)
            self.phase.call_on_fit_task_begin(estimator=self.estimator)
        task = self.phase.subcontext(task_name="epoch")
        task.call_on_fit_task_begin(estimator=self.estimator)
        losses = {"loss": epoch.loss, "held_out_loss": epoch.held_out_loss}
        return bool(task.call_on_fit_task_end(estimator=self.estimator, metadata=losses))

    def _end_phase(self) -> None:
        if self.phase is not None:
            self.phase.call_on_fit_task_end(estimator=self.estimator)

    def close(self) -> None:
        """Report the end of the fit."""
        self._end_phase()
        self.fit.call_on_fit_task_end(estimator=self.estimator)
