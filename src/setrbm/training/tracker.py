"""The state of training of all models at once: histories, best epochs, which models go on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from setrbm._types import Floats, Mask
from setrbm.engines.protocol import Session
from setrbm.training.schedule import HISTORY, Outcome, Schedule


class Tracker:
    """Histories and best epochs of models trained side by side.

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
        if not self.schedule.ends:
            return self._improve(scores, on)
        if epoch not in self.schedule.ends:
            return np.zeros_like(on)
        return self._improve(self._late_scores(), on & ~self.dropped)

    def _drop_worse_halves(self, on: Mask) -> None:
        """Drop the worse half of the candidates of every group that are still on."""
        scores = self._late_scores()
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

    def _late_scores(self) -> Floats:
        """Return the mean scores, loss and error, over the last tenth of the epochs so far."""
        n = len(self.epochs)
        return np.asarray(np.mean([epoch[:, 1:] for epoch in self.epochs[n - max(n // 10, 1) :]], axis=0))

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
        """Return the mean score of a model over the last tenth of its epochs."""
        n = int(self.n_epochs[m])
        late = [epoch[m : m + 1, 1:] for epoch in self.epochs[n - max(n // 10, 1) : n]]
        return float(self._by_criterion(np.mean(late, axis=0))[0][0]) if n else np.inf

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
