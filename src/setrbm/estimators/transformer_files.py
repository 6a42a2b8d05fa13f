"""Model files of transformers: a table of classes with the fitted attributes that make up their state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from setrbm._types import Array
from setrbm.estimators.file_parts import describe_features, describe_settings, restore_features
from setrbm.estimators.input_pooling import InputPooling
from setrbm.estimators.per_vector import PerVector
from setrbm.estimators.settings import is_number
from setrbm.persistence import ModelFile, check_floats, from_json


def _check_parameters(estimator: Any) -> None:
    """Check the constructor's parameters, as fit of scikit-learn's estimators does."""
    estimator._validate_params()


def _check_range(scaler: Any) -> None:
    """Check the parameters of MinMaxScaler, whose fit checks the range only as a tuple of any length."""
    scaler._validate_params()
    low, high = scaler.feature_range
    if not (is_number(low) and is_number(high) and low < high):
        raise ValueError(f"feature_range must hold two increasing numbers. Got {scaler.feature_range}.")


@dataclass(frozen=True)
class Transformer:
    """A transformer whose fitted state is a few arrays.

    Parameters
    ----------
    cls : type
    arrays : dict
        Fitted attributes and their shapes, one letter per dimension. The letter n is the number of features; any other
        letter is one size, the same wherever it appears.
    counts : tuple of str
        Fitted attributes that are one number of 0 or more, or one per feature.
    needed_if : dict
        Fitted attributes that may be None or missing unless this parameter is True.
    positive : tuple of str
        Fitted attributes that are divided by.
    parts : tuple of str
        Parameters that are estimators. The fitted attribute has the same name and an underscore.
    check : callable
        Raises an error if a constructor's parameter is not allowed.
    """

    cls: type
    arrays: dict[str, str] = field(default_factory=dict)
    counts: tuple[str, ...] = ()
    needed_if: dict[str, str] = field(default_factory=dict)
    positive: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    check: Callable[[Any], Any] = _check_parameters

    def parts_of(self, estimator: Any) -> list[tuple[str, Any]]:
        """Return the estimators within a fitted estimator, and what to call them in messages."""
        check_is_fitted(estimator)
        return [(f"{name} of {self.cls.__name__}", getattr(estimator, f"{name}_")) for name in self.parts]

    def describe(self, estimator: Any) -> ModelFile:
        """Return the contents of the transformer's file."""
        check_is_fitted(estimator)
        fitted = {name: getattr(estimator, name) for name in (*self.arrays, *self.counts) if hasattr(estimator, name)}
        arrays = {name: np.asarray(value) for name, value in fitted.items() if value is not None}
        description = {
            "settings": describe_settings(estimator, self.parts),
            **describe_features(estimator),
            "none": [name for name, value in fitted.items() if value is None],
            "strides": {name: gaps for name, array in arrays.items() if (gaps := _gaps(array))},
        }
        return ModelFile(self.cls.__name__, description, arrays)

    def restore(self, model: ModelFile, parts: Sequence[Any]) -> Any:
        """Return the fitted transformer a model file describes."""
        described = model.description
        fitted_parts = dict(zip(self.parts, parts, strict=True))
        unfitted = {name: clone(_as_transformer(part)) for name, part in fitted_parts.items()}
        estimator = self.cls(**from_json(described["settings"]), **unfitted)
        self.check(estimator)
        n_features = restore_features(estimator, described)
        for name, part in fitted_parts.items():
            setattr(estimator, f"{name}_", part)
        for name, value in self._restored(model, n_features).items():
            setattr(estimator, name, value)
        self._check_complete(estimator)
        return estimator

    def _restored(self, model: ModelFile, n_features: int) -> dict[str, Any]:
        """Return the fitted attributes of a file, checked."""
        found: dict[str, Any] = {
            name: None for name in (*self.arrays, *self.counts) if name in model.description["none"]
        }
        strides, sizes = model.description["strides"], {"n": n_features}
        for name in self.arrays:
            if name in model.arrays:
                array = _as_fitted(name, model.arrays[name], self.arrays[name], sizes)
                found[name] = _laid_out(array, strides.get(name))
        for name in self.counts:
            if name in model.arrays:
                found[name] = _as_counts(name, model.arrays[name], n_features)
        for name in self.positive:
            if found.get(name) is not None and not (found[name] > 0).all():
                raise ValueError(f"{name} must be positive. Got {found[name].min():g}.")
        return found

    def _check_complete(self, estimator: Any) -> None:
        """Refuse an estimator without an attribute that its parameters need."""
        for name in (*self.arrays, *self.counts):
            needed = name not in self.needed_if or getattr(estimator, self.needed_if[name])
            if needed and getattr(estimator, name, None) is None:
                raise ValueError(f"{self.cls.__name__} must have {name}. Got none.")


