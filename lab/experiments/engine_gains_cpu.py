"""What do the wide values of the CPU engine gain over plain loops? Prints CSV.

    PYTHONPATH=src:lab python lab/experiments/engine_gains_cpu.py > lab/results/engine_gains_cpu.csv

Epochs of the engine on one thread: Musk1, sparse mail-like sets, and hybrids of these. In a second process the
functions that use wide values are replaced by loops over the same arrays, with what helps Numba: unsigned numbers, and
rows as arrays of their own. The two processes take turns; times are those of the thread on its core, and the ratio is
the median of the rounds' ratios. With ``--busy`` a busy process per core runs beside them.
"""

from __future__ import annotations

import csv
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS, AT_LEAST = 9, 0.3
COLUMNS = ("what", "plain ÷ wide", "low", "high", "wide_seconds", "plain_seconds")


def use_plain_loops() -> None:
    """Replace the functions that use wide values, before anything is compiled."""
    from setrbm.engines.cpu import activations, reconstruction, updates
    from setrbm.engines.cpu.compiling import kernel
    from setrbm.engines.cpu.layout import UNIT_BLOCK

    size = np.uint64(UNIT_BLOCK)

    @kernel
    def activate(W, scale, c, values, cols, a, n_units):
        for block in range(W.shape[0]):
            first = np.uint64(block) * size
            last = min(size, n_units - first)
            row = a[first : first + last]
            for j in range(last):
                row[j] = 0
            for k in range(len(values)):
                x, w = values[k], W[block, cols[k]]
                for j in range(last):
                    row[j] += x * w[j]
            for j in range(last):
                row[j] = c[first + j] + scale * row[j]

    @kernel
    def activate_dense(W, scale, c, values, x, n_vectors, a, n_units):
        n = np.uint64(W.shape[1])
        for s in range(n_vectors):
            x_s = values[x + s * W.shape[1] : x + (s + 1) * W.shape[1]]
            for block in range(W.shape[0]):
                first = np.uint64(block) * size
                last = min(size, n_units - first)
                total = a[s, first : first + last]
                for j in range(last):
                    total[j] = 0
                for i in range(n):
                    w = W[block, i]
                    for j in range(last):
                        total[j] += x_s[i] * w[j]
                for j in range(last):
                    total[j] = c[first + j] + scale * total[j]

    @kernel
    def apply_vector_step(W, factor, coef, values, cols, units, indices, n_units):
        for block in range(W.shape[0]):
            first = np.uint64(block) * size
            last = min(size, n_units - first)
            part, total = coef[first : first + last], coef.dtype.type(0)
            for j in range(last):
                total += abs(part[j])
            if total != 0:
                for k in range(len(values)):
                    x, w = factor * values[k], W[block, cols[k]]
                    for j in range(last):
                        w[j] -= x * part[j]
        for j in range(n_units):
            coef[j] = 0

    @kernel
    def apply_dense_steps(W, factor, coef, row, values, x, n_vectors, n_units):
        n = np.uint64(W.shape[1])
        for block in range(W.shape[0]):
            first = np.uint64(block) * size
            last = min(size, n_units - first)
            for s in range(n_vectors):
                x_s = values[x + s * W.shape[1] : x + (s + 1) * W.shape[1]]
                part = coef[row + s, first : first + last]
                for i in range(n):
                    w, step = W[block, i], factor * x_s[i]
                    for j in range(last):
                        w[j] -= step * part[j]
        for s in range(n_vectors):
            for j in range(n_units):
                coef[row + s, j] = 0

    @kernel
    def dot(W, index, row, unit, last):
        flat, total = W.reshape(W.size), W.dtype.type(0)
        weights, others = flat[index : index + last - unit], row[unit:last]
        for j in range(np.uint64(last - unit)):
            total += weights[j] * others[j]
        return total

    @kernel
    def measure(W, index, n):
        flat, largest, total = W.reshape(W.size), W.dtype.type(0), W.dtype.type(0)
        weights = flat[index : index + n]
        for j in range(np.uint64(n)):
            positive = max(weights[j], W.dtype.type(0))
            largest, total = max(positive, largest), total + positive
        return largest, total

    activations.activate, activations.activate_dense = activate, activate_dense
    updates.apply_vector_step, updates.apply_dense_steps = apply_vector_step, apply_dense_steps
    reconstruction.dot, reconstruction.measure = dot, measure


