"""Which property of a problem does which system cope with?

Every system learns the made-up problems of ``make_set_problem``, each of which isolates one property, and sets of
handwritten digits; it is tested on 500 new sets of the same problem (of digits: from other images). The systems choose
their settings inside the training sets. These results were one reason for the second round of candidates
(docs/decisions/0007-kinds-and-scaling.md); they are not independent of the default.

    python lab/experiments/properties.py [--jobs N]

Writes lab/results/properties.csv, one line per problem, draw and system.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from kinds import RESULTS, write_csv

from setrbm import Bags
from setrbm.datasets import make_digit_sets
from setrbm.estimators import ClassSetRBMCV
from setrbm_lab.set_problems import SET_PROBLEMS, make_set_problem
from setrbm_lab.systems import FORMER, OURS, ROWS

N_TEST, N_DRAWS, N_DIGIT_SETS = 500, 3, 150
DIGITS = "digits"
VARIANTS: dict[str, dict[str, Any]] = {
    "maximum only": {"pooling": "hard", "scale": "center"},
    "mean only": {"pooling": "mean", "scale": "standardize"},
    "one initial scale": {"init_scale": 1.0},
}
SYSTEMS = (OURS, FORMER, *VARIANTS, "SVM-max", "SVM-miGraph", "Pooled SVM")


def made(system: str, seed: int) -> Any:
    """Return an unfitted estimator."""
    if system in VARIANTS:
        return ClassSetRBMCV(n_jobs=1, random_state=seed, **VARIANTS[system])
    return ROWS[system].make(seed, False, "cpu", 1)


def drawn(problem: str, draw: int) -> tuple[Bags, Any, Bags, Any]:
    """Return one draw of a problem: sets to learn from, their labels, new sets, and their labels."""
    if problem == DIGITS:
        return (
            *make_digit_sets(N_DIGIT_SETS, "train", random_state=draw),
            *make_digit_sets(N_TEST, "test", random_state=1000 + draw),
        )
    return *make_set_problem(problem, random_state=draw), *make_set_problem(problem, N_TEST, random_state=1000 + draw)


def judged(problem: str, draw: int, system: str) -> dict[str, Any]:
    """Return the accuracy of one system on one draw of a problem, and the mean accuracy of the classes."""
    train, y, test, truth = drawn(problem, draw)
    begin = time.perf_counter()
    right = made(system, draw).fit(train, y).predict(test) == truth
    balanced = np.mean([right[truth == label].mean() for label in np.unique(truth)])
    return {
        "problem": problem, "draw": draw, "system": system, "accuracy": round(100.0 * float(right.mean()), 2),
        "balanced": round(100.0 * float(balanced), 2), "seconds": round(time.perf_counter() - begin, 1),
    }  # fmt: skip


def main() -> None:
    """Judge every system on every problem."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    tasks = product((*SET_PROBLEMS, DIGITS), range(N_DRAWS), SYSTEMS)
    lines = Parallel(parser.parse_args().jobs)(delayed(judged)(*task) for task in tasks)
    write_csv(RESULTS / "properties.csv", lines)


if __name__ == "__main__":
    main()
