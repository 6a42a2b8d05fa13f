"""Monitors: what follows training from epoch to epoch, and may end it."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Phase = Literal["choosing", "fitting"]


@dataclass(frozen=True)
class Epoch:
    """What is known after an epoch.

    Attributes
    ----------
    phase : {"choosing", "fitting"}
        Whether candidates are compared on held-out sets, or the final model is trained.
    number, max_epochs : int
        Which epoch of the training has ended, counted from 1, and how many there are at most.
    n_running : int
        How many models are still being trained.
    loss, held_out_loss : float
        The lowest of all models; infinite where there is none.
    seconds : float
        Since the training began.
    """

    phase: Phase
    number: int
    max_epochs: int
    n_running: int
    loss: float
    held_out_loss: float
    seconds: float

    @property
    def seconds_left(self) -> float:
        """The time to the last epoch, if training does not end early."""
        return self.seconds / self.number * (self.max_epochs - self.number)


class Monitor:
    """Follows training. Override the methods; by default they do nothing."""

    def on_phase(self, phase: Phase, n_trainings: int) -> None:
        """Do something before a phase; its groups of models are trained one after the other."""

    def on_epoch(self, epoch: Epoch) -> bool | None:
        """Do something after an epoch; return True to end this training here."""
        return None


class Monitors(Monitor):
    """Several monitors, called one after the other; each may end the training."""

    def __init__(self, monitors: Sequence[Monitor]) -> None:
        self.monitors = monitors

    def on_phase(self, phase: Phase, n_trainings: int) -> None:
        """Call all monitors."""
        for monitor in self.monitors:
            monitor.on_phase(phase, n_trainings)

    def on_epoch(self, epoch: Epoch) -> bool | None:
        """Call all monitors."""
        wants_end = [monitor.on_epoch(epoch) for monitor in self.monitors]
        return any(wants_end)


class PrintingMonitor(Monitor):
    """Prints progress to stderr: about one line per second, or (``every``) one line per epoch."""

    def __init__(self, name: str, every: bool = False) -> None:
        self.name, self.every = name, every
        self.last_line = 0.0

    def on_epoch(self, epoch: Epoch) -> bool | None:
        """Print a line if it is time to."""
        now = time.perf_counter()
        if not self.every and now - self.last_line < 1.0 and epoch.number < epoch.max_epochs:
            return None
        self.last_line = now
        held_out = f", held-out loss {epoch.held_out_loss:.4f}" if np.isfinite(epoch.held_out_loss) else ""
        models = f", {epoch.n_running} models" if epoch.n_running > 1 else ""
        print(
            f"[{self.name}] {epoch.phase}, epoch {epoch.number}/{epoch.max_epochs}{models}: loss {epoch.loss:.4f}"
            f"{held_out} ({epoch.seconds:.1f} s, at most {epoch.seconds_left:.1f} s left)",
            file=sys.stderr,
        )
        return None
