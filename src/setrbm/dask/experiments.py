"""run_plan: the folds of an experiment on a cluster, one task per fold; cross-validation likewise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from setrbm._types import Array
from setrbm.dask.cluster import Cluster, Failed
from setrbm.estimators.pipelines import last_step
from setrbm.evaluation.plans import Plan, System
from setrbm.evaluation.runner import Outcome, Report, RunSummary, Task, outcomes_of, run, seen_by
from setrbm.evaluation.runs import Record
from setrbm.evaluation.splits import Split
from setrbm.evaluation.trials import Trial

ADVICE = ". Give the workers more memory, or run it on one machine."


@dataclass(frozen=True)
class DataSet:
    """What all folds of a data set share, and workers get once."""

    sets: Any
    y: Any
    splits: dict[tuple[int, int], Split]


@dataclass(frozen=True)
class FoldJob:
    """One fold of one system: everything but the data. ``plan`` has neither systems nor data sets."""

    system: System
    plan: Plan
    dataset: str
    settings: str
    engine: str
    repeat: int
    fold: int


def run_plan(
    plan: Plan, path: str | os.PathLike[str], *, client: Any = None, report: Report | None = None,
    record: Record | None = None,
) -> RunSummary:  # fmt: skip
    """Run an experiment as ``setrbm.evaluation.runner.run`` does, with its folds on the workers of a cluster.

    Data are loaded here and sent once. Each finished fold is saved at once, and running the same plan again resumes. A
    fold that repeatedly kills its workers, for example by running out of memory, is a failure; the others continue.

    Parameters
    ----------
    plan : Plan
        Its ``n_jobs`` is not used: every worker thread trains one fold at a time, on one core.
    path : path
        The results file; created if it does not exist.
    client : distributed.Client or Cluster, optional
        The default client if it is not given. A ``Cluster`` says how long to wait for workers.
    report : callable, optional
        Called after every fold.
    record : Record, optional
        Where to record how the results were made.

    Returns
    -------
    RunSummary
    """
    if plan.engine == "gpu":
        raise ValueError("On a cluster, folds are trained on the CPU. Got a plan with engine='gpu'.")
    cluster = Cluster.of(client)
    plan = replace(plan, n_jobs=max(1, cluster.n_threads))
    return run(plan, Path(path), report, record, partial(_on, cluster))


def _on(cluster: Cluster, units: list[tuple[Task, Split]]) -> Iterator[tuple[Task, list[Outcome]]]:
    """Run folds on a cluster."""
    if not units:
        return
    shared = {task.trial.dataset: task for task, _ in units}
    data = {name: cluster.share(_data_of(task)) for name, task in shared.items()}
    jobs = [(_job(task, split), data[task.trial.dataset]) for task, split in units]
    with closing(cluster.run(run_fold, jobs)) as results:
        for k, result in results:
            task, split = units[k]
            if isinstance(result, Failed):
                result = [task.failure(split, result.reason + (ADVICE if result.was_killed else ""))]
            yield task, result


def _data_of(task: Task) -> DataSet:
    sets, y = task.data
    return DataSet(sets, y, _by_fold(task.plan.splits_of(task.trial.dataset, y)))


def _by_fold(splits: Sequence[Split]) -> dict[tuple[int, int], Split]:
    return {(split.repeat, split.fold): split for split in splits}


def _job(task: Task, split: Split) -> FoldJob:
    """Return a fold without what only the plan as a whole needs."""
    plan = replace(task.plan, systems=(), datasets=(), load=_no_data, others=(), splits=None)
    trial = task.trial
    return FoldJob(task.system, plan, trial.dataset, trial.settings, trial.engine, split.repeat, split.fold)


def _no_data(name: str) -> tuple[Any, Any]:
    raise NotImplementedError(f"The data set {name!r} is sent to the workers; they do not load it.")


def run_fold(job: FoldJob, data: DataSet) -> list[Outcome]:
    """Fit and judge one fold: a pure function, run on a worker."""
    split = data.splits[job.repeat, job.fold]
    sets = seen_by(job.system, data.sets)
    trial = Trial(job.system.name, job.dataset, sets, data.y, job.plan.seed, job.settings, job.engine)
    return outcomes_of(Task((data.sets, data.y), trial, job.system, [split], job.plan), [split])


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
    data = cluster.share(DataSet(sets, y, _by_fold(splits)))
    jobs = [(model, split.repeat, split.fold, data) for split in splits]
    found: dict[int, Array | Failed] = {}
    with closing(cluster.run(_predicted_fold, jobs)) as results:
        for k, result in results:
            found[k] = result
            if on_fold is not None:
                on_fold(len(found))
    return [found[k] for k in range(len(splits))]


def _predicted_fold(model: Any, repeat: int, fold: int, data: DataSet) -> Array:
    split = data.splits[repeat, fold]
    fitted = clone(model)
    last_step(fitted).set_params(n_jobs=1)
    fitted.fit(data.sets[split.train], data.y[split.train])
    return np.asarray(fitted.predict_log_proba(data.sets[split.test]))
