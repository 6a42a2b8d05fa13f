"""The steps of a mini-batch, applied to the weights."""

import numpy as np

from setrbm.engines.cpu.compiling import inlined_kernel, kernel
from setrbm.engines.cpu.layout import OCTET, ZERO, entries, flat_index, left_in_block
from setrbm.engines.cpu.reconstruction import measure_bounds
from setrbm.engines.cpu.wide import broadcast, element, load, minus_product, store, zeros


@kernel
def list_nonzero_octets(W, coef, n_units, units, indices):
    """List the octets of units with nonzero coefficients and their indices in W; return their number."""
    n_octets = ZERO
    for unit in range(0, np.int64(n_units), OCTET):
        octet, size = coef[unit : unit + OCTET], coef.dtype.type(0)
        for j in range(OCTET):
            size += abs(octet[j])
        if size != 0:
            units[n_octets], indices[n_octets] = unit, flat_index(W, unit)
            n_octets += 1
    return n_octets


@inlined_kernel
def subtract_product(W, index, x, coef):
    """Subtract x coef from eight weights."""
    store(W, index, minus_product(load(W, index, coef), broadcast(x, coef), coef))


@kernel
def take_step(W, stride, cols, values, factor, coef, unit, index):
    """Apply the step of one sparse vector, W_i -= x_i coef, to eight units."""
    c0 = load(coef, unit, zeros(W, 8))
    for k in range(len(values)):
        subtract_product(W, index + element(cols, k) * stride, factor * element(values, k), c0)


@kernel
def take_step_of_4(W, stride, cols, values, factor, coef, units, indices, at):
    """Apply the step of one sparse vector, W_i -= x_i coef, to four times eight units."""
    zero = zeros(W, 8)
    c0, c1 = load(coef, units[at], zero), load(coef, units[at + 1], zero)
    c2, c3 = load(coef, units[at + 2], zero), load(coef, units[at + 3], zero)
    w0, w1, w2, w3 = indices[at], indices[at + 1], indices[at + 2], indices[at + 3]
    for k in range(len(values)):
        x, row = factor * element(values, k), element(cols, k) * stride
        subtract_product(W, w0 + row, x, c0)
        subtract_product(W, w1 + row, x, c1)
        subtract_product(W, w2 + row, x, c2)
        subtract_product(W, w3 + row, x, c3)


@kernel
def apply_vector_step(W, factor, coef, values, cols, units, indices, n_units):
    """Apply the step of one vector to the octets with nonzero coefficients; clear these."""
    stride, n_octets, k = W.shape[2], list_nonzero_octets(W, coef, n_units, units, indices), ZERO
    while k + 4 <= n_octets:
        take_step_of_4(W, stride, cols, values, factor, coef, units, indices, k)
        k += 4
    while k < n_octets:
        take_step(W, stride, cols, values, factor, coef, units[k], indices[k])
        k += 1
    for j in range(n_units):
        coef[j] = 0


@kernel
def take_dense_steps(zero, W, at, stride, values, x, n_vectors, n, factor, coef, row, unit):
    """Apply the steps of the four dense vectors from ``values[x]`` on to some units, as many as there are zeros.

    The last one is repeated, with coefficients of 0, if there are fewer.
    """
    s1, s2, s3 = min(1, n_vectors - 1), min(2, n_vectors - 1), min(3, n_vectors - 1)
    x1, x2, x3, width = x + s1 * n, x + s2 * n, x + s3 * n, coef.shape[1]
    c0 = load(coef, row * width + unit, zero)
    c1 = load(coef, (row + s1) * width + unit, zero) if n_vectors > 1 else zero
    c2 = load(coef, (row + s2) * width + unit, zero) if n_vectors > 2 else zero
    c3 = load(coef, (row + s3) * width + unit, zero) if n_vectors > 3 else zero
    for i in range(n):
        w = load(W, at + i * stride, zero)
        w = minus_product(w, broadcast(factor * element(values, x + i), zero), c0)
        w = minus_product(w, broadcast(factor * element(values, x1 + i), zero), c1)
        w = minus_product(w, broadcast(factor * element(values, x2 + i), zero), c2)
        w = minus_product(w, broadcast(factor * element(values, x3 + i), zero), c3)
        store(W, at + i * stride, w)


@kernel
def apply_dense_steps(W, factor, coef, first, values, x, n_vectors, n_units):
    """Apply the steps of the dense vectors of a set, four at a time: W is read and written once for all four."""
    n, stride, last = W.shape[1], W.shape[2], np.int64(n_units)
    for s in range(0, n_vectors, 4):
        j = ZERO
        while j < last:
            at, left = flat_index(W, j), n_vectors - s
            if left_in_block(j, last) >= 2 * OCTET:
                take_dense_steps(zeros(W, 16), W, at, stride, values, x + s * n, left, n, factor, coef, first + s, j)
                j += 2 * OCTET
            else:
                take_dense_steps(zeros(W, 8), W, at, stride, values, x + s * n, left, n, factor, coef, first + s, j)
                j += OCTET
    for s in range(first, first + n_vectors):
        for j in range(n_units):
            coef[s, j] = 0


@kernel
def add_to_bias(b, rate, values, cols):
    """Add rate times one vector to the input biases."""
    for k in range(len(values)):
        b[cols[k]] += rate * values[k]


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
    W, coef, starts = weights.W, steps.coef, sets.starts
    units, indices = scratch.units, scratch.indices
    factor, row = W.dtype.type(1) / weights.scale[0], ZERO
    for t in batch:
        first, last = sets.offsets[t], sets.offsets[t + 1]
        if sets.stride == 0:
            apply_dense_steps(W, factor, coef, row, sets.values, starts[first], last - first, n_units)
            row += last - first
            continue
        for v in range(first, last):
            values, cols = entries(sets, v)
            apply_vector_step(W, factor, coef[row], values, cols, units, indices, n_units)
            row += 1


@kernel
def apply_sample_steps(sets, set_weights, batch, weights, rate, samples, sample_coef, scratch, bounds, n_units, now):
    """Apply the steps of W of the drawn vectors and those of b of all vectors, and measure the bounds again."""
    W, b = weights.W, weights.b
    units, indices = scratch.units, scratch.indices
    factor, row = W.dtype.type(1) / weights.scale[0], ZERO
    for t in batch:
        b_rate = rate * set_weights[t] / W.dtype.type(len(batch))
        for v in range(sets.offsets[t], sets.offsets[t + 1]):
            values, cols = entries(sets, v)
            add_to_bias(b, b_rate, values, cols)
            values, cols = entries(samples, row)
            add_to_bias(b, -b_rate, values, cols)
            apply_vector_step(W, factor, sample_coef[row], values, cols, units, indices, n_units)
            row += 1
    if sets.stride == 0:
        measure_bounds(weights, bounds, sets.cols, ZERO, len(b), n_units, now)
        return
    for t in batch:
        first, last = sets.starts[sets.offsets[t]], sets.starts[sets.offsets[t + 1]]
        measure_bounds(weights, bounds, sets.cols, first, last - first, n_units, now)
    measure_bounds(weights, bounds, samples.cols, ZERO, samples.starts[row], n_units, now)
