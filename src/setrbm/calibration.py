"""Calibration: the temperature that makes the probabilities of a fitted model as likely as possible on new sets."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from setrbm._types import Array, Floats, Integers
from setrbm.energy import log_posterior

# The temperatures that are considered.
LOWEST, HIGHEST = 0.05, 100.0


def fit_temperature(F: Array, y: Integers, weight: Floats) -> float:
    r"""Return the temperature T for which softmax(-F / T) predicts the labels of new sets best.

    It minimizes the weighted mean of :math:`-\sum_k t_k \log p_k`, where the true class has the target
    :math:`t_k = (n + 1) / (n + K)` and each of the others :math:`1 / (n + K)`, for n sets and K classes. Without this
    smoothing a model that is right on all sets would become certain.

    Parameters
    ----------
    F : ndarray of shape (n_sets, n_classes)
        Free energies of sets that the model did not learn from.
    y : ndarray of shape (n_sets,)
        Class codes.
    weight : ndarray of shape (n_sets,)

    Examples
    --------
    >>> F = np.array([[-4.0, 0.0], [0.0, -4.0], [-4.0, 0.0]])
    >>> fit_temperature(F, np.array([0, 1, 1]), np.ones(3)) > 1.0
    True
    """
    n, n_classes = F.shape
    target = np.full(F.shape, 1.0 / (n + n_classes))
    target[np.arange(n), y] = (n + 1.0) / (n + n_classes)
    target *= (weight / weight.sum())[:, np.newaxis]

    def loss(log_temperature: float) -> float:
        return -float((target * log_posterior(F / np.exp(log_temperature))).sum())

    # In 1 / T the loss is convex, so it has one minimum.
    best = minimize_scalar(loss, bounds=(np.log(LOWEST), np.log(HIGHEST)), method="bounded")
    return float(np.exp(best.x))
