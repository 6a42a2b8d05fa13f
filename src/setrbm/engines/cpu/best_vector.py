"""Max-out classifiers: one vector judges its set."""

from __future__ import annotations

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.layout import NONE, ZERO
from setrbm.engines.cpu.scalar_math import sigmoid
from setrbm.engines.cpu.scoring import add_logits, outer

# The units of max-out classifiers.
RBM, MLP, LOGIT = np.int64(0), np.int64(1), np.int64(2)


@kernel
def respond(unit, a, weights, rules, work, partial, high):
    """Write the logits of one vector and the slopes of its hidden units; return the second logit less the first."""
    logits, slope, one = work.logits, work.slope, work.logits.dtype.type(1)
    if unit == RBM:
        outer(a, weights.U, rules.n_hidden, slope, work.sums, work.products, partial, NONE, high)
        add_logits(weights.d, partial, logits)
    elif unit == MLP:
        for y in range(len(logits)):
            logits[y] = weights.d[y]
        for j in range(rules.n_hidden):
            on = sigmoid(a[j])
            for y in range(len(logits)):
                logits[y] += on * weights.U[y, j]
                slope[y, j] = on * (one - on) * weights.U[y, j]
    else:
        logits[0], logits[1] = 0, a[0]
        slope[0, 0], slope[1, 0] = 0, 1
    return logits[1] - logits[0]


@kernel
def choose(unit, weights, rules, work, size, partial, high):
    """Find the vector with the highest response, the first of equal ones; leave its activations, logits and slopes."""
    best, highest = ZERO, respond(unit, work.a[0], weights, rules, work, partial, high)
    for s in range(1, size):
        response = respond(unit, work.a[s], weights, rules, work, partial, high)
        if response > highest:
            best, highest = s, response
    respond(unit, work.a[best], weights, rules, work, partial, high)
    for j in range(rules.n_hidden):
        work.pool[j] = work.a[best, j]
        work.winner[j] = np.int32(best)


@kernel
def wish_max_out(unit, rate, rules, work, label, steps, first_row):
    """Add the step of the vector that judges the set."""
    best = work.winner[0]
    for y in range(len(work.p)):
        delta = rate * (work.p[y] - work.p.dtype.type(y == label))
        steps.d[y] += delta if unit != LOGIT else delta * 0
        for j in range(rules.n_hidden):
            part = delta * work.slope[y, j]
            steps.coef[first_row + best, j] += part
            steps.c[j] += part
            if unit == RBM:
                steps.U[y, j] += part
            elif unit == MLP:
                steps.U[y, j] += delta * sigmoid(work.pool[j])
