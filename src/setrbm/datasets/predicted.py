"""Predictions as columns, and their files: CSV and Parquet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from setrbm._types import Array, Floats, Mask
from setrbm.datasets._csv import as_csv as csv_text


@dataclass(frozen=True)
class Predicted:
    """What a model says about sets.

    Attributes
    ----------
    ids : ndarray of shape (n_sets,)
    classes : ndarray of shape (n_classes,)
    p : ndarray of shape (n_sets, n_classes)
        The probability of each class.
    accepted : ndarray of bool of shape (n_sets,), or None
        Of a reject option: which sets are not left to a person.
    """

    ids: Array
    classes: Array
    p: Floats
    accepted: Mask | None

    def columns(self, bag: str, label: str, every: bool) -> dict[str, Array]:
        """Return the columns of a table with one row per set; every probability if asked."""
        best = self.p.argmax(axis=1)
        columns = {bag: self.ids, label: self.classes[best], "probability": self.p[np.arange(len(best)), best]}
        if self.accepted is not None:
            columns["accepted"] = self.accepted
        return columns | {f"p_{name}": self.p[:, k] for k, name in enumerate(self.classes.tolist()) if every}


def predicted(model: Any, sets: Any) -> Predicted:
    """Return what a fitted classifier says about sets.

    Parameters
    ----------
    model : fitted classifier, pipeline or reject option
    sets : Bags or PageTexts
    """
    accepted = np.asarray(model.accepts(sets)) if hasattr(model, "accepts") else None
    return Predicted(sets.ids, model.classes_, model.predict_proba(sets), accepted)


def as_csv(columns: dict[str, Array]) -> str:
    """Return columns as CSV: from the third on, numbers have six digits, booleans small letters, and NaN is empty."""
    ids, labels, *others = columns.values()
    rows = zip(ids.tolist(), labels.tolist(), *map(_cells, others), strict=True)
    return csv_text([list(columns), *rows])


def _cells(values: Array) -> list[Any]:
    if values.dtype.kind == "b":
        return [str(value).lower() for value in values.tolist()]
    return [_number(value) if isinstance(value, float) else value for value in values.tolist()]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def write_table(file: IO[bytes], columns: dict[str, Array]) -> None:
    """Write columns as Parquet to an open file; the same columns give the same bytes. NaN and None become null."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({name: _arrow(values) for name, values in columns.items()})
    pyarrow.parquet.write_table(table, file, compression="zstd")


def _arrow(values: Array) -> Any:
    import pyarrow

    items = values.tolist()
    # Files of the same columns must have the same types, whatever is missing.
    if values.dtype.kind in "biuf":
        return pyarrow.array(items, type=pyarrow.from_numpy_dtype(values.dtype), from_pandas=True)
    return pyarrow.array(items, type=pyarrow.string() if all(item is None for item in items) else None)
