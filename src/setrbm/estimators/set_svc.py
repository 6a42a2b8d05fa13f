"""SetSVC and SetSVCCV: support vector machines with kernels between sets."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import product
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from setrbm import kernels
from setrbm._types import Array, Floats, Integers
from setrbm.bags import Bags
from setrbm.estimators.inputs import as_bags, as_sample_weights, unchanged_on_error
from setrbm.estimators.labels import as_codes
from setrbm.estimators.pairwise_svm import Calibration, PairwiseSVM, as_columns
from setrbm.estimators.savable import CanSave
from setrbm.estimators.scoring import SetClassifierMixin
from setrbm.estimators.search.results import cv_results
from setrbm.estimators.settings import positive
from setrbm.kernels import SetKernel, Side
from setrbm.scaling import RangeCheck, Scaling, checked_range
from setrbm.tools.threads import as_threads

# With an indefinite kernel the solver may not converge; with any other it needs far fewer iterations.
MAX_ITER = 10_000_000
FOLDS = 5


def _wants_probabilities(estimator: BaseSetSVC) -> bool:
    if not estimator.probability:
        raise AttributeError("predict_proba needs SetSVC(probability=True).")
    return True


@dataclass(eq=False, repr=False)
class BaseSetSVC(CanSave, SetClassifierMixin, BaseEstimator):
    """What both estimators share; subclasses say how C, gamma and threshold are found."""

    kernel: SetKernel = "migraph"
    _: KW_ONLY
    scale: str | None = "auto"
    spectrum: str = "keep"
    probability: bool = False
    class_weight: Any = None
    memory_mib: float = 1024.0
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labeled sets.

        Parameters
        ----------
        X : Bags, list of matrices, 3-D array, or matrix (each row a set of one vector)
        y : array-like of shape (n_sets,)
        sample_weight : array-like of shape (n_sets,), optional

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_settings()
            bags = as_bags(self, X, reset=True)
            classes, codes = as_codes(bags, y)
            weight = as_sample_weights(bags, sample_weight)
            # Sets of weight zero are dropped.
            kept = np.flatnonzero(weight > 0.0)
            bags, weight = bags[kept], weight[kept]
            self.classes_, codes = as_codes(bags, classes[codes[kept]])
            self._check_class_weight()
            # SVC copies the kernel; clipping also needs its eigenvectors and two products of them.
            copies = 5 if self.spectrum == "clip" else 2
            kernels.check_memory(bags, bags, self.kernel, self.memory_mib, copies)
            self.scaling_ = Scaling.fit(bags) if self.scale == "auto" else None
            bags = self._scaled(bags)
            self._set_kernel(bags, codes, weight)
            side = self._side(bags, self.gamma_, self.threshold_)
            projection, K = self._clipped(self._between(side, side))
            self._set_svm(self._svc(self.C_).fit(K, codes, weight), projection, side)
            if self.probability:
                self.calibration_ = self._calibration(K, codes, weight)
        return self

    def _check_settings(self) -> None:
        """Raise ValueError if a setting is not allowed."""
        raise NotImplementedError

    def _set_kernel(self, bags: Bags, codes: Integers, weight: Floats) -> None:
        """Set C_, gamma_ and threshold_."""
        raise NotImplementedError

    def _side(self, bags: Bags, gamma: float, threshold: float, center: Array | None = None) -> Side:
        most = int(self.memory_mib * kernels.MIB // kernels.bytes_of_distances(bags))
        n_threads = max(1, min(as_threads(self.n_jobs), most))
        return kernels.prepare(bags, self.kernel, gamma, threshold, center, n_threads)

    def _check_class_weight(self) -> None:
        if not isinstance(self.class_weight, dict):
            return
        if unknown := sorted(map(str, set(self.class_weight) - set(self.classes_.tolist()))):
            raise ValueError(f"class_weight must name classes of y. Got {', '.join(unknown)}.")
        for label, value in self.class_weight.items():
            positive(f"class_weight[{label!r}]", value)

    def _check_choices(self) -> None:
        for name, allowed in (("scale", ("auto", None)), ("spectrum", ("keep", "clip"))):
            if (value := getattr(self, name)) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}. Got {value!r}.")

    def _svc(self, C: float) -> SVC:
        weights = self.class_weight
        if isinstance(weights, dict):
            # SVC is fitted on class codes.
            weights = {code: weights.get(label, 1.0) for code, label in enumerate(self.classes_.tolist())}
        return SVC(kernel="precomputed", C=C, class_weight=weights, max_iter=MAX_ITER)

    def _between(self, left: Side, right: Side) -> Floats:
        return kernels.between(left, right, self.kernel, self.memory_mib, as_threads(self.n_jobs))

    def _clipped(self, K: Floats) -> tuple[Floats | None, Floats]:
        """Return the projection onto the eigenvectors of positive eigenvalues (or None) and the kernel to train on."""
        if self.spectrum == "keep":
            return None, K
        values, vectors = np.linalg.eigh(K)
        kept = vectors[:, values > 0.0]
        return kept @ kept.T, (kept * values[values > 0.0]) @ kept.T

    def _calibration(self, K: Floats, codes: Integers, weight: Floats) -> Calibration:
        """Fit probabilities to cross-validated decisions."""
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            raise ValueError(f"probability=True needs at least two sets of each class. Got {fewest} of one.")
        folds = StratifiedKFold(min(FOLDS, fewest), shuffle=True, random_state=self.random_state)
        decisions = cross_val_predict(
            self._svc(self.C_), K, codes, cv=folds, method="decision_function", params={"sample_weight": weight}
        )
        return Calibration.of(LogisticRegression().fit(as_columns(decisions), codes, weight))

    def _set_svm(self, svc: SVC, projection: Floats | None, side: Side) -> None:
        """Keep what prediction needs: the decisions and the support sets or, with a projection, all sets."""
        self.support_ = np.asarray(svc.support_)
        self.svm_ = PairwiseSVM.of(svc, projection)
        self.side_ = side.chosen(self.support_ if projection is None else np.arange(side.n_sets))

    def _scaling(self) -> Scaling | None:
        return self.scaling_

    def _set_scaling(self, scaling: Scaling | None) -> None:
        self.scaling_ = scaling

    def _scaled(self, bags: Bags) -> Bags:
        return bags if self.scaling_ is None else self.scaling_.apply(bags)

    def _kernel_rows(self, X: Any) -> Floats:
        """Return the kernel between new sets and those that prediction needs."""
        check_is_fitted(self, "svm_")
        bags = self._scaled(as_bags(self, X, reset=False))
        side = self._side(bags, self.gamma_, self.threshold_, self.side_.center)
        return self._between(side, self.side_)

    def decision_function(self, X: Any) -> Floats:
        """Return the decisions: (n_sets,) for two classes, positive for the second; else (n_sets, n_classes)."""
        rows = self._kernel_rows(X)
        return self.svm_.decisions(rows, len(self.classes_))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each set."""
        rows = self._kernel_rows(X)
        return np.asarray(self.classes_[self.svm_.winners(rows, len(self.classes_))])

    @available_if(_wants_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return p(y | X), of shape (n_sets, n_classes); close to a tie it may favor another class than ``predict``."""
        decisions = self.decision_function(X)
        return self.calibration_.probabilities(decisions)

    @available_if(_wants_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return log p(y | X), of shape (n_sets, n_classes)."""
        return np.asarray(np.log(self.predict_proba(X)))

    def check_range(self, X: Any) -> RangeCheck:
        """Count what lies outside the range that was seen in fit, which predictions clip: values, and sizes of sets.

        Parameters
        ----------
        X : sets, as for ``fit``

        Returns
        -------
        RangeCheck
        """
        check_is_fitted(self, "svm_")
        return checked_range(self.scaling_, as_bags(self, X, reset=False), getattr(self, "largest_set_", 0))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False)
