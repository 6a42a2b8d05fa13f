r"""Max-out classifiers: the vector with the highest response decides for its set. Two classes only.

With :math:`a_j = c_j + W_j \cdot x`, the logits of a vector are

=====  ==========================================================  =====================================
unit   logit of class y                                            paper
=====  ==========================================================  =====================================
rbm    :math:`d_y + \sum_j \mathrm{softplus}(a_j + U_{jy})`        ClassRBM-maxOut
mlp    :math:`d_y + \sum_j \mathrm{sigm}(a_j)\, U_{jy}`            MLP-maxOut
logit  :math:`a_1` for the second class, 0 for the first           Logit-maxOut (one hidden unit, no U)
=====  ==========================================================  =====================================

Its response is the logit of the second class minus that of the first. :math:`p(y \mid X)` is the softmax of the logits
of the vector with the highest response. Equations (36) and (37) of ``docs/model.md``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from setrbm._types import Array, Integers, Unit
from setrbm.energy import Params, activations, free_energy_of_pool, log_posterior, pool_gradient
from setrbm.pooling.pools import hard_pool


def unit_logits(a: Array, params: Params, unit: Unit) -> Array:
    """Return the logits of vectors, of shape (n_vectors, 2), from their activations."""
    if unit == "rbm":
        return -free_energy_of_pool(a, params)
    if unit == "mlp":
        return np.asarray(params.d + expit(a) @ params.U)
    return np.column_stack([np.zeros(len(a)), a[:, 0]])


def unit_gradient(a: Array, params: Params, unit: Unit, d_logits: Array) -> tuple[Array, Array, Array]:
    """Backpropagate a derivative with respect to the logits to the activations, to U and to d."""
    if unit == "rbm":
        return *pool_gradient(a, params, d_logits), d_logits.sum(axis=0)
    if unit == "mlp":
        on = expit(a)
        return on * (1.0 - on) * (d_logits @ params.U.T), on.T @ d_logits, d_logits.sum(axis=0)
    return d_logits[:, 1:], np.zeros_like(params.U), np.zeros_like(params.d)


def choose(logits: Array, offsets: Integers) -> Integers:
    """Return the row of the vector with the highest response in each set; ties go to the first."""
    _, winner = hard_pool(logits[:, 1:] - logits[:, :1], offsets)
    return winner[:, 0]


def chosen_activations(X: Any, offsets: Integers, params: Params, unit: Unit) -> tuple[Integers, Array, Array]:
    """Return the row with the highest response in each set, its activations and its logits."""
    a = activations(X, params)
    logits = unit_logits(a, params, unit)
    rows = choose(logits, offsets)
    return rows, a[rows], logits[rows]


def loss_and_gradient(
    X: Any, offsets: Integers, y: Integers, weight: Array, params: Params, unit: Unit
) -> tuple[Array, Params]:
    r"""Return each set's :math:`-\log p(y \mid X)` and the gradient of their weighted sum.

    Only the vector with the highest response contributes.
    """
    rows, a, logits = chosen_activations(X, offsets, params, unit)
    log_p = log_posterior(-logits)
    places = np.arange(len(y))
    delta = np.exp(log_p)
    delta[places, y] -= 1.0
    delta *= weight[:, np.newaxis]
    d_a, d_U, d_d = unit_gradient(a, params, unit, delta)
    d_W = np.asarray((X[rows].T @ d_a).T)
    return -log_p[places, y], Params(W=d_W, U=d_U, b=np.zeros_like(params.b), c=d_a.sum(axis=0), d=d_d)
