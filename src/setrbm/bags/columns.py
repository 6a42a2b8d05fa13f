"""One value per set, per vector or per feature: labels, ids and names, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm._types import Mask
from setrbm.tools.text import listed

Labels = npt.NDArray[Any]


def as_column(values: npt.ArrayLike, length: int, name: str, of: str = "vector") -> Labels:
    """Return values as an array; refuse another number of them than one per vector, or per set."""
    column = np.asarray(values)
    if column.shape != (length,):
        raise ValueError(f"{name} must hold one value for each {of}, {length} in all. Got shape {column.shape}.")
    return column


def is_missing(values: npt.ArrayLike, column: Labels) -> Mask:
    """Return which values are None, NaN, NaT or pandas' NA; ``column`` is the array made of the values given."""
    # numpy turns NaN in a list of strings into the text "nan".
    from_text = column.dtype.kind == "U" and not isinstance(values, np.ndarray)
    if from_text or column.dtype.kind in "OT":
        return np.array([_is_missing_value(value) for value in np.asarray(values, dtype=object)], dtype=bool)
    return np.asarray(column != column)


def _is_missing_value(value: Any) -> bool:
    try:
        # Only NaN and NaT differ from themselves.
        return value is None or bool(value != value)
    except TypeError:
        # pandas' NA is neither true nor false.
        return True


def refuse_missing(missing: Mask, name: str) -> None:
    """Refuse a column with missing values."""
    if (rows := np.flatnonzero(missing)).size:
        raise ValueError(f"{name} must have a value in every row. Got {rows.size} missing, in rows {listed(rows)}.")


def as_names(names: Iterable[str], n_features: int) -> Labels:
    """Return the names of features as an array of text."""
    array = np.array([str(name) for name in names], dtype=object)
    if len(array) != n_features:
        raise ValueError(f"There must be one name for each of {n_features} features. Got {len(array)}.")
    return array


def names_of(matrix: Any) -> list[str] | None:
    """Return the column names of a pandas or polars frame, None for anything else."""
    columns = getattr(matrix, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def common_names(sets: Sequence[Any]) -> list[str] | None:
    """Return the column names of the sets, None if they have none; raise ValueError if they differ."""
    named = [names_of(matrix) for matrix in sets]
    for k, names in enumerate(named):
        if names != named[0]:
            raise ValueError(f"All sets must have the same columns in the same order. The set at index {k} differs.")
    return named[0] if named else None
