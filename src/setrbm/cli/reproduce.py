"""``setrbm reproduce``: the paper's first table, made anew by one command."""

from __future__ import annotations

import json as json_module
import os
import shlex
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._errors import FAILED, Refused
from setrbm.cli._options import QuietOption
from setrbm.cli._output import count, show_table
from setrbm.cli._progress import Bar

if TYPE_CHECKING:
    from setrbm.evaluation.plans import Plan, System
    from setrbm.evaluation.runner import Failure, RunProgress, RunSummary
    from setrbm.evaluation.runs import Kind
    from setrbm.reproduction.tables import Table1

# What each holds beside the results is the record of its runs; remarks are said of single cells of the table.
REMARKS = "table1-remarks.json"
# The folder beside the results with rows made once more, by another engine.
AGAIN = "again"
QUICK_DATASETS = ("musk1", "elephant")
MOST_FAILURES_SHOWN = 10
# The seed of the splits of the table in docs/; nothing was chosen on them.
SEED = 2011


class What(StrEnum):
    """What can be reproduced, or shown of what was."""

    TABLE1 = "table1"
    EFFECTS = "effects"
    PAGE = "page"

    @property
    def results(self) -> str:
        """The file its folds are kept in."""
        return f"{self.value}.csv"

    @property
    def runs(self) -> str:
        """The file that says how they were made."""
        return f"{self.value}-runs.json"


class EngineChoice(StrEnum):
    """What trains the models."""

    CPU = "cpu"
    GPU = "gpu"


