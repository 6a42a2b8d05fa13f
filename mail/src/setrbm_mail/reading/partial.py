"""A document while it is being read.

It is *opening* until all its files and their parts were listed and opened, then *reading* until every page has come,
and then done. The items still to do in its state are in ``to_do``, each until its reply is taken: none is lost with a
child. Only ``reader`` changes a document, one reply at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter

from setrbm.tools.text import count
from setrbm_mail.formats.folders import DocumentFiles, shown
from setrbm_mail.limits import Limits
from setrbm_mail.pages import Document, Page, Place, Problem
from setrbm_mail.reading.messages import Item, ItemFailed, Listed, Opened, PageRead, Position, Reply, Request

# Items that a child gets at once: pages, or parts to open.
AT_ONCE = 8
# What problems and pages are sorted by: file, whether it is about a page, position of the part, page.
Order = tuple[int, bool, Position, int]


@dataclass
class OpenedPart:
    """A file or attachment of a document, and its pages so far; it has none until it was opened."""

    file: str
    position: Position
    name: str
    n_pages: int = 0
    digest: str = ""
    pages: dict[int, Page] = field(default_factory=dict)


@dataclass
class PartialDocument:
    """A document that is being read.

    Attributes
    ----------
    files : DocumentFiles
    limits : Limits
    problems : list of pairs of an Order and a Problem
    to_do : dict
        Items without a reply yet, and the parts that wait for them: the same page may occur several times.
    parts : dict of str to dict
        By file and position.
    is_opening : bool
    n_words : int
        The words of its pages so far.
    cut : Order or None
        The first page that is not kept, since the document has too many words with it.
    seconds : float
        How long children have worked on it.
    n_dropped : int
        How many files and pages are not read because of limits.
    """

    files: DocumentFiles
    limits: Limits
    problems: list[tuple[Order, Problem]] = field(default_factory=list)
    to_do: dict[Item, list[OpenedPart]] = field(default_factory=dict)
    parts: dict[str, dict[Position, OpenedPart]] = field(default_factory=dict)
    is_opening: bool = True
    n_words: int = 0
    cut: Order | None = None
    seconds: float = 0.0
    n_dropped: int = 0

    def __post_init__(self) -> None:
        self._file_numbers = {file: k for k, file in enumerate(self.files.files)}
        for file in self.files.files:
            self.parts[file] = {}
            self.to_do["list", file, ()] = []

    @property
    def is_done(self) -> bool:
        """Whether nothing of it is still to be opened or read."""
        return not self.is_opening and not self.to_do

    @property
    def is_stopped(self) -> bool:
        """Whether it has taken too long, so that nothing more of it is read."""
        return self.seconds > self.limits.document_seconds

    @property
    def all_parts(self) -> list[OpenedPart]:
        """The files and attachments that pages come from, in order."""
        return [part for parts in self.parts.values() for _, part in sorted(parts.items())]

    def next_request(self, root: str, busy: Collection[Item]) -> Request | None:
        """Return the next request for a child, without items that are being worked on; None if there is none."""
        free = (item for item in self.to_do if item not in busy)
        for (verb, where), items in groupby(free, itemgetter(0, 1)):
            wanted = tuple(item for _, _, item in islice(items, AT_ONCE))
            if verb != "read":
                return Request(verb, root, where, wanted)
            part = self.to_do[verb, where, wanted[0]][0]
            return Request(verb, root, part.file, wanted, part.position, part.digest)
        return None

    def take(self, item: Item, reply: Reply) -> None:
        """Take the reply to an item in ``to_do``."""
        (_, where, which), waiting = item, self.to_do.pop(item)
        match reply:
            case Listed():
                self._take_listed(where, reply)
            case Opened():
                waiting[0].n_pages, waiting[0].digest = reply.n_pages, reply.digest
            case PageRead():
                for part in waiting:
                    self.keep(reply.page, part, which)
            case ItemFailed():
                self._take_failed(item, waiting, reply)

    def _take_listed(self, file: str, listed: Listed) -> None:
        for name, reason in listed.problems:
            self.report(reason, file, name)
        for position, name in listed.parts:
            self.parts[file][position] = OpenedPart(file, position, name)
            self.to_do["open", file, position] = [self.parts[file][position]]

    def _take_failed(self, item: Item, waiting: list[OpenedPart], failed: ItemFailed) -> None:
        verb, where, which = item
        for part in waiting:
            if verb == "read":
                self.report_page(failed.reason, part, which, failed.is_temporary)
            else:
                self.report(failed.reason, where, part.name, which, failed.is_temporary)
        if not waiting:
            self.report(failed.reason, where, is_temporary=failed.is_temporary)

    def begin_reading(self) -> Iterator[tuple[OpenedPart, int]]:
        """Yield its pages, up to the limit of pages, after everything was opened."""
        self.is_opening = False
        n_pages, n_left = sum(part.n_pages for part in self.all_parts), self.limits.pages
        if self.is_stopped:
            self.n_dropped += n_pages
            return
        if n_pages > n_left:
            self.report_all(f"it has {count(n_pages, 'page')}; the limit is {n_left:,} (pages), the rest is not read")
        every = ((part, number) for part in self.all_parts for number in range(1, part.n_pages + 1))
        yield from islice(every, n_left)

    def is_over(self, part: OpenedPart, number: int) -> bool:
        """Return whether a page is not needed, since a limit of the document is reached before it."""
        return self.is_stopped or (self.cut is not None and self._order(part, number) > self.cut)

    def drop_unneeded(self, busy: Collection[Item]) -> int:
        """Drop the items that are over a limit by now, unless a child works on them; return the number of pages."""
        if not self.is_stopped and self.cut is None:
            return 0
        unneeded = [
            item
            for item, parts in self.to_do.items()
            if item not in busy and all(self.is_over(part, item[2]) for part in parts)
        ]
        self.n_dropped += len(unneeded)
        n_pages = sum(len(self.to_do.pop(item)) for item in unneeded)
        return 0 if self.is_opening else n_pages

    def keep(self, page: Page, part: OpenedPart, number: int) -> None:
        """Keep a page that was read, as long as the document has not too many words.

        Pages may come in any order. If there are too many words, the last page is dropped for good: in the end, the
        first pages are kept, as many as the limit allows.
        """
        if reason := self.limits.too_many_words(len(page.words)):
            self.report_page(reason, part, number)
            return
        if self.cut is not None and self._order(part, number) > self.cut:
            return
        part.pages[number] = page
        self.n_words += len(page.words)
        while self.n_words > self.limits.words:
            last = next(part for part in reversed(self.all_parts) if part.pages)
            number = max(last.pages)
            self.n_words -= len(last.pages.pop(number).words)
            self.cut = self._order(last, number)

    def report(
        self, reason: str, file: str, name: str = "", position: Position = (), is_temporary: bool = False
    ) -> None:
        """Add a problem of a file or of a part of it."""
        order = (self._file_numbers[file], False, position, 0)
        self.problems.append((order, Problem(self.files.id, _where(file, name), reason, is_temporary)))

    def report_page(self, reason: str, part: OpenedPart, number: int, is_temporary: bool = False) -> None:
        """Add a problem of a page."""
        problem = Problem(self.files.id, _where(part.file, part.name, number), reason, is_temporary)
        self.problems.append((self._order(part, number), problem))

    def report_all(self, reason: str) -> None:
        """Add a problem of the document, given its reason."""
        self.add(Problem(self.files.id, self.files.id, reason))

    def add(self, problem: Problem) -> None:
        """Add a problem of the document."""
        self.problems.append(((len(self._file_numbers), False, (), 0), problem))

    def _order(self, part: OpenedPart, number: int) -> Order:
        return self._file_numbers[part.file], True, part.position, number

    def document(self) -> Document:
        """Return the document as it was read, in the order of files, attachments and pages."""
        read = [(part, number, page) for part in self.all_parts for number, page in sorted(part.pages.items())]
        self._report_limits()
        if not read and not self.problems:
            self.report_all("it has no pages")
        return Document(
            self.files.id,
            [page for _, _, page in read],
            [Place(part.file, part.position, part.digest, n, _where(part.file, part.name, n)) for part, n, _ in read],
            # In their order, not in that of the replies.
            [problem for _, problem in sorted(self.problems, key=itemgetter(0))],
        )

    def _report_limits(self) -> None:
        """Add the problems of pages left out because of the limits of words and time per document."""
        if self.cut is not None:
            # Which later pages were tried depends on timing.
            self.problems = [(order, problem) for order, problem in self.problems if not order[1] or order < self.cut]
            file, _, position, number = self.cut
            first = self.parts[self.files.files[file]][position]
            limit = f"the limit is {self.limits.words:,} (words)"
            self.report_page(f"the document has too many words; {limit}, the rest is not read", first, number)
        if self.n_dropped and self.is_stopped:
            most = f"{self.limits.document_seconds:g} seconds (document_seconds)"
            self.report_all(f"reading took more than {most}, the rest is not read")


def _where(file: str, name: str = "", number: int | None = None) -> str:
    """Return the name of a file, an attachment or a page in messages."""
    page = [] if number is None else [f"page {number}"]
    return ", ".join([shown(file), *([name] if name else []), *page])
