"""What fitted estimators share: prediction, free energies, sampling, explanation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from setrbm import draws, energy, gibbs
from setrbm._types import Array, Unit
from setrbm._warnings import warn
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines import get_engine
from setrbm.engines.protocol import Spec
from setrbm.estimators.callbacks import CallbackSupportMixin
from setrbm.estimators.inputs import as_bags
from setrbm.estimators.labels import as_codes
from setrbm.estimators.savable import CanSave
from setrbm.estimators.scoring import SetClassifierMixin
from setrbm.estimators.settings import Settings
from setrbm.explain import Explanation, explain
from setrbm.pooling import POOLINGS
from setrbm.scaling import RangeCheck, Scaling, checked_range
from setrbm.shards import Shards
from setrbm.tools.threads import as_threads
from setrbm.training import HISTORY, Outcome

# The fitted parameters: the attributes W_, U_ and so on.
PARAMETERS = ("W", "U", "b", "c", "d")


class BaseSetClassifier(CanSave, CallbackSupportMixin, SetClassifierMixin, BaseEstimator):
    """Prediction of all estimators that are trained by the engines; subclasses declare constructor and ``fit``."""

    # Whether the parameters may be those of several fits.
    AVERAGES: ClassVar[bool] = False
    # A setting that not every constructor takes: the model of one vector in a max-out classifier.
    unit: Unit = "set"

    # Set by fit.
    classes_: Array
    history_: dict[str, list[float]]
    # The number of vectors in the largest set of fit; 0 if an old file does not say.
    largest_set_: int
    seed_: int
    n_epochs_: int
    best_epoch_: int
    settings_: Settings
    # What free energies are divided by in the posterior: the number of fits they are the sum of, and the temperature
    # fitted to predictions for sets that were not learned from.
    temperature_: float = 1.0
    calibration_temperature_: float = 1.0

    # --- saving ---

    def _describe(self) -> dict[str, Any]:
        """Return what a subclass adds to the description in a model file."""
        return {}

    def _restored_settings(self, description: dict[str, Any]) -> Settings:
        """Return the settings of the model of a file, checked; a subclass restores here what ``_describe`` added."""
        return self._settings()

    # --- the fitted state ---

    def _settings(self, **chosen: Any) -> Settings:
        """Return the constructor's settings, checked; where they are choices, with what was chosen."""
        return Settings.of(self, **chosen)

    def _set_result(self, settings: Settings, outcome: Outcome, more: bool = False) -> None:
        """Set the fitted attributes to the result of training, or (more) of further training."""
        before, history = (self.n_epochs_, self.history_) if more else (0, {name: [] for name in HISTORY})
        self._set_parameters(outcome.params)
        self.settings_ = settings
        self.temperature_ = self.calibration_temperature_ = 1.0
        self.history_ = {name: history[name] + outcome.history[name] for name in HISTORY}
        self.n_epochs_ = before + len(outcome.history["loss"])
        if outcome.best_epoch or not more:
            self.best_epoch_ = before + outcome.best_epoch

    def _set_parameters(self, params: Params) -> None:
        for name in PARAMETERS:
            setattr(self, f"{name}_", getattr(params, name))

    def _params(self) -> Params:
        """Return the fitted parameters, as they are now."""
        params = Params(*(np.asarray(getattr(self, f"{name}_")) for name in PARAMETERS))
        for name, shape in parameter_shapes(len(params.c), self.n_features_in_, len(self.classes_)).items():
            if (got := getattr(params, name).shape) != shape:
                raise ValueError(f"{name}_ must have shape {shape}. Got {got}.")
        return params

    def _set_scaling(self, scaling: Scaling | None) -> None:
        for name in ("low", "factor", "floor"):
            if scaling is None:
                self.__dict__.pop(f"scale_{name}_", None)
            else:
                setattr(self, f"scale_{name}_", getattr(scaling, name))

    def _scaling(self) -> Scaling | None:
        if not hasattr(self, "scale_factor_"):
            return None
        return Scaling(self.scale_low_, self.scale_factor_, self.scale_floor_)

    def _check_classes(self, classes: Array) -> None:
        """Raise ValueError if the model cannot have these classes."""

    def _bags(self, X: Any, reset: bool, finite: bool = True) -> Bags:
        """Return the input as bags; a model of single vectors narrows this."""
        return as_bags(self, X, reset=reset, finite=finite)

    def _scaled(self, bags: Bags) -> Bags:
        scaling = self._scaling()
        return bags if scaling is None else scaling.apply(bags)

    # --- prediction ---

    def _input(self, X: Any) -> Bags:
        """Return new data as scaled bags."""
        check_is_fitted(self, "W_")
        return self._scaled(self._bags(X, reset=False))

    def _forward(
        self, bags: Bags, params: Params | None = None, settings: Settings | None = None
    ) -> tuple[Array, Array]:
        """Return pools and free energies of scaled bags, by default those of the fitted model."""
        settings = self.settings_ if settings is None else settings
        params = self._params() if params is None else params
        engine, threads, poolings = get_engine(self.engine), as_threads(self.n_jobs), settings.poolings
        parts = [
            engine.forward(part, bags, Spec(settings.constraint, pooling, unit=settings.unit), threads)
            for part, pooling in zip(energy.parted(params, len(poolings)), poolings, strict=True)
        ]
        if len(parts) == 1:
            return parts[0]
        pools, free_energies = zip(*parts, strict=True)
        return np.hstack(pools), np.sum(free_energies, axis=0)

    def _forward_all(self, X: Any, part: int) -> Array:
        """Return pools (0) or free energies (1) of any input; Shards are read one file at a time."""
        if isinstance(X, Shards):
            return np.concatenate([self._forward(self._input(bags))[part] for _, bags, _ in X])
        return self._forward(self._input(X))[part]

    def _logits(self, X: Any) -> Array:
        """Return what the posterior is the softmax of, of shape (n_sets, n_classes)."""
        return -self._forward_all(X, 1) / (self.temperature_ * self.calibration_temperature_)

    def decision_function(self, X: Any) -> Array:
        """Return the log-odds of the second class, of shape (n_sets,); for more classes minus the free energies.

        For more than two classes the shape is (n_sets, n_classes), and ``predict_proba`` is the softmax of the result.
        Free energies are divided by ``temperature_`` and ``calibration_temperature_``, which are 1 for a single model.
        """
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_log_proba(self, X: Any) -> Array:
        """Return log p(y | X), of shape (n_sets, n_classes)."""
        return energy.log_posterior(-self._logits(X))

    def predict_proba(self, X: Any) -> Array:
        """Return p(y | X), of shape (n_sets, n_classes): exact unless the pooling is hard, an estimate then."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each set."""
        codes = (-self._forward_all(X, 1)).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy; Shards bring their labels.

        Parameters
        ----------
        X : sets, as for ``fit``
        y : array-like of shape (n_sets,)
            None with Shards.
        sample_weight : array-like of shape (n_sets,), optional
        """
        if isinstance(X, Shards) and y is None:
            y = np.concatenate([labels for _, _, labels in X])
        return super().score(X, y, sample_weight)

    def check_range(self, X: Any) -> RangeCheck:
        """Count what lies outside the range that was seen in fit, which predictions clip: values, and sizes of sets.

        Parameters
        ----------
        X : sets, as for ``fit``

        Returns
        -------
        RangeCheck
            Its attributes are ``n_sets``, ``n_values``, ``n_values_outside``, ``n_sets_outside`` (sets with such a
            value), ``n_larger_sets``, ``largest_set`` (of fit) and ``by_feature``, the values outside per feature.
        """
        check_is_fitted(self, "W_")
        return checked_range(self._scaling(), self._bags(X, reset=False), self.largest_set_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class BaseSetRBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseSetClassifier):
    """What RBMs offer beside predictions: free energies, features, samples, explanations."""

    def free_energy(self, X: Any) -> Array:
        """Return the paper's F(X, y), of shape (n_sets, n_classes); the posterior is the softmax of -F.

        If several fits are averaged, F is their sum, and the posterior is the softmax of -F / ``temperature_``. If the
        probabilities are calibrated, F is divided by ``calibration_temperature_`` as well.
        """
        return self._forward_all(X, 1)

    def transform(self, X: Any) -> Array:
        """Return the pooled hidden activations, of shape (n_sets, n_hidden), or of all fits that are averaged."""
        return self._forward_all(X, 0)

    def log_joint(self, X: Any) -> Array:
        """Return log p(X, y) up to a constant that depends on the set's size alone; shape (n_sets, n_classes).

        Hard pooling has no joint distribution.
        """
        bags, settings = self._input(X), self.settings_
        self._refuse_average("log_joint")
        if not POOLINGS[settings.pooling].has_joint:
            needed = " or ".join(repr(pooling.name) for pooling in POOLINGS.values() if pooling.has_joint)
            got = f"Got {settings.pooling!r}, which defines only a posterior."
            raise ValueError(f"log_joint needs pooling={needed}. {got}")
        return energy.log_joint(bags.X, bags.offsets, self._params(), self._joints()[0])

    def _joints(self) -> list[energy.Joint]:
        """Return the joint distribution of each part of the hidden units; a single model has one."""
        return [member.spec(np.dtype(np.float64)).joint for member in self.settings_.members]

    def _refuse_average(self, what: str) -> None:
        if self.temperature_ != 1.0:
            raise ValueError(
                f"{what} needs a single model. Got the average of {self.temperature_:g} fits, which defines only a "
                "posterior. Fit with n_fits=1 and one pooling, such as pooling='soft'."
            )

    def hidden_probabilities(self, X: Any, y: Any) -> Array:
        """Return p(h = 1 | X, y) under the soft model, of shape (n_vectors, n_hidden)."""
        bags = self._input(X)
        _, codes = as_codes(bags, y, self.classes_)
        joints = self._joints()
        parts = zip(energy.parted(self._params(), len(joints)), joints, strict=True)
        return np.hstack(
            [gibbs.hidden_probabilities(bags.X, bags.offsets, codes, part, joint)[0] for part, joint in parts]
        )

    def sample(
        self, sizes: npt.ArrayLike, n_steps: int = 200, random_state: Any = None
    ) -> tuple[Bags, npt.NDArray[Any]]:
        """Draw sets and labels from the soft model by block Gibbs sampling.

        Parameters
        ----------
        sizes : array-like of int
            The number of vectors of each set to draw.
        n_steps : int
            Full Gibbs steps from the start (inputs zero, labels uniform) to the sample.
        random_state : int, RandomState or None

        Returns
        -------
        bags : Bags
            In the units of the training data.
        y : ndarray of shape (n_sets,)
        """
        check_is_fitted(self, "W_")
        wanted = np.atleast_1d(np.asarray(sizes))
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu" or not wanted.size or (wanted < 1).any():
            raise ValueError(f"sizes must be positive integers, one per set. Got {sizes!r}.")
        if n_steps < 1:
            raise ValueError(f"n_steps must be at least 1. Got {n_steps}.")
        self._refuse_average("sample")
        if self.settings_.objective == "discriminative":
            warn(
                "This model learned p(y | X) only and knows nothing about the sets themselves: its samples mean little."
                " Fit with objective='generative' or 'hybrid' to sample."
            )
        seed = draws.new_seed(check_random_state(random_state))
        params = self._params().astype(np.float64)
        X, offsets, codes = gibbs.sample_sets(wanted.astype(np.intp), params, self._joints()[0], n_steps, seed)
        scaling = self._scaling()
        names = getattr(self, "feature_names_in_", None)
        return Bags(X if scaling is None else scaling.undo(X), offsets, feature_names=names), self.classes_[codes]

    def explain(self, X: Any, y: Any = None) -> Explanation:
        """Explain which vector, and which feature, carried each decision.

        Parameters
        ----------
        X : sets, as for ``fit``
        y : array-like of shape (n_sets,), optional
            The classes to explain; the predicted ones by default.

        Returns
        -------
        Explanation
        """
        bags, settings = self._input(X), self.settings_
        predicted = (-self._forward(bags)[1]).argmax(axis=1)
        codes = predicted if y is None else as_codes(bags, y, self.classes_)[1]
        temperature = self.temperature_ * self.calibration_temperature_
        parts = explain(bags, codes, self._params(), settings.constraint, settings.pooling, temperature)
        names = getattr(self, "feature_names_in_", bags.feature_names)
        classes = self.classes_
        return Explanation(classes[codes], classes[predicted], *parts, bags.offsets, bags.ids, classes, names)

    @property
    def _n_features_out(self) -> int:
        return len(self.c_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def parameter_shapes(n_hidden: int, n_features: int, n_classes: int) -> dict[str, tuple[int, ...]]:
    """Return the shape that each parameter must have."""
    return {
        "W": (n_hidden, n_features), "U": (n_hidden, n_classes), "b": (n_features,), "c": (n_hidden,), "d": (n_classes,)
    }  # fmt: skip
