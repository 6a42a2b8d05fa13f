"""When training ends, and which epoch is kept: the schedule, the rule by which models are judged, and their state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from setrbm._types import Criterion, Floats, Mask
from setrbm.energy import Params
from setrbm.engines.protocol import Session
from setrbm.training.monitor import Phase

HISTORY = ("loss", "held_out_loss", "held_out_error")
# With fewer held-out sets than this, the best epoch is mostly luck.
SETS_TO_STOP_BY = 200
# Candidates are halved after these fractions of their epochs, but not in the first steps, where slow and fast learners
# differ most.
RUNGS, FEWEST_BEFORE_RUNG = (8, 4), 25


def late(n_epochs: int) -> slice:
    """Return the epochs by which a model that is trained to an end is judged: the last tenth, but at least one."""
    return slice(n_epochs - max(n_epochs // 10, 1), n_epochs)


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

    def judged_by(self, n_epochs: int) -> slice:
        """Return the epochs whose mean score judges a model after this many epochs."""
        return late(n_epochs) if self.ends else slice(n_epochs - 1, n_epochs)


def stops_early(setting: bool | str, n_held_out: int) -> bool:
    """Return whether any epoch may be the best: with "auto", if enough sets are held out."""
    return n_held_out >= SETS_TO_STOP_BY if isinstance(setting, str) else bool(setting)


def rungs_before(ends: Sequence[int]) -> tuple[int, ...]:
    """Return after which epochs candidates are halved, of those that may end at these; none at an end or later."""
    rungs = (max(ends) // part for part in RUNGS)
    return tuple(rung for rung in rungs if FEWEST_BEFORE_RUNG <= rung < min(ends))


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


def best_epoch(outcomes: Sequence[Outcome], schedule: Schedule) -> tuple[int, Floats]:
    """Return the number of epochs with the best mean over the splits, and the loss or error in each split there."""
    if len(outcomes) == 1:
        return outcomes[0].best_epoch, np.array([outcomes[0].best_score])
    n = min(len(outcome.history["loss"]) for outcome in outcomes)
    if n == 0:
        return 0, np.full(len(outcomes), np.inf)
    name = "held_out_loss" if schedule.criterion == "likelihood" else "held_out_error"
    curves = np.array([outcome.history[name][:n] for outcome in outcomes])
    ends = [end for end in schedule.ends if end <= n] or [n] if schedule.ends else list(range(1, n + 1))
    at_ends = np.column_stack([curves[:, schedule.judged_by(end)].mean(axis=1) for end in ends])
    best = int(at_ends.mean(axis=0).argmin())
    return ends[best], at_ends[:, best]


class Tracker:
    """The state of models trained side by side: histories, best epochs, and which models go on.

    Parameters
    ----------
    schedule : Schedule
    max_epochs, groups, candidates : sequence of int, one per model
        When each model ends, the group in which it may be dropped, and the candidate of the group it belongs to.
    limit : float
        A mean loss above this has diverged.
    """

    def __init__(
        self,
        schedule: Schedule,
        max_epochs: Sequence[int],
        groups: Sequence[int],
        candidates: Sequence[int],
        limit: float,
    ) -> None:
        n_models = len(groups)
        self.schedule, self.limit = schedule, limit
        self.max_epochs, self.groups = np.asarray(max_epochs), np.asarray(groups)
        self.candidates = np.asarray(candidates)
        self.dropped = np.zeros(n_models, dtype=bool)
        # One array of shape (n_models, 3) per epoch, its columns as in HISTORY.
        self.epochs: list[Floats] = []
        self.n_epochs = np.zeros(n_models, dtype=int)
        self.best = np.full((n_models, 2), np.inf)
        self.best_epoch = np.zeros(n_models, dtype=int)
        # 0 for a model that has not diverged.
        self.diverged_in = np.zeros(n_models, dtype=int)

    def note_start(self, scores: Floats) -> Mask:
        """Take the scores of the start as the best so far; return which models have any."""
        return self._improve(scores, np.ones(len(scores), dtype=bool))

    def note(self, losses: Floats, scores: Floats, running: Mask) -> Mask:
        """Record one epoch of the running models; return which are at their best."""
        self.epochs.append(np.column_stack([losses, scores]))
        self.n_epochs += running
        # Written so that NaN counts as diverged.
        diverged = running & ~(losses <= self.limit)
        self.diverged_in[diverged] = self.n_epochs[diverged]
        on = running & ~diverged
        epoch = len(self.epochs)
        if epoch in self.schedule.rungs:
            self._drop_worse_halves(on)
        if self.schedule.ends and epoch not in self.schedule.ends:
            return np.zeros_like(on)
        return self._improve(self._judged(epoch), on & ~self.dropped)

    def _drop_worse_halves(self, on: Mask) -> None:
        """Drop the worse half of the candidates of every group that are still on."""
        scores = self._judged(len(self.epochs))
        for group in np.unique(self.groups[on]):
            members = on & (self.groups == group)
            rivals = np.unique(self.candidates[members])
            means = np.array([scores[members & (self.candidates == rival)].mean(axis=0) for rival in rivals])
            # A candidate that has diverged in one of its splits cannot win.
            diverged = self.candidates[(self.groups == group) & (self.diverged_in > 0)]
            means[np.isin(rivals, diverged)] = np.inf
            first, second = self._by_criterion(means)
            # NaN, where nothing could be scored, is sorted last.
            ranked = rivals[np.lexsort((second, first))]
            self.dropped[members & np.isin(self.candidates, ranked[(len(ranked) + 1) // 2 :])] = True

    def _judged(self, n_epochs: int) -> Floats:
        """Return the mean loss and error by which each model is judged after this many epochs."""
        late_epochs = self.epochs[self.schedule.judged_by(n_epochs)]
        return np.asarray(np.mean([epoch[:, 1:] for epoch in late_epochs], axis=0))

    def _by_criterion(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the score that decides, and the one that breaks ties."""
        loss, error = scores.T
        return (loss, error) if self.schedule.criterion == "likelihood" else (error, loss)

    def _improve(self, scores: Floats, allowed: Mask) -> Mask:
        first, second = self._by_criterion(scores)
        # NaN, where nothing could be scored, is never better.
        better: Mask = allowed & ((first < self.best[:, 0]) | ((first == self.best[:, 0]) & (second < self.best[:, 1])))
        self.best[better] = np.column_stack([first, second])[better]
        self.best_epoch[better] = self.n_epochs[better]
        return better

    def running(self) -> Mask:
        """Return which models go on."""
        on = (self.diverged_in == 0) & (self.n_epochs < self.max_epochs) & ~self.dropped
        if self.schedule.patience is not None:
            waited = self.n_epochs - self.best_epoch
            on &= ~np.isfinite(self.best[:, 0]) | (waited < self.schedule.patience)
        return np.asarray(on)

    def _score_at_end(self, m: int) -> float:
        """Return the score of a model after its last epoch."""
        n = int(self.n_epochs[m])
        return float(self._by_criterion(self._judged(n))[0][m]) if n else np.inf

    def _histories(self) -> list[dict[str, list[float]]]:
        """Return what was recorded for each model, epoch by epoch."""
        of_model = np.reshape(self.epochs, (len(self.epochs), len(self.n_epochs), len(HISTORY))).transpose(1, 2, 0)
        return [
            {name: row[:n].tolist() for name, row in zip(HISTORY, rows, strict=True)}
            for rows, n in zip(of_model, self.n_epochs, strict=True)
        ]

    def outcomes(self, session: Session, watched: Sequence[bool], interrupted: bool) -> list[Outcome]:
        """Return what became of each model; one that is watched is returned as it was at its best."""
        best, last = session.params(remembered=True), session.params(remembered=False)
        outcomes = []
        for m, (is_watched, history) in enumerate(zip(watched, self._histories(), strict=True)):
            keep_best = is_watched and bool(np.isfinite(self.best[m, 0]))
            params, epoch = (best[m], self.best_epoch[m]) if keep_best else (last[m], self.n_epochs[m])
            unjudged = is_watched and self.schedule.ends and not keep_best
            score = self._score_at_end(m) if unjudged else float(self.best[m, 0])
            diverged_in = int(self.diverged_in[m]) or None
            dropped = bool(self.dropped[m])
            outcomes.append(Outcome(params, history, int(epoch), score, diverged_in, interrupted, dropped))
        return outcomes
