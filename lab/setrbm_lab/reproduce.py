"""``scripts/reproduce``: run and show the reproduction of the paper's tables."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from setrbm.dask.options import ClusterOptions
from setrbm.tools.commands import FAILED, Refused
from setrbm.tools.options import QuietOption, with_options
from setrbm.tools.output import check_output_folder
from setrbm.tools.progress import Bar
from setrbm.tools.text import count
from setrbm_lab.shown_tables import show_effects, show_results

if TYPE_CHECKING:
    from setrbm_lab.commands import Experiment, Wanted
    from setrbm_lab.plans import Plan
    from setrbm_lab.runner import Failure, RunProgress, RunSummary
    from setrbm_lab.runs import RunKind

MOST_FAILURES_SHOWN = 10


class What(StrEnum):
    """What to run, or only to show."""

    TABLE1 = "table1"
    TABLE2 = "table2"
    COLLECTION = "collection"
    EFFECTS = "effects"
    PAGE = "page"


class EngineChoice(StrEnum):
    """What trains the models."""

    CPU = "cpu"
    GPU = "gpu"


QuickOption = Annotated[
    bool, typer.Option("--quick", help="Less data, few candidates, one repetition: minutes, not hours.")
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
FoldsOption = Annotated[
    int | None, typer.Option("--folds", metavar="N", min=2, show_default="10", help="Number of folds.")
]
SplitSeedOption = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, show_default="2011; collection: 2050", help="Seed of the splits."),
]


@with_options("cluster", ClusterOptions)
def reproduce(
    what: Annotated[What, typer.Argument(metavar="WHAT", help="What to reproduce.")],
    cluster: ClusterOptions,
    quick: QuickOption = False,
    models: ModelsOption = None,
    datasets: DatasetsOption = None,
    output: OutputOption = None,
    report: ReportOption = None,
    data_home: DataHomeOption = None,
    engine: EngineOption = EngineChoice.CPU,
    jobs: JobsOption = None,
    repeats: RepeatsOption = None,
    folds: FoldsOption = None,
    seed: SplitSeedOption = None,
    quiet: QuietOption = False,
) -> None:
    """Run the paper's tables (table1, table2), our defaults on eleven data sets (collection) or the effects of single
    settings (effects), or write the pages (page).

    Every finished fold is saved at once in FOLDER/table1.csv, table2.csv, collection.csv or effects.csv. After Ctrl-C,
    an error or a kill, run the same command again to resume; existing results are never overwritten. At the end the
    table is shown and a page with significance tests and plots is written; "page" does only that, from existing
    results. If there is nothing left to run, the table is shown and no page is written. The splits of table2 are fixed:
    it takes neither --folds nor --repeats nor --seed.
    """
    from setrbm_lab.commands import Experiment, Wanted

    cluster.refuse_with(jobs=jobs, engine=engine if engine is EngineChoice.GPU else None)
    output = output or Path("results-quick" if quick else "results")
    report = report or output
    _check_folders(output, report)
    wanted = Wanted(models, datasets, quick, str(engine), jobs, repeats, folds, seed, data_home)
    if what is What.PAGE:
        tables = [Experiment.TABLE1, Experiment.TABLE2, Experiment.COLLECTION]
        for table in [table for table in tables if (output / table.results).exists()] or tables[:1]:
            show_results(table, output, _kind_on_record(table, output, wanted), report)
    else:
        _run_and_show(Experiment(what.value), wanted, output, report, quiet, cluster)


def _check_folders(output: Path, report: Path) -> None:
    """Refuse, before any work, folders that cannot be written to."""
    for folder in dict.fromkeys((output, report)):
        check_output_folder(folder)


def _kind_on_record(table: Experiment, output: Path, wanted: Wanted) -> RunKind:
    """Return the kind of the results in a folder: as recorded, else as the options say."""
    from setrbm_lab import runs
    from setrbm_lab.commands import usual_folds, usual_repeats

    repeats, folds = wanted.repeats or usual_repeats(table, wanted.quick), wanted.folds or usual_folds(table)
    recorded = runs.kind_of(runs.read(output / table.runs))
    return recorded or runs.RunKind(wanted.quick, repeats, folds)


def _run_and_show(
    experiment: Experiment, wanted: Wanted, output: Path, report: Path, quiet: bool, cluster: ClusterOptions
) -> None:
    from setrbm_lab.commands import Experiment, plan_of
    from setrbm_lab.runs import RunKind

    try:
        plan, left_out = plan_of(experiment, wanted)
    except ValueError as error:
        raise Refused(str(error)) from None
    for message in left_out:
        typer.echo(f"Left out: {message}.", err=True)
    if plan.engine == "gpu" and any(system.side_by_side for system in plan.systems):
        _check_device()
    if experiment is Experiment.TABLE2:
        _make_pictures(plan, quiet)
    kind, path = RunKind(plan.quick, plan.repeats, plan.folds), output / experiment.results
    summary = _run(experiment, plan, kind, path, quiet, cluster)
    _show_failures(summary.failures)
    idle = not summary.n_done and not summary.failures
    if idle:
        typer.echo(
            f"Nothing to do: all {count(len(summary.rows), 'fold')} are in {path}. To run them again, write to another "
            "folder with -o."
        )
    if experiment is Experiment.EFFECTS:
        show_effects(summary.rows)
        typer.echo(f"Results: {path}. Their plots are on the page of a table1 in the same folder.")
    elif summary.rows:
        show_results(experiment, output, kind, None if idle else report)
    if summary.failures:
        raise typer.Exit(FAILED)


def _make_pictures(plan: Plan, quiet: bool) -> None:
    """Generate and read the mail from page images, if the plan needs it and it is not there yet."""
    from setrbm_lab.mail_data import PICTURES
    from setrbm_lab.mail_pictures import make_pictures, n_sets_of, pictures_path
    from setrbm_mail.cli.reader import ReadingWatch

    if PICTURES not in plan.datasets or pictures_path(plan.quick).exists():
        return
    n = n_sets_of(plan.quick)
    with Bar("Mail", total=1.0, quiet=quiet) as bar:

        def generated(done: int) -> None:
            bar.show(done / n, f"generated {done:,} of {n:,}")

        make_pictures(plan.quick, generated, ReadingWatch(bar))


def _check_device() -> None:
    from setrbm.engines.gpu.engine import ENGINE

    ENGINE.check_device()


def _run(
    experiment: Experiment, plan: Plan, kind: RunKind, path: Path, quiet: bool, cluster: ClusterOptions
) -> RunSummary:
    """Run a plan with a progress bar, and record how its results were made."""
    from setrbm_lab.commands import command_of
    from setrbm_lab.runner import run
    from setrbm_lab.runs import Record

    record = Record(path.with_name(experiment.runs), command_of(experiment, plan), kind)
    with Bar(experiment.heading, total=1.0, quiet=quiet) as bar, cluster.connect() as on:

        def show(progress: RunProgress) -> None:
            done = f"{progress.n_done:,} of {count(progress.n_all, 'fold')}"
            bar.show_with(progress.n_done / progress.n_all, f"{done}, {progress.note}", progress.seconds_left)

        try:
            if on is None:
                return run(plan, path, show, record)
            from setrbm_lab.cluster import run_plan

            return run_plan(plan, path, client=on, report=show, record=record)
        except KeyboardInterrupt:
            if path.exists():
                typer.echo(f"Finished folds are in {path}. Run the same command again to resume.", err=True)
            raise


def _show_failures(failures: list[Failure]) -> None:
    from setrbm.tools.text import listed

    groups: dict[tuple[str, str, str], list[str]] = {}
    for failure in failures:
        place = f"repetition {failure.repeat + 1}, fold {failure.fold + 1}"
        groups.setdefault((failure.system, failure.dataset, failure.message), []).append(place)
    for (system, dataset, message), places in list(groups.items())[:MOST_FAILURES_SHOWN]:
        typer.echo(f"Failed: {system} on {dataset}, {listed(places, 1)}: {message}", err=True)
    if len(groups) > MOST_FAILURES_SHOWN:
        typer.echo(f"... and {len(groups) - MOST_FAILURES_SHOWN} other errors.", err=True)
    if failures:
        typer.echo(f"{count(len(failures), 'fold')} failed. Run the same command to try them again.", err=True)
