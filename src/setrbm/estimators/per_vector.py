"""PerVector: apply a transformer to each vector of the sets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from setrbm.bags import Bags
from setrbm.estimators.inputs import as_bags, unchanged_on_error
from setrbm.estimators.labels import check_one_label_per_set, refuse_non_labels
from setrbm.estimators.savable import CanSave
from setrbm.label_order import check_order


class PerVector(CanSave, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Apply a transformer to the vectors of sets; it is fitted on all training vectors.

    Parameters
    ----------
    transformer : estimator
        A scikit-learn transformer that keeps the number of rows, such as a scaler, an imputer or a projection.

    Attributes
    ----------
    transformer_ : estimator
        The fitted clone.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from setrbm import ClassSetRBM
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.estimators import PerVector
    >>> bags, y = load_musk1()
    >>> model = make_pipeline(PerVector(StandardScaler()), ClassSetRBM(scale=None, random_state=0))
    >>> model.fit(bags[:80], y[:80]).predict(bags[80:]).shape
    (12,)
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the transformer on all vectors; if labels are given, each vector gets the label of its set."""
        with unchanged_on_error(self):
            bags = as_bags(self, X, reset=True, finite=False)
            self.transformer_ = clone(self.transformer).fit(bags.X, None if y is None else _of_each_vector(bags, y))
        return self

    def transform(self, X: Any) -> Bags:
        """Return the sets with every vector transformed."""
        check_is_fitted(self, "transformer_")
        bags = as_bags(self, X, reset=False, finite=False)
        return bags.with_vectors(self.transformer_.transform(bags.X), self._names_out())

    def _names_out(self) -> Any:
        """Return the names of the new features if the old ones had names."""
        if not hasattr(self, "feature_names_in_") or not hasattr(self.transformer_, "get_feature_names_out"):
            return None
        return self.get_feature_names_out()

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the output feature names of the transformer."""
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", None)
        return self.transformer_.get_feature_names_out(input_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _of_each_vector(bags: Bags, y: Any) -> npt.NDArray[Any]:
    """Return the label of the set of each vector."""
    refuse_non_labels(y)
    labels = np.asarray(y)
    check_one_label_per_set(labels, len(bags), bags.n_vectors)
    check_order(bags, y)
    return np.repeat(labels, bags.sizes, axis=0)
