"""Scaling of features, fitted on training vectors only: to the range models expect, and centered for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._types import Array, Floats, Integers
from setrbm.bags import Bags
from setrbm.energy import Params

How = Literal["center", "standardize"]

# A feature is squeezed if 90 % of its values lie in less than this part of its range.
ROOM = 0.005
# Number of stored values, and of vectors, processed at once.
PIECE, ROWS = 1 << 20, 4096
# The variance of the vectors a model is trained on, summed over the features.
VARIANCE = 5.0


@dataclass(frozen=True)
class RangeCheck:
    """How much of some sets lies outside the range seen in training.

    Attributes
    ----------
    n_sets, n_values : int
        How many sets were checked, and how many values (of sparse sets those that are stored).
    n_values_outside, n_sets_outside : int
        Values outside the range of their feature, and sets that have at least one.
    n_larger_sets : int
        Sets with more vectors than any in training.
    largest_set : int
        The number of vectors of the largest set in training; 0 if it is not known.
    by_feature : ndarray of shape (n_features,)
        Values outside the range, by feature.
    """

    n_sets: int
    n_values: int
    n_values_outside: int
    n_sets_outside: int
    n_larger_sets: int
    largest_set: int
    by_feature: Integers = field(repr=False)


@dataclass(frozen=True)
class Scaling:
    """A feature-wise map x -> (x - low) * factor, clipped: to [0, 1] for dense data, to [-1, 1] for sparse.

    A feature that is constant in training (or never stored) has factor 0: its weights are not trained, so that later
    values must not have an effect.
    """

    low: npt.NDArray[Any]
    factor: npt.NDArray[Any]
    floor: float

    @classmethod
    def fit(cls, bags: Bags) -> Scaling:
        """Fit the scaling to the range of each feature over all vectors."""
        return cls.from_ranges([feature_range(bags)], bags.is_sparse)

    @classmethod
    def from_ranges(cls, ranges: Sequence[tuple[Array, Array]], is_sparse: bool) -> Scaling:
        """Return the scaling for the union of several ranges."""
        low = np.min([low for low, _ in ranges], axis=0)
        high = np.max([high for _, high in ranges], axis=0)
        with np.errstate(over="ignore"):
            return cls(low, _inverse(high - low), -1.0 if is_sparse else 0.0)

    def apply(self, bags: Bags) -> Bags:
        """Return the scaled sets, or the same object if nothing changes."""
        names = bags.feature_names
        dtype = bags.dtype
        if not bags.is_sparse:
            low, factor = self.low.astype(dtype, copy=False), self.factor.astype(dtype, copy=False)
            scaled = bags.X - low
            scaled *= factor
            return bags.with_vectors(np.clip(scaled, self.floor, 1.0, out=scaled), names)
        X = bags.X
        if (self.factor == 1.0).all() and X.nnz and X.data.max() <= 1.0 and X.data.min() >= self.floor:
            return bags
        if (self.low != 0.0).any():
            # Fitted on dense data: zeros change too, so the result is dense.
            return self.apply(bags.with_vectors(X.toarray(), names))
        data = np.clip(X.data * self.factor.astype(dtype, copy=False)[X.indices], self.floor, 1.0)
        return bags.with_vectors(sparse.csr_array((data, X.indices, X.indptr), shape=X.shape), names)

    def check(self, bags: Bags, largest_set: int) -> RangeCheck:
        """Count the values that ``apply`` would clip, and the sets larger than the largest one in training."""
        X = bags.X
        if bags.is_sparse and (self.low != 0.0).any():
            X = X.toarray()
        is_sparse = sparse.issparse(X)
        values, factor, low = X, self.factor, self.low
        if is_sparse:
            values, factor, low = X.data, self.factor[X.indices], self.low[X.indices]
        # The ends of the range themselves may be off by rounding.
        eps = max(np.finfo(bags.dtype).eps, np.finfo(self.factor.dtype).eps)
        slack = 16 * eps * (1.0 + (np.abs(values) + np.abs(low)) * factor)
        scaled = (values - low) * factor
        outside = (scaled < self.floor - slack) | (scaled > 1.0 + slack) | ((factor == 0.0) & (values != low))
        if is_sparse:
            by_feature = np.bincount(X.indices[outside], minlength=X.shape[1])
            rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[outside]
        else:
            by_feature, rows = outside.sum(axis=0), np.flatnonzero(outside.any(axis=1))
        of_set = np.searchsorted(bags.offsets, rows, side="right")
        larger = int((bags.sizes > largest_set).sum()) if largest_set else 0
        return RangeCheck(
            len(bags), values.size, int(by_feature.sum()), len(np.unique(of_set)), larger, largest_set, by_feature
        )

    def undo(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return dense vectors in the original units; constant features get their constant."""
        span = np.divide(1.0, self.factor, out=np.zeros_like(self.factor), where=self.factor > 0)
        return np.asarray(X * span + self.low)


