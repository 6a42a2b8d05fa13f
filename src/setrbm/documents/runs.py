"""One run of reading: which files are opened, which pages are asked for, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from setrbm._text import count
from setrbm.documents.jobs import Job, Leaf, Listing, Opening, Wanted
from setrbm.documents.limits import Limits
from setrbm.documents.page_cache import PageCache
from setrbm.documents.pages import Document, Page
from setrbm.documents.workers import Task, Workers, first_pages

# Pages that a process reads before it asks for more.
PIECE = 8


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
class Run:
    """One call of ``iter_documents``."""

    root: Path
    workers: Workers
    cache: PageCache
    key: str
    limits: Limits
    on_progress: Callable[[Progress], None] | None
    n_jobs: int
    progress: Progress = field(default_factory=lambda: Progress(0))

    def documents(self, jobs: list[Job]) -> Iterator[Document]:
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

    def _begin(self, job: Job) -> None:
        self.progress.n_documents_opened += not job.found.files
        for file in job.found.files:
            self._open(Opening(job, file))

    def _open(self, opening: Opening) -> None:
        part = {} if opening.part is None else {"part": opening.part}
        self.workers.add(Task({"what": "open", "path": str(self.root / opening.file), **part}, opening))

    def _take(self, task: Task, place: int, answer: dict[str, Any]) -> None:
        if isinstance(task.tag, Wanted):
            self._take_page(task.tag, task.tag.numbers[place], answer)
        elif isinstance(task.tag, Listing):
            self._take_listed(task.tag, answer)
        else:
            self._take_opened(task.tag, answer)

    def _take_opened(self, opening: Opening, answer: dict[str, Any]) -> None:
        """Take what a file, or a part of it, consists of."""
        job, file = opening.job, opening.file
        if "died" in answer and opening.part is None:
            # One attachment may be to blame: the others are read without it.
            request = {"what": "list", "path": str(self.root / file)}
            self.workers.add(Task(request, Listing(job, file, answer["failed"])))
            return
        if "failed" in answer:
            job.report(answer["failed"], file, opening.name)
        for name, reason in answer.get("problems", []):
            job.report(reason, file, name)
        found = [
            Leaf(file, tuple(one["part"]), one["name"], one["digest"], int(one["pages"]))
            for one in answer.get("leaves", [])
        ]
        job.leaves[file] = sorted([*job.leaves.get(file, []), *found], key=lambda leaf: leaf.part)
        self._count_opened(job)

    def _take_listed(self, listing: Listing, answer: dict[str, Any]) -> None:
        """Open the parts of a mail one by one; a file with a single part cannot be read."""
        job, file = listing.job, listing.file
        parts = answer.get("parts", [])
        for name, reason in answer.get("problems", []):
            job.report(reason, file, name)
        if len(parts) > 1:
            job.n_unopened += len(parts)
            for part, name in parts:
                self._open(Opening(job, file, tuple(part), name))
        else:
            job.report(listing.reason, file, *(name for _, name in parts))
        self._count_opened(job)

    def _count_opened(self, job: Job) -> None:
        """Count what was opened; after the last file or part of a document, ask for its pages."""
        job.n_unopened -= 1
        if not job.n_unopened:
            self.progress.n_documents_opened += 1
            self._ask_for_pages(job)

    def _ask_for_pages(self, job: Job) -> None:
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

    def _missing(self, leaf: Leaf, n_pages: int) -> list[int]:
        """Take the pages that are cached; return the numbers of the others."""
        leaf.pages = {number: self.cache.get(self._key(leaf, number)) for number in range(1, n_pages + 1)}
        missing = [number for number, page in leaf.pages.items() if page is None]
        self.progress.n_pages_known += n_pages
        self.progress.n_pages_done += n_pages - len(missing)
        self.progress.n_pages_cached += n_pages - len(missing)
        return missing

    def _task(self, job: Job, leaf: Leaf, numbers: list[int]) -> Task:
        about = {"path": str(self.root / leaf.file), "part": leaf.part, "digest": leaf.digest}
        return Task({"what": "pages", "numbers": numbers, **about}, Wanted(job, leaf, tuple(numbers)))

    def _take_page(self, wanted: Wanted, number: int, answer: dict[str, Any]) -> None:
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

    def _key(self, leaf: Leaf, number: int) -> str:
        return f"{leaf.digest}-{number}-{self.key}"
