"""``setrbm reproduce``: run and show the reproduction of the paper's Table 1."""

from __future__ import annotations

import shlex
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._errors import FAILED, Refused
from setrbm.cli._options import QuietOption
from setrbm.cli._output import check_output_folder, count, show_table
from setrbm.cli._progress import Bar

if TYPE_CHECKING:
    from setrbm.evaluation.plans import Plan
    from setrbm.evaluation.results import Fold
    from setrbm.evaluation.runner import Failure, RunProgress, RunSummary
    from setrbm.evaluation.runs import Kind
    from setrbm.reproduction.commands import Experiment, Wanted
    from setrbm.reproduction.records import Records
    from setrbm.reproduction.tables import Table1

MOST_FAILURES_SHOWN = 10


class What(StrEnum):
    """What to run, or only to show."""

    TABLE1 = "table1"
    EFFECTS = "effects"
    PAGE = "page"


class EngineChoice(StrEnum):
    """What trains the models."""

    CPU = "cpu"
    GPU = "gpu"


QuickOption = Annotated[
    bool, typer.Option("--quick", help="One repetition of two data sets with few candidates: minutes, not hours.")
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option("--models", "-m", metavar="NAME", help="Only this row of the table; may be repeated."),
]
DatasetsOption = Annotated[
    list[str] | None, typer.Option("--datasets", "-d", metavar="NAME", help="Only this data set; may be repeated.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FOLDER", show_default="results, or results-quick", help="Folder for the results."
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FOLDER", show_default="the output folder", help="Folder for the page and plots."),
]
DataHomeOption = Annotated[
    Path | None, typer.Option("--data-home", metavar="FOLDER", show_default="$SETRBM_DATA", help="The data folder.")
]
EngineOption = Annotated[
    EngineChoice, typer.Option("--engine", help="Train fold by fold on all cores, or all folds at once on a GPU.")
]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", min=1, show_default="all cores", help="Number of folds trained at a time."),
]
RepeatsOption = Annotated[
    int | None, typer.Option("--repeats", metavar="N", min=1, show_default="5", help="Number of repetitions.")
]
FoldsOption = Annotated[int, typer.Option("--folds", metavar="N", min=2, help="Number of folds.")]
SplitSeedOption = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the splits.")]


def reproduce(
    what: Annotated[What, typer.Argument(help="What to reproduce.")],
    quick: QuickOption = False,
    models: ModelsOption = None,
    datasets: DatasetsOption = None,
    output: OutputOption = None,
    report: ReportOption = None,
    data_home: DataHomeOption = None,
    engine: EngineOption = EngineChoice.CPU,
    jobs: JobsOption = None,
    repeats: RepeatsOption = None,
    folds: FoldsOption = 10,
    seed: SplitSeedOption = 2011,
    quiet: QuietOption = False,
) -> None:
    """Run the paper's Table 1 (table1) or the effects of single settings (effects), or write the page (page).

    Every finished fold is saved at once in FOLDER/table1.csv, or effects.csv. After Ctrl-C, an error or a kill, run the
    same command again to resume; existing results are never overwritten. At the end the table is shown and a page with
    significance tests and plots is written; "page" does only that, from existing results. If there is nothing left to
    run, the table is shown and no page is written.
    """
    from setrbm.reproduction.commands import Experiment, Wanted

    output = output or Path("results-quick" if quick else "results")
    report = report or output
    _check_folders(output, report)
    wanted = Wanted(models, datasets, quick, str(engine), jobs, repeats, folds, seed, data_home)
    if what is What.PAGE:
        _show_table1(output, _kind_on_record(output, wanted), report)
    else:
        _run_and_show(Experiment(what.value), wanted, output, report, quiet)


def _check_folders(output: Path, report: Path) -> None:
    """Refuse, before any work, folders that cannot be written to."""
    for folder in dict.fromkeys((output, report)):
        check_output_folder(folder)


def _kind_on_record(output: Path, wanted: Wanted) -> Kind:
    """Return the kind of the results in a folder: as recorded, else as the options say."""
    from setrbm.evaluation import runs
    from setrbm.reproduction.commands import Experiment, usual_repeats

    repeats = wanted.repeats or usual_repeats(Experiment.TABLE1, wanted.quick)
    recorded = runs.kind_of(runs.read(output / Experiment.TABLE1.runs))
    return recorded or runs.Kind(wanted.quick, repeats, wanted.folds)


