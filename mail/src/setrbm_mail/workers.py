"""Processes that read files, one page at a time, each with limits of time and memory.

A process that crashes, hangs or runs out of memory costs the page it was reading and nothing else: it is replaced, and
the other pages go on. A page that crashes a process which has read other pages is tried again in a new one, since an
earlier page may be to blame.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from setrbm_mail.limits import Limits
from setrbm_mail.reading_settings import Reading
from setrbm_mail.replies import reply_of

# How long a new process may take to import its libraries, in seconds.
START = 120.0
# How many processes in a row may fail to start.
MOST_FALSE_STARTS = 3
# The longest line of an answer that is taken, in bytes.
LONGEST = 64_000_000
# How much is read from a pipe at once.
CHUNK = 1 << 16
# The longest wait for answers, in seconds.
LONGEST_WAIT = 3600.0
# The exit status of a process that ran out of memory.
NO_MEMORY = 86
CRASHED = "reading it crashed"

Answered = Iterator[tuple["Task", int, dict[str, Any]]]


@dataclass
class Task:
    """A request to a process.

    Attributes
    ----------
    request : dict
        What to do: ``what`` is "open" (a file, or a ``part`` of a mail), "list" (the parts of a file, unopened), or
        "pages" with the ``numbers`` of the pages.
    tag : object
        Comes back with every answer.
    needs_new_process : bool
        Whether the process must not have read anything before.
    seconds : float
        How long processes have worked for the answer that is given now, crashes included.
    """

    request: dict[str, Any]
    tag: Any = None
    needs_new_process: bool = False
    seconds: float = 0.0

    @property
    def n_answers(self) -> int:
        """How many answers there will be."""
        return len(self.request.get("numbers", [0]))

    def rest(self, place: int, needs_new_process: bool = False, seconds: float = 0.0) -> Task:
        """Return what remains of the task from a place on; the time was spent on failed attempts."""
        if not place:
            return replace(self, needs_new_process=needs_new_process, seconds=seconds)
        request = self.request | {"numbers": self.request["numbers"][place:]}
        return Task(request, self.tag.later(place), needs_new_process, seconds)


@dataclass
class _Worker:
    """One process, the task it is at, and how far it has come."""

    process: subprocess.Popen[bytes]
    task: Task | None = None
    n_answered: int = 0
    began: float = 0.0
    deadline: float = 0.0
    is_ready: bool = False
    is_new: bool = True
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
        self._n_false_starts = 0

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

    def withdraw(self, is_unwanted: Callable[[Task], bool]) -> list[Task]:
        """Take tasks back that no process has begun, and return them."""
        unwanted = [task for task in self._waiting if is_unwanted(task)]
        ids = set(map(id, unwanted))
        self._waiting = deque(task for task in self._waiting if id(task) not in ids)
        return unwanted

    def answers(self) -> Answered:
        """Yield answers as they come, each with its task and its place in it, until all tasks are done.

        Tasks may be added meanwhile.
        """
        while self._waiting or any(worker.task for worker in self._workers):
            self._give_out()
            for answer in self._gather():
                began = time.monotonic()
                yield answer
                # Processes are not charged for the time that the caller takes.
                taken = time.monotonic() - began
                for worker in self._workers:
                    worker.began, worker.deadline = worker.began + taken, worker.deadline + taken

    def _give_out(self) -> None:
        """Give waiting tasks to idle processes, and start processes if there are too few."""
        while len(self._workers) < min(self._n, len(self._waiting) + sum(bool(w.task) for w in self._workers)):
            self._start()
        for worker in [one for one in self._workers if one.task is None]:
            if self._waiting:
                self._begin(worker, self._waiting.popleft())

    def _start(self) -> _Worker:
        environment = os.environ | {"OMP_THREAD_LIMIT": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            # Without -P, Python would import modules from the current folder, where the files may be.
            [sys.executable, "-P", "-m", "setrbm_mail.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment, start_new_session=True,
        )  # fmt: skip
        worker = _Worker(process)
        self._workers.append(worker)
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)
        self._send(worker, {"limits": self._limits.to_json(), "reading": self._reading.to_json()})
        return worker

    def _begin(self, worker: _Worker, task: Task) -> None:
        if task.needs_new_process and not worker.is_new:
            self._stop(worker)
            worker = self._start()
        worker.task, worker.n_answered = task, 0
        worker.began = time.monotonic()
        worker.deadline = worker.began + (self._limits.seconds if worker.is_ready else START)
        self._send(worker, task.request)

    def _send(self, worker: _Worker, message: dict[str, Any]) -> None:
        # A process that has ended is noticed when its output ends.
        with suppress(OSError):
            assert worker.process.stdin is not None
            worker.process.stdin.write(json.dumps(message).encode() + b"\n")
            worker.process.stdin.flush()

    def _gather(self) -> Answered:
        """Wait for answers, and replace processes that have ended or take too long."""
        now = time.monotonic()
        wait = min((worker.deadline - now for worker in self._workers if worker.task), default=0.0)
        for key, _ in self._selector.select(min(max(0.0, wait), LONGEST_WAIT)):
            yield from self._read(key.data)
        for worker in [one for one in self._workers if one.task and time.monotonic() > one.deadline]:
            too_long = f"reading took more than {self._limits.seconds:g} seconds (seconds)"
            yield from self._failed(worker, too_long if worker.is_ready else f"it was not ready in {START:g} seconds")

    def _read(self, worker: _Worker) -> Answered:
        assert worker.process.stdout is not None
        try:
            piece = os.read(worker.process.stdout.fileno(), CHUNK)
        except BlockingIOError:
            return
        worker.buffer += piece
        *lines, worker.buffer = worker.buffer.split(b"\n") if b"\n" in piece else [worker.buffer]
        for line in lines:
            yield from self._answer(worker, bytes(line))
        if not piece:
            yield from self._crashed(worker)
        elif len(worker.buffer) > LONGEST:
            yield from self._failed(worker, f"the page has too many words; the limit is {self._limits.words:,} (words)")

    def _answer(self, worker: _Worker, line: bytes) -> Answered:
        task, place = worker.task, worker.n_answered
        self._charge(worker)
        worker.began = time.monotonic()
        worker.deadline = worker.began + self._limits.seconds
        if not worker.is_ready:
            worker.is_ready, self._n_false_starts = True, 0
            return
        if task is None:
            return
        worker.is_new = False
        worker.n_answered += 1
        if worker.n_answered == task.n_answers:
            worker.task = None
        yield task, place, reply_of(line)

    def _charge(self, worker: _Worker) -> None:
        """Note how long the answer took; the time before a process is ready is not the file's."""
        if worker.task is not None and worker.is_ready:
            failed = worker.task.seconds if worker.n_answered == 0 else 0.0
            worker.task.seconds = failed + time.monotonic() - worker.began

    def _crashed(self, worker: _Worker) -> Answered:
        """Try a page again in a new process, if this one had read others; else it is to blame."""
        if worker.task is None or worker.is_new:
            yield from self._failed(worker, self._how_it_ended(worker.process))
            return
        self._charge(worker)
        again = worker.task.rest(worker.n_answered, needs_new_process=True, seconds=worker.task.seconds)
        self.add(again, first=True)
        self._stop(worker)

    def _failed(self, worker: _Worker, reason: str) -> Answered:
        """Replace a process; answer for the page it was reading, and put the others back into the queue."""
        self._charge(worker)
        task, place = worker.task, worker.n_answered
        self._stop(worker)
        if task is None:
            return
        if not worker.is_ready:
            # The file is not to blame: the system may have been short of memory.
            self._count_false_start(reason)
            self.add(task, first=True)
            return
        if place + 1 < task.n_answers:
            self.add(task.rest(place + 1), first=True)
        yield task, place, {"failed": reason, "died": True}

    def _count_false_start(self, reason: str) -> None:
        self._n_false_starts += 1
        if self._n_false_starts == MOST_FALSE_STARTS:
            raise RuntimeError(
                f"A process that reads documents could not be started: {reason}. Run it to see why: "
                f"{sys.executable} -m setrbm_mail.worker"
            )

    def _how_it_ended(self, process: subprocess.Popen[bytes]) -> str:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1.0)
        memory = f"more than {self._limits.memory:,} bytes of memory (memory)"
        return f"it needs {memory}" if process.returncode == NO_MEMORY else f"{CRASHED}, or it needs {memory}"

    def _stop(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        process = worker.process
        assert process.stdin is not None
        assert process.stdout is not None
        self._selector.unregister(process.stdout)
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                pipe.close()


def n_processes(n_jobs: int | None) -> int:
    """Return how many processes ``n_jobs`` stands for: None is one per core, but one inside a parallel worker."""
    # The processes import this module and do not need joblib.
    from setrbm.tools.threads import as_threads

    return as_threads(n_jobs)


def in_pieces(numbers: Sequence[int], size: int) -> list[list[int]]:
    """Return numbers in pieces of a size."""
    return [list(numbers[first : first + size]) for first in range(0, len(numbers), size)]
