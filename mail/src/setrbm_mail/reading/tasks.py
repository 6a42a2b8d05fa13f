"""What a child does: lists and opens the parts of files, reads pages and draws them."""

from __future__ import annotations

import base64
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cv2

from setrbm_mail.formats.folders import LINK_OUT
from setrbm_mail.formats.parts import FilePart, FileParts, parts_of
from setrbm_mail.formats.source import PageSource
from setrbm_mail.formats.table import load_readers
from setrbm_mail.limits import Limits
from setrbm_mail.pages import DocumentError
from setrbm_mail.reading.messages import Drawn, ItemFailed, Listed, Opened, PageRead, Reply, Request
from setrbm_mail.reading.page import read_page
from setrbm_mail.reading.settings import Reading


def load_libraries(reading: Reading) -> None:
    """Import everything that opens and reads files."""
    load_readers()
    if reading.ocr == "auto":
        from setrbm_mail.reading import ocr  # noqa: F401
    # Every core has a process of its own.
    cv2.setNumThreads(1)


def replies_to(request: Request, limits: Limits, reading: Reading) -> Iterator[Reply]:
    """Yield one reply per item of a request; an error is a reply, too."""
    prepared = _tried(partial(PREPARE[request.verb], request, limits))
    for item in request.items:
        if isinstance(prepared, ItemFailed):
            yield prepared
        else:
            yield _tried(partial(DO[request.verb], prepared, item, limits, reading))


def _tried(do: Callable[[], Any]) -> Any:
    """Return the result of a function, or why it failed: no error that a file causes may stop the others."""
    try:
        return do()
    except MemoryError:
        raise
    except DocumentError as error:
        return ItemFailed(str(error))
    except OSError as error:
        return ItemFailed(f"the file cannot be read: {error.strerror or type(error).__name__}", is_temporary=True)
    except Exception as error:
        if isinstance(error, cv2.error) and error.code == cv2.Error.StsNoMem:
            raise MemoryError from None
        return ItemFailed(f"it cannot be read ({type(error).__name__})")


def content_of(path: str, root: str, limits: Limits) -> bytes:
    """Return the content of a file; raise DocumentError if it is too large, no file, or outside the folder."""
    # A file may have been replaced since it was found, by a link, or by a named pipe, whose opening would wait.
    target = os.path.realpath(path)
    if not Path(target).is_relative_to(os.path.realpath(root)):
        raise DocumentError(LINK_OUT)
    descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DocumentError("it is not a file")
        if status.st_size > limits.file_bytes:
            raise DocumentError(f"it has {status.st_size:,} bytes; the limit is {limits.file_bytes:,} (file_bytes)")
        return file.read()


def _parts(request: Request, limits: Limits) -> FileParts:
    return parts_of(content_of(os.path.join(request.root, request.file), request.root, limits), limits)


def _list(parts: FileParts, item: Any, limits: Limits, reading: Reading) -> Listed:
    return Listed([(part.position, part.name) for part in parts.readable], parts.problems)


def _open(parts: FileParts, position: Any, limits: Limits, reading: Reading) -> Opened:
    part = _part(parts, position)
    return Opened(part.format.open(part.content, limits).n_pages, part.digest)


def _part(parts: FileParts, position: Any, digest: str = "") -> FilePart:
    for part in parts.readable:
        if part.position == position and digest in ("", part.digest):
            return part
    raise DocumentError("the file changed while it was being read")


def _source(request: Request, limits: Limits) -> PageSource:
    """Return the source of the pages that a request is about."""
    part = _part(_parts(request, limits), request.part, request.digest)
    return part.format.open(part.content, limits)


def _read(source: PageSource, number: int, limits: Limits, reading: Reading) -> PageRead:
    page = read_page(source, number, reading)
    if reason := limits.too_many_words(len(page.words)):
        raise DocumentError(reason)
    return PageRead(page)


def _draw(source: PageSource, number: int, limits: Limits, reading: Reading) -> Drawn:
    picture, _ = source.picture(number, reading.dpi)
    return Drawn(picture.shape, base64.b64encode(zlib.compress(picture.tobytes(), level=1)).decode())


PREPARE: dict[str, Callable[[Request, Limits], Any]] = {
    "list": _parts, "open": _parts, "read": _source, "draw": _source
}  # fmt: skip
DO: dict[str, Callable[..., Reply]] = {"list": _list, "open": _open, "read": _read, "draw": _draw}
