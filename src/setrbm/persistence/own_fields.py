"""Fields of one class, or of one family of classes: what is more than attributes that are arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.frozen import FrozenEstimator

from setrbm._json_values import from_json, to_json
from setrbm._types import Array
from setrbm.bags import Bags
from setrbm.engines.protocol import LARGEST
from setrbm.estimators.pairwise_svm import Calibration, PairwiseSVM
from setrbm.estimators.search.results import cv_results, of_splits
from setrbm.estimators.settings import flag, positive
from setrbm.kernels import Side
from setrbm.persistence.fields import Sizes, as_floats
from setrbm.persistence.model_file import ModelFile
from setrbm.selective.promise import Promise, is_shown
from setrbm.selective.reject import HeldOut
from setrbm.text.page_words import WORD
from setrbm.tools.text import listed
from setrbm.training import HISTORY

# Coefficients of an SVM are limited, so that sums and products of decisions stay finite.
LARGEST_COEFFICIENT = 1e100
# Relative difference allowed between stored and recomputed squared lengths and sums of weights.
ROUNDING = 0.01
# No more held-out sets than this: larger integers are not exact in floating point.
MOST_SETS = 2**53
# One word, or a pair of words.
WORDS = re.compile(rf"{WORD.pattern}( {WORD.pattern})?")


# --- RBMs and max-out classifiers ---


class Parameters:
    """The fitted parameters: h hidden units, n features, y classes."""

    SHAPES: ClassVar = {"b": "n", "c": "h", "W": "hn", "U": "hy", "d": "y"}

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add the arrays."""
        model.arrays.update({name: np.asarray(getattr(estimator, f"{name}_")) for name in self.SHAPES})

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set the arrays, laid out as training leaves them, so that a loaded model predicts at the same speed."""
        for name, shape in self.SHAPES.items():
            array = as_floats(model.arrays[name], name, shape, sizes, LARGEST)
            setattr(estimator, f"{name}_", np.ascontiguousarray(array.T).T if array.ndim == 2 else array)


class TrainingRecord:
    """How training went and, in two methods of the class, what was chosen before it."""

    # In this order in the file.
    NUMBERS = ("seed", "n_epochs", "best_epoch", "temperature", "calibration_temperature", "largest_set")
    # Of files of earlier versions.
    DEFAULTS: ClassVar = {"largest_set": 0, "temperature": 1.0, "calibration_temperature": 1.0}

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add numbers and curves to the description."""
        model.description["history"] = to_json(estimator.history_)
        model.description.update({name: getattr(estimator, f"{name}_") for name in self.NUMBERS})
        model.description.update(estimator._describe())

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set numbers, curves and settings."""
        estimator.settings_ = estimator._restored_settings(model.description)
        history = from_json(model.description["history"])
        estimator.history_ = {name: list(history[name]) for name in HISTORY}
        described = self.DEFAULTS | model.description
        for name in self.NUMBERS:
            is_count = name not in ("temperature", "calibration_temperature")
            (_check_whole if is_count else positive)(name, described[name])
            setattr(estimator, f"{name}_", described[name] if is_count else float(described[name]))
        _check_n_fits(estimator, sizes["h"])


def _check_whole(name: str, value: Any) -> None:
    if type(value) is not int or value < 0:
        raise ValueError(f"{name} must be an integer of 0 or more. Got {value!r}.")


def _check_n_fits(estimator: Any, n_hidden: int) -> None:
    """Refuse a number of fits (``temperature_``) that cannot share the hidden units."""
    n_fits, n_parts = estimator.temperature_, len(estimator.settings_.poolings)
    if n_fits != 1 and not (estimator.AVERAGES and 1 <= n_fits <= n_hidden and n_hidden % n_fits == 0):
        raise ValueError(f"temperature must be the number of fits averaged. Got {n_fits} for {n_hidden} hidden units.")
    if n_fits % n_parts:
        raise ValueError(f"Mixed pooling needs a multiple of {n_parts} fits. Got {n_fits:g}.")


# --- support vector machines ---


class SupportSets:
    """The sets that prediction needs, as one side of a kernel."""

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add the arrays."""
        side: Side = estimator.side_
        model.arrays["support"] = estimator.support_
        model.arrays.update({name: getattr(side, name) for name in ("half_squares", "weights", "offsets", "center")})
        X = side.X
        model.arrays.update(
            {"data": X.data, "indices": X.indices, "indptr": X.indptr} if sparse.issparse(X) else {"vectors": X}
        )

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set the sets, after checking all that compiled code relies on."""
        arrays, X = model.arrays, model.arrays.get("vectors")
        if X is None:
            shape = len(arrays["indptr"]) - 1, sizes["n"]
            X = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        # Bags check row pointers, column indices and offsets.
        bags = Bags(X, arrays["offsets"])
        bags.check_finite()
        if X.dtype != bags.dtype or bags.shape[1] != sizes["n"]:
            raise ValueError(f"vectors must hold floats of {sizes['n']} features. Got {X.dtype} of {bags.shape[1]}.")
        sizes |= {"s": len(bags), "v": bags.n_vectors}
        half_squares, weights = (
            as_floats(arrays[name].astype(bags.dtype, casting="no"), name, "v", sizes)
            for name in ("half_squares", "weights")
        )
        center = as_floats(arrays["center"], "center", "n", sizes)
        _check_side(bags, half_squares, weights)
        estimator.side_ = Side(bags.X, half_squares, weights, bags.offsets, center)
        support = arrays["support"]
        if support.ndim != 1 or support.dtype.kind != "i" or (support < 0).any():
            raise ValueError(f"support must hold indices of 0 or more. Got {support.dtype} of shape {support.shape}.")
        estimator.support_ = support


def _check_side(bags: Bags, half_squares: Array, weights: Array) -> None:
    """Refuse squared lengths that are not those of the vectors, and weights that do not sum to 1 in each set."""
    with np.errstate(over="ignore"):
        squares = np.asarray((bags.X * bags.X).sum(axis=1)).ravel() / 2
    if not np.allclose(half_squares, squares, rtol=ROUNDING, atol=ROUNDING):
        raise ValueError("half_squares must be half the squared lengths of the vectors.")
    sums = np.add.reduceat(weights, bags.offsets[:-1])
    if (weights <= 0).any() or not np.allclose(sums, 1.0, atol=ROUNDING):
        raise ValueError("weights must be positive and sum to 1 in each set.")


@dataclass(frozen=True)
class Decisions:
    """Coefficients of an SVM and of its probabilities, the numbers that fit chose and, of a search, its results."""

    is_search: bool
    NUMBERS: ClassVar = ("C", "gamma", "threshold")

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add the arrays, and numbers and results to the description."""
        model.description["fitted"] = {name: getattr(estimator, f"{name}_") for name in self.NUMBERS}
        model.description["chosen"] = to_json(_search_of(estimator)) if self.is_search else None
        model.arrays.update({"coef": estimator.svm_.coef, "intercept": estimator.svm_.intercept})
        if not estimator.probability:
            return
        if not hasattr(estimator, "calibration_"):
            raise ValueError("probability=True needs a calibration. It was set after fit: fit again before saving.")
        calibration = {f"calibration_{name}": value for name, value in vars(estimator.calibration_).items()}
        model.arrays.update(calibration)

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set coefficients, numbers and results; s sets, p pairs of classes, d decisions."""
        estimator._check_class_weight()
        for name in self.NUMBERS:
            value = model.description["fitted"][name]
            # The threshold is 0 where no vectors differ.
            if name != "threshold" or value != 0:
                positive(name, value)
            setattr(estimator, f"{name}_", float(value))
        n_classes = sizes["y"]
        sizes |= {"p": n_classes * (n_classes - 1) // 2, "d": 1 if n_classes == 2 else n_classes}
        estimator.svm_ = PairwiseSVM(*self._coefficients(model.arrays, {"coef": "sp", "intercept": "p"}, sizes))
        if estimator.probability:
            shapes = {"calibration_coef": "dd", "calibration_intercept": "d"}
            estimator.calibration_ = Calibration(*self._coefficients(model.arrays, shapes, sizes))
        if self.is_search:
            _restore_search(estimator, from_json(model.description["chosen"]))

    @staticmethod
    def _coefficients(arrays: dict[str, Array], shapes: dict[str, str], sizes: Sizes) -> list[Array]:
        return [as_floats(arrays[name], name, shape, sizes, LARGEST_COEFFICIENT) for name, shape in shapes.items()]


def _search_of(estimator: Any) -> dict[str, Any]:
    """Return everything of ``cv_results_`` that cannot be computed from the rest."""
    results = estimator.cv_results_
    return {
        "best_index": estimator.best_index_,
        "params": results["params"],
        "scores": [split.tolist() for split in of_splits(results)],
        "means": results["mean_test_score"].tolist(),
    }


def _restore_search(estimator: Any, chosen: dict[str, Any]) -> None:
    """Set ``cv_results_`` and the best of it."""
    params, best = [dict(settings) for settings in chosen["params"]], chosen["best_index"]
    if type(best) is not int or not 0 <= best < len(params):
        raise ValueError(f"best_index must be the position of one of {len(params)} candidates. Got {best!r}.")
    scores, means = np.array(chosen["scores"], dtype=float).T, np.array(chosen["means"], dtype=float)
    if means.shape != (len(params),) or scores.shape[:1] != means.shape or scores.ndim != 2:
        raise ValueError(f"There must be scores of {len(params)} candidates. Got {scores.shape} and {means.shape}.")
    estimator.cv_results_ = cv_results(params, scores, means)
    estimator.best_index_, estimator.best_params_, estimator.best_score_ = best, params[best], float(means[best])


# --- the reject option ---


class Promises:
    """The threshold and the counts of each promise, and the held-out sets that they were found on."""

    # What the other attributes of a promise follow from.
    NUMBERS = ("threshold", "n_held_out", "n_accepted", "n_right", "more_sets")
    # Files of earlier versions have none of these arrays.
    DTYPES: ClassVar = {"held_out_scores": np.float64, "held_out_predicted": np.int64, "held_out_right": np.uint8}

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add promises to the description, and held-out sets to the arrays."""
        estimator._check_unchanged()
        kept = estimator.promise_
        promises = [kept] if isinstance(kept, Promise) else kept.values()
        model.description["promises"] = [[to_json(getattr(p, name)) for name in self.NUMBERS] for p in promises]
        if (held_out := estimator.held_out_) is not None:
            columns = zip(self.DTYPES.items(), (held_out.scores, held_out.predicted, held_out.right), strict=True)
            model.arrays.update({name: column.astype(dtype) for (name, dtype), column in columns})

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set promises that the held-out sets allow."""
        _check_classifier(classifier := estimator.classifier_, estimator.sureness)
        n_classes = len(classifier.classes_)
        stored = [dict(zip(self.NUMBERS, map(from_json, p), strict=True)) for p in model.description["promises"]]
        confidence = estimator._confidence_of_each(n_classes)
        promises = [_as_promise(**numbers, precision=estimator.precision, confidence=confidence) for numbers in stored]
        if len(promises) != (expected := n_classes if estimator.per_class else 1):
            raise ValueError(f"The number of promises must be {expected}. Got {len(promises)}.")
        held_out = None
        if "held_out_scores" in model.arrays:
            held_out = _as_held_out([(model.arrays[name], dtype) for name, dtype in self.DTYPES.items()], n_classes)
            _check_counts(held_out, promises)
        estimator._set_promises(classifier, promises, held_out)


def _check_classifier(classifier: Any, sureness: str) -> None:
    methods = ("predict_proba",) if sureness == "probability" else ("predict_proba", "decision_function")
    if not hasattr(classifier, "classes_") or not any(hasattr(classifier, name) for name in methods):
        inner = classifier.estimator if isinstance(classifier, FrozenEstimator) else classifier
        raise ValueError(
            f"classifier of RejectOption must be a classifier with {' or '.join(methods)}. Got an object of class "
            f"{type(inner).__name__}."
        )


def _as_held_out(columns: list[tuple[Array, type]], n_classes: int) -> HeldOut:
    """Return what a classifier said of the held-out sets; refuse what it cannot have said."""
    scores, predicted, right = (array for array, _ in columns)
    if any(array.dtype != dtype or array.shape != (len(scores),) for array, dtype in columns):
        raise ValueError("held_out_scores, held_out_predicted and held_out_right must be columns of the same length.")
    in_range = len(scores) and predicted.min() >= 0 and predicted.max() < n_classes and right.max() <= 1
    if not in_range or not np.isfinite(scores).all():
        raise ValueError("The scores of held-out sets must be finite, and their classes those of the classifier.")
    return HeldOut(scores, predicted, right.astype(bool))


def _check_counts(held_out: HeldOut, promises: Sequence[Promise]) -> None:
    """Refuse promises whose counts are not those of the held-out sets above their thresholds."""
    for code, promise in enumerate(promises):
        of_class = held_out.predicted == code if len(promises) > 1 else np.ones(len(held_out.scores), dtype=bool)
        above = of_class & (held_out.scores > promise.threshold)
        counts = int(of_class.sum()), int(above.sum()), int(held_out.right[above].sum())
        if counts != (got := (promise.n_held_out, promise.n_accepted, promise.n_right)):
            raise ValueError(
                f"n_held_out, n_accepted and n_right must be those of the held-out sets, {counts}. Got {got}."
            )


def _as_promise(
    threshold: Any, n_held_out: Any, n_accepted: Any, n_right: Any, more_sets: Any, precision: float, confidence: float
) -> Promise:
    """Return a promise; refuse one that its counts do not allow."""
    counts = n_right, n_accepted, n_held_out
    if not all(type(count) is int for count in counts) or not 0 <= n_right <= n_accepted <= n_held_out <= MOST_SETS:
        raise ValueError(
            f"n_right, n_accepted and n_held_out must be integers in increasing order, at most {MOST_SETS:,}. Got "
            f"{list(counts)}."
        )
    if more_sets is not None and (type(more_sets) is not int or more_sets <= n_held_out):
        raise ValueError(f"more_sets must be an integer above n_held_out, or None. Got {more_sets!r}.")
    if type(threshold) is not float or np.isnan(threshold) or (threshold == np.inf) != (n_accepted == 0):
        raise ValueError(
            f"threshold must be a number, and infinite if no set is accepted. Got {threshold!r}, {n_accepted} accepted."
        )
    if threshold == -np.inf and n_accepted < n_held_out:
        raise ValueError(f"A threshold of -inf must accept all {n_held_out} held-out sets. Got {n_accepted} accepted.")
    if not n_accepted:
        return Promise.refused(n_held_out, more_sets)
    if not is_shown(n_accepted, n_right, precision, confidence):
        raise ValueError(
            f"{n_right} right of {n_accepted} accepted sets must show a precision of {precision:g} with a confidence "
            f"of {confidence:g}. They do not. Fit again after changing a setting."
        )
    return Promise.of_counts(threshold, n_held_out, n_accepted, n_right, confidence)


# --- transformers ---


class Vocabulary:
    """The words of PageWords and the factor of each."""

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add the words to the description, and the factors to the arrays."""
        model.description["words"] = estimator.words_.tolist()
        model.description["pairs"] = estimator.pairs_
        model.arrays["factors"] = estimator.factors_

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set words, or pairs of words, that pages can have, in alphabetical order, and their factors."""
        words, estimator.pairs_ = model.description["words"], model.description["pairs"]
        flag("pairs", estimator.pairs_)
        if not isinstance(words, list) or not words:
            raise ValueError("words must be a list of at least one word.")
        for word in words:
            if not isinstance(word, str) or not WORDS.fullmatch(word) or word != word.lower():
                raise ValueError(f"words must hold lower-case words of two or more letters or digits. Got {word!r}.")
        if any(word >= following for word, following in pairwise(words)):
            raise ValueError("words must be distinct and in alphabetical order.")
        estimator.words_ = np.array(words, dtype=object)
        estimator.factors_ = as_floats(model.arrays["factors"], "factors", "w", sizes | {"w": len(words)})
        if not (estimator.factors_ >= 0).all():
            raise ValueError(f"factors must not be negative. Got {estimator.factors_.min():g}.")


class Indicator:
    """Which features had missing values in fit, if SimpleImputer was asked to indicate them."""

    def write(self, estimator: Any, model: ModelFile) -> None:
        """Add the features to the description."""
        indicator = estimator.indicator_
        model.description["indicator"] = None if indicator is None else indicator.features_.tolist()

    def read(self, estimator: Any, model: ModelFile, sizes: Sizes) -> None:
        """Set the indicator; positions of features must increase."""
        features, n_features = model.description["indicator"], sizes["n"]
        if estimator.add_indicator == (features is None):
            raise ValueError(f"indicator must be a list only if add_indicator is True. Got {features!r}.")
        missing = np.zeros((1, n_features), dtype=bool)
        if features is not None:
            if not isinstance(features, list) or not all(type(feature) is int for feature in features):
                raise ValueError(f"indicator must hold integers. Got {features!r}.")
            if features != sorted({feature for feature in features if 0 <= feature < n_features}):
                raise ValueError(f"indicator must hold increasing integers below {n_features}. Got {listed(features)}.")
            missing[0, features] = True
        estimator._fit_indicator(missing)
