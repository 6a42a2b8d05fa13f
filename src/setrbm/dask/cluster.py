"""Pure functions of small arguments, run on the workers of a Dask cluster: submit them, and collect the results.

Only ``client.submit`` and ``as_completed`` are used. A task that repeatedly kills its workers, for example because it
runs out of memory, becomes ``Failed``; the others continue. Every task carries the version of setrbm, and is refused by
a worker with another one. Functions and arguments travel as bytes, which a worker unpacks after that check.
"""

from __future__ import annotations

import hashlib
import pickle
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from setrbm._version import __version__
from setrbm.tools.errors import SetrbmError
from setrbm.tools.text import count

INSTALL = "Working on a cluster needs the extra 'dask': pip install 'setrbm[dask]'."
# How often to look for results, how often to count workers, how long the scheduler may take to answer, and how long a
# result may be on its way, in seconds.
TICK, LOOK, ANSWER, GATHER = 0.01, 1.0, 10.0, 60.0
# How long a cluster may be without workers, in seconds. Batch systems take minutes to start some.
PATIENCE = 300.0
# How long without workers until a warning says so, in seconds.
SILENCE = 20.0
# How often the result of a task may be lost on its way.
MOST_LOSSES = 20
# The position and the result of each task.
Results = Generator[tuple[int, Any], None, None]
# Markers for lost results: the worker died or does not answer, so Dask makes it again; or Dask has forgotten the task.
AGAIN, FORGOTTEN = object(), object()


class ClusterError(SetrbmError):
    """Raised if a cluster could not finish its work. Rerun to resume."""


class VersionError(ClusterError):
    """Raised if a worker has another version of setrbm."""


@dataclass(frozen=True)
class Failed:
    """The result of a task that raised an error, or whose workers died.

    Attributes
    ----------
    reason : str
    was_killed : bool
        Whether the workers died.
    error : Exception or None
        What the task raised.
    """

    reason: str
    was_killed: bool = False
    error: Exception | None = field(default=None, compare=False)


@dataclass
class Shared:
    """A value that is sent once and used by many tasks."""

    payload: bytes
    future: Any = None


@cache
def fingerprint(package: str = "setrbm") -> str:
    """Return the version of setrbm and a digest of its source, and of that of a package that builds on it."""
    digest = hashlib.sha256()
    for name in dict.fromkeys(("setrbm", package)):
        folder = Path(str(import_module(name).__file__)).parent
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
            "client = Client(threads_per_worker=1); in a script, below if __name__ == '__main__':."
        ) from None


