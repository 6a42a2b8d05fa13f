"""The table of formats: what a file is, by its first bytes, what reads it, and what that needs.

To add a format: a file in this folder with a ``PageSource``, and a row. The name of a file is never trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from setrbm_mail.formats.heads import is_archive, is_empty, is_mail, is_office, is_pdf, starts_with
from setrbm_mail.formats.source import PageSource
from setrbm_mail.limits import Limits

# The number of first bytes that show the format of a file.
HEAD = 16_384


@dataclass(frozen=True)
class Format:
    """A row of the table.

    Attributes
    ----------
    name : str
        What to call it.
    matches : callable
        Whether a file that begins with these bytes, at most ``HEAD`` of them, is one. The first match counts.
    pages : str
        "module:name" of a callable: takes the content and the limits, returns a ``PageSource``; "" if it is not read.
        Imported by the child processes only.
    parts : str
        "module:name" of a function that adds the files that it holds, if it holds any; see ``formats.parts``.
    needs : tuple of str
        The packages that reading it needs.
    way_out : str
        Why it is not read, and what to do about it.
    suffixes : tuple of str
        How names of pictures of pages end: a folder with nothing but such pictures is one document.
    cached_as : str
        The name of the format in the keys of cached pages; must never change.
    """

    name: str
    matches: Callable[[bytes], bool]
    pages: str = ""
    parts: str = ""
    needs: tuple[str, ...] = ()
    way_out: str = ""
    suffixes: tuple[str, ...] = ()
    cached_as: str = ""

    def open(self, content: bytes, limits: Limits) -> PageSource:
        """Return the pages of a file; raise DocumentError if it cannot be opened."""
        source: PageSource = named(self.pages)(content, limits)
        return source


TIFF_HEADS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
IMAGE: dict[str, Any] = {"pages": "setrbm_mail.formats.image:ImageSource", "needs": ("PIL",), "cached_as": "IMAGE"}
# The text of a mail is read like a typed page; its attachments have formats of their own.
MAIL = Format(
    "mail", is_mail, pages="setrbm_mail.formats.text:text_source", parts="setrbm_mail.formats.mail:add_parts",
    needs=("PIL",), cached_as="MAIL",
)  # fmt: skip

FORMATS = (
    Format("empty file", is_empty, way_out="it is empty"),
    Format("TIFF", starts_with(*TIFF_HEADS), suffixes=(".tif", ".tiff"), **IMAGE),
    Format("JPEG", starts_with(b"\xff\xd8\xff"), suffixes=(".jpg", ".jpeg"), **IMAGE),
    Format("PNG", starts_with(b"\x89PNG\r\n\x1a\n"), suffixes=(".png",), **IMAGE),
    Format("Office file", is_office, way_out="Office files are not read; export it to PDF first"),
    Format("archive", is_archive, way_out="archives are not read; unpack it first"),
    MAIL,
    Format("PDF", is_pdf, pages="setrbm_mail.formats.pdf:PdfSource", needs=("pypdfium2",), cached_as="PDF"),
)


def format_of(head: bytes) -> Format:
    """Return the format of a file.

    Parameters
    ----------
    head : bytes
        Its first ``HEAD`` bytes, or all of it.

    Examples
    --------
    >>> format_of(b"%PDF-1.7").name, format_of(b"hello").name
    ('PDF', 'unknown')
    """
    return next((row for row in FORMATS if row.matches(head)), unknown())


def unknown() -> Format:
    """Return the format of every other file."""
    known = ", ".join(row.name for row in FORMATS if not row.way_out)
    return Format("unknown", lambda head: True, way_out=f"its format is unknown; these are read: {known}")


def named(place: str) -> Any:
    """Return what a row of the table names as "module:name"."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def needed_packages() -> set[str]:
    """Return the packages that the readers of all formats need."""
    return {package for row in FORMATS for package in row.needs}


def load_readers() -> None:
    """Import everything that opens files."""
    for row in FORMATS:
        for place in filter(None, (row.pages, row.parts)):
            named(place)
