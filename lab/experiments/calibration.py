"""Predicted probabilities of test sets, to measure calibration: what `lab/results/table1.csv` does not keep.

Fits two rows of Table 1 again on every fold of Musk1, on the CPU, and writes the predicted probability of every test
set to lab/results/calibration.csv. The page of the table takes its calibration errors from there. (Rows of the table
that were trained on a GPU can differ from these in single folds.)

    python lab/experiments/calibration.py     (a few minutes on two cores)
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import joblib
import numpy as np

from setrbm import Bags
from setrbm.datasets import load_musk1
from setrbm.evaluation.splits import Split, repeated_folds, system_seed
from setrbm_lab.paper import FOLDS, REPEATS
from setrbm_lab.systems import find_system

LOG = Path(__file__).parents[1] / "results" / "calibration.csv"
SYSTEMS, SEED = ("ClassSetRBM XOR*", "ClassSetRBMCV (former)"), 2011


def predictions(system: str, bags: Bags, y: np.ndarray, split: Split) -> list[tuple[object, ...]]:
    """Return a line for every test set of a fold: what it is, its label and the predicted probability of class 1."""
    model = find_system(system).make(system_seed(SEED, split), False, "cpu", 1)
    p = model.fit(bags[split.train], y[split.train]).predict_proba(bags[split.test])[:, 1]
    return [
        ("musk1", system, split.repeat, split.fold, k, y[k], f"{probability:.6f}")
        for k, probability in zip(split.test, p, strict=True)
    ]


def main() -> None:
    """Fit all folds and write the predictions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    bags, y = load_musk1()
    bags = Bags(bags.X.astype(np.float32), bags.offsets)
    splits = repeated_folds(y, FOLDS, REPEATS, SEED)
    jobs = (joblib.delayed(predictions)(system, bags, y, split) for system in SYSTEMS for split in splits)
    lines = [line for fold in joblib.Parallel(n_jobs=options.jobs)(jobs) for line in fold]
    with options.log.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["dataset", "system", "repeat", "fold", "set", "label", "p"])
        writer.writerows(lines)


if __name__ == "__main__":
    main()
