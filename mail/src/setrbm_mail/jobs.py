"""Documents that are being read: their files and pages so far, and what each request to a process is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter

from setrbm_mail.finding import Found, shown
from setrbm_mail.limits import Limits
from setrbm_mail.pages import Document, Page, Place, Problem


@dataclass
class Leaf:
    """A file or attachment of a document, and its pages so far."""

    file: str
    part: tuple[int, ...]
    name: str
    digest: str
    n_pages: int
    pages: dict[int, Page] = field(default_factory=dict)


@dataclass
class Job:
    """A document that is being read.

    Attributes
    ----------
    found : Found
    n_unopened : int
        How many of its files, or parts of them, are still to be opened.
    leaves : dict of str to list of Leaf
    problems : list of pairs of a place and a Problem
    n_missing : int
        How many of its pages were asked for and have not come.
    n_words : int
        The words of its pages so far.
    cut : tuple of int or None
        The place of the first page that is not kept, since the document has too many words with it.
    seconds : float
        How long processes have worked on it.
    is_stopped : bool
        Whether that is too long, so that nothing more of it is read.
    n_unread : int
        How many files and pages are not read because of this.
    """

    found: Found
    n_unopened: int
    leaves: dict[str, list[Leaf]] = field(default_factory=dict)
    problems: list[tuple[tuple[int, ...], Problem]] = field(default_factory=list)
    n_missing: int = 0
    n_words: int = 0
    cut: tuple[int, ...] | None = None
    seconds: float = 0.0
    is_stopped: bool = False
    n_unread: int = 0

    @property
    def is_done(self) -> bool:
        """Whether nothing of it is still to be opened or read."""
        return not self.n_unopened and not self.n_missing

    @property
    def all_leaves(self) -> list[Leaf]:
        """The files and attachments that pages come from, in order."""
        return [leaf for file in self.found.files for leaf in self.leaves.get(file, [])]

    def where(self, file: str, name: str = "", number: int | None = None) -> str:
        """Return what to call a file, an attachment or a page in messages."""
        page = [] if number is None else [f"page {number}"]
        return ", ".join([shown(file), *([name] if name else []), *page])

    def report(
        self, reason: str, file: str, name: str = "", is_temporary: bool = False, part: tuple[int, ...] = ()
    ) -> None:
        """Add what is wrong with a file or attachment; the part is the place of the attachment in the file."""
        self._add((self.found.files.index(file), -1, *part), self.where(file, name), reason, is_temporary)

    def report_page(self, reason: str, leaf: Leaf, number: int, is_temporary: bool = False) -> None:
        """Add what is wrong with a page."""
        self._add(self._place(leaf, number), self.where(leaf.file, leaf.name, number), reason, is_temporary)

    def report_all(self, reason: str) -> None:
        """Add what is wrong with the document."""
        self._add((len(self.found.files), -1), self.found.id, reason)

    def _add(self, place: tuple[int, ...], where: str, reason: str, is_temporary: bool = False) -> None:
        self.problems.append((place, Problem(self.found.id, where, reason, is_temporary)))

    def _place(self, leaf: Leaf, number: int) -> tuple[int, ...]:
        """Return what pages are sorted by."""
        return self.found.files.index(leaf.file), self.leaves[leaf.file].index(leaf), number

    def is_over(self, leaf: Leaf, number: int) -> bool:
        """Return whether a page is not needed, since a limit of the document is reached before it."""
        return self.is_stopped or (self.cut is not None and self._place(leaf, number) > self.cut)

    def keep(self, page: Page, leaf: Leaf, number: int, limits: Limits) -> None:
        """Keep a page that was read, as long as the document has not too many words.

        Pages may come in any order. If there are too many words, the last page is not needed, whatever comes: what is
        kept in the end are the first pages, as many as the limit allows.
        """
        if reason := limits.too_many_words(len(page.words)):
            self.report_page(reason, leaf, number)
            return
        if self.cut is not None and self._place(leaf, number) > self.cut:
            return
        leaf.pages[number] = page
        self.n_words += len(page.words)
        while self.n_words > limits.words:
            last = next(leaf for leaf in reversed(self.all_leaves) if leaf.pages)
            number = max(last.pages)
            self.n_words -= len(last.pages.pop(number).words)
            self.cut = self._place(last, number)

    def document(self, limits: Limits) -> Document:
        """Return what was read, in the order of files, attachments and pages."""
        read = [(leaf, number, page) for leaf in self.all_leaves for number, page in sorted(leaf.pages.items())]
        self._report_limits(limits)
        if not read and not self.problems:
            self.report_all("it has no pages")
        return Document(
            self.found.id,
            [page for _, _, page in read],
            [Place(leaf.file, leaf.part, leaf.digest, n, self.where(leaf.file, leaf.name, n)) for leaf, n, _ in read],
            # In their order, not in that of the answers.
            [problem for _, problem in sorted(self.problems, key=itemgetter(0))],
        )

    def _report_limits(self, limits: Limits) -> None:
        """Add what is not read because of the limits of words and time per document."""
        if self.cut is not None:
            # Which later pages were tried depends on timing.
            self.problems = [one for one in self.problems if one[0][1] < 0 or one[0] < self.cut]
            file, leaf, number = self.cut
            first = self.leaves[self.found.files[file]][leaf]
            reason = f"the document has too many words; the limit is {limits.words:,} (words), the rest is not read"
            self.report_page(reason, first, number)
        if self.n_unread and self.is_stopped:
            most = f"{limits.document_seconds:g} seconds (document_seconds)"
            self.report_all(f"reading took more than {most}, the rest is not read")


@dataclass(frozen=True)
class Opening:
    """What a task of opening a file, or a part of it, is about."""

    job: Job
    file: str
    part: tuple[int, ...] | None = None
    name: str = ""


@dataclass(frozen=True)
class Listing:
    """What a task of listing the parts of a file is about: opening it as a whole failed, for this reason."""

    job: Job
    file: str
    reason: str


@dataclass(frozen=True)
class Wanted:
    """What a task of pages is about."""

    job: Job
    leaf: Leaf
    numbers: tuple[int, ...]

    def later(self, by: int) -> Wanted:
        """Return what remains after the first pages."""
        return Wanted(self.job, self.leaf, self.numbers[by:])
