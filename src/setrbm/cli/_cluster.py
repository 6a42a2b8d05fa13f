"""Scoring on a cluster: what the command does, and how it is shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from setrbm.tools.commands import FAILED, Refused
from setrbm.tools.output import check_output_folder, show_json
from setrbm.tools.progress import Bar
from setrbm.tools.text import count

if TYPE_CHECKING:
    from setrbm.dask import FileResult, Scoring
    from setrbm.dask.options import ClusterOptions

MOST_FAILURES_SHOWN = 10


def score_on_cluster(
    options: ClusterOptions, model: Path, data: Path, output: Path | None, how: Scoring, quiet: bool
) -> list[FileResult]:
    """Score a file, or all data files of a folder, on a cluster; return the result of each."""
    from setrbm.dask import score_files

    if output is None:
        raise Refused("With --cluster, -o must name the folder for the outputs.")
    inputs = data_files(data)
    if data.is_dir() and os.path.realpath(data) == os.path.realpath(output):
        raise Refused(f"-o must name another folder than DATA: outputs must not become inputs. Got {str(data)!r}.")
    check_output_folder(output)
    done: list[FileResult] = []
    with options.connect() as cluster, Bar("Scoring", len(inputs), quiet) as bar:

        def show(result: FileResult) -> None:
            done.append(result)
            bar.show(len(done), f"{len(done):,} of {count(len(inputs), 'file')}")

        return score_files(model, inputs, output, how, client=cluster, on_result=show)


def data_files(data: Path) -> list[Path]:
    """Return the data files of a folder, in the order of their names; or the file itself."""
    from setrbm.dask.scoring import is_input

    if not data.exists():
        raise Refused(f"DATA must be a file or a folder of files. There is none named {str(data)!r}.")
    if not data.is_dir():
        return [data]
    files = sorted(path for path in data.iterdir() if path.is_file() and not path.name.startswith("."))
    inputs = [path for path in files if is_input(path)]
    if not inputs:
        raise Refused(f"The folder {str(data)!r} must hold data files: CSV, Parquet, svmlight, .npz or .jsonl.")
    if len(inputs) < len(files):
        typer.echo(f"Ignored {count(len(files) - len(inputs), 'other file')} in {data}.", err=True)
    return inputs


def show_results(results: list[FileResult], model: Path, data: Path, output: Path | None, json: bool) -> None:
    """Show the result of each file; exit with an error if one failed."""
    if json:
        show_json({"model": str(model), "data": str(data), "files": [vars(result) for result in results]})
    else:
        _show(results, str(output))
    if any(result.failed for result in results):
        raise typer.Exit(FAILED)


def _show(results: list[FileResult], output: str) -> None:
    new = [result for result in results if result.is_new and not result.failed]
    failed = [result for result in results if result.failed]
    n_kept = len(results) - len(new) - len(failed)
    n_sets = sum(result.n_sets for result in new)
    typer.echo(f"Scored {count(n_sets, 'set')} of {count(len(new), 'file')} into {output}.", err=True)
    if n_kept:
        typer.echo(f"{count(n_kept, 'output')} already existed.", err=True)
    for result in failed[:MOST_FAILURES_SHOWN]:
        typer.echo(f"Failed: {result.input}: {result.failed}", err=True)
    if len(failed) > MOST_FAILURES_SHOWN:
        typer.echo(f"... and {len(failed) - MOST_FAILURES_SHOWN:,} more.", err=True)
    if failed:
        typer.echo(f"{count(len(failed), 'file')} failed. Rerun the same command to try again.", err=True)
