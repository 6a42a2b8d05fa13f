"""The numba kernels of the cpu engine: training and prediction over flat vectors, dense and CSR alike.

Layout. W is kept as (n_features, width) and the hidden units of a vector as one row of ``width`` numbers: the number
of hidden units rounded up to whole cache lines, so that every row begins on one and loops have no remainder. The
padding stays zero. A dense matrix is read as CSR whose column numbers repeat from 0: the values of vector v begin at
``starts[v]``, its columns at ``starts[v] * stride`` with stride 1 (CSR) or 0 (dense). W stands for ``scale[0] * W``:
weight decay multiplies that one number instead of every weight.

A step is made in two halves. First every set of the batch leaves its wishes: one row of step coefficients for each of
its vectors, and steps for U, c and d. Then they are granted. So a batch of one and a batch of many are the same code,
and no gradient of W is ever held.

House rules. Comparisons are written so that NaN goes through: a model that diverges must not look sound. And, each
measured: What is called for every vector or feature is handed arrays, not records: a record is
copied whole at each call. Constants are numpy scalars: numba compiles a function anew for every literal it is
handed. Rows are copied by loops: slice assignment takes seconds to compile. No array is made inside a loop over sets.

Longer than other modules because only this file may import numba, and numba's cache does not notice a change in
another file that a kernel calls.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from setrbm import draws
from setrbm._types import Array, Mask

# Not blanket fastmath: its no-NaN and no-infinity flags turn log-sum-exp of -inf into NaN. Not reassoc either: whether
# a sum is then taken in lanes or one by one depends on where the arrays happen to lie, and so would its last bits.
FASTMATH = {"contract", "arcp", "nsz"}
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH}


def kernel(function: Any) -> Any:
    """Compile a function when it is first called, and keep the result on disk where there is a place to."""
    try:
        return numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # numba found no folder it may write to
        return numba.njit(**OPTIONS)(function)


HOLDER, HIDDEN = np.int64(draws.HOLDER), np.int64(draws.HIDDEN)
INPUT, INPUT_ANGLE, TARGET = np.int64(draws.INPUT), np.int64(draws.INPUT_ANGLE), np.int64(draws.TARGET)
GOLDEN64, MIX64_A, MIX64_B = np.uint64(draws.GOLDEN64), np.uint64(draws.MIX64_A), np.uint64(draws.MIX64_B)
GOLDEN32, MIX32_A, MIX32_B = np.uint32(draws.GOLDEN32), np.uint32(draws.MIX32_A), np.uint32(draws.MIX32_B)
ZERO = np.int64(0)
NOBODY = np.int32(-1)
# So many factors between 1 and 2 may be multiplied without overflow, in float32 too.
FACTORS = np.int64(96)
# So many weights are moved at a time; a row is a whole number of them.
LANES = np.int64(8)
# So many inputs are drawn at a time.
BLOCK = np.int64(512)


# --- what the kernels are handed -------------------------------------------------------------------


class Sets(NamedTuple):
    """Vectors and the sets they belong to; see the head of this file for starts and stride."""

    values: Array
    cols: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    stride: int
    offsets: npt.NDArray[np.int64]


class Weights(NamedTuple):
    """The parameters in the layout of the kernels: W (n_features, width), U (n_classes, width), c (width,)."""

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
    holder: npt.NDArray[np.int32]
    h: Mask


class Bounds(NamedTuple):
    """The largest weight and the sum of positive weights of every input, and room for one block of inputs."""

    peak: Array
    mass: Array
    hit: Mask
    found: npt.NDArray[np.int32]
    drive: Array


class Steps(NamedTuple):
    """What a batch wishes: steps for U, c and d, and one row of coefficients for each vector."""

    U: Array
    c: Array
    d: Array
    coef: Array


# --- random numbers: the same as draws.py ----------------------------------------------------------


@kernel
def mix64(z):
    """Scatter the bits of a 64-bit integer."""
    z = (z ^ (z >> np.uint64(30))) * MIX64_A
    z = (z ^ (z >> np.uint64(27))) * MIX64_B
    return z ^ (z >> np.uint64(31))


@kernel
def extend(key, field):
    """Mix one more field into a key."""
    return mix64(key + GOLDEN64 * (np.uint64(field) + np.uint64(1)))


@kernel
def mix32(z):
    """Scatter the bits of a 32-bit integer."""
    z = np.uint32((z ^ (z >> np.uint32(16))) * MIX32_A)
    z = np.uint32((z ^ (z >> np.uint32(15))) * MIX32_B)
    return np.uint32(z ^ (z >> np.uint32(16)))


@kernel
def uniform(key, unit):
    """Return the number in (0, 1) of a key and a unit."""
    low, high = np.uint32(key), np.uint32(key >> np.uint64(32))
    word = mix32(np.uint32(mix32(np.uint32(np.uint32(unit) * GOLDEN32 + low)) ^ high))
    return np.float32(np.int32(word >> np.uint32(9)) * np.int32(2) + np.int32(1)) * np.float32(2.0**-24)


@kernel
def vector_key(set_key, step, stage, vector):
    """Return the key of one stage of one chain step."""
    return extend(extend(extend(set_key, step), stage), vector)


# --- exp and log: polynomials in float32, which vectorise; the library's in float64 ----------------


@intrinsic
def float_of_bits(context, bits):
    """See the bits of an int32 as a float32."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def bits_of_float(context, number):
    """See a float32 as the bits of an int32."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), generate


def exp_down(x):
    """Return exp(x) for x <= 0; in float32 to 2e-7 of the value, and not below exp(-87)."""
    return math.exp(x)


def log_up(x):
    """Return log(x) for finite x > 0; in float32 to 2e-7 of max(1, |log x|)."""
    return math.log(x)


@overload(exp_down, jit_options={"fastmath": {"contract"}})
def _exp_down(x):
    if x != types.float32:
        return lambda x: math.exp(x)
    log2e, ln2_high, ln2_low = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
    lowest, half, one = np.float32(-87.0), np.float32(0.5), np.float32(1.0)
    p0, p1, p2 = np.float32(4.9999993412e-01), np.float32(1.6666520108e-01), np.float32(4.1668394215e-02)
    p3, p4 = np.float32(8.3687804183e-03), np.float32(1.3814466850e-03)

    def polynomial(x):
        # exp(x) = 2^n exp(f), x = n log 2 + f, |f| <= log(2) / 2, exp(f) = 1 + f + f^2 p(f)
        x = lowest if x < lowest else x
        n = np.int32(x * log2e - half)
        whole = np.float32(n)
        f = x - whole * ln2_high - whole * ln2_low
        p = p0 + f * (p1 + f * (p2 + f * (p3 + f * p4)))
        return (one + f + f * f * p) * float_of_bits(np.int32(np.int32(n + np.int32(127)) << np.int32(23)))

    return polynomial


@overload(log_up, jit_options={"fastmath": {"contract"}})
def _log_up(x):
    if x != types.float32:
        return lambda x: math.log(x)
    sqrt_half_bits, mantissa = np.int32(0x3F3504F3), np.int32(0x007FFFFF)
    ln2, one, two = np.float32(0.69314718), np.float32(1.0), np.float32(2.0)
    q0, q1, q2 = np.float32(6.6666777054e-01), np.float32(3.9977449484e-01), np.float32(2.9874420307e-01)

    def polynomial(x):
        # log(x) = n log 2 + log(m), m in [sqrt(1/2), sqrt(2)), log(m) = 2 s + s^3 q(s^2), s = (m - 1) / (m + 1)
        above = np.int32(bits_of_float(x) - sqrt_half_bits)
        n = np.float32(np.int32(above >> np.int32(23)))
        m = float_of_bits(np.int32(np.int32(above & mantissa) + sqrt_half_bits))
        s = (m - one) / (m + one)
        z = s * s
        # x - x is 0, but NaN for NaN: the bits above would hide it.
        return n * ln2 + s * (two + z * (q0 + z * (q1 + z * q2))) + (x - x)

    return polynomial


@kernel
def sigmoid(v):
    """Return 1 / (1 + exp(-v)) without overflow."""
    one = type(v)(1)
    e = exp_down(-abs(v))
    return (one if v >= type(v)(0) else e) / (one + e)


@kernel
def log_sigmoid(v):
    """Return log sigm(v) = min(v, 0) - log(1 + exp(-|v|))."""
    e = exp_down(-abs(v))
    return (v if v < type(v)(0) else type(v)(0)) - log_up(type(v)(1) + e)


# --- one set: activations, pools, outer layer ------------------------------------------------------


@kernel
def new_work(largest, width, n_classes, like):
    """Return scratch space for sets of up to ``largest`` vectors."""
    dtype = like.dtype
    return Work(
        np.zeros((largest, width), dtype),
        np.zeros((largest, width), dtype),
        np.zeros((largest, width), dtype),
        np.zeros(width, dtype),
        np.zeros(width, dtype),
        np.zeros(width, np.int32),
        np.zeros(n_classes, dtype),
        np.zeros(n_classes, dtype),
        np.zeros((n_classes, width), dtype),
        np.zeros(FACTORS, dtype),
        np.zeros(FACTORS, dtype),
        np.zeros(width, np.int64),
        np.zeros(width, np.int32),
        np.zeros((largest, width), np.bool_),
    )


@kernel
def activate(W, scale, c, values, cols, at_value, at_col, n, a):
    """Write a = c + W x for one vector; eight features a pass spare seven of eight loads and stores of a."""
    width = len(a)
    for j in range(width):
        a[j] = 0
    k = ZERO
    while k + 8 <= n:
        v, i = at_value + k, at_col + k
        i0, i1, i2, i3 = cols[i], cols[i + 1], cols[i + 2], cols[i + 3]
        i4, i5, i6, i7 = cols[i + 4], cols[i + 5], cols[i + 6], cols[i + 7]
        x0, x1, x2, x3 = values[v], values[v + 1], values[v + 2], values[v + 3]
        x4, x5, x6, x7 = values[v + 4], values[v + 5], values[v + 6], values[v + 7]
        for j in range(width):
            a[j] += (
                x0 * W[i0, j] + x1 * W[i1, j] + x2 * W[i2, j] + x3 * W[i3, j]
                + x4 * W[i4, j] + x5 * W[i5, j] + x6 * W[i6, j] + x7 * W[i7, j]
            )  # fmt: skip
        k += 8
    while k < n:
        i0, x0 = cols[at_col + k], values[at_value + k]
        for j in range(width):
            a[j] += x0 * W[i0, j]
        k += 1
    for j in range(width):
        a[j] = scale * a[j] + c[j]


@kernel
def activate_set(weights, sets, first, last, a):
    """Write the activations of vectors first to last into the rows of a."""
    for v in range(first, last):
        at = sets.starts[v]
        n = sets.starts[v + 1] - at
        activate(weights.W, weights.scale[0], weights.c, sets.values, sets.cols, at, at * sets.stride, n, a[v - first])


@kernel
def pool_hard(a, size, is_or, pool, winner):
    """Write the maximum over a set and the first vector that has it."""
    for j in range(len(pool)):
        pool[j] = a[0, j]
        winner[j] = 0
    for s in range(1, size):
        now = np.int32(s)
        for j in range(len(pool)):
            higher = a[s, j] > pool[j]
            winner[j] = now if higher else winner[j]
            pool[j] = a[s, j] if higher else pool[j]
    if is_or:
        for j in range(len(pool)):
            pool[j] = log_sigmoid(pool[j])


@kernel
def pool_xor(work, size, pool):
    """Write log sum_s exp(a_s) and each vector's share of the sum."""
    a, share, total = work.a, work.share, work.row
    for j in range(len(pool)):
        pool[j] = a[0, j]
        total[j] = 0
    for s in range(1, size):
        for j in range(len(pool)):
            pool[j] = a[s, j] if a[s, j] > pool[j] else pool[j]
    for s in range(size):
        for j in range(len(pool)):
            share[s, j] = exp_down(a[s, j] - pool[j])
            total[j] += share[s, j]
    finish_shares(share, size, total, pool)


