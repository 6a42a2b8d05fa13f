"""Triton kernels: one program trains one model for a whole epoch.

A program reads the sets of its model's order in turn. No model waits for another, so sets need no padding, and a step
needs no launch. W stays in the cache of the device from step to step, since at most two models per multiprocessor run
at once; ``docs/decisions/0004-many-models-on-a-gpu.md`` has the measurements.

W is stored transposed, (features, hidden units), zero-padded to whole blocks. The vectors of a set are processed in
tiles of T, features in blocks of B: activations are products of a tile with W, the step is a product of the tile with
its coefficients, all with the precision of float32 (``_product``). Activations (later coefficients) and reconstructions
of the current set are kept in small buffers (``A``, ``A_model``, ``X_model``). Names are the paper's letters; ``j`` is
a hidden unit, ``f`` the features of a block, ``s`` the vectors of a tile, ``y`` a class. Functions are inlined: what
one computes stays in registers for the next.

An epoch of 20 models on sets like Elephant's takes 3.6 ms on an H200, 1,000 times less than model by model with torch
(``lab/experiments/engine_gains.py``).
"""

from __future__ import annotations

import triton
import triton.language as tl

from setrbm import draws
from setrbm.engines.gpu.kernel_parts import (
    _GOLDEN64,
    _cost,
    _key,
    _log_posterior,
    _logits,
    _mix64,
    _product,
    _sigmoid,
    _soft_pool,
    _uniform,
    _value,
)

# Arguments that vary between data sets: specializing on them would cost seconds of compilation for each.
SIZES = ("order_stride", "room", "n_hidden", "n_features", "n_classes")
_HOLDER: tl.constexpr = tl.constexpr(draws.HOLDER)
_HIDDEN: tl.constexpr = tl.constexpr(draws.HIDDEN)
_INPUT: tl.constexpr = tl.constexpr(draws.INPUT)
_ANGLE: tl.constexpr = tl.constexpr(draws.INPUT_ANGLE)
_TARGET: tl.constexpr = tl.constexpr(draws.TARGET)


@triton.jit
def _activations(rows, W, c, s, n, j, shape):
    """Return c + W x for the vectors of a tile."""
    a = tl.zeros([shape.T, shape.HP], c.dtype) + c[None, :]
    for begin in range(0, shape.FP, shape.B):
        f = begin + tl.arange(0, shape.B)
        x = tl.load(rows + s[:, None] * shape.FP + f[None, :], mask=(s < n)[:, None], other=0.0)
        a = _product(x, tl.load(W + f[:, None] * shape.HP + j[None, :]), a, c.dtype)
    return a


@triton.jit
def _activate_set(rows, W, c, A, n, j, shape, variant, KEEP: tl.constexpr):
    """Return the largest activation of each unit and the first vector with it; store all in A if they are kept."""
    best, winner = tl.full([shape.HP], float("-inf"), c.dtype), tl.zeros([shape.HP], tl.int32)
    for begin in range(0, n, shape.T):
        s = begin + tl.arange(0, shape.T)
        here = (s < n)[:, None]
        a = _activations(rows, W, c, s, n, j, shape)
        if variant.HARD:
            seen = tl.where(here, a, float("-inf"))
            highest = tl.max(seen, axis=0)
            winner = tl.where(highest > best, begin + tl.argmax(seen, axis=0), winner)
            best = tl.maximum(best, highest)
        if KEEP:
            tl.store(A + s[:, None] * shape.HP + j[None, :], a, mask=here)
    if KEEP:
        tl.debug_barrier()
    return best, winner


@triton.jit
def _draw_holder(A, n, j, pool, on, u, shape, variant):
    """Draw the vector that holds each unit: the first at which the cumulative sum of g exceeds u, or -1."""
    nobody = 2147483647
    holder = tl.full([shape.HP], nobody, tl.int32)
    reached = tl.zeros_like(on)
    for begin in range(0, n, shape.T):
        s = begin + tl.arange(0, shape.T)
        here = (s < n)[:, None]
        a = tl.load(A + s[:, None] * shape.HP + j[None, :], mask=here, other=0.0)
        g = tl.where(here, tl.exp(_value(a, variant.OR) - pool[None, :]) * on[None, :], 0.0)
        passed = here & (u[None, :] < reached[None, :] + tl.cumsum(g, axis=0))
        holder = tl.minimum(holder, tl.min(tl.where(passed, s[:, None], nobody), axis=0))
        reached += tl.sum(g, axis=0)
    return tl.where(holder == nobody, -1, holder)


