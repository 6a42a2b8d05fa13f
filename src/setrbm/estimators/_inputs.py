"""How what a user hands over becomes bags, class codes and weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d, validate_data

from setrbm._types import Floats, Integers
from setrbm.bags import Bags
from setrbm.shards import Shards


def is_matrix_like(item: Any) -> bool:
    """Return whether one element of a list is a matrix, so that the list is one of sets."""
    return bool(sparse.issparse(item)) or np.ndim(item) == 2


def as_bags(estimator: Any, X: Any, reset: bool, finite: bool = True) -> Bags:
    """Return the input as bags and hold its features against those seen in fit (or set them, with ``reset``).

    Bags stay; a list of matrices and a 3-D array become sets; anything else is a plain matrix, each row a set of one.
    """
    if isinstance(X, Shards):
        raise TypeError(
            "Shards can be given to fit and partial_fit of ClassSetRBM and ClassRBM, and to their predictions. For "
            "anything else, go through them one by one: for shard, bags, y in shards: ..."
        )
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and len(X) and is_matrix_like(X[0]):
        X = list(X)
    if isinstance(X, list | tuple) and not len(X):
        raise ValueError("There must be at least one set. Got none.")
    if isinstance(X, list | tuple) and is_matrix_like(X[0]):
        X = Bags.from_list(X)
    elif isinstance(X, np.ndarray) and X.ndim == 3:
        X = Bags.from_array(X)
    elif not isinstance(X, Bags):
        X = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32],
            ensure_all_finite=False, ensure_min_samples=1,
        )  # fmt: skip
        rows = Bags.from_rows(X)
        if finite:
            rows.check_finite()
        return rows
    if finite:
        X.check_finite()
    _check_features(estimator, X, reset)
    bags: Bags = X
    return bags


def _check_features(estimator: Any, bags: Bags, reset: bool) -> None:
    n_features, names = bags.shape[1], bags.feature_names
    if n_features == 0:
        raise ValueError("Each vector must have at least one feature. Got 0 feature(s).")
    if reset:
        estimator.n_features_in_ = n_features
        if names is not None:
            estimator.feature_names_in_ = names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names is not None and (other := np.flatnonzero(known != names)).size:
        raise ValueError(
            f"Features must have the names and the order seen in fit. Got {names[other[0]]!r} at position {other[0]} "
            f"where fit had {known[other[0]]!r}."
        )


def as_codes(bags: Bags, y: Any, classes: npt.NDArray[Any] | None = None) -> tuple[npt.NDArray[Any], Integers]:
    """Return the classes and each set's class code."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    check_consistent_length(bags, y)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity. Every set must have a label.")
    check_classification_targets(y)
    if classes is None:
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y must hold at least two classes. Got 1 class: {classes[0]!s}.")
        return classes, codes
    codes = np.searchsorted(classes, y)
    codes = np.where(codes < len(classes), codes, 0)
    if (other := np.flatnonzero(classes[codes] != y)).size:
        raise ValueError(f"y must hold only the classes {classes.tolist()}. Got {y[other[0]]!s} at index {other[0]}.")
    return classes, codes


def as_weights(bags: Bags, y: Any, sample_weight: Any, class_weight: Any) -> Floats:
    """Return one non-negative weight a set: its sample weight times its class's."""
    weight = np.array(_check_sample_weight(sample_weight, bags, dtype=np.float64, ensure_non_negative=True))
    if class_weight is not None:
        of_class = compute_sample_weight(class_weight, np.asarray(y).ravel())
        if not (np.isfinite(of_class).all() and (of_class >= 0.0).all()):
            raise ValueError(f"class_weight must hold finite numbers of 0 or more. Got {class_weight!r}.")
        weight *= of_class
    return weight


def as_threads(n_jobs: int | None) -> int:
    """Return how many threads to use: None means all cores, but one inside a parallel worker."""
    if n_jobs is None:
        backend, _ = joblib.parallel.get_active_backend()
        return 1 if backend.nesting_level else int(joblib.cpu_count())
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a positive number of threads, -1 for all cores, or None. Got {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, int(joblib.cpu_count()) + 1 + int(n_jobs))


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Give an estimator back its attributes when fitting fails, so that what was fitted before stays usable."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
