"""Max-out classifiers: the vector with the highest response decides."""

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.layout import ZERO
from setrbm.engines.cpu.scalar_math import sigmoid
from setrbm.engines.cpu.scoring import sum_logits, sum_softplus

RBM, MLP, LOGIT = np.int64(0), np.int64(1), np.int64(2)


@kernel
def vector_logits(unit, a, weights, spec, scratch):
    """Write the logits of one vector and the slopes of its hidden units; return its response, logit 1 minus logit 0."""
    logits, slope, one = scratch.logits, scratch.slope, scratch.logits.dtype.type(1)
    if unit == RBM:
        sum_softplus(a, weights.U, spec.n_hidden, slope, scratch.sums, scratch.products, scratch.block_logits)
        sum_logits(weights.d, scratch.block_logits, logits)
    elif unit == MLP:
        for y in range(len(logits)):
            logits[y] = weights.d[y]
        for j in range(spec.n_hidden):
            on = sigmoid(a[j])
            for y in range(len(logits)):
                logits[y] += on * weights.U[y, j]
                slope[y, j] = on * (one - on) * weights.U[y, j]
    else:
        logits[0], logits[1] = 0, a[0]
        slope[0, 0], slope[1, 0] = 0, 1
    return logits[1] - logits[0]


@kernel
def find_best_vector(unit, weights, spec, scratch, size):
    """Find the first vector with the highest response; write its activations, logits and slopes."""
    best, highest = ZERO, vector_logits(unit, scratch.a[0], weights, spec, scratch)
    for s in range(1, size):
        response = vector_logits(unit, scratch.a[s], weights, spec, scratch)
        if response > highest:
            best, highest = s, response
    vector_logits(unit, scratch.a[best], weights, spec, scratch)
    for j in range(spec.n_hidden):
        scratch.pool[j] = scratch.a[best, j]
        scratch.winner[j] = np.int32(best)


@kernel
def add_max_out_step(unit, rate, spec, scratch, label, steps, first_row):
    """Add the step of the vector with the highest response."""
    best = scratch.winner[0]
    for y in range(len(scratch.p)):
        delta = rate * (scratch.p[y] - scratch.p.dtype.type(y == label))
        steps.d[y] += delta if unit != LOGIT else delta * 0
        for j in range(spec.n_hidden):
            part = delta * scratch.slope[y, j]
            steps.coef[first_row + best, j] += part
            steps.c[j] += part
            if unit == RBM:
                steps.U[y, j] += part
            elif unit == MLP:
                steps.U[y, j] += delta * sigmoid(scratch.pool[j])
