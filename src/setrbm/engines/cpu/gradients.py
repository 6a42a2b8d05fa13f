"""The step of one set, discriminative and generative."""

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.pools import MAXIMUM
from setrbm.engines.cpu.scalar_math import sigmoid


@kernel
def add_discriminative_step(rate, spec, scratch, size, label, steps, first_row, n_units):
    """Add the step along the gradient of -log p(y | X), given pools and class probabilities in the scratch memory."""
    g, coef, last = scratch.row, steps.coef, np.uint64(spec.n_hidden)
    for j in range(n_units):
        g[j] = 0
    for y in range(len(scratch.p)):
        delta = rate * (scratch.p[y] - scratch.p.dtype.type(y == label))
        steps.d[y] += delta
        for j in range(last):
            part = delta * scratch.slope[y, j]
            steps.U[y, j] += part
            g[j] += part
    if spec.pooling == MAXIMUM:
        for j in range(last):
            s = scratch.winner[j]
            part = g[j] * sigmoid(-scratch.a[s, j]) if spec.is_or else g[j]
            coef[first_row + s, j] += part
            steps.c[j] += part
        return
    for s in range(size):
        if spec.is_or:
            for j in range(n_units):
                coef[first_row + s, j] += g[j] * scratch.share[s, j] * scratch.off[s, j]
        else:
            for j in range(n_units):
                coef[first_row + s, j] += g[j] * scratch.share[s, j]
        for j in range(n_units):
            steps.c[j] += coef[first_row + s, j]


@kernel
def add_statistics(rate, spec, weights, scratch, size, label, steps, coef, first_row):
    """Add rate times the expected statistics of the hidden units, given the vectors and the label."""
    on, one = scratch.row, scratch.row.dtype.type(1)
    steps.d[label] += rate
    for j in range(len(on)):
        on[j] = 0
    for j in range(spec.n_hidden):
        on[j] = sigmoid(scratch.pool[j] + weights.U[label, j])
        steps.U[label, j] += rate * on[j]
    for s in range(size):
        for j in range(spec.n_hidden):
            g = scratch.share[s, j] * on[j]
            h = one - (one - g) * scratch.off[s, j] if spec.is_or else g
            coef[first_row + s, j] += rate * h
            steps.c[j] += rate * h
