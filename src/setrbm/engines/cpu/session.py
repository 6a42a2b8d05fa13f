"""``CpuSession`` and ``CpuEngine``: training and prediction by the kernels, on any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm import draws
from setrbm._types import Array, Floats, Integers, Mask
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines.cpu.epochs import forward_sets, most_vectors, train
from setrbm.engines.cpu.layout import ChainState, FlatSets, KernelSpec, Rates, Weights
from setrbm.engines.cpu.memory import (
    ThreadBuffers,
    flat_sets,
    kernel_spec,
    kernel_unit,
    kernel_weights,
    new_scratch,
    user_params,
)
from setrbm.engines.protocol import (
    LabeledSets,
    Model,
    Session,
    Spec,
    check_models,
    score_free_energies,
    weighted_means,
    within_bounds,
)

# Multiplications, about 10 ms. Starting a thread takes a tenth of a millisecond, but on a busy machine it may then wait
# some milliseconds for a core.
MIN_WORK_PER_THREAD = 100_000_000
NO_KEYS = np.empty(0, np.uint64)


@dataclass(frozen=True)
class Placed:
    """Labeled sets in the layout of the kernels."""

    sets: FlatSets
    labels: npt.NDArray[np.int64]
    weights: Array
    first: int


def forward(
    sets: FlatSets, which: npt.NDArray[np.int64], weights: Weights, choices: KernelSpec, unit: np.int64 | None,
    n_jobs: int, buffers: ThreadBuffers,
) -> tuple[Array, Array]:  # fmt: skip
    """Return pools and free energies of the chosen sets, computed by up to ``n_jobs`` threads."""
    pools = np.empty((len(which), choices.n_hidden), weights.W.dtype)
    F = np.empty((len(which), len(weights.d)), weights.W.dtype)
    values_per_set = len(sets.values) / max(len(sets.offsets) - 1, 1)
    n_worthwhile = int(len(which) * values_per_set * choices.n_hidden / MIN_WORK_PER_THREAD)
    n_parts = max(1, min(4 * n_jobs, n_worthwhile)) if n_jobs > 1 else 1
    largest = int(np.diff(sets.offsets)[which].max(initial=1))

    def part(low: int, high: int) -> None:
        scratch = new_scratch(buffers.get(weights, largest, 1), weights)
        forward_sets(sets, which[low:high], weights, choices, pools[low:high], F[low:high], unit, scratch)

    if n_parts == 1:
        part(0, len(which))
    else:
        bounds = np.linspace(0, len(which), n_parts + 1).astype(int)
        with ThreadPoolExecutor(n_jobs) as threads:
            list(threads.map(part, bounds[:-1], bounds[1:]))
    return pools, F


def _rates(spec: Spec, model: Model) -> Rates:
    number = np.dtype(spec.dtype).type
    return Rates(number(model.learning_rate), number(model.generative_learning_rate), number(model.shrink(spec)))


class CpuSession:
    """Models in training, each on one thread at a time."""

    def __init__(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> None:
        check_models(models)
        self.spec, self.models, self.n_jobs = spec, models, n_jobs
        self.choices = kernel_spec(spec, len(models[0].params.c))
        self.unit = kernel_unit(spec)
        self.weights = [kernel_weights(model.params, spec.dtype) for model in models]
        self.remembered: list[Params | None] = [None] * len(models)
        self.rates = [_rates(spec, model) for model in models]
        self.buffers = ThreadBuffers()
        self.chains: dict[tuple[int, int], tuple[ChainState, npt.NDArray[np.int64]]] = {}
        self.threads = ThreadPoolExecutor(n_jobs) if n_jobs > 1 and len(models) > 1 else None

    def _for_each_model(self, job: Callable[[int], Any]) -> list[Any]:
        """Return job(m) for every model; the kernels release the GIL."""
        numbers = range(len(self.models))
        if self.threads is None:
            return [job(m) for m in numbers]
        results: list[Any] = [None] * len(self.models)
        remaining = iter(numbers)

        def run_jobs() -> None:
            for m in remaining:
                results[m] = job(m)

        futures = [self.threads.submit(run_jobs) for _ in range(min(self.n_jobs, len(results)))]
        try:
            for future in futures:
                future.result()
            return results
        finally:
            # After Ctrl-C no thread may start another job or still be writing to the parameters.
            for _ in remaining:
                pass
            wait(futures)

    def run(self, placed: Sequence[Placed], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on its sets in its order."""
        return np.array(self._for_each_model(lambda m: self._run_one(m, placed[m], orders[m], epoch)))

    def _run_one(self, m: int, placed: Placed, order: Integers, epoch: int) -> float:
        if not len(order):
            return float("nan")
        order = np.ascontiguousarray(order, dtype=np.int64)
        losses = np.empty(len(order), self.spec.dtype)
        in_batch, in_set = most_vectors(placed.sets.offsets, order, self.spec.batch_size)
        buffers = self.buffers.get(self.weights[m], in_set, in_batch)
        train(
            placed.sets, placed.labels, placed.weights, order, self.spec.batch_size, self.weights[m], self.choices,
            self.rates[m], self._set_keys(m, placed, epoch), self._chain(m, placed), losses, self.unit,
            new_scratch(buffers, self.weights[m]), buffers.coef,
        )  # fmt: skip
        # W is stored divided by its scale, between 0.001 and 1, so its bound is the stricter one.
        if not within_bounds(*self.weights[m]):
            return np.inf
        weight = placed.weights[order].astype(np.float64)
        return weighted_means(losses, losses, weight)[0]

    def _set_keys(self, m: int, placed: Placed, epoch: int) -> npt.NDArray[np.uint64]:
        """Return the key of each set's chain in this epoch; empty without chains."""
        if not self.spec.generative:
            return NO_KEYS
        return draws.keys(self.models[m].seed, epoch, np.arange(len(placed.labels)) + placed.first)

    def _chain(self, m: int, placed: Placed) -> ChainState | None:
        """Return the state of a model's persistent chains, created at the first visit; None without chains."""
        if not self.spec.generative:
            return None
        key, offsets, n_hidden = (m, placed.first), placed.sets.offsets, self.choices.n_hidden
        if key not in self.chains:
            n_sets = len(placed.labels) if self.spec.persistent else 0
            n_vectors = int(offsets[-1]) if n_sets and self.choices.is_or else 0
            known, holder = np.zeros(n_sets, np.bool_), np.empty((n_sets, n_hidden), np.int32)
            self.chains[key] = ChainState(known, holder, np.empty((n_vectors, n_hidden), np.bool_)), offsets.copy()
        chain, before = self.chains[key]
        if self.spec.persistent and not np.array_equal(before, offsets):
            raise ValueError("With persistent chains, every pass must use the same sets. Got sets of different sizes.")
        return chain

    def score(self, placed: Sequence[Placed], which: Sequence[Integers]) -> Floats:
        """Return each model's mean loss and mean error over its sets."""
        n_jobs = self.n_jobs if self.threads is None else 1
        return np.array(self._for_each_model(lambda m: self._score_one(m, placed[m], which[m], n_jobs)))

    def _score_one(self, m: int, placed: Placed, which: Integers, n_jobs: int) -> tuple[float, float]:
        if not len(which):
            return float("nan"), float("nan")
        chosen = np.ascontiguousarray(which, dtype=np.int64)
        _, F = forward(placed.sets, chosen, self.weights[m], self.choices, self.unit, n_jobs, self.buffers)
        return score_free_energies(F.astype(np.float64), placed.labels[chosen], placed.weights[chosen])

    def remember(self, models: Mask) -> None:
        """Keep a copy of the current parameters of these models."""
        for m in np.flatnonzero(models):
            self.remembered[m] = user_params(self.weights[m], self.choices.n_hidden)

    def params(self, remembered: bool) -> list[Params]:
        """Return the parameters of every model."""
        kept = self.remembered if remembered else [None] * len(self.models)
        n_hidden = self.choices.n_hidden
        return [best or user_params(weights, n_hidden) for best, weights in zip(kept, self.weights, strict=True)]


class CpuEngine:
    """Numba kernels on CPU cores."""

    name = "cpu"

    def place(self, sets: LabeledSets, spec: Spec) -> Placed:
        """Convert the sets to the layout of the kernels."""
        weight = sets.weight.astype(spec.dtype)
        return Placed(flat_sets(sets.bags, spec.dtype), sets.y.astype(np.int64), weight, sets.first)

    def begin(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> Session:
        """Start training these models side by side."""
        return CpuSession(spec, models, n_jobs)

    def forward(self, params: Params, bags: Bags, spec: Spec, n_jobs: int) -> tuple[Array, Array]:
        """Return the pooled activations and the free energies."""
        choices, dtype = kernel_spec(spec, len(params.c)), bags.dtype
        sets, weights = flat_sets(bags, dtype), kernel_weights(params, dtype)
        return forward(sets, np.arange(len(bags)), weights, choices, kernel_unit(spec), n_jobs, ThreadBuffers())
