"""The fast engine for processors: sessions and data layout around the numba kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import cpu_count

from setrbm import draws
from setrbm._types import Array, Floats, Integers, Mask
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines.kernels import (
    FACTORS,
    LANES,
    LOGIT,
    MLP,
    RBM,
    Chain,
    Rates,
    Room,
    Rules,
    Sets,
    Team,
    Weights,
    forward_sets,
    largest_batch,
    train,
)
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

CACHE_LINE = 64
# What two threads write stands at least so many bytes apart: processors fetch cache lines in pairs.
APART = 128
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


def kernel_sets(bags: Bags, dtype: npt.DTypeLike) -> Sets:
    """Return views of the bags' arrays; copies only where type or layout differ."""
    offsets = np.ascontiguousarray(bags.offsets, dtype=np.int64)
    if bags.is_sparse:
        values = np.ascontiguousarray(bags.X.data, dtype=dtype)
        cols = np.ascontiguousarray(bags.X.indices, dtype=np.int32)
        starts = np.ascontiguousarray(bags.X.indptr, dtype=np.int64)
        return Sets(_writable(values), _writable(cols), _writable(starts), 1, _writable(offsets))
    n_vectors, n_features = bags.X.shape
    values = np.ascontiguousarray(bags.X, dtype=dtype).reshape(-1)
    starts = np.arange(n_vectors + 1, dtype=np.int64) * n_features
    return Sets(_writable(values), np.arange(n_features, dtype=np.int32), starts, 0, _writable(offsets))


def _writable(array: Array) -> Array:
    """Return the array, or a copy of a read-only one, for which numba would compile everything anew."""
    return array if array.flags.writeable else array.copy()


def padded(n: int, dtype: np.dtype[Any], n_bytes: int = CACHE_LINE) -> int:
    """Return so many numbers rounded up to whole cache lines."""
    a_line = n_bytes // dtype.itemsize
    return -(-n // a_line) * a_line


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return zeros that begin on a pair of cache lines and share none with anything else."""
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    room = np.zeros(n_bytes + 2 * APART, dtype=np.uint8)
    shift = -room.ctypes.data % APART
    return room[shift : shift + n_bytes].view(dtype).reshape(shape)


def aligned(array: Array) -> Array:
    """Return a copy that shares no cache line with anything else."""
    copy = aligned_zeros(array.shape, array.dtype)
    copy[...] = array
    return copy


def kernel_weights(params: Params, dtype: npt.DTypeLike) -> Weights:
    """Return a copy of the parameters in the layout of the kernels."""
    kind = np.dtype(dtype)
    n_hidden, n_features = params.W.shape
    n_blocks = -(-n_hidden // int(FACTORS))
    stride = int(FACTORS) if n_blocks > 1 else padded(n_hidden, kind)
    W = aligned_zeros((n_blocks, n_features, stride), kind)
    for block, units in enumerate(blocks_of(n_hidden)):
        W[block, :, : len(params.c[units])] = params.W[units].T
    U, c = aligned_zeros((len(params.d), n_blocks * stride), kind), aligned_zeros((n_blocks * stride,), kind)
    U[:, :n_hidden], c[:n_hidden] = params.U.T, params.c
    return Weights(W, aligned(np.ones(1, kind)), U, aligned(params.b.astype(kind)), c, aligned(params.d.astype(kind)))


def blocks_of(n_hidden: int) -> list[slice]:
    """Return the hidden units of every block."""
    return [slice(start, min(start + int(FACTORS), n_hidden)) for start in range(0, n_hidden, int(FACTORS))]


def user_params(weights: Weights, n_hidden: int) -> Params:
    """Return a copy of the parameters in the paper's layout."""
    W = np.empty((weights.W.shape[1], n_hidden), weights.W.dtype)
    for block, units in enumerate(blocks_of(n_hidden)):
        np.multiply(weights.W[block, :, : units.stop - units.start], weights.scale[0], out=W[:, units])
    return Params(
        W.T, weights.U[:, :n_hidden].copy().T, weights.b.copy(), weights.c[:n_hidden].copy(), weights.d.copy()
    )


def kernel_rules(spec: Spec, n_hidden: int) -> Rules:
    """Return the choices of a spec as the kernels take them."""
    return Rules(
        spec.constraint == "or",
        spec.pooling == "hard",
        spec.discriminative,
        spec.visible == "gaussian",
        spec.cd_steps,
        spec.persistent,
        n_hidden,
    )


def kernel_unit(spec: Spec) -> np.int64 | None:
    """Return the unit of a max-out classifier as the kernels take it, None for a model of sets."""
    return {"set": None, "rbm": RBM, "mlp": MLP, "logit": LOGIT}[spec.unit]


def new_teams(weights: Weights, n_hidden: int, n_threads: int) -> list[Team]:
    """Return the places of the threads that train one model together: whole blocks of hidden units for each."""
    n_blocks = len(weights.W)
    n = min(n_threads, n_blocks)
    bounds = np.linspace(0, n_blocks, n + 1).round().astype(int) * int(FACTORS)
    # The last thread ends with the last lane in use.
    bounds[-1] = -(-n_hidden // int(LANES)) * int(LANES)
    partial = aligned_zeros((2, n_blocks, padded(len(weights.d), weights.W.dtype, APART)), weights.W.dtype)
    posts = aligned_zeros((n, APART // 8), np.dtype(np.int64))
    return [Team(me, n, np.uint64(bounds[me]), np.uint64(bounds[me + 1]), partial, posts) for me in range(n)]


def own_copies(weights: Weights) -> Weights:
    """Return the weights with a copy of what every thread of a team changes for itself."""
    return weights._replace(scale=aligned(weights.scale), d=aligned(weights.d))


def together(threads: ThreadPoolExecutor | None, work: Callable[[int], None], teams: Sequence[Team]) -> None:
    """Let every thread of a team do its work; whatever goes wrong, nobody is kept waiting for one that never comes."""
    if threads is None or len(teams) == 1:
        work(0)
        return
    futures: list[Future[None]] = []

    def guarded(me: int) -> None:
        try:
            work(me)
        except BaseException:
            dismiss(teams)
            raise

    try:
        for me in range(1, len(teams)):
            futures.append(threads.submit(guarded, me))
        # The caller works too: helpers woken by a thread that goes on running are given cores of their own.
        work(0)
        for future in futures:
            future.result()
    except BaseException:
        dismiss(teams)
        raise
    finally:
        # After Ctrl-C nothing may still be writing to the parameters.
        wait(futures)


def dismiss(teams: Sequence[Team]) -> None:
    """Let no thread of a team wait any more."""
    teams[0].posts[:] = np.iinfo(np.int64).max


class Rooms(threading.local):
    """The scratch space of every thread."""

    room: Room | None = None

    def of(self, weights: Weights, largest: int, most: int) -> Room:
        """Return room for sets of so many vectors, in batches of so many."""
        width, dtype = len(weights.c), weights.W.dtype
        room = self.room
        if room is None or room.a.shape[1] != width or len(room.a) < largest or len(room.coef) < most:
            a, share, away, coef = (np.zeros((n, width), dtype) for n in (largest, largest, largest, most))
            self.room = room = Room(a, share, away, np.zeros((largest, width), np.bool_), coef)
        return room


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


ENGINE = CpuEngine()