@kernel
def pool_or(work, size, pool):
    """Write log sum_s sigm(a_s), each vector's share of the sum, and sigm(-a).

    sigm(a) = exp(min(a, 0)) / (1 + exp(-|a|)): with the largest min(a, 0) taken out, nothing underflows.
    """
    a, share, away, total = work.a, work.share, work.away, work.row
    zero, one = pool.dtype.type(0), pool.dtype.type(1)
    for j in range(len(pool)):
        pool[j] = a[0, j]
        total[j] = 0
    for s in range(1, size):
        for j in range(len(pool)):
            pool[j] = a[s, j] if a[s, j] > pool[j] else pool[j]
    for j in range(len(pool)):
        pool[j] = pool[j] if pool[j] < zero else zero
    for s in range(size):
        for j in range(len(pool)):
            v = a[s, j]
            low = v if v < zero else zero
            e = exp_down(-abs(v))
            part = one / (one + e)
            away[s, j] = (e if v >= zero else one) * part
            share[s, j] = exp_down(low - pool[j]) * part
            total[j] += share[s, j]
    finish_shares(share, size, total, pool)


@kernel
def finish_shares(share, size, total, pool):
    """Divide the shares by their total and add its log to the pool."""
    one = total.dtype.type(1)
    for j in range(len(total)):
        pool[j] += log_up(total[j])
        total[j] = one / total[j]
    for s in range(size):
        for j in range(len(total)):
            share[s, j] *= total[j]


