"""InputPooling: represent each set by statistics of its vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from setrbm._types import Array, Integers
from setrbm.bags import Bags
from setrbm.estimators.inputs import as_bags, unchanged_on_error
from setrbm.estimators.savable import CanSave
from setrbm.label_order import check_order


class InputPooling(CanSave, TransformerMixin, BaseEstimator):
    """Represent each set by one vector: statistics of its vectors for each feature.

    With the default statistics and followed by a ``ClassRBM`` it is the ClassRBM-poolIn of the paper. Any scikit-learn
    classifier can follow it.

    Parameters
    ----------
    statistics : sequence of {"max", "min", "mean", "sum", "std", "logsumexp", "size"}
        The statistics to concatenate, in this order. "size" is one column, the number of vectors of the set.

    Notes
    -----
    Sparse sets give a sparse matrix, since the statistics of zeros are zero. Only "logsumexp" of zeros is not zero, and
    makes the result dense.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from setrbm import ClassRBM
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.estimators import InputPooling
    >>> bags, y = load_musk1()
    >>> InputPooling().fit_transform(bags).shape
    (92, 498)
    >>> model = make_pipeline(InputPooling(), ClassRBM(random_state=0)).fit(bags[:80], y[:80])
    >>> model.predict(bags[80:]).shape
    (12,)
    """

    def __init__(self, statistics: Any = ("max", "min", "mean")) -> None:
        self.statistics = statistics

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the statistics and store the number of features.

        Parameters
        ----------
        X : Bags, list of matrices, 3-D array, or matrix (each row a set of one vector)
        y : array-like of shape (n_sets,), optional
            Not learned from. Labels that are not in the order of the sets are refused, as by a classifier.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_statistics()
            check_order(as_bags(self, X, reset=True), y)
        return self

    def transform(self, X: Any) -> Any:
        """Return a matrix with one row per set, dense or, for sparse sets, CSR."""
        check_is_fitted(self, "n_features_in_")
        bags = as_bags(self, X, reset=False)
        pooled = Sparse(bags) if bags.is_sparse else Dense(bags)
        parts = [getattr(pooled, name)() for name in self._check_statistics()]
        if all(sparse.issparse(part) for part in parts):
            return _with_small_indices(sparse.csr_array(sparse.hstack(parts, format="csr")))
        return np.hstack([part.toarray() if sparse.issparse(part) else part for part in parts])

    def _check_statistics(self) -> list[str]:
        names = [self.statistics] if isinstance(self.statistics, str) else list(self.statistics)
        if not names or (odd := [name for name in names if name not in STATISTICS]):
            got = repr(odd[0]) if names else "none"
            raise ValueError(f"statistics must be some of {', '.join(map(repr, STATISTICS))}. Got {got}.")
        return names

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the column names, such as ``max_x0``."""
        check_is_fitted(self, "n_features_in_")
        known = getattr(self, "feature_names_in_", None)
        if input_features is None:
            input_features = [f"x{i}" for i in range(self.n_features_in_)] if known is None else known
        elif len(input_features) != self.n_features_in_:
            raise ValueError(f"input_features should have length equal to number of features ({self.n_features_in_}).")
        elif known is not None and list(known) != list(input_features):
            raise ValueError("input_features is not equal to feature_names_in_.")
        names = [
            name if name == "size" else f"{name}_{feature}"
            for name in self._check_statistics()
            for feature in (["set"] if name == "size" else input_features)
        ]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


STATISTICS = ("max", "min", "mean", "sum", "std", "logsumexp", "size")


def _with_small_indices(X: sparse.csr_array) -> sparse.csr_array:
    """Return a matrix with 32-bit indices if they suffice: liblinear takes no others."""
    largest = max(X.nnz, *X.shape)
    dtype = np.int32 if largest <= np.iinfo(np.int32).max else np.int64
    return sparse.csr_array((X.data, X.indices.astype(dtype), X.indptr.astype(dtype)), shape=X.shape)


