"""Settings: what one model is and how it is trained, checked once, turned into what the engines take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, Self, cast, get_type_hints

import numpy as np

from setrbm._types import Constraint, Criterion, Floats, Unit, Visible
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines import ENGINES
from setrbm.engines.protocol import Model, Spec
from setrbm.pooling import MIXED, MODEL_POOLINGS
from setrbm.tools.threads import as_threads
from setrbm.training import How, Schedule, initial_params

Check = Callable[[str, Any], None]


def one_of(*allowed: Any) -> Check:
    """Return a check that a setting is one of these values."""

    def check(name: str, value: Any) -> None:
        if not any(isinstance(value, type(one)) and value == one for one in allowed):
            raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}. Got {value!r}.")

    return check


def is_count(value: Any) -> bool:
    """Return whether a value is an integer of 1 or more."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def integer(name: str, value: Any) -> None:
    """Check that a setting is an integer of 1 or more."""
    if not is_count(value):
        raise ValueError(f"{name} must be an integer of 1 or more. Got {value!r}.")


def integer_or_none(name: str, value: Any) -> None:
    """Check that a setting is None, or an integer of 1 or more."""
    if value is not None and not is_count(value):
        raise ValueError(f"{name} must be None or an integer of 1 or more. Got {value!r}.")


def positive(name: str, value: Any) -> None:
    """Check that a setting is a finite number above 0."""
    if not is_number(value) or value <= 0:
        raise ValueError(f"{name} must be a positive number. Got {value!r}.")


def not_negative(name: str, value: Any) -> None:
    """Check that a setting is a finite number of 0 or more."""
    if not is_number(value) or value < 0:
        raise ValueError(f"{name} must be a number of 0 or more. Got {value!r}.")


def between_0_and_1(name: str, value: Any) -> None:
    """Check that a setting is a number between 0 and 1."""
    if not is_number(value) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must lie between 0 and 1. Got {value!r}.")


