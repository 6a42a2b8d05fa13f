"""The classes of documents to learn from: one folder per class, or a manifest."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from setrbm.tools.text import count, listed, nearest
from setrbm_mail.formats.folders import find_documents
from setrbm_mail.pages import Problem

MANIFEST = "manifest.csv"


@dataclass(frozen=True)
class Labels:
    """Which document has which class.

    Attributes
    ----------
    classes : dict of str to str
        The class of each document; its id is its path below the folder.
    by_folder : bool
        Whether the classes are those of the folders that the documents are in.
    problems : list of Problem
        Entries of these folders that are not documents: links that are not followed, folders that cannot be read.
    """

    classes: dict[str, str]
    by_folder: bool
    problems: list[Problem] = field(default_factory=list)


def labels_of(folder: Path, manifest: Path | None = None) -> Labels:
    """Return the classes of the documents of a folder.

    Parameters
    ----------
    folder : Path
    manifest : Path, optional
        A CSV file with the columns ``document`` and ``label``; by default ``manifest.csv`` in the folder. If there is
        none, the first part of a document's path is its class.
    """
    path = folder / MANIFEST if manifest is None else manifest
    if manifest is None and _leads_out(path, folder):
        raise ValueError(
            f"{MANIFEST} must be a file in the folder of the documents. {str(path)!r} is a symbolic link out of it. "
            "Give the file that it leads to as the manifest."
        )
    if manifest is not None or path.is_file():
        return Labels(read_manifest(path), by_folder=False)
    documents, problems = find_documents(folder, by_class=True)
    ids = [document.id for document in documents]
    loose = [name for name in ids if "/" not in name]
    if loose:
        raise ValueError(
            f"Documents to learn from must be in one folder per class, or listed in {MANIFEST}. Got "
            f"{count(len(loose), 'document')} directly in {str(folder)!r}: {listed(map(repr, loose), most=3)}."
        )
    if not ids:
        raise ValueError(
            f"There must be documents with classes: one folder per class, or {MANIFEST}. {str(folder)!r} has none."
        )
    return Labels({name: name.split("/", 1)[0] for name in ids}, True, problems)


def _leads_out(path: Path, folder: Path) -> bool:
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def read_manifest(path: Path) -> dict[str, str]:
    """Return the class of each document that a manifest lists; refuse files that are not manifests."""
    classes: dict[str, str] = {}
    for number, document, label in _rows(path):
        if not document or not label:
            raise ValueError(
                f"Every line of a manifest must have a document and a label. Line {number} of {str(path)!r} lacks one."
            )
        if document in classes:
            raise ValueError(f"Every document must be listed once. {document!r} is listed twice in {str(path)!r}.")
        classes[document] = label
    if not classes:
        raise ValueError(f"{str(path)!r} must list at least one document. Got none.")
    return classes


def _rows(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, document and label of each row of a manifest."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        try:
            _check_heads(list(reader.fieldnames or []), path)
            for row in reader:
                yield reader.line_num, row["document"] or "", row["label"] or ""
        except csv.Error as error:
            # A line is counted after it was split.
            raise ValueError(f"{str(path)!r} must be a CSV file. Line {reader.line_num + 1}: {error}.") from None


def _check_heads(heads: list[Any], path: Path) -> None:
    for name in ("document", "label"):
        if name not in heads:
            close = nearest(name, heads)
            hint = f" The nearest is {close[0]!r}." if close else ""
            got = listed(map(repr, heads), 8) or "none"
            raise ValueError(f"{str(path)!r} must have the columns 'document' and 'label'. Got {got}.{hint}")
