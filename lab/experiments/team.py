"""Whether a team of threads on one model pays: an epoch by two threads compared with one, idle and busy.

Run once, on the last commit whose CPU engine had teams (4d61914), and stopped after 330 seconds, in the second problem
beside busy processes; ``lab/results/team.csv`` has the outcome, and decision 0003 what followed from it. On later
commits both contenders train on one thread.

    python lab/experiments/team.py lab/results/team.csv
"""

from __future__ import annotations

import csv
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from _harness import mail_sets
from setrbm import Bags, ClassSetRBM

ROUNDS = 5
DENSE_FEATURES = 166


def spin() -> None:
    """Keep a core busy."""
    while True:
        pass


@contextmanager
def busy(n: int) -> Iterator[None]:
    """Keep n cores busy with another process each."""
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(n)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.join()


def dense_sets(n_sets: int, size: int, n_features: int = DENSE_FEATURES) -> tuple[Bags, np.ndarray]:
    """Return dense sets with random labels."""
    rng = np.random.default_rng(0)
    X = rng.random((n_sets * size, n_features), dtype=np.float32)
    return Bags(X, np.arange(n_sets + 1) * size), rng.integers(0, 2, n_sets)


def seconds(bags: Bags, y: np.ndarray, n_hidden: int, threads: int, epochs: int) -> float:
    """Return the time of an epoch, that of a whole fit divided by its epochs."""
    model = ClassSetRBM(
        n_hidden, learning_rate=1e-3, max_epochs=epochs, early_stopping=False, scale=None, n_jobs=threads,
        random_state=0,
    )  # fmt: skip
    begin = time.perf_counter()
    model.fit(bags, y)
    return (time.perf_counter() - begin) / epochs


def main(path: str) -> None:
    """Measure, and write a CSV file."""
    mail = mail_sets(6_000)
    data = {
        "6,000 sets of mail, 100 hidden units": (*mail, 100, 8),
        "6,000 sets of mail, 500 hidden units": (*mail, 500, 4),
        "1,000 dense sets like Musk1, 100 hidden units": (*dense_sets(1_000, 5), 100, 20),
        "1,000 dense sets like Musk1, 500 hidden units": (*dense_sets(1_000, 5), 500, 10),
        "2,000 sets of 100 dense vectors, 500 hidden units": (*dense_sets(2_000, 100), 500, 2),
    }
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["sets", "busy_processes", "round", "epoch_seconds_one_thread", "epoch_seconds_two_threads"])
        for n_busy, rounds in ((0, 5), (len(os.sched_getaffinity(0)), 3)):
            for name, (bags, y, n_hidden, epochs) in data.items():
                seconds(bags[:100], y[:100], n_hidden, 2, 1)
                with busy(n_busy):
                    rows = [[seconds(bags, y, n_hidden, threads, epochs) for threads in (1, 2)] for _ in range(rounds)]
                for number, (one, two) in enumerate(rows):
                    writer.writerow([name, n_busy, number, f"{one:.6g}", f"{two:.6g}"])
                file.flush()
                ratio = np.median([two / one for one, two in rows])
                print(f"{name}, {n_busy} busy processes: two threads ÷ one thread {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
