"""Logits and class probabilities, given the pools."""

import math

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.layout import UNIT_BLOCK
from setrbm.engines.cpu.scalar_math import exp_nonpositive, log_positive


@kernel
def fold(sums, products, n):
    """Return the sum of n numbers plus the log of the product of n others, by repeated halving.

    Each halving is a loop without a running sum: it vectorizes, and its bits do not depend on how it is compiled.
    """
    while n > 1:
        half = (n + 1) // 2
        for j in range(n - half):
            sums[j] += sums[half + j]
            products[j] *= products[half + j]
        n = half
    return sums[0] + log_positive(products[0])


@kernel
def sum_softplus(pool, U, n_hidden, slope, sums, products, block_logits):
    """Write sum_j softplus(pool_j + U_yj) of each block and class, and the slopes sigm(pool_j + U_yj).

    softplus(v) = max(v, 0) + log(1 + exp(-|v|)). The logs of a block of units are computed as one log of a product.
    """
    zero, one = U.dtype.type(0), U.dtype.type(1)
    for start in range(0, n_hidden, UNIT_BLOCK):
        n = min(UNIT_BLOCK, n_hidden - start)
        block = pool[start : start + n]
        for y in range(len(U)):
            U_y, slope_y = U[y, start : start + n], slope[y, start : start + n]
            for j in range(n):
                v = block[j] + U_y[j]
                e = exp_nonpositive(-abs(v))
                sums[j] = zero if v < zero else v
                products[j] = one + e
                slope_y[j] = (one if v >= zero else e) / (one + e)
            block_logits[start // UNIT_BLOCK, y] = fold(sums, products, n)


@kernel
def sum_logits(d, block_logits, logits):
    """Write logits_y = d_y + the sum over the blocks of units."""
    for y in range(len(logits)):
        logits[y] = d[y]
        for block in range(len(block_logits)):
            logits[y] += block_logits[block, y]


@kernel
def softmax(logits, p):
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
