"""The fast engine for processors: numba kernels over the flat matrix of vectors, dense and CSR alike.

Layout: W is kept as (n_features, n_hidden) and U as (n_classes, n_hidden), so that one feature, or one class, is one
contiguous row of hidden units. A dense matrix is read as CSR whose column numbers repeat from 0: the values of vector v
begin at ``starts[v]``, its columns at ``starts[v] * stride`` with stride 1 (CSR) or 0 (dense). W is stored divided by
``scale[0]``: weight decay multiplies that one number instead of every weight.

A step is made in two halves. First every set of the batch leaves its wishes: one row of step coefficients for each of
its vectors, and steps for U, c and d. Then they are applied. So a batch of one and a batch of many are the same code,
and no gradient of W is ever held.

Longer than other modules because only this file may import numba, and a kernel cannot be called across a cache
boundary without being compiled twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from setrbm import draws
from setrbm._types import Array, Constraint, Floats, Integers, Mask, Pooling
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines.protocol import LabelledSets, Model, Session, Spec
from setrbm.engines.reference import score_free_energies

# Not blanket fastmath: its no-NaN and no-infinity flags turn log-sum-exp of -inf into NaN.
kernel = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})

HOLDER, HIDDEN, INPUT, INPUT_ANGLE, TARGET = draws.HOLDER, draws.HIDDEN, draws.INPUT, draws.INPUT_ANGLE, draws.TARGET
GOLDEN64, MIX64_A, MIX64_B = np.uint64(draws.GOLDEN64), np.uint64(draws.MIX64_A), np.uint64(draws.MIX64_B)
GOLDEN32, MIX32_A, MIX32_B = np.uint32(draws.GOLDEN32), np.uint32(draws.MIX32_A), np.uint32(draws.MIX32_B)
NOBODY = -1


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
    return np.float32(np.uint32(word >> np.uint32(9)) * np.uint32(2) + np.uint32(1)) * np.float32(2.0**-24)


@kernel
def vector_key(set_key, step, stage, vector):
    """Return the key of one stage of one chain step."""
    return extend(extend(extend(set_key, step), stage), vector)


# --- scalar functions ------------------------------------------------------------------------------


@kernel
def sigmoid(v):
    """Return 1 / (1 + exp(-v)) without overflow."""
    one = type(v)(1)
    e = math.exp(-abs(v))
    return (one if v >= 0 else e) / (one + e)


@kernel
def log_sigmoid(v):
    """Return log sigm(v) = min(v, 0) - log1p(exp(-|v|))."""
    return min(v, type(v)(0)) - math.log1p(math.exp(-abs(v)))


# --- what the kernels are handed -------------------------------------------------------------------


class Sets(NamedTuple):
    """Vectors and the sets they belong to; see the head of this file for starts and stride."""

    values: Array
    cols: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    stride: int
    offsets: npt.NDArray[np.int64]


class Weights(NamedTuple):
    """The parameters in the layout of the kernels; W stands for ``scale[0] * W``."""

    W: Array
    scale: Array
    U: Array
    b: Array
    c: Array
    d: Array


class Rules(NamedTuple):
    """The choices of a Spec as flags and numbers."""

    is_or: bool
    is_hard: bool
    discriminative: bool
    generative: bool
    is_gaussian: bool
    cd_steps: int
    persistent: bool


class Rates(NamedTuple):
    """One model's step sizes, in the float type of its weights."""

    discriminative: Any
    generative: Any
    shrink: Any


class Chain(NamedTuple):
    """Where the persistent chains stand; empty arrays where there are none."""

    known: Mask
    holder: npt.NDArray[np.int64]
    h: Mask


class Work(NamedTuple):
    """Scratch space for one set: activations, shares, pool, class probabilities, a hidden sample."""

    a: Array
    share: Array
    total: Array
    pool: Array
    winner: npt.NDArray[np.int64]
    logits: Array
    p: Array
    slope: Array
    units: npt.NDArray[np.int64]
    holder: npt.NDArray[np.int64]
    h: Mask


class Steps(NamedTuple):
    """What a batch wishes: steps for U, c and d, and one row of coefficients for each vector."""

    U: Array
    c: Array
    d: Array
    coef: Array


