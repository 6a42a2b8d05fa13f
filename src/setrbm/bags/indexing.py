"""Where the sets are in a matrix of vectors: offsets, and the rows and sets that a key selects."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm._types import Integers


def offsets_of(sizes: npt.ArrayLike) -> Integers:
    """Return the offset at which each part of these sizes starts, and the end of the last.

    Examples
    --------
    >>> offsets_of([2, 3, 1])
    array([0, 2, 5, 6])
    """
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


def as_offsets(offsets: npt.ArrayLike, n_rows: int) -> Integers:
    """Return offsets as an array; refuse those that do not cut all rows into sets of at least one."""
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
    refuse_no_sets(len(sizes))
    refuse_empty_sets(sizes)
    return array


def refuse_no_sets(n_sets: int) -> None:
    """Refuse no sets at all."""
    if n_sets <= 0:
        raise ValueError("There must be at least one set. Got none.")


def refuse_empty_sets(sizes: Integers) -> None:
    """Refuse sets without vectors."""
    if (empty := np.flatnonzero(sizes == 0)).size:
        raise ValueError(
            f"Every set must hold at least one vector. Got {empty.size} empty of {len(sizes)} sets, "
            f"the first at index {empty[0]}. Drop them first."
        )


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


def as_positions(key: Any, n_sets: int) -> Integers:
    """Return the positions that a slice, a mask or integers select, also in the tuples of scikit-learn."""
    if isinstance(key, tuple):
        key = without_columns(key)
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


def without_columns(key: tuple[Any, ...]) -> Any:
    """Return the key for sets from the tuples that scikit-learn indexes with: ``[key, ...]`` and ``[key, :]``."""
    if len(key) == 2 and (key[1] is Ellipsis or key[1] == slice(None)):
        return key[0]
    raise IndexError("Bags can be indexed by set only. Use bags.X to select features.")
