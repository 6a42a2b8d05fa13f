"""Kernels between sets.

The miGraph kernel matrix of Musk2 (102 sets, 6,598 vectors; generated sets of the same shape if the data folder is
missing), float32, one half of the symmetric matrix: setrbm on all cores, compared with a loop written from the
definition and with one ``cdist`` per pair of sets. The loop is timed on some pairs of sets and extrapolated by its
pairs of vectors. Then mail-like sets: the growth of memory beyond the input, and the time to fit and predict with
``SetSVC`` and with ClassSetRBM XOR*.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

from _bars import MIB, SECONDS
from _harness import Benchmark, interleave, mail_sets, require_agreement, wall
from _machine import cores
from _memory import growth_in
from setrbm import Bags, ClassSetRBM
from setrbm.datasets import read_sets
from setrbm.estimators import SetSVC
from setrbm.kernels import set_kernel, vector_weights

MUSK2 = (102, 6_598, 166)
QUICK_SETS = 25
MAIL_SETS, QUICK_MAIL_SETS = 3_000, 200
# The number of pairs of sets the loop is timed on; its cost is that of their pairs of vectors.
LOOP_PAIRS, QUICK_LOOP_PAIRS = 60, 6
GAMMA = 0.05
EPOCHS = 20
# Float32 against float64, with a kernel between 0 and 1.
TOLERANCE = 1e-5


def musk2() -> tuple[Bags, str]:
    """Return Musk2 scaled to [0, 1], or sets of its shape."""
    folder = Path(os.environ.get("SETRBM_DATA", Path(__file__).parents[3] / "shared" / "data" / "mil"))
    if (folder / "musk2.csv.gz").exists():
        bags, _ = read_sets(folder / "musk2.csv.gz")
        X = (bags.X - bags.X.min(axis=0)) / (bags.X.max(axis=0) - bags.X.min(axis=0))
        return bags.with_vectors(X.astype(np.float32)), "Musk2"
    rng = np.random.default_rng(0)
    n_sets, n_vectors, n_features = MUSK2
    raw = rng.lognormal(0.0, 1.6, n_sets)
    sizes = 1 + np.floor(raw / raw.sum() * (n_vectors - n_sets)).astype(int)
    sizes[0] += n_vectors - sizes.sum()
    X = rng.random((n_vectors, n_features), dtype=np.float32)
    return Bags(X, np.concatenate([[0], np.cumsum(sizes)])), "sets of the shape of Musk2"


def by_definition(bags: Bags, weights: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the kernel of some pairs of sets, from equation (38), in a loop."""
    values = []
    for i, j in pairs:
        rows, columns = (range(bags.offsets[k], bags.offsets[k + 1]) for k in (i, j))
        total = 0.0
        for s in rows:
            for t in columns:
                difference = bags.X[s] - bags.X[t]
                total += weights[s] * weights[t] * np.exp(-GAMMA * (difference @ difference))
        values.append(total)
    return np.array(values)


def by_cdist(bags: Bags, weights: np.ndarray) -> np.ndarray:
    """Return the kernel matrix by one ``cdist`` per pair of sets."""
    sets, starts = bags.to_list(), bags.offsets
    K = np.zeros((len(bags), len(bags)))
    for i, X in enumerate(sets):
        for j in range(i, len(sets)):
            k = np.exp(-GAMMA * cdist(X, sets[j], "sqeuclidean"))
            K[i, j] = K[j, i] = weights[starts[i] : starts[i + 1]] @ k @ weights[starts[j] : starts[j + 1]]
    return K


def add_musk2(bench: Benchmark) -> None:
    bags, name = musk2()
    bags = bags[:QUICK_SETS] if bench.quick else bags
    weights = vector_weights(bags)
    n = len(bags)
    pairs = np.array([(i, j) for i in range(n) for j in range(i, n)])
    rng = np.random.default_rng(0)
    chosen = pairs[rng.choice(len(pairs), QUICK_LOOP_PAIRS if bench.quick else LOOP_PAIRS, replace=False)]
    visits = bags.sizes[pairs].prod(axis=1).sum() / bags.sizes[chosen].prod(axis=1).sum()
    K = set_kernel(bags, gamma=GAMMA)
    loop = by_definition(bags, weights, chosen[:3])
    require_agreement("our kernel and the loop", np.abs(K[tuple(chosen[:3].T)] - loop).max(), TOLERANCE)
    require_agreement("our kernel and cdist's", np.abs(K - by_cdist(bags, weights)).max(), TOLERANCE)
    seconds = interleave(
        {
            # As often in a row as makes it about as long as the others.
            "setrbm": lambda: wall(lambda: set_kernel(bags, gamma=GAMMA), 10),
            "loop": lambda: wall(lambda: by_definition(bags, weights, chosen)) * visits,
            "cdist": lambda: wall(lambda: by_cdist(bags, weights)),
        },
        bench.rounds,
    )
    sizes = f"{name}: {n} sets, {bags.n_vectors:,} vectors, {bags.shape[1]} features, float32"
    for peer, bar in (("loop", "kernel-loop"), ("cdist", "kernel-cdist")):
        ratio = seconds[peer] / seconds["setrbm"]
        bench.add(f"miGraph kernel: {peer} ÷ setrbm", ratio, bar=bar, threads=cores(), sizes=sizes)
    for who, values in seconds.items():
        bench.add(f"miGraph kernel, {who}", values, SECONDS, threads=cores() if who == "setrbm" else 1, sizes=sizes)


def kernel_growth(n_sets: int) -> float:
    """Return by how many MiB the peak of memory grows while a kernel of mail-like sets is made."""
    bags, _ = mail_sets(n_sets)
    set_kernel(bags[:50], gamma=GAMMA)
    return growth_in(lambda: set_kernel(bags, gamma=GAMMA, memory_mib=256))


def add_mail(bench: Benchmark) -> None:
    n_sets = QUICK_MAIL_SETS if bench.quick else MAIL_SETS
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        growth = process.submit(kernel_growth, n_sets).result()
    bags, y = mail_sets(n_sets)
    sizes = f"mail-like: {n_sets:,} sets, {bags.n_vectors:,} vectors, {bags.shape[1]:,} features, float32"
    bench.add("kernel of mail-like sets, growth of memory", growth, MIB, "kernel-memory", threads=cores(), sizes=sizes)
    half = n_sets // 2

    def run(model: object) -> float:
        return wall(lambda: model.fit(bags[:half], y[:half]).predict(bags[half:]))

    machine = run(SetSVC(C=10.0, memory_mib=256))
    # Warm, so that the compilation of the kernels is not counted.
    ClassSetRBM(max_epochs=1).fit(bags[:half], y[:half])
    rbm = run(ClassSetRBM(max_epochs=EPOCHS, early_stopping=False, random_state=0))
    what = f"SetSVC ÷ ClassSetRBM XOR* ({EPOCHS} epochs), fit one half and predict the other"
    bench.add(what, machine / rbm, threads=cores(), sizes=sizes)
    bench.add("SetSVC, fit and predict", machine, SECONDS, threads=cores(), sizes=sizes)
    bench.add("ClassSetRBM XOR*, fit and predict", rbm, SECONDS, threads=cores(), sizes=sizes)


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    add_musk2(bench)
    add_mail(bench)
    bench.finish()


if __name__ == "__main__":
    main()