@kernel
def pool_soft(work, size, is_or, pool):
    """Write the soft pool of the activations in the scratch space."""
    if is_or:
        pool_or(work, size, pool)
    else:
        pool_xor(work, size, pool)


@kernel
def fold(sums, products, n):
    """Return the sum of n numbers and the log of the product of n others, halving both until one is left.

    Each halving is a loop without a carried sum: it vectorises, and gives the same bits however it is compiled.
    """
    while n > 1:
        half = (n + 1) // 2
        for j in range(n - half):
            sums[j] += sums[half + j]
            products[j] *= products[half + j]
        n = half
    return sums[0] + log_up(products[0])


@kernel
def outer(pool, weights, n_hidden, logits, slope, sums, products):
    """Write logits_y = d_y + sum_j softplus(pool_j + U_yj) and the slopes sigm(pool_j + U_yj).

    softplus(v) = max(v, 0) + log(1 + exp(-|v|)), and the logs of a block of units are one log of their product.
    """
    U = weights.U
    zero, one = U.dtype.type(0), U.dtype.type(1)
    for y in range(len(logits)):
        total = weights.d[y]
        for start in range(0, n_hidden, FACTORS):
            n = min(FACTORS, n_hidden - start)
            for j in range(n):
                v = pool[start + j] + U[y, start + j]
                e = exp_down(-abs(v))
                sums[j] = zero if v < zero else v
                products[j] = one + e
                slope[y, start + j] = (one if v >= zero else e) / (one + e)
            total += fold(sums, products, n)
        logits[y] = total


