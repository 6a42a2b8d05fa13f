"""What the Triton kernels take, in groups."""

from __future__ import annotations

from typing import Any, NamedTuple

import triton.language as tl

from setrbm.engines.protocol import Spec
from setrbm.pooling import POOLINGS


class Models(NamedTuple):
    """The parameters of all models, stacked and padded."""

    W: Any
    U: Any
    b: Any
    c: Any
    d: Any


class Sets(NamedTuple):
    """The sets of all models, packed."""

    X: Any
    offsets: Any
    labels: Any
    weights: Any
    numbers: Any


class Lists(NamedTuple):
    """Lists of sets as rows of a matrix, their lengths, the row of each model, and the model of each program."""

    sets: Any
    lengths: Any
    row_of: Any
    model_of: Any


class Learning(NamedTuple):
    """The seed of each model, its learning rates, and the factor of its weight decay."""

    seeds: Any
    rates: Any
    generative_rates: Any
    shrinks: Any


class Buffers(NamedTuple):
    """Activations of the current set, those of its reconstruction, and the reconstruction, of each program."""

    A: Any
    A_model: Any
    X_model: Any


class Shape(NamedTuple):
    """Padded numbers of hidden units, features and classes; vectors per tile and features per block."""

    HP: tl.constexpr
    FP: tl.constexpr
    CP: tl.constexpr
    T: tl.constexpr
    B: tl.constexpr


class Variant(NamedTuple):
    """Whether the constraint is or, whether the pooling is the maximum, and its size cost."""

    OR: tl.constexpr
    HARD: tl.constexpr
    SIZE_COST: tl.constexpr


class Objective(NamedTuple):
    """What is learned, whether inputs are Gaussian, and the steps of a chain."""

    DISCRIMINATIVE: tl.constexpr
    GENERATIVE: tl.constexpr
    GAUSSIAN: tl.constexpr
    K: tl.constexpr


def shape_of(**sizes: int) -> Shape:
    """Return sizes as the kernels take them."""
    return Shape(**{name: tl.constexpr(size) for name, size in sizes.items()})


def variant_of(spec: Spec) -> Variant:
    """Return the constraint and the pooling as the kernels take them."""
    chosen = (spec.constraint == "or", spec.pooling == "hard", POOLINGS[spec.pooling].size_cost)
    return Variant(*map(tl.constexpr, chosen))


def objective_of(spec: Spec) -> Objective:
    """Return the objective as the kernels take it."""
    chosen = (spec.discriminative, spec.generative, spec.visible == "gaussian", spec.cd_steps)
    return Objective(*map(tl.constexpr, chosen))
