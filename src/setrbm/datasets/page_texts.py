"""Read JSON lines of page texts: one object per line, with the id, the label and the pages of a document."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from setrbm.bags import Labels
from setrbm.datasets._csv import open_text
from setrbm.datasets._rows import existing, integers_or_numbers, refuse_no_name
from setrbm.text import PageTexts
from setrbm.tools.text import listed, nearest

SUFFIXES = (".jsonl", ".ndjson")
# This field may be missing from all lines; then their numbers are the ids.
BAG = "bag"
# Names of JSON's types in messages.
TYPES = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "an object"}


def holds_page_texts(path: str | os.PathLike[str]) -> bool:
    """Return whether the name of a file is one of JSON lines."""
    return os.fspath(path).lower().removesuffix(".gz").endswith(SUFFIXES)


def read_pages(
    path: str | os.PathLike[str],
    bag: str = BAG,
    label: str = "label",
    pages: str = "pages",
    *,
    with_labels: bool = True,
) -> PageTexts:
    """Read documents with pages of text from a file of JSON lines.

    Parameters
    ----------
    path : path
        ``.jsonl`` or ``.ndjson``, also gzipped (``.jsonl.gz``), with one JSON object per line.
    bag : str
        The field with the id of a document: text or an integer, different for each document. If no line has the field
        "bag", the ids are the line numbers.
    label : str
        The field with the label: text, a number, or true or false; of one kind in all documents.
    pages : str
        The field with the pages: a list of texts. Other fields are ignored.
    with_labels : bool
        Whether every document must have a label. If not, labels are not read.

    Returns
    -------
    PageTexts
        Its attributes are ``documents``, ``y`` and ``ids``.

    See Also
    --------
    setrbm.text.PageWords : Turn the documents into sets of word vectors.

    Examples
    --------
    >>> import os, tempfile
    >>> from setrbm.datasets import read_pages
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "mail.jsonl")
    ...     with open(path, "w") as file:
    ...         _ = file.write('{"bag": 7, "label": "bill", "pages": ["Dear Sir,", "Amount: 40 euros"]}')
    ...     texts = read_pages(path)
    >>> texts, texts.documents, texts.ids, texts.y
    (PageTexts(1 document, 2 pages), [['Dear Sir,', 'Amount: 40 euros']], array([7]), array(['bill'], dtype=object))
    """
    refuse_no_name("label", label, "For documents without labels, use with_labels=False.")
    refuse_no_name("bag", bag, "Without a field for ids, leave it out: ids are then line numbers.")
    if len({bag, label, pages}) < 3:
        raise ValueError(f"bag, label and pages must be three fields. Got {bag!r}, {label!r} and {pages!r}.")
    if not holds_page_texts(path):
        known = ", ".join([*SUFFIXES, *(f"{suffix}.gz" for suffix in SUFFIXES)])
        raise ValueError(f"The name of a file of page texts must end with one of {known}. Got {os.fspath(path)!r}.")
    path = existing(Path(path))
    lines = list(_lines(path, (pages, bag, label) if with_labels else (pages, bag)))
    if not lines:
        raise ValueError(f"{str(path)!r} must have at least one line with a JSON object. Got none.")
    documents = [line.pages(pages) for line in lines]
    y = _labels(lines, label) if with_labels else None
    return PageTexts(documents, y, _ids(lines, bag))


@dataclass(frozen=True)
class Line:
    """The wanted fields of a line, and which fields it has."""

    path: Path
    number: int
    values: dict[str, Any]
    fields: list[str]

    def __str__(self) -> str:
        return f"line {self.number} of {str(self.path)!r}"

    def pages(self, field: str) -> list[str]:
        """Return the pages, checked."""
        pages = self.filled(field, "pages")
        if not isinstance(pages, list):
            cure = " One page is [text]." if isinstance(pages, str) else ""
            raise ValueError(f"The field {field!r} must be a list of texts. Got {_type(pages)} in {self}.{cure}")
        if not pages:
            raise ValueError(f"Every document must have at least one page. Got none in {self}. Leave the line out.")
        for s, page in enumerate(pages):
            if not isinstance(page, str):
                cure = ' A page without text is "".' if page is None else ""
                raise ValueError(
                    f"Every page must be text. Got {_type(page)} for page {s + 1} in the field {field!r} of {self}."
                    f"{cure}"
                )
        return pages

    def filled(self, field: str, role: str) -> Any:
        """Return the value of a field; refuse one that is missing, null or empty text."""
        value = self.values.get(field)
        # As in CSV files, spaces around text do not count.
        value = value.strip() if isinstance(value, str) else value
        if value is not None and value != "":
            return value
        if field in self.fields:
            got = f"{'null' if value is None else 'empty text'} in {self}. Fill it in, or leave the line out"
        else:
            close = nearest(field, self.fields)
            hint = f"; the nearest is {close[0]!r}" if close else ""
            known = listed(map(repr, self.fields), most=8) or "no field"
            got = f"{known} in {self}{hint}. Name the field: {role}=... in Python, --{role} on the command line"
        raise ValueError(f"Every line must have a value in the field {field!r}. Got {got}.")


def _lines(path: Path, wanted: tuple[str, ...]) -> Iterator[Line]:
    """Yield the lines that are not blank, with the wanted fields only, since others may be large."""
    with open_text(path) as file:
        for number, text in enumerate(file, start=1):
            if text.strip():
                record = _as_object(path, number, text)
                yield Line(path, number, {name: record[name] for name in wanted if name in record}, list(record))


def _as_object(path: Path, number: int, text: str) -> dict[str, Any]:
    where = f"line {number} of {str(path)!r}"
    try:
        record = json.loads(text.rstrip(), object_pairs_hook=_as_dict)
    except (ValueError, RecursionError) as error:
        # In json's own words this is line 1.
        reason = (
            f"{error.msg.removesuffix(' at')} at column {error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else str(error)
        )
        raise ValueError(f"Every line must be one JSON object. Cannot read {where}: {reason}.") from None
    if not isinstance(record, dict):
        raise ValueError(f"Every line must be one JSON object. Got {_type(record)} in {where}.")
    return record


def _as_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; refuse one with the same name twice, of which JSON readers take any."""
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return record


