"""What a file is, by its first bytes; its name is not trusted."""

from __future__ import annotations

import re
import struct
from enum import StrEnum


class Kind(StrEnum):
    """The kinds of files that are told apart."""

    PDF = "PDF"
    IMAGE = "picture"
    MAIL = "mail"
    ARCHIVE = "archive"
    OFFICE = "Office file"
    EMPTY = "empty file"
    UNKNOWN = "unknown"


# How much of a file tells what it is, and how far into it a PDF may begin, as readers allow.
HEAD, PDF_HEAD = 16_384, 1024
IMAGES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")
ARCHIVES = (
    b"PK\x03\x04", b"PK\x05\x06", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd", b"MSCF",
)  # fmt: skip
# Office files are archives that begin with certain entries, or have the format of older versions.
OFFICE_ENTRY = re.compile(rb"\[Content_Types\]\.xml|_rels/\.rels|(docProps|word|xl|ppt)/[\w/.-]+\.(xml|rels)")
OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument."
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The first bytes of an entry of an archive, and where its name begins, after its length and that of a field.
ENTRY, NAME, LENGTHS = b"PK\x03\x04", 30, struct.Struct("<HH")
# A field of a mail's head; at least two must be ones that mails have.
FIELD = re.compile(rb"[!-9;-~]+:[ \t]")
COMMON = re.compile(
    rb"^(from|to|cc|subject|date|received|return-path|reply-to|sender|mime-version|message-id|content-[\w-]+|"
    rb"delivered-to|dkim-signature|authentication-results|arc-[\w-]+|x-[\w-]+):",
    re.IGNORECASE | re.MULTILINE,
)


def kind_of(head: bytes) -> Kind:
    """Return what a file is.

    Parameters
    ----------
    head : bytes
        Its first ``HEAD`` bytes, or all of it.

    Examples
    --------
    >>> kind_of(b"%PDF-1.7"), kind_of(b"hello")
    (<Kind.PDF: 'PDF'>, <Kind.UNKNOWN: 'unknown'>)
    """
    if not head:
        return Kind.EMPTY
    if head.startswith(IMAGES):
        return Kind.IMAGE
    if head.startswith(OLD_OFFICE) or _is_office(head):
        return Kind.OFFICE
    if head.startswith(ARCHIVES):
        return Kind.ARCHIVE
    # A mail may have a PDF near its beginning.
    if not head.startswith(b"%PDF-") and _is_mail(head):
        return Kind.MAIL
    return Kind.PDF if b"%PDF-" in head[:PDF_HEAD] else Kind.UNKNOWN


def _is_office(head: bytes) -> bool:
    """Return whether a file is an archive whose first entry is one that Office files begin with."""
    if not head.startswith(ENTRY) or len(head) < NAME:
        return False
    length, more = LENGTHS.unpack_from(head, NAME - LENGTHS.size)
    name, content = head[NAME : NAME + length], head[NAME + length + more :]
    if (name + content).startswith(OPEN_DOCUMENT):
        return True
    return OFFICE_ENTRY.fullmatch(name) is not None


def _is_mail(head: bytes) -> bool:
    """Return whether a file begins with the fields of a mail, the first on the first line."""
    text = head.lstrip(b"\xef\xbb\xbf\r\n")
    # Mailboxes put a line before the first field.
    first = text.split(b"\n", 1)[1] if text.startswith(b"From ") and b"\n" in text else text
    return FIELD.match(first) is not None and len(COMMON.findall(first)) >= 2
