"""``cv_results_``: the record of all candidates in the layout of scikit-learn, and what a file keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, takewhile
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata

from setrbm._types import Array
from setrbm.estimators.candidates import Candidate, as_scores

# What is recorded of every candidate beside its parameters and scores.
FACTS = ("n_epochs", "diverged", "dropped")


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
    columns = {f"param_{name}": _column([one.get(name) for one in params]) for name in (params[0] if params else ())}
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
    facts = {name: [getattr(one, name) for one in candidates] for name in FACTS}
    histories = [[outcome.history for outcome in one.outcomes] for one in candidates]
    return _record([one.params for one in candidates], np.array([one.scores for one in candidates]), facts, histories)


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
    results = _record([dict(one) for one in kept["params"]], scores, facts, [list(one) for one in histories])
    if not 0 <= best < len(results["params"]):
        raise ValueError(f"best_index must be the position of a candidate. Got {best}.")
    return results, best
