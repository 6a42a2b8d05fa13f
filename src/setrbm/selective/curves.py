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
from sklearn.utils.validation import column_or_1d

from setrbm._types import Array, Floats
from setrbm.tools.text import count

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

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from setrbm.selective import sureness
    >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> y_pred, scores = sureness(model, [[1.4], [3.0]])
    >>> y_pred.tolist(), scores.round(2).tolist()
    (['a', 'b'], [0.69, 1.0])
    """
    check_sureness(kind)
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


def check_sureness(kind: Any) -> None:
    """Refuse a kind of sureness that does not exist."""
    if kind not in ("probability", "margin"):
        raise ValueError(f"sureness must be 'probability' or 'margin'. Got {kind!r}.")


@dataclass(frozen=True)
class SelectiveCurve:
    """Coverage, precision and recall at every threshold, from the strictest to none.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Sets with a score above the threshold are accepted; the last threshold is -inf.
    coverage, precision, recall : ndarray of shape (n_thresholds,)

    Examples
    --------
    >>> from setrbm.selective import selective_curve
    >>> curve = selective_curve([0, 1, 1], [0, 1, 0], [0.9, 0.8, 0.6])
    >>> round(curve.area, 3), round(curve.risk_area, 3)
    (0.667, 0.111)
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
    """Return coverage, precision and recall at every threshold of the scores.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_sets,)
        The true and the predicted classes.
    scores : array-like of shape (n_sets,)
        How sure each prediction is; see ``sureness``.

    Examples
    --------
    >>> from setrbm.selective import selective_curve
    >>> curve = selective_curve([0, 1, 1], [0, 1, 0], [0.9, 0.8, 0.6])
    >>> curve.thresholds.tolist(), curve.precision.round(2).tolist()
    ([0.8, 0.6, -inf], [1.0, 1.0, 0.67])
    """
    y_true, y_pred, scores = check_predictions(y_true, y_pred, scores)
    order = np.argsort(-scores, kind="stable")
    ranked, n_right = scores[order], np.cumsum((y_true == y_pred)[order])
    # Sets with equal scores are accepted together.
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))
    n, m, k = len(scores), last + 1, n_right[last]
    return SelectiveCurve(np.append(ranked[last[:-1] + 1], -np.inf), m / n, k / m, k / n)


def check_predictions(y_true: Any, y_pred: Any, scores: Any) -> tuple[Array, Array, Floats]:
    """Return labels, predictions and scores as arrays, checked: one of each per set."""
    y_true, y_pred, scores = column_or_1d(y_true), column_or_1d(y_pred), column_or_1d(scores)
    if not len(y_true) == len(y_pred) == len(scores):
        raise ValueError(
            "There must be one label, one prediction and one score for each set. Got "
            f"{count(len(y_true), 'label')}, {count(len(y_pred), 'prediction')} and {count(len(scores), 'score')}."
        )
    if not len(scores):
        raise ValueError("There must be at least one set. Got none.")
    return y_true, y_pred, as_scores(scores)


def as_scores(scores: Array) -> Floats:
    """Return scores as floats; refuse those that are not numbers."""
    if scores.dtype.kind not in "iuf":
        raise TypeError(f"Scores must be numbers. Got {scores.dtype}.")
    if (missing := np.flatnonzero(np.isnan(scores))).size:
        raise ValueError(
            f"Scores must be numbers. Got NaN for {missing.size} of {len(scores)} sets, the first at index "
            f"{missing[0]}."
        )
    return scores.astype(np.float64)
