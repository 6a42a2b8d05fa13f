"""predict_folds: cross-validation on a cluster, one task per fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from setrbm._types import Array
from setrbm.dask.cluster import Cluster, Failed
from setrbm.estimators.pipelines import last_step
from setrbm.evaluation.splits import Split


@dataclass(frozen=True)
class DataSet:
    """What all folds of a data set share, and workers get once."""

    sets: Any
    y: Any
    splits: dict[tuple[int, int], Split]

    @classmethod
    def of(cls, sets: Any, y: Any, splits: Sequence[Split]) -> DataSet:
        """Return sets and labels with splits, found by repetition and fold."""
        return cls(sets, y, {(split.repeat, split.fold): split for split in splits})


def predict_folds(
    model: Any, sets: Any, y: Array, splits: Sequence[Split], *, client: Any = None,
    on_fold: Callable[[int], None] | None = None,
) -> list[Array | Failed]:  # fmt: skip
    """Return the log-probabilities of the test sets of each split, each from a copy of the model fitted to the others.

    Parameters
    ----------
    model : classifier or pipeline
        Unfitted.
    sets : Bags or PageTexts
    y : ndarray of shape (n_sets,)
    splits : sequence of Split
    client : distributed.Client or Cluster, optional
    on_fold : callable, optional
        Called with the number of folds that are done.

    Returns
    -------
    list of ndarray or Failed
        A fold that fails does not stop the others.
    """
    cluster = Cluster.of(client)
    data = cluster.share(DataSet.of(sets, y, splits))
    jobs = [(model, split.repeat, split.fold, data) for split in splits]
    outcomes: dict[int, Array | Failed] = {}
    with closing(cluster.run(_predicted_fold, jobs)) as results:
        for k, result in results:
            outcomes[k] = result
            if on_fold is not None:
                on_fold(len(outcomes))
    return [outcomes[k] for k in range(len(splits))]


def _predicted_fold(model: Any, repeat: int, fold: int, data: DataSet) -> Array:
    split = data.splits[repeat, fold]
    fitted = clone(model)
    last_step(fitted).set_params(n_jobs=1)
    fitted.fit(data.sets[split.train], data.y[split.train])
    return np.asarray(fitted.predict_log_proba(data.sets[split.test]))
