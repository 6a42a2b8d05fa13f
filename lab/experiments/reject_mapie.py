"""Does MAPIE set thresholds that keep a precision as well? Compares its controller with ``setrbm.selective.promise``.

MAPIE's BinaryClassificationController learns when a prediction is right: its class 1 is "right", its probability the
score, and it controls the precision of class 1. It is run with its default (the Bonferroni-Holm procedure) and with its
fixed sequence, on its default thresholds 0, 0.01, ..., 0.99. It is also run with its fixed sequence on thresholds that
were chosen by hand: the 0 %, 1 %, ..., 75 % quantiles of 10,000 unlabeled scores.

In a simulation, scores are probabilities of being right (calibrated), or their log-odds are tripled (overconfident), or
all predictions are right slightly less often than wanted, whatever their score (flat). Held-out sets are drawn from a
population of 200,000. The promise is broken if the precision of what is accepted of the population is below the target.
Coverage is divided by that of the best threshold in hindsight; a refusal counts as 0. The calibrated scores are like
those of the medium problem in ``reject_power.py``, on which the start of our sequence was chosen.

    python lab/experiments/reject_mapie.py > lab/results/reject_mapie.csv     (MAPIE 1.6; a minute on one core)
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable

import numpy as np
from mapie.risk_control import BinaryClassificationController

from setrbm.selective import promise

PRECISION, CONFIDENCE = 0.95, 0.95
HELD_OUT, RUNS = (500, 1000, 5000), 1000
N = 200_000


GRID = np.linspace(0.0, 0.99, 100)


def by_setrbm(scores: np.ndarray, right: np.ndarray, by_hand: np.ndarray) -> float:
    """Return the threshold of ``promise``; infinite if it refuses."""
    return promise(scores, right, PRECISION, CONFIDENCE).threshold


def by_mapie(method: str, default: bool = True) -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
    """Return a function that returns the threshold of MAPIE; infinite if it finds none."""

    def threshold(scores: np.ndarray, right: np.ndarray, by_hand: np.ndarray) -> float:
        controller = BinaryClassificationController(
            predict_function=lambda X: np.column_stack([1.0 - X[:, 0], X[:, 0]]),
            risk="precision",
            target_level=PRECISION,
            confidence_level=CONFIDENCE,
            list_predict_params=GRID if default else by_hand,
            fwer_method=method,
        )
        with warnings.catch_warnings():
            # That no threshold was found, or that the precision does not rise with every threshold.
            warnings.simplefilter("ignore")
            found = controller.calibrate(scores[:, np.newaxis], right.astype(int)).best_predict_param
        # MAPIE accepts scores equal to the threshold.
        return np.inf if found is None else np.nextafter(found, -np.inf)

    return threshold


METHODS = {
    "setrbm": by_setrbm,
    "MAPIE, default": by_mapie("bonferroni_holm"),
    "MAPIE, fixed sequence": by_mapie("fixed_sequence"),
    "MAPIE, fixed sequence by hand": by_mapie("fixed_sequence", default=False),
}


def populations() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return scores from the highest to the lowest, and whether each prediction is right, by kind of scores."""
    rng = np.random.default_rng(1)
    log_odds = np.sort(np.abs(rng.normal(2.0, 2.0, N)))[::-1]
    p = 1.0 / (1.0 + np.exp(-log_odds))
    right = rng.random(N) < p
    flat = rng.random(N) < PRECISION - 0.0005
    return {
        "calibrated": (p, right),
        "overconfident": (1.0 / (1.0 + np.exp(-3.0 * log_odds)), right),
        "flat": (p, flat),
    }


def main() -> None:
    """Write how often each method breaks its promise, and how much it accepts, in each case."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["scores", "held_out", "method", "runs", "broken", "refused", "part_of_possible_coverage"])
    for kind, (scores, right) in populations().items():
        precisions = np.cumsum(right) / np.arange(1, N + 1)
        # Of the flat scores only lucky few at the top have the precision.
        possible = np.nan if kind == "flat" else np.flatnonzero(precisions >= PRECISION)[-1] + 1
        by_hand = np.quantile(np.random.default_rng(3).choice(scores, 10_000), np.linspace(0.0, 0.75, 76))
        for n in HELD_OUT:
            rng = np.random.default_rng([2, n])
            samples = [rng.integers(0, N, n) for _ in range(RUNS)]
            for name, method in METHODS.items():
                thresholds = np.array([method(scores[drawn], right[drawn], by_hand) for drawn in samples])
                m = np.searchsorted(-scores, -thresholds, side="left")
                broken = (m > 0) & (precisions[m - 1] < PRECISION)
                shares = (broken.mean(), (m == 0).mean(), m.mean() / possible)
                writer.writerow([kind, n, name, RUNS, *(f"{share:.4f}" for share in shares)])


if __name__ == "__main__":
    main()
