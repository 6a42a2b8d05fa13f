"""GPU engine.

Three questions. How long does a step take when many small models are trained side by side? How does the GPU compare
with the CPU of the same machine, for fewer models and for one large model? And how close is it to the limits of the
device?

Many small models: 1,200 ClassSetRBMs (50 folds x 24 settings, 100 hidden units) on Elephant and Musk2 (generated sets
of the same shape if the data folder is missing), one set per step, float32. The time of a step is that of an epoch of
the engine, with everything it copies, divided by the number of steps. One large model: an epoch over mail-like sets in
mini-batches of 256; also with the sets copied in eight pieces, as for data that do not fit on the device.

Limits measured in the same run: a large copy (bytes read and written), a copy that stays in the cache (including its
launch), and a large matrix product in float32 without tensor cores. A step of the small models reads W twice and writes
it once; a hybrid step reads it three times. scripts/bench runs this file only if it is named, since it needs a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from _bars import SECONDS
from _harness import Benchmark, interleave, require_agreement, wall
from _machine import cores
from _zipf_sets import make_zipf_sets
from setrbm import Bags, draws
from setrbm.datasets.benchmarks import load_benchmark
from setrbm.engines import get_engine
from setrbm.engines.protocol import LabeledSets, Model, Spec
from setrbm.scaling import Scaling
from setrbm.training import initial_params

MILLISECONDS, TERABYTES, TERAFLOPS = "ms", "TB/s", "TFLOP/s"
N_MODELS, N_FOLDS, N_HIDDEN = 1200, 50, 100
LEARNED = 0.72
LARGE = (16_808, 160_372, 6)
BATCH = 256
FEWER_MODELS, FEWER_SETS = (10, 25, 50, 100, 200), (500, 2_000)
TITLES = {"elephant": "Elephant", "musk2": "Musk2"}
SHAPES = {"elephant": (200, 1391, 230), "musk2": (102, 6598, 166)}
VARIANTS = {
    "XOR*": Spec("xor", "hard", dtype="float32"),
    "XOR": Spec("xor", "soft", dtype="float32"),
    "OR*": Spec("or", "hard", dtype="float32"),
    "XOR* hybrid": Spec("xor", "hard", generative=True, dtype="float32"),
    "OR hybrid": Spec("or", "soft", generative=True, dtype="float32"),
}


def sets_of(name: str) -> LabeledSets:
    """Return a benchmark, scaled, in float32; if it is missing, generated sets of its shape."""
    try:
        bags, y = load_benchmark(name)
    except FileNotFoundError:
        n_sets, n_vectors, n_features = SHAPES[name]
        rng = np.random.default_rng(0)
        sizes = np.maximum(np.diff(np.linspace(0, n_vectors, n_sets + 1).astype(int)), 1)
        bags = Bags(rng.random((sizes.sum(), n_features)), np.concatenate([[0], np.cumsum(sizes)]))
        y = np.arange(n_sets) % 2
    bags = Bags(bags.X.astype(np.float32), bags.offsets)
    return LabeledSets(Scaling.fit(bags).apply(bags), np.asarray(y), np.ones(len(y)))


def models_on(sets: LabeledSets, n_models: int) -> tuple[list[Model], list[np.ndarray]]:
    """Return models and, for each, the sets it learns from: those of its fold."""
    rng = np.random.default_rng(0)
    n_sets, n_features = sets.bags.shape
    folds = [np.sort(rng.permutation(n_sets)[: round(LEARNED * n_sets)]) for _ in range(N_FOLDS)]

    def model(m: int) -> Model:
        start = initial_params(n_features, N_HIDDEN, 2, (0.1, 0.3, 1.0)[m % 3], m % N_FOLDS, np.float32)
        return Model(start, m % N_FOLDS, 0.03, 0.003, 0.001)

    return [model(m) for m in range(n_models)], [folds[m % N_FOLDS] for m in range(n_models)]


def epochs(engine: object, spec: Spec, sets: LabeledSets, n_models: int, most: int) -> Callable[[], np.ndarray]:
    """Return what trains all models for one more epoch, at most this many times; the orders are made beforehand."""
    models, folds = models_on(sets, n_models)
    stores = [engine.place(LabeledSets(sets.bags, sets.y, sets.weight), spec) for _ in range(N_FOLDS)]
    placed = [stores[m % N_FOLDS] for m in range(n_models)]
    session = engine.begin(spec, models, cores())
    made = [[draws.order(seed, epoch, folds[seed]) for seed in range(min(N_FOLDS, n_models))] for epoch in range(most)]
    orders = iter(enumerate([[of_fold[m % N_FOLDS] for m in range(n_models)] for of_fold in made]))

    def run() -> np.ndarray:
        epoch, of_model = next(orders)
        return session.run(placed, of_model, epoch)

    return run


def agree(spec: Spec, sets: LabeledSets, name: str) -> None:
    losses = [epochs(get_engine(engine), spec, sets, N_FOLDS, 1)() for engine in ("gpu", "cpu")]
    difference = float(np.abs(losses[0] / losses[1] - 1.0).max())
    # A rounding can turn over one of the millions of draws of a hybrid, and with it one reconstruction.
    require_agreement(f"the losses of GPU and CPU, {name}", difference, 0.01 if spec.generative else 1e-4)


def small_models(bench: Benchmark) -> None:
    for name in SHAPES:
        sets = sets_of(name)
        n_steps = round(LEARNED * len(sets.y))
        sizes = (
            f"{TITLES[name]}: {len(sets.y)} sets, {sets.bags.n_vectors:,} vectors, {sets.bags.shape[1]} features; "
            f"{N_MODELS:,} models"
        )
        for variant, spec in VARIANTS.items():
            agree(spec, sets, f"{variant} on {name}")
            run = epochs(get_engine("gpu"), spec, sets, N_MODELS, bench.rounds + 1)
            run()
            steps = np.array([wall(run) for _ in range(bench.rounds)]) / n_steps
            bar = f"gpu-{name}" if variant == "XOR*" else ""
            bench.add(
                f"step of {N_MODELS:,} models, {TITLES[name]}, {variant}", 1e3 * steps, MILLISECONDS, bar, sizes=sizes
            )
            if variant == "XOR*":
                in_hand = N_MODELS * 4 * N_HIDDEN * sets.bags.shape[1]
                bench.add(
                    f"memory traffic of W, {TITLES[name]}, XOR*",
                    3e-12 * in_hand / steps,
                    TERABYTES,
                    sizes=sizes,
                )
                work = 2 * 2 * N_MODELS * N_HIDDEN * sets.bags.shape[1] * sets.bags.sizes.mean()
                bench.add(f"products with W, {TITLES[name]}, XOR*", 1e-12 * work / steps, TERAFLOPS, sizes=sizes)


def fewer_models(bench: Benchmark) -> None:
    """Compare GPU and CPU for few models."""
    sets = sets_of("elephant")
    for n_models in FEWER_MODELS:
        engines = {
            name: epochs(get_engine(name), VARIANTS["XOR*"], sets, n_models, bench.rounds + 1)
            for name in ("gpu", "cpu")
        }
        seconds = interleave({name: lambda run=run: wall(run) for name, run in engines.items()}, bench.rounds)
        sizes = f"Elephant: {n_models} models"
        bench.add(
            f"epoch of {n_models} models, GPU time ÷ CPU time",
            seconds["gpu"] / seconds["cpu"],
            threads=cores(),
            sizes=sizes,
        )


def mail_like(n_sets: int) -> LabeledSets:
    whole, n_vectors, n_classes = LARGE
    bags, y = make_zipf_sets(n_sets, round(n_vectors * n_sets / whole), n_classes, random_state=0)
    return LabeledSets(bags, np.unique(y, return_inverse=True)[1], np.ones(len(y)))


def sizes_of(sets: LabeledSets) -> str:
    bags = sets.bags
    return f"mail-like: {len(bags):,} sets, {bags.n_vectors:,} vectors, {bags.X.nnz:,} entries; {BATCH} sets per step"


def large_epochs(name: str, pooling: str, sets: LabeledSets, placed: object = None) -> Callable[[], np.ndarray]:
    """Return what trains one large model for one more epoch."""
    spec = Spec("xor", pooling, batch_size=BATCH, dtype="float32")
    start = initial_params(sets.bags.shape[1], N_HIDDEN, LARGE[2], 0.1, 3, np.float32)
    engine = get_engine(name)
    placed = engine.place(sets, spec) if placed is None else placed
    session, epoch = engine.begin(spec, [Model(start, 3, 0.5)], cores()), iter(range(10**6))
    return lambda: session.run([placed], [draws.order(3, now := next(epoch), np.arange(len(sets.y)))], now)


def large_model(bench: Benchmark) -> None:
    for n_sets in (*FEWER_SETS, LARGE[0]):
        sets = mail_like(n_sets)
        for pooling in ("hard", "soft") if n_sets == LARGE[0] else ("hard",):
            variant = "XOR*" if pooling == "hard" else "XOR"
            runs = {name: large_epochs(name, pooling, sets) for name in ("gpu", "cpu")}
            losses = {name: run()[0] for name, run in runs.items()}
            difference = abs(losses["gpu"] / losses["cpu"] - 1)
            require_agreement(f"the losses of GPU and CPU, {n_sets:,} sets, {variant}", difference, 0.01)
            seconds = interleave({name: lambda run=run: wall(run) for name, run in runs.items()}, bench.rounds)
            bar = "gpu-large" if n_sets == LARGE[0] and variant == "XOR*" else ""
            whole = {"threads": cores(), "sizes": sizes_of(sets)}
            bench.add(
                f"epoch over {n_sets:,} sets, {variant}, GPU time ÷ CPU time",
                seconds["gpu"] / seconds["cpu"],
                bar=bar,
                **whole,
            )
            for name, values in seconds.items():
                bench.add(f"epoch over {n_sets:,} sets, {variant}, {name.upper()}", values, SECONDS, **whole)


def in_pieces(bench: Benchmark) -> None:
    """Measure the cost of copying sets in pieces."""
    import torch

    from setrbm.engines.gpu.store import HostStore

    sets = mail_like(LARGE[0])
    waiting = HostStore(sets, torch.float32, "cuda", sets.bags.X.nnz // 8)
    runs = {
        "all on the device": large_epochs("gpu", "hard", sets),
        "copied in 8 pieces": large_epochs("gpu", "hard", sets, waiting),
    }
    losses = [run()[0] for run in runs.values()]
    require_agreement("the losses of sets in pieces", max(losses) / min(losses) - 1, 1e-5)
    seconds = interleave({name: lambda run=run: wall(run) for name, run in runs.items()}, bench.rounds)
    for name, values in seconds.items():
        bench.add(f"epoch over {len(sets.y):,} sets, {name}", values, SECONDS, sizes=sizes_of(sets))


def ceilings(bench: Benchmark) -> None:
    from _device import copy_seconds, product_seconds
    from setrbm.engines.gpu.device import device_name

    device = device_name()
    for what, n_bytes in (
        ("limit: copy in device memory", 2**32),
        ("limit: copy of 8 MiB within the cache", 2**23),
    ):
        bench.add(what, 2e-12 * n_bytes / np.array(copy_seconds(n_bytes, bench.rounds)), TERABYTES, sizes=device)
    n = 8192
    bench.add(
        f"limit: product of {n:,} x {n:,} matrices",
        2e-12 * n**3 / np.array(product_seconds(n, bench.rounds)),
        TERAFLOPS,
        sizes=device,
    )


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    try:
        get_engine("gpu").begin(Spec(), models_on(sets_of("elephant"), 1)[0], 1)
    except (ImportError, RuntimeError) as error:
        raise SystemExit(f"  not run: {error}") from None
    ceilings(bench)
    small_models(bench)
    fewer_models(bench)
    large_model(bench)
    in_pieces(bench)
    bench.finish()


if __name__ == "__main__":
    main()
