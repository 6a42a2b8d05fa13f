"""Labels and values of a data file that nothing can be learned from; errors name columns, sets and options."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from setrbm.cli._data import DataFile, as_number
from setrbm.tools.text import count

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags


def check_labels(data: DataFile, bags: Any, y: Array) -> None:
    """Refuse labels of one class, and measurements."""
    import numpy as np

    labels = data.labels_of(bags)
    classes = np.unique(y)
    if len(classes) < 2:
        every = "the only set" if len(y) == 1 else f"all {len(y)} sets"
        raise ValueError(f"{labels} must have at least two classes. Got one: {classes[0]!s} for {every}.")
    measured = [k for k, label in enumerate(y.tolist()) if _is_measurement(str(label))]
    if measured and all(as_number(str(label)) is not None for label in classes.tolist()):
        raise ValueError(
            f"{labels} must have classes. Got numbers with decimals, the first {y[measured[0]]!s} for set "
            f"{bags.ids[measured[0]]!s}. setrbm classifies; it does not predict numbers."
        )


def _is_measurement(text: str) -> bool:
    number = as_number(text)
    return number is not None and math.isfinite(number) and not number.is_integer()


def check_range(data: DataFile, bags: Bags, objective: str, scaled: bool) -> None:
    """Refuse values that a generative model, whose inputs are probabilities, cannot have."""
    if scaled and not bags.is_sparse:
        return
    values = bags.X.data if bags.is_sparse else bags.X
    bad = values < 0.0 if scaled else (values < 0.0) | (values > 1.0)
    if bad.any():
        need = "values of 0 or more in a svmlight file" if scaled else "values from 0 to 1 with --scale none"
        got = f"{count(int(bad.sum()), 'other value')} in {str(data.path)!r}"
        cure = "Use --objective discriminative" + ("." if scaled else ", or --scale auto.")
        raise ValueError(
            f"--objective {objective} needs {need}. Got {got}, the first in {_place_of_first(bags, bad)}. {cure}"
        )


def _place_of_first(bags: Bags, bad: Array) -> str:
    """Return the column, or the feature of a svmlight file, and the set of the first bad value."""
    at, _, feature = bags.position_of_first(bad)
    name = f"feature {feature}" if bags.feature_names is None else f"column {bags.feature_names[feature]!r}"
    return f"{name}, set {bags.ids[at]!s}"