@kernel
def normalise(logits, p):
    """Write the softmax of the logits and return their log-sum-exp."""
    peak = logits[0]
    for y in range(1, len(logits)):
        peak = max(peak, logits[y])
    total = logits.dtype.type(0)
    for y in range(len(logits)):
        p[y] = math.exp(logits[y] - peak)
        total += p[y]
    for y in range(len(logits)):
        p[y] /= total
    return peak + math.log(total)


# --- first half of a step: what one set wishes -----------------------------------------------------


@kernel
def wish_discriminative(rate, rules, work, size, label, steps, first_row):
    """Add the step down -log p(y | X), given the pool and class probabilities in the scratch space."""
    g, coef = work.row, steps.coef
    for j in range(len(g)):
        g[j] = 0
    for y in range(len(work.p)):
        delta = rate * (work.p[y] - work.p.dtype.type(y == label))
        steps.d[y] += delta
        for j in range(rules.n_hidden):
            part = delta * work.slope[y, j]
            steps.U[y, j] += part
            g[j] += part
    if rules.is_hard:
        for j in range(rules.n_hidden):
            s = work.winner[j]
            part = g[j] * sigmoid(-work.a[s, j]) if rules.is_or else g[j]
            coef[first_row + s, j] += part
            steps.c[j] += part
        return
    for s in range(size):
        if rules.is_or:
            for j in range(len(g)):
                coef[first_row + s, j] += g[j] * work.share[s, j] * work.away[s, j]
        else:
            for j in range(len(g)):
                coef[first_row + s, j] += g[j] * work.share[s, j]
        for j in range(len(g)):
            steps.c[j] += coef[first_row + s, j]


@kernel
def wish_statistics(rate, rules, weights, work, size, label, steps, coef, first_row):
    """Add rate times the expected statistics of the hidden units, given vectors and label."""
    on, one = work.row, work.row.dtype.type(1)
    steps.d[label] += rate
    for j in range(len(on)):
        on[j] = 0
    for j in range(rules.n_hidden):
        on[j] = sigmoid(work.pool[j] + weights.U[label, j])
        steps.U[label, j] += rate * on[j]
    for s in range(size):
        for j in range(rules.n_hidden):
            g = work.share[s, j] * on[j]
            h = one - (one - g) * work.away[s, j] if rules.is_or else g
            coef[first_row + s, j] += rate * h
            steps.c[j] += rate * h


@kernel
def draw_hidden(set_key, step, rules, weights, work, size, label):
    """Draw which vector holds each unit, and for or which other units are on."""
    key = vector_key(set_key, step, HOLDER, ZERO)
    for j in range(rules.n_hidden):
        on = sigmoid(work.pool[j] + weights.U[label, j])
        u, reached = uniform(key, j), work.pool.dtype.type(0)
        work.holder[j] = NOBODY
        for s in range(size):
            reached += work.share[s, j] * on
            if u < reached:
                work.holder[j] = np.int32(s)
                break
    one = work.pool.dtype.type(1)
    for s in range(size):
        key = vector_key(set_key, step, HIDDEN, s)
        for j in range(rules.n_hidden):
            work.h[s, j] = rules.is_or and uniform(key, j) < one - work.away[s, j]
    turn_on_held(rules, work)


@kernel
def turn_on_held(rules, work):
    """Turn on every unit of h that is held: h >= g."""
    for j in range(rules.n_hidden):
        if work.holder[j] != NOBODY:
            work.h[work.holder[j], j] = True


@kernel
def draw_label(set_key, step, rules, weights, work):
    """Draw the label given the units that are held."""
    for y in range(len(work.p)):
        work.logits[y] = weights.d[y]
        for j in range(rules.n_hidden):
            if work.holder[j] != NOBODY:
                work.logits[y] += weights.U[y, j]
    normalise(work.logits, work.p)
    u, reached = uniform(vector_key(set_key, step, TARGET, ZERO), ZERO), work.p.dtype.type(0)
    for y in range(len(work.p) - 1):
        reached += work.p[y]
        if u < reached:
            return y
    return len(work.p) - 1


