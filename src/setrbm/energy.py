r"""Energy, free energy, log-joint, posterior and gradient of the ClassSetRBMs.

A classifier needs only one function of the pooled activations (equations (9) and (10) of ``docs/model.md``):

.. math:: F(X, y) = -d_y - \sum_j \mathrm{softplus}(\mathrm{pool}_j(X) + U_{jy}), \qquad
          p(y \mid X) = \mathrm{softmax}_y(-F(X, y))

Functions take the flat matrix of vectors and the offsets, so one call handles any number of sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from setrbm._types import Array, Constraint, Integers, Visible
from setrbm.pooling import POOLINGS
from setrbm.pooling.pools import set_pool


class Joint(NamedTuple):
    """What defines the joint distribution of a set, its label and its hidden units, given the parameters.

    Attributes
    ----------
    constraint : {"xor", "or"}
    pooling : str
        One that has a joint distribution: with "mean", a unit that is held costs the logarithm of the size of the set.
    visible : {"binary", "gaussian"}
    """

    constraint: Constraint
    pooling: str = "soft"
    visible: Visible = "binary"


@dataclass
class Params:
    """The parameters of a ClassSetRBM, in the paper's letters.

    Attributes
    ----------
    W : ndarray of shape (n_hidden, n_features)
    U : ndarray of shape (n_hidden, n_classes)
    b : ndarray of shape (n_features,)
    c : ndarray of shape (n_hidden,)
    d : ndarray of shape (n_classes,)
    """

    W: Array
    U: Array
    b: Array
    c: Array
    d: Array

    def arrays(self) -> tuple[Array, ...]:
        """Return the five arrays: W, U, b, c, d."""
        return tuple(getattr(self, f.name) for f in fields(self))

    def copy(self) -> Params:
        """Return a deep copy."""
        return Params(*(array.copy() for array in self.arrays()))

    def astype(self, dtype: npt.DTypeLike) -> Params:
        """Return the parameters in this dtype; arrays that have it already are not copied."""
        return Params(*(array.astype(dtype, copy=False) for array in self.arrays()))

    def zeros(self) -> Params:
        """Return parameters of the same shapes, all zero."""
        return Params(*(np.zeros_like(array) for array in self.arrays()))

    def add(self, step: float, other: Params) -> None:
        """Add ``step`` times the other parameters, in place."""
        for mine, theirs in zip(self.arrays(), other.arrays(), strict=True):
            mine += step * theirs


def joined(several: Sequence[Params]) -> Params:
    """Return one model with all hidden units of several: its free energy is the sum of theirs."""
    if len(several) == 1:
        return several[0]
    W, U, b, c, d = zip(*(params.arrays() for params in several), strict=True)
    return Params(np.vstack(W), np.vstack(U), np.sum(b, axis=0), np.hstack(c), np.sum(d, axis=0))


def parted(params: Params, n: int) -> list[Params]:
    """Return n models with equal shares of the hidden units, whose free energies sum to that of the whole."""
    if n == 1:
        return [params]
    if len(params.c) % n:
        raise ValueError(f"The number of hidden units must be a multiple of {n}. Got {len(params.c)}.")
    units = zip(np.split(params.W, n), np.split(params.U, n), np.split(params.c, n), strict=True)
    nothing = np.zeros_like(params.b), np.zeros_like(params.d)
    biases = [(params.b, params.d), *[nothing] * (n - 1)]
    return [Params(W, U, b, c, d) for (W, U, c), (b, d) in zip(units, biases, strict=True)]


def activations(X: Any, params: Params) -> Array:
    r"""Return :math:`a_{sj} = c_j + W_j \cdot x_s`, for dense or sparse vectors."""
    return np.asarray(X @ params.W.T) + params.c


def energy(X: Any, y: int, h: Array, g: Array, params: Params, joint: Joint) -> float:
    r"""Return the energy of one set with its label and hidden units.

    .. math:: E = -d_y - \sum_s b \cdot x_s - \sum_s c \cdot h_s - \sum_s h_s \cdot W x_s - \sum_s g_s \cdot U_{\cdot y}
              \;\left(+ \log |X| \sum_{sj} g_{sj} \text{ for mean}\right)

    Parameters
    ----------
    h, g : ndarray of shape (n_vectors, n_hidden)
        Zeros and ones: each unit has at most one g that is on, and h >= g. For xor, h = g.
    """
    if (g.sum(axis=0) > 1).any() or (h < g).any() or (joint.constraint == "xor" and (h != g).any()):
        raise ValueError(f"h and g must satisfy {joint.constraint!r}: at most one g per unit, h >= g (xor: h = g).")
    seen_by_inputs = visible_term(X, params, joint.visible).sum() + (h * activations(X, params)).sum()
    cost = POOLINGS[joint.pooling].size_cost * np.log(len(h)) * g.sum()
    return float(-params.d[y] - seen_by_inputs - (g @ params.U[:, y]).sum() + cost)


def softplus(v: Array) -> Array:
    """Return log(1 + exp(v)), computed as max(v, 0) + log1p(exp(-abs(v))) to prevent overflow."""
    return np.maximum(v, 0.0) + np.log1p(np.exp(-np.abs(v)))


def free_energy_of_pool(pool: Array, params: Params) -> Array:
    """Return F, of shape (n_sets, n_classes), from the pooled activations."""
    F = np.tile(-params.d, (len(pool), 1))
    for y in range(len(params.d)):
        F[:, y] -= softplus(pool + params.U[:, y]).sum(axis=1)
    return F


def free_energy(X: Any, offsets: Integers, params: Params, constraint: Constraint, pooling: str) -> Array:
    """Return the paper's F, without the terms that do not depend on y; shape (n_sets, n_classes)."""
    pool, _ = set_pool(activations(X, params), offsets, constraint, pooling)
    return free_energy_of_pool(pool, params)


