"""First bytes of files: the tests that the table of formats uses."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

# How far into a file a PDF may begin, as readers allow.
PDF_HEAD = 1024
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


def starts_with(*beginnings: bytes) -> Callable[[bytes], bool]:
    """Return a test for files that begin with one of these."""
    return lambda head: head.startswith(beginnings)


def is_empty(head: bytes) -> bool:
    """Return whether a file has no bytes."""
    return not head


def is_archive(head: bytes) -> bool:
    """Return whether a file is an archive; an Office file is one, too."""
    return head.startswith(ARCHIVES)


def is_office(head: bytes) -> bool:
    """Return whether a file is in an old Office format, or an archive that begins as Office files do."""
    if head.startswith(OLD_OFFICE):
        return True
    if not head.startswith(ENTRY) or len(head) < NAME:
        return False
    length, more = LENGTHS.unpack_from(head, NAME - LENGTHS.size)
    name, content = head[NAME : NAME + length], head[NAME + length + more :]
    return (name + content).startswith(OPEN_DOCUMENT) or OFFICE_ENTRY.fullmatch(name) is not None


def is_mail(head: bytes) -> bool:
    """Return whether a file begins with the fields of a mail, the first on the first line."""
    if head.startswith(b"%PDF-"):
        return False
    text = head.lstrip(b"\xef\xbb\xbf\r\n")
    # Mailboxes put a line before the first field.
    first = text.split(b"\n", 1)[1] if text.startswith(b"From ") and b"\n" in text else text
    return FIELD.match(first) is not None and len(COMMON.findall(first)) >= 2


def is_pdf(head: bytes) -> bool:
    """Return whether a PDF begins near the beginning of a file; a mail may have one there, too."""
    return b"%PDF-" in head[:PDF_HEAD]
