"""What commands that can run on a cluster share: options, the connection, and how scoring is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._errors import FAILED, Refused
from setrbm.cli._output import check_output_folder, count, show_json
from setrbm.cli._progress import Bar

if TYPE_CHECKING:
    from setrbm.dask import Receipt
    from setrbm.datasets.for_models import Columns

CLUSTER = "Cluster"
MOST_FAILURES_SHOWN = 10


@dataclass(frozen=True)
class ClusterOptions:
    """The options of every command that can run on a Dask cluster."""

    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Work on a Dask cluster: the address of its scheduler, a scheduler file, or 'local' for a process per "
            "core of this machine.",
            rich_help_panel=CLUSTER,
            show_default=False,
        ),
    ] = None
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            "--tls-ca", metavar="FILE", help="Certificate of the authority, for tls://.", rich_help_panel=CLUSTER
        ),
    ] = None
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Our certificate.", rich_help_panel=CLUSTER)
    ] = None
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key.", rich_help_panel=CLUSTER)
    ] = None

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Provide a client of the cluster; None if none is named."""
        if self.cluster is None:
            if self._tls:
                raise Refused("--tls-ca, --tls-cert and --tls-key are for --cluster. Name the cluster too.")
            yield None
            return
        from setrbm.dask import connected

        with connected(self.cluster, self._security()) as client:
            yield client

    @property
    def _tls(self) -> dict[str, str]:
        files = {"tls_ca_file": self.tls_ca, "tls_client_cert": self.tls_cert, "tls_client_key": self.tls_key}
        return {name: str(path) for name, path in files.items() if path is not None}

    def _security(self) -> Any:
        if not self._tls:
            # dask's own settings may have certificates.
            return None
        if len(self._tls) < 3:
            raise Refused("TLS needs all of --tls-ca, --tls-cert and --tls-key.")
        if missing := [path for path in self._tls.values() if not Path(path).is_file()]:
            raise Refused(f"--tls-ca, --tls-cert and --tls-key must name files. There is no file {missing[0]!r}.")
        from setrbm.dask.cluster import security

        return security(**self._tls)


def score_on_cluster(
    client: Any, model: Path, data: Path, output: Path | None, columns: Columns, probabilities: bool, quiet: bool,
    json: bool,
) -> None:  # fmt: skip
    """Score a file, or all data files of a folder, on a cluster, and show what became of them."""
    from setrbm.dask import score_files

    if output is None:
        raise Refused("With --cluster, -o must name the folder for the outputs.")
    check_output_folder(output)
    inputs = data_files(data)
    done: list[Receipt] = []
    with Bar("Scoring", len(inputs), quiet) as bar:

        def show(receipt: Receipt) -> None:
            done.append(receipt)
            bar.show(len(done), f"{len(done):,} of {count(len(inputs), 'file')}")

        found = score_files(
            model, inputs, output, client=client, columns=columns, probabilities=probabilities, on_receipt=show
        )
    if json:
        show_json({"model": str(model), "data": str(data), "files": [vars(one) for one in found]})
    else:
        _show(found, output)
    if any(one.failed for one in found):
        raise typer.Exit(FAILED)


def data_files(data: Path) -> list[Path]:
    """Return the data files of a folder, in the order of their names; or the file itself."""
    from setrbm.dask.scoring import is_input

    if not data.exists():
        raise Refused(f"DATA must be a file or a folder of files. There is none named {str(data)!r}.")
    if not data.is_dir():
        return [data]
    found = sorted(path for path in data.iterdir() if not path.name.startswith(".") and is_input(path))
    if not found:
        raise Refused(f"The folder {str(data)!r} must hold data files: CSV, Parquet, svmlight, .npz or .jsonl.")
    return found


def _show(found: list[Receipt], output: Path) -> None:
    new = [one for one in found if one.is_new and not one.failed]
    failed = [one for one in found if one.failed]
    kept = len(found) - len(new) - len(failed)
    n_sets = sum(one.n_sets for one in new)
    typer.echo(f"Scored {count(n_sets, 'set')} of {count(len(new), 'file')} into {output}.", err=True)
    if kept:
        typer.echo(f"{count(kept, 'output')} {'was' if kept == 1 else 'were'} there before.", err=True)
    for one in failed[:MOST_FAILURES_SHOWN]:
        typer.echo(f"Failed: {one.input}: {one.failed}", err=True)
    if len(failed) > MOST_FAILURES_SHOWN:
        typer.echo(f"... and {len(failed) - MOST_FAILURES_SHOWN:,} more.", err=True)
    if failed:
        typer.echo(f"{count(len(failed), 'file')} failed. Run the same command to try again.", err=True)
