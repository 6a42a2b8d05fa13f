"""Sets on a device: one flat matrix, dense or sparse, with offsets, labels and weights; and batches of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from setrbm._types import Floats, Integers
from setrbm.bags import offsets_of
from setrbm.engines.gpu import limits
from setrbm.engines.protocol import LabeledSets


@dataclass(frozen=True)
class DenseRows:
    """Dense vectors."""

    X: torch.Tensor

    def take(self, rows: torch.Tensor, n_entries: int) -> DenseRows:
        """Return some of the vectors."""
        return DenseRows(self.X[rows])

    def times(self, right: torch.Tensor) -> torch.Tensor:
        """Return X @ right, of shape (n_vectors, n_columns)."""
        return self.X @ right

    def transposed_times(self, right: torch.Tensor) -> torch.Tensor:
        """Return X.T @ right, of shape (n_features, n_columns)."""
        return self.X.T @ right

    def dense(self) -> torch.Tensor:
        """Return the vectors as a dense matrix."""
        return self.X


@dataclass(frozen=True)
class SparseRows:
    """Sparse vectors: row r has the entries ``starts[r]:starts[r + 1]``."""

    values: torch.Tensor
    columns: torch.Tensor
    starts: torch.Tensor
    n_features: int

    def take(self, rows: torch.Tensor, n_entries: int) -> SparseRows:
        """Return some of the vectors, which have ``n_entries`` entries."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = ends_of(lengths)
        entries = spans(self.starts[rows], lengths, starts, n_entries)
        return SparseRows(self.values[entries], self.columns[entries], starts, self.n_features)

    def times(self, right: torch.Tensor) -> torch.Tensor:
        """Return X @ right: for each vector a weighted sum of rows, without intermediate arrays."""
        return torch.nn.functional.embedding_bag(
            self.columns, right, self.starts, mode="sum", per_sample_weights=self.values, include_last_offset=True
        )

    def transposed_times(self, right: torch.Tensor) -> torch.Tensor:
        """Return X.T @ right: entries are sorted by column first, so that sums are reproducible."""
        columns, order = torch.sort(self.columns, stable=True)
        lengths = self.starts[1:] - self.starts[:-1]
        rows = torch.repeat_interleave(torch.arange(len(lengths), device=right.device), lengths, output_size=len(order))
        every = torch.arange(self.n_features + 1, device=right.device)
        return torch.nn.functional.embedding_bag(
            rows[order],
            right,
            torch.searchsorted(columns, every),
            mode="sum",
            per_sample_weights=self.values[order],
            include_last_offset=True,
        )

    def dense(self) -> torch.Tensor:
        """Return the vectors as a dense matrix."""
        lengths = self.starts[1:] - self.starts[:-1]
        rows = torch.repeat_interleave(torch.arange(len(lengths), device=self.values.device), lengths)
        X = torch.zeros((len(lengths), self.n_features), dtype=self.values.dtype, device=self.values.device)
        X[rows, self.columns] = self.values
        return X


Rows = DenseRows | SparseRows


def ends_of(lengths: torch.Tensor) -> torch.Tensor:
    """Return the offsets of parts of these lengths; one more than there are parts."""
    return torch.nn.functional.pad(torch.cumsum(lengths, 0), (1, 0))


def spans(starts: torch.Tensor, lengths: torch.Tensor, ends: torch.Tensor, total: int) -> torch.Tensor:
    """Return the concatenated ranges ``start:start + length``, ``total`` numbers in all."""
    return torch.arange(total, device=starts.device) + torch.repeat_interleave(
        starts - ends[:-1], lengths, output_size=total
    )


@dataclass(frozen=True)
class Store:
    """Labeled sets on a device.

    Attributes
    ----------
    rows : DenseRows or SparseRows
    offsets, labels, numbers : Tensor
        ``numbers`` are the indices of the sets in the whole stream.
    weights : Tensor
    host_weights, host_sizes, host_entries : ndarray
        Weight, number of vectors and number of entries of each set, for computations on the host: reading them from
        the device would make both wait.
    """

    rows: Rows
    offsets: torch.Tensor
    labels: torch.Tensor
    weights: torch.Tensor
    numbers: torch.Tensor
    host_weights: Floats
    host_sizes: Integers
    host_entries: Integers

    @property
    def n_sets(self) -> int:
        """The number of sets."""
        return len(self.labels)

    def batch(self, chosen: torch.Tensor, on_host: Integers) -> Batch:
        """Return some of the sets; their indices are given on the device and on the host."""
        n_rows, n_entries = int(self.host_sizes[on_host].sum()), int(self.host_entries[on_host].sum())
        lengths = self.offsets[chosen + 1] - self.offsets[chosen]
        ends = ends_of(lengths)
        rows = spans(self.offsets[chosen], lengths, ends, n_rows)
        places = torch.arange(len(on_host), device=chosen.device)
        set_of = torch.repeat_interleave(places, lengths, output_size=n_rows)
        vectors = self.rows.take(rows, n_entries)
        return Batch(vectors, lengths, ends, set_of, self.labels[chosen], self.weights[chosen], self.numbers[chosen])


