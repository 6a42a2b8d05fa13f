"""Rows of a file with their positions, and the checks and error messages shared by all formats.

``source`` is what messages call the file: its path, or where it was downloaded from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from setrbm._types import Floats
from setrbm.bags import Bags, Labels, MixedLabelsError
from setrbm.datasets.columns import Columns
from setrbm.tools.text import is_number, listed, nearest

NO_LABELS: Labels = np.empty(0, dtype=object)
# Models and scaling take memory for every feature up to the largest, so a larger number is more likely an error.
MAX_FEATURES = 2**24
LEAVE_OUT = "leave the column out: ignore=... in Python, --ignore on the command line"


@dataclass(frozen=True, kw_only=True)
class ColumnSelection(Columns):
    """Which columns of a file to read; ``ignore`` is without effect on columns that are not read anyway.

    Attributes
    ----------
    bag, label, ignore, pages
        As in ``Columns``.
    with_labels : bool
        Whether the label column is required. If not, it is ignored.
    feature_names : sequence of str, optional
        The columns to read as features, in this order; by default all other columns.
    n_features : int, optional
        The number of features of a svmlight file; by default its largest feature number plus one.
    """

    with_labels: bool = True
    feature_names: Sequence[str] | None = None
    n_features: int | None = None

    def __post_init__(self) -> None:
        if self.bag == self.label:
            raise ValueError(f"The bag and the label must be two columns. Got {self.bag!r} for both.")
        needed = {self.bag: "the bag column", self.label: "the label column"}
        needed |= dict.fromkeys([] if self.feature_names is None else self.feature_names, "one of the features")
        for name in self.ignore:
            if name in needed:
                raise ValueError(f"A column that is needed must not be ignored. Got {name!r}, {needed[name]}.")


@dataclass(frozen=True)
class ColumnPositions:
    """Positions of the selected columns in a row."""

    bag: int
    label: int | None
    features: list[int]
    names: list[str]
    # What to do about a feature that cannot be used; the features of a model are all needed.
    or_ignore: str


@dataclass(frozen=True)
class Table:
    """The rows of a file. ``where(i)`` describes the position of row i in the file; ``labels`` may be empty."""

    X: Any
    bags: Labels
    labels: Labels
    names: list[str] | None
    where: Callable[[int], str]


def existing(path: Path) -> Path:
    """Return the path, or raise an error if it is not a file."""
    if path.is_dir():
        raise IsADirectoryError(
            f"The data must be a file. Got the folder {str(path)!r}. Give the path of a file in it, or score all of "
            "them with --cluster local."
        )
    if not path.exists():
        raise FileNotFoundError(f"The data must be a file that exists. There is no file {str(path)!r}.")
    return path


def find_columns(source: str, columns: list[str], selection: ColumnSelection) -> ColumnPositions:
    """Return the positions of the selected columns; raise ValueError if one is missing or not unique."""
    if len(set(columns)) < len(columns):
        twice = next(name for i, name in enumerate(columns) if name in columns[:i])
        places = [i + 1 for i, name in enumerate(columns) if name == twice]
        raise ValueError(
            f"Column names must be unique. Got {twice!r} for columns {places[0]} and {places[1]} of {source!r}. "
            "Rename one of them."
        )
    if selection.feature_names is None and "" in columns:
        raise ValueError(
            f"Every column must have a name. Got none for column {columns.index('') + 1} of {source!r}. If it holds "
            "row numbers, drop it: pandas does not write them with index=False."
        )
    bag = _position(source, columns, selection.bag, "bag")
    labeled = selection.with_labels or selection.label in columns
    label = _position(source, columns, selection.label, "label") if labeled else None
    if selection.feature_names is None:
        left_out = {bag, label, *(_position(source, columns, name, "ignore") for name in selection.ignore)}
        features = [i for i in range(len(columns)) if i not in left_out]
    else:
        features = [_position(source, columns, name, "feature") for name in selection.feature_names]
    if not features:
        raise ValueError(
            f"{source!r} must have at least one feature column besides "
            f"{', '.join(map(repr, [selection.bag, selection.label, *selection.ignore]))}. Got none."
        )
    or_ignore = f", or {LEAVE_OUT}." if selection.feature_names is None else ": this feature is needed."
    return ColumnPositions(
        bag, label if selection.with_labels else None, features, [columns[i] for i in features], or_ignore
    )


def _position(source: str, columns: list[str], name: str, role: str) -> int:
    if name in columns:
        return columns.index(name)
    close = nearest(name, columns)
    hint = f"; the nearest is {close[0]!r}" if close else ""
    cure = "Add it." if role == "feature" else f"Name the column: {role}=... in Python, --{role} on the command line."
    cure += " For sets without labels, use read_bags in Python." if role == "label" else ""
    kind = "column to ignore," if role == "ignore" else f"{role} column"
    if len(columns) == 1 and (mark := next((mark for mark in (";", "\t", "|") if mark in columns[0]), None)):
        cure = f"The columns seem to be separated by {mark!r}; separate them by commas."
    got = f"the column{'s' if len(columns) > 1 else ''} {listed(map(repr, columns), most=8)}"
    raise ValueError(f"{source!r} must have a {kind} {name!r}. Got {got}{hint}. {cure}")


def refuse_no_name(role: str, name: Any, cure: str) -> None:
    """Raise TypeError if the name of a column or field is not text."""
    if not isinstance(name, str):
        raise TypeError(f"{role} must be a name. Got {name!r}. {cure}")


def sets_of(table: Table, source: str) -> tuple[Bags, Labels]:
    """Return the sets of labeled rows and their labels; raise ValueError naming both rows if those of a set differ."""
    try:
        return Bags.from_groups(table.X, table.bags, table.labels, feature_names=table.names)
    except MixedLabelsError as error:
        first, other = error.first_row, error.row
        labels, name = table.labels.tolist(), table.bags.tolist()[first]
        raise ValueError(
            f"All rows of a set must have the same label. Got {labels[first]!r} in {table.where(first)} and "
            f"{labels[other]!r} in {table.where(other)} of {source!r} for set {name!r}."
        ) from None


def _refuse_cell(source: str, got: str, line: str, column: str, need: str, cure: str) -> NoReturn:
    raise ValueError(f"{need}. Got {got} in {line}, column {column!r} of {source!r}. {cure}")


def refuse_number(source: str, cell: Any, line: str, column: str, or_ignore: str) -> NoReturn:
    """Raise ValueError for a feature cell that is not a finite number."""
    if cell is None or not str(cell).strip():
        cure = f"Fill it in{or_ignore}"
        _refuse_cell(source, "an empty one", line, column, "Every feature cell must hold a number", cure)
    cure = f"Write it as a number{or_ignore}"
    if is_number(str(cell)):
        cure = "Impute or drop such values first."
    _refuse_cell(source, repr(cell), line, column, "Every feature cell must hold a finite number", cure)


def refuse_unnamed(source: str, line: str, column: str) -> NoReturn:
    """Raise ValueError for an empty bag or label cell."""
    need = f"Every row must have a value in column {column!r}"
    raise ValueError(f"{need}. Got an empty cell in {line} of {source!r}. Fill it in, or drop the row.")


def is_finite(text: str) -> bool:
    """Return whether a text is a finite number."""
    return is_number(text) and math.isfinite(float(text))


def integers_or_numbers(numbers: Floats) -> Labels:
    """Return the numbers as integers if all of them are."""
    whole = np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and (np.abs(numbers) < 2**53).all()
    return numbers.astype(np.int64) if whole else numbers
