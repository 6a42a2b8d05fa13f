"""The engine on one GPU: where sets are placed, how models are trained, and what its faults mean."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, cast

import numpy as np

try:
    import torch
except ImportError:
    raise ImportError("engine='gpu' needs torch: pip install 'setrbm[gpu]'.") from None

from setrbm import engines
from setrbm._types import Array, Floats, Integers, Mask
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines.gpu import many, packed, sparse
from setrbm.engines.gpu.many import ManyModels, free_bytes
from setrbm.engines.gpu.packed import Letters, PackedModel
from setrbm.engines.gpu.sparse import SparseModel
from setrbm.engines.gpu.store import HostStore, Store, entries_of, place
from setrbm.engines.protocol import (
    DeviceMemoryWarning,
    LabelledSets,
    Model,
    NoDeviceError,
    Session,
    Spec,
    check_models,
)

Placed = Store | HostStore
# How often sparse values are on the device while an epoch is dealt out: five times was counted on torch's CPU build,
# without the room that sorting takes.
COPIES = 6
FULL = (
    "The sets and models must fit the memory of the device. It is full: train fewer models at once, use dtype float32, "
    "or engine='cpu'."
)
DTYPES = {"float32": torch.float32, "float64": torch.float64}


class GpuSession:
    """Models under training: all at once where the kernels allow it, else one by one."""

    def __init__(self, spec: Spec, models: Sequence[Model], device: Any) -> None:
        check_models(models)
        self.spec, self.models, self.device = spec, models, device
        self.dtype = DTYPES[spec.dtype]
        self._side_by_side: ManyModels | None = None
        self._alone: list[PackedModel] | None = None
        # Sessions in several threads run concurrently. High-priority streams come from another pool than those that
        # sets are copied on. Never keep a weak reference to a stream: looking one up after its death crashes.
        on_gpu = torch.device(device).type == "cuda"
        self._stream = torch.cuda.Stream(device, priority=-1) if on_gpu else None  # type: ignore[no-untyped-call]

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with faults_explained(), torch.cuda.stream(self._stream) if self._stream is not None else nullcontext():
            yield

    def _begin(self, stores: Sequence[Placed]) -> None:
        """Decide, when the first sets are seen, how the models are trained."""
        kinds = set(map(type, stores))
        if len(kinds) > 1:
            raise MemoryError(FULL)
        all_on_device = kinds == {Store}
        if self._side_by_side is not None and not all_on_device:
            self._part_company(self._side_by_side)
        if self._side_by_side is not None or self._alone is not None:
            return
        has_triton = find_spec("triton") is not None
        if has_triton and all_on_device and many.fits(self.spec, self.models[0], _on_device(stores)):
            self._side_by_side = ManyModels(self.spec, self.models, self.dtype, self.device)
            return
        by_kernels = has_triton and sparse.fits(self.spec, self.models[0], stores)
        kind = SparseModel if by_kernels else PackedModel
        self._alone = [kind(self.spec, model, self.dtype, self.device) for model in self.models]

    def _part_company(self, together: ManyModels) -> None:
        """Go on with each model alone: sets have come that do not fit the device."""
        now, best = together.params(remembered=False), together.params(remembered=True)
        self._alone = []
        for m, model in enumerate(self.models):
            one = PackedModel(self.spec, replace(model, params=now[m]), self.dtype, self.device)
            one.best = Letters.of(best[m], self.dtype, self.device) if together.has_best[m] else None
            self._alone.append(one)
        self._side_by_side = None

    def run(self, placed: Sequence[Placed], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on its sets in its order."""
        with self._at_work():
            self._begin(placed)
            if self._side_by_side is not None:
                return self._side_by_side.run(_on_device(placed), orders, epoch)
            losses = [
                self._over_pieces(store, order, partial(_run, model, epoch)) if len(order) else np.nan
                for model, store, order in zip(self._alone or [], placed, orders, strict=True)
            ]
            return np.array(losses, dtype=float)

    def score(self, placed: Sequence[Placed], which: Sequence[Integers]) -> Floats:
        """Return each model's mean loss and mean error over its sets."""
        with self._at_work():
            self._begin(placed)
            if self._side_by_side is not None:
                return self._side_by_side.score(_on_device(placed), which)
            scores = [
                self._over_pieces(store, chosen, model.score) if len(chosen) else np.full(2, np.nan)
                for model, store, chosen in zip(self._alone or [], placed, which, strict=True)
            ]
            return np.array(scores)

    def _over_pieces(self, store: Placed, which: Integers, work: Callable[[Store, Integers], Any]) -> Any:
        """Do some work on sets, in pieces where they wait on the host, and return the mean of what it gives."""
        if isinstance(store, Store):
            return work(store, which)
        given, weights = [], []
        for piece in store.pieces(which, self.spec.batch_size):
            given.append(work(piece, np.arange(piece.n_sets)))
            weights.append(float(piece.host_weights.sum()))
        return np.average(np.array(given), axis=0, weights=weights)

    def remember(self, models: Mask) -> None:
        """Keep a copy of the present parameters of these models."""
        with self._at_work():
            if self._side_by_side is not None:
                self._side_by_side.remember(models)
                return
            for m in np.flatnonzero(models):
                model = (self._alone or [])[m]
                model.best = model.now.copy()

    def params(self, remembered: bool) -> list[Params]:
        """Return the parameters of every model."""
        with self._at_work():
            if self._side_by_side is not None:
                return self._side_by_side.params(remembered)
            if self._alone is None:
                return [model.params.copy() for model in self.models]
            return [((model.best if remembered else None) or model.now).params() for model in self._alone]


