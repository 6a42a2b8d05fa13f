"""Candidates and what became of them: how each is judged, and which one is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from setrbm._types import Floats
from setrbm._warnings import warn
from setrbm.estimators.offer import Offer
from setrbm.estimators.settings import Settings
from setrbm.training import Outcome, Schedule


@dataclass(frozen=True)
class Candidate:
    """One candidate and what became of it.

    Attributes
    ----------
    settings : Settings
    params : dict
        The chosen value of every setting that is a choice.
    outcomes : list of Outcome
        One per split.
    n_epochs : int
        The number of epochs after which its mean held-out score was best.
    losses, scores : ndarray of shape (n_splits,)
        After that number of epochs: the held-out loss or error, and the score, where higher is better; NaN if the
        candidate was not finished.
    """

    settings: Settings
    params: dict[str, Any]
    outcomes: list[Outcome]
    n_epochs: int
    losses: Floats
    scores: Floats

    @property
    def begun(self) -> bool:
        """Whether training began in every split."""
        return all(outcome.history["loss"] for outcome in self.outcomes)

    @property
    def diverged(self) -> bool:
        """Whether training diverged in a split."""
        return any(outcome.diverged_in is not None for outcome in self.outcomes)

    @property
    def dropped(self) -> bool:
        """Whether the candidate was in the worse half."""
        return any(outcome.dropped for outcome in self.outcomes)

    @property
    def is_finished(self) -> bool:
        """Whether the candidate was trained to its end in every split."""
        return self.begun and not self.diverged and not self.dropped

    def n_epochs_to_refit(self, longest: int) -> int:
        """Return how long to train on all sets; a dropped candidate has not shown how long is best."""
        return longest if self.dropped else self.n_epochs


def judged(offer: Offer, settings: Settings, outcomes: list[Outcome], schedule: Schedule) -> Candidate:
    """Return a candidate with its number of epochs and its scores."""
    n_epochs, losses = _best_epoch(outcomes, schedule)
    params = {name: getattr(settings, name) for name in offer.names}
    candidate = Candidate(settings, params, outcomes, n_epochs, losses, np.full(len(outcomes), np.nan))
    if "max_epochs" in params:
        params["max_epochs"] = offer.length(candidate.n_epochs_to_refit(offer.lengths[-1]))
    if not candidate.is_finished:
        return candidate
    return replace(candidate, scores=as_scores(losses, schedule.criterion))


def as_scores(losses: Any, criterion: str) -> Floats:
    """Return scores, where higher is better: negative log loss, or accuracy."""
    return -np.asarray(losses, dtype=float) if criterion == "likelihood" else 1.0 - np.asarray(losses, dtype=float)


def _best_epoch(outcomes: list[Outcome], schedule: Schedule) -> tuple[int, Floats]:
    """Return the number of epochs with the best mean over the splits, and the loss or error in each split there."""
    if len(outcomes) == 1:
        return outcomes[0].best_epoch, np.array([outcomes[0].best_score])
    n = min(len(outcome.history["loss"]) for outcome in outcomes)
    if n == 0:
        return 0, np.full(len(outcomes), np.inf)
    name = "held_out_loss" if schedule.criterion == "likelihood" else "held_out_error"
    curves = np.array([outcome.history[name][:n] for outcome in outcomes])
    ends = [end for end in schedule.ends if end <= n] or [n] if schedule.ends else list(range(1, n + 1))
    late = [max(end // 10, 1) if schedule.ends else 1 for end in ends]
    at_ends = np.column_stack([curves[:, end - k : end].mean(axis=1) for end, k in zip(ends, late, strict=True)])
    best = int(at_ends.mean(axis=0).argmin())
    return ends[best], at_ends[:, best]


def best_of(candidates: Sequence[Candidate]) -> int:
    """Return the position of the candidate with the best mean score, the first of equals.

    If none was finished, it is the best of those that were dropped, or of those that diverged.
    """
    finished = [i for i, one in enumerate(candidates) if one.is_finished]
    if finished:
        means = np.array([candidates[i].scores.mean() for i in finished])
        if np.isnan(means).all():
            raise ValueError("scoring must give a number for at least one candidate. Got NaN for all.")
        return finished[int(np.nanargmax(means))]
    sound = [i for i, one in enumerate(candidates) if one.begun and not one.diverged]
    if sound:
        warn(
            "All candidates that were not dropped diverged later. The best of the dropped ones is used; offer smaller "
            "learning rates."
        )
    diverged = [i for i, one in enumerate(candidates) if one.diverged]
    if not sound and not diverged:
        raise ValueError("Training was interrupted before any candidate was begun.")
    return min(sound or diverged, key=lambda i: candidates[i].losses.mean())
