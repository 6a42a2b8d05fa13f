"""Does RejectOption keep its promise, and how much does it accept? Draws held-out sets from a large scored pool.

One ClassSetRBM (XOR*) learns from 14,593 pieces of generated mail and is then frozen. It scores a pool of 500,000 fresh
pieces. For each precision and each number of held-out sets, 1,000 samples are drawn from the pool, and a threshold is
set on each. The promise is broken if the precision of what the threshold accepts of the rest of the pool is below the
target. The p-value is that of the one-sided binomial test against the 5 % that a confidence of 0.95 allows. Coverage is
the part of the rest of the pool that is accepted; a refusal counts as 0. It is compared with what the lowest threshold
that has the precision on the whole pool accepts: the best threshold in hindsight. The settings of the model were fixed
before the pool was generated.

    python lab/experiments/reject_guarantee.py > lab/results/reject_guarantee.csv     (two minutes on one core)
"""

from __future__ import annotations

import csv
import sys

import numpy as np
from scipy.stats import binomtest

from setrbm import ClassSetRBM
from setrbm.datasets import make_mail_like
from setrbm.selective import promise, selective_curve, sureness

SETTINGS = {"n_hidden": 100, "scale": None, "learning_rate": 0.02, "max_epochs": 15, "early_stopping": False}
N_POOL, CHUNK = 500_000, 10_000
PRECISIONS, CONFIDENCE = (0.9, 0.95, 0.98), 0.95
HELD_OUT, SAMPLES = (500, 1000, 2000, 5000, 10_000, 20_000), 1000
COLUMNS = (
    "precision", "held_out", "samples", "pool_accuracy", "hindsight_coverage", "broken", "p_value", "refused",
    "mean_coverage", "part_of_hindsight", "share_in_interval",
)  # fmt: skip


def scored_pool() -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the pool from the highest to the lowest, and whether each prediction is right."""
    model = ClassSetRBM(random_state=0, **SETTINGS).fit(*make_mail_like(random_state=0))
    scores, right = [], []
    for chunk in range(N_POOL // CHUNK):
        bags, y = make_mail_like(CHUNK, random_state=np.random.default_rng([1, chunk]))
        predicted, sure = sureness(model, bags)
        scores.append(sure)
        right.append(predicted == y)
    order = np.argsort(-np.concatenate(scores), kind="stable")
    return np.concatenate(scores)[order], np.concatenate(right)[order]


def trial(scores: np.ndarray, right: np.ndarray, n_right: np.ndarray, n: int, precision: float, rng) -> list[float]:
    """Set a threshold on n sets drawn from the pool. Return what it does on the others.

    ``n_right[m]`` is how many of the first m predictions of the pool are right. Returned are precision (NaN if nothing
    is accepted), coverage, and whether the share left to people lies in the interval that was stated.
    """
    drawn = rng.choice(N_POOL, n, replace=False, shuffle=False)
    found = promise(scores[drawn], right[drawn], precision, CONFIDENCE)
    m = int(np.searchsorted(-scores, -found.threshold, side="left"))
    accepted = m - found.n_accepted
    kept = (n_right[m] - found.n_right) / accepted if accepted else np.nan
    coverage = accepted / (N_POOL - n)
    return [kept, coverage, found.share_low <= 1.0 - coverage <= found.share_high]


def main() -> None:
    """Write one line per precision and number of held-out sets."""
    scores, right = scored_pool()
    n_right = np.concatenate([[0], np.cumsum(right)])
    curve = selective_curve(np.ones(N_POOL, dtype=bool), right, scores)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for precision in PRECISIONS:
        hindsight = curve.coverage[curve.precision >= precision].max(initial=0.0)
        for n in HELD_OUT:
            rng = np.random.default_rng([2, n, round(1000 * precision)])
            kept, coverage, inside = np.transpose(
                [trial(scores, right, n_right, n, precision, rng) for _ in range(SAMPLES)]
            )
            broken = int((kept < precision).sum())
            p = binomtest(broken, SAMPLES, 1.0 - CONFIDENCE, alternative="greater").pvalue
            refused, mean = np.isnan(kept), coverage.mean()
            part = mean / hindsight if hindsight else np.nan
            shares = (right.mean(), hindsight, broken / SAMPLES, p, refused.mean(), mean, part, inside[~refused].mean())
            writer.writerow([precision, n, SAMPLES, *(f"{share:.4f}" for share in shares)])


if __name__ == "__main__":
    main()
