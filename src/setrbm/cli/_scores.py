"""The scores that ``setrbm evaluate`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.cli._folds import Predictions


def scores(found: Predictions) -> dict[str, Any]:
    """Return the scores of all predictions and of each fold, those of each class, and the confusion matrix."""
    import numpy as np
    from sklearn.metrics import confusion_matrix

    predicted, codes = found.log_p.argmax(axis=1), np.arange(len(found.classes))
    document: dict[str, Any] = {
        "predictions": len(found.truth),
        "right": int((predicted == found.truth).sum()),
        "mean_negative_log_p": float(-found.log_p[np.arange(len(found.truth)), found.truth].mean()),
    }
    for name, score in (("accuracy", accuracy), ("balanced_accuracy", balanced_accuracy), ("roc_auc", roc_auc)):
        by_fold = [score(fold) for fold in found.folds()]
        document |= {name: score(found), f"{name}_by_fold": by_fold, f"mean_{name}_of_folds": _mean(by_fold)}
    by_fold = document["accuracy_by_fold"]
    return document | {
        "standard_deviation_of_folds": float(np.std(by_fold, ddof=1)) if by_fold else None,
        "not_defined": _why_not_defined(found),
        "classes": _class_scores(found.classes, found.truth, predicted),
        "confusion": confusion_matrix(found.truth, predicted, labels=codes).tolist(),
    }


def _mean(values: list[float | None]) -> float | None:
    """Return the mean over folds; None if a value is missing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def accuracy(found: Predictions) -> float:
    """Return the fraction of sets classified correctly."""
    return float((found.log_p.argmax(axis=1) == found.truth).mean())


def balanced_accuracy(found: Predictions) -> float:
    """Return the mean recall of the classes that occur."""
    import numpy as np

    right = found.log_p.argmax(axis=1) == found.truth
    return float(np.mean([right[found.truth == code].mean() for code in np.unique(found.truth)]))


def roc_auc(found: Predictions) -> float | None:
    """Return the area under the ROC curve, of each class against the rest and averaged if there are more than two.

    It is None if a class does not occur.
    """
    import numpy as np
    from scipy.special import logsumexp
    from sklearn.metrics import roc_auc_score

    codes = np.arange(len(found.classes))
    if len(np.unique(found.truth)) < len(codes):
        return None
    # Log-odds keep apart what probabilities close to 1 do not.
    odds = [found.log_p[:, code] - logsumexp(np.delete(found.log_p, code, axis=1), axis=1) for code in codes]
    chosen = codes[1:] if len(codes) == 2 else codes
    return float(np.mean([roc_auc_score(found.truth == code, odds[code]) for code in chosen]))


def _why_not_defined(found: Predictions) -> str | None:
    """Return which class does not occur, without which there is no ROC AUC."""
    for part in (found, *found.folds()):
        for code, name in enumerate(found.classes.tolist()):
            if not (part.truth == code).any():
                return f"there is no set of class {name!s}"
    return None


def _class_scores(classes: Array, truth: Array, predicted: Array) -> list[dict[str, Any]]:
    from sklearn.metrics import precision_recall_fscore_support

    parts = precision_recall_fscore_support(truth, predicted, labels=range(len(classes)), zero_division=0.0)
    return [
        {"label": label, "sets": int(n), "precision": float(precision), "recall": float(recall), "f1": float(f1)}
        for label, precision, recall, f1, n in zip(classes.tolist(), *parts, strict=True)
    ]
