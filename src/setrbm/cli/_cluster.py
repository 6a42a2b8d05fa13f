"""What commands that can run on a cluster share: options, the connection, and how scoring is shown."""

from __future__ import annotations

import os
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
    from setrbm.dask import Cluster, Receipt, Scoring

PANEL = "Cluster"
MOST_FAILURES_SHOWN = 10
# The options of ClusterOptions, as parameters.
CLUSTER_PARAMETERS = ("cluster", "wait", "tls_ca", "tls_cert", "tls_key")


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
            rich_help_panel=PANEL,
            show_default=False,
        ),
    ] = None
    wait: Annotated[
        float | None,
        typer.Option(
            "--wait",
            metavar="SECONDS",
            min=0.0,
            help="How long to wait for the scheduler (60 at most), and while the cluster has no workers.",
            rich_help_panel=PANEL,
            show_default="300",
        ),
    ] = None
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            "--tls-ca", metavar="FILE", help="Certificate of the authority, for tls://.", rich_help_panel=PANEL
        ),
    ] = None
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="The client's certificate.", rich_help_panel=PANEL)
    ] = None
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="The client's private key.", rich_help_panel=PANEL)
    ] = None

    def refuse_with(self, **others: Any) -> None:
        """Refuse options that say how to work on this machine, if there is a cluster; None was not given."""
        given = [name for name, value in others.items() if value is not None]
        if self.cluster is not None and given:
            option = f"--{given[0].replace('_', '-')}"
            raise Refused(f"{option} is for work on this machine, --cluster for work elsewhere. Use one or the other.")

    @contextmanager
    def connect(self) -> Iterator[Cluster | None]:
        """Provide the cluster; None if none is named."""
        if self.cluster is None:
            if self._tls or self.wait is not None:
                raise Refused("--wait, --tls-ca, --tls-cert and --tls-key are for --cluster. Name the cluster too.")
            yield None
            return
        from setrbm.dask.cluster import PATIENCE, Cluster
        from setrbm.dask.connecting import CONNECT, connected

        wait = PATIENCE if self.wait is None else self.wait
        with connected(self.cluster, self._security(), min(CONNECT, wait)) as client:
            yield Cluster(client, wait)

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
        from setrbm.dask.connecting import security

        return security(**self._tls)


def score_on_cluster(
    options: ClusterOptions, model: Path, data: Path, output: Path | None, how: Scoring, quiet: bool
) -> list[Receipt]:
    """Score a file, or all data files of a folder, on a cluster; return what became of each."""
    from setrbm.dask import score_files

    if output is None:
        raise Refused("With --cluster, -o must name the folder for the outputs.")
    inputs = data_files(data)
    if data.is_dir() and os.path.realpath(data) == os.path.realpath(output):
        raise Refused(f"-o must name another folder than DATA: outputs must not become inputs. Got {str(data)!r}.")
    check_output_folder(output)
    done: list[Receipt] = []
    with options.connect() as cluster, Bar("Scoring", len(inputs), quiet) as bar:

        def show(receipt: Receipt) -> None:
            done.append(receipt)
            bar.show(len(done), f"{len(done):,} of {count(len(inputs), 'file')}")

        return score_files(model, inputs, output, how, client=cluster, on_receipt=show)


def data_files(data: Path) -> list[Path]:
    """Return the data files of a folder, in the order of their names; or the file itself."""
    from setrbm.dask.scoring import is_input

    if not data.exists():
        raise Refused(f"DATA must be a file or a folder of files. There is none named {str(data)!r}.")
    if not data.is_dir():
        return [data]
    files = sorted(path for path in data.iterdir() if path.is_file() and not path.name.startswith("."))
    found = [path for path in files if is_input(path)]
    if not found:
        raise Refused(f"The folder {str(data)!r} must hold data files: CSV, Parquet, svmlight, .npz or .jsonl.")
    if len(found) < len(files):
        typer.echo(f"Ignored {count(len(files) - len(found), 'other file')} in {data}.", err=True)
    return found


def show_receipts(found: list[Receipt], model: Path, data: Path, output: Path | None, json: bool) -> None:
    """Show what became of each file; exit with an error if one failed."""
    if json:
        show_json({"model": str(model), "data": str(data), "files": [vars(one) for one in found]})
    else:
        _show(found, str(output))
    if any(one.failed for one in found):
        raise typer.Exit(FAILED)


def _show(found: list[Receipt], output: str) -> None:
    new = [one for one in found if one.is_new and not one.failed]
    failed = [one for one in found if one.failed]
    kept = len(found) - len(new) - len(failed)
    n_sets = sum(one.n_sets for one in new)
    typer.echo(f"Scored {count(n_sets, 'set')} of {count(len(new), 'file')} into {output}.", err=True)
    if kept:
        typer.echo(f"{count(kept, 'output')} already existed.", err=True)
    for one in failed[:MOST_FAILURES_SHOWN]:
        typer.echo(f"Failed: {one.input}: {one.failed}", err=True)
    if len(failed) > MOST_FAILURES_SHOWN:
        typer.echo(f"... and {len(failed) - MOST_FAILURES_SHOWN:,} more.", err=True)
    if failed:
        typer.echo(f"{count(len(failed), 'file')} failed. Rerun the same command to try again.", err=True)
