"""The supervisor of the child processes: gives them requests, each with limits of time and memory, and takes replies.

A child is *starting* until its first line, then *idle* or *busy*; it ends with the supervisor. A child that crashes,
hangs or runs out of memory loses its current item and nothing else: it is replaced. An item that crashes a child
which has replied before is tried again in a new one, since an earlier item may be to blame.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple, Self

from setrbm_mail.limits import Limits
from setrbm_mail.reading.isolation import NO_MEMORY, environment
from setrbm_mail.reading.messages import Item, ItemFailed, Reply, Request, reply_of, settings_line
from setrbm_mail.reading.settings import Reading

# How long a new child may take to import its libraries, in seconds, and how many in a row may fail to start.
START, MOST_FALSE_STARTS = 120.0, 3
# The longest line of a reply that is taken, and how much is read from a pipe at once, in bytes.
LONGEST, CHUNK = 64_000_000, 1 << 16
# The longest wait for replies, in seconds.
LONGEST_WAIT = 3600.0
# Without -P, Python would import modules from the current folder, where the files may be.
COMMAND = ("-P", "-m", "setrbm_mail.reading.child")


class Replied(NamedTuple):
    """A reply, its item, and how long children have worked for it, crashes included."""

    request: Request
    item: Item
    reply: Reply
    seconds: float


@dataclass
class _Child:
    """A child process, its current request, and its progress."""

    process: subprocess.Popen[bytes]
    request: Request | None = None
    n_done: int = 0
    began: float = 0.0
    deadline: float = 0.0
    # Lost in earlier crashes.
    lost_seconds: float = 0.0
    is_ready: bool = False
    has_replied: bool = False
    buffer: bytearray = field(default_factory=bytearray)


class Supervisor:
    """A fixed number of children; a context manager.

    Parameters
    ----------
    n : int
    limits : Limits
    reading : Reading
    """

    def __init__(self, n: int, limits: Limits, reading: Reading) -> None:
        self._n, self._limits, self._reading = n, limits, reading
        self._children: list[_Child] = []
        self._selector = selectors.DefaultSelector()
        self._n_false_starts = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in list(self._children):
            self._stop(child)
        self._selector.close()

    @property
    def busy(self) -> set[Item]:
        """The items that children work on now, or will work on next."""
        return {item for child in self._children if child.request for item in child.request.items_after(child.n_done)}

    def replies(self, next_request: Callable[[], Request | None]) -> Iterator[Replied]:
        """Yield replies as they come, until all requests are done.

        Parameters
        ----------
        next_request : callable
            Called when a child is idle; None if there is nothing to do now. A request ends early if an item fails with
            its child: the rest of it can be requested again.
        """
        while self._give_out(next_request):
            for replied in self._gather():
                began = time.monotonic()
                yield replied
                # Children are not charged for the time that the caller takes.
                taken = time.monotonic() - began
                for child in self._children:
                    child.began, child.deadline = child.began + taken, child.deadline + taken

    def _give_out(self, next_request: Callable[[], Request | None]) -> bool:
        """Give requests to idle children, and start children if there are too few; return whether any is busy."""
        n_busy = sum(child.request is not None for child in self._children)
        while n_busy < self._n and (request := next_request()) is not None:
            idle = next((child for child in self._children if child.request is None), None)
            self._begin(idle or self._start(), request)
            n_busy += 1
        return n_busy > 0

    def _start(self) -> _Child:
        process = subprocess.Popen(
            [sys.executable, *COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment(os.environ), start_new_session=True,
        )  # fmt: skip
        child = _Child(process)
        self._children.append(child)
        os.set_blocking(_pipe(process.stdout).fileno(), False)
        self._selector.register(_pipe(process.stdout), selectors.EVENT_READ, child)
        self._send(child, settings_line(self._limits, self._reading))
        return child

    def _begin(self, child: _Child, request: Request, n_done: int = 0, lost_seconds: float = 0.0) -> None:
        child.request, child.n_done, child.lost_seconds = request, n_done, lost_seconds
        child.began = time.monotonic()
        child.deadline = child.began + (self._limits.seconds if child.is_ready else START)
        self._send(child, request.line(n_done))

    def _send(self, child: _Child, line: bytes) -> None:
        # A child that has ended is noticed when its output ends.
        with suppress(OSError):
            _pipe(child.process.stdin).write(line)
            _pipe(child.process.stdin).flush()

    def _gather(self) -> Iterator[Replied]:
        """Wait for replies, and replace children that have ended or take too long."""
        now = time.monotonic()
        wait = min((child.deadline - now for child in self._children if child.request), default=0.0)
        for key, _ in self._selector.select(min(max(0.0, wait), LONGEST_WAIT)):
            yield from self._read(key.data)
        for child in [child for child in self._children if child.request and time.monotonic() > child.deadline]:
            too_long = f"reading took more than {self._limits.seconds:g} seconds (seconds)"
            yield from self._failed(child, too_long if child.is_ready else f"it was not ready in {START:g} seconds")

    def _read(self, child: _Child) -> Iterator[Replied]:
        try:
            piece = os.read(_pipe(child.process.stdout).fileno(), CHUNK)
        except BlockingIOError:
            return
        child.buffer += piece
        *lines, child.buffer = child.buffer.split(b"\n") if b"\n" in piece else [child.buffer]
        for line in lines:
            yield from self._take(child, bytes(line))
        if not piece:
            yield from self._crashed(child)
        elif len(child.buffer) > LONGEST:
            yield from self._failed(child, f"the page has too many words; the limit is {self._limits.words:,} (words)")

    def _take(self, child: _Child, line: bytes) -> Iterator[Replied]:
        request, seconds = child.request, self._seconds(child)
        child.began = time.monotonic()
        child.deadline = child.began + self._limits.seconds
        if not child.is_ready:
            child.is_ready, self._n_false_starts = True, 0
        elif request is not None:
            item, *others = request.items_after(child.n_done)
            child.has_replied, child.lost_seconds = True, 0.0
            child.n_done += 1
            child.request = request if others else None
            yield Replied(request, item, reply_of(request.verb, line), seconds)

    def _seconds(self, child: _Child) -> float:
        """Return the seconds spent on the current item of a child, without the time before the child was ready."""
        return child.lost_seconds + (time.monotonic() - child.began if child.is_ready else 0.0)

    def _crashed(self, child: _Child) -> Iterator[Replied]:
        """Try an item again in a new child, if this one had replied before; else the item is to blame."""
        if child.request is None or not child.has_replied:
            yield from self._failed(child, self._how_it_ended(child.process))
            return
        seconds = self._seconds(child)
        self._stop(child)
        self._begin(self._start(), child.request, child.n_done, seconds)

    def _failed(self, child: _Child, reason: str) -> Iterator[Replied]:
        """Stop a child, and reply for its current item."""
        seconds = self._seconds(child)
        self._stop(child)
        if child.request is None:
            return
        if child.is_ready:
            yield Replied(child.request, child.request.items_after(child.n_done)[0], ItemFailed(reason, True), seconds)
            return
        # The file is not to blame: the system may have been short of memory.
        self._n_false_starts += 1
        if self._n_false_starts == MOST_FALSE_STARTS:
            raise RuntimeError(
                f"A process that reads documents could not be started: {reason}. Run it to see why: "
                f"{sys.executable} -m {COMMAND[-1]}"
            )
        self._begin(self._start(), child.request, child.n_done, seconds)

    def _how_it_ended(self, process: subprocess.Popen[bytes]) -> str:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1.0)
        memory = f"it needs more than {self._limits.memory:,} bytes of memory (memory)"
        return memory if process.returncode == NO_MEMORY else f"reading it crashed, or {memory}"

    def _stop(self, child: _Child) -> None:
        self._children.remove(child)
        self._selector.unregister(_pipe(child.process.stdout))
        child.process.kill()
        child.process.wait()
        for pipe in (child.process.stdin, child.process.stdout):
            with suppress(OSError):
                _pipe(pipe).close()


def _pipe(pipe: Any) -> Any:
    assert pipe is not None
    return pipe


def n_children(n_jobs: int | None) -> int:
    """Return how many children ``n_jobs`` stands for: None is one per core, but one inside a parallel worker."""
    from setrbm.tools.threads import as_threads

    return as_threads(n_jobs)
