"""The selection budget of each row: how much it may try inside a training part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.model_selection import ParameterGrid

from setrbm.estimators.search.choices import N_FITS, N_MIXED_FITS


@dataclass(frozen=True)
class Budget:
    """What a row tries before it is tested on a fold.

    Attributes
    ----------
    candidates : int
        Combinations of settings that are compared.
    held_out_parts : int
        Held-out parts on which each candidate is scored.
    epochs : str
        Epochs of a candidate; empty for models without epochs.
    final_fits : int
        Fits of the chosen candidate on the whole training part; several are averaged.
    """

    candidates: int
    held_out_parts: int
    epochs: str
    final_fits: int

    @property
    def fits(self) -> int:
        """The number of models fitted in a fold."""
        return self.candidates * self.held_out_parts + self.final_fits


def settings_of(estimator: Any) -> tuple[str, dict[str, Any]]:
    """Return the class name and the settings of the estimator that selects, in a pipeline the last one."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    return type(last).__name__, last.get_params(deep=False)


def budget_of(name: str, settings: Mapping[str, Any]) -> Budget:
    """Return the budget of an estimator, given its class name and settings."""
    if name == "GridSearchCV":
        return Budget(len(ParameterGrid(settings["param_grid"])), settings["cv"].get_n_splits(), "", 1)
    fixed = {"max_epochs"} | ({"threshold_factors"} if settings.get("kernel") != "migraph2" else set())
    candidates = math.prod(
        len(value) for key, value in settings.items() if isinstance(value, list | tuple) and key not in fixed
    )
    if name == "SetSVCCV":
        return Budget(candidates, settings["folds"], "", 1)
    n_fits = settings.get("n_fits", 1) if settings.get("refit", True) else 0
    usual = N_MIXED_FITS if settings.get("pooling") == "mixed" else N_FITS
    return Budget(candidates, 1, _epochs(settings), usual if n_fits == "auto" else n_fits)


def _epochs(settings: Mapping[str, Any]) -> str:
    lengths = settings["max_epochs"]
    if isinstance(lengths, list | tuple):
        return " or ".join(map(str, lengths))
    return f"up to {lengths}" if settings.get("early_stopping") is True else str(lengths)
