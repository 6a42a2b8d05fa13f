"""One run of reading: which files are opened, in which order, and what becomes of the answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from setrbm_mail.jobs import Job, Listing, Opening, Wanted
from setrbm_mail.limits import Limits
from setrbm_mail.page_cache import PageCache
from setrbm_mail.page_requests import PageRequests
from setrbm_mail.pages import Document
from setrbm_mail.progress import Progress
from setrbm_mail.replies import is_temporary, leaves_of, parts_of, problems_of
from setrbm_mail.workers import Task, Workers


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

    def __post_init__(self) -> None:
        self.progress = Progress(0)
        self._requests = PageRequests(self.root, self.workers, self.cache, self.key, self.limits, self.progress)

    def documents(self, jobs: list[Job]) -> Iterator[Document]:
        """Read documents, a few ahead of the one that is yielded next."""
        self.progress.n_documents = len(jobs)
        waiting, begun = deque(jobs), deque[Job]()
        # Nothing must keep the pages of documents that were yielded.
        jobs.clear()
        while waiting or begun:
            self._begin_some(waiting, begun)
            for task, place, answer in self.workers.answers():
                self._take(task, place, answer)
                yield from self._finished(begun)
                self._begin_some(waiting, begun)
            yield from self._finished(begun)

    def _begin_some(self, waiting: deque[Job], begun: deque[Job]) -> None:
        """Begin documents until there are enough for all processes."""
        while waiting and len(begun) < 4 * self.n_jobs:
            begun.append(waiting.popleft())
            self._begin(begun[-1])

    def _finished(self, begun: deque[Job]) -> Iterator[Document]:
        """Yield the documents that are done, up to the first that is not."""
        while begun and begun[0].is_done:
            document = begun.popleft().document(self.limits)
            self.progress.n_documents_done += 1
            self._tell()
            yield document

    def _tell(self) -> None:
        if self.on_progress is not None:
            self.on_progress(self.progress)

    def _begin(self, job: Job) -> None:
        self.progress.n_documents_opened += not job.found.files
        for file in job.found.files:
            self._open(Opening(job, file))

    def _open(self, opening: Opening) -> None:
        part = {} if opening.part is None else {"part": opening.part}
        self.workers.add(Task({"what": "open", **self._file(opening.file), **part}, opening))

    def _file(self, file: str) -> dict[str, Any]:
        return {"path": str(self.root / file), "root": str(self.root)}

    def _take(self, task: Task, place: int, answer: dict[str, Any]) -> None:
        job: Job = task.tag.job
        job.seconds += task.seconds
        if job.seconds > self.limits.document_seconds:
            job.is_stopped = True
        if isinstance(task.tag, Wanted):
            self._requests.take(task.tag, task.tag.numbers[place], answer)
            self._tell()
        elif isinstance(task.tag, Listing):
            self._take_listed(task.tag, answer)
        else:
            self._take_opened(task.tag, answer)
        if job.is_stopped:
            self._withdraw(job)

    def _take_opened(self, opening: Opening, answer: dict[str, Any]) -> None:
        """Take what a file, or a part of it, consists of."""
        job, file = opening.job, opening.file
        if "died" in answer and opening.part is None and not job.is_stopped:
            # One attachment may be to blame: the others are read without it.
            request = {"what": "list", **self._file(file)}
            self.workers.add(Task(request, Listing(job, file, answer["failed"])))
            return
        try:
            leaves, problems = leaves_of(answer, file), problems_of(answer)
        except ValueError as error:
            leaves, problems, answer = [], [], {"failed": str(error)}
        if "failed" in answer:
            job.report(answer["failed"], file, opening.name, is_temporary(answer), opening.part or ())
        for name, reason in problems:
            job.report(reason, file, name)
        job.leaves[file] = sorted([*job.leaves.get(file, []), *leaves], key=lambda leaf: leaf.part)
        self._count_opened(job)

    def _take_listed(self, listing: Listing, answer: dict[str, Any]) -> None:
        """Open the parts of a mail one by one; a file with a single part cannot be read."""
        job, file = listing.job, listing.file
        try:
            parts, problems = parts_of(answer), problems_of(answer)
        except ValueError:
            parts, problems = [], []
        for name, reason in problems:
            job.report(reason, file, name)
        if len(parts) > 1:
            job.n_unopened += len(parts)
            for part, name in parts:
                self._open(Opening(job, file, part, name))
        else:
            job.report(listing.reason, file, parts[0][1] if parts else "", is_temporary=True)
        self._count_opened(job)

    def _count_opened(self, job: Job) -> None:
        """Count what was opened; after the last file or part of a document, ask for its pages."""
        job.n_unopened -= 1
        if not job.n_unopened:
            self.progress.n_documents_opened += 1
            self._requests.ask(job)

    def _withdraw(self, job: Job) -> None:
        """Take back everything that was asked for a document whose time is over."""
        for _ in self.workers.withdraw(lambda one: one.tag.job is job and not isinstance(one.tag, Wanted)):
            job.n_unread += 1
            self._count_opened(job)
        self._requests.withdraw(job)
