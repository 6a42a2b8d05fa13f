"""The engine on one GPU: where sets are placed, how models are trained, and how predictions are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, cast

import numpy as np

try:
    import torch
except ImportError:
    raise ImportError("engine='gpu' needs torch: pip install 'setrbm[gpu]'.") from None

from setrbm._types import Array, Floats, Integers, Mask
from setrbm._warnings import warn
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines.gpu import limits, many, packed, sparse
from setrbm.engines.gpu.device import OUT_OF_MEMORY, explained_errors, free_bytes, is_available
from setrbm.engines.gpu.many import ManyModels
from setrbm.engines.gpu.packed import DeviceParams, PackedModel
from setrbm.engines.gpu.sparse import SparseModel
from setrbm.engines.gpu.store import HostStore, Store, entries_of, place
from setrbm.engines.protocol import (
    DeviceMemoryWarning,
    LabeledSets,
    Model,
    NoDeviceError,
    Session,
    Spec,
    check_models,
)

Placed = Store | HostStore
# How many copies of sparse values are on the device while an epoch is prepared: five were counted on torch's CPU build,
# without the buffers that sorting takes.
COPIES = 6
DTYPES = {"float32": torch.float32, "float64": torch.float64}


class GpuSession:
    """Models under training: all at once where the kernels allow it, else one by one."""

    def __init__(self, spec: Spec, models: Sequence[Model], device: Any) -> None:
        check_models(models)
        self.spec, self.models, self.device = spec, models, device
        self.dtype = DTYPES[spec.dtype]
        self._side_by_side: ManyModels | None = None
        self._one_by_one: list[PackedModel] | None = None

    def _prepare(self, stores: Sequence[Placed]) -> None:
        """Decide how the models are trained, once the first sets are known."""
        kinds = set(map(type, stores))
        if len(kinds) > 1:
            raise MemoryError(OUT_OF_MEMORY)
        on_device = kinds == {Store}
        if self._side_by_side is not None and not on_device:
            self._separate(self._side_by_side)
        if self._side_by_side is not None or self._one_by_one is not None:
            return
        has_triton = find_spec("triton") is not None
        if has_triton and on_device and many.fits(self.spec, self.models[0], cast(Sequence[Store], stores)):
            self._side_by_side = ManyModels(self.spec, self.models, self.dtype, self.device)
            return
        kind = SparseModel if has_triton and sparse.fits(self.spec, self.models[0], stores) else PackedModel
        self._one_by_one = [kind(self.spec, model, self.dtype, self.device) for model in self.models]

    def _separate(self, together: ManyModels) -> None:
        """Continue with each model alone: the next sets do not fit on the device."""
        now, best = together.params(remembered=False), together.params(remembered=True)
        self._one_by_one, self._side_by_side = [], None
        for m, model in enumerate(self.models):
            packed = PackedModel(self.spec, replace(model, params=now[m]), self.dtype, self.device)
            packed.best = DeviceParams.of(best[m], self.dtype, self.device) if together.has_best[m] else None
            self._one_by_one.append(packed)

    def run(self, placed: Sequence[Placed], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on its sets in its order."""
        with explained_errors():
            self._prepare(placed)
            if self._side_by_side is not None:
                return self._side_by_side.run(cast(Sequence[Store], placed), orders, epoch)
            losses = [
                self._over_pieces(store, order, partial(model.run, epoch=epoch)) if len(order) else np.nan
                for model, store, order in zip(self._one_by_one or [], placed, orders, strict=True)
            ]
            return np.array(losses, dtype=float)

    def score(self, placed: Sequence[Placed], which: Sequence[Integers]) -> Floats:
        """Return each model's mean loss and mean error over its sets."""
        with explained_errors():
            self._prepare(placed)
            if self._side_by_side is not None:
                return self._side_by_side.score(cast(Sequence[Store], placed), which)
            scores = [
                self._over_pieces(store, chosen, model.score) if len(chosen) else np.full(2, np.nan)
                for model, store, chosen in zip(self._one_by_one or [], placed, which, strict=True)
            ]
            return np.array(scores)

    def _over_pieces(self, store: Placed, which: Integers, work: Callable[[Store, Integers], Any]) -> Any:
        """Return the weighted mean of what some work returns for each piece of the sets."""
        if isinstance(store, Store):
            return work(store, which)
        results, weights = [], []
        for piece in store.pieces(which, self.spec.batch_size):
            results.append(work(piece, np.arange(piece.n_sets)))
            weights.append(float(piece.host_weights.sum()))
        return np.average(np.array(results), axis=0, weights=weights)

    def remember(self, models: Mask) -> None:
        """Keep a copy of the current parameters of these models."""
        with explained_errors():
            if self._side_by_side is not None:
                self._side_by_side.remember(models)
                return
            for m in np.flatnonzero(models):
                model = (self._one_by_one or [])[m]
                model.best = model.now.copy()

    def params(self, remembered: bool) -> list[Params]:
        """Return the parameters of every model."""
        with explained_errors():
            if self._side_by_side is not None:
                return self._side_by_side.params(remembered)
            if self._one_by_one is None:
                return [model.params.copy() for model in self.models]
            return [((model.best if remembered else None) or model.now).params() for model in self._one_by_one]


