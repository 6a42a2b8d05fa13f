"""The progress of a fit on a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setrbm.tools.progress import Bar

# The fraction of a fit spent on choosing settings; the rest is the refit on all sets.
CHOOSING = 0.2


class FitProgress:
    """A scikit-learn callback that shows the fit of a ClassSetRBMCV on a bar.

    Parameters
    ----------
    bar : Bar
    done : float
        How far the bar is when the fit begins; the fit moves it by 1.
    note : str
        What to say; by default the phase and the epoch.
    """

    def __init__(self, bar: Bar, done: float = 0.0, note: str = "") -> None:
        self.bar, self.done, self.note = bar, done, note

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing: the bar is there already."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing: the bar stays."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing: only finished epochs are shown."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Show a finished epoch, and the end of the fit: the last training may have ended early."""
        if context.parent is None:
            self.bar.show(self.done + 1.0, self.note or "done")
        if context.task_name != "epoch":
            return
        training = context.parent
        phase, fit = training.parent, training.parent.parent
        done = (training.task_id + (context.task_id + 1) / training.max_subtasks) / phase.max_subtasks
        bounds = (0.0, 1.0) if fit.max_subtasks == 1 else (0.0, CHOOSING, 1.0)
        begin, end = bounds[phase.task_id : phase.task_id + 2]
        what = "choosing settings" if phase.task_name == "choosing" else "refitting on all sets"
        epoch = f"epoch {context.task_id + 1}/{training.max_subtasks}"
        self.bar.show(self.done + begin + (end - begin) * done, self.note or f"{what}, {epoch}")
