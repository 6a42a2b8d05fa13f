"""Fits and predictions on a busy machine.

Does the default number of threads ever cost time? With one busy process per core beside it, the default ``n_jobs=None``
is compared with ``n_jobs=1``: ``ClassSetRBM().fit``, ``ClassSetRBMCV().fit`` (few epochs, otherwise default settings)
and ``predict_proba``, on dense sets of the shape of Musk1, sparse sets of the shape of the paper's mail, and many tiny
sets. The same without the busy processes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from _bars import SECONDS
from _harness import Benchmark, interleave, mail_sets, wall
from _machine import cores
from setrbm import Bags, ClassSetRBM, ClassSetRBMCV

# Sets, vectors per set and features of the dense problems.
DENSE = {"dense sets like Musk1": (1_000, 5, 166), "tiny sets": (300, 2, 10)}
MAIL_SETS = 6_000
QUICK_SHARE = 10
# Seconds that a measurement takes at least.
SHORTEST = 1.0
# Epochs of the single model and of the candidates.
EPOCHS, EPOCHS_CV = 20, 5


@contextmanager
def busy(n: int) -> Iterator[None]:
    """Keep n cores busy with another process each."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def problems(share: int) -> dict[str, tuple[Bags, np.ndarray]]:
    """Return the sets to learn from."""
    rng = np.random.default_rng(0)
    found = {"sparse sets like mail": mail_sets(MAIL_SETS // share)}
    for name, (n_sets, size, n_features) in DENSE.items():
        n_sets //= share
        X = rng.random((n_sets * size, n_features), dtype=np.float32)
        found[name] = Bags(X, np.arange(n_sets + 1) * size), np.arange(n_sets) % 2
    return found


def jobs(bags: Bags, y: np.ndarray) -> dict[str, Callable[[int | None], object]]:
    """Return what is timed, each a function of ``n_jobs``."""
    # Labels of the dense sets are random: a low rate keeps the models from diverging.
    settings = {"learning_rate": 1e-3, "random_state": 0}
    fitted = ClassSetRBM(max_epochs=1, **settings).fit(bags, y)
    return {
        "ClassSetRBM().fit": lambda n: ClassSetRBM(max_epochs=EPOCHS, n_jobs=n, **settings).fit(bags, y),
        "ClassSetRBMCV().fit": lambda n: ClassSetRBMCV(max_epochs=EPOCHS_CV, n_jobs=n, random_state=0).fit(bags, y),
        "predict_proba": lambda n: fitted.set_params(n_jobs=n).predict_proba(bags),
    }


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    for name, (bags, y) in problems(QUICK_SHARE if bench.quick else 1).items():
        sizes = f"{len(bags):,} {name}, {bags.n_vectors:,} vectors, {bags.shape[1]:,} features"
        for n_busy, beside in ((cores(), "busy"), (0, "idle")):
            for what, job in jobs(bags, y).items():
                # A call may be shorter than a turn of the scheduler: several are timed together.
                times = max(1, round(SHORTEST / wall(lambda job=job: job(1))))
                contenders = {n: lambda n=n, job=job, times=times: wall(lambda: job(n), times) for n in (None, 1)}
                with busy(n_busy):
                    seconds = interleave(contenders, bench.rounds)
                bar = "busy" if n_busy else ""
                label = f"{what}, {name}, {beside}"
                bench.add(
                    f"{label}: default ÷ n_jobs=1", seconds[None] / seconds[1], bar=bar, threads=cores(), sizes=sizes
                )
                bench.add(f"{label}, n_jobs=1", seconds[1], SECONDS, sizes=sizes)
    bench.finish()


if __name__ == "__main__":
    main()
