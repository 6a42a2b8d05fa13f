"""Runs experiments: every system on every fold of every data set, each finished fold kept at once."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, cast

import joblib
import numpy as np

from setrbm import training
from setrbm.bags import Bags
from setrbm.evaluation import results
from setrbm.evaluation.plans import Plan, System
from setrbm.evaluation.results import Fold
from setrbm.evaluation.runs import Record
from setrbm.evaluation.splits import Split, repeated_folds, system_seed
from setrbm.evaluation.trials import (
    Trial,
    fit_and_judge,
    fit_and_judge_side_by_side,
    quiet_but_for_interrupts,
    settings_digest,
)

# Where a GPU trains all folds of a task at once: at the end of one few models are left, and the next fills it up.
TASKS_AT_ONCE = 3


@dataclass(frozen=True)
class Failure:
    """A fold that could not be done."""

    dataset: str
    system: str
    repeat: int
    fold: int
    message: str


@dataclass
class RunProgress:
    """What is known while an experiment runs."""

    n_done: int
    n_all: int
    note: str
    # NaN as long as nothing is known.
    seconds_left: float


@dataclass
class RunSummary:
    """What a run came to."""

    rows: list[Fold]
    n_done: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class _Task:
    """The folds of one system on one data set that are still to be done."""

    trial: Trial
    system: System
    splits: list[Split]
    plan: Plan

    @property
    def at_once(self) -> bool:
        return self.plan.engine == "gpu" and self.system.side_by_side

    def estimator(self, split: Split) -> Any:
        engine = self.plan.engine if self.at_once else "cpu"
        return self.system.make(system_seed(self.plan.seed, split), self.plan.quick, engine, 1)

    @property
    def guess(self) -> float:
        """Roughly the time of a fold, in no unit."""
        if self.at_once:
            # The device hides much of what costs a core time; what is left is the number of steps.
            return math.sqrt(self.system.cost) * len(self.trial.bags)
        return self.system.cost * self.trial.bags.n_vectors


Tell = Callable[[_Task, training.Epoch], None]


def run(
    plan: Plan, path: Path, report: Callable[[RunProgress], None] | None = None, record: Record | None = None
) -> RunSummary:
    """Do every fold that the results file does not hold yet, and add each to it as it is finished.

    Ctrl-C is raised as always; what is finished stays, and the next run goes on from there.

    Parameters
    ----------
    plan : Plan
    path : Path
        The results file; begun where it does not exist.
    report : callable, optional
        Told after every fold, and of the epochs of folds that are trained at once.
    record : Record, optional
        Where to write down how the results were made.
    """
    begin, outcome = time.perf_counter(), RunSummary([])
    pairs = [(system.name, dataset) for dataset in plan.datasets for system in plan.systems]
    if len(set(pairs)) < len(pairs):
        raise ValueError(f"A plan must name every system and every data set once. Got {pairs}.")
    with results.only_writer(path):
        known = {row.key: row for row in results.read(path)}
        if others := sorted({row.seed for row in known.values()} - {plan.seed}):
            raise ValueError(
                f"{path} must hold results of one seed of the splits, {plan.seed}. Got {others[0]}: systems tested on "
                "other folds cannot be compared. Write to another folder."
            )
        _check_others(plan, known, path)
        tasks = [
            _task(plan, system, dataset, data, known, path)
            for dataset, data in ((name, plan.load(name)) for name in plan.datasets)
            for system in plan.systems
        ]
        _do(tasks, plan, results.Writer(path), outcome, report, record)
        rows = results.read(path)
        results.write(path, rows)
    names = {system.name for system in plan.systems}
    outcome.rows = [row for row in sorted(rows) if row.system in names and row.dataset in plan.datasets]
    outcome.seconds = time.perf_counter() - begin
    return outcome


def _check_others(plan: Plan, known: dict[Any, Fold], path: Path) -> None:
    """Refuse a file with rows that this plan does not make, and would make otherwise."""
    there = {(row.system, row.dataset) for row in known.values()}
    to_make = {(system.name, dataset) for system in plan.systems for dataset in plan.datasets}
    for dataset in sorted({dataset for _, dataset in there - to_make}):
        try:
            data = plan.load(dataset)
        except FileNotFoundError:
            continue
        for system in (*plan.systems, *plan.others):
            if (system.name, dataset) in there - to_make:
                _task(plan, system, dataset, data, known, path)


def _do(
    tasks: list[_Task], plan: Plan, writer: results.Writer, outcome: RunSummary,
    report: Callable[[RunProgress], None] | None, record: Record | None,
) -> None:  # fmt: skip
    """Do the folds of all tasks and write down each as it is finished."""
    clock, show, finished = _Clock(tasks, plan.n_jobs), _by_one_thread_at_a_time(report), False
    try:
        for task, together in _finished(tasks, lambda task, epoch: show(clock.progress(task, epoch))):
            rows = [done for done in together if isinstance(done, Fold)]
            writer.add(rows)
            outcome.n_done += len(rows)
            outcome.failures += [done for done in together if isinstance(done, Failure)]
            for done in together:
                clock.note(task, done)
                if record is not None and isinstance(done, Fold):
                    record.note(done)
            show(clock.progress(task))
        finished = True
    finally:
        if record is not None:
            record.close(finished)


def _task(
    plan: Plan, system: System, dataset: str, data: tuple[Bags, Any], known: dict[Any, Fold], path: Path
) -> _Task:
    bags, y = data
    # Every engine and every system sees the same numbers.
    bags = Bags(bags.X.astype(np.float32), bags.offsets)
    splits = repeated_folds(y, plan.folds, plan.repeats, plan.seed)
    digest = settings_digest(system.make(0, plan.quick, "cpu", 1), bags, y, plan.folds, plan.repeats, plan.seed)
    at_once = plan.engine == "gpu" and system.side_by_side
    engine = system.library or ("gpu" if at_once else "cpu")
    trial = Trial(system.name, dataset, bags, y, plan.seed, digest, engine)
    open_splits = []
    for split in splits:
        row = known.get((dataset, system.name, split.repeat, split.fold))
        if row is None:
            open_splits.append(split)
        elif row.settings != digest:
            raise ValueError(
                f"{path} must hold results of the same settings, data and splits. Got others for {system.name} on "
                f"{dataset}: --quick, --folds, --repeats and the version of setrbm must be the same for all rows of a "
                "table. Write to another folder, or delete those lines to make them anew."
            )
    return _Task(trial, system, open_splits, plan)


def _by_one_thread_at_a_time(report: Callable[[RunProgress], None] | None) -> Callable[[RunProgress], None]:
    lock = Lock()

    def show(progress: RunProgress) -> None:
        if report is not None:
            with lock:
                report(progress)

    return show


def _finished(tasks: list[_Task], tell: Tell) -> Iterator[tuple[_Task, list[Fold | Failure]]]:
    """Do the folds of all tasks and yield each as it is finished, or those that are finished together."""
    open_tasks = [task for task in tasks if task.splits]
    yield from _tasks_together([task for task in open_tasks if task.at_once], tell)
    for task in open_tasks:
        if not task.at_once:
            yield from ((task, [done]) for done in _fold_by_fold(task))


def _tasks_together(tasks: list[_Task], tell: Tell) -> Iterator[tuple[_Task, list[Fold | Failure]]]:
    """Do tasks that train all their folds at once, several at a time, each in a thread that Ctrl-C here ends too."""
    stopped = Event()

    class Telling(training.Monitor):
        def __init__(self, task: _Task) -> None:
            self.task = task

        def on_epoch(self, epoch: training.Epoch) -> None:
            if stopped.is_set():
                raise KeyboardInterrupt
            try:
                tell(self.task, epoch)
            except Exception as fault:
                # Not a fault of the folds.
                raise _CannotTell from fault

    def work(task: _Task) -> list[Fold | Failure]:
        return _all_at_once(task, Telling(task))

    # What the threads say of single folds is left out as long as any of them is at work: filters are one for all.
    with quiet(), ThreadPoolExecutor(TASKS_AT_ONCE) as threads:
        try:
            at_work = {threads.submit(work, task): task for task in tasks}
            for finished in as_completed(at_work):
                yield at_work[finished], finished.result()
        except _CannotTell as fault:
            raise cast(Exception, fault.__cause__) from None
        finally:
            stopped.set()
            threads.shutdown(cancel_futures=True)


class _CannotTell(BaseException):
    """What a report of progress raised in a thread; it ends the run."""


def _fold_by_fold(task: _Task) -> Iterator[Fold | Failure]:
    """Do the folds of a task on all cores and yield each as it is finished."""
    left = {(split.repeat, split.fold): split for split in task.splits}
    # A worker that is killed takes the others with it; what they had not finished is tried once more.
    for _ in range(2):
        jobs = (joblib.delayed(_in_worker)(task, split, os.getpid()) for split in list(left.values()))
        try:
            for done in joblib.Parallel(n_jobs=task.plan.n_jobs, return_as="generator_unordered")(jobs):
                del left[done.repeat, done.fold]
                yield done
            return
        except BrokenProcessPool as fault:
            killed = fault
    message = f"a worker process was killed, perhaps for want of memory: try fewer --jobs ({type(killed).__name__})"
    yield from (_failure(task, split, RuntimeError(message)) for split in left.values())


def _in_worker(task: _Task, split: Split, parent: int) -> Fold | Failure:
    _end_with(parent)
    try:
        return fit_and_judge(task.trial, task.estimator(split), split)
    except Exception as fault:
        return _failure(task, split, fault)


@cache
def _end_with(parent: int) -> None:
    """Let this worker end when the process that began it is gone, even by a kill."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    if os.getppid() == parent:
        Thread(target=watch, daemon=True).start()