def _run_and_show(experiment: Experiment, wanted: Wanted, output: Path, report: Path, quiet: bool) -> None:
    from setrbm.evaluation.runs import Kind
    from setrbm.reproduction.commands import Experiment, plan_of

    try:
        plan, left_out = plan_of(experiment, wanted)
    except ValueError as error:
        raise Refused(str(error)) from None
    for message in left_out:
        typer.echo(f"Left out: {message}.", err=True)
    if plan.engine == "gpu" and any(system.side_by_side for system in plan.systems):
        _check_device()
    kind, path = Kind(plan.quick, plan.repeats, plan.folds), output / experiment.results
    summary = _run(experiment, plan, kind, path, quiet)
    _show_failures(summary.failures)
    idle = not summary.n_done and not summary.failures
    if idle:
        typer.echo(
            f"Nothing to do: all {count(len(summary.rows), 'fold')} are in {path}. To run them again, write to another "
            "folder with -o."
        )
    if experiment is Experiment.TABLE1 and summary.rows:
        _show_table1(output, kind, None if idle else report)
    elif experiment is Experiment.EFFECTS:
        _show_effects(summary.rows)
        typer.echo(f"Results: {path}. Their plots are on the page of a table1 in the same folder.")
    if summary.failures:
        raise typer.Exit(FAILED)


def _check_device() -> None:
    from setrbm.engines.gpu.engine import ENGINE

    ENGINE.check_device()


def _run(experiment: Experiment, plan: Plan, kind: Kind, path: Path, quiet: bool) -> RunSummary:
    """Run a plan with a progress bar, and record how its results were made."""
    from setrbm.evaluation.runner import run
    from setrbm.evaluation.runs import Record
    from setrbm.reproduction.commands import Experiment, command_of

    record = Record(path.with_name(experiment.runs), command_of(experiment, plan), kind)
    with Bar("Effects" if experiment is Experiment.EFFECTS else "Table 1", total=1.0, quiet=quiet) as bar:

        def show(progress: RunProgress) -> None:
            done = f"{progress.n_done:,} of {count(progress.n_all, 'fold')}"
            bar.show_with(progress.n_done / progress.n_all, f"{done}, {progress.note}", progress.seconds_left)

        try:
            return run(plan, path, show, record)
        except KeyboardInterrupt:
            if path.exists():
                typer.echo(f"Finished folds are in {path}. Run the same command again to resume.", err=True)
            raise


def _show_failures(failures: list[Failure]) -> None:
    from setrbm._text import listed

    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in failures:
        place = f"repetition {one.repeat + 1}, fold {one.fold + 1}"
        groups.setdefault((one.system, one.dataset, one.message), []).append(place)
    for (system, dataset, message), places in list(groups.items())[:MOST_FAILURES_SHOWN]:
        typer.echo(f"Failed: {system} on {dataset}, {listed(places, 1)}: {message}", err=True)
    if len(groups) > MOST_FAILURES_SHOWN:
        typer.echo(f"... and {len(groups) - MOST_FAILURES_SHOWN} other errors.", err=True)
    if failures:
        typer.echo(f"{count(len(failures), 'fold')} failed. Run the same command to try them again.", err=True)


def _show_table1(output: Path, kind: Kind, folder: Path | None) -> None:
    """Show the table of the results in a folder; write its page to another one, unless that is None."""
    from setrbm.reproduction.records import Records
    from setrbm.reproduction.tables import Table1

    records = Records.read(output)
    if not records.rows:
        raise Refused(f"There are no results to show in {output / 'table1.csv'}. Run setrbm reproduce table1 first.")
    table = Table1(records.rows, kind.repeats, kind.folds, kind.quick)
    if table.shortcut:
        typer.echo(table.shortcut)
    show_table("", ("system", *table.datasets, "average", "paper"), _lines(table))
    if folder is None:
        typer.echo(f"No page was written. To write it anew: setrbm reproduce page -o {shlex.quote(str(output))}")
    else:
        _write_page(table, records, output, folder)


def _write_page(table: Table1, records: Records, output: Path, folder: Path) -> None:
    from setrbm._files import write_atomically
    from setrbm.reproduction.rendering import as_html, as_latex
    from setrbm.reproduction.report import write_report

    page = write_report(table, records, folder)
    write_atomically(folder / "table1.html", as_html(table).encode())
    write_atomically(folder / "table1.tex", as_latex(table).encode())
    typer.echo(f"Results: {output / 'table1.csv'}. Table: {folder / 'table1.html'}, {folder / 'table1.tex'}.")
    typer.echo(f"Page: {page}.")
    if find_spec("matplotlib") is None:
        typer.echo("It has no plots: matplotlib is not installed. Run: pip install 'setrbm[plot]'", err=True)


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


def _show_effects(rows: list[Fold]) -> None:
    from setrbm.reproduction.effects import EFFECTS, curves
    from setrbm.reproduction.rendering import number

    datasets = list(dict.fromkeys(row.dataset for row in rows))
    lines = []
    for setting, values in EFFECTS.items():
        known = curves(rows, setting)
        for value in values:
            found = [known.get(dataset, {}).get(float(value)) for dataset in datasets]
            lines.append((f"{setting}={value:g}", *(number(None if one is None else one[1]) for one in found)))
    show_table("", ("setting", *datasets), lines)
