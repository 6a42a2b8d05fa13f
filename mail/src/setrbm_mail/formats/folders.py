"""Which files of a folder make up which documents."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from setrbm_mail.formats.table import FORMATS
from setrbm_mail.pages import Problem

# The files that ``generate_mail`` writes beside the documents.
BESIDE = ("generator.json", "manifest.csv", "truth.jsonl")
PICTURE_SUFFIXES = tuple(suffix for row in FORMATS for suffix in row.suffixes)
# Characters that are not shown as they are: control characters, bytes that are no text, and marks that turn the
# direction of writing; and the one that marks them.
UNSHOWN = re.compile(r"[\\\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")
LINK_OUT = "it is a symbolic link out of the folder; such links are not followed"


@dataclass(frozen=True)
class DocumentFiles:
    """A document: its id, which can be shown, and its files, as paths below the folder."""

    id: str
    files: tuple[str, ...]


def find_documents(folder: Path, by_class: bool = False) -> tuple[list[DocumentFiles], list[Problem]]:
    """Return the documents of a folder, and the entries that are refused.

    Every file is a document, except those that ``generate_mail`` writes beside them. A folder below it with nothing but
    pictures (JPEG, PNG, TIFF), by their names, is one document whose pages are the pictures in the order of their
    names. Other folders are searched. Hidden files are ignored. Symbolic links are followed to files inside the folder
    only. Ids are paths below the folder, with characters that cannot be shown as ``shown`` writes them.

    Parameters
    ----------
    folder : Path
    by_class : bool
        Whether the folders directly in it are classes, not documents, even if they hold nothing but pictures.

    Returns
    -------
    documents : list of DocumentFiles
    problems : list of Problem
        Links that are not followed, folders that cannot be read. Both are in the order of their ids.
    """
    if not folder.is_dir():
        kind = "It is a file" if folder.exists() else "There is none"
        raise NotADirectoryError(f"{str(folder)!r} must be a folder of documents. {kind}.")
    documents: list[DocumentFiles] = []
    problems: list[Problem] = []
    folders = [""]
    while folders:
        folders += _search(folder, folders.pop(), by_class, documents, problems)
    documents.sort(key=lambda document: order(document.id))
    problems.sort(key=lambda problem: order(problem.document))
    return documents, problems


def shown(name: str) -> str:
    r"""Return a path with escapes in place of characters that cannot be shown; two paths never become the same.

    Examples
    --------
    >>> print(shown("a\nb.pdf"))
    a\nb.pdf
    """
    return UNSHOWN.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), name)


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts names with numbers as people do.

    Examples
    --------
    >>> sorted(["page10.jpg", "page9.jpg"], key=natural)
    ['page9.jpg', 'page10.jpg']
    """
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part.lower()) for part in parts if part]


def order(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Return a key like that of ``natural`` that differs for names that differ."""
    return natural(name), name


def _search(
    root: Path, below: str, by_class: bool, documents: list[DocumentFiles], problems: list[Problem]
) -> list[str]:
    """Add the documents of one folder below the root; return the folders in it."""
    try:
        entries = sorted(os.scandir(root / below), key=lambda entry: order(entry.name))
    except OSError as error:
        where = shown(below) or "."
        problems.append(Problem(where, where, f"the folder cannot be read: {error.strerror}"))
        return []
    names, folders = [], []
    is_generated = not below and (root / BESIDE[0]).is_file()
    for entry in entries:
        name = f"{below}/{entry.name}" if below else entry.name
        if entry.name.startswith(".") or (is_generated and entry.name in BESIDE):
            continue
        if (reason := _refused(root, entry)) is not None:
            problems.append(Problem(shown(name), shown(name), reason))
        elif entry.is_dir(follow_symlinks=False):
            folders.append(name)
        else:
            names.append(name)
    may_be_one = "/" in below if by_class else bool(below)
    if may_be_one and names and not folders and all(name.lower().endswith(PICTURE_SUFFIXES) for name in names):
        documents.append(DocumentFiles(shown(below), tuple(names)))
    else:
        documents += [DocumentFiles(shown(name), (name,)) for name in names]
    return folders


def _refused(root: Path, entry: os.DirEntry[str]) -> str | None:
    """Return why an entry is not read; None if it is a folder or a file inside the root."""
    if entry.is_symlink():
        target = Path(os.path.realpath(entry.path))
        if not target.is_relative_to(os.path.realpath(root)):
            return LINK_OUT
        if not target.is_file():
            return "it is a symbolic link that does not lead to a file; such links are not followed"
        return None
    if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
        return None
    return "it is neither a file nor a folder"