@dataclass(frozen=True)
class Batch:
    """Packed sets: set k has the vectors ``ends[k]:ends[k + 1]``."""

    rows: Rows
    lengths: torch.Tensor
    ends: torch.Tensor
    set_of: torch.Tensor
    labels: torch.Tensor
    weights: torch.Tensor
    numbers: torch.Tensor

    @property
    def within(self) -> torch.Tensor:
        """The index of each vector within its set."""
        return torch.arange(len(self.set_of), device=self.set_of.device) - self.ends[self.set_of]

    def over_sets(self, values: torch.Tensor, how: str) -> torch.Tensor:
        """Reduce one value per vector to one per set, by "max", "min" or "sum"."""
        return torch.segment_reduce(values.contiguous(), how, lengths=self.lengths, axis=0, unsafe=True)


def place(sets: LabeledSets, dtype: Any, device: Any, numbers: Integers | None = None) -> Store:
    """Copy labeled sets to a device; ``numbers`` are their indices in the whole stream."""
    numbers = np.arange(len(sets.y)) + sets.first if numbers is None else numbers

    def tensor(array: Any, kind: Any) -> torch.Tensor:
        # Torch warns about read-only arrays, such as those of a mapped file.
        array = np.require(array, requirements=["C", "W"])
        whole = torch.from_numpy(array)
        # Copy the narrower of the two types.
        return (whole.to(device) if whole.dtype.itemsize < kind.itemsize else whole.to(kind)).to(device, kind)

    bags = sets.bags
    if bags.is_sparse:
        X = bags.X
        rows: Rows = SparseRows(
            tensor(X.data, dtype), tensor(X.indices, torch.int64), tensor(X.indptr, torch.int64), X.shape[1]
        )
    else:
        rows = DenseRows(tensor(bags.X, dtype))
    return Store(
        rows,
        tensor(bags.offsets, torch.int64),
        tensor(sets.y, torch.int64),
        tensor(sets.weight, dtype),
        tensor(numbers, torch.int64),
        np.asarray(sets.weight, dtype=np.float64),
        bags.sizes,
        entries_of(sets),
    )


def entries_of(sets: LabeledSets) -> Integers:
    """Return the number of stored values of each set."""
    bags = sets.bags
    return np.diff(bags.X.indptr[bags.offsets] if bags.is_sparse else bags.offsets * bags.shape[1])


@dataclass(frozen=True)
class HostStore:
    """Labeled sets that do not fit on the device: they are copied in pieces.

    Attributes
    ----------
    sets : LabeledSets
    dtype, device
    most_entries : int
        A piece has at most this many values, unless a single batch has more.
    """

    sets: LabeledSets
    dtype: Any
    device: Any
    most_entries: int

    def pieces(self, order: Integers, batch_size: int) -> Iterator[Store]:
        """Yield the sets of an order in pieces of whole batches."""
        of_batch = np.bincount(np.arange(len(order)) // batch_size, entries_of(self.sets)[order]).tolist()
        most_batches = max(limits.MOST_PLACES // self.sets.bags.shape[1] - 1, 1)
        borders, begin, held = [], 0, 0.0
        for batch, entries in enumerate(of_batch):
            if batch > begin and (held + entries > self.most_entries or batch - begin == most_batches):
                borders.append(batch * batch_size)
                begin, held = batch, 0.0
            held += entries
        return (self._piece(part) for part in np.split(order, borders))

    def _piece(self, which: Integers) -> Store:
        sets = LabeledSets(self.sets.bags[which], self.sets.y[which], self.sets.weight[which])
        return place(sets, self.dtype, self.device, which + self.sets.first)


def joined(stores: Sequence[Store], n_columns: int) -> tuple[Store, Integers]:
    """Join dense stores, zero-padded to ``n_columns``, and return the index of the first set of each."""
    firsts = offsets_of([store.n_sets for store in stores])[:-1]
    rows = [store.rows.dense() for store in stores]
    rows = [torch.nn.functional.pad(X, (0, n_columns - X.shape[1])) for X in rows]
    ends = offsets_of([len(X) for X in rows])[:-1]
    offsets = [store.offsets[:-1] + int(end) for store, end in zip(stores, ends, strict=True)]
    last = torch.tensor([sum(len(X) for X in rows)], device=rows[0].device)
    whole = Store(
        DenseRows(torch.cat(rows)),
        torch.cat([*offsets, last]),
        torch.cat([store.labels for store in stores]),
        torch.cat([store.weights for store in stores]),
        torch.cat([store.numbers for store in stores]),
        np.concatenate([store.host_weights for store in stores]),
        np.concatenate([store.host_sizes for store in stores]),
        np.concatenate([store.host_entries for store in stores]),
    )
    return whole, firsts
