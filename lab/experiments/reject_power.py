"""Where should the thresholds of ``setrbm.selective.promise`` start? Compares the coverage of several starts.

In a simulation, scores are probabilities of being right (easy, medium and hard problems), or 2 % too high (wrong
labels). Held-out sets are drawn from a population of 300,000, a threshold is chosen for each start, and the share of
the population it accepts is divided by what the best threshold in hindsight accepts; refusing counts as 0. The
confidence is 0.95, the step a hundredth of the held-out sets. A start is a number of accepted sets: a fixed part of the
held-out sets, or a multiple of the fewest sets that could show the precision, within limits.

    python lab/experiments/reject_power.py > lab/results/reject_power.csv     (some minutes)
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable

import numpy as np
from scipy.stats import binom

from setrbm.selective.promise import fewest_sets

PROBLEMS = {"easy": 3.0, "medium": 2.0, "hard": 1.0}
NOISE = (0.0, 0.02)
PRECISIONS, CONFIDENCE, STEP = (0.9, 0.95, 0.98), 0.95, 0.01
RUNS = {500: 80, 1500: 60, 5000: 40, 20_000: 20}
N = 300_000

Start = Callable[[int, int], float]


def multiple(times: int, low: float, high: float) -> Start:
    """Return a start at a multiple of the fewest sets, between two parts of the held-out sets."""
    return lambda n, fewest: min(max(times * fewest, low * n), high * n)


STARTS: dict[str, Start] = {
    "first decidable": lambda n, fewest: fewest,
    "quarter": lambda n, fewest: n / 4,
    "sixth": lambda n, fewest: n / 6,
} | {
    f"{times} x fewest, {low:g} to {high:g}": multiple(times, low, high)
    for times in (3, 4, 6)
    for low in (0.0, 1 / 16, 1 / 8)
    for high in (0.25, 0.35)
}


def population(mean: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each prediction is right, from the highest score down, and the precision from there up."""
    rng = np.random.default_rng(1)
    p = np.sort(1.0 / (1.0 + np.exp(-np.abs(rng.normal(mean, 2.0, N)))))[::-1]
    right = rng.random(N) < p * (1.0 - noise)
    return right, np.cumsum(right) / np.arange(1, N + 1)


def n_accepted(right: np.ndarray, start: float, precision: float) -> int:
    """Return how many of the held-out sets, sorted by score, the chosen threshold accepts."""
    n = len(right)
    first = max(math.ceil(start), fewest_sets(precision, CONFIDENCE))
    m = np.append(np.arange(first, n, math.ceil(STEP * n)), n)
    passed = binom.sf(np.cumsum(right)[m - 1] - 1, m, precision) <= 1.0 - CONFIDENCE
    n_passed = len(m) if passed.all() else int(np.argmin(passed))
    return int(m[n_passed - 1]) if n_passed else 0


def main() -> None:
    """Write the mean coverage, as a part of what is possible, of each start in each case."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["start", "problem", "noise", "precision", "held_out", "runs", "part_of_possible_coverage"])
    rng = np.random.default_rng(0)
    for problem, mean in PROBLEMS.items():
        for noise in NOISE:
            right, precisions = population(mean, noise)
            for precision in PRECISIONS:
                possible = np.flatnonzero(precisions >= precision)
                if not len(possible) or possible[-1] < 0.02 * N:
                    continue
                for n, runs in RUNS.items():
                    coverage = dict.fromkeys(STARTS, 0.0)
                    for _ in range(runs):
                        drawn = np.sort(rng.integers(0, N, n))
                        for name, start in STARTS.items():
                            m = n_accepted(right[drawn], start(n, fewest_sets(precision, CONFIDENCE)), precision)
                            coverage[name] += (drawn[m] if m < n else N) / (possible[-1] + 1) if m else 0.0
                    for name, total in coverage.items():
                        writer.writerow([name, problem, noise, precision, n, runs, f"{total / runs:.4f}"])


if __name__ == "__main__":
    main()
