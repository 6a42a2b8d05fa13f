"""Cost of choosing settings.

How much more does `ClassSetRBMCV().fit` cost than `ClassSetRBM().fit`, both with their defaults? The former tries six
candidates and refits the best, ten times for dense sets and five times for sparse ones. Compared is the CPU time on one
thread, which other processes hardly disturb, each time with another seed: when a fit stops early depends on the seed.
Musk1, and made-up sets: dense ones of the shape of Musk1, and sparse ones of the shape of the paper's mail.
Warm kernels.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from _bars import RATIO, SECONDS
from _harness import Benchmark, mail_sets
from bench_fit import musk_like
from setrbm import Bags, ClassSetRBM, ClassSetRBMCV
from setrbm.datasets import load_musk1

N_SETS, QUICK_SETS = (100, 1_000), (40,)
QUICK_EPOCHS = 2
SEEDS, QUICK_SEEDS = range(5), range(1)


def cpu_seconds(model: Any, bags: Bags, y: np.ndarray) -> float:
    """Return the CPU time of a fit."""
    begin = time.process_time()
    model.fit(bags, y)
    return time.process_time() - begin


def compare(bags: Bags, y: np.ndarray, seeds: Sequence[int], settings: dict[str, Any]) -> np.ndarray:
    """Return the CPU time of a single fit and of a choosing one, a row per seed."""
    for model in (ClassSetRBM, ClassSetRBMCV):
        model(max_epochs=1, n_jobs=1, random_state=0).fit(bags, y)
    return np.array([
        [cpu_seconds(model(n_jobs=1, random_state=seed, **settings), bags, y) for model in (ClassSetRBM, ClassSetRBMCV)]
        for seed in seeds
    ])  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    seeds, settings = (QUICK_SEEDS, {"max_epochs": QUICK_EPOCHS}) if bench.quick else (SEEDS, {})
    data = {"Musk1": load_musk1()}
    for n_sets in QUICK_SETS if bench.quick else N_SETS:
        data[f"{n_sets:,} dense sets like Musk1"] = musk_like(n_sets)
        data[f"{n_sets:,} sparse sets like mail"] = mail_sets(n_sets)
    for name, (bags, y) in data.items():
        single, choosing = compare(bags, y, seeds, settings).T
        sizes = f"{len(bags):,} sets, {bags.n_vectors:,} vectors, {bags.shape[1]:,} features, {bags.dtype}"
        bench.add(f"ClassSetRBMCV ÷ ClassSetRBM, {name}", choosing / single, RATIO, sizes=sizes)
        bench.add(f"ClassSetRBM, {name}", single, SECONDS, sizes=sizes)
        bench.add(f"ClassSetRBMCV, {name}", choosing, SECONDS, sizes=sizes)
    bench.finish()


if __name__ == "__main__":
    main()
