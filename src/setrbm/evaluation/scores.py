"""Scores of predictions: over all sets, in each fold and for each class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support, roc_auc_score

from setrbm._types import Array, Integers, Mask


@dataclass(frozen=True)
class Predictions:
    """Predictions for sets the model had not seen.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    truth : ndarray of shape (n_sets,)
        The true class codes.
    log_p : ndarray of shape (n_sets, n_classes)
    ends : list of int
        Where each fold of each repeat ends; empty for a fitted model.
    accepted : ndarray of bool of shape (n_sets,), optional
        Which sets a reject option accepts.
    """

    classes: Array
    truth: Integers
    log_p: Array
    ends: list[int]
    accepted: Mask | None = None

    @property
    def predicted(self) -> Integers:
        """The codes of the predicted classes."""
        return np.asarray(self.log_p.argmax(axis=1))

    @property
    def is_right(self) -> Mask:
        """Whether each set is classified correctly."""
        return np.asarray(self.predicted == self.truth)

    def folds(self) -> Iterator[Predictions]:
        """Yield the predictions of each fold."""
        for start, end in pairwise([0, *self.ends]):
            yield Predictions(self.classes, self.truth[start:end], self.log_p[start:end], [])


def all_scores(predictions: Predictions) -> dict[str, Any]:
    """Return the scores of all predictions and of each fold, those of each class, and the confusion matrix.

    Parameters
    ----------
    predictions : Predictions

    Returns
    -------
    dict
        What ``setrbm evaluate --json`` prints. Scores that are not defined are None, and ``not_defined`` says why.
        Of a reject option also the number, the share and the accuracy of the accepted sets.

    Examples
    --------
    >>> log_p = np.log([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    >>> scores = all_scores(Predictions(np.array(["no", "yes"]), np.array([0, 1, 1, 1]), log_p, []))
    >>> scores["accuracy"], scores["roc_auc"], scores["confusion"]
    (0.75, 1.0, [[1, 0], [1, 2]])
    """
    n, truth = len(predictions.truth), predictions.truth
    scores: dict[str, Any] = {
        "predictions": n,
        "right": int(predictions.is_right.sum()),
        "mean_negative_log_p": float(-predictions.log_p[np.arange(n), truth].mean()),
    }
    for name, score in (("accuracy", accuracy), ("balanced_accuracy", balanced_accuracy), ("roc_auc", roc_auc)):
        by_fold = [score(fold) for fold in predictions.folds()]
        scores |= {name: score(predictions), f"{name}_by_fold": by_fold, f"mean_{name}_of_folds": _mean(by_fold)}
    by_fold = scores["accuracy_by_fold"]
    codes = np.arange(len(predictions.classes))
    return scores | {
        "standard_deviation_of_folds": float(np.std(by_fold, ddof=1)) if by_fold else None,
        "not_defined": _why_not_defined(predictions),
        "classes": _class_scores(predictions),
        "confusion": confusion_matrix(truth, predictions.predicted, labels=codes).tolist(),
        **_accepted_scores(predictions),
    }


def _accepted_scores(predictions: Predictions) -> dict[str, Any]:
    """Return the scores of the accepted sets; none without a reject option."""
    if predictions.accepted is None:
        return {}
    right = predictions.is_right[predictions.accepted]
    return {
        "accepted": len(right),
        "accepted_right": int(right.sum()),
        "share_accepted": float(predictions.accepted.mean()),
        "accuracy_of_accepted": float(right.mean()) if len(right) else None,
    }


def _mean(values: list[float | None]) -> float | None:
    """Return the mean over folds; None if a value is missing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def accuracy(predictions: Predictions) -> float:
    """Return the fraction of sets classified correctly."""
    return float(predictions.is_right.mean())


def balanced_accuracy(predictions: Predictions) -> float:
    """Return the mean recall of the classes that occur."""
    right, truth = predictions.is_right, predictions.truth
    return float(np.mean([right[truth == code].mean() for code in np.unique(truth)]))


def roc_auc(predictions: Predictions) -> float | None:
    """Return the area under the ROC curve, of each class against the rest and averaged if there are more than two.

    It is None if a class does not occur.
    """
    truth, log_p, codes = predictions.truth, predictions.log_p, np.arange(len(predictions.classes))
    if len(np.unique(truth)) < len(codes):
        return None
    # Log-odds keep apart what probabilities close to 1 do not.
    odds = [log_p[:, code] - logsumexp(np.delete(log_p, code, axis=1), axis=1) for code in codes]
    chosen = codes[1:] if len(codes) == 2 else codes
    return float(np.mean([roc_auc_score(truth == code, odds[code]) for code in chosen]))


def _why_not_defined(predictions: Predictions) -> str | None:
    """Return which class does not occur, without which there is no ROC AUC."""
    for part in (predictions, *predictions.folds()):
        for code, name in enumerate(predictions.classes.tolist()):
            if not (part.truth == code).any():
                return f"there is no set of class {name!s}"
    return None


def _class_scores(predictions: Predictions) -> list[dict[str, Any]]:
    labels = predictions.classes.tolist()
    parts = precision_recall_fscore_support(
        predictions.truth, predictions.predicted, labels=range(len(labels)), zero_division=0.0
    )
    return [
        {"label": label, "sets": int(n), "precision": float(precision), "recall": float(recall), "f1": float(f1)}
        for label, precision, recall, f1, n in zip(labels, *parts, strict=True)
    ]
