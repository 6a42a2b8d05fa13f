"""Threads or processes for cells of Table 1 on a GPU? Prints the wall time of each as CSV.

Trains six cells (three rows, each on Musk1 and on Elephant, 50 folds each) in three ways: one after the other, in three
threads, and in three processes that do one cell at a time each. The ways alternate, and all must learn the same bits.

    PYTHONPATH=src python3 lab/experiments/gpu_tasks.py --data-home ~/data

Without Elephant in the data folder, random sets of its shape take its place. Epochs are fewer than in the table, so
that all rounds take minutes. Columns: ``seconds`` is the time of the six cells, ``startup_seconds`` what came before
(for processes: importing torch and opening the device, in parallel), ``digest`` stands for everything learned.
``--tiny`` tries the script without a GPU, on torch's CPU build and Triton's interpreter, with one thread.

``lab/results/gpu_tasks.csv`` was measured on an H200 while each session still had a CUDA stream of its own. Sessions
now share the default stream of their process, so that threads overlap less than they did there.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from setrbm import Bags
from setrbm.bags import offsets_of
from setrbm.datasets.benchmarks import load_benchmark
from setrbm.engines import get_engine
from setrbm_lab.side_by_side import fit_side_by_side

SYSTEMS = ("XOR*", "OR Hybrid", "ClassSetRBMCV")
DATASETS = ("musk1", "elephant")
# Sets, vectors and features of Elephant.
SHAPE = (200, 1391, 230)
AT_ONCE = 3
ROUNDS = 2


@dataclass(frozen=True)
class Size:
    """How much each cell trains."""

    folds: int = 10
    repeats: int = 5
    epochs: tuple[int, ...] = (50, 100)
    n_sets: int | None = None
    n_features: int | None = None
    settings: tuple[tuple[str, Any], ...] = ()
    device: str = "cuda"


TINY_SETTINGS = (("n_hidden", 3), ("learning_rate", (0.1, 0.3)), ("init_scale", 0.3))
TINY = Size(2, 1, (1,), n_sets=8, n_features=5, settings=TINY_SETTINGS, device="cpu")


def load(name: str, data_home: str | None, size: Size) -> tuple[Bags, Any]:
    """Return a data set in float32, or random sets of its shape where it is not available."""
    try:
        bags, y = load_benchmark(name, data_home)
    except FileNotFoundError:
        sizes = np.diff(np.linspace(0, SHAPE[1], SHAPE[0] + 1).astype(int))
        X = np.random.default_rng(0).random((SHAPE[1], SHAPE[2]))
        bags, y = Bags(X, offsets_of(sizes)), np.arange(SHAPE[0]) % 2
    chosen = np.random.default_rng(0).permutation(len(y))[: size.n_sets]
    bags, y = bags[chosen], y[chosen]
    return Bags(bags.X[:, : size.n_features].astype(np.float32), bags.offsets), y


def train(size: Size, data_home: str | None, cell: tuple[str, str]) -> str:
    """Fit all folds of a cell side by side and return a digest of what was learned."""
    try:
        from setrbm.evaluation.splits import repeated_folds, system_seed
        from setrbm_lab.systems import find_system
    except ImportError:  # the names before the redesign
        from setrbm.evaluation.protocol import repeated_folds, system_seed
        from setrbm.evaluation.systems import find_system
    system, dataset = cell
    bags, y = load(dataset, data_home, size)
    splits = repeated_folds(y, size.folds, size.repeats)
    models = [find_system(system).make(system_seed(0, split), False, "gpu", 1) for split in splits]
    for model in models:
        model.set_params(
            max_epochs=size.epochs if system != "ClassSetRBMCV" else size.epochs[-1], **dict(size.settings)
        )
    faults = fit_side_by_side(models, [(bags[split.train], y[split.train], None) for split in splits])
    if any(faults):
        raise RuntimeError(f"{cell} failed: {faults}")
    total = hashlib.sha256()
    for model in models:
        for letter in (model.W_, model.U_, model.b_, model.c_, model.d_):
            total.update(np.ascontiguousarray(letter).tobytes())
    return total.hexdigest()[:16]


def prepare(device: str) -> None:
    """Open the device in this process."""
    warnings.simplefilter("ignore")
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    engine: Any = get_engine("gpu")
    engine.device = device
    import torch

    torch.zeros(1, device=device)


def ready(_: int) -> None:
    """Keep a worker busy until all others have started too."""
    time.sleep(0.5)


def in_processes(stack: ExitStack, device: str) -> Executor:
    """Return a pool of processes that have opened the device."""
    spawn = multiprocessing.get_context("spawn")
    pool = stack.enter_context(ProcessPoolExecutor(AT_ONCE, spawn, prepare, (device,)))
    list(pool.map(ready, range(AT_ONCE)))
    return pool


def in_threads(stack: ExitStack, device: str) -> Executor:
    """Return a pool of threads; Triton's interpreter works in one only."""
    return stack.enter_context(ThreadPoolExecutor(AT_ONCE if device == "cuda" else 1))


def one_by_one(stack: ExitStack, device: str) -> Executor:
    """Return a single thread."""
    return stack.enter_context(ThreadPoolExecutor(1))


WAYS: dict[str, Callable[[ExitStack, str], Executor]] = {
    "one by one": one_by_one,
    "threads": in_threads,
    "processes": in_processes,
}


def main() -> None:
    """Time the three ways in turn, and compare what they learned."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-home", help="the folder with elephant.csv.gz")
    parser.add_argument("--tiny", action="store_true", help="try the script without a GPU")
    options = parser.parse_args()
    size = TINY if options.tiny else Size()
    prepare(size.device)
    cells = [(system, dataset) for dataset in DATASETS for system in SYSTEMS]
    for cell in cells:
        # Compiled kernels are kept on disk, where the processes find them too.
        train(replace(size, folds=2, repeats=1, epochs=(2,)), options.data_home, cell)
    print("round,way,seconds,startup_seconds,digest", flush=True)
    digests = set()
    for number in range(ROUNDS):
        for name, begin in WAYS.items():
            with ExitStack() as stack:
                start = time.perf_counter()
                pool = begin(stack, size.device)
                started = time.perf_counter()
                learned = list(pool.map(partial(train, size, options.data_home), cells))
                end = time.perf_counter()
            digest = hashlib.sha256("".join(learned).encode()).hexdigest()[:16]
            digests.add(digest)
            print(f"{number},{name},{end - started:.2f},{started - start:.2f},{digest}", flush=True)
    if len(digests) > 1:
        sys.exit("The three ways must learn the same bits. They did not.")


if __name__ == "__main__":
    main()
