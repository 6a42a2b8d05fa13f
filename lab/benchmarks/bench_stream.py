"""Training from disk.

Is an epoch over shards on disk, in a warm page cache, as fast as over the same sets in memory? One epoch of XOR* by the
public ``fit``, as a difference of two fits, over a million mail-like sets: as ``Shards``, mapped file by file, and as
one ``Bags``. All sets are different. Needs about 5 GB of disk, 10 GB of memory, and some minutes to generate the data
the first time; scripts/bench runs this file only if it is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy import sparse

from _bars import SECONDS
from _harness import FOLDER, Benchmark, epoch_seconds, interleave, require_agreement
from _machine import cores
from _zipf_sets import make_zipf_sets
from setrbm import Bags, ClassSetRBM
from setrbm.shards import Shards, read_shard, write_shard

N_SHARDS, QUICK_SHARDS = 100, 3
SETS_A_SHARD, QUICK_SETS_A_SHARD = 10_000, 500
N_HIDDEN = 100
EPOCHS, QUICK_EPOCHS = (1, 2), (1, 9)
# Shards are gone through one after the other, sets in memory in one order: both learn, to about the same loss.
TOLERANCE = 0.05


def make_shard(path: Path, n_sets: int, seed: int) -> None:
    write_shard(path, *make_zipf_sets(n_sets, random_state=seed))


def make_shards(n_shards: int, n_sets: int) -> list[Path]:
    """Return the paths of the shards; those that are not there yet are made."""
    folder = FOLDER / ".cache" / f"shards_{n_sets}"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"shard-{seed:05d}.npz" for seed in range(n_shards)]
    missing = [(path, n_sets, seed) for seed, path in enumerate(paths) if not path.exists()]
    with ProcessPoolExecutor(cores()) as workers:
        list(workers.map(make_shard, *zip(*missing, strict=True)) if missing else [])
    return paths


def in_memory(paths: Sequence[Path]) -> tuple[Bags, np.ndarray]:
    """Return all sets of the shards as one."""
    parts = [read_shard(path) for path in paths]
    X = sparse.vstack([bags.X for bags, _ in parts], format="csr")
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([bags.sizes for bags, _ in parts]))])
    return Bags(X, offsets), np.concatenate([y for _, y in parts])


def model(max_epochs: int) -> ClassSetRBM:
    return ClassSetRBM(N_HIDDEN, max_epochs=max_epochs, early_stopping=False, scale=None, n_jobs=1, random_state=0)


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    n_shards, n_sets = (QUICK_SHARDS, QUICK_SETS_A_SHARD) if bench.quick else (N_SHARDS, SETS_A_SHARD)
    epochs = QUICK_EPOCHS if bench.quick else EPOCHS
    paths = make_shards(n_shards, n_sets)
    bags, y = in_memory(paths)
    shards = Shards(paths)
    streamed, loaded = model(1).fit(shards), model(1).fit(bags, y)
    difference = abs(streamed.history_["loss"][0] / loaded.history_["loss"][0] - 1.0)
    require_agreement("the loss of a first epoch, streamed and from memory", difference, TOLERANCE)
    seconds = interleave(
        {
            "streamed": lambda: epoch_seconds(lambda n: model(n).fit(shards), *epochs),
            "from memory": lambda: epoch_seconds(lambda n: model(n).fit(bags, y), *epochs),
        },
        bench.rounds,
    )
    sizes = f"{len(bags):,} sets, {bags.n_vectors:,} vectors, {n_shards} files, {N_HIDDEN} hidden units, float32"
    ratio = seconds["streamed"] / seconds["from memory"]
    bench.add("epoch streamed ÷ epoch from memory", ratio, bar="stream", sizes=sizes)
    for name, values in seconds.items():
        bench.add(f"one epoch {name}", values, SECONDS, sizes=sizes)
    bench.finish()


if __name__ == "__main__":
    main()
