"""``setrbm reproduce``: the paper's first table, made anew by one command."""

from __future__ import annotations

import json as json_module
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._errors import FAILED, Refused
from setrbm.cli._options import QuietOption
from setrbm.cli._output import count, show_table
from setrbm.cli._progress import Bar

if TYPE_CHECKING:
    from setrbm.evaluation.runner import Failure, Outcome, Plan, Progress
    from setrbm.evaluation.tables import Table1

RESULTS, RUNS = "table1.csv", "table1-runs.json"
QUICK_DATASETS = ("musk1", "elephant")
MOST_FAILURES_SHOWN = 10


class What(StrEnum):
    """What can be reproduced."""

    TABLE1 = "table1"


class Engine(StrEnum):
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
        Engine, typer.Option("--engine", help="Fold by fold on all cores, or all folds at once on a GPU.")
    ] = Engine.CPU,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", min=1, show_default="all cores", help="Folds at a time.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option("--repeats", metavar="N", min=1, show_default="5", help="Repetitions.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", metavar="N", min=2, help="Parts of a cross-validation.")] = 10,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The seed of the splits.")] = 0,
    quiet: QuietOption = False,
) -> None:
    """Make the paper's first table anew: every system on every fold of every data set.

    Every finished fold is kept at once in FOLDER/table1.csv. After Ctrl-C, a fault or a kill the same command goes on
    where it was; what is there is never made twice or overwritten. At the end the table is shown, and a page with
    tests and pictures is written.
    """
    output = output or Path("results-quick" if quick else "results")
    plan = _plan(quick, models, datasets, data_home, engine, jobs, repeats, folds, seed)
    path = output / RESULTS
    outcome = _run(plan, path, quiet)
    _note_run(output / RUNS, plan, outcome)
    _show_failures(outcome.failures)
    _show_and_write(path, output / RUNS, report or output, plan)
    if outcome.failures:
        raise typer.Exit(FAILED)


def _plan(
    quick: bool, models: list[str] | None, datasets: list[str] | None, data_home: Path | None, engine: str,
    jobs: int | None, repeats: int | None, folds: int, seed: int,
) -> Plan:  # fmt: skip
    from joblib import cpu_count

    from setrbm.datasets.benchmarks import find_benchmark, load_benchmark
    from setrbm.evaluation.paper import DATASETS, REPEATS
    from setrbm.evaluation.runner import Plan
    from setrbm.evaluation.systems import ALL, find_system

    try:
        # Whoever names a row twice wants it once.
        systems = list({system.name: system for system in map(find_system, models or ALL)}.values())
        wanted = datasets or (QUICK_DATASETS if quick else DATASETS)
        names = list(dict.fromkeys(find_benchmark(name).name for name in wanted))
    except ValueError as error:
        raise Refused(str(error)) from None
    return Plan(
        systems=systems,
        datasets=names,
        load=lambda name: load_benchmark(name, data_home),
        folds=folds,
        repeats=repeats or (1 if quick else REPEATS),
        seed=seed,
        quick=quick,
        engine=str(engine),
        n_jobs=jobs or cpu_count(),
    )


def _run(plan: Plan, path: Path, quiet: bool) -> Outcome:
    from setrbm.evaluation.runner import run

    with Bar("Table 1", total=1.0, quiet=quiet) as bar:

        def show(progress: Progress) -> None:
            done = f"{progress.n_done:,} of {count(progress.n_all, 'fold')}"
            bar.show_with(progress.n_done / progress.n_all, f"{done}, {progress.note}", progress.seconds_left)

        try:
            return run(plan, path, show)
        except KeyboardInterrupt:
            if path.exists():
                typer.echo(f"What is finished is in {path}; the same command goes on from there.", err=True)
            raise


def _note_run(path: Path, plan: Plan, outcome: Outcome) -> None:
    from setrbm.evaluation.runner import add_run

    if outcome.n_done:
        add_run(path, plan, _command(plan), outcome)


def _command(plan: Plan) -> str:
    """Return the command that makes these results, without the folders of this machine."""
    from setrbm.evaluation.paper import DATASETS, FOLDS, REPEATS
    from setrbm.evaluation.systems import ALL

    words = ["setrbm", "reproduce", "table1"] + ["--quick"] * plan.quick
    if plan.engine != "cpu":
        words += ["--engine", plan.engine]
    if [system.name for system in plan.systems] != list(ALL):
        words += [word for system in plan.systems for word in ("-m", system.name)]
    if list(plan.datasets) != list(QUICK_DATASETS if plan.quick else DATASETS):
        words += [word for dataset in plan.datasets for word in ("-d", dataset)]
    for option, value, usual in (
        ("--repeats", plan.repeats, 1 if plan.quick else REPEATS),
        ("--folds", plan.folds, FOLDS),
        ("--seed", plan.seed, 0),
    ):
        words += [option, str(value)] * (value != usual)
    return shlex.join(words)


def _show_failures(failures: list[Failure]) -> None:
    for one in failures[:MOST_FAILURES_SHOWN]:
        where = f"{one.system} on {one.dataset}, repetition {one.repeat + 1}, fold {one.fold + 1}"
        typer.echo(f"Failed: {where}: {one.message}", err=True)
    if len(failures) > MOST_FAILURES_SHOWN:
        typer.echo(f"... and {len(failures) - MOST_FAILURES_SHOWN} more.", err=True)
    if failures:
        typer.echo(f"{count(len(failures), 'fold')} failed; the same command tries them again.", err=True)


def _show_and_write(path: Path, runs: Path, folder: Path, plan: Plan) -> None:
    from setrbm.evaluation import results
    from setrbm.evaluation.rendering import as_html, as_latex
    from setrbm.evaluation.tables import Table1

    table = Table1(results.read(path), plan.repeats, plan.folds)
    show_table("", ("system", *table.datasets, "average", "paper"), _lines(table))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table1.html").write_text(as_html(table), encoding="utf-8")
    (folder / "table1.tex").write_text(as_latex(table), encoding="utf-8")
    typer.echo(f"Results: {path}. Table: {folder / 'table1.html'}, {folder / 'table1.tex'}.")
    _write_page(path, runs, folder, plan)


def _write_page(path: Path, runs: Path, folder: Path, plan: Plan) -> None:
    from setrbm.evaluation import results
    from setrbm.evaluation.report import write_report

    known = json_module.loads(runs.read_text(encoding="utf-8")) if runs.exists() else []
    try:
        page = write_report(results.read(path), known, folder, repeats=plan.repeats, folds=plan.folds)
    except ImportError as error:
        typer.echo(f"No page was written. {error}", err=True)
        return
    typer.echo(f"Page: {page}.")


def _lines(table: Table1) -> list[tuple[Any, ...]]:
    from setrbm.evaluation.rendering import number

    return [
        (
            system,
            *(number(table.mean(system, dataset)) for dataset in table.datasets),
            number(table.average(system)),
            number(table.paper_average(system)),
        )
        for system in table.systems
    ]
