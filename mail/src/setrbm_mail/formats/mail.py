"""Mails (.eml): their text and attachments, nested ones too."""

from __future__ import annotations

import email
import email.policy
import re
from email.message import Message
from html.parser import HTMLParser
from typing import Any

from setrbm.tools.text import count
from setrbm_mail.formats.parts import FilePart, FileParts
from setrbm_mail.formats.table import HEAD, MAIL, format_of
from setrbm_mail.limits import Limits
from setrbm_mail.pages import DocumentError

# How much of a name is shown.
LONGEST_NAME = 80
# Parts of web pages that are not text. What else is in a head is shown, as browsers do: its end may be omitted.
UNSEEN = ("script", "style", "title")


def add_parts(mail: FilePart, parts: FileParts, limits: Limits) -> None:
    """Add the text and the attachments of a mail."""
    _add_mail(_parsed(mail.content), mail.position, mail.name, parts, limits)


def _parsed(data: bytes) -> Message[Any, Any]:
    try:
        return email.message_from_bytes(data, policy=email.policy.compat32)
    except MemoryError:
        raise
    except RecursionError:
        raise DocumentError("the parts of the mail are nested too deep") from None
    except Exception:
        # The parser of the standard library fails on some fields that are not well-formed.
        raise DocumentError("the mail is damaged") from None


def _add_mail(
    message: Message[Any, Any], position: tuple[int, ...], name: str, parts: FileParts, limits: Limits
) -> None:
    if len(position) > limits.nesting:
        parts.problems.append((name, f"mails are nested more than {limits.nesting} deep (nesting)"))
        return
    n_before = len(parts)
    text = _text_of(message)
    if text.strip():
        content = text.encode("utf-8", errors="replace")
        parts.readable.append(FilePart((*position, 0), _joined(name, "text"), MAIL, content))
    for k, attachment in enumerate(_attachments(message), start=1):
        if parts.n_attachments == limits.attachments:
            parts.problems.append((name, f"it has more than {count(limits.attachments, 'attachment')} (attachments)"))
            return
        parts.n_attachments += 1
        called = _joined(name, _name_of(attachment) or f"attachment {k}")
        _add_attachment(attachment, (*position, k), called, parts, limits)
    if len(parts) == n_before:
        parts.problems.append((name, "the mail has neither text nor attachments"))


def _add_attachment(
    attachment: Message[Any, Any], position: tuple[int, ...], name: str, parts: FileParts, limits: Limits
) -> None:
    if attachment.get_content_type() == "message/rfc822" and not _is_encoded_mail(attachment):
        for inner in _messages(attachment):
            _add_mail(inner, position, name, parts, limits)
        return
    content = _bytes_of(attachment) or _decoded_mail(attachment)
    parts.add(FilePart(position, name, format_of(content[:HEAD]), content), limits)


def _is_encoded_mail(attachment: Message[Any, Any]) -> bool:
    """Return whether an attached mail is in base64: the standard forbids it, and some senders do it."""
    inner = _messages(attachment)
    encoding = str(attachment.get("Content-Transfer-Encoding", "")).strip().lower()
    return encoding == "base64" and bool(inner) and not inner[0].keys()


def _decoded_mail(attachment: Message[Any, Any]) -> bytes:
    """Return the content of an attached mail in base64; the parser takes it for the body of a mail without fields."""
    for inner in _messages(attachment)[:1]:
        inner["Content-Transfer-Encoding"] = "base64"
        return _bytes_of(inner)
    return b""


def _joined(name: str, more: str) -> str:
    return f"{name}, {more}" if name else more


def _messages(part: Message[Any, Any]) -> list[Message[Any, Any]]:
    """Return the parts of a part."""
    payload = part.get_payload()
    return [inner for inner in payload if isinstance(inner, Message)] if isinstance(payload, list) else []


