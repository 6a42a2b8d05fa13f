"""Activations of the hidden units, ``a = c + W x``."""

import numpy as np

from setrbm.engines.cpu.compiling import inlined_kernel, kernel
from setrbm.engines.cpu.layout import OCTET, ZERO, entries, flat_index, left_in_block
from setrbm.engines.cpu.wide import broadcast, element, load, plus_product, store, zeros


@inlined_kernel
def store_activations(total, scale, c, unit, a, place):
    """Store c + scale * total for the units from one on."""
    store(a, place, plus_product(load(c, unit, total), broadcast(scale, total), total))


@kernel
def sum_entries(zero, W, at, stride, cols, values, scale, c, a, unit):
    """Write the activations of some units, as many as there are zeros, for one sparse vector."""
    total = zero
    for k in range(len(values)):
        row = at + element(cols, k) * stride
        total = plus_product(total, broadcast(element(values, k), zero), load(W, row, zero))
    store_activations(total, scale, c, unit, a, unit)


@kernel
def activate(W, scale, c, values, cols, a, n_units):
    """Write a = c + W x for one sparse vector."""
    stride, j, last = W.shape[2], ZERO, np.int64(n_units)
    while j < last:
        at = flat_index(W, j)
        if left_in_block(j, last) >= 4 * OCTET:
            sum_entries(zeros(W, 32), W, at, stride, cols, values, scale, c, a, j)
            j += 4 * OCTET
        else:
            sum_entries(zeros(W, 8), W, at, stride, cols, values, scale, c, a, j)
            j += OCTET


@kernel
def multiply_4(zero, W, at, stride, values, x, n_vectors, n, scale, c, a, row, unit):
    """Write the activations of some units, as many as there are zeros, for four dense vectors from ``values[x]`` on.

    The last one is repeated if there are fewer.
    """
    s1, s2, s3 = min(1, n_vectors - 1), min(2, n_vectors - 1), min(3, n_vectors - 1)
    x1, x2, x3 = x + s1 * n, x + s2 * n, x + s3 * n
    t0 = t1 = t2 = t3 = zero
    for i in range(n):
        w = load(W, at + i * stride, zero)
        t0 = plus_product(t0, broadcast(element(values, x + i), zero), w)
        t1 = plus_product(t1, broadcast(element(values, x1 + i), zero), w)
        t2 = plus_product(t2, broadcast(element(values, x2 + i), zero), w)
        t3 = plus_product(t3, broadcast(element(values, x3 + i), zero), w)
    width = a.shape[1]
    store_activations(t0, scale, c, unit, a, row * width + unit)
    store_activations(t1, scale, c, unit, a, (row + s1) * width + unit)
    store_activations(t2, scale, c, unit, a, (row + s2) * width + unit)
    store_activations(t3, scale, c, unit, a, (row + s3) * width + unit)


@kernel
def activate_dense(W, scale, c, values, x, n_vectors, a, n_units):
    """Write a = c + W x for the dense vectors of a set, four at a time: W is read once for all four."""
    n, stride, last = W.shape[1], W.shape[2], np.int64(n_units)
    for row in range(0, n_vectors, 4):
        j = ZERO
        while j < last:
            at, left = flat_index(W, j), n_vectors - row
            if left_in_block(j, last) >= 2 * OCTET:
                multiply_4(zeros(W, 16), W, at, stride, values, x + row * n, left, n, scale, c, a, row, j)
                j += 2 * OCTET
            else:
                multiply_4(zeros(W, 8), W, at, stride, values, x + row * n, left, n, scale, c, a, row, j)
                j += OCTET


@kernel
def activate_set(weights, sets, first, last, a, n_units):
    """Write the activations of vectors first to last into the rows of a."""
    W, scale, c = weights.W, weights.scale[0], weights.c
    if sets.stride == 0:
        activate_dense(W, scale, c, sets.values, sets.starts[first], last - first, a, n_units)
        return
    for v in range(first, last):
        values, cols = entries(sets, v)
        activate(W, scale, c, values, cols, a[v - first], n_units)
