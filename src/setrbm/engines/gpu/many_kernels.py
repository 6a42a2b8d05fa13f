"""Triton kernels: one program trains one model for a whole epoch.

A program reads the sets of its model's order in turn. No model waits for another, so sets need no padding, and a step
needs no launch. W stays in the cache of the device from step to step, since at most two models per multiprocessor run
at once; ``docs/decisions/0004-many-models-on-a-gpu.md`` has the measurements.

W is stored transposed, (features, hidden units), zero-padded to whole blocks. The vectors of a set are processed in
tiles of T, features in blocks of B: activations are products of a tile with W, the step is a product of the tile with
its coefficients, all with the precision of float32 (``_product``). Activations (later coefficients) and reconstructions
of the current set are kept in small buffers (``A``, ``A_model``, ``X_model``). Names are the paper's letters; ``j`` is
a hidden unit, ``f`` the features of a block, ``s`` the vectors of a tile, ``y`` a class.

Longer than most modules: both kernels are built from the same functions, and an epoch is a single kernel.
"""

from __future__ import annotations

import triton
import triton.language as tl

from setrbm import draws

# Arguments that vary between data sets: specializing on them would cost seconds of compilation for each.
SIZES = ("order_stride", "room", "n_hidden", "n_features", "n_classes")
_GOLDEN64: tl.constexpr = tl.constexpr(draws.GOLDEN64)
_MIX64_A: tl.constexpr = tl.constexpr(draws.MIX64_A)
_MIX64_B: tl.constexpr = tl.constexpr(draws.MIX64_B)
_GOLDEN32: tl.constexpr = tl.constexpr(draws.GOLDEN32)
_MIX32_A: tl.constexpr = tl.constexpr(draws.MIX32_A)
_MIX32_B: tl.constexpr = tl.constexpr(draws.MIX32_B)
_HOLDER: tl.constexpr = tl.constexpr(draws.HOLDER)
_HIDDEN: tl.constexpr = tl.constexpr(draws.HIDDEN)
_INPUT: tl.constexpr = tl.constexpr(draws.INPUT)
_ANGLE: tl.constexpr = tl.constexpr(draws.INPUT_ANGLE)
_TARGET: tl.constexpr = tl.constexpr(draws.TARGET)


@triton.jit
def _softplus(v):
    return tl.maximum(v, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(v)))


@triton.jit
def _sigmoid(v):
    return 1.0 / (1.0 + tl.exp(-v))


@triton.jit
def _mix64(z):
    z = (z ^ (z >> 30)) * tl.full([], _MIX64_A, tl.uint64)
    z = (z ^ (z >> 27)) * tl.full([], _MIX64_B, tl.uint64)
    return z ^ (z >> 31)


@triton.jit
def _mix32(z):
    z = (z ^ (z >> 16)) * tl.full([], _MIX32_A, tl.uint32)
    z = (z ^ (z >> 15)) * tl.full([], _MIX32_B, tl.uint32)
    return z ^ (z >> 16)


@triton.jit
def _key(key, field):
    """Add one field to a key, like ``draws.keys``."""
    return _mix64(key + tl.full([], _GOLDEN64, tl.uint64) * (field.to(tl.uint64) + 1))


@triton.jit
def _uniform(key, unit, dtype: tl.constexpr):
    """Return uniform numbers in (0, 1) for keys and units, like ``draws.uniform``."""
    low, high = key.to(tl.uint32), (key >> 32).to(tl.uint32)
    bits = _mix32(_mix32(unit.to(tl.uint32) * tl.full([], _GOLDEN32, tl.uint32) + low) ^ high)
    return (2.0 * (bits >> 9).to(dtype) + 1.0) * 5.9604644775390625e-08


@triton.jit
def _value(a, OR: tl.constexpr):
    """Return the value to pool: the activation or, under "or", its log sigmoid."""
    return -_softplus(-a) if OR else a


@triton.jit
def _parts(x):
    """Split float32 numbers into the leading bits that tensor cores use, and the rest."""
    high = (x.to(tl.uint32, bitcast=True) & tl.full([], 0xFFFFE000, tl.uint32)).to(tl.float32, bitcast=True)
    return high, x - high


@triton.jit
def _product(left, right, sum, dtype: tl.constexpr, COARSE: tl.constexpr = False):
    """Return sum + left right with the precision of float32; COARSE if left is exact in its leading bits."""
    if dtype == tl.float64:
        total = tl.dot(left, right, acc=sum, input_precision="ieee", out_dtype=dtype)
    else:
        high, low = _parts(right)
        if COARSE:
            part = tl.dot(left, low, input_precision="tf32")
        else:
            left_high, left_low = _parts(left)
            part = tl.dot(left_low, high, input_precision="tf32")
            part = tl.dot(left_high, low, acc=part, input_precision="tf32")
            left = left_high
        part = tl.dot(left, high, acc=part, input_precision="tf32")
        # Added here, because tensor cores truncate their sums toward zero.
        total = sum + part
    return total