def _labels(lines: list[Line], field: str) -> Labels:
    values = [line.filled(field, "label") for line in lines]
    return _column(lines, field, values, (str, int, float, bool), "Labels must be text, numbers, or true or false")


def _ids(lines: list[Line], field: str) -> Labels:
    """Return the ids, which must differ; the numbers of the lines if no line has the default field."""
    if field == BAG and not any(field in line.fields for line in lines):
        return np.array([line.number for line in lines])
    values = [line.filled(field, "bag") for line in lines]
    ids = _column(lines, field, values, (str, int), "Ids must be text or integers")
    first: dict[Any, Line] = {}
    for name, line in zip(ids.tolist(), lines, strict=True):
        if (seen := first.setdefault(name, line)) is not line:
            raise ValueError(
                f"Every document must have its own id. Got {name!r} in lines {seen.number} and {line.number} of "
                f"{str(line.path)!r}, field {field!r}."
            )
    return ids


def _column(lines: list[Line], field: str, values: list[Any], types: tuple[type, ...], need: str) -> Labels:
    """Return the values of a field, which must have one of these types, one in all lines."""
    for line, value in zip(lines, values, strict=True):
        if type(value) not in types or not _is_plain(value):
            raise ValueError(f"{need}. Got {_in_words(value)} in the field {field!r} of {line}.")
        if _type(value) != _type(values[0]):
            raise ValueError(
                f"{need}, of one kind in all lines. Got {_type(values[0])} in line {lines[0].number} and "
                f"{_type(value)} in the field {field!r} of {line}."
            )
    if any(isinstance(value, float) for value in values):
        return integers_or_numbers(np.array(values, dtype=np.float64))
    return np.array(values, dtype=object if isinstance(values[0], str) else None)


def _is_plain(value: Any) -> bool:
    """Return whether text is valid Unicode, which broken escapes are not, or a number finite and of 64 bits."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode() == value
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**63


def _type(value: Any) -> str:
    return "null" if value is None else TYPES[type(value)]


def _in_words(value: Any) -> str:
    """Return a value for a message."""
    if type(value) in (int, float):
        return f"the number {value:g}" if isinstance(value, float) else "a number of more than 64 bits"
    return "text that is not valid Unicode" if isinstance(value, str) else _type(value)