@kernel
def new_work(largest, n_hidden, n_classes, like):
    """Return scratch space for sets of up to ``largest`` vectors."""
    dtype = like.dtype
    return Work(
        np.empty((largest, n_hidden), dtype),
        np.empty((largest, n_hidden), dtype),
        np.empty(n_hidden, dtype),
        np.empty(n_hidden, dtype),
        np.empty(n_hidden, np.int64),
        np.empty(n_classes, dtype),
        np.empty(n_classes, dtype),
        np.empty((n_classes, n_hidden), dtype),
        np.empty(n_hidden, np.int64),
        np.empty(n_hidden, np.int64),
        np.empty((largest, n_hidden), np.bool_),
    )


# --- one set: activations, pools, outer layer ------------------------------------------------------


@kernel
def activate(weights, values, cols, at_value, at_col, n, a):
    """Write a = c + W x for one vector; four features a pass spare three of four loads and stores of a."""
    W, n_hidden = weights.W, len(a)
    for j in range(n_hidden):
        a[j] = 0
    k = 0
    while k + 4 <= n:
        i0, i1, i2, i3 = cols[at_col + k], cols[at_col + k + 1], cols[at_col + k + 2], cols[at_col + k + 3]
        x0, x1 = values[at_value + k], values[at_value + k + 1]
        x2, x3 = values[at_value + k + 2], values[at_value + k + 3]
        for j in range(n_hidden):
            a[j] += x0 * W[i0, j] + x1 * W[i1, j] + x2 * W[i2, j] + x3 * W[i3, j]
        k += 4
    while k < n:
        i0, x0 = cols[at_col + k], values[at_value + k]
        for j in range(n_hidden):
            a[j] += x0 * W[i0, j]
        k += 1
    scale = weights.scale[0]
    for j in range(n_hidden):
        a[j] = scale * a[j] + weights.c[j]


@kernel
def activate_set(weights, sets, first, last, a):
    """Write the activations of vectors first to last into the rows of a."""
    for v in range(first, last):
        at = sets.starts[v]
        activate(weights, sets.values, sets.cols, at, at * sets.stride, sets.starts[v + 1] - at, a[v - first])


@kernel
def pool_hard(a, size, is_or, pool, winner):
    """Write the maximum over a set and the first vector that has it."""
    for j in range(len(pool)):
        pool[j] = a[0, j]
        winner[j] = 0
    for s in range(1, size):
        for j in range(len(pool)):
            higher = a[s, j] > pool[j]
            winner[j] = s if higher else winner[j]
            pool[j] = a[s, j] if higher else pool[j]
    if is_or:
        for j in range(len(pool)):
            pool[j] = log_sigmoid(pool[j])


@kernel
def pool_soft(a, size, is_or, pool, share, total):
    """Write the log-sum-exp over a set and each vector's share of it."""
    for s in range(size):
        for j in range(len(pool)):
            share[s, j] = log_sigmoid(a[s, j]) if is_or else a[s, j]
    for j in range(len(pool)):
        pool[j] = share[0, j]
        total[j] = 0
    for s in range(1, size):
        for j in range(len(pool)):
            pool[j] = max(pool[j], share[s, j])
    for s in range(size):
        for j in range(len(pool)):
            share[s, j] = math.exp(share[s, j] - pool[j])
            total[j] += share[s, j]
    for s in range(size):
        for j in range(len(pool)):
            share[s, j] /= total[j]
    for j in range(len(pool)):
        pool[j] += math.log(total[j])


