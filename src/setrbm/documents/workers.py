"""Processes that read files, one page at a time, each with limits of time and memory.

A process that crashes, hangs or runs out of memory costs the page it was reading and nothing else: it is replaced, and
the other pages go on.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from setrbm.documents.limits import Limits
from setrbm.documents.reading_settings import Reading

# How long a new process may take to import its libraries, in seconds.
START = 120.0
# The longest line of an answer that is taken, in bytes.
LONGEST = 64_000_000
# How much is read from a pipe at once.
PIECE = 1 << 16


@dataclass
class Task:
    """A request to a process.

    Attributes
    ----------
    request : dict
        What to do: ``what`` is "open" (a file), or "pages" with the ``numbers`` of the pages.
    tag : object
        Comes back with every answer.
    """

    request: dict[str, Any]
    tag: Any = None

    @property
    def n_answers(self) -> int:
        """How many answers there will be."""
        return len(self.request.get("numbers", [0]))


@dataclass
class _Worker:
    """One process, the task it is at, and how far it has come."""

    process: subprocess.Popen[bytes]
    task: Task | None = None
    n_answered: int = 0
    deadline: float = 0.0
    is_ready: bool = False
    buffer: bytearray = field(default_factory=bytearray)


class Workers:
    """A fixed number of processes that answer tasks; a context manager.

    Parameters
    ----------
    n : int
    limits : Limits
    reading : Reading
    """

    def __init__(self, n: int, limits: Limits, reading: Reading) -> None:
        self._n, self._limits, self._reading = n, limits, reading
        self._workers: list[_Worker] = []
        self._waiting: deque[Task] = deque()
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in list(self._workers):
            self._stop(worker)
        self._selector.close()

    def add(self, task: Task, first: bool = False) -> None:
        """Add a task, at the end of the queue or at its beginning."""
        (self._waiting.appendleft if first else self._waiting.append)(task)

    @property
    def n_waiting(self) -> int:
        """How many tasks no process has begun."""
        return len(self._waiting)

    def answers(self) -> Iterator[tuple[Task, int, dict[str, Any]]]:
        """Yield answers as they come, each with its task and its place in it, until all tasks are done.

        Tasks may be added meanwhile.
        """
        while self._waiting or any(worker.task for worker in self._workers):
            self._give_out()
            yield from self._gather()

    def _give_out(self) -> None:
        """Give waiting tasks to idle processes, and start processes if there are too few."""
        while len(self._workers) < min(self._n, len(self._waiting) + sum(bool(w.task) for w in self._workers)):
            self._start()
        for worker in [one for one in self._workers if one.task is None]:
            if self._waiting:
                self._begin(worker, self._waiting.popleft())

    def _start(self) -> None:
        environment = os.environ | {"OMP_THREAD_LIMIT": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "setrbm.documents.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment, start_new_session=True,
        )  # fmt: skip
        worker = _Worker(process)
        self._workers.append(worker)
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)
        self._send(worker, {"limits": self._limits.to_json(), "reading": self._reading.to_json()})

    def _begin(self, worker: _Worker, task: Task) -> None:
        worker.task, worker.n_answered = task, 0
        worker.deadline = time.monotonic() + (self._limits.seconds if worker.is_ready else START)
        self._send(worker, task.request)

    def _send(self, worker: _Worker, message: dict[str, Any]) -> None:
        # A process that has ended is noticed when its output ends.
        with suppress(OSError):
            assert worker.process.stdin is not None
            worker.process.stdin.write(json.dumps(message).encode() + b"\n")
            worker.process.stdin.flush()

    def _gather(self) -> Iterator[tuple[Task, int, dict[str, Any]]]:
        """Wait for answers, and replace processes that have ended or take too long."""
        now = time.monotonic()
        wait = min((worker.deadline - now for worker in self._workers if worker.task), default=0.0)
        for key, _ in self._selector.select(max(0.0, wait)):
            yield from self._read(key.data)
        for worker in [one for one in self._workers if one.task and time.monotonic() > one.deadline]:
            yield from self._failed(worker, f"reading took more than {self._limits.seconds:g} seconds (seconds)")

    def _read(self, worker: _Worker) -> Iterator[tuple[Task, int, dict[str, Any]]]:
        assert worker.process.stdout is not None
        try:
            piece = os.read(worker.process.stdout.fileno(), PIECE)
        except BlockingIOError:
            return
        worker.buffer += piece
        while (end := worker.buffer.find(b"\n")) >= 0:
            line, worker.buffer = bytes(worker.buffer[:end]), worker.buffer[end + 1 :]
            yield from self._answer(worker, line)
        if not piece:
            yield from self._failed(worker, _how_it_ended(worker.process))
        elif len(worker.buffer) > LONGEST:
            yield from self._failed(worker, "the page has too many words")

    def _answer(self, worker: _Worker, line: bytes) -> Iterator[tuple[Task, int, dict[str, Any]]]:
        answer = json.loads(line)
        worker.deadline = time.monotonic() + self._limits.seconds
        if not worker.is_ready:
            worker.is_ready = True
            return
        task, place = worker.task, worker.n_answered
        if task is None:
            return
        worker.n_answered += 1
        if worker.n_answered == task.n_answers:
            worker.task = None
        yield task, place, answer

    def _failed(self, worker: _Worker, reason: str) -> Iterator[tuple[Task, int, dict[str, Any]]]:
        """Replace a process; answer for the page it was reading, and put the others back into the queue."""
        task, place = worker.task, worker.n_answered
        was_ready = worker.is_ready
        self._stop(worker)
        if task is None:
            return
        if not was_ready:
            raise RuntimeError(
                f"A process that reads documents could not be started: {reason}. Run it to see why: "
                f"{sys.executable} -m setrbm.documents.worker"
            )
        if numbers := task.request.get("numbers", [])[place + 1 :]:
            self.add(Task(task.request | {"numbers": numbers}, _moved(task.tag, place + 1)), first=True)
        yield task, place, {"failed": reason}

    def _stop(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        process = worker.process
        assert process.stdin is not None
        assert process.stdout is not None
        self._selector.unregister(process.stdout)
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                pipe.close()


def _moved(tag: Any, by: int) -> Any:
    """Return the tag of the rest of a task."""
    return tag.later(by) if hasattr(tag, "later") else tag


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    status = process.wait()
    if status in (-signal.SIGKILL, -signal.SIGABRT, 134, 137):
        return "reading it needed too much memory, or crashed"
    return f"reading it crashed ({signal.Signals(-status).name})" if status < 0 else "reading it crashed"


def first_pages(numbers: Sequence[int], size: int) -> list[list[int]]:
    """Return numbers in pieces of a size."""
    return [list(numbers[first : first + size]) for first in range(0, len(numbers), size)]
