"""The engine for graphics processors, on torch: many small models side by side, or one large one.

Needs the extra ``gpu``. The reasons are in ``docs/decisions/0004-many-models-on-a-gpu.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

try:
    import torch
except ImportError:
    raise ImportError("engine='gpu' needs torch: pip install 'setrbm[gpu]'.") from None

from setrbm._types import Array, Floats, Integers, Mask
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines.gpu import many, packed, sparse
from setrbm.engines.gpu.many import ManyModels
from setrbm.engines.gpu.packed import Letters, PackedModel
from setrbm.engines.gpu.sparse import SparseModel
from setrbm.engines.gpu.store import Store, place
from setrbm.engines.protocol import LabelledSets, Model, Session, Spec, check_models

DTYPES = {"float32": torch.float32, "float64": torch.float64}


class GpuSession:
    """Models under training: all at once where the kernels allow it, else one by one."""

    def __init__(self, spec: Spec, models: Sequence[Model], device: Any) -> None:
        check_models(models)
        self.spec, self.models, self.device = spec, models, device
        self.dtype = DTYPES[spec.dtype]
        self._side_by_side: ManyModels | None = None
        self._alone: list[PackedModel] | None = None

    def _begin(self, stores: Sequence[Store]) -> None:
        """Decide, when the first sets are seen, how the models are trained."""
        if self._side_by_side is not None or self._alone is not None:
            return
        has_kernels = find_spec("triton") is not None
        if has_kernels and many.fits(self.spec, self.models[0], stores):
            self._side_by_side = ManyModels(self.spec, self.models, self.dtype, self.device)
            return
        by_kernels = has_kernels and sparse.fits(self.spec, len(self.models[0].params.c), stores)
        kind = SparseModel if by_kernels else PackedModel
        self._alone = [kind(self.spec, model, self.dtype, self.device) for model in self.models]

    def run(self, placed: Sequence[Store], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on its sets in its order."""
        with faults_explained():
            self._begin(placed)
            if self._side_by_side is not None:
                return self._side_by_side.run(placed, orders, epoch)
            losses = [
                model.run(store, order, epoch) if len(order) else np.nan
                for model, store, order in zip(self._alone or [], placed, orders, strict=True)
            ]
            return np.array(losses)

    def score(self, placed: Sequence[Store], which: Sequence[Integers]) -> Floats:
        """Return each model's mean loss and mean error over its sets."""
        with faults_explained():
            self._begin(placed)
            if self._side_by_side is not None:
                return self._side_by_side.score(placed, which)
            scores = [
                model.score(store, chosen) if len(chosen) else np.full(2, np.nan)
                for model, store, chosen in zip(self._alone or [], placed, which, strict=True)
            ]
            return np.array(scores)

    def remember(self, models: Mask) -> None:
        """Keep a copy of the present parameters of these models."""
        with faults_explained():
            if self._side_by_side is not None:
                self._side_by_side.remember(models)
                return
            for m in np.flatnonzero(models):
                model = (self._alone or [])[m]
                model.best = model.now.copy()

    def params(self, remembered: bool) -> list[Params]:
        """Return the parameters of every model."""
        with faults_explained():
            if self._side_by_side is not None:
                return self._side_by_side.params(remembered)
            if self._alone is None:
                return [model.params.copy() for model in self.models]
            return [((model.best if remembered else None) or model.now).params() for model in self._alone]


class GpuEngine:
    """The engine on one device: "cuda", or "cpu" to try what it does without one."""

    name = "gpu"

    def __init__(self, device: str = "cuda") -> None:
        self.device = device

    def place(self, sets: LabelledSets, spec: Spec) -> Store:
        """Copy the sets to the device."""
        self._check_device()
        with faults_explained():
            return place(sets, DTYPES[spec.dtype], self.device)

    def begin(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> Session:
        """Start training these models side by side."""
        self._check_device()
        return GpuSession(spec, models, self.device)

    def forward(self, params: Params, bags: Bags, spec: Spec, n_jobs: int) -> tuple[Array, Array]:
        """Return the pooled activations and the free energies."""
        n = len(bags)
        sets = LabelledSets(bags, np.zeros(n, dtype=np.intp), np.ones(n))
        store = self.place(sets, spec)
        with faults_explained():
            letters = Letters.of(params, DTYPES[spec.dtype], self.device)
            parts = []
            for part in packed.chunks(store, np.arange(n), len(params.c)):
                batch = store.batch(torch.from_numpy(part).to(self.device), part)
                parts.append([tensor.cpu().numpy() for tensor in packed.forward(batch, letters, spec)])
        pools, energies = zip(*parts, strict=True)
        return np.concatenate(pools), np.concatenate(energies)

    def _check_device(self) -> None:
        if self.device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError(
                "engine='gpu' must have a graphics processor that torch can use. Got none: torch.cuda.is_available() "
                "is False. Use engine='cpu', or install a torch built for your processor."
            )


@contextmanager
def faults_explained() -> Iterator[None]:
    """Say what a fault of the device means for whoever called."""
    try:
        yield
    except torch.OutOfMemoryError as fault:
        raise MemoryError(
            "The sets and models must fit the memory of the device. It is full: train fewer models at once, use "
            f"dtype float32, or engine='cpu'. ({_first_line(fault)})"
        ) from fault
    except RuntimeError as fault:
        if "CUDA error" not in str(fault) and "HIP error" not in str(fault):
            raise
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