@kernel
def list_units_on(rules, work, s):
    """List the units that are on in vector s, and write them as a row of zeros and ones; return how many."""
    n_units = ZERO
    for j in range(rules.n_hidden):
        work.row[j] = work.h[s, j]
        if work.h[s, j]:
            work.units[n_units] = j
            n_units += 1
    return n_units


@kernel
def drives_by_list(W, found, n_found, units, n_units, drive):
    """Write the sum of W_ij over the listed units for every input found."""
    for k in range(n_found):
        i, total = found[k], W.dtype.type(0)
        for u in range(n_units):
            total += W[i, units[u]]
        drive[k] = total


@kernel
def drives_by_row(W, found, n_found, row, drive):
    """Write the product of W_i with a row of zeros and ones for every input found, in eight running sums."""
    for k in range(n_found):
        i = found[k]
        t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = W.dtype.type(0)
        for j in range(0, len(row), LANES):
            t0 += W[i, j] * row[j]
            t1 += W[i, j + 1] * row[j + 1]
            t2 += W[i, j + 2] * row[j + 2]
            t3 += W[i, j + 3] * row[j + 3]
            t4 += W[i, j + 4] * row[j + 4]
            t5 += W[i, j + 5] * row[j + 5]
            t6 += W[i, j + 6] * row[j + 6]
            t7 += W[i, j + 7] * row[j + 7]
        drive[k] = ((t0 + t1) + (t2 + t3)) + ((t4 + t5) + (t6 + t7))


@kernel
def find_drives(weights, work, n_units, found, n_found, drive):
    """Write b_i + scale * sum of W_ij over the units that are on, for every input found."""
    if n_units * 8 < len(work.row):
        drives_by_list(weights.W, found, n_found, work.units, n_units, drive)
    else:
        drives_by_row(weights.W, found, n_found, work.row, drive)
    scale = weights.scale[0]
    for k in range(n_found):
        drive[k] = weights.b[found[k]] + scale * drive[k]


@kernel
def draw_gaussian(key, angle, weights, work, bounds, n_units, values, cols, at):
    """Draw every input around its drive with unit variance; return where the vector ends."""
    n_features, found, drive = len(weights.b), bounds.found, bounds.drive
    for first in range(0, n_features, BLOCK):
        n_found = min(BLOCK, n_features - first)
        for k in range(n_found):
            found[k] = first + k
        find_drives(weights, work, n_units, found, n_found, drive)
        for k in range(n_found):
            radius = math.sqrt(-2.0 * math.log(np.float64(uniform(key, first + k))))
            values[at] = drive[k] + radius * math.cos(2.0 * math.pi * np.float64(uniform(angle, first + k)))
            cols[at] = first + k
            at += 1
    return at


@kernel
def find_candidates(key, weights, bounds, n_units, first, last):
    """List the inputs from first to last that could be on, whichever units are; return how many.

    sigm(drive) <= exp(drive), and drive <= b_i + the lesser of n_units times the largest weight of the input and the
    sum of its positive weights: an input whose number is above that need not be looked at.
    """
    zero, scale, most = weights.b.dtype.type(0), weights.scale[0], weights.b.dtype.type(n_units)
    for i in range(first, last):
        several, every = most * bounds.peak[i], bounds.mass[i]
        highest = weights.b[i] + scale * (several if several < every else every)
        # A little above the bound: rounding must not hide an input.
        limit = exp_down(highest if highest < zero else zero) * weights.b.dtype.type(1.00001)
        bounds.hit[i - first] = uniform(key, i) < limit
    n_found = ZERO
    for i in range(first, last):
        if bounds.hit[i - first]:
            bounds.found[n_found] = i
            n_found += 1
    return n_found


@kernel
def draw_binary(key, weights, work, bounds, n_units, values, cols, at):
    """Draw every input; write those that are on and return where the vector ends."""
    n_features, found, drive = len(weights.b), bounds.found, bounds.drive
    for first in range(0, n_features, BLOCK):
        last = min(first + BLOCK, n_features)
        n_found = find_candidates(key, weights, bounds, n_units, first, last)
        find_drives(weights, work, n_units, found, n_found, drive)
        for k in range(n_found):
            drive[k] = sigmoid(drive[k])
        for k in range(n_found):
            if uniform(key, found[k]) < drive[k]:
                values[at] = 1
                cols[at] = found[k]
                at += 1
    return at