def _bytes_of(sets: LabeledSets, n_entries: int, spec: Spec) -> int:
    """Return how much memory sets take on the device.

    Sparse sets are counted while an epoch is prepared, with the starts of each feature's entries in each batch; dense
    sets twice, since they are copied to whole blocks of features.
    """
    n_features, itemsize = sets.bags.shape[1], DTYPES[spec.dtype].itemsize
    if sets.bags.is_sparse:
        n_starts = min((len(sets.y) // spec.batch_size + 2) * n_features, limits.MOST_PLACES)
        return n_entries * COPIES * (itemsize + 8) + 3 * 8 * n_starts
    return sets.bags.n_vectors * itemsize * (n_features + many.in_blocks(n_features)[1])


class GpuEngine:
    """The engine on one device: "cuda", or "cpu" to test it without a GPU."""

    name = "gpu"

    def __init__(self, device: str = "cuda") -> None:
        self.device = device

    def place(self, sets: LabeledSets, spec: Spec) -> Placed:
        """Copy the sets to the device or, if they do not fit, keep them on the host to be copied in pieces."""
        self.check_device()
        dtype, n_entries = DTYPES[spec.dtype], int(entries_of(sets).sum())
        with explained_errors():
            n_bytes, free = _bytes_of(sets, n_entries, spec), many.SHARE * free_bytes(self.device)
            if n_bytes <= free:
                return place(sets, dtype, self.device)
        warn(
            f"These sets need {n_bytes / 2**30:.1f} GiB on the GPU, only {free / 2**30:.1f} GiB are free. They are "
            "copied to it in pieces during training.",
            DeviceMemoryWarning,
        )
        return HostStore(sets, dtype, self.device, max(int(n_entries * free / n_bytes / 3), 1))

    def begin(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> Session:
        """Start training these models side by side."""
        self.check_device()
        with explained_errors():
            return GpuSession(spec, models, self.device)

    def forward(self, params: Params, bags: Bags, spec: Spec, n_jobs: int) -> tuple[Array, Array]:
        """Return the pooled activations and the free energies, in the dtype of the bags."""
        n, spec = len(bags), replace(spec, dtype=bags.dtype.name)
        placed = self.place(LabeledSets(bags, np.zeros(n, dtype=np.intp), np.ones(n)), spec)
        stores = [placed] if isinstance(placed, Store) else placed.pieces(np.arange(n), 1)
        with explained_errors():
            params_on_device = DeviceParams.of(params, DTYPES[spec.dtype], self.device)
            parts = []
            for store in stores:
                for part in packed.chunks(store, np.arange(store.n_sets), len(params.c)):
                    batch = store.batch(torch.from_numpy(part).to(self.device), part)
                    parts.append([tensor.cpu().numpy() for tensor in packed.forward(batch, params_on_device, spec)])
        pools, energies = zip(*parts, strict=True)
        return np.concatenate(pools), np.concatenate(energies)

    def check_device(self) -> None:
        """Raise an error if there is no GPU."""
        if self.device == "cuda" and not is_available():
            raise NoDeviceError(
                "engine='gpu' needs a GPU that torch can use. Got none: torch.cuda.is_available() is False. Use "
                "engine='cpu', or install a torch build for your GPU."
            )


ENGINE = GpuEngine()
