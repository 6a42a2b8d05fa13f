"""Parts of files: the sources of pages, which are a file itself or the files in it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from setrbm_mail.formats.table import HEAD, Format, format_of, named
from setrbm_mail.limits import Limits
from setrbm_mail.pages import DocumentError


@dataclass(frozen=True)
class FilePart:
    """A source of pages: a file, an attachment, or the text of a mail.

    Attributes
    ----------
    position : tuple of int
        Its position in nested files, from 1; empty for a file that holds no others.
    name : str
        What to call it in messages, after the name of the file; "" for the file itself.
    format : Format
        That of a mail stands for the text of the mail.
    content : bytes
    """

    position: tuple[int, ...]
    name: str
    format: Format
    content: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """The key of its pages: cached ones are found by it."""
        return hashlib.sha256(self.format.cached_as.encode() + self.content).hexdigest()


@dataclass
class FileParts:
    """The parts of a file, and why others are not among them: pairs of a name and a reason."""

    readable: list[FilePart] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    n_attachments: int = 0

    def __len__(self) -> int:
        return len(self.readable) + len(self.problems)

    def add(self, part: FilePart, limits: Limits) -> None:
        """Add a part, or what it holds, or why it is not read."""
        if part.format.parts:
            try:
                named(part.format.parts)(part, self, limits)
            except DocumentError as error:
                self.problems.append((part.name, str(error)))
        elif len(part.content) > limits.file_bytes:
            reason = f"it has {len(part.content):,} bytes; the limit is {limits.file_bytes:,} (file_bytes)"
            self.problems.append((part.name, reason))
        elif part.format.way_out:
            self.problems.append((part.name, part.format.way_out))
        else:
            self.readable.append(part)


def parts_of(content: bytes, limits: Limits) -> FileParts:
    """Return the parts of a file: itself, or the files that it holds."""
    parts = FileParts()
    parts.add(FilePart((), "", format_of(content[:HEAD]), content), limits)
    return parts
