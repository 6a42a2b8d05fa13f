"""Cross-validation by set, with a progress bar; settings are chosen inside each training part."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from setrbm.cli._progress import FitProgress
from setrbm.cli._training import errors_of_training
from setrbm.tools.commands import Refused
from setrbm.tools.progress import Bar

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.dask import Cluster
    from setrbm.dask.cluster import Failed
    from setrbm.evaluation.scores import Predictions
    from setrbm.evaluation.splits import Split
    from setrbm.text import PageTexts


def cross_validate(
    model: Any, bags: Bags | PageTexts, y: Array, folds: int, repeats: int, seed: int, title: str, quiet: bool = False,
    cluster: Cluster | None = None,
) -> tuple[Predictions, list[str]]:  # fmt: skip
    """Fit a fresh copy of the model on all folds but one and predict that one, for each fold of each repeat.

    On a cluster, each fold is a task. Folds that failed there are left out; the second result says which, and why.
    """
    import numpy as np

    from setrbm.evaluation.scores import Predictions
    from setrbm.evaluation.splits import repeated_folds

    classes, codes = np.unique(y, return_inverse=True)
    _check_folds(classes, np.bincount(codes), folds)
    splits = repeated_folds(y, folds, repeats, seed)
    with Bar(title, total=len(splits), quiet=quiet) as bar, errors_of_training(model):
        predict = _one_by_one if cluster is None else partial(_on_cluster, cluster)
        log_p, failures = predict(model, bags, y, splits, bar)
    truth = {k: codes[splits[k].test] for k in log_p}
    ends = np.cumsum([len(part) for part in truth.values()]).tolist()
    return Predictions(classes, np.concatenate([*truth.values()]), np.concatenate([*log_p.values()]), ends), failures


def _one_by_one(
    model: Any, bags: Bags | PageTexts, y: Array, splits: list[Split], bar: Bar
) -> tuple[dict[int, Array], list[str]]:
    from sklearn.base import clone

    from setrbm.estimators.pipelines import last_step

    log_p = {}
    for done, split in enumerate(splits):
        fitted = clone(model)
        last_step(fitted).set_callbacks(FitProgress(bar, done, f"fold {done + 1} of {len(splits)}"))
        fitted.fit(bags[split.train], y[split.train])
        log_p[done] = fitted.predict_log_proba(bags[split.test])
    return log_p, []


def _on_cluster(
    cluster: Cluster, model: Any, bags: Bags | PageTexts, y: Array, splits: list[Split], bar: Bar
) -> tuple[dict[int, Array], list[str]]:
    from setrbm.dask.cluster import Failed
    from setrbm.dask.folds import predict_folds

    def show(n_done: int) -> None:
        bar.show(n_done, f"{n_done} of {len(splits)} folds")

    outcomes = predict_folds(model, bags, y, splits, client=cluster, on_fold=show)
    failed = {k: outcome for k, outcome in enumerate(outcomes) if isinstance(outcome, Failed)}
    if len(failed) == len(outcomes):
        raise _error_of(failed[0])
    log_p = {k: outcome for k, outcome in enumerate(outcomes) if not isinstance(outcome, Failed)}
    return log_p, [f"fold {k + 1} of {len(splits)}: {outcome.reason}" for k, outcome in failed.items()]


def _error_of(failed: Failed) -> Exception:
    """Return why all folds failed, as the error that it is on one machine."""
    from setrbm.dask.cluster import ClusterError

    return failed.error or ClusterError(f"All folds failed, the first because {failed.reason}.")


def _check_folds(classes: Array, counts: Array, folds: int) -> None:
    smallest = int(counts.argmin())
    if counts[smallest] >= folds:
        return
    cure = f"Use --folds {counts[smallest]}." if counts[smallest] > 1 else "Add sets of it, or leave the class out."
    raise Refused(
        f"Each class must have at least as many sets as there are folds, {folds}. Got {counts[smallest]} of class "
        f"{classes[smallest]!s}. {cure}"
    )
