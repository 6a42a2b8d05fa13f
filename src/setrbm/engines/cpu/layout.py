"""What the kernels are handed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from setrbm._types import Array, Mask
from setrbm.engines.cpu.compiling import kernel

ZERO = np.int64(0)

# Bounds of hidden units are unsigned: numba would look whether a signed index counts from the end, at every step.
NONE = np.uint64(0)

# The softplus of so many units are summed as one block: as many factors between 1 and 2 may be multiplied without
# overflow, in float32 too, and they are whole cache lines.
FACTORS = np.int64(64)

# So many weights are moved at a time; a row is a whole number of them.
LANES = np.int64(8)


class Sets(NamedTuple):
    """Vectors and the sets they belong to; see the head of this file for starts and stride."""

    values: Array
    cols: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    stride: int
    offsets: npt.NDArray[np.int64]


class Weights(NamedTuple):
    """The parameters as the kernels hold them: W (n_blocks, n_features, stride), U (n_classes, width), c (width,)."""

    W: Array
    scale: Array
    U: Array
    b: Array
    c: Array
    d: Array


class Rules(NamedTuple):
    """The choices of a Spec as flags and numbers, and the number of hidden units."""

    is_or: bool
    is_hard: bool
    discriminative: bool
    is_gaussian: bool
    cd_steps: int
    persistent: bool
    n_hidden: int


class Rates(NamedTuple):
    """One model's step sizes, in the float type of its weights."""

    discriminative: Any
    generative: Any
    shrink: Any


class Chain(NamedTuple):
    """Where the persistent chains stand, one row a set (holder) and a vector (h); empty where there are none."""

    known: Mask
    holder: npt.NDArray[np.int32]
    h: Mask


class Team(NamedTuple):
    """One thread's place among those that train a model together: number ``me`` of ``n``, with units low to high.

    ``partial`` holds the logits of every block of units, twice: while one set's are read, the next set's are written.
    ``posts`` says up to which set each thread has written its own, one row each.
    """

    me: int
    n: int
    low: np.uint64
    high: np.uint64
    partial: Array
    posts: npt.NDArray[np.int64]


class Work(NamedTuple):
    """Scratch space for one set.

    ``away`` holds sigm(-a) for or; ``row`` is one row of hidden units for passing use.
    """

    a: Array
    share: Array
    away: Array
    pool: Array
    row: Array
    winner: npt.NDArray[np.int32]
    logits: Array
    p: Array
    slope: Array
    sums: Array
    products: Array
    units: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    holder: npt.NDArray[np.int32]
    h: Mask


class Bounds(NamedTuple):
    """The bias, the largest weight and the sum of positive weights of every input, and room for one block of inputs.

    The first three are in units of ``BIT``, the bias from ``ORIGIN`` on, so that a float with so many bits is the
    exponential of the bias times 2^24; see ``find_lanes``. ``stamp`` is the last step in which an input was measured;
    ``found`` lists inputs, ``drive`` and ``drawn`` hold a number for each of them.
    """

    bias: Array
    peak: Array
    mass: Array
    stamp: npt.NDArray[np.int64]
    found: npt.NDArray[np.int32]
    drive: Array
    drawn: npt.NDArray[np.float32]


class Room(NamedTuple):
    """Scratch space that grows with the largest set or batch, kept from epoch to epoch: new memory must be cleared."""

    a: Array
    share: Array
    away: Array
    h: Mask
    coef: Array


class Steps(NamedTuple):
    """What a batch wishes: steps for U, c and d, and one row of coefficients for each vector."""

    U: Array
    c: Array
    d: Array
    coef: Array


@kernel
def place_of(W, unit):
    """Return where, counted as a flat array, the weight of the first input and a unit stands."""
    return unit // FACTORS * (W.shape[1] * W.shape[2]) + unit % FACTORS


@kernel
def lanes_left(unit, high):
    """Return how many numbers there are from a unit to the end of its block, or to high."""
    return min(high, (unit // FACTORS + 1) * FACTORS) - unit


@kernel
def used(rules):
    """Return the number of hidden units rounded up to whole lanes."""
    return np.uint64(-(-rules.n_hidden // LANES) * LANES)
