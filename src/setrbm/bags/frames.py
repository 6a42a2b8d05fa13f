"""Data frames of pandas, polars and arrow: their rows as vectors, and sets as frames again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

import narwhals as nw

from setrbm.bags.columns import Labels, refuse_missing
from setrbm.tools.text import listed

FrameBackend = Literal["pandas", "polars", "pyarrow"]


def columns_of_frame(
    frame: Any, bag: str, label: str | None, ignore: str | Iterable[str]
) -> tuple[Labels, Labels, Labels | None, list[str]]:
    """Return the values of the features, the set of each row, its label if asked, and the names of the features."""
    table = _as_table(frame)
    schema = table.schema
    ignored = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    if bag == label or bag in ignored or label in ignored:
        raise ValueError(f"bag, label and ignore must name different columns. Got {bag!r}, {label!r}, {ignored!r}.")
    for column in (bag, label, *ignored):
        if column is not None and column not in schema:
            raise ValueError(f"The frame must have a column {column!r}. Got the columns {_quoted(schema)}.")
    for column in (bag, label):
        if column is not None:
            refuse_missing(table[column].is_null().to_numpy(), f"Column {column!r}")
    features = _feature_columns(schema, (bag, label, *ignored))
    labels = None if label is None else table[label].to_numpy()
    return table.select(features).to_numpy(), table[bag].to_numpy(), labels, features


def _as_table(frame: Any) -> Any:
    """Return a data frame as narwhals sees it."""
    is_pandas = type(frame).__module__.startswith("pandas")
    if is_pandas and (odd := [name for name in frame.columns if not isinstance(name, str)]):
        raise ValueError(
            f"Column names must be strings. Got {odd[0]!r}. Rename them first: "
            "frame.columns = frame.columns.astype(str)."
        )
    if nw.dependencies.is_polars_lazyframe(frame):
        raise TypeError("A lazy frame holds no data yet. Collect it first: frame.collect().")
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"frame must be a data frame of pandas, polars or pyarrow. Got {type(frame).__name__}."
        ) from None


def _feature_columns(schema: Any, others: tuple[str | None, ...]) -> list[str]:
    """Return the columns that are features; refuse those that are not numeric."""
    features = [name for name in schema if name not in others]
    if not features:
        raise ValueError(f"The frame must have at least one feature column besides {others[0]!r}. Got none.")
    if text := [name for name in features if not (schema[name].is_numeric() or schema[name] == nw.Boolean)]:
        raise ValueError(
            f"Feature columns must be numeric. Got {_quoted(text)} of type {schema[text[0]]}. Name columns that are "
            "not features in ignore=[...], and the label column in label=."
        )
    return features


def as_frame(columns: dict[str, Any], backend: FrameBackend) -> Any:
    """Return columns as a data frame of the package named."""
    if backend not in (known := get_args(FrameBackend)):
        raise ValueError(f"backend must be one of {', '.join(map(repr, known))}. Got {backend!r}.")
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ImportError:
        others = " or ".join(repr(name) for name in known if name != backend)
        raise ImportError(
            f"to_frame needs {backend}, which is not installed. Run: pip install {backend}. Or pass backend={others}."
        ) from None


def _quoted(names: Iterable[str]) -> str:
    return listed(map(repr, names))
