"""What the model files of several estimators share: settings, feature names, scaling."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm import persistence
from setrbm._types import Array
from setrbm.estimators.settings import integer, is_count
from setrbm.scaling import Scaling

# A model without arrays cannot show how many features it has; no sparse matrix has more.
MOST_FEATURES = 2**31 - 1


class CanSave:
    """The method ``save`` of the estimators of this package."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one file without pickle, as ``setrbm.save(self, path)`` does."""
        # Imported here, since that module imports every estimator.
        from setrbm.estimators.saving import save

        save(self, path)


def describe_settings(estimator: Any, but: tuple[str, ...] = ()) -> Any:
    """Return the constructor's parameters as JSON, except those named; a random generator becomes None.

    Raises ValueError if a parameter is another object that JSON cannot hold.
    """
    settings = {name: value for name, value in estimator.get_params(deep=False).items() if name not in but}
    for name, value in settings.items():
        if value is not None and name != "random_state" and persistence.to_json(value) is None:
            raise ValueError(
                f"{name} of {type(estimator).__name__} must be a number, a string, a list or a dict to be saved. Got "
                f"an object of class {type(value).__name__}."
            )
    return persistence.to_json(settings)


def describe_features(estimator: Any) -> dict[str, Any]:
    """Return number and names of the features and, of estimators of sets, the size of the largest set in fit."""
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else list(names),
        "largest_set": getattr(estimator, "largest_set_", None),
    }


def restore_features(estimator: Any, described: Mapping[str, Any]) -> int:
    """Set what ``describe_features`` returned, and return the number of features."""
    n_features: int = described["n_features"]
    if not is_count(n_features) or n_features > MOST_FEATURES:
        raise ValueError(f"n_features must be an integer between 1 and {MOST_FEATURES}. Got {n_features!r}.")
    estimator.n_features_in_ = n_features
    if described["feature_names"] is not None:
        estimator.feature_names_in_ = as_names(described["feature_names"], n_features)
    if described["largest_set"] is not None:
        integer("largest_set", described["largest_set"])
        estimator.largest_set_ = described["largest_set"]
    return n_features


def as_names(names: Any, n_features: int) -> npt.NDArray[Any]:
    """Return feature names as scikit-learn keeps them."""
    if not isinstance(names, list) or len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise ValueError(f"feature_names must hold {n_features} strings.")
    return np.array(names, dtype=object)


def scaling_arrays(scaling: Scaling | None) -> dict[str, Array]:
    """Return the arrays of a scaling."""
    return {} if scaling is None else {"scale_low": scaling.low, "scale_factor": scaling.factor}


def restored_scaling(arrays: Mapping[str, Array], floor: Any, n_features: int) -> Scaling | None:
    """Return the scaling of a file, checked; None if the file has no floor for it."""
    if floor is None:
        return None
    for name in ("scale_low", "scale_factor"):
        persistence.check_floats(name, arrays[name], (n_features,))
    if (floor := float(floor)) not in (0.0, -1.0):
        raise ValueError(f"scale_floor must be 0 or -1. Got {floor}.")
    return Scaling(arrays["scale_low"], arrays["scale_factor"], floor)
