"""Many small models at once: each trained for an epoch by one program of a Triton kernel."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from setrbm._types import Array, Floats, Integers, Mask
from setrbm.energy import Params
from setrbm.engines.gpu.store import DenseRows, Store, joined
from setrbm.engines.protocol import LARGEST, Model, Spec

# More hidden units do not fit the registers of one program.
MOST_HIDDEN = 256
# Features that are worked on together.
BLOCK = 32
# Vectors that are worked on together.
TILE = 16
# Threads of a program, in warps of 32: so few that two programs share a processor, and one works while the other waits.
WARPS = 4
# Blocks of W that are on their way at a time.
STAGES = 2
# The share of the free memory that buffers may take.
SHARE = 0.8


def fits(spec: Spec, model: Model, stores: Sequence[Store]) -> bool:
    """Return whether these models can be trained this way."""
    if spec.unit != "set" or spec.batch_size != 1 or spec.persistent:
        return False
    if not all(isinstance(store.rows, DenseRows) for store in stores):
        return False
    return len(model.params.c) <= MOST_HIDDEN


def padded(n: int, least: int = 16) -> int:
    """Return the next power of two."""
    return max(least, 1 << (n - 1).bit_length())


@dataclass(frozen=True)
class _Lists:
    """The sets each model is to see, as the kernels take them.

    Attributes
    ----------
    matrix, which, lengths : torch.Tensor
        Lists as rows, the row of each model, and the length of each row.
    active : ndarray
        The models whose list is not empty.
    weights : ndarray
        The total weight of each model's sets; 1 where it has none.
    """

    matrix: torch.Tensor
    which: torch.Tensor
    lengths: torch.Tensor
    active: Integers
    weights: Floats


class ManyModels:
    """Models of one shape under training, their parameters stacked."""

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
        self._told = False

    def _stacked(self, params: Sequence[Params]) -> list[torch.Tensor]:
        """Return the parameters of all models, W transposed, with zeros up to the sizes of the kernels."""
        HP, FP, CP, _ = self._padded().values()
        sizes = {"W": (FP, HP), "U": (HP, CP), "b": (FP,), "c": (HP,), "d": (CP,)}
        stacked = []
        for letter, size in sizes.items():
            whole = np.zeros((len(params), *size))
            for place, one in zip(whole, params, strict=True):
                array = one.W.T if letter == "W" else getattr(one, letter)
                place[tuple(slice(n) for n in array.shape)] = array
            stacked.append(torch.tensor(whole, dtype=self.dtype, device=self.device))
        return stacked

    def _numbers(self, values: Sequence[float]) -> torch.Tensor:
        return torch.tensor(values, dtype=self.dtype, device=self.device)

    def _joined(self, stores: Sequence[Store]) -> tuple[Store, Integers]:
        """Return all sets in one store, and the number of each model's first set in it."""
        if self._known is None or any(old is not new for old, new in zip(self._known[0], stores, strict=True)):
            distinct = {id(store): store for store in stores}
            whole, firsts = joined(list(distinct.values()), self._padded()["FP"])
            at = dict(zip(distinct, firsts.tolist(), strict=True))
            self._known = (stores, whole, np.array([at[id(store)] for store in stores]))
        return self._known[1], self._known[2]

    def _lists(self, lists: Sequence[Integers], store: Store, firsts: Integers) -> _Lists:
        """Return lists of sets as one matrix; models that share a list and a store share a row."""
        rows: dict[tuple[int, int], int] = {}
        which = [
            rows.setdefault((id(one), first), len(rows)) for one, first in zip(lists, firsts.tolist(), strict=True)
        ]
        lengths = np.zeros(len(rows), dtype=np.int32)
        filled: list[Integers] = []
        for m, row in enumerate(which):
            if row == len(filled):
                filled.append(lists[m] + firsts[m])
                lengths[row] = len(lists[m])
        matrix = np.zeros((len(rows), max(int(lengths.max()), 1)), dtype=np.int64)
        for row, numbers in enumerate(filled):
            matrix[row, : len(numbers)] = numbers
        of_model = np.array(which, np.int32)
        totals = np.array([float(store.host_weights[numbers].sum()) if len(numbers) else 1.0 for numbers in filled])
        on_device, rows_of, row_lengths = (
            torch.from_numpy(array).to(self.device) for array in (matrix, of_model, lengths)
        )
        return _Lists(on_device, rows_of, row_lengths, np.flatnonzero(lengths[of_model] > 0), totals[of_model])

    def _padded(self) -> dict[str, int]:
        n_hidden, n_features, n_classes = self.shape
        block = min(BLOCK, padded(n_features))
        return {"HP": padded(n_hidden), "FP": -(-n_features // block) * block, "CP": padded(n_classes, 2), "B": block}

    def _launches(self, active: Integers, largest: int) -> list[Integers]:
        """Part the active models so that the buffers of each part fit the memory."""
        shape = self._padded()
        numbers = largest * (2 * shape["HP"] + shape["FP"] if self.spec.generative else shape["HP"])
        at_once = max(int(SHARE * free_bytes(self.device) / (numbers * self.dtype.itemsize)), 1)
        parts = max(-(-len(active) // at_once), 1)
        if parts > 1 and not self._told:
            self._told = True
            warnings.warn(
                f"{len(active)} models do not fit the memory of the device at once; they are trained in {parts} parts.",
                stacklevel=2,
            )
        return [part for part in np.array_split(active, parts) if len(part)]

    def _buffers(self, n_models: int, largest: int) -> list[torch.Tensor]:
        shape = self._padded()
        widths = [shape["HP"], shape["HP"], shape["FP"]]
        used = [self.spec.generative or self.spec.pooling == "soft", self.spec.generative, self.spec.generative]
        return [
            torch.empty(n_models * largest * width if on else 1, dtype=self.dtype, device=self.device)
            for width, on in zip(widths, used, strict=True)
        ]

    def _settings(self) -> dict[str, Any]:
        """Return what both kernels are compiled for."""
        return self._padded() | {
            "T": TILE,
            "OR": self.spec.constraint == "or",
            "HARD": self.spec.pooling == "hard",
            "num_warps": WARPS,
            "num_stages": STAGES,
        }

    def _sizes(self, store: Store, matrix: torch.Tensor) -> tuple[int, ...]:
        return matrix.shape[1], int(store.host_sizes.max()), *self.shape

    def run(self, stores: Sequence[Store], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on the sets of its order; NaN where that is empty."""
        from setrbm.engines.gpu.kernels import train_epoch

        store, firsts = self._joined(stores)
        lists = self._lists(orders, store, firsts)
        losses = torch.full((self.n_models,), torch.nan, dtype=self.dtype, device=self.device)
        sizes = self._sizes(store, lists.matrix)
        W, U, b, c, d = self.now
        for part in self._launches(lists.active, sizes[1]):
            train_epoch[(len(part),)](
                W, U, b, c, d, store.rows.dense(), store.offsets, store.labels, store.weights, store.numbers,
                lists.matrix, lists.which, lists.lengths, torch.from_numpy(part.astype(np.int32)).to(self.device),
                self.seeds, self.rates, self.generative_rates, self.shrinks, losses,
                *self._buffers(len(part), sizes[1]), torch.tensor([epoch], device=self.device), *sizes,
                K=self.spec.cd_steps,
                DISCRIMINATIVE=self.spec.discriminative, GENERATIVE=self.spec.generative,
                GAUSSIAN=self.spec.visible == "gaussian", **self._settings(),
            )  # fmt: skip
        in_bounds = torch.stack([(tensor.abs() <= LARGEST).flatten(1).all(1) for tensor in self.now]).all(0)
        total = torch.where(in_bounds | torch.isnan(losses), losses, torch.inf).cpu().numpy().astype(float)
        return np.asarray(total / lists.weights)

    def score(self, stores: Sequence[Store], which_sets: Sequence[Integers]) -> Floats:
        """Return each model's mean loss and error over its sets."""
        from setrbm.engines.gpu.kernels import score_sets

        store, firsts = self._joined(stores)
        lists = self._lists(which_sets, store, firsts)
        scores = torch.full((self.n_models, 2), torch.nan, dtype=self.dtype, device=self.device)
        sizes = self._sizes(store, lists.matrix)
        W, U, _, c, d = self.now
        for part in self._launches(lists.active, sizes[1]):
            score_sets[(len(part),)](
                W, U, c, d, store.rows.dense(), store.offsets, store.labels, store.weights, lists.matrix, lists.which,
                lists.lengths, torch.from_numpy(part.astype(np.int32)).to(self.device), scores,
                self._buffers(len(part), sizes[1])[0], *sizes, **self._settings(),
            )  # fmt: skip
        return np.asarray(scores.cpu().numpy().astype(float) / lists.weights[:, np.newaxis])

    def remember(self, models: Mask) -> None:
        """Keep a copy of the present parameters of these models."""
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


def free_bytes(device: Any) -> int:
    """Return how much memory of the device can be had: what is free, and what torch holds without using it."""
    if torch.device(device).type != "cuda":
        return 2**33
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + int(unused)
