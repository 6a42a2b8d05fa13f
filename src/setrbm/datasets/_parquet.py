"""Parquet files: one column per feature, or, for sparse vectors, lists of the features that are not 0."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm.bags import Labels
from setrbm.datasets._rows import (
    MAX_FEATURES,
    NO_LABELS,
    ColumnSelection,
    Table,
    find_columns,
    integers_or_numbers,
    refuse_number,
    refuse_unnamed,
)

# The name pandas gives to a column for the index.
PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")
# The columns of sparse vectors.
INDICES, VALUES = "indices", "values"
MAX_INT32 = 2**31 - 1


def read_parquet(path: Path, selection: ColumnSelection) -> Table:
    """Read a Parquet file."""
    source = str(path)
    with _parquet_errors(path):
        table = _load(path)
        kept = [i for i, name in enumerate(table.column_names) if not PANDAS_INDEX.fullmatch(name)]
        table = table.select(kept)
        if not table.num_rows:
            raise ValueError(f"{source!r} must have at least one row. Got none.")
        if _has_lists(table):
            return _read_lists(source, table, selection)
        columns = find_columns(source, table.column_names, selection)
        vectors = [
            _numbers(source, table.column(i), name, columns.or_ignore)
            for i, name in zip(columns.features, columns.names, strict=True)
        ]
        return Table(
            np.column_stack(vectors),
            _names(source, table.column(columns.bag), selection.bag),
            NO_LABELS if columns.label is None else _names(source, table.column(columns.label), selection.label),
            columns.names,
            _row,
        )


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    """Raise pyarrow's errors, and those for text that is not UTF-8, as a ValueError that names the file."""
    needs_pyarrow(f"Reading {str(path)!r}")
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        raise ValueError(f"{str(path)!r} must be a Parquet file. It is damaged or of another type: {error}") from None


def needs_pyarrow(what: str) -> None:
    """Raise ImportError unless pyarrow is installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(f"{what} needs pyarrow, which is not installed. Run: pip install 'setrbm[parquet]'") from None


def _load(path: Path) -> Any:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        return file.read()


def _has_lists(table: Any) -> bool:
    return INDICES in table.column_names and "list<" in str(table.schema.field(INDICES).type)


def _read_lists(source: str, table: Any, selection: ColumnSelection) -> Table:
    """Read sparse vectors: each row has a list of the numbers of features, and one of their values (1 if missing)."""
    columns = find_columns(source, table.column_names, replace(selection, feature_names=(INDICES,), ignore=()))
    indices, indptr = _flat(source, table, INDICES)
    values = _values(source, table, indptr)
    n_features = _checked_width(source, indices, indptr, selection.n_features)
    # Copies, since arrays that belong to pyarrow cannot be written to.
    X = sparse.csr_array((values, indices.astype(indptr.dtype), indptr), shape=(table.num_rows, n_features))
    X.sort_indices()
    if not X.has_canonical_format:
        raise ValueError(f"A list of {INDICES!r} must name each feature once. One of {source!r} names one twice.")
    if not np.isfinite(X.data).all():
        raise ValueError(f"All {VALUES!r} must be finite numbers. Got others in {source!r}. Impute or drop them first.")
    return Table(
        X,
        _names(source, table.column(columns.bag), selection.bag),
        NO_LABELS if columns.label is None else _names(source, table.column(columns.label), selection.label),
        None,
        _row,
    )


def _values(source: str, table: Any, indptr: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values of all lists, 1 if there are none; float32 is kept, other numbers become float64."""
    if VALUES not in table.column_names:
        return np.ones(indptr[-1], np.float32)
    values, ends = _flat(source, table, VALUES)
    if not np.array_equal(ends, indptr):
        row = int(np.argmax(ends != indptr))
        raise ValueError(f"{INDICES!r} and {VALUES!r} must be equally long. {_row(row - 1)} of {source!r} differs.")
    return values.astype(np.float32 if values.dtype == np.float32 else np.float64)