class Cluster:
    """Runs functions on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client, optional
        The default client if it is not given.
    patience : float
        How long the cluster may be without workers, in seconds.
    """

    def __init__(self, client: Any = None, patience: float = PATIENCE) -> None:
        self.client, self.patience = client_or_default(client), patience

    @classmethod
    def of(cls, client: Any) -> Self:
        """Return a client, or the default one for None, as a Cluster."""
        return client if isinstance(client, cls) else cls(client)

    @property
    def n_threads(self) -> int:
        """How many tasks the workers can run at a time."""
        return sum(self._threads().values())

    def share(self, value: Any) -> Shared:
        """Return what stands for a value in the arguments of tasks; the value itself is sent once.

        The scheduler keeps it, so it survives the workers that have a copy.
        """
        return Shared(_packed(value))

    def run(self, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], *, alone: bool = True) -> Results:
        """Run a function on each tuple of arguments; yield the position and the result of each as it comes.

        Parameters
        ----------
        function : callable
        jobs : iterable of tuple
            The arguments, which are small; what ``share`` returned comes last.
        alone : bool
            Whether a task whose workers died is tried again while nothing else runs.

        Yields
        ------
        position : int
        result : what the function returned, or Failed
        """
        arguments = dict(enumerate(jobs))
        suspects = []
        with closing(self._together(function, arguments)) as results:
            for k, result in results:
                if alone and isinstance(result, Failed) and result.was_killed:
                    suspects.append(k)
                else:
                    yield k, result
        # A worker that dies takes the tasks with it that wait there: each is tried again alone.
        for k in suspects:
            with closing(self._together(function, {k: arguments[k]})) as results:
                yield from results

    def _together(self, function: Callable[..., Any], jobs: dict[int, tuple[Any, ...]]) -> Results:
        """Submit all jobs, and yield their results as they come."""
        from distributed import as_completed

        carrier, losses = _carrier(), Counter[int]()
        waiting = {self._submit(carrier, function, job): k for k, job in jobs.items()}
        try:
            completed = as_completed(list(waiting), loop=self.client.loop)
            while waiting:
                for future in self._next(completed):
                    k, result = waiting.pop(future), self._result(future)
                    if result is AGAIN or result is FORGOTTEN:
                        losses[k] += 1
                        if losses[k] > MOST_LOSSES:
                            yield k, Failed(f"its result was lost {losses[k]} times")
                            continue
                        if result is FORGOTTEN:
                            future = self._submit(carrier, function, jobs[k])
                        waiting[future] = k
                        completed.add(future)
                    else:
                        yield k, result
        finally:
            for future in waiting:
                future.release()

    def _submit(self, carrier: Callable[..., Any], function: Callable[..., Any], job: tuple[Any, ...]) -> Any:
        """Submit one task, once the client has a connection."""
        self._wait_for_connection()
        own = [argument for argument in job if not isinstance(argument, Shared)]
        shared = [self._sent(argument) for argument in job if isinstance(argument, Shared)]
        key = f"setrbm-{function.__name__}-{uuid.uuid4().hex}"
        # Functions of other packages, such as those of a user, have no version that could be compared.
        package = function.__module__.partition(".")[0]
        package = package if package.startswith("setrbm") else "setrbm"
        expected, payload = fingerprint(package), _packed((function, own))
        return self.client.submit(carrier, package, expected, payload, *shared, key=key, pure=False)

    def _sent(self, shared: Shared) -> Any:
        """Return the future of a shared value, sent if it was not, or is lost."""
        if shared.future is None or shared.future.status in ("cancelled", "error", "lost"):
            with warnings.catch_warnings():
                # Sent once it is no problem.
                warnings.filterwarnings("ignore", "Sending large graph")
                key = f"setrbm-shared-{uuid.uuid4().hex}"
                # The function is one of Python's own, so that any worker can run it.
                shared.future = self.client.submit(bytes, shared.payload, key=key, pure=False)
        return shared.future

    def _next(self, completed: Any) -> list[Any]:
        """Return futures that are done; raise an error if nothing can come any more."""
        seen = looked = time.monotonic()
        has_warned = False
        while not (batch := completed.next_batch(block=False)):
            time.sleep(TICK)
            if (now := time.monotonic()) - looked < LOOK:
                continue
            looked = now
            if self._threads():
                seen = now
            elif now - seen > self.patience:
                raise self._abandoned()
            elif now - seen > SILENCE and not has_warned:
                has_warned = True
                warnings.warn(f"The cluster has no workers. Waiting {self.patience:g} seconds for some.", stacklevel=2)
        return list(batch)

    def _result(self, future: Any) -> Any:
        """Return the result of a future that was done a moment ago, or what became of it since."""
        status, error = future.status, None
        try:
            if status == "finished":
                return self._unpacked(future.result(timeout=GATHER))
            if status == "error":
                error = future.exception(timeout=GATHER)
        except TimeoutError:
            return AGAIN
        except VersionError:
            raise
        except Exception as raised:
            error = raised
        if status == "cancelled" or isinstance(error, CancelledError):
            return FORGOTTEN
        return AGAIN if error is None else _failed(error)

    def _unpacked(self, answer: tuple[str, Any, Any]) -> Any:
        """Return what a task returned, or how it failed; raise VersionError if its worker refused it."""
        kind, result, more = answer
        if kind == "refused":
            raise VersionError(
                f"All workers must have the version of setrbm that sends the work, {fingerprint()}. Got {result} on "
                f"the worker {more}. Install the same version there, or stop that worker; then rerun to resume."
            )
        return result if kind == "done" else Failed(result, error=_error(more))

    def _threads(self) -> dict[str, int]:
        """Return the number of threads of each worker; none without an answer of the scheduler."""
        if self.client.status != "running":
            return {}
        try:
            return dict(self.client.nthreads(callback_timeout=ANSWER))
        except (TimeoutError, OSError):
            return {}

    def _wait_for_connection(self) -> None:
        begin = time.monotonic()
        while self.client.status != "running":
            if self.client.status in ("closing", "closed") or time.monotonic() - begin > self.patience:
                raise self._abandoned()
            time.sleep(TICK)

    def _abandoned(self) -> ClusterError:
        scheduler = self.client.scheduler
        address = scheduler.address if scheduler is not None else "?"
        if self.client.status != "running":
            return ClusterError(
                f"The connection to the scheduler at {address} is lost. Restart the scheduler if it has ended; then "
                "rerun to resume."
            )
        return ClusterError(
            f"The cluster must have workers. The scheduler at {address} has had none for {self.patience:g} seconds. "
            f"Start some: dask worker {address} --nthreads 1 --nworkers 4. Then rerun to resume."
        )


def _carrier() -> Callable[..., tuple[str, Any, Any]]:
    """Return the function that every task calls first. As it is local, it travels by value, not by its name.

    Exceptions are returned, not raised: Dask's client hangs forever on some whose traceback cannot be unpickled.
    """

    def carrier(package: str, expected: str, payload: bytes, *shared: bytes) -> tuple[str, Any, Any]:
        import pickle

        from distributed import get_worker

        try:
            from setrbm.dask.cluster import fingerprint

            version = fingerprint(package)
        except Exception as error:
            version = f"none that can be used ({type(error).__name__}: {error})"
        if version != expected:
            return "refused", version, get_worker().address
        try:
            function, arguments = pickle.loads(payload)
            return "done", function(*arguments, *map(pickle.loads, shared)), None
        except (Exception, SystemExit) as error:
            try:
                packed = pickle.dumps(error)
            except Exception:
                packed = None
            return "failed", f"{type(error).__name__}: {error}", packed

    return carrier


def _error(packed: bytes | None) -> Exception | None:
    """Return an exception as it was raised on a worker; None if it cannot be unpickled."""
    try:
        error = pickle.loads(packed or b"")
    except Exception:
        return None
    return error if isinstance(error, Exception) else None


def _packed(value: Any) -> bytes:
    import cloudpickle

    return bytes(cloudpickle.dumps(value))


def _failed(error: BaseException) -> Failed:
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        died = count(error.allowed_failures + 1, "worker")
        return Failed(f"{died} died while running this task alone, perhaps out of memory", was_killed=True)
    return Failed(f"{type(error).__name__}: {error}")
