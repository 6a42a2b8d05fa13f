"""Made-up rows of results for the tests of tables, pictures and pages."""

import numpy as np

from setrbm_lab.paper import DATASETS
from setrbm_lab.results import Fold

REPEATS, FOLDS, N_TEST = 2, 5, 20


def row(system, dataset, repeat, fold, n_right, **changes):
    values = {"seed": 7, "n_test": N_TEST, "log_loss": 0.5, "chosen": "{}", "settings": "s", "engine": "cpu"}
    return Fold(dataset, system, repeat, fold, n_right=n_right, seconds=0.25, **values | changes)


def cell(system, dataset, counts):
    """Two repetitions of five folds with the counts given, or one count for all."""
    counts = np.broadcast_to(counts, REPEATS * FOLDS)
    return [row(system, dataset, *divmod(i, FOLDS), int(count)) for i, count in enumerate(counts)]


def everywhere(systems, seed=0):
    """Rows of every system on every data set; a system's number of right sets is about the number given."""
    rng = np.random.default_rng(seed)
    return [
        made
        for system, about in systems.items()
        for dataset in DATASETS
        for made in cell(system, dataset, about + rng.integers(-2, 3, REPEATS * FOLDS))
    ]
