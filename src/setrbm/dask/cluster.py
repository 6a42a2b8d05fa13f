"""Pure functions of small arguments, run on the workers of a Dask cluster: submit, and take what comes back.

Only ``client.submit`` and ``as_completed`` are used. A task that ends its worker again and again, as one without enough
memory does, comes back as ``Lost``; the others go on. Every task carries the version of setrbm, and a worker with
another one refuses it.
"""

from __future__ import annotations

import hashlib
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import setrbm
from setrbm._text import count
from setrbm._version import __version__

INSTALL = "Working on a cluster needs the extra 'dask': pip install 'setrbm[dask]'."
# How often to look for answers and for workers, in seconds.
TICK, LOOK = 0.01, 1.0
# How long a cluster may be without workers, in seconds.
PATIENCE = 60.0
# Stands for a result that was lost with its worker, and is made again.
AGAIN = object()


class VersionError(RuntimeError):
    """Raised if a worker has another version of setrbm."""


@dataclass(frozen=True)
class Lost:
    """What comes back from a task that raised an error, or whose workers ended."""

    reason: str


@dataclass(frozen=True)
class _Killed:
    """What comes back from a task whose workers died, through its own fault or that of another task there."""

    n_workers: int

    @property
    def lost(self) -> Lost:
        times = count(self.n_workers, "worker")
        return Lost(f"{times} ended while working on it, and on nothing else, perhaps out of memory")


@cache
def fingerprint() -> str:
    """Return the version of setrbm and a digest of its source, which differs if anything in it does."""
    folder = Path(setrbm.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{__version__}, source {digest.hexdigest()[:12]}"


def check_installed() -> None:
    """Raise ImportError unless dask.distributed is installed."""
    if find_spec("distributed") is None:
        raise ImportError(INSTALL)


def client_or_default(client: Any = None) -> Any:
    """Return the client, or the default one of this process; raise ValueError without any."""
    check_installed()
    from distributed import default_client

    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "There must be a client of a Dask cluster. Got none. On one machine: from dask.distributed import Client; "
            "client = Client(threads_per_worker=1)."
        ) from None


