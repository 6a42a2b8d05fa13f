"""Checks of what a reject option is given: its classifier, labels, seed, and the answer for sets left to people."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import _num_samples, check_is_fitted

from setrbm.estimators.labels import as_labels, codes_of
from setrbm.tools.text import count, listed


def check_classifier(classifier: Any) -> None:
    """Refuse what is not a classifier that can be fitted, and a frozen one that is not fitted."""
    frozen = isinstance(classifier, FrozenEstimator)
    inner = classifier.estimator if frozen else classifier
    if isinstance(inner, type):
        raise TypeError(
            f"classifier must be a scikit-learn classifier. Got the class {inner.__name__}. Use {inner.__name__}()."
        )
    if frozen:
        _check_frozen(inner)
    elif not (hasattr(inner, "fit") and hasattr(inner, "get_params")):
        raise TypeError(f"classifier must be a scikit-learn classifier. Got {inner!r:.40}.")


def _check_frozen(inner: Any) -> None:
    if hasattr(inner, "classes_"):
        return
    name = type(inner).__name__
    message = (
        f"A FrozenEstimator must hold a fitted classifier. The {name} in it is not fitted. Fit it first, or pass it "
        "without FrozenEstimator."
    )
    check_is_fitted(inner, msg=message)
    raise TypeError(f"A FrozenEstimator must hold a fitted classifier. The {name} in it has no classes_.")


def check_seed(seed: Any) -> None:
    """Refuse a random_state that scikit-learn would not take."""
    is_seed = isinstance(seed, Integral) and not isinstance(seed, bool) and 0 <= int(seed) < 2**32
    if not (seed is None or is_seed or isinstance(seed, np.random.RandomState)):
        raise ValueError(f"random_state must be an integer from 0 to 2**32 - 1, a RandomState or None. Got {seed!r}.")


def labels_of(X: Any, y: Any) -> npt.NDArray[Any]:
    """Return the labels of sets as an array, checked."""
    n = _num_samples(X)
    return as_labels(X, y, n, getattr(X, "n_vectors", n))


def check_split(y: npt.NDArray[Any], held_out: float) -> tuple[list[Any], int]:
    """Return the classes and the number of held-out sets; refuse labels of which one part would lack a class."""
    classes, codes = codes_of(y)
    if (single := np.flatnonzero(np.bincount(codes) == 1)).size:
        raise ValueError(
            "Every class must have several sets, some to fit the classifier to and some to hold out. Got only one of "
            f"{listed(map(repr, classes[single].tolist()))} ({single.size} of {len(classes)} classes). Add sets, or "
            "leave out the class."
        )
    # Rounded as in train_test_split.
    n_held_out = math.ceil(held_out * len(y))
    n_train = len(y) - n_held_out
    if min(n_train, n_held_out) < len(classes):
        cure = "smaller" if n_train < n_held_out else "larger"
        raise ValueError(
            f"Both parts must have at least as many sets as there are classes, {len(classes)}. Got "
            f"{count(n_train, 'set')} to fit the classifier to and {n_held_out:,} held out. Use a {cure} held_out, or "
            "more sets."
        )
    return classes.tolist(), n_held_out


def refuse_missing(classes: Sequence[Any], labels: npt.NDArray[Any]) -> None:
    """Refuse held-out labels among which a class does not occur."""
    given = labels.tolist()
    known = set(given)
    missing = [label for label in classes if label not in known]
    if len(missing) == len(classes):
        raise ValueError(
            f"Labels must be classes that the classifier has learned: {listed(map(repr, classes))}. Got none of these, "
            f"the first label is {given[0]!r}. {_types(classes[0], given[0])}".rstrip()
        )
    if missing:
        raise ValueError(
            "Every class of the classifier must occur among the held-out sets. Got none of "
            f"{listed(map(repr, missing))} ({len(missing)} of {len(classes)} classes). Add labeled sets of that class."
        )


def _types(known: Any, label: Any) -> str:
    expected, got = type(known).__name__, type(label).__name__
    return "" if expected == got else f"The classes are of type {expected}, the labels of type {got}."


def check_rejected(rejected: Any, classes: Sequence[Any]) -> None:
    """Refuse an answer for sets left to people that is several values, or one of the classes."""
    is_sequence = isinstance(rejected, Sequence) and not isinstance(rejected, str | bytes)
    if is_sequence or getattr(rejected, "ndim", 0) > 0:
        raise TypeError(
            "rejected must be a single value, which all sets left to people get. Got an object of class "
            f"{type(rejected).__name__}."
        )
    # By hash first: pandas' NA cannot be compared.
    if isinstance(rejected, Hashable) and rejected in set(classes):
        raise ValueError(
            "rejected must differ from every class, or nobody could tell which sets are left to people. Got "
            f"{rejected!r}, which is a class."
        )