def log_posterior(F: Array) -> Array:
    """Return log p(y | X) from the free energies."""
    # Called often in training with small arrays: SciPy's log_softmax takes three times as long.
    with np.errstate(invalid="ignore"):
        below = -F - (-F).max(axis=1, keepdims=True)
        return np.asarray(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))


def visible_term(X: Any, params: Params, visible: Visible) -> Array:
    r"""Return the part of -E that depends on one vector only: b.x, or :math:`-\frac12|x-b|^2` for Gaussian units."""
    if visible == "binary":
        return np.asarray(X @ params.b)
    dense = X.toarray() if hasattr(X, "toarray") else X
    return np.asarray(-0.5 * ((dense - params.b) ** 2).sum(axis=1))


def log_joint(X: Any, offsets: Integers, params: Params, joint: Joint) -> Array:
    r"""Return the log of the sum of exp(-E) over all allowed hidden states; shape (n_sets, n_classes).

    This is log p(X, y) up to the constant log Z, which is the same for all sets of one size:

    .. math:: \log \sum_{H} e^{-E} = -F(X, y) + \sum_s b \cdot x_s
              \;\left(+ \sum_{sj} \mathrm{softplus}(a_{sj}) \text{ for or}\right)
    """
    a = activations(X, params)
    pool, _ = set_pool(a, offsets, joint.constraint, joint.pooling)
    alone = visible_term(X, params, joint.visible)
    if joint.constraint == "or":
        alone = alone + softplus(a).sum(axis=1)
    return np.add.reduceat(alone, offsets[:-1])[:, np.newaxis] - free_energy_of_pool(pool, params)


def pool_gradient(pool: Array, params: Params, d_logits: Array) -> tuple[Array, Array]:
    r"""Backpropagate a derivative with respect to the logits -F to the pool and to U.

    Returns
    -------
    d_pool : ndarray of shape (n_sets, n_hidden)
        :math:`\sum_y \delta_{ky}\, \mathrm{sigm}(\mathrm{pool}_{kj} + U_{jy})`
    d_U : ndarray of shape (n_hidden, n_classes)
    """
    d_pool, d_U = np.zeros_like(pool), np.zeros_like(params.U)
    for y in range(len(params.d)):
        part = d_logits[:, y, np.newaxis] * expit(pool + params.U[:, y])
        d_pool += part
        d_U[:, y] = part.sum(axis=0)
    return d_pool, d_U


def loss_and_gradient(
    X: Any,
    offsets: Integers,
    y: Integers,
    weight: Array,
    params: Params,
    constraint: Constraint,
    pooling: str,
) -> tuple[Array, Params]:
    r"""Return each set's :math:`-\log p(y \mid X)` and the gradient of their weighted sum.

    .. math:: \partial L / \partial a_{sj} = \partial \mathrm{pool}_j / \partial a_{sj}
              \sum_y (p_y - 1_{y = t})\, \mathrm{sigm}(\mathrm{pool}_j + U_{jy})

    Equations (11) to (14) of ``docs/model.md``.
    """
    pool, slope = set_pool(activations(X, params), offsets, constraint, pooling)
    log_p = log_posterior(free_energy_of_pool(pool, params))
    rows = np.arange(len(y))
    delta = np.exp(log_p)
    delta[rows, y] -= 1.0
    delta *= weight[:, np.newaxis]
    d_pool, d_U = pool_gradient(pool, params, delta)
    d_a = np.repeat(d_pool, np.diff(offsets), axis=0) * slope
    d_W = np.asarray((X.T @ d_a).T)
    gradient = Params(W=d_W, U=d_U, b=np.zeros_like(params.b), c=d_a.sum(axis=0), d=delta.sum(axis=0))
    return -log_p[rows, y], gradient
