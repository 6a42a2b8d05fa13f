"""Gibbs chains and contrastive divergence."""

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.gradients import add_statistics
from setrbm.engines.cpu.layout import ZERO
from setrbm.engines.cpu.pools import pool_joint
from setrbm.engines.cpu.random_numbers import HIDDEN, HOLDER, TARGET, uniform, vector_key
from setrbm.engines.cpu.reconstruction import draw_set
from setrbm.engines.cpu.scalar_math import sigmoid
from setrbm.engines.cpu.scoring import softmax

NOBODY = np.int32(-1)


@kernel
def draw_hidden(set_key, step, spec, weights, scratch, size, label):
    """Draw which vector holds each unit and, if the constraint is or, which other units are on."""
    key = vector_key(set_key, step, HOLDER, ZERO)
    for j in range(spec.n_hidden):
        on = sigmoid(scratch.pool[j] + weights.U[label, j])
        u, reached = uniform(key, j), scratch.pool.dtype.type(0)
        scratch.holder[j] = NOBODY
        for s in range(size):
            reached += scratch.share[s, j] * on
            if u < reached:
                scratch.holder[j] = np.int32(s)
                break
    one = scratch.pool.dtype.type(1)
    for s in range(size):
        key = vector_key(set_key, step, HIDDEN, s)
        for j in range(spec.n_hidden):
            scratch.h[s, j] = spec.is_or and uniform(key, j) < one - scratch.off[s, j]
    turn_on_held_units(spec, scratch)


@kernel
def turn_on_held_units(spec, scratch):
    """Turn on every held unit: h >= g."""
    for j in range(spec.n_hidden):
        if scratch.holder[j] != NOBODY:
            scratch.h[scratch.holder[j], j] = True


@kernel
def draw_label(set_key, step, spec, weights, scratch):
    """Draw the label given the held units."""
    for y in range(len(scratch.p)):
        scratch.logits[y] = weights.d[y]
        for j in range(spec.n_hidden):
            if scratch.holder[j] != NOBODY:
                scratch.logits[y] += weights.U[y, j]
    softmax(scratch.logits, scratch.p)
    u, reached = uniform(vector_key(set_key, step, TARGET, ZERO), ZERO), scratch.p.dtype.type(0)
    for y in range(len(scratch.p) - 1):
        reached += scratch.p[y]
        if u < reached:
            return y
    return len(scratch.p) - 1


@kernel
def start_chain(set_key, spec, weights, scratch, sets, t, label, chain):
    """Continue the persistent chain of the set, or start a chain at the data."""
    first, size = sets.offsets[t], sets.offsets[t + 1] - sets.offsets[t]
    if not (spec.persistent and chain.known[t]):
        draw_hidden(set_key, ZERO, spec, weights, scratch, size, label)
        return
    for j in range(spec.n_hidden):
        scratch.holder[j] = chain.holder[t, j]
    for s in range(size):
        for j in range(spec.n_hidden):
            scratch.h[s, j] = spec.is_or and chain.h[first + s, j]
    turn_on_held_units(spec, scratch)


@kernel
def store_chain(spec, scratch, sets, t, chain):
    """Store the hidden units for the next visit of the set."""
    first, size = sets.offsets[t], sets.offsets[t + 1] - sets.offsets[t]
    chain.known[t] = True
    for j in range(spec.n_hidden):
        chain.holder[t, j] = scratch.holder[j]
    if spec.is_or:
        for s in range(size):
            for j in range(spec.n_hidden):
                chain.h[first + s, j] = scratch.h[s, j]


@kernel
def add_generative_step(
    rate, spec, weights, scratch, bounds, sets, t, label, set_key, chain, steps, row, samples, sample_coef
):  # fmt: skip
    """Add the contrastive-divergence step, given the activations in the scratch memory."""
    size = sets.offsets[t + 1] - sets.offsets[t]
    pool_joint(scratch, size, spec)
    add_statistics(-rate, spec, weights, scratch, size, label, steps, steps.coef, row)
    start_chain(set_key, spec, weights, scratch, sets, t, label, chain)
    for step in range(1, spec.cd_steps + 1):
        label = draw_label(set_key, step, spec, weights, scratch)
        draw_set(set_key, step, spec, weights, scratch, bounds, samples, row, size)
        if step < spec.cd_steps or spec.persistent:
            draw_hidden(set_key, step, spec, weights, scratch, size, label)
    add_statistics(rate, spec, weights, scratch, size, label, steps, sample_coef, row)
    if spec.persistent:
        store_chain(spec, scratch, sets, t, chain)
