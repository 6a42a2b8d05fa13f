"""Coverage, precision and recall of a classifier that may leave sets to a person.

A score says how sure a classifier is of each prediction; predictions whose score is above a threshold are accepted.
Of n sets, m are accepted and k of these are right. The *coverage* is m / n, the *precision* k / m, the *recall* k / n
(precision and recall are micro-averaged over the classes), and the *risk* 1 - k / m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length, column_or_1d

from setrbm._types import Floats

Sureness = Literal["probability", "margin"]


def sureness(estimator: Any, X: Any, kind: Sureness = "probability") -> tuple[npt.NDArray[Any], Floats]:
    """Return the predicted class of each set, and how sure a fitted classifier is of it.

    Parameters
    ----------
    estimator : classifier
    X : what the classifier predicts for
    kind : {"probability", "margin"}
        The probability of the predicted class, or how far it is ahead of the second class: the difference of their
        probabilities or, for a classifier without probabilities, of their decisions.

    Returns
    -------
    y_pred : ndarray of shape (n_sets,)
    scores : ndarray of shape (n_sets,)
    """
    if kind not in ("probability", "margin"):
        raise ValueError(f"sureness must be 'probability' or 'margin'. Got {kind!r}.")
    if hasattr(estimator, "predict_proba"):
        values = np.asarray(estimator.predict_proba(X))
    elif kind == "probability":
        raise ValueError(
            f"sureness 'probability' needs a classifier with predict_proba. {type(estimator).__name__} has none. Use "
            "'margin'."
        )
    else:
        decisions = np.asarray(estimator.decision_function(X))
        values = np.column_stack([-decisions, decisions]) / 2 if decisions.ndim == 1 else decisions
    ranked = np.sort(values, axis=1)
    scores = ranked[:, -1] if kind == "probability" else ranked[:, -1] - ranked[:, -2]
    return np.asarray(estimator.classes_)[values.argmax(axis=1)], scores


@dataclass(frozen=True)
class SelectiveCurve:
    """Coverage, precision and recall at every threshold, from the strictest to none.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Sets with a score above the threshold are accepted; the last threshold is -inf.
    coverage, precision, recall : ndarray of shape (n_thresholds,)
    """

    thresholds: Floats
    coverage: Floats
    precision: Floats
    recall: Floats

    @property
    def risk(self) -> Floats:
        """The part of the accepted predictions that is wrong, at every threshold."""
        return 1.0 - self.precision

    @property
    def area(self) -> float:
        """The area under precision against recall, as a sum of steps; at most the accuracy."""
        return float(np.sum(self.precision * np.diff(self.recall, prepend=0.0)))

    @property
    def precision_area(self) -> float:
        """The area under precision against coverage, as a sum of steps: the mean precision; 1 is the best."""
        return 1.0 - self.risk_area

    @property
    def risk_area(self) -> float:
        """The area under risk against coverage, as a sum of steps: the mean risk; 0 is the best."""
        return float(np.sum(self.risk * np.diff(self.coverage, prepend=0.0)))


def selective_curve(y_true: Any, y_pred: Any, scores: Any) -> SelectiveCurve:
    """Return coverage, precision and recall at every threshold of the scores."""
    y_true, y_pred, scores = column_or_1d(y_true), column_or_1d(y_pred), column_or_1d(scores)
    check_consistent_length(y_true, y_pred, scores)
    order = np.argsort(-scores, kind="stable")
    ranked, n_right = scores[order], np.cumsum((y_true == y_pred)[order])
    # Sets with equal scores are accepted together.
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))
    n, m, k = len(scores), last + 1, n_right[last]
    return SelectiveCurve(np.append(ranked[last[:-1] + 1], -np.inf), m / n, k / m, k / n)
