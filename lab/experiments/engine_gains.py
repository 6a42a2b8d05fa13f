"""What does each path of an engine gain over the simpler one that would take its place? Prints CSV.

    PYTHONPATH=src python3 lab/experiments/engine_gains.py > lab/results/engine_gains_gpu.csv

On a GPU: the kernels for many small models and those for one sparse model against mini-batches of torch operations;
recorded launches against launches one by one; sets that are copied while the ones before are in use, against one after
the other, from host memory and from shards on disk. Both ways of a pair run in turn, and the ratio is the median of the
rounds' ratios. bench_gpu.py has the problems.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from bench_gpu import BATCH, LARGE, VARIANTS, epochs, large_epochs, mail_like, sets_of
from setrbm import ClassSetRBM
from setrbm.engines import get_engine
from setrbm.shards import Shards, write_shards

ROUNDS = 5
COLUMNS = ("what", "simpler ÷ ours", "low", "high", "ours_seconds", "simpler_seconds")
Way = Callable[[], Any]


@contextmanager
def simpler(*places: str, value: Any = lambda *args: False) -> Iterator[None]:
    """Replace attributes of the engine."""
    with ExitStack() as stack:
        for place in places:
            stack.enter_context(patch(place, value))
        yield


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
    replaced = lambda: simpler("setrbm.engines.gpu.many.fits")  # noqa: E731
    for name, n_models in (("elephant", 20), ("elephant", 100), ("musk2", 20)):
        for variant in ("XOR*", "OR hybrid"):
            if n_models > 20 and variant != "XOR*":
                continue
            sets = sets_of(name)
            ways = [epochs(get_engine("gpu"), VARIANTS[variant], sets, n_models, ROUNDS + 1) for _ in range(2)]
            compare(f"many: epoch of {n_models} models on {name}, {variant}", *ways, replaced)


def sparse_model() -> None:
    """Compare the kernels for one sparse model with torch operations, and with launches that are not recorded."""
    for n_sets in (2_000, LARGE[0]):
        sets = mail_like(n_sets)
        for pooling in ("hard", "soft"):
            ways = [large_epochs("gpu", pooling, sets) for _ in range(2)]
            replaced = lambda: simpler("setrbm.engines.gpu.sparse.fits")  # noqa: E731
            compare(f"sparse: epoch over {n_sets} sets, {pooling}", *ways, replaced)
        ways = [large_epochs("gpu", "hard", sets) for _ in range(2)]
        replaced = lambda: simpler("setrbm.engines.gpu.graphs.WORTH_RECORDING", value=10**9)  # noqa: E731
        compare(f"recorded launches: epoch over {n_sets} sets", *ways, replaced)


def copies() -> None:
    """Compare sets that are copied ahead with sets that are copied one after the other."""
    import torch

    from setrbm.engines.gpu.store import HostStore

    sets = mail_like(LARGE[0])
    waiting = HostStore(sets, torch.float32, "cuda", sets.bags.X.nnz // 8)
    ways = [large_epochs("gpu", "hard", sets, waiting) for _ in range(2)]
    replaced = lambda: simpler("setrbm.engines.gpu.store.one_ahead", value=iter)  # noqa: E731
    compare("copied ahead: 8 pieces from memory", *ways, replaced)
    with tempfile.TemporaryDirectory() as folder:
        write_shards(Path(folder), sets.bags, sets.y, sets_per_shard=-(-len(sets.y) // 8))
        shards = Shards(Path(folder))

        def fit(n_epochs: int) -> None:
            model = ClassSetRBM(100, engine="gpu", batch_size=BATCH, max_epochs=n_epochs, early_stopping=False,
                                learning_rate=0.5, random_state=0)  # fmt: skip
            model.fit(shards)

        way: Way = lambda: fit(11)  # noqa: E731
        replaced = lambda: simpler("setrbm.engines.gpu.engine.GpuEngine.copies_ahead", value=False)  # noqa: E731
        compare("copied ahead: fit of 11 epochs over 8 shards", way, way, replaced)


def main() -> None:
    """Print the CSV."""
    csv.writer(sys.stdout, lineterminator="\n").writerow(COLUMNS)
    many_models()
    sparse_model()
    copies()


if __name__ == "__main__":
    main()