@triton.jit
def _activations(
    rows, W, c, s, n, j, dtype: tl.constexpr, HP: tl.constexpr, FP: tl.constexpr, T: tl.constexpr, B: tl.constexpr
):  # fmt: skip
    """Return c + W x for the vectors of a tile."""
    a = tl.zeros([T, HP], dtype) + c[None, :]
    for begin in range(0, FP, B):
        f = begin + tl.arange(0, B)
        x = tl.load(rows + s[:, None] * FP + f[None, :], mask=(s < n)[:, None], other=0.0)
        a = _product(x, tl.load(W + f[:, None] * HP + j[None, :]), a, dtype)
    return a


@triton.jit
def _soft_pool(A, n, j, dtype: tl.constexpr, HP: tl.constexpr, T: tl.constexpr, OR: tl.constexpr):
    """Return the log-sum-exp, over the vectors of a set, of the activations in A."""
    peak = tl.full([HP], float("-inf"), dtype)
    total = tl.zeros([HP], dtype)
    for begin in range(0, n, T):
        s = begin + tl.arange(0, T)
        a = tl.load(A + s[:, None] * HP + j[None, :], mask=(s < n)[:, None], other=float("-inf"))
        v = _value(a, OR)
        higher = tl.maximum(peak, tl.max(v, axis=0))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(v - higher[None, :]), axis=0)
        peak = higher
    return peak + tl.log(total)


@triton.jit
def _cost(n, dtype: tl.constexpr, MEAN: tl.constexpr):
    """Return how much lower the mean pool of n vectors is than the soft pool; 0 unless the pooling is mean."""
    size = n.to(dtype)
    return tl.log(size) if MEAN else tl.zeros_like(size)


@triton.jit
def _draw_holder(A, n, j, pool, on, u, HP: tl.constexpr, T: tl.constexpr, OR: tl.constexpr):
    """Draw the vector that holds each unit: the first at which the cumulative sum of g exceeds u, or -1."""
    nobody = 2147483647
    holder = tl.full([HP], nobody, tl.int32)
    reached = tl.zeros_like(on)
    for begin in range(0, n, T):
        s = begin + tl.arange(0, T)
        here = (s < n)[:, None]
        a = tl.load(A + s[:, None] * HP + j[None, :], mask=here, other=0.0)
        g = tl.where(here, tl.exp(_value(a, OR) - pool[None, :]) * on[None, :], 0.0)
        passed = here & (u[None, :] < reached[None, :] + tl.cumsum(g, axis=0))
        holder = tl.minimum(holder, tl.min(tl.where(passed, s[:, None], nobody), axis=0))
        reached += tl.sum(g, axis=0)
    return tl.where(holder == nobody, -1, holder)


@triton.jit
def _logits(pool, U, d, in_j, in_y):
    """Return -F of every class, and the arguments of its softplus terms."""
    o = pool[:, None] + U
    terms = tl.where(in_j[:, None], _softplus(o), 0.0)
    return tl.where(in_y, d + tl.sum(terms, axis=0), float("-inf")), o


@triton.jit
def _log_posterior(logits):
    top = tl.max(logits, axis=0)
    return logits - top - tl.log(tl.sum(tl.exp(logits - top), axis=0))


@triton.jit
def _column(U, chosen):
    """Return the column of U of one class."""
    return tl.sum(tl.where(chosen[None, :], U, 0.0), axis=1)


@triton.jit
def _draw_inputs(drive, key, angle_key, s, f, dtype: tl.constexpr, GAUSSIAN: tl.constexpr):
    """Draw the vectors of a tile given their input from the hidden units."""
    u = _uniform(_key(key, s)[:, None], f[None, :], dtype)
    if GAUSSIAN:
        turn = _uniform(_key(angle_key, s)[:, None], f[None, :], dtype)
        x = drive + tl.sqrt(-2.0 * tl.log(u)) * tl.cos(6.283185307179586 * turn)
    else:
        x = (u < _sigmoid(drive)).to(dtype)
    return x


