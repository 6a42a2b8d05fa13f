"""One large model on sparse sets, in mini-batches: an epoch is prepared once, then a step is four launches.

The entries of a store are sorted by feature once. For each epoch a stable sort by batch makes the entries of a feature
in a batch contiguous, so that no step sorts anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch

from setrbm._types import Integers
from setrbm.bags import offsets_of
from setrbm.engines.gpu.limits import has_kernels, has_room
from setrbm.engines.gpu.many import TILE, padded
from setrbm.engines.gpu.packed import PackedModel
from setrbm.engines.gpu.store import HostStore, SparseRows, Store, ends_of, spans
from setrbm.engines.protocol import Model, Spec

# Entries of a vector, and of a feature, that a program loads at a time.
VECTOR_ENTRIES, FEATURE_ENTRIES = 16, 128


def fits(spec: Spec, model: Model, stores: Sequence[Store | HostStore]) -> bool:
    """Return whether the kernels can train models on these sets."""
    if not has_kernels(spec, model) or spec.generative:
        return False
    return all(_fits(spec, store) for store in stores)


def _fits(spec: Spec, store: Store | HostStore) -> bool:
    if isinstance(store, HostStore):
        # Its pieces are cut to fit.
        bags = store.sets.bags
        return bool(bags.is_sparse) and has_room(1, 1, bags.shape[1])
    return isinstance(store.rows, SparseRows) and has_room(store.n_sets, spec.batch_size, store.rows.n_features)


@dataclass(frozen=True)
class _ByFeature:
    """The entries of a store, sorted by feature."""

    rows: torch.Tensor
    columns: torch.Tensor
    values: torch.Tensor

    @staticmethod
    def of(rows: SparseRows) -> _ByFeature:
        columns, order = torch.sort(rows.columns, stable=True)
        lengths = rows.starts[1:] - rows.starts[:-1]
        every = torch.repeat_interleave(torch.arange(len(lengths), device=columns.device), lengths)
        return _ByFeature(every[order], columns, rows.values[order])


@dataclass(frozen=True)
class _Epoch:
    """The sets of an epoch in order, and the entries of each batch by feature.

    Attributes
    ----------
    order, ends, rows : Tensor
        The sets, the offsets of their vectors, and the vectors.
    starts : Tensor
        The entries of feature f in batch k begin at ``starts[k * n_features + f]`` and end at the next start.
    places, values : Tensor
        The vector of each entry, as an index within its batch, and its value.
    host_ends : ndarray
        ``ends`` on the host.
    """

    order: torch.Tensor
    ends: torch.Tensor
    rows: torch.Tensor
    starts: torch.Tensor
    places: torch.Tensor
    values: torch.Tensor
    host_ends: Integers


def _prepared(store: Store, entries: _ByFeature, order: Integers, size: int) -> _Epoch:
    """Sort the entries of a store by the batches of an epoch."""
    stored = cast(SparseRows, store.rows)
    device, n_features = store.labels.device, stored.n_features
    on_device = torch.from_numpy(order).to(device)
    lengths = store.offsets[on_device + 1] - store.offsets[on_device]
    ends = ends_of(lengths)
    host_ends = offsets_of(store.host_sizes[order])
    n_rows, n_batches = int(host_ends[-1]), -(-len(order) // size)
    rows = spans(store.offsets[on_device], lengths, ends, n_rows)
    batches = torch.arange(len(order), device=device) // size
    batch_of = torch.repeat_interleave(batches, lengths, output_size=n_rows)
    n_all = len(stored.starts) - 1
    # Vectors that are not in the order go to an extra batch after the last one.
    key = torch.full((n_all,), n_batches, dtype=torch.int16 if n_batches < 2**15 else torch.int32, device=device)
    key[rows] = batch_of.to(key.dtype)
    place = torch.zeros(n_all, dtype=torch.int32, device=device)
    border = torch.from_numpy(host_ends[:-1:size][:n_batches]).to(device)
    place[rows] = (torch.arange(n_rows, device=device) - border[batch_of]).to(torch.int32)
    keys = key[entries.rows]
    _, by_batch = torch.sort(keys, stable=True)
    counts = torch.bincount(keys.long() * n_features + entries.columns, minlength=(n_batches + 1) * n_features)
    return _Epoch(
        on_device, ends, rows, ends_of(counts), place[entries.rows[by_batch]], entries.values[by_batch], host_ends
    )


class SparseModel(PackedModel):
    """One model under training, with kernels for discriminative steps."""

    _entries: tuple[Store, _ByFeature] | None = None

    def run(self, store: Store, order: Integers, epoch: int) -> float:
        """Train on the sets in this order and return the mean loss."""
        if self._entries is None or self._entries[0] is not store:
            self._entries = (store, _ByFeature.of(cast(SparseRows, store.rows)))
        prepared = _prepared(store, self._entries[1], order, self.spec.batch_size)
        losses = torch.empty(len(order), dtype=self.now.c.dtype, device=self.device)
        step = self._launches(store, prepared, losses)
        for number in range(-(-len(order) // self.spec.batch_size)):
            step(number)
        weights = store.weights[prepared.order]
        mean = (losses * weights).sum() / weights.sum()
        return float(torch.where(self.now.in_bounds(), mean, torch.inf))

    def _launches(self, store: Store, epoch: _Epoch, losses: torch.Tensor) -> Callable[[int], None]:
        """Return a function that takes one step of an epoch."""
        from setrbm.engines.gpu import kernel_records as records
        from setrbm.engines.gpu import sparse_kernels as kernels

        stored = cast(SparseRows, store.rows)
        p, size, n_sets = self.now, self.spec.batch_size, len(epoch.order)
        n_features, n_hidden = p.Wt.shape
        n_classes = len(p.d)
        most_rows = int(np.diff(epoch.host_ends[[*range(0, n_sets, size), n_sets]]).max())
        HP, CP = padded(n_hidden), padded(n_classes, 2)
        new = p.c.new_empty
        most_sets = min(size, n_sets)
        A, parts, deltas = new(most_rows, HP), new(most_sets, CP + 1, HP), new(most_sets, CP)
        rates = p.c.new_tensor([self.model.learning_rate, self.model.shrink(self.spec)])
        variant = records.variant_of(self.spec)

        def take(step: int) -> None:
            batch = (step, size, n_sets)
            kernels.vector_activations[(most_rows,)](
                *batch, epoch.ends, p.Wt, p.c, stored.values, stored.columns, stored.starts, epoch.rows, A, n_hidden,
                HP=HP, E=VECTOR_ENTRIES, num_warps=4,
            )  # fmt: skip
            kernels.set_steps[(most_sets,)](
                *batch, rates, A, epoch.ends, store.labels, store.weights, epoch.order, p.U, p.d, parts, deltas, losses,
                n_hidden, n_classes, HP=HP, CP=CP, T=TILE, variant=variant, num_warps=4,
            )  # fmt: skip
            kernels.feature_steps[(n_features,)](
                step, n_features, rates, p.Wt, A, epoch.starts, epoch.places, epoch.values, n_hidden,
                HP=HP, E=FEATURE_ENTRIES, num_warps=4,
            )  # fmt: skip
            kernels.outer_steps[(n_classes + 1,)](
                *batch, rates, p.U, p.c, p.d, parts, deltas, n_hidden, n_classes, HP=HP, CP=CP, T=TILE, num_warps=4
            )  # fmt: skip

        return take
