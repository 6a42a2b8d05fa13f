"""``score`` of classifiers of sets, and checks of ``scoring`` before training."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.metrics import get_scorer_names

from setrbm._types import Array
from setrbm.estimators.labels import refuse_non_labels
from setrbm.label_order import check_order
from setrbm.tools.text import listed, nearest

# scikit-learn's scorers for two classes, and what to use instead with more.
FOR_TWO_CLASSES = {
    "roc_auc": "roc_auc_ovr",
    "f1": "f1_macro",
    "precision": "precision_macro",
    "recall": "recall_macro",
    "jaccard": "jaccard_macro",
}


class SetClassifierMixin(ClassifierMixin):
    """scikit-learn's mixin of classifiers, with labels and weights that are checked against the ids of the sets."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy.

        Parameters
        ----------
        X : sets, as for ``fit``
        y : array-like of shape (n_sets,)
        sample_weight : array-like of shape (n_sets,), optional
        """
        refuse_non_labels(y)
        check_order(X, y)
        check_order(X, sample_weight, "sample_weight")
        return float(super().score(X, y, sample_weight))


def check_name(scoring: Any) -> None:
    """Refuse the name of a scorer that scikit-learn does not have."""
    if not isinstance(scoring, str) or scoring in (known := get_scorer_names()):
        return
    close = nearest(scoring, known, most=3)
    hint = f"; the nearest: {', '.join(close)}" if close else ""
    raise ValueError(
        f"scoring must be the name of a scorer of scikit-learn. Got {scoring!r}{hint}. "
        "sklearn.metrics.get_scorer_names() lists them."
    )


def check_classes(scoring: Any, classes: Array) -> None:
    """Refuse a scorer for two classes with more, or one that looks for class 1 if there is none."""
    instead = FOR_TWO_CLASSES.get(scoring) if isinstance(scoring, str) else None
    if instead is None:
        return
    if len(classes) > 2:
        raise ValueError(f"scoring={scoring!r} needs two classes. Got {len(classes)}. Use scoring={instead!r}.")
    if scoring != "roc_auc" and 1 not in classes.tolist():
        raise ValueError(
            f"scoring={scoring!r} needs a class named 1. Got the classes {listed(classes.tolist())}. Use "
            f"scoring={instead!r}, or name a class: make_scorer({scoring}_score, pos_label=...)."
        )
