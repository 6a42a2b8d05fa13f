"""Sets from Parquet files."""

from __future__ import annotations

import re
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

# What pandas calls the column of row labels it adds.
PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")


def read_parquet(path: Path, wanted: Wanted) -> Table:
    table = _load_parquet(path)
    kept = [i for i, name in enumerate(table.column_names) if not PANDAS_INDEX.fullmatch(name)]
    table = table.select(kept)
    columns = find_columns(path, table.column_names, wanted)
    if not table.num_rows:
        raise ValueError(f"{str(path)!r} must hold at least one row. Got none.")
    vectors = [
        _parquet_numbers(path, table.column(i), name) for i, name in zip(columns.features, columns.names, strict=True)
    ]
    return Table(
        np.column_stack(vectors),
        _parquet_names(path, table.column(columns.bag), wanted.bag),
        NO_LABELS if columns.label is None else _parquet_names(path, table.column(columns.label), wanted.label),
        columns.names,
        _row,
    )


def _row(i: int) -> str:
    return f"row {i + 1}"


def _load_parquet(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            f"Reading {str(path)!r} needs pyarrow, which is not installed. Run: pip install 'setrbm[parquet]'"
        ) from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            return file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{str(path)!r} must be a Parquet file. It is damaged or of another kind: {error}") from None


def _parquet_numbers(path: Path, column: Any, name: str) -> npt.NDArray[Any]:
    """Return a column of finite numbers: float32 stays, other numbers become float64."""
    kind = str(column.type)
    if not kind.startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal")):
        raise ValueError(
            f"Feature columns must be numeric. Got type {kind} for column {name!r} of {str(path)!r}. Leave it out, or "
            "turn it into numbers."
        )
    numbers = np.asarray(column.to_numpy()).astype(np.float32 if kind == "float" else np.float64)
    if (bad := np.flatnonzero(~np.isfinite(numbers))).size:
        refuse_number(path, column[int(bad[0])].as_py(), _row(int(bad[0])), name)
    return numbers


def _parquet_names(path: Path, column: Any, name: str) -> Labels:
    values = column.to_pylist()
    if column.null_count:
        refuse_unnamed(path, _row(values.index(None)), name)
    kinds = {type(value) for value in values}
    if kinds == {float}:
        return integers_or_numbers(np.array(values))
    return np.array(values) if kinds in ({int}, {bool}) else np.array([str(value) for value in values], dtype=object)
