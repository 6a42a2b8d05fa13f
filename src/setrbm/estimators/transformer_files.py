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
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from setrbm._types import Array
from setrbm.estimators.file_parts import describe_features, describe_settings, restore_features
from setrbm.estimators.input_pooling import InputPooling
from setrbm.estimators.per_vector import PerVector
from setrbm.estimators.settings import is_number
from setrbm.persistence import ModelFile, check_floats, from_json
from setrbm.tools.text import listed


def _check_parameters(estimator: Any) -> None:
    """Check the constructor's parameters, as fit of scikit-learn's estimators does."""
    estimator._validate_params()


def _check_range(scaler: Any) -> None:
    """Check the parameters of MinMaxScaler, whose fit checks the range only as a tuple of any length."""
    scaler._validate_params()
    low, high = scaler.feature_range
    if not (is_number(low) and is_number(high) and low < high):
        raise ValueError(f"feature_range must hold two increasing numbers. Got {scaler.feature_range}.")


def _check_imputer(imputer: Any) -> None:
    """Check the parameters of SimpleImputer, whose fit checks the value to fill in only against the data."""
    imputer._validate_params()
    for name in ("missing_values", "fill_value"):
        if not ((value := getattr(imputer, name)) is None or is_number(value) or value != value):
            raise ValueError(f"{name} must be a number. Got {value!r}.")


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
    may_be_nan : tuple of str
        Arrays that may hold NaN.
    may_be_objects : tuple of str
        Arrays that may be of object type, if they hold numbers.
    dtypes : tuple of str
        Fitted attributes that are types of numbers.
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
    may_be_nan: tuple[str, ...] = ()
    may_be_objects: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
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
        objects = [name for name in self.may_be_objects if arrays[name].dtype == object]
        arrays |= {name: _as_numbers(name, arrays[name]) for name in objects}
        description = {
            "settings": describe_settings(estimator, self.parts),
            **describe_features(estimator),
            "none": [name for name, value in fitted.items() if value is None],
            "strides": {name: gaps for name, array in arrays.items() if (gaps := _gaps(array))},
        }
        if self.may_be_objects:
            description["objects"] = objects
        if self.dtypes:
            description["dtypes"] = {name: _name_of(name, getattr(estimator, name)) for name in self.dtypes}
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
                array = _as_fitted(name, model.arrays[name], self.arrays[name], sizes, name in self.may_be_nan)
                found[name] = _laid_out(array, strides.get(name))
                if name in self.may_be_objects and name in model.description["objects"]:
                    found[name] = array.astype(object)
        for name in self.counts:
            if name in model.arrays:
                found[name] = _as_counts(name, model.arrays[name], n_features)
        for name in self.dtypes:
            found[name] = _as_dtype(name, model.description["dtypes"][name])
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


@dataclass(frozen=True)
class Imputer(Transformer):
    """An imputer, which may have an indicator: which features had missing values in fit."""

    def describe(self, estimator: Any) -> ModelFile:
        """Return the contents of the imputer's file."""
        model = super().describe(estimator)
        indicator = estimator.indicator_
        features = None if indicator is None else indicator.features_.tolist()
        return ModelFile(model.kind, model.description | {"indicator": features}, model.arrays)

    def restore(self, model: ModelFile, parts: Sequence[Any]) -> Any:
        """Return the fitted imputer a model file describes."""
        estimator = super().restore(model, parts)
        features, n_features = model.description["indicator"], estimator.n_features_in_
        if estimator.add_indicator == (features is None):
            raise ValueError(f"indicator must be a list only if add_indicator is True. Got {features!r}.")
        missing = np.zeros((1, n_features), dtype=bool)
        if features is not None:
            missing[0, _as_positions(features, n_features)] = True
        estimator._fit_indicator(missing)
        return estimator


def _as_positions(features: Any, n_features: int) -> list[int]:
    """Return positions of features, which must increase."""
    if not isinstance(features, list) or not all(type(feature) is int for feature in features):
        raise ValueError(f"indicator must hold integers. Got {features!r}.")
    if features != sorted({feature for feature in features if 0 <= feature < n_features}):
        raise ValueError(f"indicator must hold increasing integers below {n_features}. Got {listed(features)}.")
    return features


def _as_numbers(name: str, array: Array) -> Array:
    """Return an array of objects that are numbers as floats."""
    for value in array.ravel().tolist():
        is_nan = isinstance(value, float) and value != value
        if not is_nan and not (is_number(value) and value == float(value)):
            raise ValueError(f"{name} must hold numbers that are exact as float64. Got {value!r}.")
    return array.astype(np.float64)


def _name_of(name: str, dtype: Any) -> str:
    if dtype.kind not in "iuf":
        raise ValueError(f"{name} must be a type of numbers: fit to an array of floats. Got {dtype}.")
    return str(dtype.str)


def _as_dtype(name: str, text: Any) -> np.dtype[Any]:
    """Return the type of numbers of this name."""
    known = {np.dtype(kind).str: np.dtype(kind) for kind in np.typecodes["AllInteger"] + np.typecodes["Float"]}
    if not isinstance(text, str) or text not in known:
        raise ValueError(f"{name} must be a type of numbers. Got {text!r:.40}.")
    return known[text]


def _as_transformer(part: Any) -> Any:
    if not hasattr(part, "transform"):
        raise ValueError(f"A transformer is needed. Got {type(part).__name__}, which has no transform.")
    return part


def _as_fitted(name: str, array: Array, letters: str, sizes: dict[str, int], may_be_nan: bool) -> Array:
    """Return an array whose sizes agree with those of the others, which are noted in ``sizes``."""
    if array.ndim == len(letters):
        for letter, size in zip(letters, array.shape, strict=True):
            sizes.setdefault(letter, max(1, size))
    shape = tuple(sizes.get(letter, 1) for letter in letters)
    check_floats(name, np.where(np.isnan(array), 0, array) if may_be_nan else array, shape)
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
    Imputer(
        SimpleImputer,
        arrays={"statistics_": "n"},
        # Of features without any value.
        may_be_nan=("statistics_",),
        # With the strategy "constant".
        may_be_objects=("statistics_",),
        dtypes=("_fit_dtype", "_fill_dtype"),
        check=_check_imputer,
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