@kernel
def outer(pool, weights, logits, slope):
    """Write logits_y = d_y + sum_j softplus(pool_j + U_yj) and the slopes sigm(pool_j + U_yj)."""
    U = weights.U
    zero, one = U.dtype.type(0), U.dtype.type(1)
    for y in range(len(logits)):
        total = zero
        for j in range(len(pool)):
            v = pool[j] + U[y, j]
            e = math.exp(-abs(v))
            total += max(v, zero) + math.log1p(e)
            slope[y, j] = (one if v >= zero else e) / (one + e)
        logits[y] = weights.d[y] + total


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
def wish_discriminative(rate, rules, work, size, label, steps, coef):
    """Add the step down -log p(y | X), given the pool and class probabilities in the scratch space."""
    g = work.total
    g[:] = 0
    for y in range(len(work.p)):
        delta = rate * (work.p[y] - work.p.dtype.type(y == label))
        steps.d[y] += delta
        for j in range(len(g)):
            part = delta * work.slope[y, j]
            steps.U[y, j] += part
            g[j] += part
    if rules.is_hard:
        for j in range(len(g)):
            s = work.winner[j]
            part = g[j] * sigmoid(-work.a[s, j]) if rules.is_or else g[j]
            coef[s, j] += part
            steps.c[j] += part
        return
    for s in range(size):
        for j in range(len(g)):
            part = g[j] * work.share[s, j]
            if rules.is_or:
                part *= sigmoid(-work.a[s, j])
            coef[s, j] += part
            steps.c[j] += part


@kernel
def wish_statistics(rate, rules, weights, work, size, label, steps, coef):
    """Add rate times the expected statistics of the hidden units, given vectors and label."""
    one = work.pool.dtype.type(1)
    steps.d[label] += rate
    for j in range(len(work.pool)):
        on = sigmoid(work.pool[j] + weights.U[label, j])
        steps.U[label, j] += rate * on
        for s in range(size):
            g = work.share[s, j] * on
            h = g + (one - g) * sigmoid(work.a[s, j]) if rules.is_or else g
            coef[s, j] += rate * h
            steps.c[j] += rate * h


@kernel
def draw_hidden(set_key, step, rules, weights, work, size, label):
    """Draw which vector holds each unit, and for or which other units are on."""
    key = vector_key(set_key, step, HOLDER, 0)
    for j in range(len(work.pool)):
        on = sigmoid(work.pool[j] + weights.U[label, j])
        u, reached = uniform(key, j), work.pool.dtype.type(0)
        work.holder[j] = NOBODY
        for s in range(size):
            reached += work.share[s, j] * on
            if u < reached:
                work.holder[j] = s
                break
    for s in range(size):
        key = vector_key(set_key, step, HIDDEN, s)
        for j in range(len(work.pool)):
            work.h[s, j] = rules.is_or and uniform(key, j) < sigmoid(work.a[s, j])
    turn_on_held(work)


@kernel
def turn_on_held(work):
    """Turn on every unit of h that is held: h >= g."""
    for j in range(len(work.holder)):
        if work.holder[j] != NOBODY:
            work.h[work.holder[j], j] = True


@kernel
def draw_label(set_key, step, weights, work):
    """Draw the label given the units that are held."""
    for y in range(len(work.p)):
        work.logits[y] = weights.d[y]
        for j in range(len(work.holder)):
            if work.holder[j] != NOBODY:
                work.logits[y] += weights.U[y, j]
    normalise(work.logits, work.p)
    u, reached = uniform(vector_key(set_key, step, TARGET, 0), 0), work.p.dtype.type(0)
    for y in range(len(work.p) - 1):
        reached += work.p[y]
        if u < reached:
            return y
    return len(work.p) - 1


@kernel
def draw_vector(set_key, step, s, rules, weights, work, values, cols, at):
    """Draw vector s given its hidden units into the buffers from ``at``; return where it ends."""
    n_units = 0
    for j in range(work.h.shape[1]):
        if work.h[s, j]:
            work.units[n_units] = j
            n_units += 1
    key, angle = vector_key(set_key, step, INPUT, s), vector_key(set_key, step, INPUT_ANGLE, s)
    for i in range(len(weights.b)):
        drive = weights.b.dtype.type(0)
        for u in range(n_units):
            drive += weights.W[i, work.units[u]]
        drive = weights.b[i] + weights.scale[0] * drive
        if rules.is_gaussian:
            radius = math.sqrt(-2.0 * math.log(np.float64(uniform(key, i))))
            values[at] = drive + radius * math.cos(2.0 * math.pi * np.float64(uniform(angle, i)))
            cols[at] = i
            at += 1
        elif uniform(key, i) < sigmoid(drive):
            values[at] = 1
            cols[at] = i
            at += 1
    return at


