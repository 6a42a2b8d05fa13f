"""Sessions of the CPU engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import cpu_count

from setrbm import draws
from setrbm._types import Array, Floats, Integers, Mask
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines.cpu.epochs import forward_sets, largest_batch, train
from setrbm.engines.cpu.layout import Chain, Rates, Rules, Sets, Weights
from setrbm.engines.cpu.memory import Rooms, kernel_rules, kernel_sets, kernel_unit, kernel_weights, user_params
from setrbm.engines.cpu.teams import new_teams, own_copies, together
from setrbm.engines.protocol import (
    LabelledSets,
    Model,
    Session,
    Spec,
    check_models,
    score_free_energies,
    weighted_means,
    within_bounds,
)

# Threads pay only above so many multiplications; starting one costs about as much.
WORTH_A_THREAD = 1_000_000

NO_KEYS = np.empty(0, np.uint64)


@dataclass(frozen=True)
class Placed:
    """Labelled sets as the kernels take them."""

    sets: Sets
    labels: npt.NDArray[np.int64]
    weights: Array
    first: int


def forward_rows(
    sets: Sets, which: npt.NDArray[np.int64], weights: Weights, rules: Rules, unit: np.int64 | None, n_jobs: int,
    rooms: Rooms,
) -> tuple[Array, Array]:  # fmt: skip
    """Return pools and free energies of the chosen sets, shared out between threads by rows."""
    pools = np.empty((len(which), rules.n_hidden), weights.W.dtype)
    F = np.empty((len(which), len(weights.d)), weights.W.dtype)
    values_a_set = len(sets.values) / max(len(sets.offsets) - 1, 1)
    worth = int(len(which) * values_a_set * rules.n_hidden / WORTH_A_THREAD)
    n_parts = max(1, min(4 * n_jobs, worth)) if n_jobs > 1 else 1
    largest = int(np.diff(sets.offsets)[which].max(initial=1))

    def part(low: int, high: int) -> None:
        room = rooms.of(weights, largest, 1)
        forward_sets(sets, which[low:high], weights, rules, pools[low:high], F[low:high], unit, room)

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
    """Models under training; each runs on one thread, several side by side."""

    def __init__(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> None:
        check_models(models)
        self.spec, self.models, self.n_jobs = spec, models, n_jobs
        self.rules = kernel_rules(spec, len(models[0].params.c))
        self.unit = kernel_unit(spec)
        self.weights = [kernel_weights(model.params, spec.dtype) for model in models]
        self.remembered: list[Params | None] = [None] * len(models)
        self.rates = [_rates(spec, model) for model in models]
        self.alone = [new_teams(weights, self.rules.n_hidden, 1) for weights in self.weights]
        self.rooms = Rooms()
        self.chains: dict[tuple[int, int], tuple[Chain, npt.NDArray[np.int64]]] = {}
        # Threads go to models where there are several, else to the hidden units of the one.
        self.threads = ThreadPoolExecutor(n_jobs) if n_jobs > 1 and len(models) > 1 else None
        self.team = ThreadPoolExecutor(n_jobs - 1) if n_jobs > 1 and len(models) == 1 else None

    def _for_each_model(self, job: Callable[[int], Any]) -> list[Any]:
        """Return job(m) for every model; the kernels release the GIL."""
        everyone = range(len(self.models))
        if self.threads is None:
            return [job(m) for m in everyone]
        done: list[Any] = [None] * len(self.models)
        left = iter(everyone)

        def take_turns() -> None:
            for m in left:
                done[m] = job(m)

        futures = [self.threads.submit(take_turns) for _ in range(min(self.n_jobs, len(done)))]
        try:
            for future in futures:
                future.result()
            return done
        finally:
            # After Ctrl-C nobody takes another turn, and nothing may still be writing to the parameters.
            for _ in left:
                pass
            wait(futures)

    def run(self, placed: Sequence[Placed], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on its sets in its order."""
        return np.array(self._for_each_model(lambda m: self._run_one(m, placed[m], orders[m], epoch)))

    def _run_one(self, m: int, placed: Placed, order: Integers, epoch: int) -> float:
        if not len(order):
            return float("nan")
        order = np.ascontiguousarray(order, dtype=np.int64)
        n_threads = self._threads_worth(placed, order)
        teams = self.alone[m] if n_threads == 1 else new_teams(self.weights[m], self.rules.n_hidden, n_threads)
        losses = [np.empty(len(order), self.spec.dtype) for _ in teams]
        weights = [self.weights[m], *(own_copies(self.weights[m]) for _ in teams[1:])]
        set_keys, chain = self._set_keys(m, placed, epoch), self._chain(m, placed)
        most, largest = largest_batch(placed.sets.offsets, order, self.spec.batch_size)

        def work(me: int) -> None:
            train(
                placed.sets, placed.labels, placed.weights, order, self.spec.batch_size, weights[me], self.rules,
                self.rates[m], set_keys, chain, losses[me], teams[me], self.unit,
                self.rooms.of(weights[me], largest, most),
            )  # fmt: skip

        together(self.team, work, teams)
        # W is held divided by its scale, which lies between 0.001 and 1: its bound is the stricter for it.
        if not within_bounds(*self.weights[m]):
            return np.inf
        weight = placed.weights[order].astype(np.float64)
        return weighted_means(losses[0], losses[0], weight)[0]

    def _threads_worth(self, placed: Placed, order: Integers) -> int:
        """Return how many threads pay for one model's epoch; a chain and a max-out choice look at all units at once."""
        if self.team is None or self.spec.generative or self.unit is not None:
            return 1
        n_values = len(placed.sets.values) / max(len(placed.labels), 1) * len(order)
        worth = int(n_values * self.rules.n_hidden / WORTH_A_THREAD)
        return max(1, min(self.n_jobs, int(cpu_count()), worth))

    def _set_keys(self, m: int, placed: Placed, epoch: int) -> npt.NDArray[np.uint64]:
        """Return the key of every set's chain in this epoch; none where there is no chain."""
        if not self.spec.generative:
            return NO_KEYS
        return draws.keys(self.models[m].seed, epoch, np.arange(len(placed.labels)) + placed.first)

    def _chain(self, m: int, placed: Placed) -> Chain | None:
        """Return the persistent chains of a model over these sets, made at the first visit; None without a chain."""
        if not self.spec.generative:
            return None
        key, offsets = (m, placed.first), placed.sets.offsets
        if key not in self.chains:
            n_sets = len(placed.labels) if self.spec.persistent else 0
            n_vectors = int(offsets[-1]) if n_sets and self.rules.is_or else 0
            chain = Chain(
                np.zeros(n_sets, np.bool_),
                np.empty((n_sets, self.rules.n_hidden), np.int32),
                np.empty((n_vectors, self.rules.n_hidden), np.bool_),
            )
            self.chains[key] = chain, offsets.copy()
        chain, before = self.chains[key]
        if self.spec.persistent and not np.array_equal(before, offsets):
            raise ValueError("With persistent chains every pass must bring the same sets. Got sets of other sizes.")
        return chain

    def score(self, placed: Sequence[Placed], which: Sequence[Integers]) -> Floats:
        """Return each model's mean loss and mean error over its sets."""
        n_jobs = self.n_jobs if self.threads is None else 1
        return np.array(self._for_each_model(lambda m: self._score_one(m, placed[m], which[m], n_jobs)))

    def _score_one(self, m: int, placed: Placed, which: Integers, n_jobs: int) -> tuple[float, float]:
        if not len(which):
            return float("nan"), float("nan")
        chosen = np.ascontiguousarray(which, dtype=np.int64)
        _, F = forward_rows(placed.sets, chosen, self.weights[m], self.rules, self.unit, n_jobs, self.rooms)
        return score_free_energies(F.astype(np.float64), placed.labels[chosen], placed.weights[chosen])

    def remember(self, models: Mask) -> None:
        """Keep a copy of the present parameters of these models."""
        for m in np.flatnonzero(models):
            self.remembered[m] = user_params(self.weights[m], self.rules.n_hidden)

    def params(self, remembered: bool) -> list[Params]:
        """Return the parameters of every model."""
        best = self.remembered if remembered else [None] * len(self.models)
        return [
            kept or user_params(weights, self.rules.n_hidden) for kept, weights in zip(best, self.weights, strict=True)
        ]


class CpuEngine:
    """Numba kernels on the processor's cores."""

    name = "cpu"
    copies_ahead = False

    def place(self, sets: LabelledSets, spec: Spec) -> Placed:
        """Lay the sets out for the kernels."""
        weight = sets.weight.astype(spec.dtype)
        return Placed(kernel_sets(sets.bags, spec.dtype), sets.y.astype(np.int64), weight, sets.first)

    def begin(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> Session:
        """Start training these models side by side."""
        return CpuSession(spec, models, n_jobs)

    def forward(self, params: Params, bags: Bags, spec: Spec, n_jobs: int) -> tuple[Array, Array]:
        """Return the pooled activations and the free energies."""
        dtype = bags.dtype
        rules = kernel_rules(spec, len(params.c))
        weights, everyone = kernel_weights(params, dtype), np.arange(len(bags))
        return forward_rows(kernel_sets(bags, dtype), everyone, weights, rules, kernel_unit(spec), n_jobs, Rooms())
