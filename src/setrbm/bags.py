"""Bags: sets of vectors stored as one matrix and offsets.

Longer than other modules, since every input format is converted to ``Bags`` and every check of sets is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import Any, Literal, NoReturn, get_args, overload

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._types import Floats, Integers, Mask
from setrbm.label_order import check_order
from setrbm.tools.text import count, is_number, listed

Labels = npt.NDArray[Any]
FrameBackend = Literal["pandas", "polars", "pyarrow"]


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
        self.X = _as_matrix(X)
        self.offsets = _as_offsets(offsets, self.X.shape[0])
        self._ids = None if ids is None else _as_ids(ids, len(self))
        # Of selected sets: where they were in the bags they were selected from first.
        self._positions: Integers | None = None
        self.feature_names = None if feature_names is None else _as_names(feature_names, self.X.shape[1])

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
        names = _common_names(sets) if feature_names is None else feature_names
        matrices = [s if sparse.issparse(s) else as_array(s, f" of the set at index {k}") for k, s in enumerate(sets)]
        _refuse_none(len(matrices))
        for k, matrix in enumerate(matrices):
            refuse_what_is_no_number(matrix)
            if matrix.ndim != 2:
                raise ValueError(
                    f"Each set must be a matrix with one vector per row. Got {count(matrix.ndim, 'dimension')} for the "
                    f"set at index {k}."
                )
        offsets = offsets_of([m.shape[0] for m in matrices])
        _refuse_empty(np.diff(offsets))
        widths = np.array([m.shape[1] for m in matrices])
        if (other := np.flatnonzero(widths != widths[0])).size:
            raise ValueError(
                f"All sets must have the same number of features. Got {widths[0]} in the first set and "
                f"{widths[other[0]]} in the set at index {other[0]}."
            )
        if any(sparse.issparse(m) for m in matrices):
            return cls(sparse.vstack([sparse.csr_array(m) for m in matrices], format="csr"), offsets, ids, names)
        return cls(np.concatenate(matrices), offsets, ids, names)

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
        joined = cls.from_list([part.X for part in parts])
        sizes = np.concatenate([part.sizes for part in parts])
        names = parts[0].feature_names
        for k, part in enumerate(parts):
            if _as_tuple(names) != _as_tuple(part.feature_names):
                raise ValueError(f"All parts must have the same feature names. Part {k} differs from the first.")
        ids = np.concatenate([part.ids for part in parts])
        are_given = any(part.given_ids is not None for part in parts)
        bags = cls(joined.X, offsets_of(sizes), ids if are_given else None, names)
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
        if n_sets and not size:
            _refuse_empty(np.zeros(n_sets, dtype=np.intp))
        return cls(array.reshape(n_sets * size, n_features), np.arange(n_sets + 1) * size, ids, feature_names)

    @classmethod
    def from_rows(cls, X: Any) -> Bags:
        """Create bags from a matrix in which each row is a set of one vector.

        Examples
        --------
        >>> Bags.from_rows([[1.0, 2.0], [3.0, 4.0]])
        Bags(2 sets, 2 vectors, 2 features, dense float64)
        """
        X = _as_matrix(X)
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
        if feature_names is None:
            feature_names = _names_of(X)
        X = _as_matrix(X)
        names = _as_column(groups, X.shape[0], "groups")
        _refuse_missing(is_missing(groups, names), "groups")
        codes, first_rows = _codes_by_first_appearance(names)
        ids = names[first_rows]
        y = None
        if labels is not None:
            row_labels = _as_column(labels, X.shape[0], "labels")
            _refuse_missing(is_missing(labels, row_labels), "labels")
            y = row_labels[first_rows]
            _refuse_mixed_labels(row_labels, y, codes, ids)
        offsets = offsets_of(np.bincount(codes, minlength=len(ids)))
        if (np.diff(codes) < 0).any():
            X = X[np.argsort(codes, kind="stable")]
        bags = cls(X, offsets, ids, feature_names)
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
        table = _as_table(frame)
        schema = table.schema
        ignored = (ignore,) if isinstance(ignore, str) else tuple(ignore)
        if bag == label or bag in ignored or label in ignored:
            raise ValueError(f"bag, label and ignore must name different columns. Got {bag!r}, {label!r}, {ignored!r}.")
        for column in (bag, label, *ignored):
            if column is not None and column not in schema:
                raise ValueError(f"The frame must have a column {column!r}. Got the columns {_quoted(schema)}.")
        for column in (bag, label):
            if column is not None:
                _refuse_missing(table[column].is_null().to_numpy(), f"Column {column!r}")
        features = _feature_columns(schema, (bag, label, *ignored))
        X: Labels = table.select(features).to_numpy()
        groups: Labels = table[bag].to_numpy()
        if label is None:
            return cls.from_groups(X, groups, feature_names=features)
        labels: Labels = table[label].to_numpy()
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
        return np.repeat(_as_column(y, len(self), "y", "set"), self.sizes)

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
        X = _as_matrix(X)
        names = None if feature_names is None else _as_names(feature_names, X.shape[1])
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
        flat = int(chosen.ravel().argmax())
        if self.is_sparse:
            row, column = int(np.searchsorted(self.X.indptr, flat, side="right")) - 1, int(self.X.indices[flat])
        else:
            row, column = divmod(flat, int(self.X.shape[1]))
        at = int(np.searchsorted(self.offsets, row, side="right")) - 1
        has_name = self._ids is not None or self._positions is not None
        name = f" ({self.ids[at]!s})" if has_name else ""
        feature = "" if self.feature_names is None else f" ({self.feature_names[column]!s})"
        return f"the set at index {at}{name}, vector {row - self.offsets[at]}, feature {column}{feature}"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Any]:
        return (self.X[start:stop] for start, stop in zip(self.offsets[:-1], self.offsets[1:], strict=True))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            key = _first_of_tuple(key)
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
        _refuse_none(len(offsets) - 1)
        ids = None if self._ids is None else self._ids[start:stop]
        X = self.X[offsets[0] : offsets[-1]]
        return Bags._trusted(X, offsets - offsets[0], ids, self.feature_names, self._places()[start:stop])

    def _places(self) -> Integers:
        return np.arange(len(self)) if self._positions is None else self._positions

    def _take(self, positions: Integers) -> Bags:
        """Return the sets at these positions, as a copy."""
        _refuse_none(len(positions))
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


def offsets_of(sizes: npt.ArrayLike) -> Integers:
    """Return the offset at which each part of these sizes starts, and the end of the last.

    Examples
    --------
    >>> offsets_of([2, 3, 1])
    array([0, 2, 5, 6])
    """
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


def rows_of(offsets: Integers, sets: Integers) -> tuple[Integers, Integers]:
    """Return the rows of some sets, in their order, and the offsets of these sets among them.

    Examples
    --------
    >>> rows_of(np.array([0, 2, 5]), np.array([1, 0]))
    (array([2, 3, 4, 0, 1]), array([0, 3, 5]))
    """
    sizes = np.diff(offsets)[sets]
    chosen = offsets_of(sizes)
    return np.arange(chosen[-1]) + np.repeat(offsets[sets] - chosen[:-1], sizes), chosen


def _as_matrix(X: Any) -> Any:
    """Return a float matrix, dense or canonical CSR, copied only to convert it."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        if not _is_canonical(X):
            X = X.copy()
            X.sum_duplicates()
        X.has_canonical_format = True
        return X
    X = as_array(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix with one vector per row. Got {count(X.ndim, 'dimension')}.")
    refuse_what_is_no_number(X)
    if X.dtype.kind not in "fiub":
        X = _numbers_from_objects(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def as_frame(columns: dict[str, Any], backend: FrameBackend) -> Any:
    """Return columns as a data frame of the package named."""
    if backend not in (known := get_args(FrameBackend)):
        raise ValueError(f"backend must be one of {', '.join(map(repr, known))}. Got {backend!r}.")
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ImportError:
        others = " or ".join(repr(name) for name in known if name != backend)
        raise ImportError(
            f"to_frame needs {backend}, which is not installed. Run: pip install {backend}. Or pass backend={others}."
        ) from None


def _as_table(frame: Any) -> Any:
    """Return a data frame as narwhals sees it."""
    is_pandas = type(frame).__module__.startswith("pandas")
    if is_pandas and (odd := [name for name in frame.columns if not isinstance(name, str)]):
        raise ValueError(
            f"Column names must be strings. Got {odd[0]!r}. Rename them first: "
            "frame.columns = frame.columns.astype(str)."
        )
    if nw.dependencies.is_polars_lazyframe(frame):
        raise TypeError("A lazy frame holds no data yet. Collect it first: frame.collect().")
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"frame must be a data frame of pandas, polars or pyarrow. Got {type(frame).__name__}."
        ) from None


def _feature_columns(schema: Any, others: tuple[str | None, ...]) -> list[str]:
    """Return the columns that are features; refuse those that are not numeric."""
    features = [name for name in schema if name not in others]
    if not features:
        raise ValueError(f"The frame must have at least one feature column besides {others[0]!r}. Got none.")
    if text := [name for name in features if not (schema[name].is_numeric() or schema[name] == nw.Boolean)]:
        raise ValueError(
            f"Feature columns must be numeric. Got {_quoted(text)} of type {schema[text[0]]}. Name columns that are "
            "not features in ignore=[...], and the label column in label=."
        )
    return features


def as_array(X: Any, where: str = "") -> npt.NDArray[Any]:
    """Return an array; refuse lists of unequal vectors, and masked values, which would otherwise become data.

    ``where`` completes "the first vector" in the message.
    """
    if isinstance(X, np.ma.MaskedArray) and (n_masked := int(np.ma.getmaskarray(X).sum())):
        raise ValueError(f"All values must be given. Got {n_masked} masked. Impute them first.")
    try:
        return np.asarray(X)
    except ValueError:
        _refuse_ragged(X, where)
        raise


def _refuse_ragged(X: Any, where: str) -> None:
    """Refuse a list whose rows have different lengths."""
    sizes = [len(row) for row in X if hasattr(row, "__len__")]
    if (other := next((k for k, size in enumerate(sizes) if size != sizes[0]), None)) is not None:
        raise ValueError(
            f"All vectors must have the same number of features. Got {sizes[0]} in the first vector{where} and "
            f"{sizes[other]} in the vector at index {other}."
        ) from None
    if isinstance(X, list | tuple):
        raise ValueError("Nested lists must have equal lengths to form an array. Got different lengths.") from None


def refuse_what_is_no_number(X: Any) -> None:
    """Refuse an array of text, dates or durations, also as Python objects; numpy would turn many of them into numbers.

    A date would become nanoseconds since 1970, a missing one -9.2e18.
    """
    if X.dtype.kind not in "OTUSmM":
        return
    if (text := first_text(X)) is not None:
        raise ValueError(
            f"All values must be numbers. Got text, the first {text[:40]!r}. Turn text into numbers first."
        )
    if (text := _first_of(X, "TUS", (str, bytes))) is not None:
        raise ValueError(
            f"All values must be numbers. Got numbers written as text, the first {str(text)!r}. Convert them first: "
            "X.astype(float)."
        )
    refuse_dates(X)


def refuse_dates(X: npt.NDArray[Any]) -> None:
    """Refuse an array of dates or durations."""
    if (time := _first_of(X, "mM", (date, timedelta, np.datetime64, np.timedelta64))) is not None:
        raise ValueError(
            f"All values must be numbers. Got dates or durations, the first {time!s}. Turn them into numbers first, "
            "such as days since a date."
        )


def _first_of(X: Any, kinds: str, types: tuple[type, ...]) -> Any:
    """Return the first value of an array of one of these kinds, or the first object of these types; None without."""
    if X.dtype.kind in kinds:
        return X.flat[0] if X.size else None
    items = X.ravel().tolist() if X.dtype.kind == "O" else []
    return next((item for item in items if isinstance(item, types)), None)


def first_text(X: npt.NDArray[Any]) -> str | None:
    """Return the first text in an array that is not a number; None if there is none."""
    items = X.ravel().tolist() if X.dtype.kind in "OTU" else []
    return next((item for item in items if isinstance(item, str) and not is_number(item)), None)


def _is_canonical(X: Any) -> bool:
    """Return whether column indices increase within each row; raise ValueError if an index is out of range.

    Compiled code relies on both, so this is checked for every matrix, in one pass over the indices.
    """
    starts, stops = X.indptr[:-1], X.indptr[1:]
    if (starts > stops).any():
        raise ValueError("The row pointers of a sparse matrix must not decrease.")
    filled = starts < stops
    firsts, lasts = starts[filled], stops[filled] - 1
    increases = X.indices[1:] > X.indices[:-1]
    increases[lasts[:-1]] = True
    is_canonical = bool(increases.all())
    # Where the indices of a row increase, its first and last bound the others.
    columns = X.indices[np.concatenate([firsts, lasts])] if is_canonical else X.indices
    if columns.size and not (columns.min() >= 0 and columns.max() < X.shape[1]):
        raise ValueError(
            f"The column indices of a sparse matrix must lie between 0 and {X.shape[1] - 1}. Got {columns.min()} to "
            f"{columns.max()}."
        )
    return is_canonical


def _numbers_from_objects(X: npt.NDArray[Any]) -> Floats:
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: values must be real numbers.")
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"All values must be numbers. Got an array of type {X.dtype}: {error}.") from None


