"""First half of a step: what one set wishes."""

from __future__ import annotations

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.scalar_math import sigmoid


@kernel
def wish_discriminative(rate, rules, work, size, label, steps, first_row, low, high):
    """Add the step down -log p(y | X), given the pool and class probabilities in the scratch space."""
    g, coef, last = work.row, steps.coef, min(high, np.uint64(rules.n_hidden))
    for j in range(low, high):
        g[j] = 0
    for y in range(len(work.p)):
        delta = rate * (work.p[y] - work.p.dtype.type(y == label))
        steps.d[y] += delta
        for j in range(low, last):
            part = delta * work.slope[y, j]
            steps.U[y, j] += part
            g[j] += part
    if rules.is_hard:
        for j in range(low, last):
            s = work.winner[j]
            part = g[j] * sigmoid(-work.a[s, j]) if rules.is_or else g[j]
            coef[first_row + s, j] += part
            steps.c[j] += part
        return
    for s in range(size):
        if rules.is_or:
            for j in range(low, high):
                coef[first_row + s, j] += g[j] * work.share[s, j] * work.away[s, j]
        else:
            for j in range(low, high):
                coef[first_row + s, j] += g[j] * work.share[s, j]
        for j in range(low, high):
            steps.c[j] += coef[first_row + s, j]


@kernel
def wish_statistics(rate, rules, weights, work, size, label, steps, coef, first_row):
    """Add rate times the expected statistics of the hidden units, given vectors and label."""
    on, one = work.row, work.row.dtype.type(1)
    steps.d[label] += rate
    for j in range(len(on)):
        on[j] = 0
    for j in range(rules.n_hidden):
        on[j] = sigmoid(work.pool[j] + weights.U[label, j])
        steps.U[label, j] += rate * on[j]
    for s in range(size):
        for j in range(rules.n_hidden):
            g = work.share[s, j] * on[j]
            h = one - (one - g) * work.away[s, j] if rules.is_or else g
            coef[first_row + s, j] += rate * h
            steps.c[j] += rate * h
