"""Pooled activations of a set, and their derivatives."""

import math

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.layout import padded_hidden
from setrbm.engines.cpu.scalar_math import exp_nonpositive, log_positive, log_sigmoid

MAXIMUM, LOG_SUM_EXP = np.int64(0), np.int64(1)
# What computes each pooling.
KERNELS = {"hard": MAXIMUM, "soft": LOG_SUM_EXP, "mean": LOG_SUM_EXP}


@kernel
def pool_hard(a, size, is_or, pool, winner, n_units):
    """Write the maximum over a set and the first vector that attains it."""
    for j in range(n_units):
        pool[j] = a[0, j]
        winner[j] = 0
    for s in range(1, size):
        now = np.int32(s)
        for j in range(n_units):
            higher = a[s, j] > pool[j]
            winner[j] = now if higher else winner[j]
            pool[j] = a[s, j] if higher else pool[j]
    if is_or:
        for j in range(n_units):
            pool[j] = log_sigmoid(pool[j])


@kernel
def start_pool(a, size, pool, total, n_units):
    """Write the maximum over a set, and zero totals."""
    for j in range(n_units):
        pool[j] = a[0, j]
        total[j] = 0
    for s in range(1, size):
        for j in range(n_units):
            pool[j] = a[s, j] if a[s, j] > pool[j] else pool[j]


@kernel
def pool_xor(scratch, size, pool, n_units):
    """Write log sum_s exp(a_s) and the share of each vector in the sum."""
    a, share, total = scratch.a, scratch.share, scratch.row
    start_pool(a, size, pool, total, n_units)
    for s in range(size):
        for j in range(n_units):
            share[s, j] = exp_nonpositive(a[s, j] - pool[j])
            total[j] += share[s, j]
    finish_shares(share, size, total, pool, n_units)


@kernel
def pool_or(scratch, size, pool, n_units):
    """Write log sum_s sigm(a_s), the share of each vector in the sum, and sigm(-a).

    sigm(a) = exp(min(a, 0)) / (1 + exp(-|a|)). Taking out the largest min(a, 0) prevents underflow.
    """
    a, share, off, total = scratch.a, scratch.share, scratch.off, scratch.row
    zero, one = pool.dtype.type(0), pool.dtype.type(1)
    start_pool(a, size, pool, total, n_units)
    for j in range(n_units):
        pool[j] = pool[j] if pool[j] < zero else zero
    for s in range(size):
        for j in range(n_units):
            v = a[s, j]
            e = exp_nonpositive(-abs(v))
            part = one / (one + e)
            off[s, j] = (e if v >= zero else one) * part
            share[s, j] = exp_nonpositive((v if v < zero else zero) - pool[j]) * part
            total[j] += share[s, j]
    finish_shares(share, size, total, pool, n_units)


@kernel
def finish_shares(share, size, total, pool, n_units):
    """Divide the shares by their total and add its log to the pool."""
    one = total.dtype.type(1)
    for j in range(n_units):
        pool[j] += log_positive(total[j])
        total[j] = one / total[j]
    for s in range(size):
        for j in range(n_units):
            share[s, j] *= total[j]


@kernel
def pool_set(scratch, size, is_or, pooling, size_cost, n_units):
    """Write the pool of the activations in the scratch memory, and the first maximum or the shares of the vectors."""
    pool = scratch.pool
    if pooling == MAXIMUM:
        pool_hard(scratch.a, size, is_or, pool, scratch.winner, n_units)
    elif is_or:
        pool_or(scratch, size, pool, n_units)
    else:
        pool_xor(scratch, size, pool, n_units)
    if size_cost != 0:
        cost = pool.dtype.type(size_cost * math.log(size))
        for j in range(n_units):
            pool[j] -= cost


@kernel
def pool_joint(scratch, size, spec):
    """Write the pool of the joint distribution, and the shares of the vectors."""
    pool_set(scratch, size, spec.is_or, LOG_SUM_EXP, spec.joint_size_cost, padded_hidden(spec))
