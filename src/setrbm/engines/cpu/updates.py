"""Second half of a step: the wishes granted."""

from __future__ import annotations

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.lanes import scatter_1, scatter_2, scatter_4, subtract_1, subtract_2
from setrbm.engines.cpu.layout import FACTORS, LANES, NONE, ZERO, lanes_left, place_of
from setrbm.engines.cpu.reconstruction import renew_bounds


@kernel
def list_lanes(W, coef, low, high, units, places):
    """List the lanes in which a vector has a wish, and where they stand in W; return how many."""
    n_lanes = ZERO
    for unit in range(np.int64(low), np.int64(high), LANES):
        lane, size = coef[unit : unit + LANES], coef.dtype.type(0)
        for j in range(LANES):
            size += abs(lane[j])
        if size != 0:
            units[n_lanes], places[n_lanes] = unit, place_of(W, unit)
            n_lanes += 1
    return n_lanes


@kernel
def apply_vector(W, factor, coef, values, cols, at_value, at_col, n, units, places, low, high):
    """Take one vector's step, W_i -= x_i coef, and clear its coefficients; lanes without a wish are left alone."""
    stride, n_lanes, k = W.shape[2], list_lanes(W, coef, low, high, units, places), ZERO
    while k + 4 <= n_lanes:
        scatter_4(W, stride, cols, at_col, values, at_value, n, factor, coef, units, places, k)
        k += 4
    if k + 2 <= n_lanes:
        scatter_2(W, stride, cols, at_col, values, at_value, n, factor, coef, units, places, k)
        k += 2
    if k < n_lanes:
        scatter_1(W, stride, cols, at_col, values, at_value, n, factor, coef, units, places, k)
    for j in range(low, high):
        coef[j] = 0


@kernel
def apply_dense(W, factor, coef, row, values, at, size, low, high):
    """Take the steps of a set of dense vectors, four a pass: W is read and written once for them together."""
    n_features, none, last = W.shape[1], W.dtype.type(0), np.int64(high)
    for s in range(0, size, 4):
        # Beyond the last vector stands the last one again, with nothing to wish.
        s1, s2, s3 = min(s + 1, size - 1), min(s + 2, size - 1), min(s + 3, size - 1)
        x0, x1, x2, x3 = at + s * n_features, at + s1 * n_features, at + s2 * n_features, at + s3 * n_features
        f1, f2 = factor if s + 1 < size else none, factor if s + 2 < size else none
        f3 = factor if s + 3 < size else none
        r0, r1, r2, r3, j = row + s, row + s1, row + s2, row + s3, np.int64(low)
        while j < last:
            place, stride = place_of(W, j), W.shape[2]
            if lanes_left(j, last) >= 2 * LANES:
                subtract_2(
                    W, place, stride, values, x0, x1, x2, x3, n_features, factor, f1, f2, f3, coef, r0, r1, r2, r3, j
                )
                j += 2 * LANES
            else:
                subtract_1(
                    W, place, stride, values, x0, x1, x2, x3, n_features, factor, f1, f2, f3, coef, r0, r1, r2, r3, j
                )
                j += LANES
    for s in range(size):
        for j in range(low, high):
            coef[row + s, j] = 0


@kernel
def move_bias(b, rate, values, cols, at_value, at_col, n):
    """Add rate times one vector to the input biases."""
    for k in range(n):
        b[cols[at_col + k]] += rate * values[at_value + k]


@kernel
def decay(weights, shrink, low, high):
    """Shrink W and U; W by its scale alone, folded in before it gets too small to divide by."""
    for y in range(weights.U.shape[0]):
        for j in range(low, high):
            weights.U[y, j] *= shrink
    weights.scale[0] *= shrink
    if abs(weights.scale[0]) < 1e-3:
        for block in range(np.int64(low) // FACTORS, -(-np.int64(high) // FACTORS)):
            for i in range(weights.W.shape[1]):
                row = weights.W[block, i]
                for j in range(len(row)):
                    row[j] *= weights.scale[0]
        weights.scale[0] = 1


@kernel
def apply_small(weights, steps, low, high):
    """Take the steps of U, c and d, and clear them."""
    for y in range(len(steps.d)):
        weights.d[y] -= steps.d[y]
        steps.d[y] = 0
        for j in range(low, high):
            weights.U[y, j] -= steps.U[y, j]
            steps.U[y, j] = 0
    for j in range(low, high):
        weights.c[j] -= steps.c[j]
        steps.c[j] = 0


@kernel
def apply_data(sets, batch, weights, steps, work, low, high):
    """Take the steps of W that the vectors of a batch wish for."""
    inverse_scale = weights.W.dtype.type(1) / weights.scale[0]
    row = ZERO
    for t in batch:
        if sets.stride == 0:
            size = sets.offsets[t + 1] - sets.offsets[t]
            at = sets.starts[sets.offsets[t]]
            apply_dense(weights.W, inverse_scale, steps.coef, row, sets.values, at, size, low, high)
            row += size
            continue
        for v in range(sets.offsets[t], sets.offsets[t + 1]):
            at = sets.starts[v]
            n = sets.starts[v + 1] - at
            apply_vector(
                weights.W, inverse_scale, steps.coef[row], sets.values, sets.cols, at, at, n, work.units, work.places,
                low, high,
            )  # fmt: skip
            row += 1


@kernel
def apply_model(sets, set_weights, batch, weights, rate, model, model_coef, work, bounds, every, now):
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
            apply_vector(
                weights.W, inverse_scale, model_coef[row], model.values, model.cols, at, at, n, work.units, work.places,
                NONE, every,
            )  # fmt: skip
            row += 1
    if sets.stride == 0:
        renew_bounds(weights, bounds, sets.cols, ZERO, len(weights.b), every, now)
        return
    for t in batch:
        first, last = sets.starts[sets.offsets[t]], sets.starts[sets.offsets[t + 1]]
        renew_bounds(weights, bounds, sets.cols, first, last - first, every, now)
    renew_bounds(weights, bounds, model.cols, ZERO, model.starts[row], every, now)