def flag(name: str, value: Any) -> None:
    """Check that a setting is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False. Got {value!r}.")


def flag_or_auto(name: str, value: Any) -> None:
    """Check that a setting is True, False or "auto"."""
    if not isinstance(value, bool | np.bool_) and not (isinstance(value, str) and value == "auto"):
        raise ValueError(f"{name} must be True, False or 'auto'. Got {value!r}.")


def class_weights(name: str, value: Any) -> None:
    """Check that a setting is None, "balanced" or a dict."""
    if value is not None and not isinstance(value, dict) and not (isinstance(value, str) and value == "balanced"):
        raise ValueError(f"{name} must be None, 'balanced' or a dict from class to weight. Got {value!r}.")
    if isinstance(value, dict) and not all(is_number(weight) and weight >= 0 for weight in value.values()):
        raise ValueError(f"{name} must hold finite numbers of 0 or more. Got {value!r}.")


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)


def check_execution(estimator: Any) -> None:
    """Check the settings that say how the work is done, not what comes of it."""
    one_of("auto", *ENGINES)("engine", estimator.engine)
    as_threads(estimator.n_jobs)
    if not isinstance(estimator.verbose, Integral):
        raise ValueError(f"verbose must be an integer. Got {estimator.verbose!r}.")
    if hasattr(estimator, "warm_start"):
        flag("warm_start", estimator.warm_start)


def choices_of(setting: Any) -> tuple[Any, ...]:
    """Return the values a setting may take: those of a list, tuple or array, or its one value."""
    return tuple(setting) if is_choice(setting) else (setting,)


def is_choice(setting: Any) -> bool:
    """Return whether a setting offers values to choose from."""
    return isinstance(setting, list | tuple | range | np.ndarray)


@dataclass(frozen=True)
class Settings:
    """The settings of one model, as the constructors of the estimators describe them.

    Every annotation carries the check of its setting.
    """

    unit: Annotated[Unit, one_of("set", "rbm", "mlp", "logit")]
    n_hidden: Annotated[int, integer]
    constraint: Annotated[Constraint, one_of("xor", "or")]
    pooling: Annotated[str, one_of(*MODEL_POOLINGS)]
    objective: Annotated[str, one_of("discriminative", "generative", "hybrid")]
    visible: Annotated[Visible, one_of("binary", "gaussian")]
    learning_rate: Annotated[float, positive]
    generative_learning_rate: Annotated[float, positive]
    max_epochs: Annotated[int, integer]
    batch_size: Annotated[int, integer]
    weight_decay: Annotated[float, not_negative]
    init_scale: Annotated[float, not_negative]
    cd_steps: Annotated[int, integer]
    persistent: Annotated[bool, flag]
    early_stopping: Annotated[bool | str, flag_or_auto]
    validation_fraction: Annotated[float, between_0_and_1]
    patience: Annotated[int | None, integer_or_none]
    stopping: Annotated[Criterion, one_of("likelihood", "error")]
    scale: Annotated[str | None, one_of("auto", "center", "standardize", None)]
    class_weight: Annotated[Any, class_weights]

    def __post_init__(self) -> None:
        for name, check in _checks().items():
            check(name, getattr(self, name))
        if self.generative and self.scale in ("center", "standardize"):
            raise ValueError(
                f"scale must be 'auto' or None with objective={self.objective!r}, which models the inputs "
                f"themselves. Got {self.scale!r}."
            )

    @classmethod
    def of(cls, estimator: Any, **chosen: Any) -> Self:
        """Return the settings of an estimator, some of them replaced by what was chosen."""
        given = {name: getattr(estimator, name) for name in _checks() if name not in chosen}
        return cls(**given | chosen)

    @property
    def generative(self) -> bool:
        """Whether a model of the sets themselves is learned."""
        return self.objective != "discriminative"

    @property
    def unmixed(self) -> Self:
        """The settings with hard pooling instead of mixed."""
        return replace(self, pooling="hard") if self.pooling == "mixed" else self

    @property
    def members(self) -> tuple[Self, ...]:
        """The settings of each model that is trained: one for each part of a mixture, else one.

        What suits the parts was measured on dense sets (docs/decisions/0007-kinds-and-scaling.md).
        """
        if self.pooling != "mixed":
            return (self,)
        suited = {"hard": "center", "mean": "standardize"}
        return tuple(
            replace(self, pooling=pooling, scale=suited[pooling] if self.scale == "auto" else self.scale)
            for pooling in self.poolings
        )

    @property
    def poolings(self) -> tuple[str, ...]:
        """The poolings of equal parts of the hidden units, in order."""
        return MIXED if self.pooling == "mixed" else (self.pooling,)

    @property
    def coordinates(self) -> How | None:
        """The coordinates to train in; None for those of the scaled inputs."""
        return None if self.scale in ("auto", None) else cast(How, self.scale)

    @property
    def n_units(self) -> int:
        """The number of hidden units; logistic regression is one unit without an outer layer."""
        return 1 if self.unit == "logit" else int(self.n_hidden)

    def spec(self, dtype: np.dtype[Any]) -> Spec:
        """Return what models with these settings share with others trained beside them."""
        return Spec(
            constraint=self.constraint,
            pooling=self.pooling,
            discriminative=self.objective != "generative",
            generative=self.generative,
            visible=self.visible,
            cd_steps=int(self.cd_steps),
            persistent=bool(self.persistent),
            batch_size=int(self.batch_size),
            dtype=dtype.name,
            unit=self.unit,
        )

    def model(self, params: Params, seed: int) -> Model:
        """Return a model with these settings that starts from these parameters."""
        rate, generative_rate = float(self.learning_rate), float(self.generative_learning_rate)
        return Model(params, seed, rate, generative_rate, float(self.weight_decay))

    def start(self, parts: Iterable[Bags], n_features: int, n_classes: int, seed: int, dtype: Any) -> Params:
        """Return random start parameters; a generative model's input biases start at the means of the inputs."""
        params = initial_params(n_features, self.n_units, n_classes, self.init_scale, seed, dtype)
        if self.generative:
            total, n_vectors = np.zeros(n_features), 0
            for bags in parts:
                total += np.asarray(bags.X.sum(axis=0, dtype=np.float64)).ravel()
                n_vectors += bags.n_vectors
            mean = total / n_vectors
            params.b[:] = _log_odds(mean, n_vectors) if self.visible == "binary" else mean
        return params

    def schedule(self, first_epoch: int = 0, from_start: bool = False) -> Schedule:
        """Return how one model with these settings is trained."""
        return Schedule(self.max_epochs, self.patience, self.stopping, first_epoch, from_start)


@cache
def _checks() -> dict[str, Check]:
    """Return the check of every setting."""
    return {name: hint.__metadata__[0] for name, hint in get_type_hints(Settings, include_extras=True).items()}


def _log_odds(mean: Floats, n_vectors: int) -> Floats:
    """Return log(mean / (1 - mean)), with means kept off 0 and 1 by half a vector."""
    edge = 0.5 / (n_vectors + 1)
    mean = np.clip(mean, edge, 1.0 - edge)
    return np.log(mean) - np.log1p(-mean)
