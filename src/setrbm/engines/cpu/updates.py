"""The steps of a mini-batch, applied to the weights."""

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.lanes import scatter_1, scatter_2, scatter_4, subtract_1, subtract_2
from setrbm.engines.cpu.layout import LANE_SIZE, ZERO, flat_index, left_in_block
from setrbm.engines.cpu.reconstruction import measure_bounds


@kernel
def list_nonzero_lanes(W, coef, n_units, units, indices):
    """List the lanes with nonzero coefficients and their indices in W; return their number."""
    n_lanes = ZERO
    for unit in range(0, np.int64(n_units), LANE_SIZE):
        lane, size = coef[unit : unit + LANE_SIZE], coef.dtype.type(0)
        for j in range(LANE_SIZE):
            size += abs(lane[j])
        if size != 0:
            units[n_lanes], indices[n_lanes] = unit, flat_index(W, unit)
            n_lanes += 1
    return n_lanes


@kernel
def apply_vector_step(W, factor, coef, values, cols, start, n, units, indices, n_units):
    """Apply the step of one sparse vector, W_i -= x_i coef, to the lanes with nonzero coefficients; clear these."""
    stride, n_lanes, k = W.shape[2], list_nonzero_lanes(W, coef, n_units, units, indices), ZERO
    while k + 4 <= n_lanes:
        scatter_4(W, stride, cols, values, start, n, factor, coef, units, indices, k)
        k += 4
    if k + 2 <= n_lanes:
        scatter_2(W, stride, cols, values, start, n, factor, coef, units, indices, k)
        k += 2
    if k < n_lanes:
        scatter_1(W, stride, cols, values, start, n, factor, coef, units, indices, k)
    for j in range(n_units):
        coef[j] = 0


@kernel
def apply_dense_steps(W, factor, coef, row, values, at, size, n_units):
    """Apply the steps of the dense vectors of a set, four at a time: W is read and written once for all four."""
    n, stride, none, last = W.shape[1], W.shape[2], W.dtype.type(0), np.int64(n_units)
    for s in range(0, size, 4):
        # The last vector is repeated with factor 0 if fewer than four are left.
        s1, s2, s3 = min(s + 1, size - 1), min(s + 2, size - 1), min(s + 3, size - 1)
        x0, x1, x2, x3 = at + s * n, at + s1 * n, at + s2 * n, at + s3 * n
        f1, f2 = factor if s + 1 < size else none, factor if s + 2 < size else none
        f3 = factor if s + 3 < size else none
        r0, r1, r2, r3, j = row + s, row + s1, row + s2, row + s3, ZERO
        while j < last:
            w = flat_index(W, j)
            if left_in_block(j, last) >= 2 * LANE_SIZE:
                subtract_2(W, w, stride, values, x0, x1, x2, x3, n, factor, f1, f2, f3, coef, r0, r1, r2, r3, j)
                j += 2 * LANE_SIZE
            else:
                subtract_1(W, w, stride, values, x0, x1, x2, x3, n, factor, f1, f2, f3, coef, r0, r1, r2, r3, j)
                j += LANE_SIZE
    for s in range(size):
        for j in range(n_units):
            coef[row + s, j] = 0


@kernel
def add_to_bias(b, rate, values, cols, at_value, at_col, n):
    """Add rate times one vector to the input biases."""
    for k in range(n):
        b[cols[at_col + k]] += rate * values[at_value + k]


@kernel
def decay_weights(weights, shrink, n_units):
    """Shrink W and U; of W only the scale, which is folded in before it gets too small to divide by."""
    for y in range(weights.U.shape[0]):
        for j in range(n_units):
            weights.U[y, j] *= shrink
    weights.scale[0] *= shrink
    if abs(weights.scale[0]) < 1e-3:
        for block in range(len(weights.W)):
            for i in range(weights.W.shape[1]):
                row = weights.W[block, i]
                for j in range(len(row)):
                    row[j] *= weights.scale[0]
        weights.scale[0] = 1


@kernel
def apply_small_steps(weights, steps, n_units):
    """Apply the steps of U, c and d, and clear them."""
    for y in range(len(steps.d)):
        weights.d[y] -= steps.d[y]
        steps.d[y] = 0
        for j in range(n_units):
            weights.U[y, j] -= steps.U[y, j]
            steps.U[y, j] = 0
    for j in range(n_units):
        weights.c[j] -= steps.c[j]
        steps.c[j] = 0


@kernel
def apply_data_steps(sets, batch, weights, steps, scratch, n_units):
    """Apply the steps of W of the vectors of a mini-batch."""
    W, coef, values, cols, starts = weights.W, steps.coef, sets.values, sets.cols, sets.starts
    units, indices = scratch.units, scratch.indices
    factor, row = W.dtype.type(1) / weights.scale[0], ZERO
    for t in batch:
        first, last = sets.offsets[t], sets.offsets[t + 1]
        if sets.stride == 0:
            apply_dense_steps(W, factor, coef, row, values, starts[first], last - first, n_units)
            row += last - first
            continue
        for v in range(first, last):
            n = starts[v + 1] - starts[v]
            apply_vector_step(W, factor, coef[row], values, cols, starts[v], n, units, indices, n_units)
            row += 1


@kernel
def apply_sample_steps(sets, set_weights, batch, weights, rate, samples, sample_coef, scratch, bounds, n_units, now):
    """Apply the steps of W of the drawn vectors and those of b of all vectors, and measure the bounds again."""
    W, b, values, cols, starts = weights.W, weights.b, samples.values, samples.cols, samples.starts
    units, indices = scratch.units, scratch.indices
    factor, row = W.dtype.type(1) / weights.scale[0], ZERO
    for t in batch:
        b_rate = rate * set_weights[t] / W.dtype.type(len(batch))
        for v in range(sets.offsets[t], sets.offsets[t + 1]):
            at, n = sets.starts[v], sets.starts[v + 1] - sets.starts[v]
            add_to_bias(b, b_rate, sets.values, sets.cols, at, at * sets.stride, n)
            at, n = starts[row], starts[row + 1] - starts[row]
            add_to_bias(b, -b_rate, values, cols, at, at, n)
            apply_vector_step(W, factor, sample_coef[row], values, cols, at, n, units, indices, n_units)
            row += 1
    if sets.stride == 0:
        measure_bounds(weights, bounds, sets.cols, ZERO, len(b), n_units, now)
        return
    for t in batch:
        first, last = sets.starts[sets.offsets[t]], sets.starts[sets.offsets[t + 1]]
        measure_bounds(weights, bounds, sets.cols, first, last - first, n_units, now)
    measure_bounds(weights, bounds, cols, ZERO, starts[row], n_units, now)
