"""Time of a whole fit.

How long does ``ClassSetRBMCV().fit(bags, y)`` take with default settings? It tries three learning rates with two
initial scales and refits the best on all sets, ten times if they are dense, five times if they are sparse. On Musk1 it
is compared with the former defaults (five refits). The other sets are made up: dense ones of the shape of Musk1 (about
5 vectors of 166 features per set) and sparse ones of the shape of the paper's mail. With 1,000 sets or more, training
may stop early, after a number of epochs that depends on the data; without early stopping, candidates are dropped by
halves and the refits take 400 epochs. Warm kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from _bars import RATIO, SECONDS
from _harness import Benchmark, mail_sets, wall
from setrbm import Bags, ClassSetRBMCV
from setrbm.bags import offsets_of
from setrbm.datasets import load_musk1

N_SETS, QUICK_SETS = (100, 1_000), (40,)
N_FEATURES, MEAN_SIZE = 166, 5
QUICK_EPOCHS = 2
ROUNDS = 3
THREADS = 2


def musk_like(n_sets: int, seed: int = 0) -> tuple[Bags, np.ndarray]:
    """Return sets of two classes; each of the second has one vector that is shifted in some features."""
    rng = np.random.default_rng(seed)
    offsets = offsets_of(1 + rng.poisson(MEAN_SIZE - 1, size=n_sets))
    X = rng.random((offsets[-1], N_FEATURES), dtype=np.float32)
    y = np.arange(n_sets) % 2
    X[offsets[:-1][y == 1], :10] += 0.3
    return Bags(X, offsets), y


def seconds_of_fits(bags: Bags, y: np.ndarray, **settings: object) -> list[float]:
    """Return the times of several fits with warm kernels."""
    ClassSetRBMCV(max_epochs=1, n_jobs=THREADS, random_state=0).fit(bags, y)
    model = ClassSetRBMCV(n_jobs=THREADS, random_state=0, **settings)
    return [wall(lambda: model.fit(bags, y)) for _ in range(ROUNDS)]


def add_musk1(bench: Benchmark, settings: dict[str, object]) -> None:
    """Compare the defaults with the former ones, fit by fit in turn, on one core."""
    bags, y = load_musk1()
    former = ClassSetRBMCV(pooling="hard", n_jobs=1, random_state=0, **settings)
    now = ClassSetRBMCV(n_jobs=1, random_state=0, **settings)
    now.fit(bags, y)
    times = [(wall(lambda: now.fit(bags, y)), wall(lambda: former.fit(bags, y))) for _ in range(5)]
    sizes = f"{len(bags)} sets, {bags.n_vectors} vectors"
    ratios = [a / b for a, b in times]
    bench.add("fit of Musk1, defaults ÷ former defaults", ratios, RATIO, bar="musk-fit", threads=1, sizes=sizes)
    bench.add("fit of Musk1", [a for a, _ in times], SECONDS, threads=1, sizes=sizes)


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    settings = {"max_epochs": QUICK_EPOCHS} if bench.quick else {}

    def add(n_sets: int, name: str, make: Callable[[int], tuple[Bags, np.ndarray]], **others: object) -> None:
        bags, y = make(n_sets)
        sizes = f"{bags.n_vectors:,} vectors, {bags.shape[1]:,} features, {bags.dtype}"
        seconds = seconds_of_fits(bags, y, **settings | others)
        bench.add(f"fit of {n_sets:,} {name}", seconds, SECONDS, threads=THREADS, sizes=sizes)

    add_musk1(bench, settings)
    for n_sets in QUICK_SETS if bench.quick else N_SETS:
        add(n_sets, "dense sets like Musk1", musk_like)
        add(n_sets, "sparse sets like mail", mail_sets)
    add(n_sets, "dense sets like Musk1, no early stopping", musk_like, early_stopping=False)
    bench.finish()


if __name__ == "__main__":
    main()
