"""Brute force: the models by summing over every allowed hidden state. Slow, and obviously right."""

from itertools import product

import numpy as np

from setrbm.energy import Joint, Params
from setrbm.pooling import POOLINGS as RECORDS

CONSTRAINTS = ["xor", "or"]
# The pool of the values of a set, from the definition.
DEFINITIONS = {
    "soft": lambda v: np.logaddexp.reduce(v, axis=0),
    "mean": lambda v: np.logaddexp.reduce(v, axis=0) - np.log(len(v)),
    "hard": lambda v: v.max(axis=0),
}
POOLINGS = list(RECORDS)
JOINTS = [
    Joint(constraint, name) for name, pooling in RECORDS.items() if pooling.has_joint for constraint in CONSTRAINTS
]


def random_params(rng, n_features, n_hidden, n_classes, scale=1.0):
    return Params(
        W=scale * rng.normal(size=(n_hidden, n_features)),
        U=scale * rng.normal(size=(n_hidden, n_classes)),
        b=scale * rng.normal(size=n_features),
        c=scale * rng.normal(size=n_hidden),
        d=scale * rng.normal(size=n_classes),
    )


# What a unit that is held costs, in logarithms of the size of the set, where there is a joint distribution.
SIZE_COSTS = {"soft": 0.0, "mean": 1.0}


def hidden_states(n_vectors, n_hidden, constraint):
    """Every (h, g) the constraint allows; under xor, g is h itself."""
    binary = [np.reshape(bits, (n_vectors, n_hidden)) for bits in product([0, 1], repeat=n_vectors * n_hidden)]
    for h in binary:
        for g in [h] if constraint == "xor" else binary:
            if (g.sum(axis=0) <= 1).all() and (h >= g).all():
                yield h, g


def energy(X, y, h, g, params, joint):
    """The energy as the paper prints it; Gaussian units have |x - b|^2 / 2 in place of -b.x.

    With mean pooling, every unit that is held costs log |X|.
    """
    alone = -(X @ params.b).sum() if joint.visible == "binary" else 0.5 * ((X - params.b) ** 2).sum()
    alone += SIZE_COSTS[joint.pooling] * np.log(len(X)) * g.sum()
    return -params.d[y] + alone - (h @ params.c).sum() - (h * (X @ params.W.T)).sum() - (g @ params.U[:, y]).sum()


def log_joint(X, params, joint):
    """log sum over hidden states of exp(-E), for every class."""
    states = list(hidden_states(len(X), len(params.c), joint.constraint))
    return np.array(
        [np.log(sum(np.exp(-energy(X, y, h, g, params, joint)) for h, g in states)) for y in range(len(params.d))]
    )


def hidden_marginals(X, y, params, joint):
    """p(h = 1 | X, y) and p(g = 1 | X, y)."""
    states = list(hidden_states(len(X), len(params.c), joint.constraint))
    weight = np.array([np.exp(-energy(X, y, h, g, params, joint)) for h, g in states])
    weight /= weight.sum()
    return sum(w * h for w, (h, _) in zip(weight, states, strict=True)), sum(
        w * g for w, (_, g) in zip(weight, states, strict=True)
    )


def visible_states(n_vectors, n_features):
    """Every binary set of this number of vectors."""
    for bits in product([0.0, 1.0], repeat=n_vectors * n_features):
        yield np.reshape(bits, (n_vectors, n_features))


def joint_distribution(n_vectors, params, joint):
    """p(X, y | size) over every binary X and every y, with the X in order."""
    states = list(visible_states(n_vectors, len(params.b)))
    logs = np.array([log_joint(X, params, joint) for X in states])
    p = np.exp(logs - logs.max())
    return states, p / p.sum()


def finite_differences(loss, params, step=1e-6):
    """The slope of a function of the parameters by each of them."""
    gradient = params.zeros()
    for letter in "WUbcd":
        array, slopes = getattr(params, letter), getattr(gradient, letter)
        for place in np.ndindex(array.shape):
            before = array[place]
            array[place] = before + step
            up = loss(params)
            array[place] = before - step
            down = loss(params)
            array[place] = before
            slopes[place] = (up - down) / (2 * step)
    return gradient
