"""What every engine offers; the reasons are in ``docs/decisions/0001-engine-protocol.md``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from setrbm._types import Array, Constraint, Floats, Integers, Mask, Pooling, Unit, Visible
from setrbm.bags import Bags
from setrbm.energy import Params, log_posterior

# A parameter beyond this is of no use to anyone: training that gets here has diverged.
LARGEST = 1e8


@dataclass(frozen=True)
class Spec:
    """What all models trained together have in common."""

    constraint: Constraint = "xor"
    pooling: Pooling = "hard"
    discriminative: bool = True
    generative: bool = False
    visible: Visible = "binary"
    cd_steps: int = 1
    persistent: bool = False
    batch_size: int = 1
    dtype: str = "float64"
    # "set" is the ClassSetRBM; any other is a max-out classifier, which has neither constraint nor pooling.
    unit: Unit = "set"


@dataclass(frozen=True)
class Model:
    """What is one model's own."""

    params: Params
    seed: int
    learning_rate: float
    generative_learning_rate: float = 0.0
    weight_decay: float = 0.0

    def shrink(self, spec: Spec) -> float:
        """Return by how much one step of weight decay multiplies W and U."""
        rate = self.learning_rate if spec.discriminative else self.generative_learning_rate
        return 1.0 - rate * self.weight_decay


@dataclass(frozen=True)
class LabelledSets:
    """Sets with class codes and weights; ``first`` is the number of the first set in the whole stream."""

    bags: Bags
    y: Integers
    weight: Floats
    first: int = 0


class DeviceMemoryWarning(UserWarning):
    """Said where work is split because the memory of a device does not hold it at once."""


class NoDeviceError(RuntimeError):
    """The engine asked for needs a device that is not there."""


class Session(Protocol):
    """Models under training."""

    def run(self, placed: Sequence[Any], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on its placed sets in its order and return the mean losses.

        NaN where the order is empty; infinity where a parameter is no number any more, or beyond ``LARGEST``.
        """

    def score(self, placed: Sequence[Any], which: Sequence[Integers]) -> Floats:
        """Return each model's mean -log p(y | X) and mean error over its sets; shape (n_models, 2)."""

    def remember(self, models: Mask) -> None:
        """Keep a copy of the present parameters of these models."""

    def params(self, remembered: bool) -> list[Params]:
        """Return the parameters of every model: the remembered ones (the present where none are), or the present."""


class Engine(Protocol):
    """Where and how the arithmetic is done.

    ``copies_ahead`` says whether sets of a stream should be placed while those before them are worked on.
    """

    name: str
    copies_ahead: bool

    def place(self, sets: LabelledSets, spec: Spec) -> Any:
        """Put the sets where the engine wants them, once."""

    def begin(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> Session:
        """Start training these models side by side."""

    def forward(self, params: Params, bags: Bags, spec: Spec, n_jobs: int) -> tuple[Array, Array]:
        """Return the pooled activations (n_sets, n_hidden) and the free energies (n_sets, n_classes)."""


def weighted_means(loss: Array, error: Array, weight: Array) -> tuple[float, float]:
    """Return the mean loss and the mean error of some sets, NaN where there are none."""
    total = float(weight.sum())
    if total <= 0.0:
        return np.nan, np.nan
    # Not by the matrix product: its library's threads, once woken, spin on the cores the next epoch wants.
    return float((loss * weight).sum()) / total, float((error * weight).sum()) / total


def score_free_energies(F: Array, y: Integers, weight: Array) -> tuple[float, float]:
    """Return the weighted mean of -log p(y | X) and of the error."""
    log_p = log_posterior(F)
    return weighted_means(-log_p[np.arange(len(y)), y], log_p.argmax(axis=1) != y, weight)


def within_bounds(*arrays: Array) -> bool:
    """Return whether every value is a number of at most ``LARGEST``."""
    # NaN is neither larger nor smaller, and so out of bounds.
    return all(bool(array.max() <= LARGEST and array.min() >= -LARGEST) for array in arrays)


def check_models(models: Sequence[Model]) -> None:
    """Refuse models of different shapes, which no engine can train side by side."""
    shapes = {tuple(array.shape for array in model.params.arrays()) for model in models}
    if len(shapes) != 1:
        raise ValueError(f"Models trained side by side must have the same shapes. Got {sorted(shapes)}.")
