"""Runs a plan: every system on every fold of every data set. Each finished fold is saved at once."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from threading import Thread
from typing import Any

import joblib
import numpy as np

from setrbm.bags import Bags
from setrbm.evaluation.splits import Split, system_seed
from setrbm.label_order import check_order
from setrbm_lab import results
from setrbm_lab.fold_files import Finished, FoldFiles
from setrbm_lab.plans import Plan, System
from setrbm_lab.results import Fold
from setrbm_lab.runs import Record
from setrbm_lab.trials import Trial, fit_and_judge, fit_and_judge_side_by_side, quiet, settings_digest

# On a GPU a task trains all its folds at once. Near the end of a task few models are left; other tasks fill the device.
TASKS_AT_ONCE = 3


@dataclass(frozen=True)
class Failure:
    """A fold that raised an exception."""

    dataset: str
    system: str
    repeat: int
    fold: int
    message: str


@dataclass
class RunProgress:
    """The state of a running experiment; ``seconds_left`` is NaN until it can be estimated."""

    n_done: int
    n_all: int
    note: str
    seconds_left: float


@dataclass
class RunSummary:
    """The result of a run: all rows of the plan, and what this run added to them."""

    rows: list[Fold]
    n_done: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0


Report = Callable[[RunProgress], None]
Outcome = Finished | Failure


@dataclass(frozen=True, eq=False)
class CellTask:
    """The folds of one system on one data set that have no result yet.

    Attributes
    ----------
    data : tuple
        Sets and labels as they were loaded; the trial has the sets as the system gets them.
    """

    data: tuple[Any, Any]
    trial: Trial
    system: System
    splits: list[Split]
    plan: Plan

    @property
    def key(self) -> tuple[str, str]:
        """The data set and the system."""
        return self.trial.dataset, self.trial.system

    @property
    def at_once(self) -> bool:
        """Whether all folds are trained side by side, on a GPU."""
        return self.trial.engine == "gpu"

    def estimator(self, split: Split) -> Any:
        """Return the unfitted system for a split."""
        engine = "gpu" if self.at_once else "cpu"
        return self.system.make(system_seed(self.plan.seed, split), self.plan.quick, engine, 1)

    def failure(self, split: Split, error: object) -> Failure:
        """Return the failure to report for a fold without a result."""
        return Failure(*self.key, split.repeat, split.fold, str(error))

    @property
    def cost(self) -> float:
        """The relative time of a fold."""
        if self.at_once:
            # A GPU hides most of the cost of a step, so the number of steps remains.
            return math.sqrt(self.system.cost) * len(self.trial.bags)
        sets = self.trial.bags
        return self.system.cost * (sets.n_vectors if isinstance(sets, Bags) else sets.n_pages)


# Runs single folds, and yields the outcomes of each as they come.
Execute = Callable[[list[tuple[CellTask, Split]]], Iterator[tuple[CellTask, list[Outcome]]]]


def run(
    plan: Plan,
    path: Path,
    report: Report | None = None,
    record: Record | None = None,
    execute: Execute | None = None,
) -> RunSummary:
    """Run every fold that has no result yet, and append each result to the file as soon as it is there.

    Ctrl-C raises KeyboardInterrupt as usual. Finished folds stay in the file; run the same plan again to resume.

    Parameters
    ----------
    plan : Plan
    path : Path
        The results file; created if it does not exist.
    report : callable, optional
        Called after every fold, or after the folds that were trained at once.
    record : Record, optional
        Where to record how the results were made.
    execute : callable, optional
        What runs the folds, if not processes of this machine or its GPU.
    """
    begin, summary, files = time.perf_counter(), RunSummary([]), FoldFiles(path, plan.curves)
    pairs = [(system.name, dataset) for dataset in plan.datasets for system in plan.systems]
    if len(set(pairs)) < len(pairs):
        raise ValueError(f"A plan must name every system and every data set once. Got {pairs}.")
    with results.only_writer(path):
        known = files.known()
        _check_seed(plan, known, path)
        _check_others(plan, known, path)
        tasks = [
            _task(plan, system, dataset, data, known, path)
            for dataset, data in ((name, plan.load(name)) for name in plan.datasets)
            for system in plan.systems
        ]
        _run_tasks(tasks, plan, files, summary, report, record, execute or _on_this_machine)
        rows = files.put_in_order()
    summary.rows = [row for row in sorted(rows) if (row.system, row.dataset) in set(pairs)]
    summary.seconds = time.perf_counter() - begin
    return summary


def _check_seed(plan: Plan, known: dict[Any, Fold], path: Path) -> None:
    if others := sorted({row.seed for row in known.values()} - {plan.seed}):
        raise ValueError(
            f"{path} must hold results of one seed of the splits, {plan.seed}. Got {others[0]}: systems tested on "
            "different folds cannot be compared. Write to another folder."
        )


def _check_others(plan: Plan, known: dict[Any, Fold], path: Path) -> None:
    """Refuse a file with results of other systems or data sets that were made with other settings."""
    planned = {(system.name, dataset) for system in plan.systems for dataset in plan.datasets}
    other = {(row.system, row.dataset) for row in known.values()} - planned
    for dataset in sorted({dataset for _, dataset in other}):
        try:
            data = plan.load(dataset)
        except FileNotFoundError:
            continue
        for system in (*plan.systems, *plan.others):
            if (system.name, dataset) in other:
                _task(plan, system, dataset, data, known, path)


def seen_by(system: System, sets: Any) -> Any:
    """Return the sets of a data set as a system gets them: of vectors, every system gets the same numbers."""
    seen = system.view(sets)
    return Bags(seen.X.astype(np.float32, copy=False), seen.offsets) if isinstance(seen, Bags) else seen


def _task(
    plan: Plan, system: System, dataset: str, data: tuple[Any, Any], known: dict[Any, Fold], path: Path
) -> CellTask:
    check_order(*data)
    bags, y = seen_by(system, data[0]), data[1]
    digest = settings_digest(system.make(0, plan.quick, "cpu", 1), bags, y, plan.folds, plan.repeats, plan.seed)
    engine = system.library or ("gpu" if plan.engine == "gpu" and system.side_by_side else "cpu")
    trial = Trial(system.name, dataset, bags, y, plan.seed, digest, engine)
    open_splits = []
    for split in plan.splits_of(dataset, y):
        row = known.get((dataset, system.name, split.repeat, split.fold))
        if row is None:
            open_splits.append(split)
        elif row.settings != digest:
            raise ValueError(
                f"All results in {path} must have the same settings, data and splits. Got different ones for "
                f"{system.name} on {dataset}: --quick, --folds, --repeats and the version of setrbm must not change "
                "within a file. Write to another folder, or delete those lines to run them again."
            )
    return CellTask(data, trial, system, open_splits, plan)


def _run_tasks(
    tasks: list[CellTask], plan: Plan, files: FoldFiles, summary: RunSummary, report: Report | None,
    record: Record | None, execute: Execute,
) -> None:  # fmt: skip
    """Run all tasks and save each fold as it finishes."""
    clock, show, finished = _Clock(tasks, plan.n_jobs), report or (lambda _: None), False
    try:
        units = [(task, split) for task in tasks for split in task.splits]
        for task, outcomes in execute(units):
            done = [outcome for outcome in outcomes if isinstance(outcome, Finished)]
            files.add(done)
            rows = [result.fold for result in done]
            summary.n_done += len(rows)
            summary.failures += [outcome for outcome in outcomes if isinstance(outcome, Failure)]
            clock.add(task, outcomes)
            if record is not None:
                record.add(rows)
            show(clock.progress(task))
        finished = True
    finally:
        if record is not None:
            record.close(finished)


def _on_this_machine(units: list[tuple[CellTask, Split]]) -> Iterator[tuple[CellTask, list[Outcome]]]:
    """Run folds; those of one system on one data set follow each other, or are trained at once on a GPU."""
    tasks = [(task, [split for _, split in own]) for task, own in groupby(units, itemgetter(0))]
    yield from _in_workers([(task, splits) for task, splits in tasks if task.at_once], TASKS_AT_ONCE)
    for task, splits in tasks:
        if not task.at_once:
            yield from _in_workers([(task, [split]) for split in splits], task.plan.n_jobs)


def _in_workers(units: list[tuple[CellTask, list[Split]]], n_jobs: int) -> Iterator[tuple[CellTask, list[Outcome]]]:
    """Run units of work in worker processes and yield each when finished."""
    left = dict(enumerate(units))
    # If a worker is killed, joblib ends all of them; the unfinished units are tried once more.
    for _ in range(2 if units else 0):
        jobs = (joblib.delayed(_work)(number, *unit) for number, unit in list(left.items()))
        parallel = joblib.Parallel(
            n_jobs=n_jobs, return_as="generator_unordered", initializer=_exit_with, initargs=(os.getpid(),)
        )
        running = parallel(jobs)
        try:
            for number, done in running:
                yield left.pop(number)[0], done
            return
        except BrokenProcessPool as error:
            killed = RuntimeError(f"a worker process was killed, perhaps out of memory ({type(error).__name__})")
        finally:
            # joblib warns that the units still running are cancelled.
            with quiet():
                running.close()
    for task, splits in left.values():
        yield task, [_failure(task, split, killed) for split in splits]


def _work(number: int, task: CellTask, splits: list[Split]) -> tuple[int, list[Outcome]]:
    """Fit and judge the folds of one unit of work."""
    return number, outcomes_of(task, splits)


def outcomes_of(task: CellTask, splits: list[Split]) -> list[Outcome]:
    """Fit and judge folds of a task."""
    try:
        estimators = [task.estimator(split) for split in splits]
        if task.at_once:
            folds = fit_and_judge_side_by_side(task.trial, estimators, splits)
        else:
            folds = [fit_and_judge(task.trial, *pair) for pair in zip(estimators, splits, strict=True)]
        return [_done(task, *fitted) for fitted in zip(folds, estimators, splits, strict=True)]
    except Exception as error:
        return [_failure(task, split, error) for split in splits]


def _done(task: CellTask, fold: Fold | Exception, fitted: Any, split: Split) -> Outcome:
    """Return a fold with its curve, or how it failed."""
    try:
        if isinstance(fold, Exception):
            raise fold
        return Finished(fold, task.trial.measure(fitted, split) if task.plan.curves else None)
    except Exception as error:
        return _failure(task, split, error)


def _exit_with(parent: int) -> None:
    """Make this worker exit when its parent process is gone, even if that was killed or this worker is idle."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _failure(task: CellTask, split: Split, error: Exception) -> Failure:
    return task.failure(split, f"{type(error).__name__}: {error}")