def _bytes_of(sets: LabelledSets, entries: int, spec: Spec) -> int:
    """Return what sets take on the device.

    Sparse ones while an epoch is dealt out, with where the entries of each feature begin in each batch; dense ones as
    they are, and once more in whole blocks of features.
    """
    n_features, itemsize = sets.bags.shape[1], DTYPES[spec.dtype].itemsize
    if sets.bags.is_sparse:
        places = min((len(sets.y) // spec.batch_size + 2) * n_features, engines.MOST_PLACES)
        return entries * COPIES * (itemsize + 8) + 3 * 8 * places
    return sets.bags.n_vectors * itemsize * (n_features + many.in_blocks(n_features)[1])


def _run(model: PackedModel, epoch: int, store: Store, order: Integers) -> float:
    return model.run(store, order, epoch)


def _on_device(placed: Sequence[Placed]) -> Sequence[Store]:
    """Return sets of which the kernels for many models were told that they are on the device."""
    return cast(Sequence[Store], placed)


class GpuEngine:
    """The engine on one device: "cuda", or "cpu" to try what it does without one."""

    name = "gpu"
    copies_ahead = True

    def __init__(self, device: str = "cuda") -> None:
        self.device = device

    def place(self, sets: LabelledSets, spec: Spec) -> Placed:
        """Copy the sets to the device, or, where they do not fit, keep them ready to be copied in pieces."""
        self.check_device()
        dtype, entries = DTYPES[spec.dtype], int(entries_of(sets).sum())
        with faults_explained(), many.MEMORY:
            n_bytes, room = _bytes_of(sets, entries, spec), many.SHARE * free_bytes(self.device)
            if n_bytes <= room:
                return place(sets, dtype, self.device)
        warnings.warn(
            f"These sets would take {n_bytes / 2**30:.1f} GiB of the device, which has not so much free. They are "
            "copied to it piece by piece while it works.",
            DeviceMemoryWarning,
            stacklevel=2,
        )
        return HostStore(sets, dtype, self.device, max(int(entries * room / n_bytes / 3), 1))

    def begin(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> Session:
        """Start training these models side by side."""
        self.check_device()
        with faults_explained():
            return GpuSession(spec, models, self.device)

    def forward(self, params: Params, bags: Bags, spec: Spec, n_jobs: int) -> tuple[Array, Array]:
        """Return the pooled activations and the free energies."""
        n, spec = len(bags), replace(spec, dtype=bags.dtype.name)
        sets = LabelledSets(bags, np.zeros(n, dtype=np.intp), np.ones(n))
        placed = self.place(sets, spec)
        stores = [placed] if isinstance(placed, Store) else placed.pieces(np.arange(n), 1)
        with faults_explained():
            letters = Letters.of(params, DTYPES[spec.dtype], self.device)
            parts = []
            for store in stores:
                for part in packed.chunks(store, np.arange(store.n_sets), len(params.c)):
                    batch = store.batch(torch.from_numpy(part).to(self.device), part)
                    parts.append([tensor.cpu().numpy() for tensor in packed.forward(batch, letters, spec)])
        pools, energies = zip(*parts, strict=True)
        return np.concatenate(pools), np.concatenate(energies)

    def check_device(self) -> None:
        """Refuse to begin where there is no graphics processor."""
        if self.device == "cuda" and not torch.cuda.is_available():
            raise NoDeviceError(
                "engine='gpu' must have a graphics processor that torch can use. Got none: torch.cuda.is_available() "
                "is False. Use engine='cpu', or install a torch built for your processor."
            )


@contextmanager
def faults_explained() -> Iterator[None]:
    """Say what a fault of the device means for whoever called."""
    try:
        yield
    except torch.OutOfMemoryError as fault:
        raise MemoryError(f"{FULL} ({_first_line(fault)})") from fault
    except RuntimeError as fault:
        # Torch writes "CUDA error", Triton "[CUDA]".
        if not any(mark in str(fault) for mark in ("CUDA error", "HIP error", "[CUDA]", "[HIP]")):
            raise
        if "out of memory" in str(fault):
            raise MemoryError(f"{FULL} ({_first_line(fault)})") from fault
        raise RuntimeError(
            "The device failed in the middle of the work; what was finished before is kept. Start a new process: this "
            f"one cannot use the device any more. ({_first_line(fault)})"
        ) from fault


def _first_line(fault: Exception) -> str:
    return str(fault).strip().splitlines()[0]


ENGINE = GpuEngine()


def is_available() -> bool:
    """Return whether torch can use a graphics processor here."""
    return bool(torch.cuda.is_available())


def device_name() -> str:
    """Return the name of the graphics processor."""
    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else "no graphics processor"


def copy_seconds(n_bytes: int, rounds: int) -> list[float]:
    """Return how long the device takes to copy so many bytes: what memory-bound work is held against."""
    source = torch.rand(n_bytes // 4, device="cuda")
    target = torch.empty_like(source)
    return _device_seconds(lambda: target.copy_(source), rounds)


def product_seconds(n: int, rounds: int) -> list[float]:
    """Return how long the device takes for a matrix product in full float32: what arithmetic is held against."""
    left, right = torch.rand(n, n, device="cuda"), torch.rand(n, n, device="cuda")
    return _device_seconds(lambda: torch.mm(left, right), rounds)


def _device_seconds(work: Callable[[], Any], rounds: int, times: int = 20) -> list[float]:
    """Return the mean seconds of some work in each round, by the device's own clock."""
    seconds = []
    for _ in range(rounds + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        begin.record()
        for _ in range(times):
            work()
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) / 1e3 / times)
    return seconds[1:]
