r"""Is there a better pooling between the log-mean-exp and the maximum?

.. math:: \mathrm{pool}_j = \frac{1}{t} \log \frac{1}{|X|} \sum_s e^{t v_{sj}}

t = 1 is ``pooling="mean"``; as t grows, the pool approaches the maximum (``pooling="hard"``). Models with several t are
trained on the splits of lab/experiments/kinds.py by a short loop of their own, since the engines have only the two
ends: online gradient descent at rate 0.01 from weights in [-1, 1], 400 epochs, two fits averaged. Every line, by data
set, scaling and t, goes to lab/results/sharpness.csv; "1 and max" averages the fits of both ends.

    python lab/experiments/sharpness.py --data-home FOLDER [--jobs N]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from kinds import RESULTS, load, scaled, splits, write_csv
from numba import njit

from setrbm import draws
from setrbm.energy import initial_params

DATASETS = ("musk1", "elephant", "fox", "mutagenesis2", "newsgroups1", "newsgroups3")
SHARPNESS = (1.0, 2.0, 4.0, 16.0, np.inf)
SCALES = ("centered, normed", "standardized, normed")
RATE, SIZE, EPOCHS, N_FITS, MOST_SPLITS = 0.01, 1.0, 400, 2, 5


@njit(cache=True)
def pooled(v: Any, t: float) -> Any:
    """Return the pool of each unit and the share of each vector in it."""
    size, n_hidden = v.shape
    pool, share = np.empty(n_hidden, v.dtype), np.zeros_like(v)
    for j in range(n_hidden):
        peak = v[:, j].argmax()
        pool[j] = v[peak, j]
        if np.isinf(t):
            share[peak, j] = 1.0
            continue
        total = 0.0
        for s in range(size):
            share[s, j] = np.exp(t * (v[s, j] - pool[j]))
            total += share[s, j]
        share[:, j] /= total
        pool[j] += np.log(total / size) / t
    return pool, share


@njit(cache=True)
def scores(pool: Any, U: Any, d: Any) -> Any:
    """Return minus the free energy of each class."""
    found = d.copy()
    for y in range(len(d)):
        for j in range(len(pool)):
            z = pool[j] + U[j, y]
            found[y] += max(z, 0.0) + np.log1p(np.exp(-abs(z)))
    return found


@njit(cache=True)
def epoch(X: Any, offsets: Any, y: Any, order: Any, W: Any, U: Any, c: Any, d: Any, t: float, rate: float) -> None:
    """Take one step of gradient descent on every set of ``order``; change W, U, c and d."""
    for k in order:
        x = X[offsets[k] : offsets[k + 1]]
        pool, share = pooled(np.dot(x, W.T) + c, t)
        F = scores(pool, U, d)
        slope = np.exp(F - F.max())
        slope = -slope / slope.sum()
        slope[y[k]] += 1.0
        d_pool = np.zeros_like(pool)
        for j in range(len(pool)):
            for label in range(len(d)):
                on = slope[label] / (1.0 + np.exp(-(pool[j] + U[j, label])))
                d_pool[j] += on
                U[j, label] += rate * on
        d_v = share * d_pool
        W += rate * np.dot(d_v.T, x)
        c += rate * d_v.sum(axis=0)
        d += rate * slope


def judged(name: str, split: int, scale: str, data_home: Path | None) -> dict[float, np.ndarray]:
    """Return the mean scores of the sets to judge by, for each sharpness."""
    bags, y = load(name, data_home)
    part = splits(y)[split]
    sets = scaled(bags, part.train, scale)
    found = {}
    for t in SHARPNESS:
        total = 0.0
        for seed in range(N_FITS):
            start = initial_params(bags.shape[1], 100, int(y.max()) + 1, SIZE, seed, np.float32)
            W, U, c, d = (np.ascontiguousarray(letter) for letter in (start.W, start.U, start.c, start.d))
            for number in range(EPOCHS):
                order = draws.order(seed, number, part.train)
                epoch(sets.X, sets.offsets, y, order, W, U, c, d, t, np.float32(RATE))
            rows = [sets.X[sets.offsets[k] : sets.offsets[k + 1]] for k in part.test]
            total = total + np.array([scores(pooled(np.dot(x, W.T) + c, t)[0], U, d) for x in rows])
        found[t] = total
    return found


def lines_of(name: str, split: int, scale: str, data_home: Path | None) -> list[dict[str, Any]]:
    """Return the accuracy on one split for each sharpness, and for the average of both ends."""
    y = load(name, data_home)[1]
    truth, found = y[splits(y)[split].test], judged(name, split, scale, data_home)
    kinds = {f"{t:g}": F for t, F in found.items()} | {"1 and max": found[1.0] + found[np.inf]}
    return [
        {"dataset": name, "split": split, "inputs": scale, "t": t.replace("inf", "max"),
         "accuracy": round(100.0 * float((F.argmax(axis=1) == truth).mean()), 2)}
        for t, F in kinds.items()
    ]  # fmt: skip


def main() -> None:
    """Judge every sharpness on every data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tasks = [
        (name, split, scale)
        for name in DATASETS
        for scale in SCALES
        for split in range(min(MOST_SPLITS, len(splits(load(name, options.data_home)[1]))))
    ]
    found = Parallel(options.jobs)(delayed(lines_of)(*task, options.data_home) for task in tasks)
    write_csv(RESULTS / "sharpness.csv", [line for lines in found for line in lines])


if __name__ == "__main__":
    main()