class _Clock:
    """Counts finished folds and estimates the time left from similar ones."""

    def __init__(self, tasks: list[CellTask], n_jobs: int) -> None:
        self.tasks, self.n_jobs = tasks, n_jobs
        self.n_all = sum(len(task.splits) for task in tasks)
        self.seconds: dict[tuple[str, str], list[float]] = {task.key: [] for task in tasks}

    def add(self, task: CellTask, finished: list[Outcome]) -> None:
        self.seconds[task.key] += [done.fold.seconds if isinstance(done, Finished) else 0.0 for done in finished]

    def progress(self, task: CellTask) -> RunProgress:
        note = f"{task.trial.system} on {task.trial.dataset}"
        return RunProgress(sum(map(len, self.seconds.values())), self.n_all, note, self._left())

    def _left(self) -> float:
        if not any(self.seconds.values()):
            return math.nan
        taken = sum(map(sum, self.seconds.values()))
        cost = sum(len(self.seconds[task.key]) * task.cost for task in self.tasks)
        left = 0.0
        for task in self.tasks:
            known = self.seconds[task.key]
            each = float(np.mean(known)) if known else task.cost * taken / max(cost, 1.0)
            side_by_side = TASKS_AT_ONCE if task.at_once else self.n_jobs
            left += (len(task.splits) - len(known)) * each / side_by_side
        return left
