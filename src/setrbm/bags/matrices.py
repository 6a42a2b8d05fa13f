"""Vectors as one float matrix, dense or CSR, checked: what is no number is refused, not converted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._types import Floats, Integers
from setrbm.bags.indexing import offsets_of, refuse_empty_sets, refuse_no_sets
from setrbm.tools.text import count, is_number


def as_matrix(X: Any) -> Any:
    """Return a float matrix, dense or canonical CSR, copied only to convert it."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        if not _is_canonical(X):
            X = X.copy()
            X.sum_duplicates()
        X.has_canonical_format = True
        return X
    X = as_array(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix with one vector per row. Got {count(X.ndim, 'dimension')}.")
    refuse_non_numbers(X)
    if X.dtype.kind not in "fiub":
        X = _numbers_from_objects(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def joined(sets: Sequence[Any]) -> tuple[Any, Integers]:
    """Return one matrix of the vectors of all sets, and the offset of each set."""
    matrices = [s if sparse.issparse(s) else as_array(s, f" of the set at index {k}") for k, s in enumerate(sets)]
    refuse_no_sets(len(matrices))
    for k, matrix in enumerate(matrices):
        refuse_non_numbers(matrix)
        if matrix.ndim != 2:
            raise ValueError(
                f"Each set must be a matrix with one vector per row. Got {count(matrix.ndim, 'dimension')} for the "
                f"set at index {k}."
            )
    offsets = offsets_of([m.shape[0] for m in matrices])
    refuse_empty_sets(np.diff(offsets))
    widths = np.array([m.shape[1] for m in matrices])
    if (other := np.flatnonzero(widths != widths[0])).size:
        raise ValueError(
            f"All sets must have the same number of features. Got {widths[0]} in the first set and "
            f"{widths[other[0]]} in the set at index {other[0]}."
        )
    if any(sparse.issparse(m) for m in matrices):
        return sparse.vstack([sparse.csr_array(m) for m in matrices], format="csr"), offsets
    return np.concatenate(matrices), offsets


def as_array(X: Any, where: str = "") -> npt.NDArray[Any]:
    """Return an array; refuse lists of unequal vectors, and masked values, which would otherwise become data.

    ``where`` completes "the first vector" in the message.
    """
    if isinstance(X, np.ma.MaskedArray) and (n_masked := int(np.ma.getmaskarray(X).sum())):
        raise ValueError(f"All values must be given. Got {n_masked} masked. Impute them first.")
    try:
        return np.asarray(X)
    except ValueError:
        _refuse_ragged(X, where)
        raise


def _refuse_ragged(X: Any, where: str) -> None:
    """Refuse a list whose rows have different lengths."""
    sizes = [len(row) for row in X if hasattr(row, "__len__")]
    if (other := next((k for k, size in enumerate(sizes) if size != sizes[0]), None)) is not None:
        raise ValueError(
            f"All vectors must have the same number of features. Got {sizes[0]} in the first vector{where} and "
            f"{sizes[other]} in the vector at index {other}."
        ) from None
    if isinstance(X, list | tuple):
        raise ValueError("Nested lists must have equal lengths to form an array. Got different lengths.") from None


def refuse_non_numbers(X: Any) -> None:
    """Refuse an array of text, dates or durations, also as Python objects; numpy would turn many of them into numbers.

    A date would become nanoseconds since 1970, a missing one -9.2e18.
    """
    if X.dtype.kind not in "OTUSmM":
        return
    if (text := first_text(X)) is not None:
        raise ValueError(
            f"All values must be numbers. Got text, the first {text[:40]!r}. Turn text into numbers first."
        )
    if (text := _first_of_kind(X, "TUS", (str, bytes))) is not None:
        raise ValueError(
            f"All values must be numbers. Got numbers written as text, the first {str(text)!r}. Convert them first: "
            "X.astype(float)."
        )
    refuse_dates(X)


def refuse_dates(X: npt.NDArray[Any]) -> None:
    """Refuse an array of dates or durations."""
    if (time := _first_of_kind(X, "mM", (date, timedelta, np.datetime64, np.timedelta64))) is not None:
        raise ValueError(
            f"All values must be numbers. Got dates or durations, the first {time!s}. Turn them into numbers first, "
            "such as days since a date."
        )


def _first_of_kind(X: Any, kinds: str, types: tuple[type, ...]) -> Any:
    """Return the first value of an array of one of these kinds, or the first object of these types; None without."""
    if X.dtype.kind in kinds:
        return X.flat[0] if X.size else None
    items = X.ravel().tolist() if X.dtype.kind == "O" else []
    return next((item for item in items if isinstance(item, types)), None)


def first_text(X: npt.NDArray[Any]) -> str | None:
    """Return the first text in an array that is not a number; None if there is none."""
    items = X.ravel().tolist() if X.dtype.kind in "OTU" else []
    return next((item for item in items if isinstance(item, str) and not is_number(item)), None)


def _is_canonical(X: Any) -> bool:
    """Return whether column indices increase within each row; raise ValueError if an index is out of range.

    Compiled code relies on both, so this is checked for every matrix, in one pass over the indices.
    """
    starts, stops = X.indptr[:-1], X.indptr[1:]
    if (starts > stops).any():
        raise ValueError("The row pointers of a sparse matrix must not decrease.")
    filled = starts < stops
    firsts, lasts = starts[filled], stops[filled] - 1
    increases = X.indices[1:] > X.indices[:-1]
    increases[lasts[:-1]] = True
    is_canonical = bool(increases.all())
    # Where the indices of a row increase, its first and last bound the others.
    columns = X.indices[np.concatenate([firsts, lasts])] if is_canonical else X.indices
    if columns.size and not (columns.min() >= 0 and columns.max() < X.shape[1]):
        raise ValueError(
            f"The column indices of a sparse matrix must lie between 0 and {X.shape[1] - 1}. Got {columns.min()} to "
            f"{columns.max()}."
        )
    return is_canonical


def _numbers_from_objects(X: npt.NDArray[Any]) -> Floats:
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: values must be real numbers.")
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"All values must be numbers. Got an array of type {X.dtype}: {error}.") from None