@kernel
def draw_set(set_key, step, rules, weights, work, bounds, model, row, size):
    """Draw the vectors of a set as rows ``row`` onwards of the model's sets, and their activations and pool."""
    for s in range(size):
        at, n_units = model.starts[row + s], list_units_on(rules, work, s)
        key = vector_key(set_key, step, INPUT, s)
        if rules.is_gaussian:
            angle = vector_key(set_key, step, INPUT_ANGLE, s)
            end = draw_gaussian(key, angle, weights, work, bounds, n_units, model.values, model.cols, at)
        else:
            end = draw_binary(key, weights, work, bounds, n_units, model.values, model.cols, at)
        model.starts[row + s + 1] = end
    activate_set(weights, model, row, row + size, work.a)
    pool_soft(work, size, rules.is_or, work.pool)


@kernel
def start_chain(set_key, rules, weights, work, sets, t, label, chain):
    """Put the hidden sample where the set's persistent chain stands, or draw it from the data."""
    first, size = sets.offsets[t], sets.offsets[t + 1] - sets.offsets[t]
    if not (rules.persistent and chain.known[t]):
        draw_hidden(set_key, ZERO, rules, weights, work, size, label)
        return
    for j in range(rules.n_hidden):
        work.holder[j] = chain.holder[t, j]
    for s in range(size):
        for j in range(rules.n_hidden):
            work.h[s, j] = rules.is_or and chain.h[first + s, j]
    turn_on_held(rules, work)


@kernel
def keep_chain(rules, work, sets, t, chain):
    """Store the hidden sample for the set's next visit."""
    first, size = sets.offsets[t], sets.offsets[t + 1] - sets.offsets[t]
    chain.known[t] = True
    for j in range(rules.n_hidden):
        chain.holder[t, j] = work.holder[j]
    if rules.is_or:
        for s in range(size):
            for j in range(rules.n_hidden):
                chain.h[first + s, j] = work.h[s, j]


@kernel
def wish_generative(rate, rules, weights, work, bounds, sets, t, label, set_key, chain, steps, row, model, model_coef):
    """Add the contrastive-divergence step, given the activations in the scratch space."""
    size = sets.offsets[t + 1] - sets.offsets[t]
    pool_soft(work, size, rules.is_or, work.pool)
    wish_statistics(-rate, rules, weights, work, size, label, steps, steps.coef, row)
    start_chain(set_key, rules, weights, work, sets, t, label, chain)
    for step in range(1, rules.cd_steps + 1):
        label = draw_label(set_key, step, rules, weights, work)
        draw_set(set_key, step, rules, weights, work, bounds, model, row, size)
        if step < rules.cd_steps or rules.persistent:
            draw_hidden(set_key, step, rules, weights, work, size, label)
    wish_statistics(rate, rules, weights, work, size, label, steps, model_coef, row)
    if rules.persistent:
        keep_chain(rules, work, sets, t, chain)


# --- second half of a step: the wishes granted -----------------------------------------------------


@intrinsic
def subtract_lanes(context, W, at_W, x, coef, at_coef):
    """Take x times eight numbers of coef from eight of W, both counted as flat arrays.

    Written as one vector: the compiler cannot know that W and coef do not overlap, so it would not make it one.
    """

    def generate(context, builder, signature, args):
        W_type, _, _, coef_type, _ = signature.args
        number = context.get_value_type(W_type.dtype)
        vector, align = ir.VectorType(number, int(LANES)), W_type.dtype.bitwidth // 8

        def pointer(array_type, array, at):
            data = context.make_array(array_type)(context, builder, array).data
            return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())

        target = pointer(W_type, args[0], args[1])
        weights, steps = (
            builder.load(target, align=align),
            builder.load(pointer(coef_type, args[3], args[4]), align=align),
        )
        nothing, first = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), int(LANES)), [0] * int(LANES))
        factor = builder.shuffle_vector(builder.insert_element(nothing, args[2], first), nothing, everywhere)
        product = builder.fmul(factor, steps, flags=["contract"])
        builder.store(builder.fsub(weights, product, flags=["contract"]), target, align=align)
        return context.get_dummy_value()

    return types.void(W, types.int64, W.dtype, coef, types.int64), generate


@kernel
def apply_vector(W, inverse_scale, coef, values, cols, at_value, at_col, n, blocks):
    """Take one vector's step, W_i -= x_i coef, and clear its coefficients; lanes without a wish are left alone."""
    n_blocks, width = ZERO, W.shape[1]
    for start in range(0, width, LANES):
        size = W.dtype.type(0)
        for j in range(start, start + LANES):
            size += abs(coef[j])
        if size != 0:
            blocks[n_blocks] = start
            n_blocks += 1
    for k in range(n if n_blocks else ZERO):
        row, x = np.int64(cols[at_col + k]) * width, inverse_scale * values[at_value + k]
        for block in range(n_blocks):
            subtract_lanes(W, row + blocks[block], x, coef, blocks[block])
    for j in range(width):
        coef[j] = 0


