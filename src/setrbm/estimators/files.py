"""Model files of the RBM and max-out classifiers: from attributes to a model file and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from setrbm import persistence
from setrbm._types import Array
from setrbm.energy import Params
from setrbm.estimators.file_parts import CanSave, as_names, restored_scaling, scaling_arrays
from setrbm.estimators.prediction import BaseSetClassifier, letter_shapes
from setrbm.estimators.settings import Settings, check_execution
from setrbm.training import HISTORY


class Saveable(CanSave, BaseSetClassifier):
    """What ``save`` writes of a classifier, and the way back that ``setrbm.load`` takes."""

    # Whether the letters may hold several fits.
    AVERAGES: ClassVar[bool] = False

    def _to_file(self) -> persistence.ModelFile:
        """Return the contents of the model's file."""
        check_is_fitted(self, "W_")
        check_execution(self)
        arrays = {letter: np.asarray(getattr(self, f"{letter}_")) for letter in self.letters}
        scaling = self._scaling()
        names = getattr(self, "feature_names_in_", None)
        description = {
            "settings": persistence.to_json(self._fitted_params()),
            "classes": persistence.encode_labels(self.classes_),
            "feature_names": None if names is None else list(names),
            "scale_floor": None if scaling is None else scaling.floor,
            "history": persistence.to_json(self.history_),
            "seed": self.seed_,
            "n_epochs": self.n_epochs_,
            "best_epoch": self.best_epoch_,
            "temperature": self.temperature_,
            "calibration_temperature": self.calibration_temperature_,
            "largest_set": self.largest_set_,
            **self._describe(),
        }
        return persistence.ModelFile(type(self).__name__, description, arrays | scaling_arrays(scaling))

    def _fitted_params(self) -> dict[str, Any]:
        """Return the constructor's parameters as they were when the model was fitted."""
        chosen = getattr(self, "best_params_", {})
        fitted = {name: value for name, value in asdict(self.settings_).items() if name not in chosen}
        return {name: fitted.get(name, value) for name, value in self.get_params(deep=False).items()}

    @classmethod
    def _from_file(cls, model: persistence.ModelFile) -> Self:
        """Return the fitted estimator a model file describes."""
        described = model.description
        estimator = cls(**persistence.from_json(described["settings"]))
        check_execution(estimator)
        estimator.settings_ = estimator._restored_settings(described)
        estimator.classes_ = persistence.decode_labels(described["classes"])
        estimator._restore_arrays(model.arrays, described)
        estimator.history_ = {name: list(persistence.from_json(described["history"])[name]) for name in HISTORY}
        names = ("seed", "n_epochs", "best_epoch", "largest_set")
        # Files of the first format do not say how large the largest set was.
        counts = [int(({"largest_set": 0} | described)[name]) for name in names]
        if min(counts) < 0:
            raise ValueError(f"{', '.join(names)} must not be negative. Got {counts}.")
        estimator.seed_, estimator.n_epochs_, estimator.best_epoch_, estimator.largest_set_ = counts
        return estimator

    def _restore_arrays(self, arrays: dict[str, npt.NDArray[Any]], described: dict[str, Any]) -> None:
        """Check the arrays of a file and take letters, scaling, feature names and temperature from it."""
        n_features, n_hidden = int(arrays["b"].shape[0]), int(arrays["c"].shape[0])
        if n_hidden < 1 or n_features < 1:
            raise ValueError(f"There must be hidden units and features. Got {n_hidden} and {n_features}.")
        shapes = letter_shapes(n_hidden, n_features, len(self.classes_))
        persistence.check_letters(arrays, shapes)
        self.n_features_in_ = n_features
        if described["feature_names"] is not None:
            self.feature_names_in_ = as_names(described["feature_names"], n_features)
        self._set_scaling(restored_scaling(arrays, described["scale_floor"], n_features))
        self.temperature_ = _as_temperature(described.get("temperature", 1.0), n_hidden, self.AVERAGES)
        if self.temperature_ % (n_parts := len(self.settings_.poolings)):
            raise ValueError(f"Mixed pooling needs a multiple of {n_parts} fits. Got {self.temperature_:g}.")
        self.calibration_temperature_ = _as_positive(described, "calibration_temperature")
        self._set_letters(Params(*(_as_trained(arrays[letter]) for letter in self.letters)))

    def _describe(self) -> dict[str, Any]:
        """Return what a subclass adds to the description."""
        return {}

    def _restored_settings(self, description: dict[str, Any]) -> Settings:
        """Return the settings of the model, checked; a subclass takes back here what ``_describe`` added."""
        return self._settings()


def _as_temperature(value: Any, n_hidden: int, averages: bool) -> float:
    """Return the number of fits that share the hidden units."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"temperature must be a number. Got {value!r}.")
    if value != 1 and not (averages and 1 <= value <= n_hidden and n_hidden % value == 0):
        raise ValueError(f"temperature must be the number of fits averaged. Got {value} for {n_hidden} hidden units.")
    return float(value)


def _as_positive(described: dict[str, Any], name: str) -> float:
    """Return a positive number of a description, 1 if it is not there."""
    value = described.get(name, 1.0)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number. Got {value!r}.")
    return float(value)


def _as_trained(array: Array) -> Array:
    """Return a matrix laid out as training leaves it, so that a loaded model predicts at the same speed."""
    return np.ascontiguousarray(array.T).T if array.ndim == 2 else array
