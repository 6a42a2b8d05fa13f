"""How much do probabilities change with the order of the training sets, of the labels, or with the seed?

    python lab/experiments/set_order.py lab/results/set_order.csv

One split of Musk1; the largest change of a single probability of the test sets. docs/guide/limits.md quotes the largest
of each kind.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from setrbm import ClassSetRBM, ClassSetRBMCV
from setrbm.datasets import load_musk1

N_ORDERS = 5


def main(path: str) -> None:
    """Measure, and write a CSV file."""
    bags, y = load_musk1()
    train, test, y_train, _ = train_test_split(bags, y, stratify=y, random_state=0)

    def p_of_second(cls: Any, order: Any, seed: int = 0, swapped: bool = False) -> Any:
        labels = 1 - y_train[order] if swapped else y_train[order]
        p = cls(random_state=seed).fit(train[order], labels).predict_proba(test)
        return p[:, 0 if swapped else 1]

    same, rng = np.arange(len(y_train)), np.random.default_rng(0)
    orders = [rng.permutation(len(y_train)) for _ in range(N_ORDERS)]
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["estimator", "change", "number", "largest_change"])
        for cls in (ClassSetRBMCV, ClassSetRBM):
            first = p_of_second(cls, same)
            others = {"order of sets": [p_of_second(cls, order) for order in orders]}
            others["labels swapped"] = [p_of_second(cls, same, swapped=True)]
            others["seed"] = [p_of_second(cls, same, seed) for seed in range(1, N_ORDERS + 1)]
            for change, found in others.items():
                for number, p in enumerate(found):
                    writer.writerow([cls.__name__, change, number, f"{np.abs(p - first).max():.3f}"])


if __name__ == "__main__":
    main(sys.argv[1])