def _as_offsets(offsets: npt.ArrayLike, n_rows: int) -> Integers:
    given = np.asarray(offsets)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not given.size:
        raise ValueError(
            f"offsets must be a one-dimensional array of integers. Got shape {given.shape}, type {given.dtype}."
        )
    array: Integers = given.astype(np.intp, copy=False)
    if array[0] != 0 or array[-1] != n_rows:
        raise ValueError(
            f"offsets must start with 0 and end with the number of vectors, {n_rows}. Got {array[0]} and {array[-1]}."
        )
    sizes = np.diff(array)
    if (down := np.flatnonzero(sizes < 0)).size:
        raise ValueError(f"offsets must not decrease. Got {array[down[0]]} then {array[down[0] + 1]} at {down[0]}.")
    _refuse_none(len(sizes))
    _refuse_empty(sizes)
    return array


def _refuse_none(n_sets: int) -> None:
    if n_sets <= 0:
        raise ValueError("There must be at least one set. Got none.")


def _refuse_empty(sizes: Integers) -> None:
    if (empty := np.flatnonzero(sizes == 0)).size:
        raise ValueError(
            f"Every set must hold at least one vector. Got {empty.size} empty of {len(sizes)} sets, "
            f"the first at index {empty[0]}. Drop them first."
        )