def problems() -> dict[str, Any]:
    """Return what to train on: sets, labels and settings."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from _zipf_sets import make_zipf_sets
    from setrbm import Bags
    from setrbm.datasets import load_musk1
    from setrbm.engines.protocol import Spec
    from setrbm.scaling import Scaling

    musk, y = load_musk1()
    musk = Bags(musk.X.astype(np.float32), musk.offsets)
    musk = Scaling.fit(musk).apply(musk)
    mail, labels = make_zipf_sets(6_000, random_state=0)
    few = slice(None, 500)
    one = {"dtype": "float32"}
    return {
        "Musk1, XOR*": (musk, y, Spec("xor", "hard", **one)),
        "Musk1, XOR": (musk, y, Spec("xor", "soft", **one)),
        "Musk1, XOR* hybrid": (musk, y, Spec("xor", "hard", generative=True, **one)),
        "mail, XOR*": (mail, labels, Spec("xor", "hard", **one)),
        "mail, XOR": (mail, labels, Spec("xor", "soft", **one)),
        "mail, XOR hybrid": (mail[few], labels[few], Spec("xor", "soft", generative=True, **one)),
        "mail, OR hybrid": (mail[few], labels[few], Spec("or", "soft", generative=True, **one)),
    }


def work(connection: Any, is_plain: bool) -> None:
    """Train an epoch of a problem whenever asked, and answer with the seconds and the loss."""
    from setrbm.energy import initial_params
    from setrbm.engines import get_engine
    from setrbm.engines.protocol import LabeledSets, Model

    if is_plain:
        use_plain_loops()
    sessions = {}
    for what, (bags, y, spec) in problems().items():
        codes = np.unique(y, return_inverse=True)[1]
        engine, sets = get_engine("cpu"), LabeledSets(bags, codes, np.ones(len(y)))
        params = initial_params(bags.shape[1], 100, int(codes.max()) + 1, 0.1, 0, np.float32)
        session = engine.begin(spec, [Model(params, 3, 0.03, 0.001)], 1)
        sessions[what] = session, engine.place(sets, spec), np.random.default_rng(0).permutation(len(y))
    while (asked := connection.recv()) is not None:
        what, times = asked
        session, placed, order = sessions[what]
        begin = time.thread_time()
        for epoch in range(times):
            loss = session.run([placed], [order], epoch)[0]
        connection.send(((time.thread_time() - begin) / times, loss))


def spin() -> None:
    """Keep a core busy."""
    while True:
        pass


@contextmanager
def neighbors(n: int) -> Iterator[None]:
    """Run busy processes."""
    processes = [multiprocessing.get_context("spawn").Process(target=spin, daemon=True) for _ in range(n)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()


def main() -> None:
    """Print the CSV."""
    spawn, ways = multiprocessing.get_context("spawn"), {}
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    with tempfile.TemporaryDirectory() as cache:
        for way in ("wide", "plain"):
            os.environ["NUMBA_CACHE_DIR"] = f"{cache}/{way}"
            ways[way], theirs = spawn.Pipe()
            spawn.Process(target=work, args=(theirs, way == "plain"), daemon=True).start()

        def ask(way: str, what: str, times: int) -> tuple[float, float]:
            ways[way].send((what, times))
            return ways[way].recv()

        with neighbors(len(os.sched_getaffinity(0)) if "--busy" in sys.argv else 0):
            for what in problems():
                losses = [ask(way, what, 1)[1] for way in ways]
                assert abs(losses[0] / losses[1] - 1) < 1e-3, losses
                times = max(1, int(AT_LEAST / ask("wide", what, 1)[0]))
                rounds = np.array([[ask(way, what, times)[0] for way in ways] for _ in range(ROUNDS)]).T
                low, ratio, high = np.quantile(rounds[1] / rounds[0], (0.25, 0.5, 0.75))
                out.writerow((what, *(f"{number:.4g}" for number in (ratio, low, high, *np.median(rounds, axis=1)))))
                sys.stdout.flush()
        for connection in ways.values():
            connection.send(None)


if __name__ == "__main__":
    main()
