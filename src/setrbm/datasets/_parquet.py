"""Reader for Parquet files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm.bags import Labels
from setrbm.datasets._rows import (
    NO_LABELS,
    Table,
    Wanted,
    find_columns,
    integers_or_numbers,
    refuse_number,
    refuse_unnamed,
)

# The name pandas gives to a column for the index.
PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")


def read_parquet(path: Path, wanted: Wanted) -> Table:
    """Read a Parquet file."""
    with _parquet_errors(path):
        table = _load(path)
        kept = [i for i, name in enumerate(table.column_names) if not PANDAS_INDEX.fullmatch(name)]
        table = table.select(kept)
        columns = find_columns(path, table.column_names, wanted)
        if not table.num_rows:
            raise ValueError(f"{str(path)!r} must have at least one row. Got none.")
        vectors = [
            _numbers(path, table.column(i), name, columns.or_ignore)
            for i, name in zip(columns.features, columns.names, strict=True)
        ]
        return Table(
            np.column_stack(vectors),
            _names(path, table.column(columns.bag), wanted.bag),
            NO_LABELS if columns.label is None else _names(path, table.column(columns.label), wanted.label),
            columns.names,
            _row,
        )


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    """Raise pyarrow's errors, and those for text that is not UTF-8, as a ValueError that names the file."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            f"Reading {str(path)!r} needs pyarrow, which is not installed. Run: pip install 'setrbm[parquet]'"
        ) from None
    try:
        yield
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        raise ValueError(f"{str(path)!r} must be a Parquet file. It is damaged or of another type: {error}") from None


def _load(path: Path) -> Any:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        return file.read()


def _numbers(path: Path, column: Any, name: str, or_ignore: str) -> npt.NDArray[Any]:
    """Return a column of finite numbers; float32 is kept, other numbers become float64."""
    kind = str(column.type)
    if not kind.startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal")):
        raise ValueError(
            f"Feature columns must be numeric. Got type {kind} for column {name!r} of {str(path)!r}. Convert it to "
            f"numbers{or_ignore}"
        )
    if column.null_count:
        refuse_number(path, None, _first_null(column), name, or_ignore)
    numbers = np.asarray(column.to_numpy()).astype(np.float32 if kind == "float" else np.float64)
    if (bad := np.flatnonzero(~np.isfinite(numbers))).size:
        refuse_number(path, column[int(bad[0])].as_py(), _row(int(bad[0])), name, or_ignore)
    return numbers


def _names(path: Path, column: Any, name: str) -> Labels:
    if column.null_count:
        refuse_unnamed(path, _first_null(column), name)
    values = column.to_pylist()
    types = {type(value) for value in values}
    if types == {float}:
        numbers = np.array(values)
        if (missing := np.flatnonzero(np.isnan(numbers))).size:
            refuse_unnamed(path, _row(int(missing[0])), name)
        return integers_or_numbers(numbers)
    if types in ({int}, {bool}):
        return np.array(values)
    # As in CSV files, spaces around text do not count.
    texts = [str(value).strip() for value in values]
    if "" in texts:
        refuse_unnamed(path, _row(texts.index("")), name)
    return np.array(texts, dtype=object)


def _first_null(column: Any) -> str:
    return _row(int(np.argmax(column.is_null())))


def _row(i: int) -> str:
    return f"row {i + 1}"
