"""What does each path of an engine gain over the simpler one that would take its place? Prints CSV.

    PYTHONPATH=src python3 lab/experiments/engine_gains.py > lab/results/engine_gains_gpu.csv

On a GPU: the kernels for many small models and those for one sparse model against mini-batches of torch operations.
Both ways of a pair run in turn, and the ratio is the median of the rounds' ratios. bench_gpu.py has the problems.

``lab/results/engine_gains_gpu.csv`` also has two paths that gained too little and were removed after that run: launches
recorded as a CUDA graph, and a thread that copied the next sets while the current ones were in use.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from bench_gpu import LARGE, VARIANTS, epochs, large_epochs, mail_like, sets_of
from setrbm.engines import get_engine

ROUNDS = 5
COLUMNS = ("what", "simpler ÷ ours", "low", "high", "ours_seconds", "simpler_seconds")
Way = Callable[[], Any]


def without(kernels: str) -> Callable[[], Any]:
    """Return what keeps the engine from taking some kernels."""
    return lambda: patch(f"setrbm.engines.gpu.{kernels}.fits", lambda *args: False)


def seconds(way: Way) -> float:
    """Return the wall time of one call, and of what it left on the device."""
    import torch

    torch.cuda.synchronize()
    begin = time.perf_counter()
    way()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def compare(what: str, ours: Way, plain: Way, replaced: Callable[[], Any]) -> None:
    """Run both ways in turn, after a warm-up each, and print the ratio of their times."""
    times = []
    for _ in range(ROUNDS + 1):
        mine = seconds(ours)
        with replaced():
            times.append((mine, seconds(plain)))
    mine, other = np.array(times[1:]).T
    low, ratio, high = np.quantile(other / mine, (0.25, 0.5, 0.75))
    row = (what, *(f"{number:.4g}" for number in (ratio, low, high, np.median(mine), np.median(other))))
    csv.writer(sys.stdout, lineterminator="\n").writerow(row)
    sys.stdout.flush()


def many_models() -> None:
    """Compare the kernels for many models with one model after the other."""
    for name, n_models in (("elephant", 20), ("elephant", 100), ("musk2", 20)):
        for variant in ("XOR*", "OR hybrid"):
            if n_models > 20 and variant != "XOR*":
                continue
            sets = sets_of(name)
            ways = [epochs(get_engine("gpu"), VARIANTS[variant], sets, n_models, ROUNDS + 1) for _ in range(2)]
            compare(f"many: epoch of {n_models} models on {name}, {variant}", *ways, without("many"))


def sparse_model() -> None:
    """Compare the kernels for one sparse model with torch operations."""
    for n_sets in (2_000, LARGE[0]):
        sets = mail_like(n_sets)
        for pooling in ("hard", "soft"):
            ways = [large_epochs("gpu", pooling, sets) for _ in range(2)]
            compare(f"sparse: epoch over {n_sets} sets, {pooling}", *ways, without("sparse"))


def main() -> None:
    """Print the CSV."""
    csv.writer(sys.stdout, lineterminator="\n").writerow(COLUMNS)
    many_models()
    sparse_model()


if __name__ == "__main__":
    main()
