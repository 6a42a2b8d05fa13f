"""What became of the candidates: how each is judged, which one is best, and ``cv_results_``, the record of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata

from setrbm._types import Array, Floats
from setrbm._warnings import warn
from setrbm.estimators.search.choices import Choices
from setrbm.estimators.settings import Settings
from setrbm.training import Outcome, Schedule
from setrbm.training.early_stopping import best_epoch

# What is recorded of every candidate beside its parameters and scores.
FACTS = ("n_epochs", "diverged", "dropped")


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


def judged(choices: Choices, settings: Settings, outcomes: list[Outcome], schedule: Schedule) -> Candidate:
    """Return a candidate with its number of epochs and its scores."""
    n_epochs, losses = best_epoch(outcomes, schedule)
    params = {name: getattr(settings, name) for name in choices.names}
    candidate = Candidate(settings, params, outcomes, n_epochs, losses, np.full(len(outcomes), np.nan))
    if "max_epochs" in params:
        params["max_epochs"] = choices.length(candidate.n_epochs_to_refit(choices.lengths[-1]))
    if not candidate.is_finished:
        return candidate
    return replace(candidate, scores=as_scores(losses, schedule.criterion))


def as_scores(losses: Any, criterion: str) -> Floats:
    """Return scores, where higher is better: negative log loss, or accuracy."""
    return -np.asarray(losses, dtype=float) if criterion == "likelihood" else 1.0 - np.asarray(losses, dtype=float)


def best_of(candidates: Sequence[Candidate]) -> int:
    """Return the position of the candidate with the best mean score, the first of equals.

    If none was finished, it is the best of those that were dropped, or of those that diverged.
    """
    finished = [i for i, candidate in enumerate(candidates) if candidate.is_finished]
    if finished:
        means = np.array([candidates[i].scores.mean() for i in finished])
        if np.isnan(means).all():
            raise ValueError("scoring must give a number for at least one candidate. Got NaN for all.")
        return finished[int(np.nanargmax(means))]
    sound = [i for i, candidate in enumerate(candidates) if candidate.begun and not candidate.diverged]
    if sound:
        warn(
            "All candidates that were not dropped diverged later. The best of the dropped ones is used; offer smaller "
            "learning rates."
        )
    diverged = [i for i, candidate in enumerate(candidates) if candidate.diverged]
    if not sound and not diverged:
        raise ValueError("Training was interrupted before any candidate was begun.")
    return min(sound or diverged, key=lambda i: candidates[i].losses.mean())


# --- cv_results_ ---


def cv_results(params: Sequence[dict[str, Any]], scores: Array, mean: Array | None = None) -> dict[str, Any]:
    """Return candidates and scores as scikit-learn lays them out.

    Parameters
    ----------
    params : sequence of dict
        The settings of each candidate.
    scores : ndarray of shape (n_candidates, n_splits)
        Higher is better; NaN where a candidate was not finished.
    mean : ndarray of shape (n_candidates,), optional
        Their means, if the splits do not have the same weight.

    Examples
    --------
    >>> results = cv_results([{"C": 1.0}, {"C": 10.0}], np.array([[0.5, 0.7], [0.8, 1.0]]))
    >>> results["mean_test_score"].tolist(), results["rank_test_score"].tolist()
    ([0.6, 0.9], [2, 1])
    """
    scores = np.asarray(scores, dtype=float)
    mean = scores.mean(axis=1) if mean is None else mean
    # Those without a score share the last rank.
    rank = rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min").astype(np.int32)
    columns = {
        f"param_{name}": _column([settings.get(name) for settings in params]) for name in (params[0] if params else ())
    }
    splits = {f"split{k}_test_score": split for k, split in enumerate(scores.T)}
    tested = {"mean_test_score": mean, "std_test_score": scores.std(axis=1), "rank_test_score": rank}
    return {"params": list(params), **columns, **splits, **tested}


def of_splits(results: dict[str, Any], what: Literal["test_score", "history"] = "test_score") -> list[Any]:
    """Return the scores of all candidates in each split, or their curves: as many as there are splits."""
    names = takewhile(results.__contains__, (f"split{k}_{what}" for k in count()))
    return [results[name] for name in names]


def _column(values: list[Any]) -> Any:
    """Return the values of one parameter as a masked array, in which nothing is masked."""
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    try:
        column = np.array(values)
    except ValueError:
        column = objects
    # Text, and values of mixed types, stay as they are.
    return np.ma.MaskedArray(column if column.ndim == 1 and column.dtype.kind in "biuf" else objects)


def results_of(candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Return the record of all candidates: ``cv_results_``."""
    facts = {name: [getattr(candidate, name) for candidate in candidates] for name in FACTS}
    histories = [[outcome.history for outcome in candidate.outcomes] for candidate in candidates]
    scores = np.array([candidate.scores for candidate in candidates])
    return _record([candidate.params for candidate in candidates], scores, facts, histories)


def _record(params: list[dict[str, Any]], scores: Any, facts: dict[str, Any], histories: list[Any]) -> dict[str, Any]:
    results = cv_results(params, scores) | {name: np.array(facts[name]) for name in FACTS}
    return results | {f"split{k}_history": list(split) for k, split in enumerate(zip(*histories, strict=True))}


def stored(results: dict[str, Any]) -> dict[str, Any]:
    """Return what a file keeps of ``cv_results_``: everything that cannot be computed from the rest."""
    scores = [split.tolist() for split in of_splits(results)]
    facts = {name: results[name].tolist() for name in FACTS}
    return {"params": results["params"], "scores": scores, "histories": of_splits(results, "history"), **facts}


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
    results = _record(
        [dict(settings) for settings in kept["params"]], scores, facts, [list(splits) for splits in histories]
    )
    if not 0 <= best < len(results["params"]):
        raise ValueError(f"best_index must be the position of a candidate. Got {best}.")
    return results, best
