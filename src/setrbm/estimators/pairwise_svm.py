"""PairwiseSVM and Calibration: a fitted support vector classifier as plain arrays, only what prediction needs.

The sums are those of scikit-learn's SVC and LogisticRegression. Having them here lets a model file hold a few arrays
instead of private attributes of other libraries.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from setrbm._types import Array, Floats, Integers


@dataclass(frozen=True)
class PairwiseSVM:
    """A linear function of the kernel for each pair of classes, positive for the first class of the pair.

    Parameters
    ----------
    coef : ndarray of shape (n_sets, n_pairs)
        One row per set that prediction needs. Pairs are in the order (0, 1), (0, 2), ..., (1, 2), ...
    intercept : ndarray of shape (n_pairs,)
    """

    coef: Floats
    intercept: Floats

    @classmethod
    def of(cls, svc: Any, projection: Floats | None = None) -> PairwiseSVM:
        """Return the decisions of a fitted SVC.

        Without a projection, rows of the kernel hold its support sets. With one, they hold all training sets, and are
        multiplied by the projection first; the product is computed once, here.
        """
        coef, intercept = pairwise_coefficients(svc), np.array(svc.intercept_, dtype=np.float64)
        if len(svc.classes_) == 2:
            # SVC has the opposite sign for two classes.
            coef, intercept = -coef, -intercept
        if projection is not None:
            coef = projection[:, svc.support_] @ coef
        return cls(np.ascontiguousarray(coef), intercept)

    def pairwise(self, rows: Floats) -> Floats:
        """Return the decision of each pair of classes, of shape (n_rows, n_pairs)."""
        return rows @ self.coef + self.intercept

    def decisions(self, rows: Floats, n_classes: int) -> Floats:
        """Return (n_rows,) for two classes, positive for the second; otherwise (n_rows, n_classes).

        With more classes it is the number of pairs that a class wins plus its summed decisions, squeezed to less than
        a third so that they only decide between classes with equal numbers.
        """
        pairwise = self.pairwise(rows)
        if n_classes == 2:
            return -pairwise[:, 0]
        votes, confidence = np.zeros((2, len(rows), n_classes))
        for (i, j), decision in zip(combinations(range(n_classes), 2), pairwise.T, strict=True):
            votes[:, i] += decision >= 0
            votes[:, j] += decision < 0
            confidence[:, i] += decision
            confidence[:, j] -= decision
        return np.asarray(votes + confidence / (3 * (np.abs(confidence) + 1)))

    def winners(self, rows: Floats, n_classes: int) -> Integers:
        """Return the code of the class that wins most pairs; the first of those that win equally many."""
        votes = np.zeros((len(rows), n_classes))
        for (i, j), decision in zip(combinations(range(n_classes), 2), self.pairwise(rows).T, strict=True):
            votes[:, i] += decision > 0
            votes[:, j] += decision <= 0
        return np.asarray(votes.argmax(axis=1))


def pairwise_coefficients(svc: Any) -> Floats:
    """Return the coefficient of each support set for each pair of classes, of shape (n_support, n_pairs).

    ``dual_coef_`` has one row fewer than classes: for a support set of class i, the row j - 1 is for the pair with
    class j if j > i, and row j if j < i.
    """
    dual = np.asarray(svc.dual_coef_, dtype=np.float64)
    own = np.repeat(np.arange(len(svc.n_support_)), svc.n_support_)
    pairs = combinations(range(len(svc.n_support_)), 2)
    return np.stack([np.where(own == i, dual[j - 1], 0.0) + np.where(own == j, dual[i], 0.0) for i, j in pairs], axis=1)


@dataclass(frozen=True)
class Calibration:
    """Logistic regression on decisions: ``coef`` is (1, 1) for two classes, otherwise (n_classes, n_classes)."""

    coef: Floats
    intercept: Floats

    @classmethod
    def of(cls, regression: Any) -> Calibration:
        """Return the probabilities of a fitted LogisticRegression."""
        return cls(np.ascontiguousarray(regression.coef_, np.float64), np.array(regression.intercept_, np.float64))

    def probabilities(self, decisions: Array) -> Floats:
        """Return the probability of each class, of shape (n_rows, n_classes)."""
        scores = as_columns(decisions) @ self.coef.T + self.intercept
        if scores.shape[1] > 1:
            return np.asarray(softmax(scores, axis=1))
        second = expit(scores)
        return np.hstack([1.0 - second, second])


def as_columns(decisions: Array) -> Array:
    """Return decisions as a matrix with one row per set."""
    return decisions[:, np.newaxis] if decisions.ndim == 1 else decisions