@kernel
def apply_dense(W, inverse_scale, coef, row, values, at, size):
    """Take the steps of a set of dense vectors, four a pass: W is read and written once for them together."""
    n_features, width = W.shape
    for s in range(0, size, 4):
        # Beyond the last vector stands the last one again, with nothing to wish.
        v1, v2, v3 = min(s + 1, size - 1), min(s + 2, size - 1), min(s + 3, size - 1)
        m0, none = inverse_scale, W.dtype.type(0)
        m1, m2 = inverse_scale if s + 1 < size else none, inverse_scale if s + 2 < size else none
        m3 = inverse_scale if s + 3 < size else none
        c0, c1, c2, c3 = coef[row + s], coef[row + v1], coef[row + v2], coef[row + v3]
        for i in range(n_features):
            x0, x1 = m0 * values[at + s * n_features + i], m1 * values[at + v1 * n_features + i]
            x2, x3 = m2 * values[at + v2 * n_features + i], m3 * values[at + v3 * n_features + i]
            for j in range(width):
                W[i, j] -= x0 * c0[j] + x1 * c1[j] + x2 * c2[j] + x3 * c3[j]
    for s in range(size):
        for j in range(width):
            coef[row + s, j] = 0


@kernel
def move_bias(b, rate, values, cols, at_value, at_col, n):
    """Add rate times one vector to the input biases."""
    for k in range(n):
        b[cols[at_col + k]] += rate * values[at_value + k]


@kernel
def decay(weights, shrink):
    """Shrink W and U; W by its scale alone, folded in before it gets too small to divide by."""
    for y in range(weights.U.shape[0]):
        for j in range(weights.U.shape[1]):
            weights.U[y, j] *= shrink
    weights.scale[0] *= shrink
    if abs(weights.scale[0]) < 1e-3:
        for i in range(weights.W.shape[0]):
            for j in range(weights.W.shape[1]):
                weights.W[i, j] *= weights.scale[0]
        weights.scale[0] = 1


@kernel
def apply_small(weights, steps):
    """Take the steps of U, c and d, and clear them."""
    for y in range(len(steps.d)):
        weights.d[y] -= steps.d[y]
        steps.d[y] = 0
        for j in range(len(steps.c)):
            weights.U[y, j] -= steps.U[y, j]
            steps.U[y, j] = 0
    for j in range(len(steps.c)):
        weights.c[j] -= steps.c[j]
        steps.c[j] = 0


@kernel
def apply_data(sets, batch, weights, steps, units):
    """Take the steps of W that the vectors of a batch wish for."""
    inverse_scale = weights.W.dtype.type(1) / weights.scale[0]
    row = ZERO
    for t in batch:
        if sets.stride == 0:
            size = sets.offsets[t + 1] - sets.offsets[t]
            apply_dense(weights.W, inverse_scale, steps.coef, row, sets.values, sets.starts[sets.offsets[t]], size)
            row += size
            continue
        for v in range(sets.offsets[t], sets.offsets[t + 1]):
            at = sets.starts[v]
            n = sets.starts[v + 1] - at
            coef = steps.coef[row]
            apply_vector(weights.W, inverse_scale, coef, sets.values, sets.cols, at, at * sets.stride, n, units)
            row += 1


@kernel
def apply_model(sets, set_weights, batch, weights, rate, model, model_coef, units, bounds):
    """Take the steps of W that the drawn vectors wish for, those of b for both, and look at the bounds again."""
    dtype = weights.W.dtype
    inverse_scale = dtype.type(1) / weights.scale[0]
    row = ZERO
    for t in batch:
        b_rate = rate * set_weights[t] / dtype.type(len(batch))
        for v in range(sets.offsets[t], sets.offsets[t + 1]):
            at = sets.starts[v]
            n = sets.starts[v + 1] - at
            move_bias(weights.b, b_rate, sets.values, sets.cols, at, at * sets.stride, n)
            at = model.starts[row]
            n = model.starts[row + 1] - at
            move_bias(weights.b, -b_rate, model.values, model.cols, at, at, n)
            apply_vector(weights.W, inverse_scale, model_coef[row], model.values, model.cols, at, at, n, units)
            row += 1
    if sets.stride == 0:
        renew_bounds(weights, bounds, sets.cols, ZERO, len(weights.b))
        return
    for t in batch:
        first, last = sets.starts[sets.offsets[t]], sets.starts[sets.offsets[t + 1]]
        renew_bounds(weights, bounds, sets.cols, first, last - first)
    renew_bounds(weights, bounds, model.cols, ZERO, model.starts[row])


# --- whole passes ----------------------------------------------------------------------------------


@kernel
def largest_batch(offsets, order, batch_size):
    """Return the most vectors any batch of this order holds, and the most any set holds."""
    most, largest = ZERO, np.int64(1)
    for start in range(0, len(order), batch_size):
        total = ZERO
        for place in range(start, min(start + batch_size, len(order))):
            size = offsets[order[place] + 1] - offsets[order[place]]
            total += size
            largest = max(largest, size)
        most = max(most, total)
    return most, largest


