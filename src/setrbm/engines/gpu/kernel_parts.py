"""Functions that both sets of Triton kernels are built from: random numbers, exact products, pools, posteriors."""

from __future__ import annotations

import triton
import triton.language as tl

from setrbm import draws

_GOLDEN64: tl.constexpr = tl.constexpr(draws.GOLDEN64)
_MIX64_A: tl.constexpr = tl.constexpr(draws.MIX64_A)
_MIX64_B: tl.constexpr = tl.constexpr(draws.MIX64_B)
_GOLDEN32: tl.constexpr = tl.constexpr(draws.GOLDEN32)
_MIX32_A: tl.constexpr = tl.constexpr(draws.MIX32_A)
_MIX32_B: tl.constexpr = tl.constexpr(draws.MIX32_B)


@triton.jit
def _softplus(v):
    return tl.maximum(v, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(v)))


@triton.jit
def _sigmoid(v):
    return 1.0 / (1.0 + tl.exp(-v))


@triton.jit
def _mix64(z):
    z = (z ^ (z >> 30)) * tl.full([], _MIX64_A, tl.uint64)
    z = (z ^ (z >> 27)) * tl.full([], _MIX64_B, tl.uint64)
    return z ^ (z >> 31)


@triton.jit
def _mix32(z):
    z = (z ^ (z >> 16)) * tl.full([], _MIX32_A, tl.uint32)
    z = (z ^ (z >> 15)) * tl.full([], _MIX32_B, tl.uint32)
    return z ^ (z >> 16)


@triton.jit
def _key(key, field):
    """Add one field to a key, like ``draws.keys``."""
    return _mix64(key + tl.full([], _GOLDEN64, tl.uint64) * (field.to(tl.uint64) + 1))


@triton.jit
def _uniform(key, unit, dtype: tl.constexpr):
    """Return uniform numbers in (0, 1) for keys and units, like ``draws.uniform``."""
    low, high = key.to(tl.uint32), (key >> 32).to(tl.uint32)
    bits = _mix32(_mix32(unit.to(tl.uint32) * tl.full([], _GOLDEN32, tl.uint32) + low) ^ high)
    return (2.0 * (bits >> 9).to(dtype) + 1.0) * 5.9604644775390625e-08


@triton.jit
def _value(a, OR: tl.constexpr):
    """Return the value to pool: the activation or, under "or", its log sigmoid."""
    return -_softplus(-a) if OR else a


@triton.jit
def _parts(x):
    """Split float32 numbers into the leading bits that tensor cores use, and the rest."""
    high = (x.to(tl.uint32, bitcast=True) & tl.full([], 0xFFFFE000, tl.uint32)).to(tl.float32, bitcast=True)
    return high, x - high


@triton.jit
def _product(left, right, sum, dtype: tl.constexpr, COARSE: tl.constexpr = False):
    """Return sum + left right with the precision of float32; COARSE if left is exact in its leading bits."""
    if dtype == tl.float64:
        total = tl.dot(left, right, acc=sum, input_precision="ieee", out_dtype=dtype)
    else:
        high, low = _parts(right)
        if COARSE:
            part = tl.dot(left, low, input_precision="tf32")
        else:
            left_high, left_low = _parts(left)
            part = tl.dot(left_low, high, input_precision="tf32")
            part = tl.dot(left_high, low, acc=part, input_precision="tf32")
            left = left_high
        part = tl.dot(left, high, acc=part, input_precision="tf32")
        # Added here, because tensor cores truncate their sums toward zero.
        total = sum + part
    return total


@triton.jit
def _soft_pool(A, n, j, dtype: tl.constexpr, HP: tl.constexpr, T: tl.constexpr, OR: tl.constexpr):
    """Return the log-sum-exp, over the vectors of a set, of the activations in A."""
    peak = tl.full([HP], float("-inf"), dtype)
    total = tl.zeros([HP], dtype)
    for begin in range(0, n, T):
        s = begin + tl.arange(0, T)
        a = tl.load(A + s[:, None] * HP + j[None, :], mask=(s < n)[:, None], other=float("-inf"))
        v = _value(a, OR)
        higher = tl.maximum(peak, tl.max(v, axis=0))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(v - higher[None, :]), axis=0)
        peak = higher
    return peak + tl.log(total)


@triton.jit
def _cost(n, dtype: tl.constexpr, SIZE_COST: tl.constexpr):
    """Return how much the size of a set lowers its pool."""
    size = n.to(dtype)
    return SIZE_COST * tl.log(size) if SIZE_COST != 0.0 else tl.zeros_like(size)


@triton.jit
def _logits(pool, U, d, in_j, in_y):
    """Return -F of every class, and the arguments of its softplus terms."""
    o = pool[:, None] + U
    terms = tl.where(in_j[:, None], _softplus(o), 0.0)
    return tl.where(in_y, d + tl.sum(terms, axis=0), float("-inf")), o


@triton.jit
def _log_posterior(logits):
    top = tl.max(logits, axis=0)
    return logits - top - tl.log(tl.sum(tl.exp(logits - top), axis=0))
