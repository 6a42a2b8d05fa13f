"""One pass over the sets: training, prediction."""

import numpy as np

from setrbm.engines.cpu.activations import activate_set
from setrbm.engines.cpu.best_vector import add_max_out_step, find_best_vector
from setrbm.engines.cpu.chains import add_generative_step
from setrbm.engines.cpu.compiling import inlined_kernel, kernel
from setrbm.engines.cpu.gradients import add_discriminative_step
from setrbm.engines.cpu.layout import ZERO, FlatSets, Steps, padded_hidden
from setrbm.engines.cpu.pools import pool_set
from setrbm.engines.cpu.reconstruction import new_bounds
from setrbm.engines.cpu.scoring import softmax, sum_logits, sum_softplus
from setrbm.engines.cpu.updates import apply_data_steps, apply_sample_steps, apply_small_steps, decay_weights


@kernel
def most_vectors(offsets, order, batch_size):
    """Return the number of vectors in the largest mini-batch of this order, and in the largest set."""
    in_batch, in_set = ZERO, np.int64(1)
    for start in range(0, len(order), batch_size):
        total = ZERO
        for place in range(start, min(start + batch_size, len(order))):
            size = offsets[order[place] + 1] - offsets[order[place]]
            total += size
            in_set = max(in_set, size)
        in_batch = max(in_batch, total)
    return in_batch, in_set


@kernel
def new_samples(n_vectors, n_features, offsets, like):
    """Return memory for drawn vectors, enough for all features; pages never written to take no physical memory."""
    # One more: every candidate is written, and overwritten by the next one if it is off.
    n_values = n_vectors * n_features + 1
    starts = np.zeros(n_vectors + 1, np.int64)
    return FlatSets(np.empty(n_values, like.dtype), np.empty(n_values, np.int32), starts, 1, offsets)


@inlined_kernel
def score_set(sets, t, weights, spec, scratch, unit, n_units):
    """Write the activations, pool, logits and slopes of set t."""
    first, size = sets.offsets[t], sets.offsets[t + 1] - sets.offsets[t]
    activate_set(weights, sets, first, first + size, scratch.a, n_units)
    if unit is not None:
        find_best_vector(unit, weights, spec, scratch, size)
        return
    pool, logits = scratch.pool, scratch.block_logits
    pool_set(scratch, size, spec.is_or, spec.pooling, spec.size_cost, n_units)
    sum_softplus(pool, weights.U, spec.n_hidden, scratch.slope, scratch.sums, scratch.products, logits)
    sum_logits(weights.d, logits, scratch.logits)


@kernel
def train(
    sets, labels, set_weights, order, batch_size, weights, spec, rates, set_keys, chain, losses, unit, scratch, coef
):
    """Make one pass over the sets in this order, with a step every ``batch_size`` sets; write the loss of each set.

    ``chain`` is None without generative learning, and ``unit`` is None unless the model is a max-out classifier: the
    branches that test for None are then not compiled.
    """
    n_units, dtype = padded_hidden(spec), weights.W.dtype
    width, n_classes = len(weights.c), len(weights.d)
    steps = Steps(np.zeros((n_classes, width), dtype), np.zeros(width, dtype), np.zeros(n_classes, dtype), coef)
    if chain is not None:
        in_batch, _ = most_vectors(sets.offsets, order, batch_size)
        samples = new_samples(in_batch, len(weights.b), sets.offsets, weights.W)
        sample_coef, bounds = np.zeros((in_batch, width), dtype), new_bounds(weights, n_units)
    for start in range(0, len(order), batch_size):
        stop = min(start + batch_size, len(order))
        batch, row = order[start:stop], ZERO
        for place in range(start, stop):
            t = order[place]
            size, label = sets.offsets[t + 1] - sets.offsets[t], labels[t]
            part = set_weights[t] / dtype.type(stop - start)
            score_set(sets, t, weights, spec, scratch, unit, n_units)
            losses[place] = softmax(scratch.logits, scratch.p) - scratch.logits[label]
            if unit is not None:
                add_max_out_step(unit, rates.discriminative * part, spec, scratch, label, steps, row)
            elif spec.discriminative:
                add_discriminative_step(rates.discriminative * part, spec, scratch, size, label, steps, row, n_units)
            if chain is not None:
                add_generative_step(
                    rates.generative * part, spec, weights, scratch, bounds, sets, t, label, set_keys[t], chain, steps,
                    row, samples, sample_coef,
                )  # fmt: skip
            row += size
        decay_weights(weights, rates.shrink, n_units)
        apply_data_steps(sets, batch, weights, steps, scratch, n_units)
        if chain is not None:
            apply_sample_steps(
                sets, set_weights, batch, weights, rates.generative, samples, sample_coef, scratch, bounds, n_units,
                stop,
            )  # fmt: skip
        apply_small_steps(weights, steps, n_units)


@kernel
def forward_sets(sets, which, weights, spec, pools, F, unit, scratch):
    """Write the pooled activations and free energies of the chosen sets, one row per set."""
    n_units = padded_hidden(spec)
    for row in range(len(which)):
        score_set(sets, which[row], weights, spec, scratch, unit, n_units)
        for j in range(spec.n_hidden):
            pools[row, j] = scratch.pool[j]
        for y in range(len(scratch.logits)):
            F[row, y] = -scratch.logits[y]
