"""What may be read of a file: sizes, numbers, time and memory, each of which the user can set."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

MEGA = 1_000_000


@dataclass(frozen=True)
class Limits:
    """How much of a file is read before it is refused or cut off.

    Parameters
    ----------
    file_bytes : int
        The size of a file, or of one attachment.
    pages : int
        Pages per document; the rest is reported and not read.
    page_points : float
        The longer side of a page, in points (1/72 inch). PDF allows 14,400.
    pixels : int
        The pixels of one picture as it is stored, before it is reduced. Very large pages of PDF files are drawn with
        fewer dots per inch, so that they have no more pixels than this.
    attachments : int
        Attachments per mail, nested ones included.
    nesting : int
        How deep mails may be attached to mails.
    words : int
        Words per page, and per document; the rest is reported and not read.
    seconds : float
        The time for one page, and for opening one file.
    document_seconds : float
        The time that all processes together may spend on one document, its attachments included; the rest is reported
        and not read.
    memory : int
        The bytes of memory that each process may take for reading, besides its libraries.

    Examples
    --------
    >>> Limits(pages=50).pages
    50
    """

    file_bytes: int = 200 * MEGA
    pages: int = 1_000
    page_points: float = 14_400.0
    pixels: int = 100 * MEGA
    attachments: int = 100
    nesting: int = 5
    words: int = 500_000
    seconds: float = 60.0
    document_seconds: float = 3600.0
    memory: int = 3_000 * MEGA

    def __post_init__(self) -> None:
        for limit in fields(self):
            value, is_whole = getattr(self, limit.name), limit.type == "int"
            if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float) or not value > 0:
                kind = "a whole number" if is_whole else "a number"
                raise ValueError(f"{limit.name} must be {kind} above 0. Got {value!r}.")

    def to_json(self) -> dict[str, Any]:
        """Return the limits as plain values."""
        return asdict(self)

    def too_many_words(self, n_words: int) -> str:
        """Return why a page with this number of words is refused; "" if it is not."""
        return f"the page has {n_words:,} words; the limit is {self.words:,} (words)" if n_words > self.words else ""