@kernel
def draw_set(set_key, step, rules, weights, work, model, row, size):
    """Draw the vectors of a set as rows ``row`` onwards of the model's sets, and their activations and pool."""
    for s in range(size):
        at = model.starts[row + s]
        end = draw_vector(set_key, step, s, rules, weights, work, model.values, model.cols, at)
        model.starts[row + s + 1] = end
    activate_set(weights, model, row, row + size, work.a)
    pool_soft(work.a, size, rules.is_or, work.pool, work.share, work.total)


@kernel
def start_chain(set_key, rules, weights, work, sets, t, label, chain):
    """Put the hidden sample where the set's persistent chain stands, or draw it from the data."""
    first, size = sets.offsets[t], sets.offsets[t + 1] - sets.offsets[t]
    if not (rules.persistent and chain.known[t]):
        draw_hidden(set_key, 0, rules, weights, work, size, label)
        return
    work.holder[:] = chain.holder[t]
    if rules.is_or:
        work.h[:size] = chain.h[first : first + size]
    else:
        work.h[:size] = False
        turn_on_held(work)


@kernel
def keep_chain(rules, work, sets, t, chain):
    """Store the hidden sample for the set's next visit."""
    chain.known[t] = True
    chain.holder[t] = work.holder
    if rules.is_or:
        first, last = sets.offsets[t], sets.offsets[t + 1]
        chain.h[first:last] = work.h[: last - first]


@kernel
def wish_generative(
    rate, rules, weights, work, sets, t, label, epoch_key, first_set, chain, steps, row, model, model_coef
):
    """Add the contrastive-divergence step, given the activations in the scratch space."""
    size = sets.offsets[t + 1] - sets.offsets[t]
    set_key = extend(epoch_key, first_set + t)
    if rules.is_hard:
        pool_soft(work.a, size, rules.is_or, work.pool, work.share, work.total)
    wish_statistics(-rate, rules, weights, work, size, label, steps, steps.coef[row : row + size])
    start_chain(set_key, rules, weights, work, sets, t, label, chain)
    for step in range(1, rules.cd_steps + 1):
        label = draw_label(set_key, step, weights, work)
        draw_set(set_key, step, rules, weights, work, model, row, size)
        if step < rules.cd_steps or rules.persistent:
            draw_hidden(set_key, step, rules, weights, work, size, label)
    wish_statistics(rate, rules, weights, work, size, label, steps, model_coef[row : row + size])
    if rules.persistent:
        keep_chain(rules, work, sets, t, chain)


# --- second half of a step: the wishes granted -----------------------------------------------------


@kernel
def apply_vector(weights, inverse_scale, b_rate, coef, values, cols, at_value, at_col, n, units):
    """Take one vector's step, W_i -= x_i coef and b_i -= x_i b_rate, and clear its coefficients."""
    W, n_units = weights.W, 0
    for j in range(len(coef)):
        if coef[j] != 0:
            units[n_units] = j
            n_units += 1
            coef[j] *= inverse_scale
    if n_units * 8 < len(coef):
        for k in range(n if n_units else 0):
            i, x = cols[at_col + k], values[at_value + k]
            for u in range(n_units):
                W[i, units[u]] -= x * coef[units[u]]
    else:
        for k in range(n):
            i, x = cols[at_col + k], values[at_value + k]
            for j in range(len(coef)):
                W[i, j] -= x * coef[j]
    for j in range(len(coef)):
        coef[j] = 0
    if b_rate != 0:
        for k in range(n):
            weights.b[cols[at_col + k]] -= values[at_value + k] * b_rate


@kernel
def decay(weights, shrink):
    """Shrink W and U; W by its scale alone, folded in before it gets too small to divide by."""
    for y in range(weights.U.shape[0]):
        for j in range(weights.U.shape[1]):
            weights.U[y, j] *= shrink
    weights.scale[0] *= shrink
    if abs(weights.scale[0]) < 1e-3:
        weights.W[:] = weights.W * weights.scale[0]
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


# --- whole passes ----------------------------------------------------------------------------------


