"""Pages that documents wait for: from the cache, from a process, or from one that reads the same page already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from setrbm.tools.text import count
from setrbm_mail.jobs import Job, Leaf, Wanted
from setrbm_mail.limits import Limits
from setrbm_mail.page_cache import PageCache
from setrbm_mail.pages import Page
from setrbm_mail.progress import Progress
from setrbm_mail.replies import NONSENSE, is_temporary
from setrbm_mail.workers import Task, Workers, in_pieces

# Pages that a process reads before it asks for more.
PAGES_AT_ONCE = 8


@dataclass(frozen=True, eq=False)
class _Waiting:
    """A place of a document that waits for a page."""

    job: Job
    leaf: Leaf
    number: int


@dataclass
class PageRequests:
    """The pages that are being read, and which documents wait for each.

    Attributes
    ----------
    root : Path
    workers : Workers
    cache : PageCache
    key : str
        What cached pages must agree in.
    limits : Limits
    progress : Progress
    """

    root: Path
    workers: Workers
    cache: PageCache
    key: str
    limits: Limits
    progress: Progress

    def __post_init__(self) -> None:
        self._waiting: dict[str, list[_Waiting]] = {}

    def ask(self, job: Job) -> None:
        """Ask for the pages of a document, but for those that are cached, being read already, or over a limit."""
        n_left = 0 if job.is_stopped else self.limits.pages
        n_pages = sum(leaf.n_pages for leaf in job.all_leaves)
        if job.is_stopped:
            job.n_unread += n_pages
        elif n_pages > n_left:
            job.report_all(f"it has {count(n_pages, 'page')}; the limit is {n_left:,} (pages), the rest is not read")
        tasks: list[Task] = []
        for leaf in job.all_leaves:
            numbers = range(1, min(leaf.n_pages, n_left) + 1)
            n_left -= len(numbers)
            self.progress.n_pages_known += len(numbers)
            missing = [number for number in numbers if not self._take_cached(job, leaf, number)]
            first = [number for number in missing if self._is_first(_Waiting(job, leaf, number))]
            tasks += [self._task(job, leaf, piece) for piece in in_pieces(first, PAGES_AT_ONCE)]
        for task in reversed(tasks):
            self.workers.add(task, first=True)

    def _take_cached(self, job: Job, leaf: Leaf, number: int) -> bool:
        """Take a page that is cached, or is not needed since earlier ones have too many words."""
        if not job.is_over(leaf, number):
            page = self.cache.get(self._key(leaf, number))
            if page is None:
                return False
            job.keep(page, leaf, number, self.limits)
        self.progress.n_pages_done += 1
        self.progress.n_pages_cached += 1
        return True

    def _is_first(self, one: _Waiting) -> bool:
        """Wait for a page; return whether nobody else waits for it."""
        waiting = self._waiting.setdefault(self._key(one.leaf, one.number), [])
        waiting.append(one)
        one.job.n_missing += 1
        return len(waiting) == 1

    def _task(self, job: Job, leaf: Leaf, numbers: list[int]) -> Task:
        about = {"path": str(self.root / leaf.file), "root": str(self.root), "part": leaf.part, "digest": leaf.digest}
        return Task({"what": "pages", "numbers": numbers, **about}, Wanted(job, leaf, tuple(numbers)))

    def take(self, wanted: Wanted, number: int, answer: dict[str, Any]) -> None:
        """Give a page that was read, or the reason why it was not, to all that wait for it."""
        key = self._key(wanted.leaf, number)
        waiting = self._waiting.pop(key, [])
        try:
            page = Page.from_json(answer["page"])
        except (KeyError, ValueError):
            for one in waiting:
                one.job.report_page(answer.get("failed", NONSENSE), one.leaf, one.number, is_temporary(answer))
        else:
            self.cache.put(key, page.to_json())
            for one in waiting:
                one.job.keep(page, one.leaf, one.number, self.limits)
        self._count(waiting)
        self.progress.n_pages_cached += max(0, len(waiting) - 1)
        for one in waiting:
            self.withdraw(one.job)

    def _count(self, waiting: list[_Waiting]) -> None:
        self.progress.n_pages_done += len(waiting)
        for one in waiting:
            one.job.n_missing -= 1

    def withdraw(self, job: Job) -> None:
        """Cancel the requests for pages of a document that are over a limit by now; other documents keep theirs."""
        if not job.is_stopped and job.cut is None:
            return
        for task in self.workers.withdraw(lambda one: _is_over(one.tag, job)):
            for number in task.tag.numbers:
                self._withdraw_page(self._key(task.tag.leaf, number), job)

    def _withdraw_page(self, key: str, job: Job) -> None:
        waiting = self._waiting.pop(key)
        others = [one for one in waiting if one.job is not job]
        own = [one for one in waiting if one.job is job]
        self._count(own)
        job.n_unread += len(own)
        if others:
            self._waiting[key] = others
            first = next((one for one in others if not one.job.is_stopped), others[0])
            self.workers.add(self._task(first.job, first.leaf, [first.number]))

    def _key(self, leaf: Leaf, number: int) -> str:
        return f"{leaf.digest}-{number}-{self.key}"


def _is_over(tag: Any, job: Job) -> bool:
    """Return whether a task is about pages of a document that are not needed any more."""
    return isinstance(tag, Wanted) and tag.job is job and job.is_over(tag.leaf, tag.numbers[0])
