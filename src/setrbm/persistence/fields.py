"""What a model file holds of an estimator, field by field. What is read is checked: files may be hostile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from setrbm._types import Array
from setrbm.estimators.settings import integer, is_count, is_number
from setrbm.persistence.model_file import ModelFile
from setrbm.scaling import Scaling
from setrbm.tools.text import listed

# A model without arrays cannot show how many features it has; no sparse matrix has more.
MOST_FEATURES = 2**31 - 1

# The sizes of dimensions, by letter: n is the number of features, y of classes. The first array that has another letter
# sets its size, which must then be the same in all arrays.
Sizes = dict[str, int]


class Field(Protocol):
    """A part of the fitted state of an estimator."""

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add the state of a fitted estimator to the description and the arrays of a file."""

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set the state of an estimator to that of a file; raise an error if anything about it is wrong."""


# --- arrays ---


def as_floats(
    array: Array, name: str, letters: str, sizes: Sizes, most: float = np.inf, may_be_nan: bool = False
) -> Array:
    """Return an array of finite floats of at most this size, with one letter per dimension; refuse any other."""
    if array.ndim == len(letters):
        for letter, size in zip(letters, array.shape, strict=True):
            sizes.setdefault(letter, max(1, size))
    shape = tuple(sizes.get(letter, 1) for letter in letters)
    if array.dtype not in (np.float32, np.float64) or array.shape != shape:
        raise ValueError(f"{name} must hold floats of shape {shape}. Got {array.dtype} of shape {array.shape}.")
    known = np.where(np.isnan(array), 0, array) if may_be_nan else array
    if not np.isfinite(known).all():
        raise ValueError(f"{name} must be finite. Got NaN or infinity.")
    largest = known.flat[np.abs(known).argmax()]
    if np.abs(largest) > most:
        raise ValueError(f"{name} must hold values of at most {most:g} in size. Got {largest:g}.")
    return array


def _as_numbers(name: str, array: Array) -> Array:
    """Return an array of objects that are numbers as floats."""
    for value in array.ravel().tolist():
        is_nan = isinstance(value, float) and value != value
        if not is_nan and not (is_number(value) and value == float(value)):
            raise ValueError(f"{name} must hold numbers that are exact as float64. Got {value!r}.")
    return array.astype(np.float64)


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


class Kind(Protocol):
    """How a fitted attribute is stored under its name, in the arrays or in the description."""

    @property
    def needed_if(self) -> str:
        """The parameter without which the attribute may be None or missing; empty if it must be there."""

    def write(self, name: str, value: Any, model: ModelFile) -> None:
        """Add the attribute to the file."""

    def read(self, name: str, model: ModelFile, sizes: Sizes) -> Any:
        """Return the attribute, checked; None if the file does not have it."""


@dataclass(frozen=True)
class Floats:
    """An array of finite floats.

    Parameters
    ----------
    shape : str
        One letter per dimension, see ``Sizes``.
    needed_if : str
    positive : bool
        Whether something is divided by it.
    may_be_nan, may_be_objects : bool
        Objects must be numbers.
    """

    shape: str
    needed_if: str = ""
    positive: bool = False
    may_be_nan: bool = False
    may_be_objects: bool = False

    def write(self, name: str, value: Any, model: ModelFile) -> None:
        """Add the array, whether it holds objects, and how it is laid out if it has gaps."""
        array = np.asarray(value)
        if self.may_be_objects:
            model.description["objects"] = [name] if array.dtype == object else []
            array = _as_numbers(name, array) if array.dtype == object else array
        model.arrays[name] = array
        if gaps := _gaps(array):
            model.description["strides"][name] = gaps

    def read(self, name: str, model: ModelFile, sizes: Sizes) -> Any:
        """Return the array, checked."""
        if name not in model.arrays:
            return None
        array = as_floats(model.arrays[name], name, self.shape, sizes, may_be_nan=self.may_be_nan)
        if self.positive and not (array > 0).all():
            raise ValueError(f"{name} must be positive. Got {array.min():g}.")
        if self.may_be_objects and name in model.description["objects"]:
            return array.astype(object)
        return _laid_out(array, model.description["strides"].get(name))


class Counts:
    """One number of 0 or more, or one per feature."""

    needed_if = ""

    def write(self, name: str, value: Any, model: ModelFile) -> None:
        """Add the numbers as an array."""
        model.arrays[name] = np.asarray(value)

    def read(self, name: str, model: ModelFile, sizes: Sizes) -> Any:
        """Return the numbers, checked."""
        if name not in model.arrays:
            return None
        array, n_features = model.arrays[name], sizes["n"]
        if array.shape not in ((), (n_features,)) or array.dtype.kind not in "if":
            raise ValueError(f"{name} must hold one number or {n_features}. Got {array.dtype} of shape {array.shape}.")
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise ValueError(f"{name} must hold finite numbers of 0 or more. Got {array.min():g}.")
        return array[()]


class NumberType:
    """A numpy type of numbers."""

    needed_if = ""

    def write(self, name: str, value: Any, model: ModelFile) -> None:
        """Add the type to the description."""
        if value.kind not in "iuf":
            raise ValueError(f"{name} must be a type of numbers: fit to an array of floats. Got {value}.")
        model.description.setdefault("dtypes", {})[name] = str(value.str)

    def read(self, name: str, model: ModelFile, sizes: Sizes) -> Any:
        """Return the type, checked."""
        known = {np.dtype(kind).str: np.dtype(kind) for kind in np.typecodes["AllInteger"] + np.typecodes["Float"]}
        if not isinstance(text := model.description["dtypes"][name], str) or text not in known:
            raise ValueError(f"{name} must be a type of numbers. Got {text!r:.40}.")
        return known[text]


@dataclass(frozen=True)
class Attributes:
    """Fitted attributes under their own names; some may be None."""

    kinds: Mapping[str, Kind]

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add the attributes, and which are None."""
        fitted = {name: getattr(estimator, name) for name in self.kinds if hasattr(estimator, name)}
        model.description["none"] = [name for name, value in fitted.items() if value is None]
        model.description["strides"] = {}
        for name, value in fitted.items():
            if value is not None:
                self.kinds[name].write(name, value, model)

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set the attributes; refuse a file without one that the parameters need."""
        none = model.description["none"]
        for name, kind in self.kinds.items():
            value = kind.read(name, model, sizes)
            if value is None and (not kind.needed_if or getattr(estimator, kind.needed_if)):
                raise ValueError(f"{type(estimator).__name__} must have {name}. Got none.")
            if value is not None or name in none:
                setattr(estimator, name, value)


# --- features, classes, scaling ---


class Features:
    """Number and names of the features, and the size of the largest set in fit.

    Parameters
    ----------
    names : str
        Those that the file has, by default all three; arrays show the number of features if it is not among them.
    """

    def __init__(self, *names: str) -> None:
        self.names = names or ("n_features", "feature_names", "largest_set")

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add numbers and names to the description."""
        known = getattr(estimator, "feature_names_in_", None)
        facts = {
            "n_features": int(estimator.n_features_in_),
            "feature_names": None if known is None else list(known),
            "largest_set": getattr(estimator, "largest_set_", None),
        }
        model.description.update({name: facts[name] for name in self.names})

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set numbers and names."""
        facts = {"n_features": sizes.get("n")} | {name: model.description[name] for name in self.names}
        n_features, names, largest = facts["n_features"], facts["feature_names"], facts.get("largest_set")
        if not is_count(n_features) or n_features > MOST_FEATURES:
            raise ValueError(f"n_features must be an integer between 1 and {MOST_FEATURES}. Got {n_features!r}.")
        estimator.n_features_in_ = sizes["n"] = n_features
        if names is not None:
            if not isinstance(names, list) or len(names) != n_features or not all(isinstance(n, str) for n in names):
                raise ValueError(f"feature_names must hold {n_features} strings.")
            estimator.feature_names_in_ = np.array(names, dtype=object)
        if largest is not None:
            integer("largest_set", largest)
            estimator.largest_set_ = largest


class Labels:
    """The classes: their numpy type and their values."""

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add the classes to the description."""
        classes = estimator.classes_
        if any(not isinstance(value, str | int | float | bool) for value in classes.tolist()):
            raise ValueError("Only labels that are strings, numbers or booleans can be saved.")
        dtype = classes.dtype.str if classes.dtype != object else "object"
        model.description["classes"] = {"dtype": dtype, "values": classes.tolist()}

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set the classes."""
        estimator.classes_ = _as_labels(**model.description["classes"])
        sizes["y"] = len(estimator.classes_)


def _as_labels(dtype: Any, values: Any) -> npt.NDArray[Any]:
    """Return labels that are sorted and distinct."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "OUbiuf":
        raise ValueError(f"Labels of type {dtype} are not supported.")
    if not isinstance(values, list) or not all(isinstance(value, str | int | float | bool) for value in values):
        raise ValueError("Labels must be a list of strings, numbers or booleans.")
    if dtype.kind == "U" and dtype.itemsize > 4 * max(map(len, map(str, values)), default=0) + 4:
        raise ValueError(f"Labels of type {dtype} are longer than any label.")
    labels = np.array(values, dtype=dtype)
    if len(values) < 2 or len(np.unique(labels)) != len(values) or (np.unique(labels) != labels).any():
        raise ValueError(f"There must be two or more labels, sorted and distinct. Got {listed(map(repr, values))}.")
    return labels


class FittedScaling:
    """The scaling of the features, or None."""

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add the two arrays, and the floor to the description."""
        scaling = estimator._scaling()
        model.description["scale_floor"] = None if scaling is None else scaling.floor
        if scaling is not None:
            model.arrays.update({"scale_low": scaling.low, "scale_factor": scaling.factor})

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set the scaling; None if the file has no floor for it."""
        scaling, floor = None, model.description["scale_floor"]
        if floor is not None:
            low, factor = (as_floats(model.arrays[name], name, "n", sizes) for name in ("scale_low", "scale_factor"))
            if floor not in (0.0, -1.0):
                raise ValueError(f"scale_floor must be 0 or -1. Got {floor}.")
            scaling = Scaling(low, factor, float(floor))
        estimator._set_scaling(scaling)
