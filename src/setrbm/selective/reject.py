"""RejectOption: a classifier that accepts a prediction only if it can promise its precision."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from setrbm._types import Floats, Integers, Mask
from setrbm._warnings import warn
from setrbm.estimators.inputs import unchanged_on_error
from setrbm.estimators.savable import CanSave
from setrbm.estimators.scoring import SetClassifierMixin
from setrbm.selective.checks import (
    check_classifier,
    check_rejected,
    check_seed,
    check_split,
    labels_of,
    refuse_missing,
)
from setrbm.selective.curves import Sureness, check_sureness, sureness
from setrbm.selective.promise import Promise, check_fraction, fewest_sets, promise, share_left
from setrbm.tools.text import listed


def _classifier_has(name: str) -> Any:
    def has(estimator: RejectOption) -> bool:
        getattr(getattr(estimator, "classifier_", estimator.classifier), name)
        return True

    return has


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of a classifier for the held-out sets.

    Attributes
    ----------
    scores : ndarray of shape (n_sets,)
        How sure it was.
    predicted : ndarray of int of shape (n_sets,)
        The codes of the predicted classes.
    right : ndarray of bool of shape (n_sets,)
    """

    scores: Floats
    predicted: Integers
    right: Mask


@dataclass(eq=False, repr=False)
class RejectOption(CanSave, MetaEstimatorMixin, SetClassifierMixin, BaseEstimator):
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
    n_features_in_, feature_names_in_ : int, ndarray of str
        Those of the classifier, if it has them.
    sureness_ : {"probability", "margin"}
        How sureness was measured when the threshold was set.
    promise_ : Promise
        The threshold, and what was seen on the held-out sets; with ``per_class`` a dict of one per class.
    share_left_ : tuple of float
        The share of sets, of all classes, that are left to people, and the two ends of its 95 % interval.
    held_out_ : HeldOut or None
        How sure the classifier was of the held-out sets, and whether it was right; None for models of earlier versions.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from sklearn.model_selection import train_test_split
    >>> from setrbm.selective import RejectOption
    >>> X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    >>> model = RejectOption(LinearDiscriminantAnalysis(), precision=0.9, random_state=0).fit(X, y)
    >>> accepted = model.accepts(X_test)
    >>> bool((model.predict(X_test)[accepted] == y_test[accepted]).mean() >= 0.9)
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
            Every class must occur among the held-out sets. There, labels that a frozen classifier has not learned count
            as wrong.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_settings()
            check_classifier(self.classifier)
            classifier, held_out, labels = self._fitted(X, labels_of(X, y))
            predicted, scores = sureness(classifier, held_out, self.sureness)
            codes = np.searchsorted(np.asarray(classifier.classes_), predicted)
            self._promise(classifier, HeldOut(np.asarray(scores, np.float64), codes, np.asarray(predicted == labels)))
        return self

    def with_precision(self, precision: float) -> Self:
        """Return a copy that promises another precision, from the same held-out sets; nothing is fitted again.

        Each promise holds with the stated confidence if its precision was chosen beforehand. One that is picked after
        comparing several, by how many sets they leave to people, is less certain: to compare k, fit with a confidence
        of ``1 - (1 - confidence) / k``.

        Parameters
        ----------
        precision : float

        Returns
        -------
        RejectOption
        """
        check_is_fitted(self, "promise_")
        check_fraction("precision", precision)
        self._check_settings()
        self._check_unchanged()
        if self.held_out_ is None:
            raise ValueError("The model must know its held-out sets. It was saved by an earlier version: fit it again.")
        other = copy.copy(self)
        other.precision = precision
        cure = "Use a lower precision, or fit with more sets."
        other._refuse_too_few(len(self.held_out_.scores), len(self.classes_), cure)
        other._promise(self.classifier_, self.held_out_)
        return other

    def _promise(self, classifier: Any, held_out: HeldOut) -> None:
        """Set the thresholds."""
        self._set_promises(classifier, self._promises(held_out, len(classifier.classes_)), held_out)
        self._warn_of_refusals()

    def _promises(self, held_out: HeldOut, n_classes: int) -> list[Promise]:
        scores, right = held_out.scores, held_out.right
        if not self.per_class:
            return [promise(scores, right, self.precision, self.confidence)]
        return [self._of_class(held_out.predicted == code, scores, right, n_classes) for code in range(n_classes)]

    def _fitted(self, X: Any, y: npt.NDArray[Any]) -> tuple[Any, Any, npt.NDArray[Any]]:
        """Return the fitted classifier, and the sets and labels that it has not learned from."""
        if isinstance(self.classifier, FrozenEstimator):
            classes = np.asarray(self.classifier.classes_).tolist()
            self._refuse_too_few(len(y), len(classes), "Use more sets, or a lower precision.")
            refuse_missing(classes, y)
            return self.classifier, X, y
        # What cannot be promised is refused before a long fit.
        classes, n_held_out = check_split(y, self.held_out)
        self._refuse_too_few(n_held_out, len(classes), "Use more sets, a larger held_out, or a lower precision.")
        train, held_out, y_train, labels = train_test_split(
            X, y, test_size=self.held_out, stratify=y, random_state=self.random_state
        )
        refuse_missing(classes, labels)
        fitted = clone(self.classifier).fit(train, y_train)
        if not hasattr(fitted, "classes_"):
            raise TypeError(f"classifier must be a classifier. Got a {type(fitted).__name__}, which has no classes_.")
        return fitted, held_out, labels

    def _check_settings(self) -> None:
        for name in ("precision", "confidence", "held_out"):
            check_fraction(name, getattr(self, name))
        check_sureness(self.sureness)
        check_seed(self.random_state)
        if not isinstance(self.per_class, bool | np.bool_):
            raise ValueError(f"per_class must be True or False. Got {self.per_class!r}.")

    def _check_unchanged(self) -> None:
        if self.sureness != self.sureness_ or self.per_class == isinstance(self.promise_, Promise):
            raise ValueError("sureness and per_class must be those of fit. Fit again after changing a setting.")

    def _confidence_of_each(self, n_classes: int) -> float:
        """Return the confidence of each promise: all hold together if each may fail with its share of the rest."""
        return 1.0 - (1.0 - self.confidence) / n_classes if self.per_class else self.confidence

    def _refuse_too_few(self, n: int, n_classes: int, cure: str) -> None:
        confidence = self._confidence_of_each(n_classes)
        if n < (fewest := fewest_sets(self.precision, confidence) + 1):
            of_class = " predicted as a class" if self.per_class else ""
            raise ValueError(
                f"A precision of {self.precision:g} with a confidence of {confidence:g} needs at least {fewest} "
                f"held-out sets{of_class}, even if all of them are right. Got {n}. {cure}"
            )

    def _of_class(self, of_class: Mask, scores: Floats, right: Mask, n_classes: int) -> Promise:
        return promise(scores[of_class], right[of_class], self.precision, self._confidence_of_each(n_classes))

    def _set_promises(self, classifier: Any, promises: Sequence[Promise], held_out: HeldOut | None) -> None:
        """Set the fitted attributes, given one promise, or one per class."""
        self.classifier_, self.classes_, self.held_out_ = classifier, np.asarray(classifier.classes_), held_out
        self.sureness_ = self.sureness
        self.promise_: Promise | dict[Any, Promise] = promises[0]
        if self.per_class:
            self.promise_ = dict(zip(self.classes_.tolist(), promises, strict=True))
        self.share_left_ = share_left(sum(p.n_held_out for p in promises), sum(p.n_accepted for p in promises))

    def _warn_of_refusals(self) -> None:
        if isinstance(self.promise_, Promise):
            if not self.promise_.n_accepted:
                cure = _cure(self.promise_, "held-out sets")
                warn(
                    f"No tested threshold keeps a precision of {self.precision:g}: all sets are left to people. {cure}"
                )
        elif refused := [label for label, kept in self.promise_.items() if not kept.n_accepted]:
            cure = _cure(self.promise_[refused[0]], f"held-out sets predicted as {refused[0]!r}")
            warn(
                f"No tested threshold keeps a precision of {self.precision:g} for {listed(map(repr, refused))} "
                f"({len(refused)} of {len(self.classes_)} classes): sets predicted as such are left to people. {cure}"
            )

    @property
    def n_features_in_(self) -> int:
        """The number of features seen in fit, if the classifier knows it."""
        return int(self.classifier_.n_features_in_)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the features seen in fit, if the classifier knows them."""
        return np.asarray(self.classifier_.feature_names_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            of_classifier = get_tags(self.classifier)
        except (AttributeError, TypeError):
            # Not an estimator of scikit-learn; fit refuses what it cannot use.
            return tags
        tags.input_tags = of_classifier.input_tags
        if of_classifier.classifier_tags is not None:
            tags.classifier_tags.multi_class = of_classifier.classifier_tags.multi_class
            tags.classifier_tags.poor_score = of_classifier.classifier_tags.poor_score
        return tags

    def accepts(self, X: Any) -> Mask:
        """Return which sets are accepted; the others are left to people."""
        predicted, scores = self._sureness(X)
        return np.asarray(scores > self._thresholds(predicted))

    def _sureness(self, X: Any) -> tuple[npt.NDArray[Any], Floats]:
        check_is_fitted(self, "promise_")
        return sureness(self.classifier_, X, self.sureness_)

    def _thresholds(self, predicted: npt.NDArray[Any]) -> Any:
        if isinstance(self.promise_, Promise):
            return self.promise_.threshold
        thresholds = np.array([self.promise_[label].threshold for label in self.classes_.tolist()])
        return thresholds[np.searchsorted(self.classes_, predicted)]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted class of every set, accepted or not."""
        return self._sureness(X)[0]

    def predict_or_reject(self, X: Any, rejected: Any = None) -> npt.NDArray[Any]:
        """Return the predicted class of every accepted set, and ``rejected`` for the others, as an object array.

        Parameters
        ----------
        X : what the classifier takes
        rejected : object
            A single value that is not one of the classes.
        """
        check_is_fitted(self, "promise_")
        check_rejected(rejected, self.classes_.tolist())
        predicted, scores = self._sureness(X)
        answers = np.array(predicted.tolist(), dtype=object)
        answers[~(scores > self._thresholds(predicted))] = rejected
        return answers

    @available_if(_classifier_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classifier."""
        check_is_fitted(self, "promise_")
        return self.classifier_.predict_proba(X)

    @available_if(_classifier_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Any:
        """Return the log-probabilities of the classifier."""
        check_is_fitted(self, "promise_")
        return self.classifier_.predict_log_proba(X)

    @available_if(_classifier_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the decisions of the classifier."""
        check_is_fitted(self, "promise_")
        return self.classifier_.decision_function(X)


def _cure(refused: Promise, what: str) -> str:
    if refused.more_sets is None:
        return f"More {what} would not help; the classifier must become better, or the precision lower."
    more = math.ceil(refused.more_sets / 100) * 100
    return f"About {more:,} {what} would be enough (now {refused.n_held_out:,})."
