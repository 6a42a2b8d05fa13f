"""RejectOption: a classifier that accepts a prediction only if it can promise its precision."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from setrbm._types import Floats, Mask
from setrbm._warnings import warn
from setrbm.selective.curves import Sureness, sureness
from setrbm.selective.promise import Promise, fewest_sets, promise


def _classifier_has(name: str) -> Any:
    def has(estimator: RejectOption) -> bool:
        getattr(getattr(estimator, "classifier_", estimator.classifier), name)
        return True

    return has


@dataclass(eq=False, repr=False)
class RejectOption(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that leaves the sets it is not sure of to a person, and promises a precision for the others.

    On held-out sets it chooses the lowest threshold for which, with the stated confidence, at least the wanted part of
    the accepted predictions for unseen sets is right; see ``setrbm.selective.promise``.

    Parameters
    ----------
    classifier : classifier
        Any scikit-learn classifier. It is fitted to a part of the sets; the rest sets the threshold. A
        ``FrozenEstimator`` is not fitted, and all sets given to ``fit`` set the threshold.
    precision : float
        The part of the accepted predictions that must be right, between 0 and 1.
    confidence : float
        The probability, over the held-out sets, that the promise holds.
    sureness : {"probability", "margin"}
        How sure the classifier is: the probability of the predicted class, or how far it is ahead of the second.
    per_class : bool
        Whether the precision is promised for every predicted class, each with a threshold of its own. All promises hold
        together with the stated confidence.
    held_out : float
        The fraction of the sets that are held out.
    random_state : int, RandomState or None
        For the choice of the held-out sets.

    Attributes
    ----------
    classifier_ : classifier
        The fitted classifier. It is not fitted again after the threshold is set.
    classes_ : ndarray of shape (n_classes,)
    promise_ : Promise
        The threshold, and what was seen on the held-out sets; with ``per_class`` a dict of one per class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from setrbm.selective import RejectOption
    >>> X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    >>> model = RejectOption(LogisticRegression(C=0.001, max_iter=500), precision=0.98, random_state=0).fit(X, y)
    >>> accepted = model.accepts(X_test)
    >>> bool((model.predict(X_test)[accepted] == y_test[accepted]).mean() >= 0.98)
    True
    """

    classifier: Any
    _: KW_ONLY
    precision: float = 0.95
    confidence: float = 0.95
    sureness: Sureness = "probability"
    per_class: bool = False
    held_out: float = 0.3
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier to a part of the sets, and set the threshold on the others.

        Parameters
        ----------
        X : what the classifier takes
        y : array-like of shape (n_sets,)

        Returns
        -------
        self
        """
        for name in ("precision", "confidence", "held_out"):
            _check_fraction(name, getattr(self, name))
        y = column_or_1d(y)
        if isinstance(self.classifier, FrozenEstimator):
            classifier, held_out, labels = self.classifier, X, y
        else:
            train, held_out, y_train, labels = train_test_split(
                X, y, test_size=self.held_out, stratify=y, random_state=self.random_state
            )
            classifier = clone(self.classifier).fit(train, y_train)
        predicted, scores = sureness(classifier, held_out, self.sureness)
        self.classifier_, self.classes_ = classifier, np.asarray(classifier.classes_)
        self.promise_ = self._promises(predicted, scores, predicted == labels)
        return self

    def _promises(self, predicted: npt.NDArray[Any], scores: Floats, right: Mask) -> Promise | dict[Any, Promise]:
        if not self.per_class:
            _refuse_too_few(len(scores), self.precision, self.confidence)
            kept = promise(scores, right, self.precision, self.confidence)
            if not kept.n_accepted:
                warn(
                    f"No threshold keeps a precision of {self.precision:g}: all sets are left to people. {_cure(kept)}"
                )
            return kept
        # All promises hold together if each may fail with its share of the probability.
        confidence = 1.0 - (1.0 - self.confidence) / len(self.classes_)
        promises = {}
        for label in self.classes_.tolist():
            of_class = predicted == label
            promises[label] = promise(scores[of_class], right[of_class], self.precision, confidence)
        if refused := [label for label, one in promises.items() if not one.n_accepted]:
            warn(
                f"No threshold keeps a precision of {self.precision:g} for {len(refused)} of {len(promises)} classes, "
                f"the first {refused[0]!s}: sets predicted as such are left to people. {_cure(promises[refused[0]])}"
            )
        return promises

    def accepts(self, X: Any) -> Mask:
        """Return which sets are accepted; the others are left to people."""
        predicted, scores = self._sureness(X)
        return np.asarray(scores > self._thresholds(predicted))

    def _sureness(self, X: Any) -> tuple[npt.NDArray[Any], Floats]:
        check_is_fitted(self, "promise_")
        return sureness(self.classifier_, X, self.sureness)

    def _thresholds(self, predicted: npt.NDArray[Any]) -> Any:
        if isinstance(self.promise_, Promise):
            return self.promise_.threshold
        thresholds = np.array([self.promise_[label].threshold for label in self.classes_.tolist()])
        return thresholds[np.searchsorted(self.classes_, predicted)]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted class of every set, accepted or not."""
        return self._sureness(X)[0]

    def predict_or_reject(self, X: Any, rejected: Any = None) -> npt.NDArray[Any]:
        """Return the predicted class of every accepted set, and ``rejected`` for the others, as an object array."""
        predicted, scores = self._sureness(X)
        answers = np.array(predicted.tolist(), dtype=object)
        answers[~(scores > self._thresholds(predicted))] = rejected
        return answers

    @available_if(_classifier_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classifier."""
        check_is_fitted(self, "promise_")
        return self.classifier_.predict_proba(X)

    @available_if(_classifier_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the decisions of the classifier."""
        check_is_fitted(self, "promise_")
        return self.classifier_.decision_function(X)


def _check_fraction(name: str, value: Any) -> None:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must lie between 0 and 1. Got {value!r}.")


def _refuse_too_few(n: int, precision: float, confidence: float) -> None:
    if n < (fewest := fewest_sets(precision, confidence)):
        raise ValueError(
            f"A precision of {precision:g} with a confidence of {confidence:g} needs at least {fewest} held-out sets, "
            f"even if all of them are right. Got {n}."
        )


def _cure(kept: Promise) -> str:
    if kept.more_sets is None:
        return "More held-out sets would not help; the classifier must become better, or the precision lower."
    return f"About {math.ceil(kept.more_sets / 100) * 100:,} held-out sets would be enough (now {kept.n_held_out:,})."
