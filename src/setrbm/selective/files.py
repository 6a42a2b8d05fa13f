"""Model files of RejectOption: its settings, its classifier, and the threshold and counts of each promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from setrbm._types import Array
from setrbm.estimators.file_parts import describe_settings
from setrbm.persistence import ModelFile, from_json, to_json
from setrbm.selective.promise import Promise, is_shown
from setrbm.selective.reject import CHANGED, HeldOut, RejectOption

# No more held-out sets than this: larger integers are not exact in floating point.
LARGEST = 2**53
# The names of the arrays; files of earlier versions have none.
SCORES, PREDICTED, RIGHT = "held_out_scores", "held_out_predicted", "held_out_right"
# What the other attributes of a promise follow from.
STORED = ("threshold", "n_held_out", "n_accepted", "n_right", "more_sets")


class Rejecting:
    """How RejectOption is written to files and restored; an entry of the list in ``estimators/saving.py``."""

    cls = RejectOption

    def parts_of(self, estimator: RejectOption) -> list[tuple[str, Any]]:
        """Return the fitted classifier, and what to call it in messages."""
        check_is_fitted(estimator, "promise_")
        return [("classifier of RejectOption", estimator.classifier_)]

    def describe(self, estimator: RejectOption) -> ModelFile:
        """Return the contents of the file, without the classifier."""
        kept = estimator.promise_
        if estimator.sureness != estimator.sureness_ or estimator.per_class == isinstance(kept, Promise):
            raise ValueError(CHANGED)
        promises = [kept] if isinstance(kept, Promise) else kept.values()
        stored = [[to_json(getattr(one, name)) for name in STORED] for one in promises]
        settings = describe_settings(estimator, but=("classifier",))
        held_out = {} if estimator.held_out_ is None else _arrays_of(estimator.held_out_)
        return ModelFile("RejectOption", {"settings": settings, "promises": stored}, held_out)

    def restore(self, model: ModelFile, parts: Sequence[Any]) -> RejectOption:
        """Return the fitted estimator; everything is checked."""
        (classifier,) = parts
        # A frozen classifier stays fitted where scikit-learn clones it.
        estimator = RejectOption(clone(classifier), **from_json(model.description["settings"]))
        estimator._check_settings()
        _check_classifier(classifier, estimator.sureness)
        n_classes = len(classifier.classes_)
        confidence = estimator._confidence_of_each(n_classes)
        promises = [
            _restored(dict(zip(STORED, map(from_json, one), strict=True)), estimator.precision, confidence)
            for one in model.description["promises"]
        ]
        if len(promises) != (expected := n_classes if estimator.per_class else 1):
            raise ValueError(f"The number of promises must be {expected}. Got {len(promises)}.")
        held_out = _restored_held_out(model.arrays, n_classes) if SCORES in model.arrays else None
        if held_out is not None:
            _check_counts(held_out, promises)
        estimator._keep(classifier, promises, held_out)
        return estimator


KIND = Rejecting()


def _arrays_of(held_out: HeldOut) -> dict[str, Array]:
    return {
        SCORES: held_out.scores, PREDICTED: held_out.predicted.astype(np.int64), RIGHT: held_out.right.astype(np.uint8)
    }  # fmt: skip


def _restored_held_out(arrays: dict[str, Array], n_classes: int) -> HeldOut:
    """Return what a classifier said of the held-out sets; refuse what it cannot have said."""
    scores, predicted, right = (arrays[name] for name in (SCORES, PREDICTED, RIGHT))
    kinds = [(scores, np.float64), (predicted, np.int64), (right, np.uint8)]
    if any(array.dtype != kind or array.shape != (len(scores),) for array, kind in kinds):
        raise ValueError("held_out_scores, held_out_predicted and held_out_right must be columns of the same length.")
    in_range = len(scores) and predicted.min() >= 0 and predicted.max() < n_classes and right.max() <= 1
    if not in_range or not np.isfinite(scores).all():
        raise ValueError("The scores of held-out sets must be finite, and their classes those of the classifier.")
    return HeldOut(scores, predicted, right.astype(bool))


def _check_counts(held_out: HeldOut, promises: Sequence[Promise]) -> None:
    """Refuse promises whose counts are not those of the held-out sets above their thresholds."""
    for code, one in enumerate(promises):
        of_class = held_out.predicted == code if len(promises) > 1 else np.ones(len(held_out.scores), dtype=bool)
        above = of_class & (held_out.scores > one.threshold)
        counts = int(of_class.sum()), int(above.sum()), int(held_out.right[above].sum())
        if counts != (got := (one.n_held_out, one.n_accepted, one.n_right)):
            raise ValueError(
                f"n_held_out, n_accepted and n_right must be those of the held-out sets, {counts}. Got {got}."
            )


def _check_classifier(classifier: Any, sureness: str) -> None:
    methods = ("predict_proba",) if sureness == "probability" else ("predict_proba", "decision_function")
    if not hasattr(classifier, "classes_") or not any(hasattr(classifier, name) for name in methods):
        inner = classifier.estimator if isinstance(classifier, FrozenEstimator) else classifier
        raise ValueError(
            f"classifier of RejectOption must be a classifier with {' or '.join(methods)}. Got an object of class "
            f"{type(inner).__name__}."
        )


def _restored(stored: dict[str, Any], precision: float, confidence: float) -> Promise:
    """Return a promise; refuse one that its counts do not allow."""
    threshold, *counts, more_sets = stored.values()
    n_held_out, n_accepted, n_right = counts
    if not all(type(count) is int for count in counts) or not 0 <= n_right <= n_accepted <= n_held_out <= LARGEST:
        raise ValueError(
            f"n_right, n_accepted and n_held_out must be integers in increasing order, at most {LARGEST:,}. Got "
            f"{counts[::-1]}."
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