@kernel
def largest_batch(offsets, order, batch_size):
    """Return the most vectors any batch of this order holds, and the most any set holds."""
    most, largest = 0, 1
    for start in range(0, len(order), batch_size):
        total = 0
        for t in order[start : start + batch_size]:
            total += offsets[t + 1] - offsets[t]
            largest = max(largest, offsets[t + 1] - offsets[t])
        most = max(most, total)
    return most, largest


@kernel
def train(sets, labels, set_weights, order, batch_size, first_set, weights, rules, rates, epoch_key, chain, losses):
    """Make one pass over the sets in this order, a step every ``batch_size`` sets; write each set's loss."""
    n_features, n_hidden = weights.W.shape
    n_classes, dtype = len(weights.d), weights.W.dtype
    most, largest = largest_batch(sets.offsets, order, batch_size)
    work = new_work(largest, n_hidden, n_classes, weights.W)
    steps = Steps(np.zeros((n_classes, n_hidden), dtype), np.zeros(n_hidden, dtype), np.zeros(n_classes, dtype),
                  np.zeros((most, n_hidden), dtype))  # fmt: skip
    drawn = most if rules.generative else 0
    # Room for every feature of every vector; what is not written is never touched, so it takes no memory.
    model = Sets(np.empty(drawn * n_features, dtype), np.empty(drawn * n_features, np.int32),
                 np.zeros(drawn + 1, np.int64), 1, sets.offsets)  # fmt: skip
    model_coef = np.zeros((drawn, n_hidden), dtype)
    for start in range(0, len(order), batch_size):
        stop = min(start + batch_size, len(order))
        row = 0
        for place in range(start, stop):
            t = order[place]
            size, label = sets.offsets[t + 1] - sets.offsets[t], labels[t]
            part = set_weights[t] / dtype.type(stop - start)
            activate_set(weights, sets, sets.offsets[t], sets.offsets[t + 1], work.a)
            if rules.is_hard:
                pool_hard(work.a, size, rules.is_or, work.pool, work.winner)
            else:
                pool_soft(work.a, size, rules.is_or, work.pool, work.share, work.total)
            outer(work.pool, weights, work.logits, work.slope)
            losses[place] = normalise(work.logits, work.p) - work.logits[label]
            if rules.discriminative:
                wish_discriminative(rates.discriminative * part, rules, work, size, label, steps,
                                    steps.coef[row : row + size])  # fmt: skip
            if rules.generative:
                wish_generative(rates.generative * part, rules, weights, work, sets, t, label, epoch_key, first_set,
                                chain, steps, row, model, model_coef)  # fmt: skip
            row += size
        decay(weights, rates.shrink)
        apply_batch(sets, set_weights, order[start:stop], weights, rates, steps, model, model_coef, work.units)
        apply_small(weights, steps)


@kernel
def apply_batch(sets, set_weights, batch, weights, rates, steps, model, model_coef, units):
    """Take the steps of W and b for every vector of a batch, and for every vector the model drew."""
    dtype = weights.W.dtype
    inverse_scale = dtype.type(1) / weights.scale[0]
    row = 0
    for t in batch:
        b_rate = dtype.type(0)
        if len(model_coef):
            b_rate = rates.generative * set_weights[t] / dtype.type(len(batch))
        for v in range(sets.offsets[t], sets.offsets[t + 1]):
            at = sets.starts[v]
            apply_vector(weights, inverse_scale, -b_rate, steps.coef[row], sets.values, sets.cols, at, at * sets.stride,
                         sets.starts[v + 1] - at, units)  # fmt: skip
            if len(model_coef):
                at = model.starts[row]
                apply_vector(weights, inverse_scale, b_rate, model_coef[row], model.values, model.cols, at, at,
                             model.starts[row + 1] - at, units)  # fmt: skip
            row += 1


@kernel
def forward_sets(sets, which, weights, is_or, is_hard, pools, F):
    """Write the pooled activations and free energies of the chosen sets, one row each."""
    _, largest = largest_batch(sets.offsets, which, 1)
    work = new_work(largest, weights.W.shape[1], len(weights.d), weights.W)
    for row in range(len(which)):
        first, last = sets.offsets[which[row]], sets.offsets[which[row] + 1]
        activate_set(weights, sets, first, last, work.a)
        if is_hard:
            pool_hard(work.a, last - first, is_or, pools[row], work.winner)
        else:
            pool_soft(work.a, last - first, is_or, pools[row], work.share, work.total)
        outer(pools[row], weights, F[row], work.slope)
        for y in range(F.shape[1]):
            F[row, y] = -F[row, y]