@contextmanager
def connected(cluster: str, security: Any = None, patience: float = PATIENCE) -> Iterator[Any]:
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
    from distributed import Client, LocalCluster

    if cluster == "local":
        with LocalCluster(threads_per_worker=1, dashboard_address="127.0.0.1:0") as local, Client(local) as client:
            yield client
        return
    where = {"address": cluster} if "://" in cluster else {"scheduler_file": cluster}
    if "scheduler_file" in where and not Path(cluster).is_file():
        raise FileNotFoundError(
            f"The cluster must be an address such as tcp://host:8786, a scheduler file, or 'local'. There is no file "
            f"{cluster!r}."
        )
    try:
        client = Client(**where, security=security, timeout=patience, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ConnectionError(f"There must be a Dask scheduler at {cluster!r}. Cannot connect: {error}") from None
    with client:
        yield client


def security(tls_ca_file: str, tls_client_cert: str, tls_client_key: str) -> Any:
    """Return what a client needs to speak to a scheduler by TLS."""
    check_installed()
    from distributed import Security

    return Security(
        require_encryption=True, tls_ca_file=tls_ca_file, tls_client_cert=tls_client_cert,
        tls_client_key=tls_client_key,
    )  # fmt: skip


class Cluster:
    """Runs functions on the workers of a client.

    Parameters
    ----------
    client : distributed.Client, optional
        The default client if it is not given.
    patience : float
        How long the cluster may be without workers, in seconds.
    """

    def __init__(self, client: Any = None, patience: float = PATIENCE) -> None:
        self.client, self.patience = client_or_default(client), patience

    @property
    def n_threads(self) -> int:
        """How many tasks the workers can run at a time."""
        return sum(worker["nthreads"] for worker in self._workers().values())

    def share(self, value: Any) -> Any:
        """Send a value once; return what stands for it in the arguments of tasks.

        The scheduler keeps it, so it survives the workers that have a copy.
        """
        with warnings.catch_warnings():
            # Sent once it is no problem.
            warnings.filterwarnings("ignore", "Sending large graph")
            return self.client.submit(_itself, value, key=f"setrbm-shared-{uuid.uuid4().hex}")

    def run(self, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Run a function on each tuple of arguments; yield the position and the result of each as it comes.

        Parameters
        ----------
        function : callable
            Of a module, so that its name is enough to find it.
        jobs : iterable of tuple
            Small: files are named, and data are shared before.

        Yields
        ------
        position : int
        result : what the function returned, or Lost
        """
        arguments = list(jobs)
        self._wait_for_workers()
        suspects = []
        for k, result in self._together(function, dict(enumerate(arguments))):
            if isinstance(result, _Killed):
                suspects.append(k)
            else:
                yield k, result
        # A worker that dies takes the tasks with it that wait there: each is tried again alone.
        for k in suspects:
            for _, result in self._together(function, {k: arguments[k]}):
                yield k, result.lost if isinstance(result, _Killed) else result

    def _together(self, function: Callable[..., Any], jobs: dict[int, tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Submit all jobs, and yield their results as they come."""
        from distributed import as_completed

        name, run = f"setrbm-{function.__name__}", uuid.uuid4().hex
        waiting = {
            self.client.submit(_checked, fingerprint(), function, *job, key=f"{name}-{run}-{k}", pure=False): k
            for k, job in jobs.items()
        }
        try:
            completed = as_completed(list(waiting), loop=self.client.loop)
            while waiting:
                for future in self._next(completed):
                    result = _result(future, self.patience) if future.done() else AGAIN
                    if result is AGAIN:
                        completed.add(future)
                    else:
                        yield waiting.pop(future), result
        finally:
            self.client.cancel(list(waiting), force=True)

    def _next(self, completed: Any) -> list[Any]:
        """Return futures that are done; raise an error if nothing can come any more."""
        begin = looked = time.monotonic()
        while not (batch := completed.next_batch(block=False)):
            time.sleep(TICK)
            if (now := time.monotonic()) - looked > LOOK:
                looked = now
                if self._workers():
                    begin = now
                elif now - begin > self.patience:
                    raise self._abandoned()
        return list(batch)

    def _workers(self) -> dict[str, Any]:
        if self.client.status != "running":
            return {}
        return dict(self.client.scheduler_info(n_workers=-1)["workers"])

    def _wait_for_workers(self) -> None:
        begin = time.monotonic()
        while not self._workers():
            if time.monotonic() - begin > self.patience:
                raise self._abandoned()
            time.sleep(TICK)

    def _abandoned(self) -> TimeoutError:
        scheduler = self.client.scheduler
        address = scheduler.address if scheduler is not None else "?"
        if self.client.status != "running":
            return TimeoutError(
                f"The scheduler at {address} has been gone for {self.patience:g} seconds. Start it again, and run this "
                "again to resume."
            )
        return TimeoutError(
            f"The cluster must have workers. The scheduler at {address} has had none for {self.patience:g} seconds. "
            f"Start some: dask worker {address} --nthreads 1 --nworkers 4. Then run this again to resume."
        )


def _itself(value: Any) -> Any:
    return value


def _checked(expected: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function on a worker with the version of setrbm that sent it."""
    if (found := fingerprint()) != expected:
        from distributed import get_worker

        raise VersionError(
            f"All workers must have the version of setrbm that sends the work, {expected}. Got {found} on the worker "
            f"{get_worker().address}. Install the same version there, or stop that worker; then run this again to "
            "resume."
        )
    return function(*arguments)


def _result(future: Any, patience: float) -> Any:
    """Return the result of a future, or why there is none; AGAIN if it died with its worker; raise VersionError."""
    from distributed import KilledWorker

    if future.status == "finished":
        try:
            return future.result(timeout=patience)
        except TimeoutError:
            return AGAIN
    if future.status == "cancelled":
        return Lost("the cluster forgot the task; was the scheduler started again?")
    error = future.exception()
    if isinstance(error, VersionError):
        raise error
    if isinstance(error, KilledWorker):
        return _Killed(error.allowed_failures + 1)
    return Lost(f"{type(error).__name__}: {error}")
