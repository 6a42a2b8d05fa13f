"""Labels in: how the labels that a user passes become classes and class codes."""

from __future__ import annotations

from collections.abc import Iterator, Set, ValuesView
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from setrbm._types import Integers
from setrbm.bags import Bags, is_missing
from setrbm.label_order import check_order
from setrbm.tools.text import count


def refuse_non_labels(y: Any) -> None:
    """Refuse what is neither an array nor a list, and say what to pass instead."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    need = "y must be an array or a list with one label for each set"
    if isinstance(y, dict):
        raise TypeError(f"{need}. Got a dict. If its keys are the ids of the sets, use [y[name] for name in bags.ids].")
    if isinstance(y, Iterator | ValuesView | Set) and not hasattr(y, "shape"):
        cure = ", in the order of the sets" if isinstance(y, Set) else ": list(y)"
        raise TypeError(f"{need}. Got a {type(y).__name__}. Pass a list{cure}.")
    if isinstance(y, str):
        raise TypeError(f"{need}. Got the text {y[:40]!r}.")


def as_codes(bags: Bags, y: Any, classes: npt.NDArray[Any] | None = None) -> tuple[npt.NDArray[Any], Integers]:
    """Return the classes and the class code of each set."""
    y = as_labels(bags, y, len(bags), bags.n_vectors)
    if classes is None:
        return codes_of(y)
    codes = np.searchsorted(classes, y)
    codes = np.where(codes < len(classes), codes, 0)
    if (other := np.flatnonzero(classes[codes] != y)).size:
        raise ValueError(f"y must hold only the classes {classes.tolist()}. Got {y[other[0]]!s} at index {other[0]}.")
    return classes, codes


def codes_of(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Integers]:
    """Return the classes of checked labels and the class code of each; refuse a single class."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes. Got 1 class: {classes[0]!s}.")
    return classes, codes


def as_labels(X: Any, y: Any, n_sets: int, n_vectors: int | None = None) -> npt.NDArray[Any]:
    """Return the labels of sets X as an array.

    Refuse what is not one label for each set, in the order of the sets, all of one type and none missing.
    """
    refuse_non_labels(y)
    if not n_sets:
        raise ValueError("There must be at least one set. Got none.")
    given, y = y, column_or_1d(y, warn=True)
    check_one_label_per_set(y, n_sets, n_vectors)
    check_order(X, given)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError("Input y contains NaN or infinity. Every set must have a label.")
    if (missing := np.flatnonzero(is_missing(given, y))).size:
        raise ValueError(
            f"Input y contains NaN or None. Every set must have a label. Got {missing.size} missing of {len(y)}, the "
            f"first at index {missing[0]}. Leave out sets without a label."
        )
    if len(kinds := _types_of(given, y)) > 1:
        raise ValueError(f"All labels must be of one type. Got {' and '.join(kinds)} in y.")
    check_classification_targets(y)
    return np.asarray(y)


def check_one_label_per_set(y: npt.NDArray[Any], n_sets: int, n_vectors: int | None = None) -> None:
    """Refuse another number of labels than of sets."""
    if len(y) == n_vectors != n_sets:
        raise ValueError(
            f"y must hold one label for each of the {n_sets} sets. Got {len(y)}, one per vector. Bags.from_groups "
            "and Bags.from_frame give the label of each set."
        )
    if len(y) != n_sets:
        raise ValueError(f"y must hold one label for each of the {count(n_sets, 'set')}. Got {count(len(y), 'label')}.")


def _types_of(given: Any, y: npt.NDArray[Any]) -> list[str]:
    """Return the names of the types among labels, where numpy lets them differ."""
    # numpy turns the numbers of a list with texts into texts.
    from_list = y.dtype.kind == "U" and isinstance(given, list | tuple)
    labels = given if from_list else y if y.dtype == object else ()
    return sorted({"str" if isinstance(label, str) else type(label).__name__ for label in labels})