def reproduce(
    what: Annotated[What, typer.Argument(help="What to reproduce.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="One repetition of two data sets, with few settings: minutes, not hours.")
    ] = False,
    models: Annotated[
        list[str] | None, typer.Option("--models", "-m", metavar="NAME", help="Only this row; may be repeated.")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option("--datasets", "-d", metavar="NAME", help="Only this data set; may be repeated.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", show_default="results, or results-quick", help="For results."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FOLDER", show_default="the output folder", help="For page and pictures."),
    ] = None,
    data_home: Annotated[
        Path | None,
        typer.Option("--data-home", metavar="FOLDER", show_default="$SETRBM_DATA", help="The data folder."),
    ] = None,
    engine: Annotated[
        EngineChoice, typer.Option("--engine", help="Fold by fold on all cores, or all folds at once on a GPU.")
    ] = EngineChoice.CPU,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", min=1, show_default="all cores", help="Folds at a time.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option("--repeats", metavar="N", min=1, show_default="5", help="Repetitions.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", metavar="N", min=2, help="Parts of a cross-validation.")] = 10,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The seed of the splits.")] = SEED,
    quiet: QuietOption = False,
) -> None:
    """Make the paper's first table anew (table1), or what single settings do (effects), on every fold; or show (page).

    Every finished fold is kept at once in FOLDER/table1.csv, or effects.csv. After Ctrl-C, a fault or a kill the same
    command goes on where it was; what is there is never made twice or overwritten. At the end the table is shown, and a
    page with tests and pictures is written; "page" does only that, from the results that are there.
    """
    output = output or Path("results-quick" if quick else "results")
    for folder in (output, report or output):
        if folder.exists() and not folder.is_dir():
            raise Refused(f"Results and page must go to a folder. Got the file {str(folder)!r}.")
    if what is What.PAGE:
        _show_and_write(output, report or output, _kind_on_record(output, quick, repeats, folds))
        return
    _check_can_write(report or output)
    plan = _plan(what, quick, models, datasets, data_home, engine, jobs, repeats, folds, seed)
    path = output / what.results
    outcome = _run(what, plan, path, quiet)
    _show_failures(outcome.failures)
    if not outcome.n_done and not outcome.failures:
        typer.echo(
            f"Nothing was to be done: {path} has all {count(len(outcome.rows), 'fold')} already. "
            "To make them anew, write to another folder with -o."
        )
    if what is What.TABLE1 and outcome.rows:
        _show_and_write(output, report or output, _kind(plan))
    elif what is What.EFFECTS:
        _show_effects(outcome)
        typer.echo(f"Results: {path}. Their pictures stand on the page of a table1 in the same folder.")
    if outcome.failures:
        raise typer.Exit(FAILED)


def _plan(
    what: What, quick: bool, models: list[str] | None, datasets: list[str] | None, data_home: Path | None, engine: str,
    jobs: int | None, repeats: int | None, folds: int, seed: int,
) -> Plan:  # fmt: skip
    from joblib import cpu_count

    from setrbm.datasets.benchmarks import find_benchmark, load_benchmark
    from setrbm.evaluation.plans import Plan
    from setrbm.reproduction import effects
    from setrbm.reproduction.paper import DATASETS
    from setrbm.reproduction.systems import ROWS, find_system

    if what is What.EFFECTS and (models or engine == EngineChoice.GPU):
        raise Refused("effects takes neither --models nor --engine gpu: its models are few, and fixed.")
    try:
        # Whoever names a row twice wants it once.
        chosen = {system.name: system for system in map(find_system, models or ROWS)}
        systems = effects.systems() if what is What.EFFECTS else list(chosen.values())
        wanted = datasets or (QUICK_DATASETS if quick else DATASETS)
        names = list(dict.fromkeys(find_benchmark(name).name for name in wanted))
    except ValueError as error:
        raise Refused(str(error)) from None
    systems = _installed(systems, named=bool(models))
    _check_data(names, data_home)
    if engine == EngineChoice.GPU and any(system.side_by_side for system in systems):
        _check_device()
    return Plan(
        systems=systems,
        datasets=names,
        load=lambda name: load_benchmark(name, data_home),
        folds=folds,
        repeats=repeats or _usual_repeats(what, quick),
        seed=seed,
        quick=quick,
        engine=str(engine),
        n_jobs=jobs or cpu_count(),
        others=[ROWS[name] for name in ROWS if name not in chosen] if what is What.TABLE1 else (),
    )


def _kind(plan: Plan) -> Kind:
    from setrbm.evaluation.runs import Kind

    return Kind(plan.quick, plan.repeats, plan.folds)


def _kind_on_record(output: Path, quick: bool, repeats: int | None, folds: int) -> Kind:
    """Return of what kind the results of a folder are: as is on record, else as the options say."""
    from setrbm.evaluation import runs

    said = runs.Kind(quick, repeats or _usual_repeats(What.TABLE1, quick), folds)
    return runs.kind_of(runs.read(output / What.TABLE1.runs)) or said


def _check_can_write(folder: Path) -> None:
    """Refuse, before any work is done, a folder that nothing can be written to."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise Refused(f"Results and page must go to a folder that can be written to. Got {str(folder)!r}.")


def _usual_repeats(what: What, quick: bool) -> int:
    from setrbm.reproduction.paper import REPEATS

    return 1 if quick or what is What.EFFECTS else REPEATS


def _installed(systems: list[System], named: bool) -> list[System]:
    """Return the systems that can be run here; one that was asked for by name and cannot is refused."""
    missing = [words for system in systems if (words := system.missing())]
    if missing and named:
        raise Refused(f"{missing[0]}.")
    for words in missing:
        typer.echo(f"Left out: {words}.", err=True)
    return [system for system in systems if not system.missing()]


def _check_data(names: list[str], data_home: Path | None) -> None:
    """Say at once which data sets are not here."""
    from setrbm.datasets.benchmarks import benchmark_path, fetch_command

    absent = [name for name in names if benchmark_path(name, data_home) is None]
    if absent:
        commands = "; ".join(fetch_command(name, data_home) for name in absent)
        here = [name for name in names if name not in absent]
        without = f" Or do without: {' '.join(f'-d {name}' for name in here)}." if here else ""
        raise Refused(f"These data sets are not in the data folder: {', '.join(absent)}. Run: {commands}.{without}")


def _check_device() -> None:
    from setrbm.engines.gpu.engine import ENGINE

    ENGINE.check_device()


def _run(what: What, plan: Plan, path: Path, quiet: bool) -> RunSummary:
    """Run a plan and write down how its results were made."""
    from setrbm.evaluation.runner import run
    from setrbm.evaluation.runs import Record

    record = Record(path.with_name(what.runs), _command(what, plan), _kind(plan))
    with Bar("Table 1" if what is What.TABLE1 else "Effects", total=1.0, quiet=quiet) as bar:

        def show(progress: RunProgress) -> None:
            done = f"{progress.n_done:,} of {count(progress.n_all, 'fold')}"
            bar.show_with(progress.n_done / progress.n_all, f"{done}, {progress.note}", progress.seconds_left)

        try:
            return run(plan, path, show, record)
        except KeyboardInterrupt:
            if path.exists():
                typer.echo(f"What is finished is in {path}; the same command goes on from there.", err=True)
            raise


def _command(what: What, plan: Plan) -> str:
    """Return the command that makes these results, without the folders of this machine."""
    from setrbm.reproduction.paper import DATASETS, FOLDS
    from setrbm.reproduction.systems import ROWS

    words = ["setrbm", "reproduce", what.value] + ["--quick"] * plan.quick
    if plan.engine != "cpu":
        words += ["--engine", plan.engine]
    if what is What.TABLE1 and [system.name for system in plan.systems] != list(ROWS):
        words += [word for system in plan.systems for word in ("-m", system.name)]
    if list(plan.datasets) != list(QUICK_DATASETS if plan.quick else DATASETS):
        words += [word for dataset in plan.datasets for word in ("-d", dataset)]
    for option, value, usual in (
        ("--repeats", plan.repeats, _usual_repeats(what, plan.quick)),
        ("--folds", plan.folds, FOLDS),
        ("--seed", plan.seed, SEED),
    ):
        words += [option, str(value)] * (value != usual)
    return shlex.join(words)


def _show_failures(failures: list[Failure]) -> None:
    alike: dict[tuple[str, str, str], list[Failure]] = {}
    for one in failures:
        alike.setdefault((one.system, one.dataset, one.message), []).append(one)
    for (system, dataset, message), group in list(alike.items())[:MOST_FAILURES_SHOWN]:
        first = f"repetition {group[0].repeat + 1}, fold {group[0].fold + 1}"
        others = f" and {len(group) - 1} more" if len(group) > 1 else ""
        typer.echo(f"Failed: {system} on {dataset}, {first}{others}: {message}", err=True)
    if len(alike) > MOST_FAILURES_SHOWN:
        typer.echo(f"... and {len(alike) - MOST_FAILURES_SHOWN} other faults.", err=True)
    if failures:
        typer.echo(f"{count(len(failures), 'fold')} failed; the same command tries them again.", err=True)


def _show_and_write(output: Path, folder: Path, kind: Kind) -> None:
    from setrbm.evaluation import results
    from setrbm.reproduction.rendering import as_html, as_latex
    from setrbm.reproduction.tables import Table1

    path = output / What.TABLE1.results
    if not (rows := results.read(path)):
        raise Refused(f"There must be results to show. {path} has none.")
    table = Table1(rows, kind.repeats, kind.folds, kind.quick)
    if table.shortcut:
        typer.echo(table.shortcut)
    show_table("", ("system", *table.datasets, "average", "paper"), _lines(table))
    page = _write_page(output, folder, table)
    (folder / "table1.html").write_text(as_html(table), encoding="utf-8")
    (folder / "table1.tex").write_text(as_latex(table), encoding="utf-8")
    typer.echo(f"Results: {path}. Table: {folder / 'table1.html'}, {folder / 'table1.tex'}.")
    typer.echo(f"Page: {page}.")
    if find_spec("matplotlib") is None:
        typer.echo("It has no pictures: matplotlib is not installed. Run: pip install 'setrbm[plot]'", err=True)


def _write_page(output: Path, folder: Path, table: Table1) -> Path:
    from setrbm.evaluation import results, runs
    from setrbm.reproduction.report import write_report

    again = output / AGAIN
    made = [run for what in (What.TABLE1, What.EFFECTS) for run in runs.read(output / what.runs)]
    made += [
        {**run, "command": f"{run['command']} -o {output.name}/{AGAIN}"} for run in runs.read(again / What.TABLE1.runs)
    ]
    return write_report(
        table.rows, made, folder, _remarks(output / REMARKS), table.repeats, table.folds,
        results.read(output / What.EFFECTS.results), results.read(again / What.TABLE1.results), table.quick,
    )  # fmt: skip


def _remarks(path: Path) -> dict[tuple[str, str], str]:
    """Return what is said of single cells; nothing where there is no such file."""
    if not path.exists():
        return {}
    try:
        listed = json_module.loads(path.read_text(encoding="utf-8"))
        return {(str(one["system"]), str(one["dataset"])): str(one["remark"]) for one in listed}
    except (ValueError, TypeError, KeyError) as error:
        raise Refused(
            f"{path} must hold a list in JSON, each with system, dataset and remark. Got something else: {error}."
        ) from None


def _show_effects(outcome: RunSummary) -> None:
    from setrbm.reproduction.effects import EFFECTS, curves
    from setrbm.reproduction.rendering import number

    datasets = list(dict.fromkeys(row.dataset for row in outcome.rows))
    lines = []
    for setting, values in EFFECTS.items():
        known = curves(outcome.rows, setting)
        for value in values:
            found = [known.get(dataset, {}).get(float(value)) for dataset in datasets]
            lines.append((f"{setting}={value:g}", *(number(None if one is None else one[1]) for one in found)))
    show_table("", ("setting", *datasets), lines)


def _lines(table: Table1) -> list[tuple[Any, ...]]:
    from setrbm.reproduction.rendering import number

    return [
        (
            system,
            *(number(table.mean(system, dataset)) for dataset in table.datasets),
            number(table.average(system)),
            number(table.paper_average(system), 2) if table.average(system) is not None else "-",
        )
        for system in table.systems
        if any(table.cells[system, dataset].n_folds for dataset in table.datasets)
    ]
