"""Which files of a folder make up which documents."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from setrbm.documents.kinds import HEAD, Kind, kind_of
from setrbm.documents.pages import Problem

# What a generator of mail leaves beside the documents.
BESIDE = ("manifest.csv", "truth.jsonl")
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff")


@dataclass(frozen=True)
class Found:
    """A document: its id and its files, as paths below the folder."""

    id: str
    files: tuple[str, ...]


def find_documents(folder: Path) -> tuple[list[Found], list[Problem]]:
    """Return the documents of a folder, and what is not one.

    Every file is a document. A folder below it with nothing but pictures (JPEG, PNG, TIFF) is one document whose pages
    are the pictures in the order of their names. Other folders are searched. Hidden files are ignored. Symbolic links
    are followed to files inside the folder only.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    documents : list of Found
        In the order of their ids.
    problems : list of Problem
        Links that are not followed, folders that cannot be read.
    """
    if not folder.is_dir():
        kind = "It is a file" if folder.exists() else "There is none"
        raise NotADirectoryError(f"{str(folder)!r} must be a folder of documents. {kind}.")
    documents: list[Found] = []
    problems: list[Problem] = []
    _search(folder, "", documents, problems)
    return sorted(documents, key=lambda one: natural(one.id)), problems


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts names with numbers as people do.

    Examples
    --------
    >>> sorted(["page10.jpg", "page9.jpg"], key=natural)
    ['page9.jpg', 'page10.jpg']
    """
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part.lower()) for part in parts if part]


def _search(root: Path, below: str, documents: list[Found], problems: list[Problem]) -> None:
    """Add the documents of one folder below the root."""
    try:
        entries = sorted(os.scandir(root / below), key=lambda entry: natural(entry.name))
    except OSError as error:
        problems.append(Problem(below or ".", below or ".", f"the folder cannot be read: {error.strerror}"))
        return
    names, folders = [], []
    for entry in entries:
        name = f"{below}/{entry.name}" if below else entry.name
        if entry.name.startswith(".") or (not below and entry.name in BESIDE):
            continue
        if (reason := _refused(root, entry)) is not None:
            problems.append(Problem(name, name, reason))
        elif entry.is_dir(follow_symlinks=False):
            folders.append(name)
        else:
            names.append(name)
    if below and names and not folders and all(_is_picture(root / name) for name in names):
        documents.append(Found(below, tuple(names)))
        return
    documents += [Found(name, (name,)) for name in names]
    for name in folders:
        _search(root, name, documents, problems)


def _refused(root: Path, entry: os.DirEntry[str]) -> str | None:
    """Return why an entry is not read; None if it is a folder or a file inside the root."""
    if entry.is_symlink():
        target = Path(os.path.realpath(entry.path))
        if not target.is_relative_to(os.path.realpath(root)):
            return "it is a symbolic link out of the folder; such links are not followed"
        if not target.is_file():
            return "it is a symbolic link that does not lead to a file; such links are not followed"
        return None
    if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
        return None
    return "it is neither a file nor a folder"


def _is_picture(path: Path) -> bool:
    if path.suffix.lower() not in IMAGE_SUFFIXES:
        return False
    try:
        with path.open("rb") as file:
            return kind_of(file.read(HEAD)) is Kind.IMAGE
    except OSError:
        return False
