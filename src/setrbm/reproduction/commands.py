"""The two experiments, Table 1 and the effects of single settings: their plans, files and commands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from setrbm.datasets.benchmarks import benchmark_path, fetch_command, find_benchmark, load_benchmark
from setrbm.evaluation.plans import Plan, System
from setrbm.reproduction import effects
from setrbm.reproduction.paper import DATASETS, FOLDS, REPEATS
from setrbm.reproduction.systems import ROWS, find_system

QUICK_DATASETS = ("musk1", "elephant")
# The seed of the splits of the table in docs/.
SEED = 2011


class Experiment(StrEnum):
    """What can be run; also the name of its files."""

    TABLE1 = "table1"
    EFFECTS = "effects"

    @property
    def results(self) -> str:
        """The name of the results file."""
        return f"{self.value}.csv"

    @property
    def runs(self) -> str:
        """The name of the file with the record of the runs."""
        return f"{self.value}-runs.json"


@dataclass(frozen=True)
class Wanted:
    """What the user asks for; None stands for the usual choice.

    Attributes
    ----------
    models, datasets : sequence of str or None
    quick : bool
    engine : {"cpu", "gpu"}
    jobs, repeats : int or None
    folds, seed : int
    data_home : Path or None
    """

    models: Sequence[str] | None = None
    datasets: Sequence[str] | None = None
    quick: bool = False
    engine: str = "cpu"
    jobs: int | None = None
    repeats: int | None = None
    folds: int = FOLDS
    seed: int = SEED
    data_home: Path | None = None


def usual_repeats(experiment: Experiment, quick: bool) -> int:
    """Return the number of repetitions if none is given."""
    return 1 if quick or experiment is Experiment.EFFECTS else REPEATS


def plan_of(experiment: Experiment, wanted: Wanted) -> tuple[Plan, list[str]]:
    """Return the plan of an experiment, and a message for each system left out because a package is missing.

    Raises ValueError for unknown names, for a system asked for by name whose package is missing, and for missing data.
    """
    from joblib import cpu_count

    systems = _systems(experiment, wanted)
    missing = [message for system in systems if (message := system.missing())]
    if missing and wanted.models:
        raise ValueError(f"{missing[0]}.")
    names = wanted.datasets or (QUICK_DATASETS if wanted.quick else DATASETS)
    datasets = list(dict.fromkeys(find_benchmark(name).name for name in names))
    _check_data(datasets, wanted.data_home)
    named = {system.name for system in systems}
    plan = Plan(
        systems=[system for system in systems if not system.missing()],
        datasets=datasets,
        load=lambda name: load_benchmark(name, wanted.data_home),
        folds=wanted.folds,
        repeats=wanted.repeats or usual_repeats(experiment, wanted.quick),
        seed=wanted.seed,
        quick=wanted.quick,
        engine=wanted.engine,
        n_jobs=wanted.jobs or cpu_count(),
        others=[row for row in ROWS.values() if row.name not in named] if experiment is Experiment.TABLE1 else (),
    )
    return plan, missing


def _systems(experiment: Experiment, wanted: Wanted) -> list[System]:
    if experiment is Experiment.TABLE1:
        return list({system.name: system for system in map(find_system, wanted.models or ROWS)}.values())
    if wanted.models or wanted.engine == "gpu":
        raise ValueError("effects takes neither --models nor --engine gpu: its models are few, and fixed.")
    return effects.systems()


def _check_data(names: Sequence[str], data_home: Path | None) -> None:
    absent = [name for name in names if benchmark_path(name, data_home) is None]
    if absent:
        commands = "; ".join(fetch_command(name, data_home) for name in absent)
        here = [name for name in names if name not in absent]
        without = f" Or run without them: {' '.join(f'-d {name}' for name in here)}." if here else ""
        raise ValueError(f"These data sets are not in the data folder: {', '.join(absent)}. Run: {commands}.{without}")


def command_of(experiment: Experiment, plan: Plan) -> str:
    """Return the command that runs a plan, without folders."""
    words = ["setrbm", "reproduce", experiment.value] + ["--quick"] * plan.quick
    if plan.engine != "cpu":
        words += ["--engine", plan.engine]
    if experiment is Experiment.TABLE1 and [system.name for system in plan.systems] != list(ROWS):
        words += [word for system in plan.systems for word in ("-m", system.name)]
    if list(plan.datasets) != list(QUICK_DATASETS if plan.quick else DATASETS):
        words += [word for dataset in plan.datasets for word in ("-d", dataset)]
    for option, value, usual in (
        ("--repeats", plan.repeats, usual_repeats(experiment, plan.quick)),
        ("--folds", plan.folds, FOLDS),
        ("--seed", plan.seed, SEED),
    ):
        words += [option, str(value)] * (value != usual)
    return shlex.join(words)