@triton.jit
def _backpropagate(pool, U, d, is_label, weight, in_j, in_y):
    """Return the loss of a set, and its derivatives with respect to the logits and to the arguments of softplus."""
    logits, o = _logits(pool, U, d, in_j, in_y)
    log_p = _log_posterior(logits)
    loss = -weight * tl.sum(tl.where(is_label, log_p, 0.0), axis=0)
    delta = weight * (tl.exp(log_p) - is_label.to(d.dtype))
    return loss, delta, tl.where(in_j[:, None], _sigmoid(o), 0.0) * delta[None, :]


@triton.jit
def _column(U, chosen):
    """Return the column of U of one class."""
    return tl.sum(tl.where(chosen[None, :], U, 0.0), axis=1)


@triton.jit
def _draw_inputs(drive, key, angle_key, s, f, GAUSSIAN: tl.constexpr):
    """Draw the vectors of a tile given their input from the hidden units."""
    u = _uniform(_key(key, s)[:, None], f[None, :], drive.dtype)
    if GAUSSIAN:
        turn = _uniform(_key(angle_key, s)[:, None], f[None, :], drive.dtype)
        x = drive + tl.sqrt(-2.0 * tl.log(u)) * tl.cos(6.283185307179586 * turn)
    else:
        x = (u < _sigmoid(drive)).to(drive.dtype)
    return x


@triton.jit
def _reconstruct(
    source, A_model, X_model, W, b_at, c, holder, past, now, n, n_features, j, shape, variant, GAUSSIAN: tl.constexpr
):  # fmt: skip
    """Draw the hidden units of every vector, then new vectors from them, and store those with their activations."""
    zero = tl.full([], 0, tl.int32)
    dtype: tl.constexpr = c.dtype
    hidden_key, input_key, angle_key = _key(past, zero + _HIDDEN), _key(now, zero + _INPUT), _key(now, zero + _ANGLE)
    for start in range(0, n, shape.T):
        s = start + tl.arange(0, shape.T)
        here = (s < n)[:, None]
        h = holder[None, :] == s[:, None]
        if variant.OR:
            a = tl.load(source + s[:, None] * shape.HP + j[None, :], mask=here, other=0.0)
            h = h | (_uniform(_key(hidden_key, s)[:, None], j[None, :], dtype) < _sigmoid(a))
        a = tl.zeros([shape.T, shape.HP], dtype) + c[None, :]
        for begin in range(0, shape.FP, shape.B):
            f = begin + tl.arange(0, shape.B)
            block = tl.load(W + f[:, None] * shape.HP + j[None, :])
            bias = tl.zeros([shape.T, shape.B], dtype) + tl.load(b_at + f)[None, :]
            drive = _product(h.to(dtype), tl.trans(block), bias, dtype, True)
            x = _draw_inputs(drive, input_key, angle_key, s, f, GAUSSIAN)
            x = tl.where((f < n_features)[None, :], x, 0.0)
            tl.store(X_model + s[:, None] * shape.FP + f[None, :], x, mask=here)
            a = _product(x, block, a, dtype, not GAUSSIAN)
        tl.debug_barrier()
        tl.store(A_model + s[:, None] * shape.HP + j[None, :], a, mask=here)
    tl.debug_barrier()


@triton.jit
def _draw_label(holder, U, d, now, in_j, y, n_classes):
    """Draw the label given the held units; return which class it is."""
    zero, in_y = tl.full([], 0, tl.int32), y < n_classes
    seen_by_y = tl.sum(tl.where(((holder >= 0) & in_j)[:, None], U, 0.0), axis=0)
    p = tl.exp(_log_posterior(tl.where(in_y, d + seen_by_y, float("-inf"))))
    u = tl.max(_uniform(_key(_key(now, zero + _TARGET), zero), y * 0, d.dtype), axis=0)
    passed = tl.sum(((u >= tl.cumsum(p, axis=0)) & in_y).to(tl.int32), axis=0)
    return y == tl.minimum(passed, n_classes - 1)