@triton.jit
def _reconstruct(
    source, A_model, X_model, W, b_at, c, holder, past, now, n, n_features, j, dtype: tl.constexpr, HP: tl.constexpr,
    FP: tl.constexpr, T: tl.constexpr, B: tl.constexpr, OR: tl.constexpr, GAUSSIAN: tl.constexpr,
):  # fmt: skip
    """Draw the hidden units of every vector, then new vectors from them, and store those with their activations."""
    zero = tl.full([], 0, tl.int32)
    hidden_key, input_key, angle_key = _key(past, zero + _HIDDEN), _key(now, zero + _INPUT), _key(now, zero + _ANGLE)
    for start in range(0, n, T):
        s = start + tl.arange(0, T)
        here = (s < n)[:, None]
        h = holder[None, :] == s[:, None]
        if OR:
            a = tl.load(source + s[:, None] * HP + j[None, :], mask=here, other=0.0)
            h = h | (_uniform(_key(hidden_key, s)[:, None], j[None, :], dtype) < _sigmoid(a))
        a = tl.zeros([T, HP], dtype) + c[None, :]
        for begin in range(0, FP, B):
            f = begin + tl.arange(0, B)
            block = tl.load(W + f[:, None] * HP + j[None, :])
            drive = _product(
                h.to(dtype), tl.trans(block), tl.zeros([T, B], dtype) + tl.load(b_at + f)[None, :], dtype, True
            )
            x = _draw_inputs(drive, input_key, angle_key, s, f, dtype, GAUSSIAN)
            x = tl.where((f < n_features)[None, :], x, 0.0)
            tl.store(X_model + s[:, None] * FP + f[None, :], x, mask=here)
            a = _product(x, block, a, dtype, not GAUSSIAN)
        tl.debug_barrier()
        tl.store(A_model + s[:, None] * HP + j[None, :], a, mask=here)


@triton.jit
def _hidden(a, pool, on, OR: tl.constexpr):
    """Return p(h = 1 | X, y) for the vectors of a tile."""
    g = tl.exp(_value(a, OR) - pool[None, :]) * on[None, :]
    return g + (1.0 - g) * _sigmoid(a) if OR else g


