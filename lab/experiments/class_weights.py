"""Should unbalanced classes be weighted? ClassSetRBMCV with and without ``class_weight="balanced"``.

Judged on the splits of lab/experiments/kinds.py, of the data sets with unbalanced classes and of one made-up problem.

    python lab/experiments/class_weights.py --data-home FOLDER [--jobs N]

Writes lab/results/class_weights.csv, one line per data set, split and weight.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from kinds import RESULTS, load, splits, write_csv

from setrbm.estimators import ClassSetRBMCV

DATASETS = ("mutagenesis1", "mutagenesis2", "unbalanced")
N_SPLITS = 10


def judged(name: str, i: int, weight: str | None, data_home: Path | None) -> dict[str, Any]:
    """Return the accuracy on one split, and the mean accuracy of both classes."""
    bags, y = load(name, data_home)
    part = splits(y)[i]
    model = ClassSetRBMCV(class_weight=weight, n_jobs=1, random_state=i).fit(bags[part.train], y[part.train])
    right, truth = model.predict(bags[part.test]) == y[part.test], y[part.test]
    balanced = np.mean([right[truth == label].mean() for label in (0, 1)])
    return {
        "dataset": name, "split": i, "class_weight": weight or "none",
        "accuracy": round(100.0 * float(right.mean()), 2), "balanced": round(100.0 * float(balanced), 2),
    }  # fmt: skip


def main() -> None:
    """Judge both on every split."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tasks = product(DATASETS, range(N_SPLITS), (None, "balanced"))
    lines = Parallel(options.jobs)(delayed(judged)(*task, options.data_home) for task in tasks)
    write_csv(RESULTS / "class_weights.csv", lines)


if __name__ == "__main__":
    main()