def _flat(source: str, table: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the numbers of all lists of a column, and where each list begins and ends."""
    column = table.column(name)
    flat = column.combine_chunks().flatten()
    kinds = ("int", "uint") if name == INDICES else ("float", "double", "halffloat", "int", "uint")
    if not str(flat.type).startswith(kinds) or column.null_count or flat.null_count:
        what = "whole numbers" if name == INDICES else "numbers"
        raise ValueError(f"Column {name!r} of {source!r} must hold lists of {what}, without gaps. Got {column.type}.")
    import pyarrow.compute

    lengths = pyarrow.compute.list_value_length(column).to_numpy()
    # 32 bits where they are enough: with 64, scipy would copy the indices of all values.
    kind = np.int32 if len(flat) <= MAX_INT32 else np.int64
    return flat.to_numpy(zero_copy_only=False), np.concatenate([[0], np.cumsum(lengths)]).astype(kind)


def _checked_width(source: str, indices: npt.NDArray[Any], indptr: npt.NDArray[Any], n_features: int | None) -> int:
    """Return the number of features; raise ValueError for a number of a feature that is out of range."""
    width = (int(indices.max()) + 1 if len(indices) else 1) if n_features is None else n_features
    limit = MAX_FEATURES if n_features is None else n_features
    if (bad := np.flatnonzero((indices < 0) | (indices >= limit))).size:
        row = int(np.searchsorted(indptr, bad[0], side="right")) - 1
        raise ValueError(
            f"Numbers of features must be from 0 to {limit - 1:,}. Got {int(indices[bad[0]])} in {_row(row)} of "
            f"{source!r}."
        )
    return width


def write_sets_to(file: IO[bytes], ids: Any, vectors: Any, names: list[str], y: Any, bag: str, label: str) -> None:
    """Write vectors to an open Parquet file: sparse ones as lists, others with one column per feature.

    Parameters
    ----------
    file : binary file
    ids : ndarray of shape (n_vectors,)
        The set of each vector.
    vectors : ndarray or CSR of shape (n_vectors, n_features)
    names : list of str
        The columns of dense vectors.
    y : ndarray of shape (n_vectors,), or None
        The label of the set of each vector.
    bag, label : str
    """
    import pyarrow
    import pyarrow.parquet

    columns = {bag: pyarrow.array(ids.tolist())} | ({} if y is None else {label: pyarrow.array(y.tolist())})
    if sparse.issparse(vectors):
        columns[INDICES] = _lists(vectors.indices.astype(np.int32), vectors.indptr)
        if not (vectors.data == 1).all():
            columns[VALUES] = _lists(vectors.data, vectors.indptr)
    else:
        columns |= {name: pyarrow.array(vectors[:, k]) for k, name in enumerate(names)}
    pyarrow.parquet.write_table(pyarrow.table(columns), file, compression="zstd")


def _lists(values: npt.NDArray[Any], indptr: npt.NDArray[Any]) -> Any:
    import pyarrow

    return pyarrow.ListArray.from_arrays(pyarrow.array(indptr.astype(np.int32)), pyarrow.array(values))


def _numbers(source: str, column: Any, name: str, or_ignore: str) -> npt.NDArray[Any]:
    """Return a column of finite numbers; float32 is kept, other numbers become float64."""
    kind = str(column.type)
    if not kind.startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal")):
        raise ValueError(
            f"Feature columns must be numeric. Got type {kind} for column {name!r} of {source!r}. Convert it to "
            f"numbers{or_ignore}"
        )
    if column.null_count:
        refuse_number(source, None, _first_null(column), name, or_ignore)
    numbers = np.asarray(column.to_numpy()).astype(np.float32 if kind == "float" else np.float64)
    if (bad := np.flatnonzero(~np.isfinite(numbers))).size:
        refuse_number(source, column[int(bad[0])].as_py(), _row(int(bad[0])), name, or_ignore)
    return numbers


def _names(source: str, column: Any, name: str) -> Labels:
    if column.null_count:
        refuse_unnamed(source, _first_null(column), name)
    values = column.to_pylist()
    types = {type(value) for value in values}
    if types == {float}:
        numbers = np.array(values)
        if (missing := np.flatnonzero(np.isnan(numbers))).size:
            refuse_unnamed(source, _row(int(missing[0])), name)
        return integers_or_numbers(numbers)
    if types in ({int}, {bool}):
        return np.array(values)
    # As in CSV files, spaces around text do not count.
    texts = [str(value).strip() for value in values]
    if "" in texts:
        refuse_unnamed(source, _row(texts.index("")), name)
    return np.array(texts, dtype=object)


def _first_null(column: Any) -> str:
    return _row(int(np.argmax(column.is_null())))


def _row(i: int) -> str:
    return f"row {i + 1}"
