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

    def values(name: str) -> tuple[Any, ...]:
        setting = getattr(estimator, name)
        if name not in estimator.CHOOSABLE:
            return (setting,)
        if not (choices := choices_of(setting)):
            raise ValueError(f"{name} must offer at least one value to choose from. Got none.")
        return choices

    for name, allowed in (CHOICES | {"unit": estimator.UNITS}).items():
        for value in values(name):
            if not isinstance(value, str | None) or value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}. Got {value!r}.")
    for name in AT_LEAST_ONE:
        for value in values(name):
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be an integer of 1 or more. Got {value!r}.")
    for name in POSITIVE + NOT_NEGATIVE:
        for value in values(name):
            if not isinstance(value, Real) or not math.isfinite(value) or value < 0 or (name in POSITIVE and not value):
                need = "a positive number" if name in POSITIVE else "a number of 0 or more"
                raise ValueError(f"{name} must be {need}. Got {value!r}.")
    patience = estimator.patience
    if patience is not None and (not isinstance(patience, Integral) or patience < 1):
        raise ValueError(f"patience must be None or an integer of 1 or more. Got {patience!r}.")
    fraction = estimator.validation_fraction
    if not isinstance(fraction, Real) or not 0.0 < float(fraction) < 1.0:
        raise ValueError(f"validation_fraction must lie between 0 and 1. Got {fraction!r}.")
    if "max_epochs" in estimator.CHOOSABLE:
        _check_choosing(estimator)
    elif not isinstance(estimator.early_stopping, bool | np.bool_):
        raise ValueError(f"early_stopping must be True or False. Got {estimator.early_stopping!r}.")
    if not isinstance(estimator.verbose, Integral):
        raise ValueError(f"verbose must be an integer. Got {estimator.verbose!r}.")


def _check_choosing(estimator: Any) -> None:
    """Raise ValueError for settings of the estimators that choose which cannot be used."""
    early = estimator.early_stopping
    if early != "auto" and not isinstance(early, bool | np.bool_):
        raise ValueError(f"early_stopping must be True, False or 'auto'. Got {early!r}.")
    if not isinstance(estimator.halving, bool | np.bool_):
        raise ValueError(f"halving must be True or False. Got {estimator.halving!r}.")
    n_fits = estimator.n_fits
    if n_fits == "auto":
        return
    if not isinstance(n_fits, Integral) or isinstance(n_fits, bool) or int(n_fits) < 1:
        raise ValueError(f"n_fits must be 'auto' or an integer of 1 or more. Got {n_fits!r}.")
    several = int(n_fits) > 1
    if several and not estimator.refit:
        raise ValueError(f"n_fits must be 1 or 'auto' where nothing is trained again (refit=False). Got {n_fits}.")
    learned = [objective for objective in choices_of(estimator.objective) if objective != "discriminative"]
    if several and learned:
        raise ValueError(
            f"n_fits must be 1 or 'auto' with objective={learned[0]!r}: the average of several fits is a posterior, "
            f"and no model of how sets look. Got {n_fits}."
        )


def choices_of(setting: Any) -> tuple[Any, ...]:
    """Return the values a setting may take: those of a list, tuple or array, or the one value it is."""
    return tuple(setting) if isinstance(setting, list | tuple | range | np.ndarray) else (setting,)
