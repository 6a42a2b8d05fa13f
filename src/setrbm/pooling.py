r"""Pooled activations of sets, and their derivatives.

With :math:`a_{sj} = c_j + W_j \cdot x_s` and :math:`v = a` (xor) or :math:`v = \log\mathrm{sigm}(a)` (or):

========  =====  ==========================================
name      pool   value
========  =====  ==========================================
XOR, OR   soft   :math:`\log\sum_s e^{v_{sj}}`
XOR*, OR* hard   :math:`\max_s v_{sj}`
not in    mean   :math:`\log\frac{1}{|X|}\sum_s e^{v_{sj}}`
the paper
========  =====  ==========================================

With ``mixed``, four fifths of the units have hard pooling, and the last fifth mean pooling.
Equations (5) to (8) and (40) of ``docs/model.md``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit

from setrbm._types import Array, Constraint, Integers, ModelPooling, Pooling

# The poolings of equal parts of the hidden units, in order, with pooling="mixed".
MIXED: tuple[Pooling, ...] = ("hard", "hard", "hard", "hard", "mean")


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


def log_sizes(offsets: Integers) -> Array:
    """Return the logarithm of the size of each set; shape (n_sets, 1)."""
    return np.log(np.diff(offsets))[:, np.newaxis]


def set_pool(a: Array, offsets: Integers, constraint: Constraint, pooling: ModelPooling) -> tuple[Array, Array]:
    r"""Return the pooled activations of each set and their derivatives with respect to the activations.

    .. math:: \partial \mathrm{pool}_{kj} / \partial a_{sj} = \mathrm{share}_{sj} \cdot
              \begin{cases} 1 & \text{xor} \\ \mathrm{sigm}(-a_{sj}) & \text{or} \end{cases}

    where the share of each vector is a softmax (soft, mean) or one-hot (hard).
    """
    if pooling == "mixed":
        parts = zip(np.hsplit(a, len(MIXED)), MIXED, strict=True)
        pools, shares = zip(*(set_pool(part, offsets, constraint, kind) for part, kind in parts), strict=True)
        return np.hstack(pools), np.hstack(shares)
    if pooling != "hard":
        pool, share = soft_pool(a if constraint == "xor" else log_expit(a), offsets)
        if pooling == "mean":
            pool = pool - log_sizes(offsets)
    else:
        # The maximum of a, not of log sigm(a): that is monotone too, but rounds to 0 for all large a.
        pool, winner = hard_pool(a, offsets)
        share = np.zeros_like(a)
        share[winner, np.arange(a.shape[1])] = 1.0
        if constraint == "or":
            pool = log_expit(pool)
    if constraint == "or":
        share = share * expit(-a)
    return pool, share
