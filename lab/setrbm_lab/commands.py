"""The experiments, the tables and the effects of single settings: their plans, files and commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from setrbm.datasets.benchmarks import BENCHMARKS, benchmark_path, fetch_command, find_benchmark, load_benchmark
from setrbm_lab import effects, mail_data
from setrbm_lab.mail_splits import N_SPLITS, mail_splits
from setrbm_lab.mail_systems import MAIL_ROWS
from setrbm_lab.paper import DATASETS, FOLDS, REPEATS
from setrbm_lab.plans import Loader, Plan, System
from setrbm_lab.systems import COLLECTION_ROWS, ROWS, find_system

QUICK_DATASETS = ("musk1", "elephant")
# The seeds of the splits of the tables in docs/.
SEED, COLLECTION_SEED = 2011, 2050


class Experiment(StrEnum):
    """What can be run; also the name of its files."""

    TABLE1 = "table1"
    TABLE2 = "table2"
    COLLECTION = "collection"
    EFFECTS = "effects"

    @property
    def heading(self) -> str:
        """The name to show."""
        return self.value.capitalize().replace("Table", "Table ")

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
    """What the user asks for; None means the default.

    Attributes
    ----------
    models, datasets : sequence of str or None
    quick : bool
    engine : {"cpu", "gpu"}
    jobs, repeats, folds, seed : int or None
    data_home : Path or None
    """

    models: Sequence[str] | None = None
    datasets: Sequence[str] | None = None
    quick: bool = False
    engine: str = "cpu"
    jobs: int | None = None
    repeats: int | None = None
    folds: int | None = None
    seed: int | None = None
    data_home: Path | None = None


def usual_repeats(experiment: Experiment, quick: bool) -> int:
    """Return the number of repetitions if none is given."""
    return REPEATS if experiment in (Experiment.TABLE1, Experiment.COLLECTION) and not quick else 1


def usual_folds(experiment: Experiment) -> int:
    """Return the number of folds if none is given."""
    return N_SPLITS if experiment is Experiment.TABLE2 else FOLDS


def usual_seed(experiment: Experiment) -> int:
    """Return the seed of the splits if none is given."""
    return COLLECTION_SEED if experiment is Experiment.COLLECTION else SEED


def known_datasets(experiment: Experiment) -> tuple[str, ...]:
    """Return all data sets of an experiment."""
    if experiment is Experiment.TABLE2:
        return mail_data.ALL
    return tuple(BENCHMARKS) if experiment is Experiment.COLLECTION else DATASETS


def usual_datasets(experiment: Experiment, quick: bool) -> tuple[str, ...]:
    """Return the data sets if none is named."""
    return QUICK_DATASETS if quick and experiment is not Experiment.TABLE2 else known_datasets(experiment)


def rows_of(experiment: Experiment) -> Mapping[str, System]:
    """Return the systems of an experiment by name."""
    if experiment is Experiment.EFFECTS:
        return {system.name: system for system in effects.systems()}
    return {Experiment.TABLE2: MAIL_ROWS, Experiment.COLLECTION: COLLECTION_ROWS}.get(experiment, ROWS)


def plan_of(experiment: Experiment, wanted: Wanted) -> tuple[Plan, list[str]]:
    """Return the plan of an experiment, and a message for each system left out because a package is missing.

    Raises ValueError for unknown names, for a system asked for by name whose package is missing, and for missing data.
    """
    from joblib import cpu_count

    _check_options(experiment, wanted)
    rows = rows_of(experiment)
    wanted_systems = (find_system(name, rows) for name in wanted.models or rows)
    systems = list({system.name: system for system in wanted_systems}.values())
    missing = [message for system in systems if (message := system.missing())]
    if missing and wanted.models:
        raise ValueError(f"{missing[0]}.")
    is_mail, named = experiment is Experiment.TABLE2, {system.name for system in systems}
    plan = Plan(
        systems=[system for system in systems if not system.missing()],
        datasets=_datasets(experiment, wanted),
        load=_loader(experiment, wanted),
        folds=wanted.folds or usual_folds(experiment),
        repeats=wanted.repeats or usual_repeats(experiment, wanted.quick),
        seed=usual_seed(experiment) if wanted.seed is None else wanted.seed,
        quick=wanted.quick,
        engine=wanted.engine,
        n_jobs=wanted.jobs or cpu_count(),
        others=[row for row in rows.values() if row.name not in named],
        splits=mail_splits if is_mail else None,
        curves=is_mail,
    )
    return plan, missing


def _check_options(experiment: Experiment, wanted: Wanted) -> None:
    """Raise ValueError for options that an experiment does not take."""
    if experiment is Experiment.EFFECTS and (wanted.models or wanted.engine == "gpu"):
        raise ValueError("effects takes neither --models nor --engine gpu: its models are few, and fixed.")
    if experiment is Experiment.TABLE2:
        if wanted.engine == "gpu":
            raise ValueError("table2 must run on the CPU: its sets are sparse. Got --engine gpu. Leave it out.")
        if (wanted.folds, wanted.repeats, wanted.seed) != (None, None, None):
            raise ValueError("table2 takes neither --folds nor --repeats nor --seed: its splits are fixed.")


def _datasets(experiment: Experiment, wanted: Wanted) -> list[str]:
    """Return the names of the data sets; raise ValueError if one is unknown or not in the data folder."""
    names = wanted.datasets or usual_datasets(experiment, wanted.quick)
    if experiment is Experiment.TABLE2:
        datasets = list(dict.fromkeys(map(mail_data.find_dataset, names)))
        mail_data.check_collections(datasets, wanted.data_home)
    else:
        datasets = list(dict.fromkeys(find_benchmark(name).name for name in names))
        known = known_datasets(experiment)
        if other := [name for name in datasets if name not in known]:
            raise ValueError(f"A data set of the paper must be one of {', '.join(known)}. Got {other[0]!r}.")
        _check_data(datasets, wanted.data_home)
    return datasets


def _loader(experiment: Experiment, wanted: Wanted) -> Loader:
    if experiment is Experiment.TABLE2:
        return lambda name: mail_data.load_mail(name, wanted.quick, wanted.data_home)
    return lambda name: load_benchmark(name, wanted.data_home)


def _check_data(names: Sequence[str], data_home: Path | None) -> None:
    absent = [name for name in names if benchmark_path(name, data_home) is None]
    if absent:
        commands = "; ".join(fetch_command(name, data_home) for name in absent)
        here = [name for name in names if name not in absent]
        without = f" Or run without them: {' '.join(f'-d {name}' for name in here)}." if here else ""
        raise ValueError(f"These data sets are not in the data folder: {', '.join(absent)}. Run: {commands}.{without}")


def command_of(experiment: Experiment, plan: Plan) -> str:
    """Return the command that runs a plan, without folders."""
    words = ["scripts/reproduce", experiment.value] + ["--quick"] * plan.quick
    if plan.engine != "cpu":
        words += ["--engine", plan.engine]
    if [system.name for system in plan.systems] != list(rows_of(experiment)):
        words += [word for system in plan.systems for word in ("-m", system.name)]
    if list(plan.datasets) != list(usual_datasets(experiment, plan.quick)):
        words += [word for dataset in plan.datasets for word in ("-d", dataset)]
    for option, value, usual in (
        ("--repeats", plan.repeats, usual_repeats(experiment, plan.quick)),
        ("--folds", plan.folds, usual_folds(experiment)),
        ("--seed", plan.seed, usual_seed(experiment)),
    ):
        words += [option, str(value)] * (value != usual)
    return shlex.join(words)