class Dense:
    """Statistics of dense sets, each of shape (n_sets, n_features)."""

    def __init__(self, bags: Bags) -> None:
        self.bags, self.starts = bags, bags.offsets[:-1]
        self.sizes = bags.sizes.astype(bags.dtype)[:, np.newaxis]

    def max(self) -> Array:
        """Return the maximum in each set."""
        return np.asarray(np.maximum.reduceat(self.bags.X, self.starts))

    def min(self) -> Array:
        """Return the minimum in each set."""
        return np.asarray(np.minimum.reduceat(self.bags.X, self.starts))

    def sum(self) -> Array:
        """Return the sum in each set."""
        return np.asarray(np.add.reduceat(self.bags.X, self.starts))

    def mean(self) -> Array:
        """Return the mean in each set."""
        return np.asarray(self.sum() / self.sizes)

    def std(self) -> Array:
        """Return the standard deviation in each set."""
        # The sum of squares would lose all digits far from the origin.
        centered = self.bags.X - np.repeat(self.mean(), self.bags.sizes, axis=0)
        return np.asarray(np.sqrt(np.add.reduceat(centered * centered, self.starts) / self.sizes))

    def logsumexp(self) -> Array:
        """Return the log of the sum of exponentials in each set."""
        peak = self.max()
        scaled = np.exp(self.bags.X - np.repeat(peak, self.bags.sizes, axis=0))
        return np.asarray(peak + np.log(np.add.reduceat(scaled, self.starts)))

    def size(self) -> Array:
        """Return the number of vectors in each set."""
        return self.sizes


class Sparse:
    """Statistics of sparse sets, each a CSR array of shape (n_sets, n_features).

    The stored values are sorted by set and feature. Each statistic is then one number per pair with stored values;
    values that are not stored count as zeros.
    """

    def __init__(self, bags: Bags) -> None:
        self.bags, X = bags, bags.X
        sets = np.repeat(np.repeat(np.arange(len(bags)), bags.sizes), np.diff(X.indptr))
        pairs = sets * np.int64(X.shape[1]) + X.indices
        order = np.argsort(pairs, kind="stable")
        self.values, pairs = X.data[order], pairs[order]
        self.starts = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]])) if len(pairs) else order
        self.sets, self.columns = np.divmod(pairs[self.starts], X.shape[1])
        self.n_stored = np.diff(np.append(self.starts, len(pairs)))
        self.sizes = bags.sizes[self.sets].astype(bags.dtype)

    def _reduced(self, function: np.ufunc, values: Array) -> Array:
        return np.asarray(function.reduceat(values, self.starts)) if len(values) else values

    def _matrix(self, values: Array) -> sparse.csr_array:
        indptr: Integers = np.searchsorted(self.sets, np.arange(len(self.bags) + 1))
        # Copied, since eliminate_zeros changes the columns in place and the other statistics need them.
        matrix = sparse.csr_array((values, self.columns.copy(), indptr), shape=self.bags.shape, dtype=self.bags.dtype)
        matrix.eliminate_zeros()
        return matrix

    def _extreme(self, function: Any) -> sparse.csr_array:
        stored = self._reduced(function, self.values)
        return self._matrix(np.where(self.n_stored < self.sizes, function(stored, 0), stored))

    def max(self) -> sparse.csr_array:
        """Return the maximum in each set."""
        return self._extreme(np.maximum)

    def min(self) -> sparse.csr_array:
        """Return the minimum in each set."""
        return self._extreme(np.minimum)

    def sum(self) -> sparse.csr_array:
        """Return the sum in each set."""
        return self._matrix(self._reduced(np.add, self.values))

    def mean(self) -> sparse.csr_array:
        """Return the mean in each set."""
        return self._matrix(self._reduced(np.add, self.values) / self.sizes)

    def std(self) -> sparse.csr_array:
        """Return the standard deviation in each set."""
        mean = self._reduced(np.add, self.values) / self.sizes
        centered = self.values - np.repeat(mean, self.n_stored)
        squares = self._reduced(np.add, centered * centered) + (self.sizes - self.n_stored) * mean * mean
        return self._matrix(np.sqrt(squares / self.sizes))

    def logsumexp(self) -> Array:
        """Return the log of the sum of exponentials in each set."""
        result = np.repeat(np.log(self.bags.sizes.astype(self.bags.dtype))[:, np.newaxis], self.bags.shape[1], axis=1)
        peak = np.maximum(self._reduced(np.maximum, self.values), 0)
        scaled = self._reduced(np.add, np.exp(self.values - np.repeat(peak, self.n_stored)))
        result[self.sets, self.columns] = peak + np.log(scaled + (self.sizes - self.n_stored) * np.exp(-peak))
        return result

    def size(self) -> sparse.csr_array:
        """Return the number of vectors in each set."""
        return sparse.csr_array(self.bags.sizes.astype(self.bags.dtype)[:, np.newaxis])
