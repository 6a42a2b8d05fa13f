"""Rows that name their set: the rows of a set together, with the label of the set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm._types import Integers
from setrbm.bags.columns import Labels, as_column, is_missing, refuse_missing
from setrbm.bags.indexing import offsets_of
from setrbm.tools.text import count


class MixedLabelsError(ValueError):
    """Raised if the vectors of a set have different labels.

    Attributes
    ----------
    row, first_row : int
        The first row whose label differs from that of its set, and the first row of that set.
    """

    def __init__(self, message: str, row: int, first_row: int) -> None:
        super().__init__(message)
        self.row, self.first_row = row, first_row


@dataclass(frozen=True)
class Groups:
    """Which rows belong to which set; sets are in order of first appearance.

    Attributes
    ----------
    codes : ndarray of shape (n_vectors,)
        The position of the set of each row.
    first_rows : ndarray of shape (n_sets,)
        The first row of each set.
    ids : ndarray of shape (n_sets,)
    """

    codes: Integers
    first_rows: Integers
    ids: Labels

    @classmethod
    def of(cls, groups: npt.ArrayLike, n_vectors: int) -> Groups:
        """Return the sets that the rows name."""
        names = as_column(groups, n_vectors, "groups")
        refuse_missing(is_missing(groups, names), "groups")
        codes, first_rows = _codes_by_first_appearance(names)
        return cls(codes, first_rows, names[first_rows])

    def sorted_rows(self, X: Any) -> tuple[Any, Integers]:
        """Return a matrix with the rows of each set together, and the offsets of the sets."""
        offsets = offsets_of(np.bincount(self.codes, minlength=len(self.ids)))
        is_sorted = not (np.diff(self.codes) < 0).any()
        return X if is_sorted else X[np.argsort(self.codes, kind="stable")], offsets

    def labels_of_sets(self, labels: npt.ArrayLike) -> Labels:
        """Return the label of each set, given one per row; raise MixedLabelsError if those of a set differ."""
        row_labels = as_column(labels, len(self.codes), "labels")
        refuse_missing(is_missing(labels, row_labels), "labels")
        y: Labels = row_labels[self.first_rows]
        if (rows := np.flatnonzero(row_labels != y[self.codes])).size:
            row, code = int(rows[0]), int(self.codes[rows[0]])
            n_mixed = count(len(np.unique(self.codes[rows])), "such set")
            raise MixedLabelsError(
                f"All vectors of a set must have the same label. Got {row_labels[row]!s} in row {row} of set "
                f"{self.ids[code]!s}, whose first vector has {y[code]!s}; {n_mixed}.",
                row,
                int(self.first_rows[code]),
            )
        return y


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