@triton.jit
def _run_chain(
    A, A_model, X_model, W, U, b_at, c, d, soft_pool, on, cost, chain, n, n_features, n_classes, j, y, in_j, shape,
    variant, objective,
):  # fmt: skip
    """Take the steps of a Gibbs chain from the data; return its last soft pool, p(g = 1 | X, y) and label."""
    zero = tl.full([], 0, tl.int32)
    draw = _uniform(_key(_key(_key(chain, zero), zero + _HOLDER), zero), j, c.dtype)
    holder = _draw_holder(A, n, j, soft_pool, on, draw, shape, variant)
    for step in tl.static_range(1, objective.K + 1):
        past, now = _key(chain, zero + (step - 1)), _key(chain, zero + step)
        source = A if step == 1 else A_model
        _reconstruct(
            source, A_model, X_model, W, b_at, c, holder, past, now, n, n_features, j, shape, variant,
            objective.GAUSSIAN,
        )  # fmt: skip
        is_label = _draw_label(holder, U, d, now, in_j, y, n_classes)
        soft_pool = _soft_pool(A_model, n, j, c.dtype, shape.HP, shape.T, variant.OR)
        on = _sigmoid(soft_pool - cost + _column(U, is_label))
        if step < objective.K:
            draw = _uniform(_key(_key(now, zero + _HOLDER), zero), j, c.dtype)
            holder = _draw_holder(A_model, n, j, soft_pool, on, draw, shape, variant)
    return soft_pool, on, is_label


@triton.jit
def _hidden(a, pool, on, OR: tl.constexpr):
    """Return p(h = 1 | X, y) for the vectors of a tile."""
    g = tl.exp(_value(a, OR) - pool[None, :]) * on[None, :]
    return g + (1.0 - g) * _sigmoid(a) if OR else g


@triton.jit
def _discriminative_coefficients(a, s, winner, moved, soft_pool, variant):
    """Return the steps of the activations of a tile along the gradient of -log p(y | X)."""
    if variant.HARD:
        slope = (winner[None, :] == s[:, None]).to(a.dtype)
    else:
        slope = tl.exp(_value(a, variant.OR) - soft_pool[None, :])
        if variant.OR:
            slope = slope * _sigmoid(-a)
    return -moved[None, :] * slope


@triton.jit
def _store_coefficients(
    A, A_model, c, winner, moved, pull, soft_pool, on, model_pool, on_model, n, j, in_j, shape, variant, objective
):  # fmt: skip
    """Replace the activations of each vector by its coefficients in the step of W; return c after its step."""
    for begin in range(0, n, shape.T):
        s = begin + tl.arange(0, shape.T)
        here = (s < n)[:, None]
        at = A + s[:, None] * shape.HP + j[None, :]
        a = tl.load(at, mask=here, other=0.0)
        coefficient = tl.zeros([shape.T, shape.HP], c.dtype)
        if objective.DISCRIMINATIVE:
            coefficient += _discriminative_coefficients(a, s, winner, moved, soft_pool, variant)
        if objective.GENERATIVE:
            coefficient += pull * _hidden(a, soft_pool, on, variant.OR)
            at_model = A_model + s[:, None] * shape.HP + j[None, :]
            a = tl.load(at_model, mask=here, other=0.0)
            back = tl.where(here & in_j[None, :], -pull * _hidden(a, model_pool, on_model, variant.OR), 0.0)
            c += tl.sum(back, axis=0)
            tl.store(at_model, back, mask=here)
        coefficient = tl.where(here & in_j[None, :], coefficient, 0.0)
        c += tl.sum(coefficient, axis=0)
        tl.store(at, coefficient, mask=here)
    tl.debug_barrier()
    return c


