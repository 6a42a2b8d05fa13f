"""The protocol of all engines; the reasons are in ``docs/decisions/0001-engine-protocol.md``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from setrbm._types import Array, Constraint, Floats, Integers, Mask, Unit, Visible
from setrbm.bags import Bags
from setrbm.energy import Joint, Params, log_posterior
from setrbm.pooling import POOLINGS
from setrbm.tools.errors import SetrbmError

# Training has diverged when a parameter exceeds this.
LARGEST = 1e8


@dataclass(frozen=True)
class Spec:
    """The settings that all models trained together share."""

    constraint: Constraint = "xor"
    pooling: str = "hard"
    discriminative: bool = True
    generative: bool = False
    visible: Visible = "binary"
    cd_steps: int = 1
    persistent: bool = False
    batch_size: int = 1
    dtype: str = "float64"
    # "set" is the ClassSetRBM; the others are max-out classifiers, which have neither constraint nor pooling.
    unit: Unit = "set"

    def __post_init__(self) -> None:
        if self.pooling not in POOLINGS:
            raise ValueError(f"Engines pool all units alike. Got pooling={self.pooling!r}.")

    @property
    def joint(self) -> Joint:
        """The joint distribution that is learned; the soft one for hard pooling, which has none."""
        return Joint(self.constraint, POOLINGS[self.pooling].joint, self.visible)


@dataclass(frozen=True)
class Model:
    """The start and the settings of one model."""

    params: Params
    seed: int
    learning_rate: float
    generative_learning_rate: float = 0.0
    weight_decay: float = 0.0

    def shrink(self, spec: Spec) -> float:
        """Return the factor by which one step of weight decay multiplies W and U."""
        rate = self.learning_rate if spec.discriminative else self.generative_learning_rate
        return 1.0 - rate * self.weight_decay


@dataclass(frozen=True)
class LabeledSets:
    """Sets with class codes and weights; ``first`` is the index of the first set in the whole stream."""

    bags: Bags
    y: Integers
    weight: Floats
    first: int = 0


class DeviceMemoryWarning(UserWarning):
    """Work is split because it does not fit in the memory of the device at once."""


class NoDeviceError(SetrbmError):
    """The requested engine needs a device that is not available."""


class Session(Protocol):
    """Models under training."""

    def run(self, placed: Sequence[Any], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on its placed sets in its order and return the mean losses.

        The loss is NaN for an empty order, and infinite if a parameter is NaN or larger than ``LARGEST``.
        """

    def score(self, placed: Sequence[Any], which: Sequence[Integers]) -> Floats:
        """Return each model's mean -log p(y | X) and mean error over its sets; shape (n_models, 2)."""

    def remember(self, models: Mask) -> None:
        """Keep a copy of the current parameters of these models, in place of an earlier one."""

    def params(self, remembered: bool) -> list[Params]:
        """Return the current parameters of every model or, where there are any, the remembered ones."""


class Engine(Protocol):
    """An implementation of the arithmetic."""

    name: str

    def place(self, sets: LabeledSets, spec: Spec) -> Any:
        """Convert the sets once to the form the engine works on."""

    def begin(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> Session:
        """Start training these models side by side."""

    def forward(self, params: Params, bags: Bags, spec: Spec, n_jobs: int) -> tuple[Array, Array]:
        """Return the pooled activations (n_sets, n_hidden) and the free energies (n_sets, n_classes).

        Both have the dtype of the bags; the reference engine always computes in float64.
        """


def weighted_means(loss: Array, error: Array, weight: Array) -> tuple[float, float]:
    """Return the mean loss and the mean error of some sets; NaN if there are none."""
    total = float(weight.sum())
    if total <= 0.0:
        return np.nan, np.nan
    # Not a matrix product: the threads of its library would keep spinning on cores that the next epoch needs.
    return float((loss * weight).sum()) / total, float((error * weight).sum()) / total


def score_free_energies(F: Array, y: Integers, weight: Array) -> tuple[float, float]:
    """Return the weighted mean of -log p(y | X) and of the error."""
    log_p = log_posterior(F)
    return weighted_means(-log_p[np.arange(len(y)), y], log_p.argmax(axis=1) != y, weight)


def within_bounds(*arrays: Array) -> bool:
    """Return whether every absolute value is at most ``LARGEST``."""
    # Comparisons with NaN are false, so NaN is out of bounds.
    return all(bool(array.max() <= LARGEST and array.min() >= -LARGEST) for array in arrays)


def check_models(models: Sequence[Model]) -> None:
    """Raise an error if models that are to be trained side by side differ in shape."""
    shapes = {tuple(array.shape for array in model.params.arrays()) for model in models}
    if len(shapes) != 1:
        raise ValueError(f"Models trained side by side must have the same shapes. Got {sorted(shapes)}.")
