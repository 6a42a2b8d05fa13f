"""The manifest of generated mail: one row per document, with its class and the pages that show it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from setrbm.datasets.mail_plan import HANDWRITTEN, PAGE_TYPES
from setrbm.tools.files import write_atomically
from setrbm.tools.text import listed

MANIFEST = "manifest.csv"
COLUMNS = (
    "document", "label", "true_class", "kind", "evidence_pages", "page_types", "evidence_is_handwritten", "n_pages",
)  # fmt: skip
SEPARATOR = ";"
KINDS = (0, 1, 2)


@dataclass(frozen=True)
class Piece:
    """One piece of mail.

    Attributes
    ----------
    document : str
        The name of its file or folder.
    label : str
        The class that it is labeled with, sometimes a wrong one.
    true_class : str
    kind : int
        How many pages it takes to show the class: 0, 1 or 2.
    evidence_pages : tuple of int
        The pages that show it, counted from 1.
    page_types : tuple of str
        One of ``PAGE_TYPES`` per page.
    """

    document: str
    label: str
    true_class: str
    kind: int
    evidence_pages: tuple[int, ...]
    page_types: tuple[str, ...]

    @property
    def n_pages(self) -> int:
        """The number of pages."""
        return len(self.page_types)

    @property
    def evidence_is_handwritten(self) -> bool:
        """Whether a page that shows the class is written by hand."""
        return any(self.page_types[page - 1] == HANDWRITTEN for page in self.evidence_pages)


@dataclass(frozen=True)
class Manifest:
    """What a folder of generated mail holds.

    Attributes
    ----------
    pieces : tuple of Piece
    """

    pieces: tuple[Piece, ...]

    @property
    def documents(self) -> list[str]:
        """The names of the files and folders."""
        return [piece.document for piece in self.pieces]

    @property
    def labels(self) -> list[str]:
        """The labels, some of them wrong."""
        return [piece.label for piece in self.pieces]

    @property
    def true_classes(self) -> list[str]:
        """The classes that were drawn."""
        return [piece.true_class for piece in self.pieces]

    @property
    def n_pages(self) -> int:
        """The number of pages of all documents."""
        return sum(piece.n_pages for piece in self.pieces)

    def write(self, path: Path | str) -> None:
        """Write a CSV file, replacing an existing one only when it is complete."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows(_row_of(piece) for piece in self.pieces)
        write_atomically(Path(path), text.getvalue().encode())

    @classmethod
    def read(cls, path: Path | str) -> Manifest:
        """Read a CSV file, or the manifest of a folder.

        Parameters
        ----------
        path : path-like
            ``manifest.csv``, or the folder that contains it.
        """
        path = Path(path)
        path = path / MANIFEST if path.is_dir() else path
        with open(path, encoding="utf-8-sig", newline="") as file:
            table = csv.reader(file)
            _check_header(next(table, []), path)
            pieces = tuple(_piece_of(row, f"{str(path)!r}, line {table.line_num}") for row in table if row)
        names = Counter(piece.document for piece in pieces)
        if repeated := [name for name, n in names.items() if n > 1]:
            raise ValueError(f"{str(path)!r} must name every document once. Got {listed(repeated)} more than once.")
        return cls(pieces)


def _row_of(piece: Piece) -> list[object]:
    return [
        piece.document,
        piece.label,
        piece.true_class,
        piece.kind,
        SEPARATOR.join(map(str, piece.evidence_pages)),
        SEPARATOR.join(piece.page_types),
        "yes" if piece.evidence_is_handwritten else "no",
        piece.n_pages,
    ]


def _check_header(header: list[str], path: Path) -> None:
    if tuple(header) != COLUMNS:
        raise ValueError(
            f"{str(path)!r} must have the columns {', '.join(COLUMNS)}, in this order. "
            f"Got {', '.join(header) or 'an empty file'}."
        )


def _piece_of(row: list[str], where: str) -> Piece:
    """Return a piece of mail from a row, once the row has been checked."""
    if len(row) != len(COLUMNS):
        raise ValueError(f"A row must have {len(COLUMNS)} fields. Got {len(row)} in {where}.")
    document, label, true_class, kind, pages, types, handwritten, n_pages = row
    page_types = tuple(types.split(SEPARATOR))
    _check_document(document, where)
    if unknown := [name for name in page_types if name not in PAGE_TYPES]:
        raise ValueError(f"page_types must be among {', '.join(PAGE_TYPES)}. Got {listed(unknown)} in {where}.")
    if _integer(n_pages, "n_pages", where) != len(page_types):
        raise ValueError(
            f"page_types must name one type per page. Got {len(page_types)} for {n_pages} pages in {where}."
        )
    if _integer(kind, "kind", where) not in KINDS:
        raise ValueError(f"kind must be 0, 1 or 2. Got {kind!r} in {where}.")
    evidence = tuple(_integer(page, "evidence_pages", where) for page in pages.split(SEPARATOR) if page)
    if outside := [page for page in evidence if not 1 <= page <= len(page_types)]:
        raise ValueError(f"evidence_pages must lie between 1 and {n_pages}. Got {listed(outside)} in {where}.")
    piece = Piece(document, label, true_class, int(kind), evidence, page_types)
    if handwritten != ("yes" if piece.evidence_is_handwritten else "no"):
        raise ValueError(f"evidence_is_handwritten must agree with page_types. Got {handwritten!r} in {where}.")
    return piece


def _check_document(document: str, where: str) -> None:
    """Refuse names that lead out of the folder."""
    if not document or document in (".", "..") or any(mark in document for mark in "/\\\0"):
        raise ValueError(
            f"document must be the name of a file or folder beside the manifest. Got {document!r} in {where}."
        )


def _integer(text: str, name: str, where: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{name} must be a whole number. Got {text!r} in {where}.")
    return int(text)