@triton.jit
def _update_inputs(
    rows, X_model, A, A_model, W, b_at, winner, moved, pull, shrink, n, j, shape, variant, objective
):  # fmt: skip
    """Apply the steps of W and b, block by block."""
    for first in range(0, shape.FP, shape.B):
        f = first + tl.arange(0, shape.B)
        W_at = W + f[:, None] * shape.HP + j[None, :]
        block = tl.load(W_at) * shrink
        if objective.GENERATIVE:
            b = tl.load(b_at + f)
        for begin in range(0, n, shape.T):
            s = begin + tl.arange(0, shape.T)
            here = (s < n)[:, None]
            x = tl.load(rows + s[:, None] * shape.FP + f[None, :], mask=here, other=0.0)
            if objective.GENERATIVE or not variant.HARD:
                coefficient = tl.load(A + s[:, None] * shape.HP + j[None, :], mask=here, other=0.0)
            else:
                coefficient = tl.where(winner[None, :] == s[:, None], -moved[None, :], 0.0)
            block = _product(tl.trans(x), coefficient, block, block.dtype)
            if objective.GENERATIVE:
                x_model = tl.load(X_model + s[:, None] * shape.FP + f[None, :], mask=here, other=0.0)
                coefficient = tl.load(A_model + s[:, None] * shape.HP + j[None, :], mask=here, other=0.0)
                block = _product(tl.trans(x_model), coefficient, block, block.dtype)
                b += pull * tl.sum(x - x_model, axis=0)
        tl.store(W_at, block)
        if objective.GENERATIVE:
            tl.store(b_at + f, b)


@triton.jit(do_not_specialize=SIZES)
def train_epoch(
    models, sets, lists, learning, buffers, losses, epoch, order_stride, room, n_hidden, n_features, n_classes,
    shape, variant, objective,
):  # fmt: skip
    """Train each active model on the sets of its order, one set per step."""
    keep: tl.constexpr = objective.GENERATIVE or not variant.HARD
    program = tl.program_id(0).to(tl.int64)
    m = tl.load(lists.model_of + program).to(tl.int64)
    j, y = tl.arange(0, shape.HP), tl.arange(0, shape.CP)
    in_j, in_y = j < n_hidden, y < n_classes
    W, b_at = models.W + m * shape.FP * shape.HP, models.b + m * shape.FP
    U_at = models.U + m * shape.HP * shape.CP + j[:, None] * shape.CP + y[None, :]
    U, c, d = tl.load(U_at), tl.load(models.c + m * shape.HP + j), tl.load(models.d + m * shape.CP + y)
    dtype: tl.constexpr = U.dtype
    rate, shrink = tl.load(learning.rates + m), tl.load(learning.shrinks + m)
    seed = _mix64(tl.load(learning.seeds + m).to(tl.uint64) + tl.full([], _GOLDEN64, tl.uint64))
    seed_key = _key(seed, tl.load(epoch))
    A, A_model = buffers.A + program * room * shape.HP, buffers.A_model + program * room * shape.HP
    X_model = buffers.X_model + program * room * shape.FP
    which = tl.load(lists.row_of + m)
    order = lists.sets + which.to(tl.int64) * order_stride
    loss = tl.zeros([], dtype)

    for k in range(tl.load(lists.lengths + which)):
        number = tl.load(order + k)
        start = tl.load(sets.offsets + number)
        n = (tl.load(sets.offsets + number + 1) - start).to(tl.int32)
        rows, weight = sets.X + start * shape.FP, tl.load(sets.weights + number)
        is_label = y == tl.load(sets.labels + number)
        pull = tl.load(learning.generative_rates + m) * weight

        best, winner = _activate_set(rows, W, c, A, n, j, shape, variant, keep)
        soft_pool = _soft_pool(A, n, j, dtype, shape.HP, shape.T, variant.OR) if keep else best
        # Shares are relative to the soft pool; the posterior and the hidden units see the mean one.
        cost = _cost(n, dtype, variant.SIZE_COST)
        pool = _value(best, variant.OR) if variant.HARD else soft_pool - cost
        set_loss, delta, part = _backpropagate(pool, U, d, is_label, weight, in_j, in_y)
        loss += set_loss
        moved = rate * tl.sum(part, axis=1)
        if variant.HARD and variant.OR:
            moved = moved * _sigmoid(-best)

        # Not used unless the objective is generative.
        on, model_pool, on_model, is_model_label = best, best, best, is_label
        if objective.GENERATIVE:
            on = _sigmoid(soft_pool - cost + _column(U, is_label))
            chain = _key(seed_key, tl.load(sets.numbers + number))
            model_pool, on_model, is_model_label = _run_chain(
                A, A_model, X_model, W, U, b_at, c, d, soft_pool, on, cost, chain, n, n_features, n_classes, j, y,
                in_j, shape, variant, objective,
            )  # fmt: skip
        if keep:
            c = _store_coefficients(
                A, A_model, c, winner, moved, pull, soft_pool, on, model_pool, on_model, n, j, in_j, shape, variant,
                objective,
            )  # fmt: skip
        else:
            c -= moved
            tl.debug_barrier()
        _update_inputs(
            rows, X_model, A, A_model, W, b_at, winner, moved, pull, shrink, n, j, shape, variant, objective
        )  # fmt: skip
        U = U * shrink
        if objective.DISCRIMINATIVE:
            U -= rate * part
            d -= rate * delta
        if objective.GENERATIVE:
            is_y, is_model_y = is_label.to(dtype), is_model_label.to(dtype)
            U += pull * (on[:, None] * is_y[None, :] - on_model[:, None] * is_model_y[None, :])
            d += pull * (is_y - is_model_y)
        tl.debug_barrier()

    tl.store(U_at, tl.where(in_j[:, None] & in_y[None, :], U, 0.0))
    tl.store(models.c + m * shape.HP + j, c)
    tl.store(models.d + m * shape.CP + y, tl.where(in_y, d, 0.0))
    tl.store(losses + m, loss)


