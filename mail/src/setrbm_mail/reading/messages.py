"""The messages between parent and child, one JSON object per line.

=================  ============================  =========================================================
parent to child    child to parent, per item     what it is about
=================  ============================  =========================================================
limits, settings   anything                      the child is ready
list               Listed                        which parts a file has
open               Opened, per part              how many pages a part has, and its digest
read               PageRead, per page            the page
draw               Drawn, per page               its picture
=================  ============================  =========================================================

``ItemFailed`` may stand for any of them. A file may have taken the child over, so a reply that makes no sense is a
failure, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from setrbm_mail.limits import Limits
from setrbm_mail.pages import Page
from setrbm_mail.reading.settings import Reading

NONSENSE = "reading it crashed: its answer makes no sense"
# Upper bounds: characters of a name and of a reason, and pages or parts of a file.
LONGEST_NAME, LONGEST_REASON, MOST = 2_000, 400, 2**31
DIGEST = re.compile(r"[0-9a-f]{64}")

# Where a part is in a file that holds others; empty for the file itself.
Position = tuple[int, ...]
# The subject of one reply: the verb, the file (of a page the digest of its part), and the position or the number. The
# same page of two documents is one item.
Item = tuple[str, str, Any]


def settings_line(limits: Limits, reading: Reading) -> bytes:
    """Return the first line that a child gets."""
    return json.dumps({"limits": limits.to_json(), "reading": reading.to_json()}).encode() + b"\n"


def settings_of(line: bytes) -> tuple[Limits, Reading]:
    """Return the limits and settings in the first line."""
    plain = json.loads(line)
    return Limits(**plain["limits"]), Reading(**plain["reading"])


@dataclass(frozen=True, eq=False)
class Request:
    """Something to do with a file, for some items, one after the other.

    Attributes
    ----------
    verb : {"list", "open", "read", "draw"}
    root, file : str
        A folder, and the path of the file below it.
    items : tuple
        Each gets one reply: positions of parts to open, numbers of pages to read or to draw.
    part : tuple of int
        Where the pages are.
    digest : str
        Of the part: its content must be the same as when it was opened.
    """

    verb: str
    root: str
    file: str
    items: tuple[Any, ...] = ((),)
    part: Position = ()
    digest: str = ""

    def items_after(self, done: int = 0) -> list[Item]:
        """Return the items whose replies are still to come."""
        return [(self.verb, self.digest or self.file, item) for item in self.items[done:]]

    def line(self, done: int = 0) -> bytes:
        """Return it as a line, without the items that are done."""
        return json.dumps(asdict(self) | {"items": self.items[done:]}).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> Request:
        """Return the request in a line; a child trusts its parent."""
        plain = json.loads(line)
        items = tuple(tuple(item) if isinstance(item, list) else item for item in plain["items"])
        return cls(**plain | {"items": items, "part": tuple(plain["part"])})


@dataclass(frozen=True)
class ItemFailed:
    """Why there is no other reply, and whether trying again may help."""

    reason: str
    is_temporary: bool = False


@dataclass(frozen=True)
class Listed:
    """The parts of a file, positions and names; and names and reasons of those that are not read."""

    parts: list[tuple[Position, str]]
    problems: list[tuple[str, str]]


@dataclass(frozen=True)
class Opened:
    """A part that can be read."""

    n_pages: int
    digest: str


@dataclass(frozen=True)
class PageRead:
    """A page as it was read."""

    page: Page


@dataclass(frozen=True)
class Drawn:
    """The picture of a page: height and width, and its gray values, compressed, in base64; not checked yet."""

    shape: Any
    pixels: Any = field(repr=False)


Reply = ItemFailed | Listed | Opened | PageRead | Drawn


def line_of(reply: Reply) -> bytes:
    """Return a reply as a line."""
    content = {"page": reply.page.to_json()} if isinstance(reply, PageRead) else asdict(reply)
    return json.dumps(content).encode() + b"\n"


def reply_of(verb: str, line: bytes) -> Reply:
    """Return the reply in a line; a line that makes no sense is an ``ItemFailed``."""
    try:
        plain = json.loads(line)
        return _failed(plain) if "reason" in plain else REPLIES[verb](plain)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ItemFailed(NONSENSE)


def _failed(plain: Any) -> ItemFailed:
    return ItemFailed(_text(plain["reason"], LONGEST_REASON), plain.get("is_temporary") is True)


def _listed(plain: Any) -> Listed:
    parts = [(_position(position), _text(name)) for position, name in _list(plain["parts"])]
    return Listed(parts, [(_text(name), _text(reason)) for name, reason in _list(plain["problems"])])


def _opened(plain: Any) -> Opened:
    if DIGEST.fullmatch(plain["digest"]) is None:
        raise ValueError(NONSENSE)
    return Opened(_whole(plain["n_pages"]), plain["digest"])


def _page_read(plain: Any) -> PageRead:
    return PageRead(Page.from_json(plain["page"]))


def _drawn(plain: Any) -> Drawn:
    return Drawn(plain["shape"], plain["pixels"])


REPLIES: dict[str, Callable[[Any], Reply]] = {"list": _listed, "open": _opened, "read": _page_read, "draw": _drawn}


def _list(plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise ValueError(NONSENSE)
    return plain


def _position(plain: Any) -> Position:
    return tuple(map(_whole, _list(plain)))


def _whole(plain: Any) -> int:
    if type(plain) is not int or not 0 <= plain < MOST:
        raise ValueError(NONSENSE)
    return plain


def _text(plain: Any, longest: int = LONGEST_NAME) -> str:
    if not isinstance(plain, str) or len(plain) > longest or not plain.isprintable():
        raise ValueError(NONSENSE)
    return plain
