"""Model files of SetSVC and SetSVCCV: the sets that prediction needs, as one side of a kernel, and plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from setrbm import kernels
from setrbm._types import Array
from setrbm.bags import Bags
from setrbm.estimators.file_parts import (
    describe_features,
    describe_settings,
    restore_features,
    restored_scaling,
    scaling_arrays,
)
from setrbm.estimators.machine import Calibration, Machine
from setrbm.estimators.search.results import cv_results, of_splits
from setrbm.estimators.set_svc import BaseSetSVC, SetSVCCV
from setrbm.estimators.settings import positive
from setrbm.kernels import Side
from setrbm.persistence import ModelFile, check_floats, decode_labels, encode_labels, from_json, to_json
from setrbm.tools.threads import as_threads

# Coefficients are limited, so that sums and products of decisions stay finite.
LARGEST_COEFFICIENT = 1e100
# Relative difference allowed between stored and recomputed squared lengths and sums of weights.
ROUNDING = 0.01


def describe(estimator: BaseSetSVC) -> ModelFile:
    """Return the contents of the model's file."""
    check_is_fitted(estimator, "machine_")
    scaling = estimator.scaling_
    description = {
        "settings": describe_settings(estimator),
        "classes": encode_labels(estimator.classes_),
        **describe_features(estimator),
        "scale_floor": None if scaling is None else scaling.floor,
        "fitted": {name: getattr(estimator, f"{name}_") for name in ("C", "gamma", "threshold")},
        "chosen": to_json(_chosen(estimator)) if isinstance(estimator, SetSVCCV) else None,
    }
    arrays = {"support": estimator.support_} | _machine_arrays(estimator) | _side_arrays(estimator.side_)
    return ModelFile(type(estimator).__name__, description, arrays | scaling_arrays(scaling))


def _chosen(estimator: SetSVCCV) -> dict[str, Any]:
    """Return what a file keeps of ``cv_results_``: everything that cannot be computed from the rest."""
    results = estimator.cv_results_
    return {
        "best_index": estimator.best_index_,
        "params": results["params"],
        "scores": [split.tolist() for split in of_splits(results)],
        "means": results["mean_test_score"].tolist(),
    }


def _restore_chosen(estimator: SetSVCCV, chosen: dict[str, Any]) -> None:
    """Set ``cv_results_`` and the best of it."""
    params, best = [dict(one) for one in chosen["params"]], chosen["best_index"]
    if type(best) is not int or not 0 <= best < len(params):
        raise ValueError(f"best_index must be the position of one of {len(params)} candidates. Got {best!r}.")
    scores, means = np.array(chosen["scores"], dtype=float).T, np.array(chosen["means"], dtype=float)
    if means.shape != (len(params),) or scores.shape[:1] != means.shape or scores.ndim != 2:
        raise ValueError(f"There must be scores of {len(params)} candidates. Got {scores.shape} and {means.shape}.")
    estimator.cv_results_ = cv_results(params, scores, means)
    estimator.best_index_, estimator.best_params_, estimator.best_score_ = best, params[best], float(means[best])


def _machine_arrays(estimator: BaseSetSVC) -> dict[str, Array]:
    machine = {"coef": estimator.machine_.coef, "intercept": estimator.machine_.intercept}
    if not estimator.probability:
        return machine
    if not hasattr(estimator, "calibration_"):
        raise ValueError("probability=True needs a calibration. It was set after fit: fit again before saving.")
    calibration = estimator.calibration_
    return machine | {"calibration_coef": calibration.coef, "calibration_intercept": calibration.intercept}


def _side_arrays(side: Side) -> dict[str, Array]:
    names = ("half_squares", "weights", "offsets", "center")
    arrays = {name: getattr(side, name) for name in names}
    if sparse.issparse(side.X):
        return arrays | {"data": side.X.data, "indices": side.X.indices, "indptr": side.X.indptr}
    return arrays | {"vectors": side.X}