@kernel
def new_bounds(weights):
    """Return the bounds of every input's weights."""
    n_features, dtype = len(weights.b), weights.W.dtype
    bounds = Bounds(
        np.zeros(n_features, dtype), np.zeros(n_features, dtype), np.zeros(BLOCK, np.bool_), np.zeros(BLOCK, np.int32),
        np.zeros(BLOCK, dtype),
    )  # fmt: skip
    renew_bounds(weights, bounds, np.arange(n_features).astype(np.int32), ZERO, n_features)
    return bounds


@kernel
def renew_bounds(weights, bounds, cols, at, n):
    """Measure the largest weight and the sum of positive weights of the inputs listed."""
    zero = weights.W.dtype.type(0)
    for k in range(at, at + n):
        i = cols[k]
        peak, mass = zero, zero
        for j in range(weights.W.shape[1]):
            weight = weights.W[i, j] if weights.W[i, j] > zero else zero
            peak = weight if weight > peak else peak
            mass += weight
        bounds.peak[i], bounds.mass[i] = peak, mass


@kernel
def new_model(n_vectors, n_features, offsets, like):
    """Return room for drawn vectors: every feature of each. What is not written is never touched: no memory."""
    n_values = n_vectors * n_features
    starts = np.zeros(n_vectors + 1, np.int64)
    return Sets(np.empty(n_values, like.dtype), np.empty(n_values, np.int32), starts, 1, offsets)


@kernel
def train(sets, labels, set_weights, order, batch_size, weights, rules, rates, set_keys, chain, losses):
    """Make one pass over the sets in this order, a step every ``batch_size`` sets; write each set's loss.

    ``chain`` is None where nothing is learned generatively; the branches on it are then not even compiled.
    """
    n_features, width = weights.W.shape
    n_classes, dtype = len(weights.d), weights.W.dtype
    most, largest = largest_batch(sets.offsets, order, batch_size)
    work = new_work(largest, width, n_classes, weights.W)
    steps = Steps(
        np.zeros((n_classes, width), dtype), np.zeros(width, dtype), np.zeros(n_classes, dtype),
        np.zeros((most, width), dtype),
    )  # fmt: skip
    if chain is not None:
        model, model_coef = new_model(most, n_features, sets.offsets, weights.W), np.zeros((most, width), dtype)
        bounds = new_bounds(weights)
    for start in range(0, len(order), batch_size):
        stop = min(start + batch_size, len(order))
        row = ZERO
        for place in range(start, stop):
            t = order[place]
            size, label = sets.offsets[t + 1] - sets.offsets[t], labels[t]
            part = set_weights[t] / dtype.type(stop - start)
            activate_set(weights, sets, sets.offsets[t], sets.offsets[t + 1], work.a)
            if rules.is_hard:
                pool_hard(work.a, size, rules.is_or, work.pool, work.winner)
            else:
                pool_soft(work, size, rules.is_or, work.pool)
            outer(work.pool, weights, rules.n_hidden, work.logits, work.slope, work.sums, work.products)
            losses[place] = normalise(work.logits, work.p) - work.logits[label]
            if rules.discriminative:
                wish_discriminative(rates.discriminative * part, rules, work, size, label, steps, row)
            if chain is not None:
                wish_generative(
                    rates.generative * part, rules, weights, work, bounds, sets, t, label, set_keys[t], chain, steps,
                    row, model, model_coef,
                )  # fmt: skip
            row += size
        decay(weights, rates.shrink)
        apply_data(sets, order[start:stop], weights, steps, work.units)
        if chain is not None:
            apply_model(
                sets, set_weights, order[start:stop], weights, rates.generative, model, model_coef, work.units, bounds
            )
        apply_small(weights, steps)


@kernel
def forward_sets(sets, which, weights, rules, pools, F):
    """Write the pooled activations and free energies of the chosen sets, one row each."""
    _, largest = largest_batch(sets.offsets, which, 1)
    work = new_work(largest, weights.W.shape[1], len(weights.d), weights.W)
    for row in range(len(which)):
        first, last = sets.offsets[which[row]], sets.offsets[which[row] + 1]
        activate_set(weights, sets, first, last, work.a)
        if rules.is_hard:
            pool_hard(work.a, last - first, rules.is_or, work.pool, work.winner)
        else:
            pool_soft(work, last - first, rules.is_or, work.pool)
        outer(work.pool, weights, rules.n_hidden, work.logits, work.slope, work.sums, work.products)
        for j in range(rules.n_hidden):
            pools[row, j] = work.pool[j]
        for y in range(len(work.logits)):
            F[row, y] = -work.logits[y]
