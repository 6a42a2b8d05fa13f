"""Tables of results in the terminal, and their pages."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from setrbm.tools.commands import Refused
from setrbm.tools.output import show_table

if TYPE_CHECKING:
    from setrbm_lab.commands import Experiment
    from setrbm_lab.records import Records
    from setrbm_lab.results import Fold
    from setrbm_lab.runs import RunKind
    from setrbm_lab.tables import Table, Table1


def show_results(experiment: Experiment, output: Path, kind: RunKind, folder: Path | None) -> None:
    """Show the table of the results in a folder; write its page to another one, unless that is None."""
    from setrbm_lab.commands import Experiment

    show = {Experiment.TABLE2: _show_table2, Experiment.COLLECTION: _show_collection}.get(experiment, _show_table1)
    show(output, kind, folder)
    if folder is None:
        typer.echo(f"No page was written. To write it anew: scripts/reproduce page -o {shlex.quote(str(output))}")
    elif find_spec("matplotlib") is None:
        typer.echo("It has no plots: matplotlib is not installed. Run: pip install 'setrbm[plot]'", err=True)


def _show_table1(output: Path, kind: RunKind, folder: Path | None) -> None:
    from setrbm_lab.records import Records
    from setrbm_lab.rendering import number
    from setrbm_lab.tables import Table1

    records = Records.read(output)
    _check_rows(records.rows, output, "table1")
    table = Table1(records.rows, kind.repeats, kind.folds, kind.quick)
    ranked = table.ranked()
    averages = {
        system: (number(table.average(system)), number(table.paper_average(system), 2) if system in ranked else "-")
        for system in table.systems
    }
    _show(table, ("average", "paper"), averages)
    if folder is not None:
        _write_page1(table, records, output, folder)


def _show_table2(output: Path, kind: RunKind, folder: Path | None) -> None:
    from setrbm_lab.mail_report import write_mail_report
    from setrbm_lab.mail_tables import MailRecords, Table2

    records = MailRecords.read(output)
    _check_rows(records.rows, output, "table2")
    table = Table2(records.rows, records.curves, kind.quick)
    _show(table, (), {})
    if folder is not None:
        page = write_mail_report(table, records, folder)
        typer.echo(f"Results: {output / 'table2.csv'}, {output / 'table2-curves.csv'}.")
        typer.echo(f"Page: {page}.")


def _show_collection(output: Path, kind: RunKind, folder: Path | None) -> None:
    from statistics import fmean

    from setrbm_lab.collection import CollectionRecords, CollectionTable
    from setrbm_lab.collection_report import write_collection_report
    from setrbm_lab.rendering import number

    records = CollectionRecords.read(output)
    _check_rows(records.rows, output, "collection")
    table = CollectionTable(records.rows, kind.repeats, kind.folds, kind.quick)
    if table.shortcut:
        typer.echo(table.shortcut)
    # Eleven data sets are too many for the width of a terminal; the page has them all.
    lines = []
    for system in table.systems:
        means = [mean for name in table.datasets if (mean := table.mean(system, name)) is not None]
        if means:
            lines += [(system, len(means), number(fmean(means)))]
    show_table("", ("system", "complete data sets", "average accuracy"), lines)
    if folder is not None:
        page = write_collection_report(table, records, folder)
        typer.echo(f"Results: {output / 'collection.csv'}.")
        typer.echo(f"Page: {page}.")


def _check_rows(rows: Any, output: Path, name: str) -> None:
    if not rows:
        raise Refused(f"There are no results to show in {output / f'{name}.csv'}. Run scripts/reproduce {name} first.")


def _show(table: Table, more_heads: tuple[str, ...], more: Mapping[str, tuple[str, ...]]) -> None:
    """Show the means of all systems that have results, and more columns."""
    from setrbm_lab.rendering import number

    if table.shortcut:
        typer.echo(table.shortcut)
    lines = [
        (system, *(number(table.mean(system, dataset)) for dataset in table.datasets), *more.get(system, ()))
        for system in table.systems
        if any(table.cells[system, dataset].n_folds for dataset in table.datasets)
    ]
    show_table("", ("system", *table.datasets, *more_heads), lines)


def _write_page1(table: Table1, records: Records, output: Path, folder: Path) -> None:
    from setrbm.tools.files import write_atomically
    from setrbm_lab.rendering import as_html, as_latex
    from setrbm_lab.report import write_report

    page = write_report(table, records, folder)
    write_atomically(folder / "table1.html", as_html(table).encode())
    write_atomically(folder / "table1.tex", as_latex(table).encode())
    typer.echo(f"Results: {output / 'table1.csv'}. Table: {folder / 'table1.html'}, {folder / 'table1.tex'}.")
    typer.echo(f"Page: {page}.")


def show_effects(rows: list[Fold]) -> None:
    """Show the accuracy for each value of each setting."""
    from setrbm_lab.effects import EFFECTS, curves
    from setrbm_lab.rendering import number

    datasets = list(dict.fromkeys(row.dataset for row in rows))
    lines = []
    for setting, values in EFFECTS.items():
        known = curves(rows, setting)
        for value in values:
            points = [known.get(dataset, {}).get(float(value)) for dataset in datasets]
            lines.append((f"{setting}={value:g}", *(number(None if point is None else point[1]) for point in points)))
    show_table("", ("setting", *datasets), lines)