def _walk(message: Message[Any, Any]) -> list[tuple[Message[Any, Any], int]]:
    """Return the parts of a mail that hold something, each with the number of the alternatives it belongs to, or 0.

    Parts of attached mails are not looked into.
    """
    parts, open_parts, n_alternatives = [], [(message, 0)], 0
    while open_parts:
        part, group = open_parts.pop(0)
        if not part.is_multipart() or part.get_content_type() == "message/rfc822":
            parts.append((part, group))
            continue
        if part.get_content_type() == "multipart/alternative" and not group:
            n_alternatives += 1
            group = n_alternatives
        open_parts[:0] = [(inner, group) for inner in _messages(part)]
    return parts


def _is_text(part: Message[Any, Any]) -> bool:
    return part.get_content_type() in ("text/plain", "text/html") and part.get_content_disposition() != "attachment"


def _is_plain(part: Message[Any, Any]) -> bool:
    return part.get_content_type() == "text/plain"


def _attachments(message: Message[Any, Any]) -> list[Message[Any, Any]]:
    return [part for part, _ in _walk(message) if not _is_text(part)]


def _text_of(message: Message[Any, Any]) -> str:
    """Return the subject and the texts of a mail; of alternatives the plain text, if it is not blank."""
    parts = [(part, group) for part, group in _walk(message) if _is_text(part)]
    have_plain_text = {group for part, group in parts if group and _is_plain(part) and _decoded(part).strip()}
    pieces = [_text(part) for part, group in parts if _is_plain(part) or group not in have_plain_text]
    return "\n".join([_header(message.get("subject")), *(piece for piece in pieces if piece.strip())])


def _text(part: Message[Any, Any]) -> str:
    return _decoded(part) if _is_plain(part) else _unmarked(_decoded(part))


def _header(value: Any) -> str:
    try:
        return str(email.header.make_header(email.header.decode_header(str(value)))) if value else ""
    except (ValueError, LookupError, UnicodeError, email.errors.HeaderParseError):
        return str(value)


def _bytes_of(part: Message[Any, Any]) -> bytes:
    try:
        data = part.get_payload(decode=True)
    except (ValueError, LookupError, UnicodeError, AssertionError):
        return b""
    return data if isinstance(data, bytes) else b""


def _decoded(part: Message[Any, Any]) -> str:
    data = _bytes_of(part)
    try:
        return data.decode(part.get_content_charset() or "utf-8", errors="replace")
    except (LookupError, TypeError, ValueError):
        return data.decode("utf-8", errors="replace")


def _name_of(part: Message[Any, Any]) -> str:
    try:
        return shown_name(part.get_filename())
    except (ValueError, TypeError, LookupError):
        # Continued names (RFC 2231) with numbers that are missing or absurd.
        return ""


def shown_name(name: Any) -> str:
    """Return the name of an attachment as it is shown: its last component, without control characters.

    Examples
    --------
    >>> shown_name("../../etc/pass\\x00wd")
    'passwd'
    """
    last = re.split(r"[\\/]", _header(name))[-1]
    shown = "".join(character for character in last if character.isprintable()).strip(". ")
    return shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 3] + "..."


class _Text(HTMLParser):
    """Collects the text of a web page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._unseen = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Begin a line at every element; note the one that is not shown."""
        if tag in UNSEEN or tag == "body":
            self._unseen = "" if tag == "body" else tag
        self.pieces.append("\n" if tag in ("br", "p", "div", "tr", "li", "h1", "h2", "h3") else " ")

    def handle_endtag(self, tag: str) -> None:
        """Note the end of the element that is not shown."""
        if tag == self._unseen:
            self._unseen = ""

    def handle_data(self, data: str) -> None:
        """Keep text that is shown."""
        if not self._unseen:
            self.pieces.append(data)


def _unmarked(page: str) -> str:
    parser = _Text()
    try:
        parser.feed(_without_unclosed(page))
        parser.close()
    except (ValueError, AssertionError):
        return page
    return "".join(parser.pieces)


def _without_unclosed(page: str) -> str:
    """Return a web page without the beginnings of unseen elements that never end: they would hide all that follows."""
    for tag in UNSEEN:
        ends = [match.end() for match in re.finditer(rf"</{tag}\b", page, re.IGNORECASE)]
        last = ends[-1] if ends else 0
        page = page[:last] + re.sub(rf"<{tag}\b[^<>]*>", " ", page[last:], flags=re.IGNORECASE)
    return page