@triton.jit(do_not_specialize=SIZES)
def train_epoch(
    W_all, U_all, b_all, c_all, d_all, X, offsets, labels, weights, numbers, orders, order_of, lengths, active,
    seeds, rates, generative_rates, shrinks, losses, A_all, A_model_all, X_model_all,
    epoch, order_stride, room, n_hidden, n_features, n_classes,
    HP: tl.constexpr, FP: tl.constexpr, CP: tl.constexpr, T: tl.constexpr, B: tl.constexpr, K: tl.constexpr,
    OR: tl.constexpr, HARD: tl.constexpr, MEAN: tl.constexpr, DISCRIMINATIVE: tl.constexpr, GENERATIVE: tl.constexpr,
    GAUSSIAN: tl.constexpr,
):  # fmt: skip
    """Train each active model on the sets of its order, one set per step.

    One long function, because what is loaded and drawn stays in registers from one part of a step to the next.
    """
    program = tl.program_id(0)
    m = tl.load(active + program).to(tl.int64)
    j, y, t_ = tl.arange(0, HP), tl.arange(0, CP), tl.arange(0, T)
    in_j, in_y = j < n_hidden, y < n_classes
    W, b_at = W_all + m * FP * HP, b_all + m * FP
    U_at = U_all + m * HP * CP + j[:, None] * CP + y[None, :]
    U, c, d = tl.load(U_at), tl.load(c_all + m * HP + j), tl.load(d_all + m * CP + y)
    dtype: tl.constexpr = U.dtype
    rate, generative_rate, shrink = tl.load(rates + m), tl.load(generative_rates + m), tl.load(shrinks + m)
    zero = tl.full([], 0, tl.int32)
    seed_key = _key(_mix64(tl.load(seeds + m).to(tl.uint64) + tl.full([], _GOLDEN64, tl.uint64)), tl.load(epoch))
    A = A_all + program.to(tl.int64) * room * HP
    A_model = A_model_all + program.to(tl.int64) * room * HP
    X_model = X_model_all + program.to(tl.int64) * room * FP
    which = tl.load(order_of + m)
    order = orders + which.to(tl.int64) * order_stride
    loss = tl.zeros([], dtype)

    for k in range(tl.load(lengths + which)):
        number = tl.load(order + k)
        start = tl.load(offsets + number)
        n = (tl.load(offsets + number + 1) - start).to(tl.int32)
        rows = X + start * FP
        label, weight = tl.load(labels + number), tl.load(weights + number)
        is_label = y == label

        # Activations of the vectors; the first one wins in case of ties.
        best, winner = tl.full([HP], float("-inf"), dtype), tl.zeros([HP], tl.int32)
        for begin in range(0, n, T):
            s = begin + t_
            here = (s < n)[:, None]
            a = _activations(rows, W, c, s, n, j, dtype, HP, FP, T, B)
            if HARD:
                seen = tl.where(here, a, float("-inf"))
                highest = tl.max(seen, axis=0)
                winner = tl.where(highest > best, begin + tl.argmax(seen, axis=0), winner)
                best = tl.maximum(best, highest)
            if GENERATIVE or not HARD:
                tl.store(A + s[:, None] * HP + j[None, :], a, mask=here)
        if GENERATIVE or not HARD:
            tl.debug_barrier()
            soft_pool = _soft_pool(A, n, j, dtype, HP, T, OR)
        # Shares are relative to the soft pool; the posterior and the hidden units see the mean one.
        cost = _cost(n, dtype, MEAN)
        pool = _value(best, OR) if HARD else soft_pool - cost

        # The posterior and its derivative with respect to the pool.
        logits, o = _logits(pool, U, d, in_j, in_y)
        log_p = _log_posterior(logits)
        loss -= weight * tl.sum(tl.where(is_label, log_p, 0.0), axis=0)
        delta = weight * (tl.exp(log_p) - is_label.to(dtype))
        part = tl.where(in_j[:, None], _sigmoid(o), 0.0) * delta[None, :]
        moved = rate * tl.sum(part, axis=1)
        if HARD and OR:
            moved = moved * _sigmoid(-best)

        if GENERATIVE:
            # Contrastive divergence: K steps of a Gibbs chain from the data.
            chain = _key(seed_key, tl.load(numbers + number))
            on = _sigmoid(soft_pool - cost + _column(U, is_label))
            draw = _uniform(_key(_key(_key(chain, zero), zero + _HOLDER), zero), j, dtype)
            holder = _draw_holder(A, n, j, soft_pool, on, draw, HP, T, OR)
            for step in tl.static_range(1, K + 1):
                past, now = _key(chain, zero + (step - 1)), _key(chain, zero + step)
                source = A if step == 1 else A_model
                _reconstruct(
                    source, A_model, X_model, W, b_at, c, holder, past, now, n, n_features, j, dtype, HP, FP, T, B, OR,
                    GAUSSIAN,
                )  # fmt: skip
                seen_by_y = tl.sum(tl.where(((holder >= 0) & in_j)[:, None], U, 0.0), axis=0)
                p_y = tl.exp(_log_posterior(tl.where(in_y, d + seen_by_y, float("-inf"))))
                u_y = tl.max(_uniform(_key(_key(now, zero + _TARGET), zero), y * 0, dtype), axis=0)
                passed = tl.sum(((u_y >= tl.cumsum(p_y, axis=0)) & in_y).to(tl.int32), axis=0)
                is_model_label = y == tl.minimum(passed, n_classes - 1)
                tl.debug_barrier()
                model_pool = _soft_pool(A_model, n, j, dtype, HP, T, OR)
                on_model = _sigmoid(model_pool - cost + _column(U, is_model_label))
                if step < K:
                    draw = _uniform(_key(_key(now, zero + _HOLDER), zero), j, dtype)
                    holder = _draw_holder(A_model, n, j, model_pool, on_model, draw, HP, T, OR)

        # The coefficient of each vector in the step of each unit replaces its activation.
        pull = generative_rate * weight
        if GENERATIVE or not HARD:
            for begin in range(0, n, T):
                s = begin + t_
                here = (s < n)[:, None]
                at = A + s[:, None] * HP + j[None, :]
                a = tl.load(at, mask=here, other=0.0)
                coefficient = tl.zeros([T, HP], dtype)
                if DISCRIMINATIVE:
                    if HARD:
                        slope = (winner[None, :] == s[:, None]).to(dtype)
                    else:
                        slope = tl.exp(_value(a, OR) - soft_pool[None, :])
                        if OR:
                            slope = slope * _sigmoid(-a)
                    coefficient -= moved[None, :] * slope
                if GENERATIVE:
                    coefficient += pull * _hidden(a, soft_pool, on, OR)
                    at_model = A_model + s[:, None] * HP + j[None, :]
                    a = tl.load(at_model, mask=here, other=0.0)
                    back = tl.where(here & in_j[None, :], -pull * _hidden(a, model_pool, on_model, OR), 0.0)
                    c += tl.sum(back, axis=0)
                    tl.store(at_model, back, mask=here)
                coefficient = tl.where(here & in_j[None, :], coefficient, 0.0)
                c += tl.sum(coefficient, axis=0)
                tl.store(at, coefficient, mask=here)
        else:
            c -= moved
        tl.debug_barrier()

        # Update W and b, then U and d.
        for first in range(0, FP, B):
            f = first + tl.arange(0, B)
            W_at = W + f[:, None] * HP + j[None, :]
            block = tl.load(W_at) * shrink
            if GENERATIVE:
                b = tl.load(b_at + f)
            for begin in range(0, n, T):
                s = begin + t_
                here = (s < n)[:, None]
                x = tl.load(rows + s[:, None] * FP + f[None, :], mask=here, other=0.0)
                if GENERATIVE or not HARD:
                    coefficient = tl.load(A + s[:, None] * HP + j[None, :], mask=here, other=0.0)
                else:
                    coefficient = tl.where(winner[None, :] == s[:, None], -moved[None, :], 0.0)
                block = _product(tl.trans(x), coefficient, block, dtype)
                if GENERATIVE:
                    x_model = tl.load(X_model + s[:, None] * FP + f[None, :], mask=here, other=0.0)
                    coefficient = tl.load(A_model + s[:, None] * HP + j[None, :], mask=here, other=0.0)
                    block = _product(tl.trans(x_model), coefficient, block, dtype)
                    b += pull * tl.sum(x - x_model, axis=0)
            tl.store(W_at, block)
            if GENERATIVE:
                tl.store(b_at + f, b)
        U = U * shrink
        if DISCRIMINATIVE:
            U -= rate * part
            d -= rate * delta
        if GENERATIVE:
            is_y, is_model_y = is_label.to(dtype), is_model_label.to(dtype)
            U += pull * (on[:, None] * is_y[None, :] - on_model[:, None] * is_model_y[None, :])
            d += pull * (is_y - is_model_y)
        tl.debug_barrier()

    tl.store(U_at, tl.where(in_j[:, None] & in_y[None, :], U, 0.0))
    tl.store(c_all + m * HP + j, c)
    tl.store(d_all + m * CP + y, tl.where(in_y, d, 0.0))
    tl.store(losses + m, loss)


