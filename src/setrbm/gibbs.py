r"""Conditionals, block Gibbs sampling and contrastive-divergence statistics.

The state of a chain is a sample of the hidden units: which vector *holds* each unit (g; for xor also h) and, for or,
which units are on in each vector (h). Equations (15) to (22) of ``docs/model.md``. The hard variants have no joint
distribution: everything here is about the soft model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from setrbm import draws
from setrbm._types import Array, Integers
from setrbm.bags import offsets_of
from setrbm.draws import ChainDraws
from setrbm.energy import Joint, Params, activations
from setrbm.pooling.pools import pool_and_share

NOBODY = -1


@dataclass
class HiddenState:
    """A sample of the hidden units of a batch of sets.

    Attributes
    ----------
    holder : ndarray of shape (n_sets, n_hidden)
        The index within its set of the vector whose g is on, or ``NOBODY``.
    h : ndarray of shape (n_vectors, n_hidden)
        The units that are on: the held ones and, for or, others too.
    """

    holder: Integers
    h: Array

    def target_units(self) -> Array:
        """Return the units connected to the target, the sum of g over each set; shape (n_sets, n_hidden)."""
        return np.asarray(self.holder != NOBODY, dtype=np.float64)


def hidden_probabilities(X: Any, offsets: Integers, y: Integers, params: Params, joint: Joint) -> tuple[Array, Array]:
    r"""Return p(h = 1 | X, y) and p(g = 1 | X, y), each of shape (n_vectors, n_hidden).

    .. math:: \hat g_{sj} = \mathrm{softmax}_s(v_{sj})\; \mathrm{sigm}(\mathrm{pool}_j + U_{jy}), \qquad
              \hat h = \hat g \text{ (xor)}, \quad \hat h = \hat g + (1 - \hat g)\,\mathrm{sigm}(a) \text{ (or)}
    """
    a = activations(X, params)
    pool, share = pool_and_share(a, offsets, joint.constraint, joint.pooling)
    on = expit(pool + params.U[:, y].T)
    g = share * np.repeat(on, np.diff(offsets), axis=0)
    return (g, g) if joint.constraint == "xor" else (g + (1.0 - g) * expit(a), g)


def draw_holders(g: Array, offsets: Integers, u: Array) -> Integers:
    """Draw at most one vector per set and unit: the first where the cumulative sum of g exceeds u."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    holder = np.full(u.shape, NOBODY, dtype=np.intp)
    reached = np.zeros_like(u)
    for s in range(sizes.max()):
        long = np.flatnonzero(sizes > s)
        reached[long] += g[starts[long] + s]
        holder[long] = np.where((holder[long] == NOBODY) & (u[long] < reached[long]), s, holder[long])
    return holder


def sample_hidden(
    X: Any, offsets: Integers, y: Integers, params: Params, joint: Joint, chain: ChainDraws, step: int
) -> HiddenState:
    """Draw g given X and y and, for or, h given g and X."""
    n_hidden = len(params.c)
    _, g = hidden_probabilities(X, offsets, y, params, joint)
    holder = draw_holders(g, offsets, chain.per_set(step, draws.HOLDER, n_hidden))
    h = np.zeros_like(g)
    if joint.constraint == "or":
        h[:] = chain.per_vector(step, draws.HIDDEN, n_hidden) < expit(activations(X, params))
    sets, units = np.nonzero(holder != NOBODY)
    h[offsets[sets] + holder[sets, units], units] = 1.0
    return HiddenState(holder, h)


def input_means(h: Array, params: Params, joint: Joint) -> Array:
    """Return p(x = 1 | h) for binary inputs, the mean of x given h for Gaussian ones; shape (n_vectors, n_features)."""
    drive = params.b + h @ params.W
    return np.asarray(expit(drive)) if joint.visible == "binary" else drive


def target_probabilities(target_units: Array, params: Params) -> Array:
    """Return p(y | G) given the units connected to the target; shape (n_sets, n_classes)."""
    return np.asarray(softmax(params.d + target_units @ params.U, axis=1))


def sample_visible(
    state: HiddenState, params: Params, joint: Joint, chain: ChainDraws, step: int
) -> tuple[Array, Integers]:
    """Draw the vectors and the label given the hidden units."""
    mean = input_means(state.h, params, joint)
    if joint.visible == "binary":
        X = (chain.per_vector(step, draws.INPUT, len(params.b)) < mean).astype(np.float64)
    else:
        X = mean + chain.normal_per_vector(step, len(params.b))
    cumulative = np.cumsum(target_probabilities(state.target_units(), params), axis=1)
    passed = (chain.per_set(step, draws.TARGET, 1) >= cumulative).sum(axis=1)
    # The last sum may be below 1 because of rounding.
    return X, np.minimum(passed, len(params.d) - 1)


def statistics(X: Any, offsets: Integers, y: Integers, weight: Array, params: Params, joint: Joint) -> Params:
    r"""Return the weighted sum over sets of :math:`\mathrm{E}_{H \mid X, y}[-\partial E / \partial\theta]`."""
    h, g = hidden_probabilities(X, offsets, y, params, joint)
    per_vector = np.repeat(weight, np.diff(offsets))
    target = np.zeros((len(y), len(params.d)))
    target[np.arange(len(y)), y] = weight
    weighted_h = h * per_vector[:, np.newaxis]
    d_b = np.asarray(X.T @ per_vector)
    if joint.visible == "gaussian":
        d_b = d_b - per_vector.sum() * params.b
    return Params(
        W=np.asarray((X.T @ weighted_h).T),
        U=np.add.reduceat(g, offsets[:-1]).T @ target,
        b=d_b,
        c=weighted_h.sum(axis=0),
        d=target.sum(axis=0),
    )


def contrastive_divergence(
    X: Any,
    offsets: Integers,
    y: Integers,
    weight: Array,
    params: Params,
    joint: Joint,
    chain: ChainDraws,
    n_steps: int = 1,
    state: HiddenState | None = None,
    persistent: bool = False,
) -> tuple[Params, HiddenState]:
    r"""Return the contrastive-divergence gradient of :math:`-\log p(X, y)` and the last hidden state of the chain.

    Parameters
    ----------
    state : HiddenState, optional
        State of a persistent chain. If None, the chain starts at the data.
    persistent : bool
        Whether to draw the hidden units once more after the last step, to continue the chain later.
    """
    if state is None:
        state = sample_hidden(X, offsets, y, params, joint, chain, 0)
    for step in range(1, n_steps + 1):
        X_model, y_model = sample_visible(state, params, joint, chain, step)
        if step < n_steps or persistent:
            state = sample_hidden(X_model, offsets, y_model, params, joint, chain, step)
    gradient = statistics(X_model, offsets, y_model, weight, params, joint)
    gradient.add(-1.0, statistics(X, offsets, y, weight, params, joint))
    return gradient, state


def sample_sets(
    sizes: Integers, params: Params, joint: Joint, n_steps: int, seed: int
) -> tuple[Array, Integers, Integers]:
    """Run one block Gibbs chain per set for ``n_steps`` full steps; return the last vectors, offsets and labels."""
    offsets = offsets_of(sizes)
    chain = ChainDraws(seed, 0, np.arange(len(sizes)), sizes)
    X = np.zeros((offsets[-1], len(params.b)))
    y = (chain.per_set(0, draws.START, 1)[:, 0] * len(params.d)).astype(np.intp)
    for step in range(n_steps):
        state = sample_hidden(X, offsets, y, params, joint, chain, step)
        X, y = sample_visible(state, params, joint, chain, step)
    return X, offsets, y