# --- the engine ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placed:
    """Labelled sets as the kernels take them."""

    sets: Sets
    labels: npt.NDArray[np.int64]
    weights: Array
    first: int


def kernel_sets(bags: Bags, dtype: npt.DTypeLike) -> Sets:
    """Return views of the bags' arrays; copies only where type or layout differ."""
    offsets = bags.offsets.astype(np.int64, copy=False)
    if bags.is_sparse:
        values = np.ascontiguousarray(bags.X.data, dtype=dtype)
        cols = np.ascontiguousarray(bags.X.indices, dtype=np.int32)
        return Sets(values, cols, np.ascontiguousarray(bags.X.indptr, dtype=np.int64), 1, offsets)
    n_vectors, n_features = bags.X.shape
    values = np.ascontiguousarray(bags.X, dtype=dtype).reshape(-1)
    starts = np.arange(n_vectors + 1, dtype=np.int64) * n_features
    return Sets(values, np.arange(n_features, dtype=np.int32), starts, 0, offsets)


def kernel_weights(params: Params, dtype: npt.DTypeLike, copy: bool) -> Weights:
    """Return the parameters in the layout of the kernels."""

    def convert(array: Array) -> Array:
        # A user's W_ is a transposed view of such an array: then nothing is copied.
        return np.array(array, dtype=dtype, order="C") if copy else np.ascontiguousarray(array, dtype=dtype)

    return Weights(convert(params.W.T), np.ones(1, dtype), convert(params.U.T), convert(params.b),
                   convert(params.c), convert(params.d))  # fmt: skip


def user_params(weights: Weights) -> Params:
    """Return the parameters in the paper's layout; W and U are views of copies in the kernels' layout."""
    W = weights.W * weights.scale[0]
    return Params(W.T, weights.U.copy().T, weights.b.copy(), weights.c.copy(), weights.d.copy())


# Threads pay only above so many multiplications; starting one costs about as much.
WORTH_A_THREAD = 1_000_000


