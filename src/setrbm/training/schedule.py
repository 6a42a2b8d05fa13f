"""How long to train, what to watch, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from setrbm._types import Criterion
from setrbm.energy import Params
from setrbm.training.monitor import Phase

HISTORY = ("loss", "held_out_loss", "held_out_error")


@dataclass(frozen=True)
class Schedule:
    """How long to train and what to watch.

    Attributes
    ----------
    max_epochs : int
    patience : int or None
        Stop after this many epochs without a better held-out score; None never stops early.
    criterion : {"likelihood", "error"}
    first_epoch : int
        The number of the first epoch, which the random choices depend on.
    from_start : bool
        Whether the parameters training starts from may be the best.
    ends : tuple of int
        The numbers of epochs after which a model may be returned, judged by its mean score over their last tenth; by
        default after any epoch, judged by the score after it.
    rungs : tuple of int
        The numbers of epochs after which the worse half of every group of models, judged the same way, is dropped.
    phase : {"choosing", "fitting"}
        What monitors are told.
    """

    max_epochs: int
    patience: int | None = None
    criterion: Criterion = "likelihood"
    first_epoch: int = 0
    from_start: bool = False
    ends: tuple[int, ...] = ()
    rungs: tuple[int, ...] = ()
    phase: Phase = "fitting"


@dataclass
class Outcome:
    """One trained model.

    Attributes
    ----------
    params : Params
        Those of the best epoch; of a dropped model the last ones.
    history : dict of lists
        One value per epoch and name of ``HISTORY``.
    best_epoch : int
        Counted from 1; 0 where no epoch was better than the start.
    best_score : float
    diverged_in : int or None
        The epoch in which training diverged.
    interrupted : bool
        Whether Ctrl-C ended training.
    dropped : bool
        Whether the model was in the worse half of its group.
    """

    params: Params
    history: dict[str, list[float]]
    best_epoch: int
    best_score: float
    diverged_in: int | None
    interrupted: bool
    dropped: bool = False


def nothing_learned(params: Params) -> Outcome:
    """Return the outcome of a model whose training was never begun."""
    return Outcome(params, {name: [] for name in HISTORY}, 0, np.inf, None, interrupted=True)
