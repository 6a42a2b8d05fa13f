r"""Poolings: how the values of a set's vectors become one value per hidden unit, and the share of each vector in it.

With :math:`a_{sj} = c_j + W_j \cdot x_s` and :math:`v = a` (xor) or :math:`v = \log\mathrm{sigm}(a)` (or):

========  =====  ==========================================
name      pool   value
========  =====  ==========================================
XOR, OR   soft   :math:`\log\sum_s e^{v_{sj}}`
XOR*, OR* hard   :math:`\max_s v_{sj}`
not in    mean   :math:`\log\frac{1}{|X|}\sum_s e^{v_{sj}}`
the paper
========  =====  ==========================================

Equations (5) to (8) and (40) of ``docs/model.md``. ``setrbm.pooling`` says what else is known of each pooling.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.special import expit, log_expit

from setrbm._types import Array, Constraint, Integers
from setrbm.pooling import MIXED, POOLINGS

Value = Callable[[Array], Array]


def soft_pool(v: Array, offsets: Integers) -> tuple[Array, Array]:
    r"""Pool each set by log-sum-exp: at most one copy of a hidden unit is on.

    .. math:: \mathrm{pool}_{kj} = \log \sum_{s \in X_k} e^{v_{sj}}, \qquad
              \partial \mathrm{pool}_{kj} / \partial v_{sj} = e^{v_{sj} - \mathrm{pool}_{kj}}

    Parameters
    ----------
    v : ndarray of shape (n_vectors, n_hidden)
    offsets : ndarray of shape (n_sets + 1,)
        Set k consists of rows ``offsets[k]:offsets[k + 1]``; no set is empty.

    Returns
    -------
    pool : ndarray of shape (n_sets, n_hidden)
    share : ndarray of shape (n_vectors, n_hidden)
        The derivative: a softmax over each set.
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    # Factoring out the largest term prevents overflow and does not change the result.
    peak = np.maximum.reduceat(v, starts)
    scaled = np.exp(v - np.repeat(peak, sizes, axis=0))
    total = np.add.reduceat(scaled, starts)
    return peak + np.log(total), scaled / np.repeat(total, sizes, axis=0)


def hard_pool(v: Array, offsets: Integers) -> tuple[Array, Integers]:
    r"""Pool each set by its maximum; ties go to the first vector.

    .. math:: \mathrm{pool}_{kj} = \max_{s \in X_k} v_{sj}

    Returns
    -------
    pool : ndarray of shape (n_sets, n_hidden)
    winner : ndarray of shape (n_sets, n_hidden)
        The row of ``v`` that attains the maximum.
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    peak = np.maximum.reduceat(v, starts)
    rows = np.arange(len(v))[:, np.newaxis]
    candidates = np.where(v == np.repeat(peak, sizes, axis=0), rows, len(v))
    return peak, np.minimum.reduceat(candidates, starts)


def _log_sum_exp(a: Array, value: Value, offsets: Integers) -> tuple[Array, Array]:
    return soft_pool(value(a), offsets)


def _maximum(a: Array, value: Value, offsets: Integers) -> tuple[Array, Array]:
    # The maximum of a, not of log sigm(a): that is monotone too, but rounds to 0 for all large a.
    peak, winner = hard_pool(a, offsets)
    share = np.zeros_like(a)
    share[winner, np.arange(a.shape[1])] = 1.0
    return value(peak), share


# For each pooling: from activations, the function that gives their values, and offsets, the joined values of each set
# and the share of each vector, the derivative with respect to its value; and the joined value of a set in two parts.
JOIN_SETS = {"soft": _log_sum_exp, "hard": _maximum, "mean": _log_sum_exp}
JOIN = {"soft": np.logaddexp, "hard": np.maximum, "mean": np.logaddexp}


def values(a: Array, constraint: Constraint) -> Array:
    """Return the values of activations: a (xor) or log sigm(a) (or)."""
    return a if constraint == "xor" else np.asarray(log_expit(a))


def less_size_cost(joined: Array, sizes: Integers, pooling: str) -> Array:
    """Return the pools of sets of these sizes from their joined values, one row per set."""
    cost = POOLINGS[pooling].size_cost
    return joined - cost * np.log(sizes)[:, np.newaxis] if cost else joined


def pool_and_share(a: Array, offsets: Integers, constraint: Constraint, pooling: str) -> tuple[Array, Array]:
    """Return the pooled activations of each set and the share of each vector in them."""
    joined, share = JOIN_SETS[pooling](a, partial(values, constraint=constraint), offsets)
    return less_size_cost(joined, np.diff(offsets), pooling), share


def set_pool(a: Array, offsets: Integers, constraint: Constraint, pooling: str) -> tuple[Array, Array]:
    r"""Return the pooled activations of each set and their derivatives with respect to the activations.

    .. math:: \partial \mathrm{pool}_{kj} / \partial a_{sj} = \mathrm{share}_{sj} \cdot
              \begin{cases} 1 & \text{xor} \\ \mathrm{sigm}(-a_{sj}) & \text{or} \end{cases}

    where the share of each vector is a softmax (soft, mean) or one-hot (hard).
    """
    if pooling == "mixed":
        parts = zip(np.hsplit(a, len(MIXED)), MIXED, strict=True)
        pools, shares = zip(*(set_pool(part, offsets, constraint, kind) for part, kind in parts), strict=True)
        return np.hstack(pools), np.hstack(shares)
    pool, share = pool_and_share(a, offsets, constraint, pooling)
    return pool, share if constraint == "xor" else share * expit(-a)


def pools_without_each(v: Array, offsets: Integers, pooling: str) -> Array:
    """Return the pool of each set without each of its vectors; -inf for a set of one.

    The pools of the vectors before and after it are combined, since subtracting it from the whole pool would cancel.
    """
    if pooling == "mixed":
        parts = zip(np.hsplit(v, len(MIXED)), MIXED, strict=True)
        return np.hstack([pools_without_each(part, offsets, kind) for part, kind in parts])
    join, starts, sizes = JOIN[pooling], offsets[:-1], np.diff(offsets)
    before, after = np.full_like(v, -np.inf), np.full_like(v, -np.inf)
    for s in range(1, sizes.max()):
        rows = starts[sizes > s] + s
        before[rows] = join(before[rows - 1], v[rows - 1])
        rows = offsets[1:][sizes > s] - 1 - s
        after[rows] = join(after[rows + 1], v[rows + 1])
    # A set of one has no vectors left; its pool stays -inf.
    return less_size_cost(join(before, after), np.repeat(np.maximum(sizes - 1, 1), sizes), pooling)
