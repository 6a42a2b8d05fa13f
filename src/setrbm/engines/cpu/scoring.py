"""From pools to class probabilities."""

from __future__ import annotations

import math

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.layout import FACTORS
from setrbm.engines.cpu.scalar_math import exp_down, log_up


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
def outer(pool, U, n_hidden, slope, sums, products, partial, low, high):
    """Write for each block of units and each class sum_j softplus(pool_j + U_yj), and the slopes sigm(pool_j + U_yj).

    softplus(v) = max(v, 0) + log(1 + exp(-|v|)), and the logs of a block of units are one log of their product.
    """
    zero, one = U.dtype.type(0), U.dtype.type(1)
    for start in range(np.int64(low), min(np.int64(high), n_hidden), FACTORS):
        n = min(FACTORS, n_hidden - start)
        block = pool[start : start + n]
        for y in range(len(U)):
            U_y, slope_y = U[y, start : start + n], slope[y, start : start + n]
            for j in range(n):
                v = block[j] + U_y[j]
                e = exp_down(-abs(v))
                sums[j] = zero if v < zero else v
                products[j] = one + e
                slope_y[j] = (one if v >= zero else e) / (one + e)
            partial[start // FACTORS, y] = fold(sums, products, n)


@kernel
def add_logits(d, partial, logits):
    """Write logits_y = d_y + the sum of what the blocks of units say."""
    for y in range(len(logits)):
        logits[y] = d[y]
        for block in range(len(partial)):
            logits[y] += partial[block, y]


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
