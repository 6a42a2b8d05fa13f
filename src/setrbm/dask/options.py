"""The options of commands that can run on a cluster, and the connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.tools.commands import Refused

if TYPE_CHECKING:
    from setrbm.dask import Cluster

PANEL = "Cluster"


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
