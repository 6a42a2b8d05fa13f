"""Many small models at once: one program of a Triton kernel trains one model for an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any

import numpy as np
import torch

from setrbm._types import Array, Floats, Integers, Mask
from setrbm._warnings import warn
from setrbm.energy import Params
from setrbm.engines.gpu.device import free_bytes
from setrbm.engines.gpu.limits import has_kernels
from setrbm.engines.gpu.store import DenseRows, Store, joined
from setrbm.engines.protocol import LARGEST, DeviceMemoryWarning, Model, Spec

# Features per block.
BLOCK = 32
# Vectors per tile.
TILE = 16
# Warps per program: few enough that two programs share a multiprocessor, and one works while the other waits.
WARPS = 4
# Blocks of W that are loaded at a time.
STAGES = 2
# Buffers take at most this share of the free memory.
SHARE = 0.8


def fits(spec: Spec, model: Model, stores: Sequence[Store]) -> bool:
    """Return whether the kernels can train these models."""
    if not has_kernels(spec, model) or spec.batch_size != 1 or spec.persistent:
        return False
    width = max(in_blocks(model.params.W.shape[1])[1], padded(model.params.W.shape[0]))
    # Within a set the kernels index with 32 bits.
    return all(isinstance(s.rows, DenseRows) and int(s.host_sizes.max()) * width < 2**31 for s in stores)


def padded(n: int, least: int = 16) -> int:
    """Return the next power of two that is at least ``least``."""
    return max(least, 1 << (n - 1).bit_length())


def in_blocks(n_features: int) -> tuple[int, int]:
    """Return the number of features per block, and in all blocks together."""
    block = min(BLOCK, padded(n_features))
    return block, -(-n_features // block) * block


@dataclass(frozen=True)
class _Lists:
    """The list of sets of each model, as the kernels take them.

    Attributes
    ----------
    tensors : tuple of torch.Tensor
        The lists as rows of a matrix, the length of each row, and the row of each model.
    longest : int
        The length of a row of the matrix.
    active : ndarray
        Models whose list is not empty.
    weights : ndarray
        Total weight of each model's sets; 1 if there are none.
    """

    tensors: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    longest: int
    active: Integers
    weights: Floats


class ManyModels:
    """Models of one shape under training, with stacked parameters."""

    def __init__(self, spec: Spec, models: Sequence[Model], dtype: Any, device: Any) -> None:
        self.spec, self.dtype, self.device = spec, dtype, device
        self.shape = models[0].params.W.shape + models[0].params.d.shape
        self.now = self._stacked([model.params for model in models])
        self.best = [tensor.clone() for tensor in self.now]
        self.has_best = np.zeros(len(models), dtype=bool)
        self.n_models = len(models)
        self.seeds = torch.tensor([model.seed for model in models], dtype=torch.int64, device=device)
        self.rates = self._numbers([model.learning_rate for model in models])
        self.generative_rates = self._numbers([model.generative_learning_rate for model in models])
        self.shrinks = self._numbers([model.shrink(spec) for model in models])
        self._known: tuple[Sequence[Store], Store, Integers] | None = None
        self._kept: dict[str, tuple[Array, torch.Tensor]] = {}
        self._buffers: list[torch.Tensor] = []
        # The number of vectors per set, and of models, that fit in the buffers.
        self._room, self._at_once = 0, 0
        self._has_warned = False

    def _stacked(self, params: Sequence[Params]) -> list[torch.Tensor]:
        """Return the parameters of all models, W transposed, zero-padded to the sizes of the kernels."""
        HP, FP, CP, _ = self._padded().values()
        sizes = {"W": (FP, HP), "U": (HP, CP), "b": (FP,), "c": (HP,), "d": (CP,)}
        stacked = []
        for name, size in sizes.items():
            whole = torch.zeros((len(params), *size), dtype=self.dtype)
            for place, of_model in zip(whole.numpy(), params, strict=True):
                array = of_model.W.T if name == "W" else getattr(of_model, name)
                place[tuple(slice(n) for n in array.shape)] = array
            stacked.append(whole.to(self.device))
        return stacked

    def _numbers(self, values: Sequence[float]) -> torch.Tensor:
        return torch.tensor(values, dtype=self.dtype, device=self.device)

    def _joined(self, stores: Sequence[Store]) -> tuple[Store, Integers]:
        """Return all sets in one store, and the index of each model's first set in it."""
        if self._known is None or not all(map(is_, self._known[0], stores)):
            distinct = {id(store): store for store in stores}
            whole, firsts = joined(list(distinct.values()), self._padded()["FP"])
            at = dict(zip(distinct, firsts.tolist(), strict=True))
            self._known = (tuple(stores), whole, np.array([at[id(store)] for store in stores]))
        return self._known[1], self._known[2]

    def _lists(self, kind: str, lists: Sequence[Integers], store: Store, firsts: Integers) -> _Lists:
        """Return the lists of sets to train on or to score as one matrix."""
        row_of, model_of = _shared_rows(lists, firsts)
        rows = [lists[m] + firsts[m] for m in model_of]
        lengths = np.array([len(row) for row in rows], dtype=np.int32)
        matrix = np.zeros((len(rows), max(int(lengths.max()), 1)), dtype=np.int64)
        for place, row in zip(matrix, rows, strict=True):
            place[: len(row)] = row
        totals = np.array([float(store.host_weights[row].sum()) if len(row) else 1.0 for row in rows])
        return _Lists(
            (
                self._copied(f"{kind} lists", matrix),
                self._copied(f"{kind} lengths", lengths),
                self._copied(f"{kind} rows", row_of),
            ),
            matrix.shape[1],
            np.flatnonzero(lengths[row_of] > 0),
            totals[row_of],
        )

    def _copied(self, name: str, array: Array) -> torch.Tensor:
        """Return an array on the device; copied only if it differs from the last one of this name."""
        known = self._kept.get(name)
        if known is None or not np.array_equal(known[0], array):
            known = self._kept[name] = (array, torch.from_numpy(array).to(self.device))
        return known[1]

    def _padded(self) -> dict[str, int]:
        n_hidden, n_features, n_classes = self.shape
        block, whole = in_blocks(n_features)
        return {"HP": padded(n_hidden), "FP": whole, "CP": padded(n_classes, 2), "B": block}

    def _launches(self, active: Integers, largest: int) -> list[Integers]:
        """Split the active models so that the buffers of each part fit in memory."""
        self._make_room(largest)
        parts = -(-len(active) // self._at_once)
        if parts > 1 and not self._has_warned:
            self._has_warned = True
            warn(
                f"{len(active)} models do not fit in the memory of the GPU at once; they are trained in {parts} parts.",
                DeviceMemoryWarning,
            )
        return np.array_split(active, parts) if parts else []

    def _make_room(self, largest: int) -> None:
        """Allocate buffers for sets of up to ``largest`` vectors, for as many models as fit in memory."""
        if largest <= self._room:
            return
        self._buffers.clear()
        self._room = 0
        shape, generative = self._padded(), self.spec.generative
        activations = shape["HP"] if generative or self.spec.pooling != "hard" else 0
        widths = [activations, shape["HP"] * generative, shape["FP"] * generative]
        n_bytes = max(largest * sum(widths) * self.dtype.itemsize, 1)
        self._at_once = min(max(int(SHARE * free_bytes(self.device) / n_bytes), 1), self.n_models)
        for width in widths:
            numbers = max(self._at_once * largest * width, 1)
            self._buffers.append(torch.empty(numbers, dtype=self.dtype, device=self.device))
        self._room = largest

    def _arguments(self, store: Store) -> tuple[Any, Any, Any, Any]:
        """Return models, sets, shape and variant as both kernels take them."""
        from setrbm.engines.gpu import kernel_records as records

        X = store.rows.dense()
        sets = records.Sets(X, store.offsets, store.labels, store.weights, store.numbers)
        return (
            records.Models(*self.now),
            sets,
            records.shape_of(**self._padded(), T=TILE),
            records.variant_of(self.spec),
        )

    def run(self, stores: Sequence[Store], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on the sets of its order and return the mean losses; NaN if the order is empty."""
        from setrbm.engines.gpu import kernel_records as records
        from setrbm.engines.gpu import many_kernels as kernels

        store, firsts = self._joined(stores)
        lists = self._lists("train", orders, store, firsts)
        losses = torch.full((self.n_models,), torch.nan, dtype=self.dtype, device=self.device)
        models, sets, shape, variant = self._arguments(store)
        learning = records.Learning(self.seeds, self.rates, self.generative_rates, self.shrinks)
        for number, part in enumerate(self._launches(lists.active, int(store.host_sizes.max()))):
            chosen = records.Lists(*lists.tensors, self._copied(f"train part {number}", part))
            kernels.train_epoch[(len(part),)](
                models, sets, chosen, learning, records.Buffers(*self._buffers), losses,
                torch.tensor([epoch], device=self.device), lists.longest, self._room, *self.shape, shape, variant,
                records.objective_of(self.spec), num_warps=WARPS, num_stages=STAGES,
            )  # fmt: skip
        in_bounds = torch.stack([(tensor.abs() <= LARGEST).flatten(1).all(1) for tensor in self.now]).all(0)
        total = torch.where(in_bounds | torch.isnan(losses), losses, torch.inf).cpu().numpy().astype(float)
        return np.asarray(total / lists.weights)

    def score(self, stores: Sequence[Store], which_sets: Sequence[Integers]) -> Floats:
        """Return each model's mean loss and error over its sets."""
        from setrbm.engines.gpu import kernel_records as records
        from setrbm.engines.gpu import many_kernels as kernels

        store, firsts = self._joined(stores)
        lists = self._lists("score", which_sets, store, firsts)
        scores = torch.full((self.n_models, 2), torch.nan, dtype=self.dtype, device=self.device)
        models, sets, shape, variant = self._arguments(store)
        for number, part in enumerate(self._launches(lists.active, int(store.host_sizes.max()))):
            chosen = records.Lists(*lists.tensors, self._copied(f"score part {number}", part))
            kernels.score_sets[(len(part),)](
                models, sets, chosen, records.Buffers(*self._buffers), scores, lists.longest, self._room, *self.shape,
                shape, variant, num_warps=WARPS, num_stages=STAGES,
            )  # fmt: skip
        return np.asarray(scores.cpu().numpy().astype(float) / lists.weights[:, np.newaxis])

    def remember(self, models: Mask) -> None:
        """Keep a copy of the current parameters of these models."""
        chosen = torch.from_numpy(np.flatnonzero(models)).to(self.device)
        for best, now in zip(self.best, self.now, strict=True):
            best[chosen] = now[chosen]
        self.has_best |= models

    def params(self, remembered: bool) -> list[Params]:
        """Return the parameters of every model."""
        now = [tensor.cpu().numpy() for tensor in self.now]
        best = [tensor.cpu().numpy() for tensor in self.best] if remembered else now
        n_hidden, n_features, n_classes = self.shape

        def unpadded(W: Array, U: Array, b: Array, c: Array, d: Array) -> Params:
            return Params(
                W[:n_features, :n_hidden].T.copy(),
                U[:n_hidden, :n_classes].copy(),
                b[:n_features].copy(),
                c[:n_hidden].copy(),
                d[:n_classes].copy(),
            )

        return [
            unpadded(*(array[m] for array in (best if remembered and self.has_best[m] else now)))
            for m in range(self.n_models)
        ]


def _shared_rows(lists: Sequence[Integers], firsts: Integers) -> tuple[Integers, Integers]:
    """Return the row of each model and a model of each row: models with the same list and store share a row."""
    ids = np.fromiter(map(id, lists), np.int64, len(lists))
    codes = np.unique(ids, return_inverse=True)[1] * (int(firsts.max()) + 1) + firsts
    _, model_of, row_of = np.unique(codes, return_index=True, return_inverse=True)
    return row_of, model_of