def restore(cls: type[BaseSetSVC], model: ModelFile) -> BaseSetSVC:
    """Return the fitted estimator a model file describes."""
    described = model.description
    estimator = cls(**from_json(described["settings"]))
    _check_settings(estimator)
    estimator.classes_ = decode_labels(described["classes"])
    estimator._check_class_weight()
    n_features = restore_features(estimator, described)
    estimator.scaling_ = restored_scaling(model.arrays, described["scale_floor"], n_features)
    estimator.side_ = _restored_side(model.arrays, n_features)
    estimator.support_ = _as_support(model.arrays["support"])
    _restore_fitted(estimator, described["fitted"])
    _restore_machine(estimator, model.arrays)
    if isinstance(estimator, SetSVCCV):
        _restore_chosen(estimator, from_json(described["chosen"]))
    return estimator


def _check_settings(estimator: BaseSetSVC) -> None:
    """Check the settings that prediction uses, as fit does."""
    estimator._check_settings()
    kernels.check_kernel(estimator.kernel)
    positive("memory_mib", estimator.memory_mib)
    as_threads(estimator.n_jobs)


def _restore_fitted(estimator: BaseSetSVC, fitted: dict[str, Any]) -> None:
    """Set C_, gamma_ and threshold_; the threshold is 0 where no vectors differ."""
    for name in ("C", "gamma", "threshold"):
        value = fitted[name]
        if name != "threshold" or value != 0:
            positive(name, value)
        setattr(estimator, f"{name}_", float(value))


def _restore_machine(estimator: BaseSetSVC, arrays: dict[str, Array]) -> None:
    """Set the decisions and, if there are probabilities, their calibration."""
    n_classes = len(estimator.classes_)
    n_pairs, n_scores = n_classes * (n_classes - 1) // 2, 1 if n_classes == 2 else n_classes
    shapes = {"coef": (estimator.side_.n_sets, n_pairs), "intercept": (n_pairs,)}
    if estimator.probability:
        shapes |= {"calibration_coef": (n_scores, n_scores), "calibration_intercept": (n_scores,)}
    for name, shape in shapes.items():
        check_floats(name, arrays[name], shape)
        if (largest := np.abs(arrays[name]).max()) > LARGEST_COEFFICIENT:
            raise ValueError(f"{name} must hold values of at most {LARGEST_COEFFICIENT:g} in size. Got {largest:g}.")
    estimator.machine_ = Machine(arrays["coef"], arrays["intercept"])
    if estimator.probability:
        estimator.calibration_ = Calibration(arrays["calibration_coef"], arrays["calibration_intercept"])


def _restored_side(arrays: dict[str, Array], n_features: int) -> Side:
    """Return the sets of a file as one side of a kernel, after checking all that compiled code relies on."""
    X = arrays.get("vectors")
    if X is None:
        shape = len(arrays["indptr"]) - 1, n_features
        X = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    # Bags check row pointers, column indices and offsets.
    bags = Bags(X, arrays["offsets"])
    bags.check_finite()
    if X.dtype != bags.dtype or bags.shape[1] != n_features:
        raise ValueError(f"vectors must hold floats of {n_features} features. Got {X.dtype} of {bags.shape[1]}.")
    for name in ("half_squares", "weights"):
        check_floats(name, arrays[name].astype(bags.dtype, casting="no"), (bags.n_vectors,))
    check_floats("center", arrays["center"], (n_features,))
    _check_side(bags, arrays["half_squares"], arrays["weights"])
    return Side(bags.X, arrays["half_squares"], arrays["weights"], bags.offsets, arrays["center"])


def _check_side(bags: Bags, half_squares: Array, weights: Array) -> None:
    """Refuse squared lengths that are not those of the vectors, and weights that do not sum to 1 in each set."""
    with np.errstate(over="ignore"):
        squares = np.asarray((bags.X * bags.X).sum(axis=1)).ravel() / 2
    if not np.allclose(half_squares, squares, rtol=ROUNDING, atol=ROUNDING):
        raise ValueError("half_squares must be half the squared lengths of the vectors.")
    sums = np.add.reduceat(weights, bags.offsets[:-1])
    if (weights <= 0).any() or not np.allclose(sums, 1.0, atol=ROUNDING):
        raise ValueError("weights must be positive and sum to 1 in each set.")


def _as_support(support: Array) -> Array:
    """Return the indices of the support sets."""
    if support.ndim != 1 or support.dtype.kind != "i" or (support < 0).any():
        raise ValueError(f"support must hold indices of 0 or more. Got {support.dtype} of shape {support.shape}.")
    return support
