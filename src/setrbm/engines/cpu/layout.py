"""How weights and sets are stored, and the records that kernels take.

Hidden units are stored in blocks of ``UNIT_BLOCK``. W has the shape (n_blocks, n_features, stride): the weights between
one input and one block of units are one row of whole cache lines. Values per hidden unit are rows of
``n_blocks * stride`` numbers. An *octet* is ``OCTET`` neighboring numbers, which one vector instruction processes.
Loops over hidden units cover whole octets; the padding stays zero.

W is stored divided by ``scale[0]``: weight decay multiplies that one number instead of every weight.

A dense matrix is read like CSR with column numbers that start over at 0 in each row. The values of vector v start at
``starts[v]``, its column numbers at ``starts[v] * stride``, where stride is 1 (CSR) or 0 (dense).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from setrbm._types import Array, Mask
from setrbm.engines.cpu.compiling import kernel

ZERO = np.int64(0)
# The softplus terms of one block are summed as the log of one product: 64 factors between 1 and 2 do not overflow, not
# even in float32. 64 numbers also fill whole cache lines.
UNIT_BLOCK = np.int64(64)
OCTET = np.int64(8)


class FlatSets(NamedTuple):
    """Vectors and the sets they belong to; the head of this file explains starts and stride."""

    values: Array
    cols: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    stride: int
    offsets: npt.NDArray[np.int64]


class Weights(NamedTuple):
    """Parameters: W of shape (n_blocks, n_features, stride), U (n_classes, width), c (width,); scale, b, d as usual."""

    W: Array
    scale: Array
    U: Array
    b: Array
    c: Array
    d: Array


class KernelSpec(NamedTuple):
    """The choices of a Spec as flags and numbers, and the number of hidden units.

    ``pooling`` is a number from ``pools``; the size costs are those of the pooling and of its joint distribution.
    """

    is_or: bool
    pooling: int
    size_cost: float
    joint_size_cost: float
    discriminative: bool
    is_gaussian: bool
    cd_steps: int
    persistent: bool
    n_hidden: int


class Rates(NamedTuple):
    """Learning rates and weight decay of one model, in the dtype of its weights."""

    discriminative: Any
    generative: Any
    shrink: Any


class ChainState(NamedTuple):
    """State of the persistent chains: known and holder have one row per set, h one per vector. Empty without chains."""

    known: Mask
    holder: npt.NDArray[np.int32]
    h: Mask


class Scratch(NamedTuple):
    """Scratch memory for one set.

    ``off`` holds sigm(-a) if the constraint is or, ``block_logits`` the part of each block of units in the logits;
    ``row`` is for temporary use.
    """

    a: Array
    share: Array
    off: Array
    pool: Array
    row: Array
    winner: npt.NDArray[np.int32]
    logits: Array
    block_logits: Array
    p: Array
    slope: Array
    sums: Array
    products: Array
    units: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int64]
    holder: npt.NDArray[np.int32]
    h: Mask


class InputBounds(NamedTuple):
    """Bias, largest weight and sum of positive weights of every input, and scratch memory for one block of inputs.

    The first three are in units of ``BIT``, and ``ORIGIN`` is added to the bias; ``candidates`` explains why.
    ``measured_at`` is the last step in which an input was measured. ``candidates`` lists inputs; ``drive`` and
    ``drawn`` hold one number for each of them.
    """

    bias: Array
    peak: Array
    mass: Array
    measured_at: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int32]
    drive: Array
    drawn: npt.NDArray[np.float32]


class Buffers(NamedTuple):
    """Scratch memory that grows with the largest set or mini-batch, reused in every epoch to avoid clearing it."""

    a: Array
    share: Array
    off: Array
    h: Mask
    coef: Array


class Steps(NamedTuple):
    """The steps of a mini-batch: for U, c and d, and one row of coefficients per vector for W."""

    U: Array
    c: Array
    d: Array
    coef: Array


@kernel
def entries(sets, v):
    """Return the values of a vector and their column numbers."""
    first, last = sets.starts[v], sets.starts[v + 1]
    at = first * sets.stride
    return sets.values[first:last], sets.cols[at : at + last - first]


@kernel
def flat_index(W, unit):
    """Return the index of W[block, 0, column] of a unit in the flattened W."""
    return unit // UNIT_BLOCK * (W.shape[1] * W.shape[2]) + unit % UNIT_BLOCK


@kernel
def left_in_block(unit, last):
    """Return the number of units from this one to the end of its block, or to the last."""
    return min(last, (unit // UNIT_BLOCK + 1) * UNIT_BLOCK) - unit


@kernel
def padded_hidden(spec):
    """Return the number of hidden units, rounded up to whole octets.

    It is unsigned: with a signed index, Numba checks at every step of a loop whether it is negative.
    """
    return np.uint64(-(-spec.n_hidden // OCTET) * OCTET)
