"""Gibbs chains and contrastive divergence."""

from __future__ import annotations

import numpy as np

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.gradients import wish_statistics
from setrbm.engines.cpu.layout import NONE, ZERO, used
from setrbm.engines.cpu.pools import pool_soft
from setrbm.engines.cpu.random_numbers import HIDDEN, HOLDER, TARGET, uniform, vector_key
from setrbm.engines.cpu.reconstruction import draw_set
from setrbm.engines.cpu.scalar_math import sigmoid
from setrbm.engines.cpu.scoring import normalise

NOBODY = np.int32(-1)


@kernel
def draw_hidden(set_key, step, rules, weights, work, size, label):
    """Draw which vector holds each unit, and for or which other units are on."""
    key = vector_key(set_key, step, HOLDER, ZERO)
    for j in range(rules.n_hidden):
        on = sigmoid(work.pool[j] + weights.U[label, j])
        u, reached = uniform(key, j), work.pool.dtype.type(0)
        work.holder[j] = NOBODY
        for s in range(size):
            reached += work.share[s, j] * on
            if u < reached:
                work.holder[j] = np.int32(s)
                break
    one = work.pool.dtype.type(1)
    for s in range(size):
        key = vector_key(set_key, step, HIDDEN, s)
        for j in range(rules.n_hidden):
            work.h[s, j] = rules.is_or and uniform(key, j) < one - work.away[s, j]
    turn_on_held(rules, work)


@kernel
def turn_on_held(rules, work):
    """Turn on every unit of h that is held: h >= g."""
    for j in range(rules.n_hidden):
        if work.holder[j] != NOBODY:
            work.h[work.holder[j], j] = True


@kernel
def draw_label(set_key, step, rules, weights, work):
    """Draw the label given the units that are held."""
    for y in range(len(work.p)):
        work.logits[y] = weights.d[y]
        for j in range(rules.n_hidden):
            if work.holder[j] != NOBODY:
                work.logits[y] += weights.U[y, j]
    normalise(work.logits, work.p)
    u, reached = uniform(vector_key(set_key, step, TARGET, ZERO), ZERO), work.p.dtype.type(0)
    for y in range(len(work.p) - 1):
        reached += work.p[y]
        if u < reached:
            return y
    return len(work.p) - 1


@kernel
def start_chain(set_key, rules, weights, work, sets, t, label, chain):
    """Put the hidden sample where the set's persistent chain stands, or draw it from the data."""
    first, size = sets.offsets[t], sets.offsets[t + 1] - sets.offsets[t]
    if not (rules.persistent and chain.known[t]):
        draw_hidden(set_key, ZERO, rules, weights, work, size, label)
        return
    for j in range(rules.n_hidden):
        work.holder[j] = chain.holder[t, j]
    for s in range(size):
        for j in range(rules.n_hidden):
            work.h[s, j] = rules.is_or and chain.h[first + s, j]
    turn_on_held(rules, work)


@kernel
def keep_chain(rules, work, sets, t, chain):
    """Store the hidden sample for the set's next visit."""
    first, size = sets.offsets[t], sets.offsets[t + 1] - sets.offsets[t]
    chain.known[t] = True
    for j in range(rules.n_hidden):
        chain.holder[t, j] = work.holder[j]
    if rules.is_or:
        for s in range(size):
            for j in range(rules.n_hidden):
                chain.h[first + s, j] = work.h[s, j]


@kernel
def wish_generative(rate, rules, weights, work, bounds, sets, t, label, set_key, chain, steps, row, model, model_coef):
    """Add the contrastive-divergence step, given the activations in the scratch space."""
    size = sets.offsets[t + 1] - sets.offsets[t]
    pool_soft(work, size, rules.is_or, work.pool, NONE, used(rules))
    wish_statistics(-rate, rules, weights, work, size, label, steps, steps.coef, row)
    start_chain(set_key, rules, weights, work, sets, t, label, chain)
    for step in range(1, rules.cd_steps + 1):
        label = draw_label(set_key, step, rules, weights, work)
        draw_set(set_key, step, rules, weights, work, bounds, model, row, size)
        if step < rules.cd_steps or rules.persistent:
            draw_hidden(set_key, step, rules, weights, work, size, label)
    wish_statistics(rate, rules, weights, work, size, label, steps, model_coef, row)
    if rules.persistent:
        keep_chain(rules, work, sets, t, chain)
