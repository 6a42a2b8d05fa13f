"""Centered or standardized inputs for training, with the same total variance for every data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from setrbm._types import Array, Floats
from setrbm.bags import Bags
from setrbm.energy import Params

How = Literal["center", "standardize"]
# The variance of the vectors, summed over the features.
VARIANCE = 5.0
# The number of vectors processed at once.
ROWS = 4096


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
