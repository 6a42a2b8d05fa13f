"""The process that opens files and reads pages: whatever a file does to it, the parent goes on.

It is started as ``python -P -m setrbm_mail.worker``. Requests come on standard input and answers go to standard
output, one JSON object per line. Answers hold plain values, so that a process taken over by a file cannot make the
parent run anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import select
import stat
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

import cv2

from setrbm_mail.finding import LINK_OUT
from setrbm_mail.limits import Limits
from setrbm_mail.mail_files import Leaf, unpack
from setrbm_mail.page_reading import read_page
from setrbm_mail.pages import DocumentError
from setrbm_mail.reading_settings import Reading
from setrbm_mail.sources import Source, open_source
from setrbm_mail.workers import NO_MEMORY

Answer = dict[str, Any]


def answers(request: dict[str, Any], limits: Limits, reading: Reading) -> Iterator[Answer]:
    """Yield the answers to a request; what goes wrong is an answer too."""
    if request["what"] == "list":
        yield _tried(partial(listed, request, limits))
        return
    if request["what"] == "open":
        yield _tried(partial(opened, request, limits))
        return
    asked = _tried(partial(_asked, request, limits))
    do = _page if request["what"] == "pages" else _picture
    for number in request["numbers"]:
        yield asked if "failed" in asked else _tried(partial(do, asked, number, reading, limits))


def _tried(do: Callable[[], Answer]) -> Answer:
    """Return an answer, or why there is none: nothing that a file causes may stop the others."""
    try:
        return do()
    except MemoryError:
        raise
    except DocumentError as error:
        return {"failed": str(error)}
    except OSError as error:
        return {"failed": f"the file cannot be read: {error.strerror or type(error).__name__}", "temporary": True}
    except Exception as error:
        if isinstance(error, cv2.error) and error.code == cv2.Error.StsNoMem:
            raise MemoryError from None
        return {"failed": f"it cannot be read ({type(error).__name__})"}


def opened(request: dict[str, Any], limits: Limits) -> Answer:
    """Return what a file, or a part of it, consists of: leaves with their numbers of pages, and what is not read."""
    part = request.get("part")
    found = unpack(content_of(request["path"], request["root"], limits), limits)
    problems, leaves = list(found.problems) if part is None else [], []
    for leaf in found.leaves:
        if part is not None and leaf.part != tuple(part):
            continue
        answer = _tried(partial(_described, leaf, limits))
        if "failed" in answer:
            problems.append((leaf.name, answer["failed"]))
        else:
            leaves.append(answer)
    return {"leaves": leaves, "problems": problems}


def listed(request: dict[str, Any], limits: Limits) -> Answer:
    """Return the leaves of a file without opening them, and what is not read."""
    found = unpack(content_of(request["path"], request["root"], limits), limits)
    return {"parts": [(leaf.part, leaf.name) for leaf in found.leaves], "problems": found.problems}


def _described(leaf: Leaf, limits: Limits) -> Answer:
    n_pages = open_source(leaf.kind, leaf.data, limits).n_pages
    return {"part": leaf.part, "name": leaf.name, "digest": _digest(leaf), "pages": n_pages}


def _digest(leaf: Leaf) -> str:
    return hashlib.sha256(leaf.kind.name.encode() + leaf.data).hexdigest()


def content_of(path: str, root: str, limits: Limits) -> bytes:
    """Return the content of a file; raise DocumentError if it is too large, no file, or outside the folder."""
    # A file may have been replaced since it was found, by a link, or by a named pipe, whose opening would wait.
    target = os.path.realpath(path)
    if not Path(target).is_relative_to(os.path.realpath(root)):
        raise DocumentError(LINK_OUT)
    descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise DocumentError("it is not a file")
        if found.st_size > limits.file_bytes:
            raise DocumentError(f"it has {found.st_size:,} bytes; the limit is {limits.file_bytes:,} (file_bytes)")
        return file.read()


def _asked(request: dict[str, Any], limits: Limits) -> Answer:
    """Return the leaf that a request is about, and the source of its pages."""
    for leaf in unpack(content_of(request["path"], request["root"], limits), limits).leaves:
        if leaf.part == tuple(request["part"]) and _digest(leaf) == request["digest"]:
            return {"leaf": leaf, "source": open_source(leaf.kind, leaf.data, limits)}
    raise DocumentError("the file changed while it was being read")


def _page(asked: Answer, number: int, reading: Reading, limits: Limits) -> Answer:
    source: Source = asked["source"]
    page = read_page(source, number, asked["leaf"].kind, reading)
    if reason := limits.too_many_words(len(page.words)):
        raise DocumentError(reason)
    return {"page": page.to_json()}


def _picture(asked: Answer, number: int, reading: Reading, limits: Limits) -> Answer:
    source: Source = asked["source"]
    picture, _ = source.picture(number, reading.dpi)
    return {"picture": base64.b64encode(zlib.compress(picture.tobytes(), level=1)).decode(), "shape": picture.shape}


def serve(requests: IO[str], say: Callable[[Answer], None]) -> None:
    """Answer requests until there are no more. The first line holds limits and settings."""
    settings = json.loads(requests.readline())
    limits, reading = Limits(**settings["limits"]), Reading(**settings["reading"])
    _load_libraries(reading)
    _limit(limits.memory)
    say({"ready": True})
    for line in requests:
        for answer in answers(json.loads(line), limits, reading):
            say(answer)


def _load_libraries(reading: Reading) -> None:
    """Load everything now, so that the limit of memory is for the files alone."""
    from setrbm_mail import image_source, pdf_source, text_source  # noqa: F401

    if reading.ocr == "auto":
        from setrbm_mail import ocr  # noqa: F401
    # Every core has a process of its own.
    cv2.setNumThreads(1)


def _limit(memory: int) -> None:
    """Limit the memory of this process, and keep it from writing into files, where the system can."""
    with suppress(ImportError):
        import resource

        sizes = ((resource.RLIMIT_AS, _size() + memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0))
        for kind, size in sizes:
            with suppress(ValueError, OSError, OverflowError):
                # Hard ones too: without root, what takes the process over cannot lift them.
                resource.setrlimit(kind, (size, size))


def _size() -> int:
    """Return the address space that this process has now."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _end_with_parent() -> None:
    """End this process when its parent has ended, even in the middle of a page that never ends."""
    watch = select.poll()
    # No event is asked for: what remains is the end of the other side.
    watch.register(sys.stdin.fileno(), 0)
    watch.poll()
    os._exit(1)


def main() -> None:
    """Serve the parent process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # What libraries print must not come between the answers.
    answers_to = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer: Answer) -> None:
        answers_to.write(json.dumps(answer) + "\n")
        answers_to.flush()

    try:
        serve(sys.stdin, say)
    except MemoryError:
        os._exit(NO_MEMORY)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(1)


if __name__ == "__main__":
    main()
