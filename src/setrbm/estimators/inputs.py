"""Data in: how what a user passes becomes bags, weights and sources of labeled sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, validate_data

from setrbm._types import Array, Floats, Integers
from setrbm._warnings import warn
from setrbm.bags import Bags, as_array, first_text, refuse_dates
from setrbm.engines.protocol import LabeledSets
from setrbm.estimators.labels import as_codes
from setrbm.estimators.settings import Settings
from setrbm.label_order import check_order
from setrbm.scaling import Scaling, feature_range, squeezed_features
from setrbm.shards import Shards
from setrbm.tools.text import is_number

if TYPE_CHECKING:
    from setrbm.estimators.prediction import BaseSetClassifier


def is_matrix_like(item: Any) -> bool:
    """Return whether an element of a list is a matrix, so that the list is a list of sets."""
    try:
        return bool(sparse.issparse(item)) or np.ndim(item) == 2
    except ValueError:
        # A list of vectors of different lengths.
        return True


def as_bags(estimator: Any, X: Any, reset: bool, finite: bool = True) -> Bags:
    """Return the input as bags and compare its features with those seen in fit (or set them, with ``reset``).

    Bags stay as they are; a list of matrices and a 3-D array become sets; anything else is a plain matrix, each row a
    set of one.
    """
    if isinstance(X, Shards):
        raise TypeError(
            "Shards can be passed to fit and partial_fit of ClassSetRBM and ClassRBM, and to their predictions. For "
            "anything else, go through them one by one: for shard, bags, y in shards: ..."
        )
    bags = _as_sets(X)
    rows = bags is None
    if bags is None:
        refuse_non_matrix(X)
        _warn_about_frame(estimator, X, reset)
        X = validate_data(
            estimator, as_array(X) if isinstance(X, list | tuple) else X,
            reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32],
            ensure_all_finite=False, ensure_min_samples=1,
        )  # fmt: skip
        bags = Bags.from_rows(X)
        _warn_about_rows(estimator, bags, reset)
    if finite:
        bags.check_finite()
    if not rows:
        _check_features(estimator, bags, reset)
    if reset:
        estimator.largest_set_ = int(bags.sizes.max())
    return bags


def refuse_non_matrix(X: Any) -> None:
    """Refuse what is neither a matrix nor a list, and say what to pass instead."""
    # One of scipy's formats is a dict as well.
    if sparse.issparse(X):
        return
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("A lazy frame holds no data yet. Collect it first: Bags.from_frame(frame.collect(), ...).")
    if isinstance(X, dict | set | frozenset) or (isinstance(X, Iterator) and not hasattr(X, "shape")):
        cure = "Bags.from_list(X.values(), ids=list(X))" if isinstance(X, dict) else "Bags.from_list(X)"
        raise TypeError(
            f"X must be Bags, a list of matrices, a 3-D array or a matrix. Got a {type(X).__name__}. Use {cure}."
        )
    if X is None or isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X must be Bags, a list of matrices, a 3-D array or a matrix. Got {X!r}. Read a file of sets with "
            "setrbm.datasets.read_sets."
        )
    # scikit-learn, which reads plain matrices, takes dates as nanoseconds.
    if isinstance(X, np.ndarray):
        refuse_dates(X)
    elif nw.dependencies.is_into_dataframe(X):
        # A row of a frame has the type of all.
        refuse_dates(np.asarray(X[:1]))
    if isinstance(X, np.ndarray) and X.ndim > 3:
        raise ValueError(f"X must have at most 3 dimensions: sets, vectors, features. Got {X.ndim}.")
    if (text := _first_text(X)) is not None:
        raise ValueError(
            f"X must hold numbers. Got text, the first {text[:40]!r}. Turn documents with pages of text into sets of "
            "word vectors with PageWords, the first step of a pipeline: make_pipeline(PageWords(), "
            "ClassSetRBMCV.for_text())."
        )


def _first_text(X: Any) -> str | None:
    """Return the first text that is not a number, of a list of texts or of lists of texts; None if there is none.

    Of an array it may stand anywhere.
    """
    if isinstance(X, np.ndarray) and X.ndim > 1:
        return first_text(X)
    if not _is_list(X):
        return None
    for row in X:
        for cell in row if _is_list(row) else [row]:
            # The first value that is not text shows that these are numbers.
            if not isinstance(cell, str):
                return None
            if not is_number(cell):
                return cell
    return None


def _is_list(X: Any) -> bool:
    """Return whether this is a list, a tuple, or a column of anything."""
    return isinstance(X, list | tuple) or (getattr(X, "ndim", 0) == 1 and not sparse.issparse(X))


def _warn_about_frame(estimator: Any, X: Any, reset: bool) -> None:
    """Warn about a data frame whose id and label columns would become features."""
    if reset and nw.dependencies.is_into_dataframe(X) and not getattr(estimator, "takes_rows", False):
        warn(
            f"A data frame was passed to {type(estimator).__name__}: each row is taken as a set of one vector, and "
            "every column, an id or label too, as a feature. Use Bags.from_frame(frame, bag=..., label=...)."
        )


def _warn_about_rows(estimator: Any, bags: Bags, reset: bool) -> None:
    """Warn about a matrix whose rows are taken as sets of one vector by a model of larger sets."""
    largest = 1 if reset or getattr(estimator, "takes_rows", False) else getattr(estimator, "largest_set_", 1)
    if largest > 1 and len(bags) > 1:
        warn(
            f"A matrix was passed to {type(estimator).__name__}, which was fitted to sets of up to {largest} vectors: "
            f"each of its {len(bags)} rows is taken as a set of one vector. For one set, pass [X]; for several, Bags."
        )


def _as_sets(X: Any) -> Bags | None:
    """Return the input as bags if it holds sets of several vectors; None for a plain matrix."""
    if isinstance(X, Bags):
        return X
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and len(X) and is_matrix_like(X[0]):
        X = list(X)
    if isinstance(X, list | tuple) and not len(X):
        raise ValueError("There must be at least one set. Got none.")
    if isinstance(X, list | tuple) and is_matrix_like(X[0]):
        return Bags.from_list(X)
    return Bags.from_array(X) if isinstance(X, np.ndarray) and X.ndim == 3 else None


def _check_features(estimator: Any, bags: Bags, reset: bool) -> None:
    n_features, names = bags.shape[1], bags.feature_names
    if n_features == 0:
        raise ValueError("Each vector must have at least one feature. Got none.")
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


def as_sample_weights(bags: Bags, sample_weight: Any) -> Floats:
    """Return one non-negative weight per set, by default 1."""
    check_order(bags, sample_weight, "sample_weight")
    return np.array(_check_sample_weight(sample_weight, bags, dtype=np.float64, ensure_non_negative=True))


def as_weights(bags: Bags, y: Any, sample_weight: Any, class_weight: Any) -> Floats:
    """Return one non-negative weight per set: its sample weight times the weight of its class."""
    weight = as_sample_weights(bags, sample_weight)
    if class_weight is not None:
        weight *= compute_sample_weight(class_weight, np.asarray(y).ravel())
    return weight


# --- sets in memory ---


def labeled_sets(
    estimator: BaseSetClassifier,
    settings: Settings,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    classes: Array | None = None,
    again: bool = False,
) -> LabeledSets:
    """Return scaled, labeled sets for training; set features, classes and scaling unless (again) they are known.

    Parameters
    ----------
    classes : ndarray, optional
        All classes there are; by default those of y.
    """
    bags = estimator._bags(X, reset=not again)
    estimator.largest_set_ = max(estimator.largest_set_, int(bags.sizes.max()))
    classes, codes = as_codes(bags, y, classes)
    estimator._check_classes(classes)
    sets = _weighted(bags, codes, as_weights(bags, y, sample_weight, settings.class_weight))
    if not again:
        estimator.classes_ = classes
        estimator._set_scaling(Scaling.fit(sets.bags) if settings.scale is not None else None)
        _warn_if_squeezed(sets.bags, estimator._scaling())
    scaled = estimator._scaled(sets.bags)
    check_visible(settings, scaled)
    return LabeledSets(scaled, sets.y, sets.weight)


def _weighted(bags: Bags, codes: Integers, weight: Floats) -> LabeledSets:
    """Return the sets whose weight is not zero: those without weight count as not given."""
    if (weight > 0.0).all():
        return LabeledSets(bags, codes, weight)
    kept = np.flatnonzero(weight > 0.0)
    if not len(kept):
        raise ValueError(f"At least one set must have a weight above zero. Got zero for all {len(bags)}.")
    return LabeledSets(bags[kept], codes[kept], weight[kept])


def refuse_one_class(sets: LabeledSets) -> None:
    """Refuse to learn from sets of one class."""
    if (n_classes := len(np.unique(sets.y))) < 2:
        raise ValueError(
            f"y must hold at least two classes among the sets whose weight is not zero. Got {n_classes} class."
        )


def warn_if_constant(scaling: Scaling | None) -> None:
    """Warn if no feature varies."""
    if scaling is not None and not scaling.factor.any():
        warn("Every feature is constant: only the frequencies of the classes can be learned.")


def _warn_if_squeezed(bags: Bags, scaling: Scaling | None) -> None:
    """Warn where outliers decide the range of a feature."""
    squeezed = np.empty(0, dtype=np.intp) if scaling is None else squeezed_features(bags, scaling)
    if len(squeezed):
        names = bags.feature_names
        first = squeezed[0] if names is None else names[squeezed[0]]
        warn(
            f"In {len(squeezed)} of {bags.shape[1]} features (the first: {first}) outliers leave nine tenths of the "
            "other values less than 1 / 200 of the range. Clip or transform them first, for example with "
            "PerVector(QuantileTransformer())."
        )


def check_visible(settings: Settings, bags: Bags) -> None:
    """Refuse values that are not probabilities where binary units are learned generatively."""
    if not settings.generative or settings.visible != "binary":
        return
    values = bags.X.data if bags.is_sparse else bags.X
    bad = (values < 0.0) | (values > 1.0)
    if bad.any():
        raise ValueError(
            f"Values must be in [0, 1] for objective={settings.objective!r} with visible='binary'. Got {bad.sum()} "
            f"outside, from {values.min():g} to {values.max():g}, the first in {bags.place_of_first(bad)}. Use "
            "scale='auto' (dense data), scale them yourself, or use visible='gaussian'."
        )


# --- shards ---


def labeled_stream(
    estimator: BaseSetClassifier, settings: Settings, shards: Shards, again: bool
) -> Callable[[], Iterator[LabeledSets]]:
    """Return a function that begins a pass over shards: scaled sets with class codes and weights.

    Features, classes and scaling are set from the shards, or (again) compared with those already fitted.
    """
    if not again:
        estimator.n_features_in_ = shards.shape[1]
        estimator.largest_set_ = shards.largest_set
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.classes_ = shards.classes
        if len(estimator.classes_) < 2:
            raise ValueError(f"y must hold at least two classes. Got 1 class: {estimator.classes_[0]!s}.")
        estimator._check_classes(estimator.classes_)
        ranges = [feature_range(bags) for _, bags, _ in shards] if settings.scale is not None else []
        is_sparse = shards.shards[0].is_sparse
        estimator._set_scaling(Scaling.from_ranges(ranges, is_sparse) if ranges else None)
    estimator.largest_set_ = max(estimator.largest_set_, shards.largest_set)
    _warn_if_sorted(shards)
    of_class = _class_weights(estimator.classes_.tolist(), settings.class_weight, shards)

    def stream() -> Iterator[LabeledSets]:
        for shard, bags, y in shards:
            # Shards check every value when they are made.
            bags = estimator._scaled(estimator._bags(bags, reset=False, finite=False))
            check_visible(settings, bags)
            _, codes = as_codes(bags, y, estimator.classes_)
            yield LabeledSets(bags, codes, of_class[codes], shard.first)

    return stream


def _warn_if_sorted(shards: Shards) -> None:
    """Warn if most shards hold one class: what is learned from one shard would be forgotten in the next."""
    alone = [shard for shard in shards.shards if shard.n_sets > 1 and len(shard.label_counts) == 1]
    if len(alone) > len(shards.shards) // 2 and len(shards.shards) > 1:
        warn(
            f"{len(alone)} of {len(shards.shards)} shards hold sets of one class only (the first: "
            f"{str(alone[0].path)!r}). Sets are shuffled within a shard, not across: write them in random order."
        )


def _class_weights(classes: list[Any], class_weight: Any, shards: Shards) -> Floats:
    """Return the weight of each class."""
    counts = [shards.label_counts.get(label, 0) for label in classes]
    if isinstance(class_weight, dict):
        weights = np.array([float(class_weight.get(label, 1.0)) for label in classes])
        if not (np.isfinite(weights).all() and (weights > 0.0).all()):
            raise ValueError(f"class_weight must hold positive numbers where Shards are read. Got {weights.tolist()}.")
        return weights
    if class_weight == "balanced":
        return len(shards) / (len(counts) * np.maximum(counts, 1.0))
    return np.ones(len(counts))


# --- the estimator ---


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Restore an estimator when fitting fails, so that what was fitted before stays usable."""
    restore = restorer(estimator)
    try:
        yield
    except BaseException:
        restore()
        raise


def restorer(estimator: Any) -> Callable[[], None]:
    """Return what gives an estimator its present attributes again, and its random generator its present state."""
    before = dict(vars(estimator))
    generator: Any = before.get("random_state")
    state = generator.get_state() if isinstance(generator, np.random.RandomState) else None

    def restore() -> None:
        vars(estimator).clear()
        vars(estimator).update(before)
        if state is not None:
            generator.set_state(state)

    return restore
