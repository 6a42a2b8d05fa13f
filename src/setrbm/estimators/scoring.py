"""``score`` of classifiers of sets."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin

from setrbm.estimators.labels import refuse_non_labels
from setrbm.label_order import check_order


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
