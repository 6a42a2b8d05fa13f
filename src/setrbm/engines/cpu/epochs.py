"""Whole passes."""

from __future__ import annotations

import numpy as np

from setrbm.engines.cpu.activations import activate_set
from setrbm.engines.cpu.best_vector import choose, wish_max_out
from setrbm.engines.cpu.chains import wish_generative
from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.gradients import wish_discriminative
from setrbm.engines.cpu.layout import FACTORS, NONE, ZERO, Sets, Steps, Work, used
from setrbm.engines.cpu.pools import pool_hard, pool_soft
from setrbm.engines.cpu.reconstruction import new_bounds
from setrbm.engines.cpu.scoring import add_logits, normalise, outer
from setrbm.engines.cpu.teams import meet
from setrbm.engines.cpu.updates import apply_data, apply_model, apply_small, decay


@kernel
def new_work(room, width, n_classes, like):
    """Return scratch space for the sets there is room for."""
    dtype = like.dtype
    return Work(
        room.a,
        room.share,
        room.away,
        np.zeros(width, dtype),
        np.zeros(width, dtype),
        np.zeros(width, np.int32),
        np.zeros(n_classes, dtype),
        np.zeros(n_classes, dtype),
        np.zeros((n_classes, width), dtype),
        np.zeros(FACTORS, dtype),
        np.zeros(FACTORS, dtype),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int32),
        room.h,
    )


@kernel
def largest_batch(offsets, order, batch_size):
    """Return the most vectors any batch of this order holds, and the most any set holds."""
    most, largest = ZERO, np.int64(1)
    for start in range(0, len(order), batch_size):
        total = ZERO
        for place in range(start, min(start + batch_size, len(order))):
            size = offsets[order[place] + 1] - offsets[order[place]]
            total += size
            largest = max(largest, size)
        most = max(most, total)
    return most, largest


@kernel
def new_model(n_vectors, n_features, offsets, like):
    """Return room for drawn vectors: every feature of each. What is not written is never touched: no memory."""
    # One more: an input found not to be on is written all the same, and the next one over it.
    n_values = n_vectors * n_features + 1
    starts = np.zeros(n_vectors + 1, np.int64)
    return Sets(np.empty(n_values, like.dtype), np.empty(n_values, np.int32), starts, 1, offsets)


@kernel
def train(
    sets, labels, set_weights, order, batch_size, weights, rules, rates, set_keys, chain, losses, team, unit, room
):  # fmt: skip
    """Make one pass over the sets in this order, a step every ``batch_size`` sets; write each set's loss.

    ``chain`` is None where nothing is learned generatively, ``unit`` where it is not a max-out classifier; the branches
    on them are then not even compiled. Otherwise the team must be one thread. Each thread of a team has its own
    ``scale`` and ``d``, and writes its own losses.
    """
    n_features, width = weights.W.shape[1], len(weights.c)
    low, high = team.low, team.high
    n_classes, dtype = len(weights.d), weights.W.dtype
    work = new_work(room, width, n_classes, weights.W)
    steps = Steps(np.zeros((n_classes, width), dtype), np.zeros(width, dtype), np.zeros(n_classes, dtype), room.coef)
    if chain is not None:
        most, _ = largest_batch(sets.offsets, order, batch_size)
        model, model_coef = new_model(most, n_features, sets.offsets, weights.W), np.zeros((most, width), dtype)
        bounds = new_bounds(weights, high)
    for start in range(0, len(order), batch_size):
        stop = min(start + batch_size, len(order))
        row = ZERO
        for place in range(start, stop):
            t = order[place]
            size, label = sets.offsets[t + 1] - sets.offsets[t], labels[t]
            part = set_weights[t] / dtype.type(stop - start)
            activate_set(weights, sets, sets.offsets[t], sets.offsets[t + 1], work.a, low, high)
            partial = team.partial[place % 2]
            if unit is not None:
                choose(unit, weights, rules, work, size, partial, high)
            else:
                if rules.is_hard:
                    pool_hard(work.a, size, rules.is_or, work.pool, work.winner, low, high)
                else:
                    pool_soft(work, size, rules.is_or, work.pool, low, high)
                outer(work.pool, weights.U, rules.n_hidden, work.slope, work.sums, work.products, partial, low, high)
                if team.n > 1:
                    meet(team, place + 1)
                add_logits(weights.d, partial, work.logits)
            losses[place] = normalise(work.logits, work.p) - work.logits[label]
            if unit is not None:
                wish_max_out(unit, rates.discriminative * part, rules, work, label, steps, row)
            elif rules.discriminative:
                wish_discriminative(rates.discriminative * part, rules, work, size, label, steps, row, low, high)
            if chain is not None:
                wish_generative(
                    rates.generative * part, rules, weights, work, bounds, sets, t, label, set_keys[t], chain, steps,
                    row, model, model_coef,
                )  # fmt: skip
            row += size
        decay(weights, rates.shrink, low, high)
        apply_data(sets, order[start:stop], weights, steps, work, low, high)
        if chain is not None:
            apply_model(
                sets, set_weights, order[start:stop], weights, rates.generative, model, model_coef, work, bounds, high,
                stop,
            )  # fmt: skip
        apply_small(weights, steps, low, high)


@kernel
def forward_sets(sets, which, weights, rules, pools, F, unit, room):
    """Write the pooled activations and free energies of the chosen sets, one row each."""
    width, n_classes = len(weights.c), len(weights.d)
    every = used(rules)
    work = new_work(room, width, n_classes, weights.W)
    partial = np.zeros((-(-rules.n_hidden // FACTORS), n_classes), weights.W.dtype)
    for row in range(len(which)):
        first, last = sets.offsets[which[row]], sets.offsets[which[row] + 1]
        activate_set(weights, sets, first, last, work.a, NONE, every)
        if unit is not None:
            choose(unit, weights, rules, work, last - first, partial, every)
        else:
            if rules.is_hard:
                pool_hard(work.a, last - first, rules.is_or, work.pool, work.winner, NONE, every)
            else:
                pool_soft(work, last - first, rules.is_or, work.pool, NONE, every)
            outer(work.pool, weights.U, rules.n_hidden, work.slope, work.sums, work.products, partial, NONE, every)
            add_logits(weights.d, partial, work.logits)
        for j in range(rules.n_hidden):
            pools[row, j] = work.pool[j]
        for y in range(len(work.logits)):
            F[row, y] = -work.logits[y]
