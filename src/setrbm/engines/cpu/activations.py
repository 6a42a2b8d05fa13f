"""Activations of the hidden units, ``a = c + W x``."""

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.lanes import gather_1, gather_2, gather_4, multiply_1, multiply_2
from setrbm.engines.cpu.layout import LANE_SIZE, ZERO, flat_index, left_in_block


@kernel
def activate(W, scale, c, values, cols, start, n, a, n_units):
    """Write a = c + W x for one sparse vector; the sums of up to four lanes stay in registers."""
    stride, j, last = W.shape[2], ZERO, np.int64(n_units)
    while j < last:
        at, left = flat_index(W, j), left_in_block(j, last)
        if left >= 4 * LANE_SIZE:
            gather_4(W, at, stride, cols, values, start, n, scale, c, a, j)
            j += 4 * LANE_SIZE
        elif left >= 2 * LANE_SIZE:
            gather_2(W, at, stride, cols, values, start, n, scale, c, a, j)
            j += 2 * LANE_SIZE
        else:
            gather_1(W, at, stride, cols, values, start, n, scale, c, a, j)
            j += LANE_SIZE


@kernel
def activate_dense(W, scale, c, values, at, size, a, n_units):
    """Write a = c + W x for the dense vectors of a set, four at a time: W is read once for all four."""
    last, n_features = np.int64(n_units), W.shape[1]
    for s in range(0, size, 4):
        # The last vector is repeated if fewer than four are left.
        s1, s2, s3 = min(s + 1, size - 1), min(s + 2, size - 1), min(s + 3, size - 1)
        x0, x1, x2, x3 = at + s * n_features, at + s1 * n_features, at + s2 * n_features, at + s3 * n_features
        j = ZERO
        while j < last:
            place = flat_index(W, j)
            if left_in_block(j, last) >= 2 * LANE_SIZE:
                multiply_2(W, place, W.shape[2], values, x0, x1, x2, x3, n_features, scale, c, a, s, s1, s2, s3, j)
                j += 2 * LANE_SIZE
            else:
                multiply_1(W, place, W.shape[2], values, x0, x1, x2, x3, n_features, scale, c, a, s, s1, s2, s3, j)
                j += LANE_SIZE


@kernel
def activate_set(weights, sets, first, last, a, n_units):
    """Write the activations of vectors first to last into the rows of a."""
    W, scale, c = weights.W, weights.scale[0], weights.c
    if sets.stride == 0:
        activate_dense(W, scale, c, sets.values, sets.starts[first], last - first, a, n_units)
        return
    for v in range(first, last):
        at = sets.starts[v]
        n = sets.starts[v + 1] - at
        activate(W, scale, c, sets.values, sets.cols, at, n, a[v - first], n_units)
