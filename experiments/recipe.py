"""Which settings of ClassSetRBMCV are best, judged inside training parts alone?

For each data set the sets are dealt into ten folds, by a seed no table uses. Each training part is dealt into five
folds of its own, and a recipe is fitted on four of them and scored on the fifth: 50 fits a data set, and no test fold
is ever opened. Every candidate tried leaves a line in results/recipe.csv, the poor ones too; the recipe of the table is
chosen from these lines, and only then run on the table's folds.

    python experiments/recipe.py --data-home FOLDER [--engine gpu] [NAME ...]
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from setrbm import Bags, ClassSetRBMCV
from setrbm.datasets import load_benchmark
from setrbm.evaluation.paper import DATASETS
from setrbm.evaluation.protocol import Split, Trial, fit_and_judge_side_by_side, repeated_folds, system_seed

SEED, FOLDS, INNER_FOLDS = 1000, 10, 5
LOG = Path(__file__).parents[1] / "results" / "recipe.csv"
COLUMNS = (
    "date",
    "recipe",
    "dataset",
    "accuracy",
    "standard_error",
    "log_loss",
    "fits",
    "seconds",
    "engine",
    "settings",
)
# The rows of the table, then the defaults, then one change at a time.
PAPER = {"refit": False, "weight_decay": 0.0, "learning_rate": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0), "max_epochs": 400}
RECIPES: dict[str, dict[str, Any]] = {
    "paper": PAPER,
    "paper, rates to 0.3": PAPER | {"learning_rate": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)},
    "paper, by error": PAPER | {"stopping": "error"},
    "paper, patience 150": PAPER | {"patience": 150},
    "defaults": {},
    "defaults, no refit": {"refit": False},
    "to the end": {"early_stopping": False},
    "to the end, 100 epochs": {"early_stopping": False, "max_epochs": 100},
    "decay 0.003": {"weight_decay": 0.003},
    "decay 0.01": {"weight_decay": 0.01},
    "decay chosen": {"weight_decay": (0.0, 0.001, 0.003, 0.01)},
    "to the end, decay 0.003": {"early_stopping": False, "weight_decay": 0.003},
    "to the end, decay 0.01": {"early_stopping": False, "weight_decay": 0.01},
}


def inner_splits(y: np.ndarray) -> list[Split]:
    """Return the folds within the training parts, as numbers of sets of the whole; no outer test set is among them."""
    splits = []
    for outer in repeated_folds(y, FOLDS, 1, SEED):
        for inner in repeated_folds(y[outer.train], INNER_FOLDS, 1, SEED + 1 + outer.fold):
            splits.append(Split(outer.fold, inner.fold, outer.train[inner.train], outer.train[inner.test]))
    return splits


def judge(name: str, dataset: str, bags: Bags, y: np.ndarray, engine: str) -> dict[str, Any]:
    """Return the line of one recipe on one data set."""
    begin, splits = time.perf_counter(), inner_splits(y)
    trial = Trial(name, dataset, bags, y, SEED, "", engine)
    models = [ClassSetRBMCV(engine=engine, random_state=system_seed(SEED, split), **RECIPES[name]) for split in splits]
    done = fit_and_judge_side_by_side(trial, models, splits)
    rows = [row for row in done if not isinstance(row, Exception)]
    accuracies = np.array([row.accuracy for row in rows])
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "recipe": name,
        "dataset": dataset,
        "accuracy": round(100.0 * float(accuracies.mean()), 2),
        "standard_error": round(100.0 * float(accuracies.std(ddof=1)) / np.sqrt(len(rows)), 2),
        "log_loss": round(float(np.mean([row.log_loss for row in rows])), 4),
        "fits": len(rows),
        "seconds": round(time.perf_counter() - begin, 1),
        "engine": engine,
        "settings": json.dumps(RECIPES[name]),
    }


def write(path: Path, line: dict[str, Any]) -> None:
    """Add a line to the log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(line)


def main() -> None:
    """Judge the recipes named, or all, on the data sets named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RECIPES)}")
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--log", type=Path, default=LOG)
    options = parser.parse_args()
    for dataset in options.datasets:
        bags, y = load_benchmark(dataset, options.data_home)
        bags = Bags(bags.X.astype(np.float32), bags.offsets)
        for name in options.names or RECIPES:
            line = judge(name, dataset, bags, np.asarray(y), options.engine)
            write(options.log, line)
            print(f"{dataset:10s} {name:28s} {line['accuracy']:.2f} ({line['seconds']:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
