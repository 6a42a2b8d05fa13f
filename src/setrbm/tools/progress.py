"""Progress on stderr: a bar with the time left on a terminal, otherwise an occasional line."""

from __future__ import annotations

import math
import time
from typing import Self

import typer

SECONDS_BETWEEN_LINES = 10.0


class Bar:
    """Shows how much work is done and how long the rest will take.

    Parameters
    ----------
    title : str
    total : float
        The value of ``done`` at the end.
    quiet : bool
        Whether to show nothing.
    bound : str
        The word before the time left: "about", or "at most" if the work may end early.
    """

    def __init__(self, title: str, total: float, quiet: bool = False, bound: str = "about") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.title, self.total, self.quiet, self.bound = title, total, quiet, bound
        self._begin = self._last_line = time.perf_counter()
        console = Console(stderr=True, markup=False, highlight=False)
        self._bar: Progress | None = None
        # rich draws no bar on a terminal that cannot move its cursor.
        if console.is_terminal and not console.is_dumb_terminal and not quiet:
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
        """Show how much is done, with a note."""
        if self.quiet:
            return
        self._show(done, f"{note}, {self.left(done)}")

    def show_with(self, done: float, note: str, seconds: float) -> None:
        """Show how much is done, with a note and the seconds left (NaN if unknown)."""
        if not self.quiet:
            self._show(done, f"{note}, {self._in_words(seconds)}")

    def _show(self, done: float, note: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, note=note)
        elif (now := time.perf_counter()) - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            typer.echo(f"{self.title}: {note}", err=True)

    def left(self, done: float) -> str:
        """Return the time left in words, estimated from the time so far."""
        # At first most of the time is compilation, which says nothing about the rest.
        if done < 0.02 * self.total:
            return self._in_words(math.nan)
        return self._in_words((time.perf_counter() - self._begin) * (self.total - done) / done)

    def _in_words(self, seconds: float) -> str:
        if math.isnan(seconds):
            return "time left unknown"
        minutes, rest = divmod(round(seconds), 60)
        return f"{self.bound} {minutes}:{rest:02d} min left" if minutes else f"{self.bound} {rest} s left"
