"""Documents that are being read: their files and pages so far, and what each request to a process is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter

from setrbm.documents.finding import Found, shown
from setrbm.documents.pages import Document, Page, Place, Problem


@dataclass
class Leaf:
    """A file or attachment of a document, and its pages so far."""

    file: str
    part: tuple[int, ...]
    name: str
    digest: str
    n_pages: int
    pages: dict[int, Page | None] = field(default_factory=dict)


@dataclass
class Job:
    """A document that is being read."""

    found: Found
    n_unopened: int
    leaves: dict[str, list[Leaf]] = field(default_factory=dict)
    problems: list[tuple[tuple[int, ...], Problem]] = field(default_factory=list)
    n_missing: int = 0

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

    def report(self, reason: str, file: str, name: str = "") -> None:
        """Add what is wrong with a file or attachment."""
        self._add((self.found.files.index(file), -1), self.where(file, name), reason)

    def report_page(self, reason: str, leaf: Leaf, number: int) -> None:
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