class SetSVC(BaseSetSVC):
    """Support vector classification of sets, with a kernel between sets.

    Parameters
    ----------
    kernel : {"migraph", "migraph2", "max"}
        See ``setrbm.kernels``: SVM-miGraph, SVM-miGraph2 and SVM-max of the paper.
    C : float
        Penalty of a set on the wrong side of the margin.
    gamma : float or "median"
        Parameter of the Gaussian kernel. "median" is one over the squared median distance between training vectors.
    threshold : float or "median"
        For migraph2: vectors of a set closer than this are neighbors. "median" is the median distance.
    scale : {"auto", None}
        "auto" scales each feature to [0, 1] (dense data) or divides it by its largest absolute value (sparse data), as
        fitted on the training vectors, and clips later values.
    spectrum : {"keep", "clip"}
        What to do if the kernel is not positive semi-definite, which is possible for "max": keep it, as in the paper,
        or set its negative eigenvalues to zero. New sets are then projected in the same way.
    probability : bool
        Whether to calibrate probabilities, on decisions cross-validated within the training sets.
    class_weight : dict, "balanced" or None
    memory_mib : float
        Memory limit for computing the kernel. A kernel that needs more is refused at once.
    n_jobs : int or None
        Number of threads; None means all cores, or one inside a parallel worker.
    random_state : int, RandomState or None
        For the folds of ``probability``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    C_, gamma_, threshold_ : float
    support_ : ndarray
        The indices of the support sets, those that define the decision function.

    Examples
    --------
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.estimators import SetSVC
    >>> bags, y = load_musk1()
    >>> model = SetSVC(C=10.0).fit(bags[:80], y[:80])
    >>> model.predict(bags[80:]).shape
    (12,)
    """

    _: KW_ONLY
    C: float = 1.0
    gamma: Any = "median"
    threshold: Any = "median"

    def _check_settings(self) -> None:
        positive("C", self.C)
        self._check_choices()

    def _set_kernel(self, bags: Bags, codes: Integers, weight: Floats) -> None:
        self.C_ = float(self.C)
        self.gamma_, self.threshold_ = kernels.resolve(bags, self.kernel, self.gamma, self.threshold)


