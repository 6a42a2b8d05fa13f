"""Progress on stderr: a bar with the time left on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import typer

if TYPE_CHECKING:
    from setrbm.training import Progress, Report

SECONDS_BETWEEN_LINES = 10.0
# The share of a fit that goes into choosing settings; the rest is the last training on all sets.
CHOOSING = 0.9


class Bar:
    """How much of some work is done, and how long the rest will take.

    Parameters
    ----------
    title : str
    total : float
        What ``done`` will be at the end.
    quiet : bool
        Whether to show nothing.
    bound : str
        The word before the time left: "about", or "at most" where the work may end early.
    """

    def __init__(self, title: str, total: float, quiet: bool = False, bound: str = "about") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.title, self.total, self.quiet, self.bound = title, total, quiet, bound
        self._begin = self._last_line = time.perf_counter()
        console = Console(stderr=True, markup=False, highlight=False)
        self._bar: Progress | None = None
        if console.is_terminal and not quiet:
            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"))
            self._bar = Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task(title, total=total, note="")

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: float, note: str) -> None:
        """Show how much is done, and a few words."""
        if self.quiet:
            return
        self._show(done, f"{note}, {self.left(done)}")

    def show_with(self, done: float, note: str, seconds: float) -> None:
        """Show how much is done, a few words, and so many seconds left; NaN where that is not known."""
        if not self.quiet:
            self._show(done, f"{note}, {self._in_words(seconds)}")

    def _show(self, done: float, note: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, note=note)
        elif (now := time.perf_counter()) - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            typer.echo(f"{self.title}: {note}", err=True)

    def left(self, done: float) -> str:
        """Return the time left in words, judged by the time so far."""
        # At the very beginning most of the time went into compilation, and says nothing of the rest.
        if done < 0.02 * self.total:
            return self._in_words(math.nan)
        return self._in_words((time.perf_counter() - self._begin) * (self.total - done) / done)

    def _in_words(self, seconds: float) -> str:
        if math.isnan(seconds):
            return "time left unknown"
        minutes, rest = divmod(round(seconds), 60)
        return f"{self.bound} {minutes}:{rest:02d} min left" if minutes else f"{self.bound} {rest} s left"


class FitWatch:
    """Follow one fit of ClassSetRBMCV, which first chooses its settings and then trains on all sets."""

    def __init__(self) -> None:
        self._last_epoch = 0
        self.choosing = True

    def share(self, progress: Progress) -> float:
        """Return the share of the fit that is done."""
        if progress.epoch <= self._last_epoch:
            self.choosing = False
        self._last_epoch = progress.epoch
        part = progress.epoch / progress.max_epochs
        return CHOOSING * part if self.choosing else CHOOSING + (1.0 - CHOOSING) * part


@contextmanager
def reporting(report: Report) -> Iterator[None]:
    """Send the progress of every fit inside to a report, and let Ctrl-C end the fit instead of cutting it short."""
    from setrbm.estimators._fitting import interrupts_raised, progress_report

    token = progress_report.set(report)
    try:
        with interrupts_raised():
            yield
    finally:
        progress_report.reset(token)