@triton.jit(do_not_specialize=SIZES)
def score_sets(
    models, sets, lists, buffers, scores, order_stride, room, n_hidden, n_features, n_classes, shape, variant
):  # fmt: skip
    """Sum the weighted losses and errors over the sets of each active model's list."""
    program = tl.program_id(0).to(tl.int64)
    m = tl.load(lists.model_of + program).to(tl.int64)
    j, y = tl.arange(0, shape.HP), tl.arange(0, shape.CP)
    in_j, in_y = j < n_hidden, y < n_classes
    W = models.W + m * shape.FP * shape.HP
    U = tl.load(models.U + m * shape.HP * shape.CP + j[:, None] * shape.CP + y[None, :])
    c, d = tl.load(models.c + m * shape.HP + j), tl.load(models.d + m * shape.CP + y)
    dtype: tl.constexpr = U.dtype
    A = buffers.A + program * room * shape.HP
    which = tl.load(lists.row_of + m)
    order = lists.sets + which.to(tl.int64) * order_stride
    loss, error = tl.zeros([], dtype), tl.zeros([], dtype)
    for k in range(tl.load(lists.lengths + which)):
        number = tl.load(order + k)
        start = tl.load(sets.offsets + number)
        n = (tl.load(sets.offsets + number + 1) - start).to(tl.int32)
        best, _ = _activate_set(sets.X + start * shape.FP, W, c, A, n, j, shape, variant, not variant.HARD)
        if variant.HARD:
            pool = _value(best, variant.OR)
        else:
            soft_pool = _soft_pool(A, n, j, dtype, shape.HP, shape.T, variant.OR)
            pool = soft_pool - _cost(n, dtype, variant.SIZE_COST)
            tl.debug_barrier()
        logits, _ = _logits(pool, U, d, in_j, in_y)
        log_p = _log_posterior(logits)
        label, weight = tl.load(sets.labels + number), tl.load(sets.weights + number)
        loss -= weight * tl.sum(tl.where(y == label, log_p, 0.0), axis=0)
        error += weight * (tl.argmax(log_p, axis=0) != label).to(dtype)
    tl.store(scores + 2 * m, loss)
    tl.store(scores + 2 * m + 1, error)
