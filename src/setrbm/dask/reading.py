"""read_documents: the documents of a folder read on a cluster, a few per task."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from setrbm._files import check_folder, write_atomically
from setrbm.dask.cluster import Cluster, Lost
from setrbm.dask.scoring import stamp_of
from setrbm.documents.finding import Found
from setrbm.documents.limits import Limits
from setrbm.documents.pages import Document, Documents, Problem
from setrbm.documents.reading import read_found, wanted_documents
from setrbm.documents.reading_settings import Reading

# The largest and smallest number of documents per task: starting a reading process takes about as long as OCR of two
# pages, and the last tasks should end at about the same time. A thread gets a quarter of its share at a time.
LARGEST, SMALLEST, PARTS = 16, 2, 4


def read_documents(
    folder: str | os.PathLike[str], only: Sequence[str] | None = None, *, output: str | os.PathLike[str],
    by_class: bool = False, client: Any = None, reading: Reading | None = None, limits: Limits | None = None,
    on_progress: Callable[[int, int, int], None] | None = None,
) -> Documents:  # fmt: skip
    """Read the documents of a folder as ``setrbm.documents.read_documents`` does, on the workers of a cluster.

    Every document that was read is kept in ``output``, so running the same call again resumes; a document that has
    changed is read again.

    Parameters
    ----------
    folder : path
        Every worker must see it under this path.
    only, by_class, reading, limits
        As for ``setrbm.documents.read_documents``.
    output : path
        The folder for what was read, a file per document; only this process writes there.
    client : distributed.Client, optional
        The default client if it is not given.
    on_progress : callable, optional
        Called with the number of documents that are done, the number of all, and the number of pages read by this call.

    Returns
    -------
    Documents
    """
    reading, limits, place, root = reading or Reading(), limits or Limits(), Path(output), Path(folder).absolute()
    wanted = wanted_documents(root, only, by_class)
    check_folder(place)
    place.mkdir(parents=True, exist_ok=True)
    paths = [place / f"{_key(root, one, reading, limits)}.json" for one in wanted]
    found = {k: document for k, path in enumerate(paths) if (document := _kept(path)) is not None}
    missing = [k for k in range(len(wanted)) if k not in found]
    # Without work, no cluster is waited for.
    cluster = Cluster(client) if missing else None
    batches = batched(missing, cluster.n_threads if cluster else 1)
    jobs = [(str(root), [wanted[k] for k in batch], reading, limits) for batch in batches]
    n_pages = 0
    for number, result in cluster.run(read_batch, jobs) if cluster else ():
        for k, document in zip(batches[number], _documents(result, [wanted[k] for k in batches[number]]), strict=True):
            found[k] = document
            n_pages += len(document)
            if not isinstance(result, Lost):
                write_atomically(paths[k], json.dumps(document.to_json()).encode())
        if on_progress is not None:
            on_progress(len(found), len(wanted), n_pages)
    return Documents([found[k] for k in range(len(wanted))])


def batched(positions: Sequence[int], n_threads: int) -> list[list[int]]:
    """Return positions in batches that become smaller towards the end.

    Examples
    --------
    >>> [len(batch) for batch in batched(range(64), 2)]
    [8, 7, 6, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1]
    """
    left, batches = list(positions), []
    while left:
        size = min(LARGEST, max(SMALLEST, len(left) // (PARTS * max(n_threads, 1))))
        batches.append(left[:size])
        left = left[size:]
    return batches


def read_batch(folder: str, wanted: list[Found | Problem], reading: Reading, limits: Limits) -> list[dict[str, Any]]:
    """Read some documents, each as plain values: a function of files, run on a worker."""
    return [
        document.to_json() for document in read_found(Path(folder), wanted, n_jobs=1, reading=reading, limits=limits)
    ]


def _documents(result: list[dict[str, Any]] | Lost, wanted: Sequence[Found | Problem]) -> list[Document]:
    """Return the documents of a batch; of one that was lost, documents without pages."""
    if isinstance(result, Lost):
        return [Document(name, [], [], [Problem(name, name, result.reason)]) for name in map(_id, wanted)]
    return [Document.from_json(one) for one in result]


def _id(one: Found | Problem) -> str:
    return one.document if isinstance(one, Problem) else one.id


def _key(root: Path, one: Found | Problem, reading: Reading, limits: Limits) -> str:
    """Return a digest of everything that what is read of a document depends on."""
    files = () if isinstance(one, Problem) else one.files
    about = [str(one), [_stamp(root / file) for file in files], reading.key, limits.to_json()]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]


def _stamp(path: Path) -> str:
    try:
        return stamp_of(str(path))
    except OSError:
        return "gone"


def _kept(path: Path) -> Document | None:
    """Return a document that was read before; None if it was not, or its file is damaged."""
    try:
        return Document.from_json(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return None