def _as_transformer(part: Any) -> Any:
    if not hasattr(part, "transform"):
        raise ValueError(f"A transformer is needed. Got {type(part).__name__}, which has no transform.")
    return part


def _as_fitted(name: str, array: Array, letters: str, sizes: dict[str, int]) -> Array:
    """Return an array whose sizes agree with those of the others, which are noted in ``sizes``."""
    if array.ndim == len(letters):
        for letter, size in zip(letters, array.shape, strict=True):
            sizes.setdefault(letter, max(1, size))
    check_floats(name, array, tuple(sizes.get(letter, 1) for letter in letters))
    return array


def _gaps(array: Array) -> list[int] | None:
    """Return the strides of an array in items; None if it is contiguous, or has too many gaps to keep."""
    strides = [stride // array.itemsize for stride in array.strides]
    return None if array.flags.c_contiguous or _n_items(array.shape, strides) > _most_items(array) else strides


def _n_items(shape: tuple[int, ...], strides: list[int]) -> int:
    return 1 + sum(abs(stride) * (size - 1) for stride, size in zip(strides, shape, strict=True))


def _most_items(array: Array) -> int:
    """Return how many items an array may take with its gaps, so that a small file cannot fill the memory."""
    return 16 * array.size + 2**20


def _laid_out(array: Array, strides: Any) -> Array:
    """Return a copy with these strides in items, or the array itself if they are None.

    TruncatedSVD has components with gaps between rows, or in reverse order. A product with them is equal to the last
    bit only if the strides are equal too.
    """
    if strides is None:
        return array
    if len(strides) != array.ndim or not all(type(stride) is int and stride != 0 for stride in strides):
        raise ValueError(f"There must be {array.ndim} strides other than 0. Got {strides}.")
    if (n_items := _n_items(array.shape, strides)) > _most_items(array):
        raise ValueError(f"Strides must leave few gaps. Got {strides} for shape {array.shape}.")
    first = sum(-stride * (size - 1) for stride, size in zip(strides, array.shape, strict=True) if stride < 0)
    items = np.zeros(n_items, array.dtype)[first:]
    laid_out = as_strided(items, array.shape, [stride * array.itemsize for stride in strides])
    laid_out[...] = array
    return laid_out


def _as_counts(name: str, array: Array, n_features: int) -> Any:
    """Return one number of 0 or more, or one per feature."""
    if array.shape not in ((), (n_features,)) or array.dtype.kind not in "if":
        raise ValueError(f"{name} must hold one number or {n_features}. Got {array.dtype} of shape {array.shape}.")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name} must hold finite numbers of 0 or more. Got {array.min():g}.")
    return array[()]


TRANSFORMERS = (
    Transformer(InputPooling, check=InputPooling._check_statistics),
    Transformer(PerVector, parts=("transformer",), check=lambda estimator: None),
    Transformer(
        StandardScaler,
        arrays={"mean_": "n", "var_": "n", "scale_": "n"},
        counts=("n_samples_seen_",),
        needed_if={"mean_": "with_mean", "var_": "with_std", "scale_": "with_std"},
        positive=("scale_",),
    ),
    Transformer(
        MinMaxScaler,
        arrays={"min_": "n", "scale_": "n", "data_min_": "n", "data_max_": "n", "data_range_": "n"},
        counts=("n_samples_seen_",),
        positive=("scale_",),
        check=_check_range,
    ),
    Transformer(TfidfTransformer, arrays={"idf_": "n"}, needed_if={"idf_": "use_idf"}),
    Transformer(
        QuantileTransformer,
        arrays={"quantiles_": "qn", "references_": "q"},
        counts=("n_quantiles_",),
    ),
    Transformer(
        TruncatedSVD,
        arrays={
            "components_": "kn",
            "explained_variance_": "k",
            "explained_variance_ratio_": "k",
            "singular_values_": "k",
        },
    ),
)