def checked_range(scaling: Scaling | None, bags: Bags, largest_set: int) -> RangeCheck:
    """Compare sets with the range that a fitted scaling keeps; raise ValueError if there is no scaling."""
    if scaling is None:
        raise ValueError("check_range needs scale='auto', which keeps the range of each feature. Got scale=None.")
    return scaling.check(bags, largest_set)


def feature_range(bags: Bags) -> tuple[Array, Array]:
    """Return minimum and maximum of each feature; for sparse data 0 and the largest absolute value."""
    if not bags.is_sparse:
        return bags.X.min(axis=0), bags.X.max(axis=0)
    largest = np.zeros(bags.shape[1], dtype=bags.dtype)
    # In pieces, since the absolute values of all would be a second copy of the data.
    for start in range(0, bags.X.nnz, PIECE):
        piece = slice(start, start + PIECE)
        np.maximum.at(largest, bags.X.indices[piece], np.abs(bags.X.data[piece]))
    return np.zeros_like(largest), largest


def squeezed_features(bags: Bags, scaling: Scaling) -> npt.NDArray[np.intp]:
    """Return the features of dense data whose outliers squeeze 90 % of the values into a small part of the range.

    Estimated on a sample of vectors. Features that are constant except for a few values (rare events) are not returned.
    """
    if bags.is_sparse or bags.n_vectors < 20:
        return np.empty(0, dtype=np.intp)
    sample = bags.X[np.linspace(0, bags.n_vectors - 1, min(bags.n_vectors, 2000)).astype(np.intp)]
    low, high = np.percentile(sample, [5, 95], axis=0)
    room = (high - low) * scaling.factor
    return np.flatnonzero((room > 0.0) & (room < ROOM))


def _inverse(span: npt.NDArray[Any]) -> npt.NDArray[Any]:
    with np.errstate(over="ignore"):
        factor = np.divide(1.0, span, out=np.zeros_like(span), where=span > 0)
    # A range too small or too large to invert counts as constant.
    return np.where(np.isfinite(factor), factor, 0.0).astype(span.dtype)


@dataclass(frozen=True)
class Coordinates:
    """A map x -> (x - mean) * factor, feature by feature, of the vectors a model is trained on.

    The mapped vectors have zero mean, and their variances sum to 5 over the features. This holds for few features and
    for many, for common and for rare ones, so the same learning rates suit every data set. The map is linear. A model
    trained on mapped vectors is therefore also a model of the original ones, and ``undo`` returns it.

    Attributes
    ----------
    mean, factor : ndarray of shape (n_features,)
    """

    mean: Floats
    factor: Floats

    @classmethod
    def fit(cls, bags: Bags, how: How) -> Coordinates:
        """Return coordinates that center dense vectors, or standardize every feature that varies."""
        mean, variance = _moments(bags.X)
        factor = np.ones_like(variance)
        if how == "standardize":
            factor = np.divide(1.0, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0.0)
        total = float((variance * factor**2).sum())
        return cls(mean, factor * np.sqrt(VARIANCE / total if total > 0.0 else 1.0))

    def apply(self, bags: Bags) -> Bags:
        """Return the sets in these coordinates."""
        X = bags.X - self.mean.astype(bags.dtype)
        X *= self.factor.astype(bags.dtype)
        return bags.with_vectors(X, bags.feature_names)

    def undo(self, params: Params) -> Params:
        """Return the same model for vectors in the original coordinates."""
        W, U, b, c, d = params.arrays()
        W = W.astype(np.float64) * self.factor
        return Params(W, U, b, c - W @ self.mean, d).astype(params.W.dtype)


def _moments(X: Array) -> tuple[Floats, Floats]:
    """Return mean and variance of each feature, piece by piece: a copy of all values in float64 would be large."""
    mean = X.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for first in range(0, len(X), ROWS):
        squares += ((X[first : first + ROWS] - mean) ** 2).sum(axis=0)
    # Rounding must not make a constant feature vary.
    return mean, np.where(X.min(axis=0) < X.max(axis=0), squares / len(X), 0.0)
