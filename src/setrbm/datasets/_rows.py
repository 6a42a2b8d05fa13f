"""Rows of a file that know where they stand in it, and the checks and words all formats share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from setrbm._types import Floats
from setrbm.bags import Labels

NO_LABELS: Labels = np.empty(0, dtype=object)


@dataclass(frozen=True)
class Wanted:
    """Which columns of a file to read.

    Attributes
    ----------
    bag, label : str
        The columns that name a row's set and carry its label.
    with_labels : bool
        Whether the label column must be there; else it is passed over.
    feature_names : sequence of str, optional
        The columns to read as features, in this order; by default all the others.
    n_features : int, optional
        How many features a svmlight file has, where its own largest number does not say.
    """

    bag: str
    label: str
    with_labels: bool
    feature_names: Sequence[str] | None
    n_features: int | None


@dataclass(frozen=True)
class Columns:
    """Where the wanted columns stand in a row."""

    bag: int
    label: int | None
    features: list[int]
    names: list[str]


@dataclass(frozen=True)
class Table:
    """The rows of a file; ``where(i)`` says in words where row i stands in it. Without labels, these are none."""

    X: Any
    bags: Labels
    labels: Labels
    names: list[str] | None
    where: Callable[[int], str]


def existing(path: Path) -> Path:
    if path.is_dir():
        raise IsADirectoryError(f"The data must be a file. Got the folder {str(path)!r}. Name a file inside it.")
    if not path.exists():
        raise FileNotFoundError(f"The data must be a file that exists. There is no file {str(path)!r}.")
    return path


def find_columns(path: Path, columns: list[str], wanted: Wanted) -> Columns:
    """Return where the wanted columns stand, or raise ValueError naming one that is missing or there twice."""
    if len(set(columns)) < len(columns):
        twice = next(name for i, name in enumerate(columns) if name in columns[:i])
        places = [i + 1 for i, name in enumerate(columns) if name == twice]
        raise ValueError(
            f"Column names must differ. Got {twice!r} for columns {places[0]} and {places[1]} of {str(path)!r}. Rename "
            "one of them."
        )
    if wanted.feature_names is None and "" in columns:
        raise ValueError(
            f"Every column must have a name. Got none for column {columns.index('') + 1} of {str(path)!r}. If it holds "
            "row numbers, leave them out: pandas writes none with index=False."
        )
    bag = place(path, columns, wanted.bag, "bag")
    labelled = wanted.with_labels or wanted.label in columns
    label = place(path, columns, wanted.label, "label") if labelled else None
    if wanted.feature_names is None:
        features = [i for i in range(len(columns)) if i not in (bag, label)]
    else:
        features = [place(path, columns, name, "feature") for name in wanted.feature_names]
    if not features:
        raise ValueError(
            f"{str(path)!r} must have at least one feature column besides {wanted.bag!r} and {wanted.label!r}. Got "
            "none."
        )
    return Columns(bag, label if wanted.with_labels else None, features, [columns[i] for i in features])


def place(path: Path, columns: list[str], name: str, role: str) -> int:
    if name in columns:
        return columns.index(name)
    by_lower = {column.lower(): column for column in columns}
    near = get_close_matches(name.lower(), by_lower, n=1)
    nearest = f"; the nearest is {by_lower[near[0]]!r}" if near else ""
    cure = "Add it." if role == "feature" else f"Say which column it is: {role}=... in Python, --{role} in a command."
    if len(columns) == 1 and (mark := next((mark for mark in (";", "\t", "|") if mark in columns[0]), None)):
        cure = f"The columns seem to be parted by {mark!r}; part them by commas."
    raise ValueError(f"{str(path)!r} must have a {role} column {name!r}. Got {some(columns)}{nearest}. {cure}")


def some(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"the {'column' if len(names) == 1 else 'columns'} {shown}{more}"


def refuse_mixed_labels(path: Path, table: Table) -> None:
    """Raise ValueError naming both places if the rows of a set carry different labels."""
    labels = table.labels.tolist()
    first: dict[Any, int] = {}
    for i, (name, label) in enumerate(zip(table.bags.tolist(), labels, strict=True)):
        seen = first.setdefault(name, i)
        if labels[seen] != label:
            raise ValueError(
                f"All rows of a set must carry the same label. Got {labels[seen]!r} in {table.where(seen)} and "
                f"{label!r} in {table.where(i)} of {str(path)!r} for set {name!r}."
            )


def refuse_cell(path: Path, got: str, line: str, column: str, need: str, cure: str) -> NoReturn:
    raise ValueError(f"{need}. Got {got} in {line}, column {column!r} of {str(path)!r}. {cure}")


def refuse_number(path: Path, cell: Any, line: str, column: str) -> NoReturn:
    if cell is None or not str(cell).strip():
        refuse_cell(path, "an empty one", line, column, "Every feature cell must hold a number", "Fill it in first.")
    cure = "Write it as a number, or leave the column out."
    if is_number(str(cell)):
        cure = "Fill in or leave out such values first."
    refuse_cell(path, repr(cell), line, column, "Every feature cell must hold a finite number", cure)


def refuse_unnamed(path: Path, line: str, column: str) -> NoReturn:
    need = "Every row must name its set and its label"
    refuse_cell(path, "an empty cell", line, column, need, "Fill it in, or leave the row out.")


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_finite(text: str) -> bool:
    return is_number(text) and math.isfinite(float(text))


def integers_or_numbers(numbers: Floats) -> Labels:
    """Return integers if every number is one."""
    whole = np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and (np.abs(numbers) < 2**53).all()
    return numbers.astype(np.int64) if whole else numbers