def _all_at_once(task: _Task, monitor: training.Monitor) -> list[Fold | Failure]:
    try:
        estimators = [task.estimator(split) for split in task.splits]
        done = fit_and_judge_side_by_side(task.trial, estimators, task.splits, monitor)
    except Exception as fault:
        return [_failure(task, split, fault) for split in task.splits]
    return [
        _failure(task, split, one) if isinstance(one, Exception) else one
        for split, one in zip(task.splits, done, strict=True)
    ]


def _failure(task: _Task, split: Split, fault: Exception) -> Failure:
    message = f"{type(fault).__name__}: {fault}"
    return Failure(task.trial.dataset, task.trial.system, split.repeat, split.fold, message)


class _Clock:
    """How much is done, and how long the rest will take, judged by what similar folds took."""

    def __init__(self, tasks: list[_Task], n_jobs: int) -> None:
        self.tasks, self.n_jobs = tasks, n_jobs
        self.n_all = sum(len(task.splits) for task in tasks)
        self.n_done = 0
        self.seconds: dict[tuple[str, str], list[float]] = {}

    @staticmethod
    def _key(task: _Task) -> tuple[str, str]:
        return task.trial.dataset, task.trial.system

    def note(self, task: _Task, done: Fold | Failure) -> None:
        self.n_done += 1
        self.seconds.setdefault(self._key(task), []).append(done.seconds if isinstance(done, Fold) else 0.0)

    def progress(self, task: _Task, epoch: training.Progress | None = None) -> RunProgress:
        note = f"{task.trial.system} on {task.trial.dataset}"
        note += f", epoch {epoch.epoch} of {epoch.max_epochs}" if epoch is not None else ""
        return RunProgress(self.n_done, self.n_all, note, self._left())

    def _left(self) -> float:
        if not self.seconds:
            return math.nan
        taken = sum(map(sum, self.seconds.values()))
        guessed = sum(len(self.seconds.get(self._key(task), [])) * task.guess for task in self.tasks)
        left = 0.0
        for task in self.tasks:
            known = self.seconds.get(self._key(task), [])
            each = float(np.mean(known)) if known else task.guess * taken / max(guessed, 1.0)
            side_by_side = TASKS_AT_ONCE if task.at_once else self.n_jobs
            left += (len(task.splits) - len(known)) * each / side_by_side
        return left