def _as_ids(ids: npt.ArrayLike, n_sets: int) -> Labels:
    return _as_column(ids, n_sets, "ids", "set")


def _as_names(names: Iterable[str], n_features: int) -> Labels:
    array = np.array([str(name) for name in names], dtype=object)
    if len(array) != n_features:
        raise ValueError(f"There must be one name for each of {n_features} features. Got {len(array)}.")
    return array


def _as_tuple(names: Labels | None) -> tuple[Any, ...] | None:
    return None if names is None else tuple(names)


def _names_of(matrix: Any) -> list[str] | None:
    """Return the column names of a pandas or polars frame, None for anything else."""
    columns = getattr(matrix, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def _common_names(sets: Sequence[Any]) -> list[str] | None:
    """Return the column names of the sets, None if they have none; raise ValueError if they differ."""
    named = [_names_of(matrix) for matrix in sets]
    for k, names in enumerate(named):
        if names != named[0]:
            raise ValueError(f"All sets must have the same columns in the same order. The set at index {k} differs.")
    return named[0] if named else None


def _as_column(values: npt.ArrayLike, length: int, name: str, of: str = "vector") -> Labels:
    column = np.asarray(values)
    if column.shape != (length,):
        raise ValueError(f"{name} must hold one value for each {of}, {length} in all. Got shape {column.shape}.")
    return column


def is_missing(values: npt.ArrayLike, column: Labels) -> Mask:
    """Return which values are None, NaN, NaT or pandas' NA; ``column`` is the array made of the values given."""
    # numpy turns NaN in a list of strings into the text "nan".
    from_text = column.dtype.kind == "U" and not isinstance(values, np.ndarray)
    if from_text or column.dtype.kind in "OT":
        return np.array([_is_missing_value(value) for value in np.asarray(values, dtype=object)], dtype=bool)
    return np.asarray(column != column)


def _is_missing_value(value: Any) -> bool:
    try:
        # Only NaN and NaT differ from themselves.
        return value is None or bool(value != value)
    except TypeError:
        # pandas' NA is neither true nor false.
        return True


def _refuse_missing(missing: Mask, name: str) -> None:
    if (rows := np.flatnonzero(missing)).size:
        raise ValueError(f"{name} must have a value in every row. Got {rows.size} missing, in rows {listed(rows)}.")


def _codes_by_first_appearance(names: Labels) -> tuple[Integers, Integers]:
    """Return the position of each row's set, in order of first appearance, and the first row of each set."""
    if names.dtype == object:
        seen: dict[Any, int] = {}
        codes = np.array([seen.setdefault(name, len(seen)) for name in names], dtype=np.intp)
        return codes, np.unique(codes, return_index=True)[1]
    _, first_rows, inverse = np.unique(names, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first_rows, kind="stable")
    rank = np.empty_like(by_appearance)
    rank[by_appearance] = np.arange(len(rank))
    return rank[inverse], first_rows[by_appearance]


def _refuse_mixed_labels(row_labels: Labels, y: Labels, codes: Integers, ids: Labels) -> None:
    if (rows := np.flatnonzero(row_labels != y[codes])).size:
        at = codes[rows[0]]
        raise ValueError(
            f"All vectors of a set must have the same label. Got {row_labels[rows[0]]!s} in row {rows[0]} of set "
            f"{ids[at]!s}, whose first vector has {y[at]!s}; {count(len(np.unique(codes[rows])), 'such set')}."
        )


def _first_of_tuple(key: tuple[Any, ...]) -> Any:
    """Return the key for sets from the tuples that scikit-learn indexes with: ``[key, ...]`` and ``[key, :]``."""
    if len(key) == 2 and (key[1] is Ellipsis or key[1] == slice(None)):
        return key[0]
    raise IndexError("Bags can be indexed by set only. Use bags.X to select features.")


def as_positions(key: Any, n_sets: int) -> Integers:
    """Return the positions that a slice, a mask or integers select, also in the tuples of scikit-learn."""
    if isinstance(key, tuple):
        key = _first_of_tuple(key)
    if isinstance(key, slice):
        return np.arange(n_sets)[key]
    array = np.asarray(key)
    if array.dtype == bool:
        if array.shape != (n_sets,):
            raise IndexError(f"A mask must hold one value for each of {n_sets} sets. Got shape {array.shape}.")
        return np.flatnonzero(array)
    if array.size == 0:
        return np.empty(0, dtype=np.intp)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise IndexError(
            f"Sets must be selected by integers, a slice or a mask. Got {array.dtype} of shape {array.shape}."
        )
    positions = array.astype(np.intp)
    if (out := array[(positions < -n_sets) | (positions >= n_sets)]).size:
        raise IndexError(f"Set {out[0]} is out of range for {n_sets} sets.")
    return np.asarray(positions % n_sets)


def _quoted(names: Iterable[str]) -> str:
    return listed(map(repr, names))
