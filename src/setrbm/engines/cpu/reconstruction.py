"""Drawing inputs given hidden units."""

from __future__ import annotations

import math

import numpy as np

from setrbm.engines.cpu.activations import activate_set
from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.lanes import dot_lanes, measure_lanes
from setrbm.engines.cpu.layout import FACTORS, LANES, NONE, ZERO, Bounds, lanes_left, place_of, used
from setrbm.engines.cpu.pools import pool_soft
from setrbm.engines.cpu.random_numbers import INPUT, INPUT_ANGLE, uniform, vector_key
from setrbm.engines.cpu.sampling_lanes import BIT, ORIGIN, find_lanes, uniform_lanes
from setrbm.engines.cpu.scalar_math import sigmoid

# So many inputs are drawn at a time.
BLOCK = np.int64(512)


@kernel
def list_units_on(W, rules, work, s):
    """List where the units that are on in vector s stand in W, and write them as zeros and ones; return how many."""
    n_units = ZERO
    for j in range(rules.n_hidden):
        work.row[j] = work.h[s, j]
        if work.h[s, j]:
            work.places[n_units] = place_of(W, j)
            n_units += 1
    return n_units


@kernel
def drives_by_list(W, stride, found, n_found, places, n_units, drive):
    """Write the sum of W_ij over the listed units for every input found; W and the places are counted flat."""
    for k in range(n_found):
        row, total = np.int64(found[k]) * stride, W.dtype.type(0)
        for u in range(n_units):
            total += W[places[u] + row]
        drive[k] = total


@kernel
def drives_by_row(W, found, n_found, row, high, drive):
    """Write the product of W_i with a row of zeros and ones for every input found."""
    stride = W.shape[2]
    for k in range(n_found):
        total, unit = W.dtype.type(0), ZERO
        while unit < high:
            n_lanes = lanes_left(unit, high) // LANES
            total += dot_lanes(W, place_of(W, unit) + found[k] * stride, row, unit, n_lanes)
            unit += FACTORS
        drive[k] = total


@kernel
def find_drives(weights, rules, work, n_units, found, n_found, drive):
    """Write b_i + scale * sum of W_ij over the units that are on, for every input found."""
    if n_units <= LANES:
        flat = weights.W.reshape(weights.W.size)
        drives_by_list(flat, weights.W.shape[2], found, n_found, work.places, n_units, drive)
    else:
        drives_by_row(weights.W, found, n_found, work.row, np.int64(used(rules)), drive)
    scale = weights.scale[0]
    for k in range(n_found):
        drive[k] = weights.b[found[k]] + scale * drive[k]


@kernel
def draw_gaussian(key, angle, weights, rules, work, bounds, n_units, values, cols, at):
    """Draw every input around its drive with unit variance; return where the vector ends."""
    n_features, found, drive = len(weights.b), bounds.found, bounds.drive
    for first in range(0, n_features, BLOCK):
        n_found = min(BLOCK, n_features - first)
        for k in range(n_found):
            found[k] = first + k
        find_drives(weights, rules, work, n_units, found, n_found, drive)
        for k in range(n_found):
            radius = math.sqrt(-2.0 * math.log(np.float64(uniform(key, first + k))))
            values[at] = drive[k] + radius * math.cos(2.0 * math.pi * np.float64(uniform(angle, first + k)))
            cols[at] = first + k
            at += 1
    return at


@kernel
def draw_binary(key, weights, rules, work, bounds, n_units, values, cols, at):
    """Draw every input; write those that are on and return where the vector ends."""
    n_features, found, drive, drawn = len(weights.b), bounds.found, bounds.drive, bounds.drawn
    low, high, most = np.uint32(key), np.uint32(key >> np.uint64(32)), weights.b.dtype.type(n_units)
    for first in range(0, n_features, BLOCK):
        last = min(first + BLOCK, n_features)
        n_found = find_lanes(
            low, high, first, last, bounds.bias, bounds.peak, bounds.mass, weights.scale[0], most, found
        )
        find_drives(weights, rules, work, n_units, found, n_found, drive)
        uniform_lanes(low, high, found, n_found, drawn)
        for k in range(n_found):
            drive[k] = sigmoid(drive[k])
        for k in range(n_found):
            values[at] = 1
            cols[at] = found[k]
            at += drawn[k] < drive[k]
    return at


@kernel
def draw_set(set_key, step, rules, weights, work, bounds, model, row, size):
    """Draw the vectors of a set as rows ``row`` onwards of the model's sets, and their activations and pool."""
    for s in range(size):
        at, n_units = model.starts[row + s], list_units_on(weights.W, rules, work, s)
        key = vector_key(set_key, step, INPUT, s)
        if rules.is_gaussian:
            angle = vector_key(set_key, step, INPUT_ANGLE, s)
            end = draw_gaussian(key, angle, weights, rules, work, bounds, n_units, model.values, model.cols, at)
        else:
            end = draw_binary(key, weights, rules, work, bounds, n_units, model.values, model.cols, at)
        model.starts[row + s + 1] = end
    activate_set(weights, model, row, row + size, work.a, NONE, used(rules))
    pool_soft(work, size, rules.is_or, work.pool, NONE, used(rules))


@kernel
def new_bounds(weights, high):
    """Return the bounds of every input's weights."""
    n_features, dtype = len(weights.b), weights.W.dtype
    # Read 64 at a time, which may end beyond the last input.
    whole = n_features + 64
    bounds = Bounds(
        np.zeros(whole, dtype), np.zeros(whole, dtype), np.zeros(whole, dtype), np.full(whole, -1),
        np.zeros(BLOCK, np.int32), np.zeros(BLOCK, dtype), np.zeros(BLOCK, np.float32),
    )  # fmt: skip
    renew_bounds(weights, bounds, np.arange(n_features).astype(np.int32), ZERO, n_features, high, ZERO)
    return bounds


@kernel
def renew_bounds(weights, bounds, cols, at, n, high, now):
    """Measure the largest weight and the sum of positive weights of the inputs listed, each once a step."""
    W, last = weights.W, np.int64(high)
    dtype = W.dtype.type
    bits, origin = dtype(1.0 / BIT), dtype(ORIGIN)
    for k in range(at, at + n):
        i = np.int64(cols[k])
        if bounds.stamp[i] == now:
            continue
        bounds.stamp[i] = now
        bounds.peak[i], bounds.mass[i] = 0, 0
        unit = ZERO
        while unit < last:
            n_lanes = lanes_left(unit, last) // LANES
            measure_lanes(W, place_of(W, unit) + i * W.shape[2], n_lanes, bounds.peak, bounds.mass, i)
            unit += FACTORS
        bounds.bias[i] = origin + bits * weights.b[i]
        bounds.peak[i] *= bits
        bounds.mass[i] *= bits
