"""What does ``ClassSetRBMCV(calibrate=True)`` do to the log loss? Fits our former row of Table 1 with it, on its folds.

Every fold of a data set is fitted at once. The probabilities of its test sets are judged twice, as they are without
calibration (temperature 1) and with the fitted temperature; the predicted classes are the same. One line per fold:

    python lab/experiments/calibrated.py --engine gpu --data-home FOLDER             lab/results/calibrated.csv
    python lab/experiments/calibrated.py --engine gpu --data-home FOLDER --inside    lab/results/calibrated-inside.csv

``--inside`` leaves the test folds closed: it splits the training part of each of ten folds in five and judges two of
them, as lab/experiments/recipe.py does. It was run first, to see whether the procedure is worth the outer folds.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from setrbm import Bags, ClassSetRBMCV
from setrbm.datasets import load_benchmark
from setrbm.evaluation.splits import repeated_folds, system_seed
from setrbm_lab.paper import FOLDS, REPEATS
from setrbm_lab.side_by_side import fit_side_by_side
from setrbm_lab.systems import FORMER, ROWS

RESULTS = Path(__file__).parents[1] / "results"
DATASETS = ("musk1", "musk2", "elephant", "fox", "tiger")
SEED, SEED_INSIDE, PARTS, JUDGED = 2011, 1000, 5, 2
COLUMNS = ("dataset", "repeat", "fold", "n_test", "n_right", "log_loss", "calibrated_log_loss", "temperature")

Part = tuple[int, int, int, Any, Any]


def outer_parts(y: np.ndarray) -> list[Part]:
    """Return repeat, fold, seed, training sets and test sets of every fold of Table 1."""
    splits = repeated_folds(y, FOLDS, REPEATS, SEED)
    return [(split.repeat, split.fold, system_seed(SEED, split), split.train, split.test) for split in splits]


def inner_parts(y: np.ndarray) -> list[Part]:
    """Return the same for parts of training parts."""
    parts: list[Part] = []
    for outer in repeated_folds(y, FOLDS, 1, SEED_INSIDE):
        inner = repeated_folds(y[outer.train], PARTS, 1, SEED_INSIDE + 1 + outer.fold)
        for k in range(JUDGED):
            parts.append((outer.fold, k, k, outer.train[inner[k].train], outer.train[inner[k].test]))
    return parts


def log_loss(p: np.ndarray, codes: np.ndarray) -> float:
    """Return the mean of -log p of the true class, as in Table 1."""
    return float(-np.log(np.clip(p[np.arange(len(codes)), codes], 1e-15, None)).mean())


def judged(model: ClassSetRBMCV, bags: Bags, y: np.ndarray) -> tuple[Any, ...]:
    """Return the number of right sets, the log loss without and with calibration, and the temperature."""
    codes, temperature = np.searchsorted(model.classes_, y), model.calibration_temperature_
    calibrated = log_loss(model.predict_proba(bags), codes)
    n_right = int((model.predict(bags) == y).sum())
    model.calibration_temperature_ = 1.0
    plain = log_loss(model.predict_proba(bags), codes)
    return len(y), n_right, f"{plain:.6f}", f"{calibrated:.6f}", f"{temperature:.4f}"


def cell(name: str, inside: bool, engine: str, data_home: Path | None) -> list[tuple[Any, ...]]:
    """Return a line for every part of one data set."""
    bags, y = load_benchmark(name, data_home)
    bags = Bags(bags.X.astype(np.float32), bags.offsets)
    parts = inner_parts(y) if inside else outer_parts(y)
    models = [ROWS[FORMER].make(seed, False, engine, 1).set_params(calibrate=True) for _, _, seed, _, _ in parts]
    faults = fit_side_by_side(models, [(bags[train], y[train], None) for *_, train, _ in parts])
    if any(faults):
        raise next(fault for fault in faults if fault is not None)
    for model in models:
        model.engine = "cpu"
    return [
        (name, repeat, fold, *judged(model, bags[test], y[test]))
        for (repeat, fold, _, _, test), model in zip(parts, models, strict=True)
    ]


def main() -> None:
    """Fit all parts of all data sets, and write and summarize the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inside", action="store_true", help="judge parts of training parts, not the test folds")
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    lines: list[tuple[Any, ...]] = []
    for name in options.datasets:
        lines += cell(name, options.inside, options.engine, options.data_home)
        losses = np.array([line[5:8] for line in lines if line[0] == name], dtype=float)
        plain, calibrated, temperature = losses.mean(axis=0)
        print(
            f"{name}: log loss {plain:.4f}, calibrated {calibrated:.4f}, mean temperature {temperature:.2f}", flush=True
        )
    path = options.output / ("calibrated-inside.csv" if options.inside else "calibrated.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])


if __name__ == "__main__":
    main()
