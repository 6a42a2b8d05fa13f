"""Bags: sets of vectors stored as one matrix and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._types import Integers, Mask
from setrbm.bags.columns import Labels, as_column, as_names, common_names, names_of
from setrbm.bags.frames import FrameBackend, as_frame, columns_of_frame
from setrbm.bags.groups import Groups
from setrbm.bags.indexing import as_offsets, as_positions, offsets_of, refuse_no_sets, rows_of, without_columns
from setrbm.bags.matrices import as_array, as_matrix, joined
from setrbm.label_order import check_order
from setrbm.tools.text import count


class Bags:
    """Sets of vectors: one matrix (dense or CSR) and the offsets at which each set begins.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_vectors, n_features)
        All vectors; those of a set are contiguous. float32 and float64 are kept, other numbers are converted to
        float64, and other sparse formats to CSR. Data are copied only to convert them.
    offsets : array-like of int of shape (n_sets + 1,)
        Set k holds rows ``offsets[k]:offsets[k + 1]``; none may be empty.
    ids : array-like of shape (n_sets,), optional
        An id for each set; by default its position.
    feature_names : sequence of str, optional

    Examples
    --------
    >>> import numpy as np
    >>> from setrbm import Bags
    >>> bags = Bags(np.arange(10.0).reshape(5, 2), offsets=[0, 2, 5])
    >>> bags
    Bags(2 sets, 5 vectors, 2 features, dense float64)
    >>> bags.sizes
    array([2, 3])
    >>> bags[0]
    array([[0., 1.],
           [2., 3.]])
    >>> bags[[1]]
    Bags(1 set, 3 vectors, 2 features, dense float64)
    """

    def __init__(
        self,
        X: Any,
        offsets: npt.ArrayLike,
        ids: npt.ArrayLike | None = None,
        feature_names: Iterable[str] | None = None,
    ) -> None:
        self.X = as_matrix(X)
        self.offsets = as_offsets(offsets, self.X.shape[0])
        self._ids = None if ids is None else as_column(ids, len(self), "ids", "set")
        # Of selected sets: where they were in the bags they were selected from first.
        self._positions: Integers | None = None
        self.feature_names = None if feature_names is None else as_names(feature_names, self.X.shape[1])

    @classmethod
    def _trusted(
        cls,
        X: Any,
        offsets: Integers,
        ids: Labels | None,
        feature_names: Labels | None,
        positions: Integers | None = None,
    ) -> Bags:
        """Create bags from parts that have been checked."""
        bags = cls.__new__(cls)
        bags.X, bags.offsets, bags._ids, bags.feature_names = X, offsets, ids, feature_names
        bags._positions = positions
        return bags

    @classmethod
    def from_list(
        cls, sets: Iterable[Any], ids: npt.ArrayLike | None = None, feature_names: Iterable[str] | None = None
    ) -> Bags:
        """Create bags from a list with one matrix per set, dense or sparse.

        Without ``feature_names``, those of data frames in the list are used.

        Examples
        --------
        >>> Bags.from_list([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]])
        Bags(2 sets, 3 vectors, 2 features, dense float64)
        """
        sets = list(sets)
        names = common_names(sets) if feature_names is None else feature_names
        X, offsets = joined(sets)
        return cls(X, offsets, ids, names)

    @classmethod
    def concatenate(cls, parts: Iterable[Bags]) -> Bags:
        """Concatenate several bags, keeping their ids.

        Examples
        --------
        >>> some = Bags.from_list([[[1.0]], [[2.0], [3.0]]])
        >>> Bags.concatenate([some, some[:1]])
        Bags(3 sets, 4 vectors, 1 feature, dense float64)
        """
        parts = list(parts)
        X, _ = joined([part.X for part in parts])
        sizes = np.concatenate([part.sizes for part in parts])
        names = [None if part.feature_names is None else part.feature_names.tolist() for part in parts]
        if (other := next((k for k, some in enumerate(names) if some != names[0]), None)) is not None:
            raise ValueError(f"All parts must have the same feature names. Part {other} differs from the first.")
        ids = np.concatenate([part.ids for part in parts])
        are_given = any(part.given_ids is not None for part in parts)
        bags = cls(X, offsets_of(sizes), ids if are_given else None, names[0])
        bags._positions = None if are_given else ids
        return bags

    @classmethod
    def from_array(
        cls, array: npt.ArrayLike, ids: npt.ArrayLike | None = None, feature_names: Iterable[str] | None = None
    ) -> Bags:
        """Create bags of equal size from an array of shape (n_sets, n_vectors, n_features).

        Examples
        --------
        >>> Bags.from_array(np.zeros((4, 3, 2)))
        Bags(4 sets, 12 vectors, 2 features, dense float64)
        """
        array = as_array(array)
        if array.ndim != 3:
            raise ValueError(
                f"The array must have shape (n_sets, n_vectors, n_features). Got {count(array.ndim, 'dimension')}."
            )
        n_sets, size, n_features = array.shape
        return cls(array.reshape(n_sets * size, n_features), np.arange(n_sets + 1) * size, ids, feature_names)

    @classmethod
    def from_rows(cls, X: Any) -> Bags:
        """Create bags from a matrix in which each row is a set of one vector.

        Examples
        --------
        >>> Bags.from_rows([[1.0, 2.0], [3.0, 4.0]])
        Bags(2 sets, 2 vectors, 2 features, dense float64)
        """
        X = as_matrix(X)
        return cls(X, np.arange(X.shape[0] + 1))

    @overload
    @classmethod
    def from_groups(
        cls, X: Any, groups: npt.ArrayLike, labels: None = None, feature_names: Iterable[str] | None = None
    ) -> Bags: ...

    @overload
    @classmethod
    def from_groups(
        cls, X: Any, groups: npt.ArrayLike, labels: npt.ArrayLike, feature_names: Iterable[str] | None = None
    ) -> tuple[Bags, Labels]: ...

    @classmethod
    def from_groups(
        cls,
        X: Any,
        groups: npt.ArrayLike,
        labels: npt.ArrayLike | None = None,
        feature_names: Iterable[str] | None = None,
    ) -> Bags | tuple[Bags, Labels]:
        """Create bags from a matrix and the id of the set that each row belongs to.

        Sets are in order of first appearance, with the groups as ``ids``; the rows of a set need not be contiguous.
        With ``labels``, one per row, the label of each set is also returned.

        Examples
        --------
        >>> bags, y = Bags.from_groups([[1.0], [2.0], [3.0]], ["b", "a", "b"], labels=[1, 0, 1])
        >>> bags.ids, bags[0].ravel(), y
        (array(['b', 'a'], dtype='<U1'), array([1., 3.]), array([1, 0]))
        """
        names = names_of(X) if feature_names is None else feature_names
        X = as_matrix(X)
        sets = Groups.of(groups, X.shape[0])
        y = None if labels is None else sets.labels_of_sets(labels)
        X, offsets = sets.sorted_rows(X)
        bags = cls(X, offsets, sets.ids, names)
        return bags if y is None else (bags, y)

    @overload
    @classmethod
    def from_frame(cls, frame: Any, bag: str = "bag", label: None = None, ignore: Iterable[str] = ()) -> Bags: ...

    @overload
    @classmethod
    def from_frame(
        cls, frame: Any, bag: str = "bag", *, label: str, ignore: Iterable[str] = ()
    ) -> tuple[Bags, Labels]: ...

    @classmethod
    def from_frame(
        cls, frame: Any, bag: str = "bag", label: str | None = None, ignore: Iterable[str] = ()
    ) -> Bags | tuple[Bags, Labels]:
        """Create bags from a pandas, polars or arrow data frame with one vector per row.

        All columns except the bag and label columns are features. Sets are in order of first appearance; their rows
        need not be contiguous.

        Parameters
        ----------
        frame : DataFrame or Table
        bag : str
            The column with the id of the set that each row belongs to.
        label : str, optional
            The column with the label of the set, the same in all rows of a set. If given, ``(bags, y)`` is returned.
        ignore : str or iterable of str
            Columns that are not features.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"bag": [1, 2, 1], "label": ["a", "b", "a"], "x": [0.5, 1.5, 2.5]})
        >>> bags, y = Bags.from_frame(frame, bag="bag", label="label")
        >>> bags, list(y), list(bags.feature_names)
        (Bags(2 sets, 3 vectors, 1 feature, dense float64), ['a', 'b'], ['x'])
        """
        X, groups, labels, features = columns_of_frame(frame, bag, label, ignore)
        if labels is None:
            return cls.from_groups(X, groups, feature_names=features)
        return cls.from_groups(X, groups, labels, feature_names=features)

    def to_list(self) -> list[Any]:
        """Return a list with one matrix per set; dense matrices are views."""
        return list(self)

    def to_groups(self) -> tuple[Any, Labels]:
        """Return the matrix of all vectors and the id of the set of each row."""
        return self.X, np.repeat(self.ids, self.sizes)

    def to_frame(
        self, y: npt.ArrayLike | None = None, bag: str = "bag", label: str = "label", backend: FrameBackend = "pandas"
    ) -> Any:
        """Return a data frame with one vector per row: bag column, label column if ``y`` is given, features."""
        X, groups = self.to_groups()
        dense = X.toarray() if sparse.issparse(X) else X
        columns: dict[str, Any] = {bag: groups}
        if y is not None:
            columns[label] = self.of_each_vector(y)
        names = self.feature_names
        for i in range(dense.shape[1]):
            columns[f"f{i}" if names is None else str(names[i])] = dense[:, i]
        return as_frame(columns, backend)

    def of_each_vector(self, y: npt.ArrayLike) -> Labels:
        """Return the label of the set of each vector, given one label per set."""
        check_order(self, y)
        return np.repeat(as_column(y, len(self), "y", "set"), self.sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of sets and the number of features."""
        return len(self), int(self.X.shape[1])

    @property
    def n_vectors(self) -> int:
        """The total number of vectors."""
        return int(self.X.shape[0])

    @property
    def sizes(self) -> Integers:
        """The number of vectors in each set."""
        return np.diff(self.offsets)

    @property
    def ids(self) -> Labels:
        """The id of each set; by default its position."""
        if self._ids is not None:
            return self._ids
        return np.arange(len(self)) if self.positions is None else self.positions

    @property
    def given_ids(self) -> Labels | None:
        """The ids that the sets were given; None if they have only positions."""
        return self._ids

    @property
    def positions(self) -> Integers | None:
        """Where each set was in the bags that these were selected from; None if they are all of them."""
        return self._positions

    @property
    def dtype(self) -> np.dtype[Any]:
        """The float type of the vectors."""
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

    @property
    def is_sparse(self) -> bool:
        """Whether the vectors are stored as CSR."""
        return bool(sparse.issparse(self.X))

    def with_vectors(self, X: Any, feature_names: Iterable[str] | None = None) -> Bags:
        """Return the same sets with each vector replaced by another."""
        if X.shape[0] != self.n_vectors:
            raise ValueError(
                f"There must be one new vector for each of the {self.n_vectors} vectors. Got {X.shape[0]}."
            )
        X = as_matrix(X)
        names = None if feature_names is None else as_names(feature_names, X.shape[1])
        return Bags._trusted(X, self.offsets, self._ids, names, self._positions)

    def check_finite(self) -> None:
        """Raise ValueError naming the first value that is NaN or infinite."""
        values = self.X.data if self.is_sparse else self.X
        # A sum is finite only if every term is. If it overflows, each value is checked.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()):
                return
        bad = ~np.isfinite(values)
        if not bad.any():
            return
        kind = "NaN" if np.isnan(values.ravel()[bad.ravel().argmax()]) else "infinity"
        raise ValueError(
            f"All values must be finite. Got {int(bad.sum())} that are NaN or infinity, the first {kind} in "
            f"{self.place_of_first(bad)}. Impute them first, for example with PerVector(SimpleImputer())."
        )

    def place_of_first(self, chosen: Mask) -> str:
        """Describe set, vector and feature of the first chosen value.

        Parameters
        ----------
        chosen : ndarray of bool
            One entry per value of ``X``, or of ``X.data`` if sparse.
        """
        at, vector, column = self.position_of_first(chosen)
        has_name = self._ids is not None or self._positions is not None
        name = f" ({self.ids[at]!s})" if has_name else ""
        feature = "" if self.feature_names is None else f" ({self.feature_names[column]!s})"
        return f"the set at index {at}{name}, vector {vector}, feature {column}{feature}"

    def position_of_first(self, chosen: Mask) -> tuple[int, int, int]:
        """Return the positions of set, vector and feature of the first chosen value; see ``place_of_first``."""
        flat = int(chosen.ravel().argmax())
        if self.is_sparse:
            row, column = int(np.searchsorted(self.X.indptr, flat, side="right")) - 1, int(self.X.indices[flat])
        else:
            row, column = divmod(flat, int(self.X.shape[1]))
        at = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return at, row - int(self.offsets[at]), column

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Any]:
        return (self.X[start:stop] for start, stop in zip(self.offsets[:-1], self.offsets[1:], strict=True))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            key = without_columns(key)
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            if not -len(self) <= key < len(self):
                raise IndexError(f"Set {key} is out of range for {len(self)} sets.")
            at = int(key) % len(self)
            return self.X[self.offsets[at] : self.offsets[at + 1]]
        if isinstance(key, slice) and key.step in (None, 1):
            return self._span(*key.indices(len(self))[:2])
        return self._take(as_positions(key, len(self)))

    def _span(self, start: int, stop: int) -> Bags:
        """Return the sets from start to stop, as a view."""
        offsets = self.offsets[start : max(start, stop) + 1]
        refuse_no_sets(len(offsets) - 1)
        ids = None if self._ids is None else self._ids[start:stop]
        X = self.X[offsets[0] : offsets[-1]]
        return Bags._trusted(X, offsets - offsets[0], ids, self.feature_names, self._places()[start:stop])

    def _places(self) -> Integers:
        return np.arange(len(self)) if self._positions is None else self._positions

    def _take(self, positions: Integers) -> Bags:
        """Return the sets at these positions, as a copy."""
        refuse_no_sets(len(positions))
        rows, offsets = rows_of(self.offsets, positions)
        ids = None if self._ids is None else self._ids[positions]
        return Bags._trusted(self.X[rows], offsets, ids, self.feature_names, self._places()[positions])

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "Bags hold sets of different sizes and cannot be converted to one array. Use bags.X for all vectors, or "
            "PerVector(transformer) to apply a transformer to each vector."
        )

    def __repr__(self) -> str:
        counts = ", ".join(
            count(n, word) for n, word in ((len(self), "set"), (self.n_vectors, "vector"), (self.shape[1], "feature"))
        )
        return f"Bags({counts}, {'CSR' if self.is_sparse else 'dense'} {self.dtype})"
