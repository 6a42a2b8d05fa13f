"""read_documents: the documents of a folder read on a cluster, a few per task."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from setrbm.dask.cluster import Cluster, ClusterError, Failed
from setrbm.dask.scoring import stamp_of
from setrbm.tools.files import check_folder, delete_abandoned, write_atomically
from setrbm.tools.text import count
from setrbm_mail.formats.folders import DocumentFiles
from setrbm_mail.limits import Limits
from setrbm_mail.pages import Document, Documents, Problem
from setrbm_mail.reading.documents import check_installed, read_found, wanted_documents
from setrbm_mail.reading.settings import VERSION, Reading

# The largest and smallest number of documents per task: starting a reading process takes about as long as OCR of two
# pages, and the last tasks should end at about the same time. A thread gets a quarter of its share at a time.
LARGEST, SMALLEST, PARTS = 16, 2, 4
# How many threads to expect if the workers have not started yet.
USUAL = 8


@dataclass(frozen=True)
class ClusterProgress:
    """How far reading on a cluster has come; ``n_pages`` counts those read by this call."""

    n_documents: int
    n_documents_done: int
    n_pages: int


@dataclass(frozen=True)
class KeptDocument:
    """One document to read: everything that the result depends on, and the file that keeps the result."""

    root: str
    source: DocumentFiles | Problem
    reading: Reading
    limits: Limits
    file: Path

    @property
    def id(self) -> str:
        """The id of the document."""
        return self.source.document if isinstance(self.source, Problem) else self.source.id

    def document(self) -> Document | None:
        """Return the document as it was read before; None if it was not, or its file is damaged."""
        try:
            return Document.from_json(json.loads(self.file.read_bytes()))
        except (OSError, ValueError):
            return None

    def keep(self, document: dict[str, Any]) -> None:
        """Write the document as it was read."""
        write_atomically(self.file, json.dumps(document).encode())


def read_documents(
    folder: str | os.PathLike[str], only: Sequence[str] | None = None, *, output: str | os.PathLike[str],
    by_class: bool = False, client: Any = None, reading: Reading | None = None, limits: Limits | None = None,
    on_progress: Callable[[ClusterProgress], None] | None = None,
) -> Documents:  # fmt: skip
    """Read the documents of a folder as ``setrbm_mail.read_documents`` does, on the workers of a cluster.

    Every document that was read is kept in ``output``, so running the same call again resumes. A document is read again
    if it has changed, or if a worker may have caused one of its problems.

    Parameters
    ----------
    folder : path
        Every worker must see it under this path.
    only, by_class, reading, limits
        As for ``setrbm_mail.read_documents``.
    output : path
        The folder for the results, a file per document; only this process writes there.
    client : distributed.Client or Cluster, optional
        The default client if it is not given. A ``Cluster`` says how long to wait for workers.
    on_progress : callable, optional
        Called with a ``ClusterProgress`` after every task.

    Returns
    -------
    Documents

    Raises
    ------
    ClusterError
        If some documents were not read for reasons that are not in their files. The others are kept.
    """
    documents = iter_documents(
        folder, only, output=output, by_class=by_class, client=client, reading=reading, limits=limits,
        on_progress=on_progress,
    )  # fmt: skip
    by_id = {document.id: document for document in documents}
    return Documents([by_id[name] for name in (list(by_id) if only is None else only)])


def iter_documents(
    folder: str | os.PathLike[str], only: Sequence[str] | None = None, *, output: str | os.PathLike[str],
    by_class: bool = False, client: Any = None, reading: Reading | None = None, limits: Limits | None = None,
    on_progress: Callable[[ClusterProgress], None] | None = None,
) -> Iterator[Document]:  # fmt: skip
    """Read documents as ``read_documents`` does, then yield one at a time: memory does not grow with their number."""
    check_installed()
    wanted = _wanted(Path(folder), only, by_class, Path(output), reading or Reading(), limits or Limits())
    missing = [entry for entry in wanted if (document := entry.document()) is None or _may_pass(document)]
    progress = ClusterProgress(len(wanted), len(wanted) - len(missing), 0)
    _Run(Cluster.of(client) if missing else None, progress, on_progress).read(missing)
    for entry in wanted:
        if (document := entry.document()) is None:
            raise OSError(f"What was read of {entry.id!r} is gone from {str(entry.file)!r}. Rerun to read it again.")
        yield document


def _may_pass(document: Document) -> bool:
    """Return whether a worker may have caused a problem of a document."""
    return any(problem.is_temporary for problem in document.problems)


def _wanted(
    folder: Path, only: Sequence[str] | None, by_class: bool, place: Path, reading: Reading, limits: Limits
) -> list[KeptDocument]:
    root = folder.absolute()
    wanted = wanted_documents(root, only, by_class)
    check_folder(place)
    place.mkdir(parents=True, exist_ok=True)
    delete_abandoned(place)
    about = f"{reading.to_json()} {limits.to_json()} {VERSION}"
    return [
        KeptDocument(str(root), entry, reading, limits, place / f"{_key(root, entry, about)}.json") for entry in wanted
    ]


@dataclass
class _Run:
    """One call of ``iter_documents``."""

    cluster: Cluster | None
    progress: ClusterProgress
    on_progress: Callable[[ClusterProgress], None] | None
    failed: dict[str, Failed] = field(default_factory=dict)

    def read(self, wanted: Sequence[KeptDocument]) -> None:
        """Read documents in batches; those of a batch that failed once more, one by one."""
        if self.cluster is None:
            return
        batches = batched(len(wanted), self.cluster.n_threads or USUAL)
        again = self._read_batches([[wanted[k] for k in batch] for batch in batches], alone=False)
        for entry in self._read_batches([[entry] for entry in again], alone=True):
            failed = self.failed[entry.id]
            # A document that kills its worker is to blame; of any other error, the worker is.
            if failed.was_killed:
                reason = f"{failed.reason}. To try it again, delete {str(entry.file)!r}"
                self._store([entry], [Document(entry.id, [], [], [Problem(entry.id, entry.id, reason)]).to_json()])
        if self.failed:
            raise self._error()

    def _read_batches(self, batches: list[list[KeptDocument]], alone: bool) -> list[KeptDocument]:
        """Read documents and keep them; return those of the batches that failed."""
        assert self.cluster is not None
        again = []
        arguments = [
            (batch[0].root, [entry.source for entry in batch], batch[0].reading, batch[0].limits) for batch in batches
        ]
        with closing(self.cluster.run(read_batch, arguments, alone=alone)) as results:
            for k, result in results:
                if isinstance(result, Failed):
                    again += batches[k]
                    self.failed |= dict.fromkeys((entry.id for entry in batches[k]), result)
                else:
                    self._store(batches[k], result)
        return again

    def _store(self, batch: list[KeptDocument], documents: list[dict[str, Any]]) -> None:
        for entry, document in zip(batch, documents, strict=True):
            entry.keep(document)
            self.failed.pop(entry.id, None)
        n_pages = sum(len(document["pages"]) for document in documents)
        now = self.progress
        self.progress = ClusterProgress(now.n_documents, now.n_documents_done + len(batch), now.n_pages + n_pages)
        if self.on_progress is not None:
            self.on_progress(self.progress)

    def _error(self) -> ClusterError:
        name, failed = next(iter(self.failed.items()))
        return ClusterError(
            f"{count(len(self.failed), 'document')} could not be read on the cluster, the first {name!r}: "
            f"{failed.reason}. The others are kept. Rerun to resume."
        )


def batched(n: int, n_threads: int) -> list[range]:
    """Return positions in batches that become smaller towards the end.

    Examples
    --------
    >>> [len(batch) for batch in batched(64, 2)]
    [8, 7, 6, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1]
    """
    left, batches = range(n), []
    while left:
        size = min(LARGEST, max(SMALLEST, len(left) // (PARTS * max(n_threads, 1))))
        batches.append(left[:size])
        left = left[size:]
    return batches


def read_batch(
    folder: str, wanted: list[DocumentFiles | Problem], reading: Reading, limits: Limits
) -> list[dict[str, Any]]:
    """Read some documents, each as plain values: a function of files, run on a worker."""
    check_installed()
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"the folder {folder!r} must be on every worker, under this path")
    documents = read_found(Path(folder), wanted, n_jobs=1, reading=reading, limits=limits)
    return [document.to_json() for document in documents]


def _key(root: Path, source: DocumentFiles | Problem, about: str) -> str:
    """Return a digest of the files of a document, as they are now, and of the settings."""
    files: tuple[str, ...] = () if isinstance(source, Problem) else source.files
    stamps = [_stamp(root / file) for file in files]
    # The name that the first version gave a document, so that results that were kept stay valid.
    text = str(source).replace("DocumentFiles(", "Found(", 1)
    return hashlib.sha256(json.dumps([text, stamps, about]).encode()).hexdigest()[:32]


def _stamp(path: Path) -> str:
    try:
        return stamp_of(str(path))
    except OSError:
        return "gone"
