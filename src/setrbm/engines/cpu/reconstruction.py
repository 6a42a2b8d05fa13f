"""Inputs drawn given the hidden units.

Most binary inputs are rarely on. An upper bound of each probability, compared with the random number of the input,
rules out most of them without computing their drive, the input to the logistic function.
"""

import math

import numpy as np

from setrbm.engines.cpu.activations import activate_set
from setrbm.engines.cpu.candidates import BIT, ORIGIN, find_candidates
from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.layout import (
    OCTET,
    UNIT_BLOCK,
    ZERO,
    InputBounds,
    flat_index,
    padded_hidden,
)
from setrbm.engines.cpu.pools import pool_joint
from setrbm.engines.cpu.random_numbers import INPUT, INPUT_ANGLE, uniform, vector_key
from setrbm.engines.cpu.scalar_math import sigmoid
from setrbm.engines.cpu.wide import larger, largest_of, load, plus, plus_product, sum_of, zeros

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
def dot(W, index, row, unit, last):
    """Return the dot product of W, from an index on, and a row from a unit to the last."""
    total = zeros(W, 8)
    for k in range((last - unit) // OCTET):
        shift = k * OCTET
        total = plus_product(total, load(W, index + shift, total), load(row, unit + shift, total))
    return sum_of(total)


@kernel
def drives_by_row(W, candidates, n_candidates, row, high, drive):
    """Write the dot product of W_i with a row of zeros and ones for every candidate."""
    stride = W.shape[2]
    for k in range(n_candidates):
        total = W.dtype.type(0)
        for block in range(0, high, UNIT_BLOCK):
            total += dot(W, flat_index(W, block) + candidates[k] * stride, row, block, min(block + UNIT_BLOCK, high))
        drive[k] = total


@kernel
def compute_drives(weights, spec, scratch, n_active, candidates, n_candidates, drive):
    """Write b_i + scale * sum of W_ij over the active units for every candidate."""
    if n_active <= OCTET:
        flat = weights.W.reshape(weights.W.size)
        drives_by_list(flat, weights.W.shape[2], candidates, n_candidates, scratch.indices, n_active, drive)
    else:
        drives_by_row(weights.W, candidates, n_candidates, scratch.row, np.int64(padded_hidden(spec)), drive)
    scale = weights.scale[0]
    for k in range(n_candidates):
        drive[k] = weights.b[candidates[k]] + scale * drive[k]


@kernel
def write_uniforms(key, units, n, out):
    """Write the numbers in (0, 1) of the listed units."""
    for k in range(np.uint64(n)):
        out[k] = uniform(key, units[k])


@kernel
def write_sigmoids(drive, n):
    """Replace drives by their logistic function."""
    for k in range(np.uint64(n)):
        drive[k] = sigmoid(drive[k])


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
    most_active = weights.b.dtype.type(n_active)
    for first in range(0, n_features, INPUT_BLOCK):
        last = min(first + INPUT_BLOCK, n_features)
        n_candidates = find_candidates(
            key, first, last, bounds.bias, bounds.peak, bounds.mass, weights.scale[0], most_active, candidates
        )
        compute_drives(weights, spec, scratch, n_active, candidates, n_candidates, drive)
        write_uniforms(key, candidates, n_candidates, drawn)
        write_sigmoids(drive, n_candidates)
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
    pool_joint(scratch, size, spec)


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
def measure(W, index, n):
    """Return the largest of n weights from an index on, at least 0, and the sum of the positive ones."""
    zero = zeros(W, 8)
    largest, total = zero, zero
    for k in range(n // OCTET):
        positive = larger(load(W, index + k * OCTET, zero), zero)
        largest, total = larger(positive, largest), plus(total, positive)
    return largest_of(largest), sum_of(total)


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
        peak, mass = dtype(0), dtype(0)
        for block in range(0, last, UNIT_BLOCK):
            largest, total = measure(W, flat_index(W, block) + i * W.shape[2], min(UNIT_BLOCK, last - block))
            peak, mass = largest if largest > peak else peak, mass + total
        bounds.bias[i], bounds.peak[i], bounds.mass[i] = origin + bits * weights.b[i], bits * peak, bits * mass
