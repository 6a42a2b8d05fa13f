"""Activations of the hidden units."""

from __future__ import annotations

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.lanes import gather_1, gather_2, gather_4, multiply_1, multiply_2
from setrbm.engines.cpu.layout import LANES, lanes_left, place_of


@kernel
def activate(W, scale, c, values, cols, at_value, at_col, n, a, low, high):
    """Write a = c + W x for one vector, with the sums of up to four lanes held in registers."""
    stride, j, last = W.shape[2], np.int64(low), np.int64(high)
    while j < last:
        at, left = place_of(W, j), lanes_left(j, last)
        if left >= 4 * LANES:
            gather_4(W, at, stride, cols, at_col, values, at_value, n, scale, c, a, j)
            j += 4 * LANES
        elif left >= 2 * LANES:
            gather_2(W, at, stride, cols, at_col, values, at_value, n, scale, c, a, j)
            j += 2 * LANES
        else:
            gather_1(W, at, stride, cols, at_col, values, at_value, n, scale, c, a, j)
            j += LANES


@kernel
def activate_dense(W, scale, c, values, at, size, a, low, high):
    """Write a = c + W x for the dense vectors of a set, four at a time: W is read once for them together."""
    last, n_features = np.int64(high), W.shape[1]
    for s in range(0, size, 4):
        # Beyond the last vector stands the last one again.
        s1, s2, s3 = min(s + 1, size - 1), min(s + 2, size - 1), min(s + 3, size - 1)
        x0, x1, x2, x3 = at + s * n_features, at + s1 * n_features, at + s2 * n_features, at + s3 * n_features
        j = np.int64(low)
        while j < last:
            place = place_of(W, j)
            if lanes_left(j, last) >= 2 * LANES:
                multiply_2(W, place, W.shape[2], values, x0, x1, x2, x3, n_features, scale, c, a, s, s1, s2, s3, j)
                j += 2 * LANES
            else:
                multiply_1(W, place, W.shape[2], values, x0, x1, x2, x3, n_features, scale, c, a, s, s1, s2, s3, j)
                j += LANES


@kernel
def activate_set(weights, sets, first, last, a, low, high):
    """Write the activations of vectors first to last into the rows of a."""
    W, scale, c = weights.W, weights.scale[0], weights.c
    if sets.stride == 0:
        activate_dense(W, scale, c, sets.values, sets.starts[first], last - first, a, low, high)
        return
    for v in range(first, last):
        at = sets.starts[v]
        n = sets.starts[v + 1] - at
        activate(W, scale, c, sets.values, sets.cols, at, at, n, a[v - first], low, high)
