"""The process that opens files and reads pages: whatever a file does to it, the parent goes on.

It is started as ``python -m setrbm.documents.worker``. Requests come on standard input and answers go to standard
output, one JSON object per line. Answers hold plain values, so that a process taken over by a file cannot make the
parent run anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from setrbm.documents.limits import Limits
from setrbm.documents.mail_files import Leaf, Unpacked, unpack
from setrbm.documents.page_reading import read_page
from setrbm.documents.pages import DocumentError
from setrbm.documents.reading_settings import Reading
from setrbm.documents.sources import open_source

Answer = dict[str, Any]


def opened(path: str, limits: Limits) -> Iterator[Answer]:
    """Yield what a file consists of: its leaves with their numbers of pages, and what is not read."""
    found = _unpacked(path, limits)
    problems, leaves = list(found.problems), []
    for leaf in found.leaves:
        try:
            n_pages = open_source(leaf.kind, leaf.data, limits).n_pages
        except DocumentError as error:
            problems.append((leaf.name, str(error)))
            continue
        digest = hashlib.sha256(leaf.kind.name.encode() + leaf.data).hexdigest()
        leaves.append({"part": leaf.part, "name": leaf.name, "digest": digest, "pages": n_pages})
    yield {"leaves": leaves, "problems": problems}


def _unpacked(path: str, limits: Limits) -> Unpacked:
    size = os.stat(path).st_size
    if size > limits.file_bytes:
        return Unpacked([], [("", f"it has {size:,} bytes; the limit is {limits.file_bytes:,} (file_bytes)")])
    return unpack(Path(path).read_bytes(), limits)


def pages(path: str, part: tuple[int, ...], numbers: list[int], limits: Limits, reading: Reading) -> Iterator[Answer]:
    """Yield the pages of a file or attachment, or why one cannot be read."""
    leaf = _leaf(path, part, limits)
    source = open_source(leaf.kind, leaf.data, limits)
    for number in numbers:
        try:
            yield {"page": read_page(source, number, leaf.kind, reading).to_json()}
        except DocumentError as error:
            yield {"failed": str(error)}


def _leaf(path: str, part: tuple[int, ...], limits: Limits) -> Leaf:
    for leaf in _unpacked(path, limits).leaves:
        if leaf.part == part:
            return leaf
    raise DocumentError("the file has changed while it was read")


def answers(request: dict[str, Any], limits: Limits, reading: Reading) -> Iterator[Answer]:
    """Yield the answers to a request; what goes wrong is an answer too."""
    n_expected = len(request.get("numbers", [0]))
    n_given = 0
    try:
        if request["what"] == "open":
            yield from opened(request["path"], limits)
            return
        for answer in pages(request["path"], tuple(request["part"]), request["numbers"], limits, reading):
            n_given += 1
            yield answer
    except MemoryError:
        yield from _failures(f"it needs more than {limits.memory:,} bytes of memory (memory)", n_expected - n_given)
    except (DocumentError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        yield from _failures(reason, n_expected - n_given)
    except Exception as error:
        # Nothing that a file causes may stop the others.
        yield from _failures(f"{type(error).__name__}: {error}"[:300], n_expected - n_given)


def _failures(reason: str, n: int) -> Iterator[Answer]:
    yield from ({"failed": reason} for _ in range(n))


def serve(requests: IO[str], say: Callable[[Answer], None]) -> None:
    """Answer requests until there are no more. The first line holds limits and settings."""
    settings = json.loads(requests.readline())
    limits, reading = Limits(**settings["limits"]), Reading(**settings["reading"])
    _limit_memory(limits.memory)
    say({"ready": True})
    for line in requests:
        for answer in answers(json.loads(line), limits, reading):
            say(answer)


def _limit_memory(memory: int) -> None:
    """Limit the address space of this process, where the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (memory, most))


def main() -> None:
    """Serve the parent process."""
    # What libraries print must not come between the answers.
    answers_to = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer: Answer) -> None:
        answers_to.write(json.dumps(answer) + "\n")
        answers_to.flush()

    with suppress(BrokenPipeError, KeyboardInterrupt):
        serve(sys.stdin, say)


if __name__ == "__main__":
    main()
