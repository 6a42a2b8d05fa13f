"""Inputs drawn given the hidden units.

Most binary inputs are rarely on. An upper bound of each probability, compared with the random number of the input,
rules out most of them without computing their drive, the input to the logistic function.
"""

import math

import numpy as np

from setrbm.engines.cpu.activations import activate_set
from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.lanes import dot_lanes, measure_lanes
from setrbm.engines.cpu.layout import (
    LANE_SIZE,
    UNIT_BLOCK,
    ZERO,
    InputBounds,
    flat_index,
    left_in_block,
    padded_hidden,
)
from setrbm.engines.cpu.pools import pool_soft
from setrbm.engines.cpu.random_numbers import INPUT, INPUT_ANGLE, uniform, vector_key
from setrbm.engines.cpu.sampling_lanes import BIT, ORIGIN, find_candidates, uniform_lanes
from setrbm.engines.cpu.scalar_math import sigmoid

# Inputs are drawn in blocks of this size.
INPUT_BLOCK = np.int64(512)


@kernel
def list_active_units(W, spec, scratch, s):
    """List the indices in W of the active units of vector s, write these as zeros and ones, and return their number."""
    n_active = ZERO
    for j in range(spec.n_hidden):
        scratch.row[j] = scratch.h[s, j]
        if scratch.h[s, j]:
            scratch.indices[n_active] = flat_index(W, j)
            n_active += 1
    return n_active


@kernel
def drives_by_list(W, stride, candidates, n_candidates, indices, n_active, drive):
    """Write the sum of W_ij over the listed units for every candidate; W is flattened."""
    for k in range(n_candidates):
        row, total = np.int64(candidates[k]) * stride, W.dtype.type(0)
        for u in range(n_active):
            total += W[indices[u] + row]
        drive[k] = total


@kernel
def drives_by_row(W, candidates, n_candidates, row, high, drive):
    """Write the dot product of W_i with a row of zeros and ones for every candidate."""
    stride = W.shape[2]
    for k in range(n_candidates):
        total, unit = W.dtype.type(0), ZERO
        while unit < high:
            n_lanes = left_in_block(unit, high) // LANE_SIZE
            total += dot_lanes(W, flat_index(W, unit) + candidates[k] * stride, row, unit, n_lanes)
            unit += UNIT_BLOCK
        drive[k] = total


@kernel
def compute_drives(weights, spec, scratch, n_active, candidates, n_candidates, drive):
    """Write b_i + scale * sum of W_ij over the active units for every candidate."""
    if n_active <= LANE_SIZE:
        flat = weights.W.reshape(weights.W.size)
        drives_by_list(flat, weights.W.shape[2], candidates, n_candidates, scratch.indices, n_active, drive)
    else:
        drives_by_row(weights.W, candidates, n_candidates, scratch.row, np.int64(padded_hidden(spec)), drive)
    scale = weights.scale[0]
    for k in range(n_candidates):
        drive[k] = weights.b[candidates[k]] + scale * drive[k]


@kernel
def draw_gaussian(key, angle, weights, spec, scratch, bounds, n_active, values, cols, at):
    """Draw every input from a normal distribution around its drive; return the end of the vector."""
    n_features, candidates, drive = len(weights.b), bounds.candidates, bounds.drive
    for first in range(0, n_features, INPUT_BLOCK):
        n_candidates = min(INPUT_BLOCK, n_features - first)
        for k in range(n_candidates):
            candidates[k] = first + k
        compute_drives(weights, spec, scratch, n_active, candidates, n_candidates, drive)
        for k in range(n_candidates):
            radius = math.sqrt(-2.0 * math.log(np.float64(uniform(key, first + k))))
            values[at] = drive[k] + radius * math.cos(2.0 * math.pi * np.float64(uniform(angle, first + k)))
            cols[at] = first + k
            at += 1
    return at


@kernel
def draw_binary(key, weights, spec, scratch, bounds, n_active, values, cols, at):
    """Draw every input, write those that are on, and return the end of the vector."""
    n_features, candidates, drive, drawn = len(weights.b), bounds.candidates, bounds.drive, bounds.drawn
    low, high, most_active = np.uint32(key), np.uint32(key >> np.uint64(32)), weights.b.dtype.type(n_active)
    for first in range(0, n_features, INPUT_BLOCK):
        last = min(first + INPUT_BLOCK, n_features)
        n_candidates = find_candidates(
            low, high, first, last, bounds.bias, bounds.peak, bounds.mass, weights.scale[0], most_active, candidates
        )
        compute_drives(weights, spec, scratch, n_active, candidates, n_candidates, drive)
        uniform_lanes(low, high, candidates, n_candidates, drawn)
        for k in range(n_candidates):
            drive[k] = sigmoid(drive[k])
        for k in range(n_candidates):
            values[at] = 1
            cols[at] = candidates[k]
            at += drawn[k] < drive[k]
    return at


@kernel
def draw_set(set_key, step, spec, weights, scratch, bounds, samples, row, size):
    """Draw the vectors of a set into ``samples`` from ``row`` on, and compute their activations and pools."""
    for s in range(size):
        at, n_active = samples.starts[row + s], list_active_units(weights.W, spec, scratch, s)
        key = vector_key(set_key, step, INPUT, s)
        if spec.is_gaussian:
            angle = vector_key(set_key, step, INPUT_ANGLE, s)
            end = draw_gaussian(key, angle, weights, spec, scratch, bounds, n_active, samples.values, samples.cols, at)
        else:
            end = draw_binary(key, weights, spec, scratch, bounds, n_active, samples.values, samples.cols, at)
        samples.starts[row + s + 1] = end
    activate_set(weights, samples, row, row + size, scratch.a, padded_hidden(spec))
    pool_soft(scratch, size, spec, scratch.pool, padded_hidden(spec))


@kernel
def new_bounds(weights, n_units):
    """Return bounds on the drive of every input."""
    n_features, dtype = len(weights.b), weights.W.dtype
    # Inputs are read 64 at a time, which may go beyond the last one.
    whole = n_features + 64
    bounds = InputBounds(
        np.zeros(whole, dtype), np.zeros(whole, dtype), np.zeros(whole, dtype), np.full(whole, -1),
        np.zeros(INPUT_BLOCK, np.int32), np.zeros(INPUT_BLOCK, dtype), np.zeros(INPUT_BLOCK, np.float32),
    )  # fmt: skip
    measure_bounds(weights, bounds, np.arange(n_features).astype(np.int32), ZERO, n_features, n_units, ZERO)
    return bounds


@kernel
def measure_bounds(weights, bounds, cols, at, n, n_units, now):
    """Measure the largest weight and the sum of positive weights of the listed inputs, each once per step."""
    W, last = weights.W, np.int64(n_units)
    dtype = W.dtype.type
    bits, origin = dtype(1.0 / BIT), dtype(ORIGIN)
    for k in range(at, at + n):
        i = np.int64(cols[k])
        if bounds.measured_at[i] == now:
            continue
        bounds.measured_at[i] = now
        bounds.peak[i], bounds.mass[i] = 0, 0
        unit = ZERO
        while unit < last:
            n_lanes = left_in_block(unit, last) // LANE_SIZE
            measure_lanes(W, flat_index(W, unit) + i * W.shape[2], n_lanes, bounds.peak, bounds.mass, i)
            unit += UNIT_BLOCK
        bounds.bias[i] = origin + bits * weights.b[i]
        bounds.peak[i] *= bits
        bounds.mass[i] *= bits
