"""Data layout around the kernels."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm._types import Array
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines.cpu.best_vector import LOGIT, MLP, RBM
from setrbm.engines.cpu.layout import FACTORS, Room, Rules, Sets, Weights
from setrbm.engines.protocol import Spec

CACHE_LINE = 64

# What two threads write stands at least so many bytes apart: processors fetch cache lines in pairs.
APART = 128


def kernel_sets(bags: Bags, dtype: npt.DTypeLike) -> Sets:
    """Return views of the bags' arrays; copies only where type or layout differ."""
    offsets = np.ascontiguousarray(bags.offsets, dtype=np.int64)
    if bags.is_sparse:
        values = np.ascontiguousarray(bags.X.data, dtype=dtype)
        cols = np.ascontiguousarray(bags.X.indices, dtype=np.int32)
        starts = np.ascontiguousarray(bags.X.indptr, dtype=np.int64)
        return Sets(_writable(values), _writable(cols), _writable(starts), 1, _writable(offsets))
    n_vectors, n_features = bags.X.shape
    values = np.ascontiguousarray(bags.X, dtype=dtype).reshape(-1)
    starts = np.arange(n_vectors + 1, dtype=np.int64) * n_features
    return Sets(_writable(values), np.arange(n_features, dtype=np.int32), starts, 0, _writable(offsets))


def _writable(array: Array) -> Array:
    """Return the array, or a copy of a read-only one, for which numba would compile everything anew."""
    return array if array.flags.writeable else array.copy()


def padded(n: int, dtype: np.dtype[Any], n_bytes: int = CACHE_LINE) -> int:
    """Return so many numbers rounded up to whole cache lines."""
    a_line = n_bytes // dtype.itemsize
    return -(-n // a_line) * a_line


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return zeros that begin on a pair of cache lines and share none with anything else."""
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    room = np.zeros(n_bytes + 2 * APART, dtype=np.uint8)
    shift = -room.ctypes.data % APART
    return room[shift : shift + n_bytes].view(dtype).reshape(shape)


def aligned(array: Array) -> Array:
    """Return a copy that shares no cache line with anything else."""
    copy = aligned_zeros(array.shape, array.dtype)
    copy[...] = array
    return copy


def kernel_weights(params: Params, dtype: npt.DTypeLike) -> Weights:
    """Return a copy of the parameters in the layout of the kernels."""
    kind = np.dtype(dtype)
    n_hidden, n_features = params.W.shape
    n_blocks = -(-n_hidden // int(FACTORS))
    stride = int(FACTORS) if n_blocks > 1 else padded(n_hidden, kind)
    W = aligned_zeros((n_blocks, n_features, stride), kind)
    for block, units in enumerate(blocks_of(n_hidden)):
        W[block, :, : len(params.c[units])] = params.W[units].T
    U, c = aligned_zeros((len(params.d), n_blocks * stride), kind), aligned_zeros((n_blocks * stride,), kind)
    U[:, :n_hidden], c[:n_hidden] = params.U.T, params.c
    return Weights(W, aligned(np.ones(1, kind)), U, aligned(params.b.astype(kind)), c, aligned(params.d.astype(kind)))


def blocks_of(n_hidden: int) -> list[slice]:
    """Return the hidden units of every block."""
    return [slice(start, min(start + int(FACTORS), n_hidden)) for start in range(0, n_hidden, int(FACTORS))]


def user_params(weights: Weights, n_hidden: int) -> Params:
    """Return a copy of the parameters in the paper's layout."""
    W = np.empty((weights.W.shape[1], n_hidden), weights.W.dtype)
    for block, units in enumerate(blocks_of(n_hidden)):
        np.multiply(weights.W[block, :, : units.stop - units.start], weights.scale[0], out=W[:, units])
    return Params(
        W.T, weights.U[:, :n_hidden].copy().T, weights.b.copy(), weights.c[:n_hidden].copy(), weights.d.copy()
    )


def kernel_rules(spec: Spec, n_hidden: int) -> Rules:
    """Return the choices of a spec as the kernels take them."""
    return Rules(
        spec.constraint == "or",
        spec.pooling == "hard",
        spec.discriminative,
        spec.visible == "gaussian",
        spec.cd_steps,
        spec.persistent,
        n_hidden,
    )


def kernel_unit(spec: Spec) -> np.int64 | None:
    """Return the unit of a max-out classifier as the kernels take it, None for a model of sets."""
    return {"set": None, "rbm": RBM, "mlp": MLP, "logit": LOGIT}[spec.unit]


class Rooms(threading.local):
    """The scratch space of every thread."""

    room: Room | None = None

    def of(self, weights: Weights, largest: int, most: int) -> Room:
        """Return room for sets of so many vectors, in batches of so many."""
        width, dtype = len(weights.c), weights.W.dtype
        room = self.room
        if room is None or room.a.shape[1] != width or len(room.a) < largest or len(room.coef) < most:
            a, share, away, coef = (np.zeros((n, width), dtype) for n in (largest, largest, largest, most))
            self.room = room = Room(a, share, away, np.zeros((largest, width), np.bool_), coef)
        return room
