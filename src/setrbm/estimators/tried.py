"""Candidates that were tried: how they are judged, which one is best, and the record of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from setrbm._types import Floats
from setrbm._warnings import warn
from setrbm.bags import as_positions
from setrbm.engines.protocol import LabeledSets
from setrbm.estimators.cv_results import cv_results
from setrbm.estimators.offer import Offer
from setrbm.estimators.settings import Settings
from setrbm.training import InMemory, Outcome, Schedule, hold_out

# What is recorded of every candidate beside its parameters and scores.
FACTS = ("n_epochs", "diverged", "dropped")


def splits(sets: LabeledSets, cv: Any, fraction: float, seed: int) -> list[InMemory]:
    """Return what is held out: a fraction of each class once or, with ``cv``, what scikit-learn's splitter says."""
    if cv is not None:
        return _splits_by(cv, sets)
    held_out = hold_out(sets.y, fraction, seed, at_least_one=True)
    source = InMemory.of(sets, held_out)
    if len(held_out):
        return [source]
    warn("No set can be held out: every class has only one. Settings are chosen by the training loss.")
    return [InMemory(sets, source.training, source.training)]


def _splits_by(cv: Any, sets: LabeledSets) -> list[InMemory]:
    sources = [
        InMemory(sets, np.sort(as_positions(training, len(sets.y))), np.sort(as_positions(held_out, len(sets.y))))
        for training, held_out in check_cv(cv, sets.y, classifier=True).split(np.zeros(len(sets.y)), sets.y)
    ]
    for k, source in enumerate(sources):
        if not len(source.held_out) or len(np.unique(sets.y[source.training])) < 2:
            raise ValueError(
                f"Every split of cv must hold out at least one set and leave sets of at least two classes. Split {k} "
                "does not. Use fewer splits."
            )
    if not sources:
        raise ValueError("cv must give at least one split. Got none.")
    return sources


@dataclass(frozen=True)
class Tried:
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


def judged(offer: Offer, settings: Settings, outcomes: list[Outcome], schedule: Schedule) -> Tried:
    """Return a candidate with its number of epochs and its scores."""
    n_epochs, losses = _best_epoch(outcomes, schedule)
    params = {name: getattr(settings, name) for name in offer.names}
    if "max_epochs" in params:
        params["max_epochs"] = offer.length(n_epochs)
    tried = Tried(settings, params, outcomes, n_epochs, losses, np.full(len(outcomes), np.nan))
    if not tried.is_finished:
        return tried
    return Tried(settings, params, outcomes, n_epochs, losses, as_scores(losses, schedule.criterion))


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


def best_of(tried: Sequence[Tried]) -> int:
    """Return the position of the candidate with the best mean score, the first of equals.

    If none was finished, it is the best of those that were dropped, or of those that diverged.
    """
    finished = [i for i, one in enumerate(tried) if one.is_finished]
    if finished:
        means = np.array([tried[i].scores.mean() for i in finished])
        if np.isnan(means).all():
            raise ValueError("scoring must give a number for at least one candidate. Got NaN for all.")
        return finished[int(np.nanargmax(means))]
    sound = [i for i, one in enumerate(tried) if one.begun and not one.diverged]
    if sound:
        warn(
            "All candidates that were not dropped diverged later. The best of the dropped ones is used; offer smaller "
            "learning rates."
        )
    diverged = [i for i, one in enumerate(tried) if one.diverged]
    if not sound and not diverged:
        raise ValueError("Training was interrupted before any candidate was begun.")
    return min(sound or diverged, key=lambda i: tried[i].losses.mean())


# --- the record ---


def results_of(tried: Sequence[Tried]) -> dict[str, Any]:
    """Return the record of all candidates: ``cv_results_``."""
    facts = {name: [getattr(one, name) for one in tried] for name in FACTS}
    histories = [[outcome.history for outcome in one.outcomes] for one in tried]
    return _record([one.params for one in tried], np.array([one.scores for one in tried]), facts, histories)


def _record(params: list[dict[str, Any]], scores: Any, facts: dict[str, Any], histories: list[Any]) -> dict[str, Any]:
    results = cv_results(params, scores) | {name: np.array(facts[name]) for name in FACTS}
    return results | {f"split{k}_history": list(split) for k, split in enumerate(zip(*histories, strict=True))}


def stored(results: dict[str, Any]) -> dict[str, Any]:
    """Return what a file keeps of ``cv_results_``: everything that cannot be computed from the rest."""
    n_splits = sum(name.endswith("_test_score") and name.startswith("split") for name in results)
    columns = [results[f"split{k}_test_score"].tolist() for k in range(n_splits)]
    histories = [results[f"split{k}_history"] for k in range(n_splits)]
    facts = {name: results[name].tolist() for name in FACTS}
    return {"params": results["params"], "scores": columns, "histories": histories, **facts}


def restored(chosen: dict[str, Any], criterion: str) -> tuple[dict[str, Any], int]:
    """Return ``cv_results_`` and ``best_index_`` from what a file keeps; the first format kept losses."""
    if "cv_results" in chosen:
        kept, best = chosen["cv_results"], int(chosen["best_index"])
        scores, histories = np.array(kept["scores"], dtype=float).T, list(zip(*kept["histories"], strict=True))
        facts = kept
    else:
        kept = chosen["results"]
        losses = np.array(kept["score"], dtype=float)
        scores = as_scores(np.where(np.isfinite(losses), losses, np.nan), criterion)[:, np.newaxis]
        histories, best = [(history,) for history in kept["history"]], kept["params"].index(chosen["best_params"])
        dropped = kept["dropped" if "dropped" in kept else "left_behind"]
        facts = {"n_epochs": kept["best_epoch"], "diverged": kept["diverged"], "dropped": dropped}
    results = _record([dict(one) for one in kept["params"]], scores, facts, [list(one) for one in histories])
    if not 0 <= best < len(results["params"]):
        raise ValueError(f"best_index must be the position of a candidate. Got {best}.")
    return results, best
