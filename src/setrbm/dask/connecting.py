"""connected: a client of a Dask cluster, by the address of its scheduler, a scheduler file, or of this machine."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setrbm.dask.cluster import check_installed

# How long to wait for a scheduler, in seconds.
CONNECT = 60.0
# A LocalCluster gives up a worker for good that is missing 15 seconds after it died, even if it was started again
# meanwhile and has died once more.
PATIENT = {"distributed.deploy.lost-worker-timeout": "1 day"}


@contextmanager
def connected(cluster: str, security: Any = None, patience: float = CONNECT) -> Generator[Any, None, None]:
    """Provide a client of a cluster.

    Parameters
    ----------
    cluster : str
        The address of its scheduler (``tcp://host:8786`` or ``tls://...``), a scheduler file, or "local" for one worker
        process per core on this machine, which ends with the block.
    security : distributed.Security, optional
    patience : float
        How long to wait for the scheduler, in seconds.
    """
    check_installed()
    import dask
    from distributed import Client, LocalCluster

    if cluster == "local":
        # Dask warns of workers that it ends itself.
        quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR}
        with (
            dask.config.set(PATIENT),
            LocalCluster(threads_per_worker=1, **quiet) as local,
            Client(local) as client,
        ):
            yield client
        return
    address = cluster if "://" in cluster else _address_in(cluster)
    if address.startswith("tls://") and security is None and not dask.config.get("distributed.comm.tls.ca-file", None):
        raise ValueError(
            f"{address} needs certificates: --tls-ca, --tls-cert and --tls-key on the command line, security=... in "
            "Python, or Dask's own settings. Got none."
        )
    try:
        client = Client(address, security=security, timeout=patience, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ConnectionError(f"There must be a Dask scheduler at {cluster!r}. Cannot connect: {error}") from None
    with client:
        yield client


def _address_in(file: str) -> str:
    """Return the address of a scheduler in the file that it wrote."""
    needed = "The cluster must be an address such as tcp://host:8786, a scheduler file, or 'local'."
    try:
        return str(json.loads(Path(file).read_bytes())["address"])
    except OSError:
        raise FileNotFoundError(f"{needed} There is no file {file!r}.") from None
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{needed} {file!r} is not what `dask scheduler --scheduler-file` writes.") from None


def security(tls_ca_file: str, tls_client_cert: str, tls_client_key: str) -> Any:
    """Return what a client needs to speak to a scheduler by TLS."""
    check_installed()
    from distributed import Security

    return Security(
        require_encryption=True, tls_ca_file=tls_ca_file, tls_client_cert=tls_client_cert,
        tls_client_key=tls_client_key,
    )  # fmt: skip
