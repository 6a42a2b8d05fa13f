"""Checks of constructor settings: what must hold, what was got."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

CHOICES = {
    "constraint": ("xor", "or"),
    "pooling": ("soft", "hard"),
    "objective": ("discriminative", "generative", "hybrid"),
    "visible": ("binary", "gaussian"),
    "stopping": ("likelihood", "error"),
    "scale": ("auto", None),
}
AT_LEAST_ONE = ("n_hidden", "max_epochs", "batch_size", "cd_steps")
POSITIVE = ("learning_rate", "generative_learning_rate")
NOT_NEGATIVE = ("weight_decay", "init_scale")


def check_settings(estimator: Any) -> None:
    """Raise ValueError for the first setting that cannot be used; where it may be a choice, each of its values."""

    def values(setting: Any) -> tuple[Any, ...]:
        return choices_of(setting) if estimator.chooses else (setting,)

    for name, allowed in CHOICES.items():
        for value in values(getattr(estimator, name)):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}. Got {value!r}.")
    for name in AT_LEAST_ONE:
        for value in values(getattr(estimator, name)):
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be an integer of 1 or more. Got {value!r}.")
    for name in POSITIVE + NOT_NEGATIVE:
        for value in values(getattr(estimator, name)):
            if not isinstance(value, Real) or not math.isfinite(value) or value < 0 or (name in POSITIVE and not value):
                need = "a positive number" if name in POSITIVE else "a number of 0 or more"
                raise ValueError(f"{name} must be {need}. Got {value!r}.")
    patience = estimator.patience
    if patience is not None and (not isinstance(patience, Integral) or patience < 1):
        raise ValueError(f"patience must be None or an integer of 1 or more. Got {patience!r}.")
    if not 0.0 < estimator.validation_fraction < 1.0:
        raise ValueError(f"validation_fraction must lie between 0 and 1. Got {estimator.validation_fraction!r}.")


def choices_of(setting: Any) -> tuple[Any, ...]:
    """Return the values a setting may take: those of a list, tuple or array, or the one value it is."""
    return tuple(setting) if isinstance(setting, list | tuple | np.ndarray) else (setting,)
