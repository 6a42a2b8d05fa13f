"""Conversion between the user's arrays and the records of the kernels; aligned and reusable memory."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm._types import Array
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines.cpu.best_vector import LOGIT, MLP, RBM
from setrbm.engines.cpu.layout import UNIT_BLOCK, Buffers, FlatSets, KernelSpec, Scratch, Weights
from setrbm.engines.cpu.pools import KERNELS
from setrbm.engines.protocol import Spec
from setrbm.pooling import POOLINGS

CACHE_LINE = 64
# Arrays of models that are trained side by side are at least this many bytes apart: processors fetch cache lines in
# pairs.
SEPARATION = 128


def flat_sets(bags: Bags, dtype: npt.DTypeLike) -> FlatSets:
    """Return views of the arrays of the bags; copies only if dtype or layout differ."""
    offsets = _usable(bags.offsets, np.int64)
    if bags.is_sparse:
        values, cols, starts = bags.X.data, bags.X.indices, bags.X.indptr
        return FlatSets(_usable(values, dtype), _usable(cols, np.int32), _usable(starts, np.int64), 1, offsets)
    n_vectors, n_features = bags.X.shape
    starts = np.arange(n_vectors + 1, dtype=np.int64) * n_features
    return FlatSets(_usable(bags.X, dtype).reshape(-1), np.arange(n_features, dtype=np.int32), starts, 0, offsets)


def _usable(array: Array, dtype: npt.DTypeLike) -> Array:
    """Return a contiguous, writable array: Numba would recompile all kernels for a read-only one."""
    array = np.ascontiguousarray(array, dtype=dtype)
    return array if array.flags.writeable else array.copy()


def padded(n: int, dtype: np.dtype[Any]) -> int:
    """Return n rounded up so that an array of this length fills whole cache lines."""
    per_line = CACHE_LINE // dtype.itemsize
    return -(-n // per_line) * per_line


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return zeros that share no cache line with any other array."""
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(n_bytes + 2 * SEPARATION, dtype=np.uint8)
    shift = -memory.ctypes.data % SEPARATION
    return memory[shift : shift + n_bytes].view(dtype).reshape(shape)


def aligned_copy(array: Array) -> Array:
    """Return a copy that shares no cache line with any other array."""
    copy = aligned_zeros(array.shape, array.dtype)
    copy[...] = array
    return copy


def unit_blocks(n_hidden: int) -> list[slice]:
    """Return the hidden units of every block."""
    size = int(UNIT_BLOCK)
    return [slice(start, min(start + size, n_hidden)) for start in range(0, n_hidden, size)]


def kernel_weights(params: Params, dtype: npt.DTypeLike) -> Weights:
    """Return a copy of the parameters in the layout of the kernels."""
    kind, blocks = np.dtype(dtype), unit_blocks(len(params.c))
    n_hidden, n_features = params.W.shape
    stride = int(UNIT_BLOCK) if len(blocks) > 1 else padded(n_hidden, kind)
    W = aligned_zeros((len(blocks), n_features, stride), kind)
    for block, units in enumerate(blocks):
        W[block, :, : units.stop - units.start] = params.W[units].T
    U, c = aligned_zeros((len(params.d), len(blocks) * stride), kind), aligned_zeros((len(blocks) * stride,), kind)
    U[:, :n_hidden], c[:n_hidden] = params.U.T, params.c
    one, b, d = (aligned_copy(array.astype(kind)) for array in (np.ones(1), params.b, params.d))
    return Weights(W, one, U, b, c, d)


def user_params(weights: Weights, n_hidden: int) -> Params:
    """Return a copy of the parameters in the layout of ``Params``."""
    W = np.empty((weights.W.shape[1], n_hidden), weights.W.dtype)
    for block, units in enumerate(unit_blocks(n_hidden)):
        np.multiply(weights.W[block, :, : units.stop - units.start], weights.scale[0], out=W[:, units])
    U, c = weights.U[:, :n_hidden].copy().T, weights.c[:n_hidden].copy()
    return Params(W.T, U, weights.b.copy(), c, weights.d.copy())


def kernel_spec(spec: Spec, n_hidden: int) -> KernelSpec:
    """Return the choices of a spec as the kernels take them."""
    size_cost, joint_size_cost = (POOLINGS[name].size_cost for name in (spec.pooling, spec.joint.pooling))
    return KernelSpec(
        spec.constraint == "or", int(KERNELS[spec.pooling]), size_cost, joint_size_cost, spec.discriminative,
        spec.visible == "gaussian", spec.cd_steps, spec.persistent, n_hidden,
    )  # fmt: skip


def kernel_unit(spec: Spec) -> np.int64 | None:
    """Return the unit of a max-out classifier as the kernels take it, None for a ClassSetRBM."""
    return {"set": None, "rbm": RBM, "mlp": MLP, "logit": LOGIT}[spec.unit]


def new_scratch(buffers: Buffers, weights: Weights) -> Scratch:
    """Return scratch memory for sets that fit the buffers."""
    dtype, width, n_classes = weights.W.dtype, len(weights.c), len(weights.d)
    numbers = {
        "pool": width, "row": width, "logits": n_classes, "block_logits": (len(weights.W), n_classes), "p": n_classes,
        "slope": (n_classes, width), "sums": UNIT_BLOCK, "products": UNIT_BLOCK,
    }  # fmt: skip
    indices = {"winner": np.int32, "units": np.int64, "indices": np.int64, "holder": np.int32}
    return Scratch(
        a=buffers.a, share=buffers.share, off=buffers.off, h=buffers.h,
        **{name: np.zeros(shape, dtype) for name, shape in numbers.items()},
        **{name: np.zeros(width, kind) for name, kind in indices.items()},
    )  # fmt: skip


class ThreadBuffers(threading.local):
    """Every thread's scratch memory."""

    buffers: Buffers | None = None

    def get(self, weights: Weights, largest_set: int, largest_batch: int) -> Buffers:
        """Return scratch memory for sets and mini-batches of at most this many vectors."""
        width, dtype, kept = len(weights.c), weights.W.dtype, self.buffers
        if kept is None or kept.a.shape[1] != width or len(kept.a) < largest_set or len(kept.coef) < largest_batch:
            a, share, off = (np.zeros((largest_set, width), dtype) for _ in range(3))
            h, coef = np.zeros((largest_set, width), np.bool_), np.zeros((largest_batch, width), dtype)
            self.buffers = kept = Buffers(a, share, off, h, coef)
        return kept