@triton.jit(do_not_specialize=SIZES)
def score_sets(
    W_all, U_all, c_all, d_all, X, offsets, labels, weights, orders, order_of, lengths, active, scores, A_all,
    order_stride, room, n_hidden, n_features, n_classes,
    HP: tl.constexpr, FP: tl.constexpr, CP: tl.constexpr, T: tl.constexpr, B: tl.constexpr, OR: tl.constexpr,
    HARD: tl.constexpr, MEAN: tl.constexpr,
):  # fmt: skip
    """Sum the weighted losses and errors over the sets of each active model's list."""
    program = tl.program_id(0)
    m = tl.load(active + program).to(tl.int64)
    j, y, t_ = tl.arange(0, HP), tl.arange(0, CP), tl.arange(0, T)
    in_j, in_y = j < n_hidden, y < n_classes
    U = tl.load(U_all + m * HP * CP + j[:, None] * CP + y[None, :])
    c, d = tl.load(c_all + m * HP + j), tl.load(d_all + m * CP + y)
    dtype: tl.constexpr = U.dtype
    A = A_all + program.to(tl.int64) * room * HP
    which = tl.load(order_of + m)
    order = orders + which.to(tl.int64) * order_stride
    loss, error = tl.zeros([], dtype), tl.zeros([], dtype)
    for k in range(tl.load(lengths + which)):
        number = tl.load(order + k)
        start = tl.load(offsets + number)
        n = (tl.load(offsets + number + 1) - start).to(tl.int32)
        best = tl.full([HP], float("-inf"), dtype)
        for begin in range(0, n, T):
            s = begin + t_
            here = (s < n)[:, None]
            a = _activations(X + start * FP, W_all + m * FP * HP, c, s, n, j, dtype, HP, FP, T, B)
            best = tl.maximum(best, tl.max(tl.where(here, a, float("-inf")), axis=0))
            if not HARD:
                tl.store(A + s[:, None] * HP + j[None, :], a, mask=here)
        if HARD:
            pool = _value(best, OR)
        else:
            tl.debug_barrier()
            pool = _soft_pool(A, n, j, dtype, HP, T, OR) - _cost(n, dtype, MEAN)
            tl.debug_barrier()
        logits, _ = _logits(pool, U, d, in_j, in_y)
        log_p = _log_posterior(logits)
        label, weight = tl.load(labels + number), tl.load(weights + number)
        loss -= weight * tl.sum(tl.where(y == label, log_p, 0.0), axis=0)
        error += weight * (tl.argmax(log_p, axis=0) != label).to(dtype)
    tl.store(scores + 2 * m, loss)
    tl.store(scores + 2 * m + 1, error)
