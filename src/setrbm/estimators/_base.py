"""What all fitted RBM estimators share: prediction, sampling, explanation, files."""

from __future__ import annotations

import os
import warnings
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from setrbm import draws, energy, gibbs, persistence
from setrbm._types import Array, Unit
from setrbm._version import __version__
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines import get_engine
from setrbm.engines.protocol import Spec
from setrbm.estimators._checks import check_settings
from setrbm.estimators._inputs import as_bags, as_codes, as_threads
from setrbm.explain import Explanation, explain
from setrbm.scaling import Scaling
from setrbm.shards import Shards
from setrbm.training import HISTORY, Outcome


class BaseSetClassifier(ClassifierMixin, BaseEstimator):
    """Prediction and files for all that is trained by the engines; subclasses declare constructor and ``fit``."""

    letters: ClassVar[tuple[str, ...]] = ("W", "U", "b", "c", "d")
    # The settings that may be lists of values to choose from.
    CHOOSABLE: ClassVar[tuple[str, ...]] = ()
    # The settings that a class has fixed, and its constructor does not take.
    FIXED: ClassVar[tuple[str, ...]] = ("unit",)
    UNITS: ClassVar[tuple[str, ...]] = ("set",)
    # Whether the letters may hold several fits.
    AVERAGES: ClassVar[bool] = False
    unit: Unit = "set"

    # Set by fit.
    classes_: Array
    history_: dict[str, list[float]]
    seed_: int
    n_epochs_: int
    best_epoch_: int
    # What free energies are divided by in the posterior: the number of fits they are the sum of.
    temperature_: float = 1.0

    # --- the fitted state ---

    def _resolved(self) -> Any:
        """Return something with one value for every setting."""
        return self

    def _take(self, outcome: Outcome, more: bool = False) -> None:
        """Keep what training gave, or (more) what further training gave after what was there."""
        before, history = (self.n_epochs_, self.history_) if more else (0, {name: [] for name in HISTORY})
        self._set_letters(outcome.params)
        self.temperature_ = 1.0
        self.history_ = {name: history[name] + outcome.history[name] for name in HISTORY}
        self.n_epochs_ = before + len(outcome.history["loss"])
        if outcome.best_epoch or not more:
            self.best_epoch_ = before + outcome.best_epoch

    def _set_letters(self, params: Params) -> None:
        for letter in self.letters:
            setattr(self, f"{letter}_", getattr(params, letter))

    def _params(self) -> Params:
        """Return the fitted letters, as they are now."""
        params = Params(*(np.asarray(getattr(self, f"{letter}_")) for letter in self.letters))
        for letter, shape in letter_shapes(len(params.c), self.n_features_in_, len(self.classes_)).items():
            if (got := getattr(params, letter).shape) != shape:
                raise ValueError(f"{letter}_ must have shape {shape}. Got {got}.")
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
        """Refuse classes the model cannot tell apart."""

    def _bags(self, X: Any, reset: bool, finite: bool = True) -> Bags:
        """Return what a user hands over as bags; a model of single vectors narrows this."""
        return as_bags(self, X, reset=reset, finite=finite)

    def _scaled(self, bags: Bags) -> Bags:
        scaling = self._scaling()
        return bags if scaling is None else scaling.apply(bags)

    # --- prediction ---

    def _input(self, X: Any) -> Bags:
        """Return new data as scaled bags."""
        check_is_fitted(self, "W_")
        return self._scaled(self._bags(X, reset=False))

    def _forward(self, bags: Bags) -> tuple[Array, Array]:
        """Return pools and free energies of scaled bags."""
        settings = self._resolved()
        spec = Spec(settings.constraint, settings.pooling, unit=settings.unit)
        return get_engine(self.engine).forward(self._params(), bags, spec, as_threads(self.n_jobs))

    def _forward_all(self, X: Any, part: int) -> Array:
        """Return pools (0) or free energies (1) of what a user hands over; of Shards one file at a time."""
        if isinstance(X, Shards):
            return np.concatenate([self._forward(self._input(bags))[part] for _, bags, _ in X])
        return self._forward(self._input(X))[part]

    def predict_log_proba(self, X: Any) -> Array:
        """Return log p(y | X), of shape (n_sets, n_classes)."""
        return energy.log_posterior(self._forward_all(X, 1) / self.temperature_)

    def predict_proba(self, X: Any) -> Array:
        """Return p(y | X), of shape (n_sets, n_classes): exact if the pooling is soft, the paper's estimate if hard."""
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
        return float(super().score(X, y, sample_weight))

    # --- files ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which ``setrbm.load`` reads; see ``setrbm.persistence``."""
        check_is_fitted(self, "W_")
        arrays = {letter: np.asarray(getattr(self, f"{letter}_")) for letter in self.letters}
        scaling = self._scaling()
        if scaling is not None:
            arrays |= {"scale_low": scaling.low, "scale_factor": scaling.factor}
        names = getattr(self, "feature_names_in_", None)
        description = {
            "version": __version__,
            "numpy": np.__version__,
            "scikit_learn": sklearn.__version__,
            "settings": persistence.to_json(self.get_params(deep=False)),
            "classes": persistence.encode_labels(self.classes_),
            "feature_names": None if names is None else list(names),
            "scale_floor": None if scaling is None else scaling.floor,
            "history": persistence.to_json(self.history_),
            "seed": self.seed_,
            "n_epochs": self.n_epochs_,
            "best_epoch": self.best_epoch_,
            "temperature": self.temperature_,
            **self._describe(),
        }
        persistence.write(path, persistence.ModelFile(type(self).__name__, description, arrays))

    @classmethod
    def _from_file(cls, model: persistence.ModelFile) -> Self:
        """Return the fitted estimator a model file describes."""
        described = model.description
        estimator = cls(**persistence.from_json(described["settings"]))
        check_settings(estimator)
        estimator.classes_ = persistence.decode_labels(described["classes"])
        n_features, n_hidden = int(model.arrays["b"].shape[0]), int(model.arrays["c"].shape[0])
        if n_hidden < 1 or n_features < 1:
            raise ValueError(f"There must be hidden units and features. Got {n_hidden} and {n_features}.")
        estimator.n_features_in_ = n_features
        shapes = letter_shapes(n_hidden, n_features, len(estimator.classes_))
        if described["feature_names"] is not None:
            estimator.feature_names_in_ = as_names(described["feature_names"], n_features)
        if described["scale_floor"] is not None:
            shapes |= {"scale_low": (n_features,), "scale_factor": (n_features,)}
            estimator.scale_low_, estimator.scale_factor_ = model.arrays["scale_low"], model.arrays["scale_factor"]
            estimator.scale_floor_ = float(described["scale_floor"])
            if estimator.scale_floor_ not in (0.0, -1.0):
                raise ValueError(f"scale_floor must be 0 or -1. Got {estimator.scale_floor_}.")
        persistence.check_arrays(model.arrays, shapes)
        estimator._restore(described)
        estimator.history_ = {name: list(persistence.from_json(described["history"])[name]) for name in HISTORY}
        counts = [int(described[name]) for name in ("seed", "n_epochs", "best_epoch")]
        if min(counts) < 0:
            raise ValueError(f"seed, n_epochs and best_epoch must not be negative. Got {counts}.")
        estimator.seed_, estimator.n_epochs_, estimator.best_epoch_ = counts
        estimator.temperature_ = _as_temperature(described.get("temperature", 1.0), n_hidden, cls.AVERAGES)
        for letter in cls.letters:
            setattr(estimator, f"{letter}_", _as_trained(model.arrays[letter]))
        return estimator

    def _describe(self) -> dict[str, Any]:
        """Return what a subclass has to add to the description."""
        return {}

    def _restore(self, description: dict[str, Any]) -> None:
        """Take back what ``_describe`` added."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class BaseSetRBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseSetClassifier):
    """What the RBMs of sets know beside their predictions: energies, features, samples, explanations."""

    def free_energy(self, X: Any) -> Array:
        """Return the paper's F(X, y), of shape (n_sets, n_classes); the posterior is the softmax of -F.

        Where several fits are averaged, F is their sum, and the posterior the softmax of -F / ``temperature_``.
        """
        return self._forward_all(X, 1)

    def transform(self, X: Any) -> Array:
        """Return the pooled hidden activations, of shape (n_sets, n_hidden); those of all fits side by side."""
        return self._forward_all(X, 0)

    def log_joint(self, X: Any) -> Array:
        """Return log p(X, y) up to a constant that depends on the set's size alone; shape (n_sets, n_classes).

        Only soft pooling has a joint distribution.
        """
        bags, settings = self._input(X), self._resolved()
        self._refuse_average("log_joint")
        if settings.pooling == "hard":
            raise ValueError("log_joint must have pooling='soft'. Got 'hard', which defines a posterior only.")
        return energy.log_joint(bags.X, bags.offsets, self._params(), settings.constraint, settings.visible)

    def _refuse_average(self, what: str) -> None:
        if self.temperature_ != 1.0:
            raise ValueError(
                f"{what} must have one model. Got the average of {self.temperature_:g} fits, which defines a posterior "
                "only. Fit with n_fits=1."
            )

    def hidden_probabilities(self, X: Any, y: Any) -> Array:
        """Return p(h = 1 | X, y) under the soft model, of shape (n_vectors, n_hidden)."""
        bags = self._input(X)
        _, codes = as_codes(bags, y, self.classes_)
        h, _ = gibbs.hidden_probabilities(bags.X, bags.offsets, codes, self._params(), self._resolved().constraint)
        return h

    def sample(
        self, sizes: npt.ArrayLike, n_steps: int = 200, random_state: Any = None
    ) -> tuple[Bags, npt.NDArray[Any]]:
        """Draw sets and labels from the soft model by block Gibbs sampling.

        Parameters
        ----------
        sizes : array-like of int
            How many vectors each drawn set is to have.
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
            raise ValueError(f"sizes must be positive integers, one a set. Got {sizes!r}.")
        if n_steps < 1:
            raise ValueError(f"n_steps must be at least 1. Got {n_steps}.")
        self._refuse_average("sample")
        if self._resolved().objective == "discriminative":
            warnings.warn(
                "This model learned p(y | X) only: it knows nothing of how sets look, and its samples mean little. Fit "
                "with objective='generative' or 'hybrid' to sample.",
                stacklevel=2,
            )
        seed = draws.new_seed(check_random_state(random_state))
        params, settings = self._params().astype(np.float64), self._resolved()
        X, offsets, codes = gibbs.sample_sets(
            wanted.astype(np.intp), params, settings.constraint, settings.visible, n_steps, seed
        )
        scaling = self._scaling()
        names = getattr(self, "feature_names_in_", None)
        return Bags(X if scaling is None else scaling.undo(X), offsets, feature_names=names), self.classes_[codes]

    def explain(self, X: Any, y: Any = None) -> Explanation:
        """Say which vector, and which feature, carried each decision.

        Parameters
        ----------
        X : sets, as for ``fit``
        y : array-like of shape (n_sets,), optional
            The classes to explain; the predicted ones by default.

        Returns
        -------
        Explanation
        """
        bags, settings = self._input(X), self._resolved()
        codes = (-self._forward(bags)[1]).argmax(axis=1) if y is None else as_codes(bags, y, self.classes_)[1]
        parts = explain(bags, codes, self._params(), settings.constraint, settings.pooling, self.temperature_)
        names = getattr(self, "feature_names_in_", bags.feature_names)
        return Explanation(self.classes_[codes], *parts, bags.offsets, bags.ids, names)

    @property
    def _n_features_out(self) -> int:
        return len(self.c_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def letter_shapes(n_hidden: int, n_features: int, n_classes: int) -> dict[str, tuple[int, ...]]:
    """Return the shape each letter must have."""
    return {
        "W": (n_hidden, n_features), "U": (n_hidden, n_classes), "b": (n_features,), "c": (n_hidden,), "d": (n_classes,)
    }  # fmt: skip


def as_names(names: Any, n_features: int) -> npt.NDArray[Any]:
    """Return feature names as scikit-learn keeps them."""
    if not isinstance(names, list) or len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise ValueError(f"feature_names must hold {n_features} strings.")
    return np.array(names, dtype=object)


def _as_temperature(value: Any, n_hidden: int, averages: bool) -> float:
    """Return the number of fits that share the hidden units."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"temperature must be a number. Got {value!r}.")
    if value != 1 and not (averages and 1 <= value <= n_hidden and n_hidden % value == 0):
        raise ValueError(f"temperature must be the number of fits averaged. Got {value} for {n_hidden} hidden units.")
    return float(value)


def _as_trained(array: Array) -> Array:
    """Return a matrix laid out as training leaves it, so that a loaded model predicts at the same speed."""
    return np.ascontiguousarray(array.T).T if array.ndim == 2 else array