def in_threads(n_jobs: int, jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run the jobs, each releasing the GIL in its kernel; results in the order of the jobs."""
    if n_jobs == 1 or len(jobs) == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(n_jobs) as threads:
        return list(threads.map(lambda job: job(), jobs))


def forward_rows(
    sets: Sets, which: npt.NDArray[np.int64], weights: Weights, is_or: bool, is_hard: bool, n_jobs: int
) -> tuple[Array, Array]:
    """Return pools and free energies of the chosen sets, shared out between threads by rows."""
    pools = np.empty((len(which), weights.W.shape[1]), weights.W.dtype)
    F = np.empty((len(which), len(weights.d)), weights.W.dtype)
    values_a_set = len(sets.values) / max(len(sets.offsets) - 1, 1)
    n_parts = min(4 * n_jobs, int(len(which) * values_a_set * weights.W.shape[1] / WORTH_A_THREAD)) or 1
    bounds = np.linspace(0, len(which), n_parts + 1).astype(int)

    def part(low: int, high: int) -> Callable[[], None]:
        return lambda: forward_sets(sets, which[low:high], weights, is_or, is_hard, pools[low:high], F[low:high])

    in_threads(n_jobs, [part(low, high) for low, high in itertools.pairwise(bounds)])
    return pools, F


class CpuSession:
    """Models under training; each runs on one thread, several side by side."""

    def __init__(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> None:
        self.spec, self.models, self.n_jobs = spec, models, n_jobs
        self.rules = Rules(
            spec.constraint == "or", spec.pooling == "hard", spec.discriminative, spec.generative,
            spec.visible == "gaussian", spec.cd_steps, spec.persistent,
        )  # fmt: skip
        self.weights = [kernel_weights(model.params, spec.dtype, copy=True) for model in models]
        self.remembered: list[Params | None] = [None] * len(models)
        self.chains: dict[tuple[int, int], Chain] = {}

    def run(self, placed: Sequence[Placed], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on its sets in its order."""
        jobs = [lambda m=m: self._run_one(m, placed[m], orders[m], epoch) for m in range(len(self.models))]
        return np.array(in_threads(self.n_jobs, jobs))

    def _run_one(self, m: int, placed: Placed, order: Integers, epoch: int) -> float:
        if not len(order):
            return float("nan")
        losses = np.empty(len(order), self.spec.dtype)
        order = np.ascontiguousarray(order, dtype=np.int64)
        train(
            placed.sets, placed.labels, placed.weights, order, self.spec.batch_size, placed.first, self.weights[m],
            self.rules, self._rates(m), draws.keys(self.models[m].seed, epoch)[0], self._chain(m, placed), losses,
        )  # fmt: skip
        weight = placed.weights[order].astype(np.float64)
        return float(losses @ weight / weight.sum())

    def _rates(self, m: int) -> Rates:
        number, model = np.dtype(self.spec.dtype).type, self.models[m]
        return Rates(
            number(model.learning_rate), number(model.generative_learning_rate), number(model.shrink(self.spec))
        )

    def _chain(self, m: int, placed: Placed) -> Chain:
        """Return the persistent chains of a model over these sets, made at the first visit."""
        n_hidden = self.weights[m].W.shape[1]
        persistent = self.spec.generative and self.spec.persistent
        n_sets = len(placed.labels) if persistent else 0
        n_vectors = int(placed.sets.offsets[-1]) if persistent and self.rules.is_or else 0
        if (m, placed.first) not in self.chains:
            self.chains[m, placed.first] = Chain(
                np.zeros(n_sets, np.bool_),
                np.empty((n_sets, n_hidden), np.int64),
                np.empty((n_vectors, n_hidden), np.bool_),
            )
        return self.chains[m, placed.first]

    def score(self, placed: Sequence[Placed], which: Sequence[Integers]) -> Floats:
        """Return each model's mean loss and mean error over its sets."""
        alone = len(self.models) == 1
        jobs = [
            lambda m=m: self._score_one(m, placed[m], which[m], self.n_jobs if alone else 1)
            for m in range(len(self.models))
        ]
        return np.array(in_threads(self.n_jobs, jobs))

    def _score_one(self, m: int, placed: Placed, which: Integers, n_jobs: int) -> tuple[float, float]:
        if not len(which):
            return float("nan"), float("nan")
        chosen = np.ascontiguousarray(which, dtype=np.int64)
        _, F = forward_rows(placed.sets, chosen, self.weights[m], self.rules.is_or, self.rules.is_hard, n_jobs)
        return score_free_energies(F.astype(np.float64), placed.labels[chosen], placed.weights[chosen])

    def remember(self, models: Mask) -> None:
        """Keep a copy of the present parameters of these models."""
        for m in np.flatnonzero(models):
            self.remembered[m] = user_params(self.weights[m])

    def params(self, remembered: bool) -> list[Params]:
        """Return the parameters of every model."""
        best = self.remembered if remembered else [None] * len(self.models)
        return [kept or user_params(weights) for kept, weights in zip(best, self.weights, strict=True)]


class CpuEngine:
    """Numba kernels on the processor's cores."""

    name = "cpu"

    def place(self, sets: LabelledSets, spec: Spec) -> Placed:
        """Lay the sets out for the kernels."""
        weight = sets.weight.astype(spec.dtype)
        return Placed(kernel_sets(sets.bags, spec.dtype), sets.y.astype(np.int64), weight, sets.first)

    def begin(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> Session:
        """Start training these models side by side."""
        return CpuSession(spec, models, n_jobs)

    def forward(
        self, params: Params, bags: Bags, constraint: Constraint, pooling: Pooling, n_jobs: int
    ) -> tuple[Array, Array]:
        """Return the pooled activations and the free energies."""
        dtype = np.result_type(params.W, bags.dtype)
        sets, weights = kernel_sets(bags, dtype), kernel_weights(params, dtype, copy=False)
        return forward_rows(sets, np.arange(len(bags)), weights, constraint == "or", pooling == "hard", n_jobs)


ENGINE = CpuEngine()
