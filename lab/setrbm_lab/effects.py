"""The effect of single settings on ClassSetRBM XOR*: one is varied at a time, the others stay as in ``BASE``.

Nothing is selected, so nothing is held out: each model is trained on the whole training part, for all epochs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from setrbm.estimators import ClassSetRBM
from setrbm_lab.plans import System
from setrbm_lab.results import Fold

BASE: dict[str, Any] = {
    "n_hidden": 100, "learning_rate": 0.03, "init_scale": 0.3, "weight_decay": 0.0, "max_epochs": 400,
}  # fmt: skip
EFFECTS: dict[str, tuple[float, ...]] = {
    "max_epochs": (5, 15, 50, 150, 400),
    "n_hidden": (10, 30, 100, 300),
    "init_scale": (0.01, 0.1, 0.3, 1.0, 3.0),
    "weight_decay": (0.0, 0.001, 0.003, 0.01, 0.03),
}
TITLES = {
    "max_epochs": "epochs of training",
    "n_hidden": "hidden units",
    "init_scale": "scale of the initial weights",
    "weight_decay": "weight decay",
}


def name_of(setting: str, value: float) -> str:
    """Return the name of the system with this value; all effects share the system "base"."""
    return "base" if value == BASE[setting] else f"{setting}={value:g}"


def systems() -> list[System]:
    """Return one system for every value of every setting; the base appears once."""
    values = {name_of(setting, value): {setting: value} for setting, row in EFFECTS.items() for value in row}
    return [System(name, _maker(change), cost=_cost(change)) for name, change in values.items()]


def _maker(change: dict[str, Any]) -> Any:
    def make(seed: int, quick: bool, engine: str, n_jobs: int) -> Any:
        settings = BASE | change
        return ClassSetRBM(early_stopping=False, engine="cpu", n_jobs=n_jobs, random_state=seed, **settings)

    return make


def _cost(change: dict[str, Any]) -> float:
    settings = BASE | change
    return float(settings["max_epochs"] * settings["n_hidden"] / (BASE["max_epochs"] * BASE["n_hidden"]))


def curves(rows: Iterable[Fold], setting: str) -> dict[str, dict[float, tuple[float, float]]]:
    """Return the mean test loss and accuracy (in percent) for each data set and value of a setting."""
    by_name: dict[tuple[str, str], list[Fold]] = {}
    for row in rows:
        by_name.setdefault((row.dataset, row.system), []).append(row)
    means: dict[str, dict[float, tuple[float, float]]] = {}
    for dataset in dict.fromkeys(dataset for dataset, _ in by_name):
        for value in EFFECTS[setting]:
            if folds := by_name.get((dataset, name_of(setting, value))):
                loss, accuracy = np.mean([(fold.log_loss, 100.0 * fold.accuracy) for fold in folds], axis=0)
                means.setdefault(dataset, {})[float(value)] = (float(loss), float(accuracy))
    return means
