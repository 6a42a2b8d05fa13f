"""run_plan: the folds of an experiment on a cluster, one task per fold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from setrbm.dask.cluster import Cluster, Failed
from setrbm.dask.folds import DataSet
from setrbm.evaluation.splits import Split
from setrbm_lab.plans import Plan, System
from setrbm_lab.runner import CellTask, Outcome, Report, RunSummary, outcomes_of, run, seen_by
from setrbm_lab.runs import Record
from setrbm_lab.trials import Trial

ADVICE = ". Give the workers more memory, or run it on one machine."


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
    """Run an experiment as ``setrbm_lab.runner.run`` does, with its folds on the workers of a cluster.

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


def _on(cluster: Cluster, units: list[tuple[CellTask, Split]]) -> Iterator[tuple[CellTask, list[Outcome]]]:
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


def _data_of(task: CellTask) -> DataSet:
    sets, y = task.data
    return DataSet.of(sets, y, task.plan.splits_of(task.trial.dataset, y))


def _job(task: CellTask, split: Split) -> FoldJob:
    """Return a fold without the parts of the plan that its worker does not need."""
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
    return outcomes_of(CellTask((data.sets, data.y), trial, job.system, [split], job.plan), [split])
