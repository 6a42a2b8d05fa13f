"""``cv_results_``: what was tried, in the layout of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from setrbm._types import Array


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