@dataclass(eq=False, repr=False)
class SetSVCCV(BaseSetSVC):
    """SetSVC that selects C, gamma and threshold by cross-validation within the training sets.

    Each kernel is computed once for all training sets and shared by all values of C and all folds. Of settings with
    equal scores the first is selected, with C varying slowest: the smoothest if values are given in increasing order.

    Parameters
    ----------
    C : sequence of float
        Candidate values.
    gamma_factors : sequence of float
        Candidate multiples of the gamma that ``gamma="median"`` of SetSVC gives.
    threshold_factors : sequence of float
        Candidate multiples of the median distance, for migraph2.
    folds : int
        Number of folds, at most the number of sets in the smallest class.
    kernel, scale, spectrum, probability, class_weight, memory_mib, n_jobs, random_state : as for SetSVC

    Attributes
    ----------
    best_params_ : dict
        The selected C, gamma and threshold.
    best_score_ : float
        The cross-validated accuracy of the selected settings; optimistic, since it is the best of many.
    best_index_ : int
        Its position in ``cv_results_``.
    cv_results_ : dict
        All candidates in scikit-learn's layout: ``params``, ``split0_test_score`` and so on, ``mean_test_score`` (over
        sets, not over splits), ``std_test_score``, ``rank_test_score``.
    C_, gamma_, threshold_, classes_, support_ : as for SetSVC

    Examples
    --------
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.estimators import SetSVCCV
    >>> bags, y = load_musk1()
    >>> model = SetSVCCV(C=(1.0, 10.0), random_state=0).fit(bags[:80], y[:80])
    >>> len(model.cv_results_["params"]), model.C_ in (1.0, 10.0)
    (10, True)
    """

    _: KW_ONLY
    C: Any = (0.1, 1.0, 10.0, 100.0, 1000.0)
    gamma_factors: Any = (0.25, 0.5, 1.0, 2.0, 4.0)
    threshold_factors: Any = (0.5, 0.75, 1.0, 1.25)
    folds: int = FOLDS

    def _check_settings(self) -> None:
        for name in ("C", "gamma_factors", "threshold_factors"):
            values = np.ravel(getattr(self, name)).tolist()
            if not values:
                raise ValueError(f"{name} must offer at least one value to choose from. Got none.")
            for value in values:
                positive(name, value)
        if not isinstance(self.folds, Integral) or self.folds < 2:
            raise ValueError(f"folds must be an integer of 2 or more. Got {self.folds!r}.")
        self._check_choices()

    def _set_kernel(self, bags: Bags, codes: Integers, weight: Floats) -> None:
        gamma, threshold = kernels.resolve(bags, self.kernel, "median", "median")
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            raise ValueError(f"SetSVCCV needs at least two sets of each class. Got {fewest} of one. Use SetSVC.")
        folds = StratifiedKFold(min(self.folds, fewest), shuffle=True, random_state=self.random_state)
        splits = list(folds.split(codes, codes))
        thresholds = np.ravel(self.threshold_factors) * threshold if self.kernel == "migraph2" else [threshold]
        costs, shapes = np.ravel(self.C).tolist(), list(product(np.ravel(self.gamma_factors) * gamma, thresholds))
        # Of shape (n_costs, n_shapes, n_splits).
        n_correct = np.stack([self._n_correct(bags, codes, weight, splits, costs, *shape) for shape in shapes], axis=1)
        n_correct = n_correct.reshape(-1, len(splits))
        # Summed split by split, so that candidates that are right on as many sets are equal to the last bit.
        scores = np.asarray(sum(n_correct.T, np.zeros(len(n_correct)))) / float(weight.sum())
        tried = [
            {"C": C, "gamma": float(shape[0]), "threshold": float(shape[1])} for C, shape in product(costs, shapes)
        ]
        self.best_index_ = best = int(scores.argmax())
        self.best_params_, self.best_score_ = tried[best], float(scores[best])
        self.C_, self.gamma_, self.threshold_ = tried[best].values()
        of_split = np.array([weight[test].sum() for _, test in splits])
        self.cv_results_ = cv_results(tried, n_correct / of_split, scores)

    def _n_correct(
        self,
        bags: Bags,
        codes: Integers,
        weight: Floats,
        splits: list[tuple[Integers, Integers]],
        costs: list[float],
        gamma: float,
        threshold: float,
    ) -> Floats:
        """Return the weight of the sets that one kernel gets right, with each C in each split."""
        side = self._side(bags, gamma, threshold)
        _, K = self._clipped(self._between(side, side))

        def n_correct(C: float, train: Integers, test: Integers) -> float:
            svc = self._svc(C).fit(K[np.ix_(train, train)], codes[train], weight[train])
            return float(weight[test] @ (svc.predict(K[np.ix_(test, train)]) == codes[test]))

        return np.array([[n_correct(C, *split) for split in splits] for C in costs])
