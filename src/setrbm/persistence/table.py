"""The closed table of classes that can be saved: a row per class, which says what a file holds of it.

Classes are named, and imported when a row is first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from operator import methodcaller
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from setrbm import kernels
from setrbm._json_values import from_json, to_json
from setrbm.estimators.settings import check_execution, is_number, positive
from setrbm.persistence.fields import (
    Attributes,
    Counts,
    Features,
    Field,
    FittedScaling,
    Floats,
    Kind,
    Labels,
    NumberType,
    Sizes,
)
from setrbm.persistence.model_file import ModelFile
from setrbm.persistence.own_fields import (
    Decisions,
    Indicator,
    Parameters,
    Promises,
    SupportSets,
    TrainingRecord,
    Vocabulary,
)
from setrbm.tools.threads import as_threads

# Parameters that may be objects: generators, splitters and scorers, which become None in a file.
OBJECTS = ("random_state", "cv", "scoring")


def settings_of(estimator: Any, but: Collection[str]) -> dict[str, Any]:
    """Return the constructor's parameters, as they were in fit if the estimator keeps them; refuse what is not JSON."""
    fitted = asdict(estimator.settings_) if hasattr(estimator, "settings_") else {}
    chosen = getattr(estimator, "best_params_", {})
    settings = {name: value for name, value in estimator.get_params(deep=False).items() if name not in but}
    settings |= {name: value for name, value in fitted.items() if name in settings and name not in chosen}
    for name, value in settings.items():
        if value is not None and name not in OBJECTS and to_json(value) is None:
            raise ValueError(
                f"{name} of {type(estimator).__name__} must be a number, a string, a list or a dict to be saved. Got "
                f"an object of class {type(value).__name__}."
            )
    return settings


@dataclass(frozen=True)
class Row:
    """A class that can be saved, and what a file holds of it: settings, fields of the fitted state, estimators within.

    Parameters
    ----------
    home : str
        The module of the class and its name, joined by a dot.
    fields : tuple of Field
    parts : dict
        Parameters that are estimators, and the attributes that are these estimators fitted.
    unsaved : tuple of str
        Parameters that are neither settings nor estimators within.
    has_settings : bool
        Whether a file holds the other parameters.
    check : callable
        Raises an error if a constructor's parameter is not allowed.
    """

    home: str
    fields: tuple[Field, ...] = ()
    parts: dict[str, str] = field(default_factory=dict)
    unsaved: tuple[str, ...] = ()
    has_settings: bool = True
    check: Callable[[Any], Any] = methodcaller("_validate_params")

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.home.rpartition(".")[2]

    @property
    def cls(self) -> type:
        """The class."""
        module, _, name = self.home.rpartition(".")
        return getattr(import_module(module), name)  # type: ignore[no-any-return]

    def parts_of(self, estimator: Any) -> list[tuple[str, Any]]:
        """Return the estimators within a fitted estimator, and what to call them in messages."""
        check_is_fitted(estimator)
        return [(f"{name} of {self.name}", getattr(estimator, fitted)) for name, fitted in self.parts.items()]

    def described(self, estimator: Any) -> ModelFile:
        """Return the contents of the file of a fitted estimator, without the estimators within."""
        model = ModelFile(self.name, {}, {})
        if self.has_settings:
            model.description["settings"] = to_json(settings_of(estimator, {*self.parts, *self.unsaved}))
        for part in self.fields:
            part.write(estimator, model)
        return model

    def restored(self, model: ModelFile, parts: Sequence[Any]) -> Any:
        """Return the fitted estimator, given those within; raise an error if anything about the file is wrong."""
        self.check_number(parts, len(self.parts))
        unfitted = {name: clone(part) for name, part in zip(self.parts, parts, strict=True)}
        settings = from_json(model.description["settings"]) if self.has_settings else {}
        estimator = self.cls(**settings, **unfitted)
        vars(estimator).update(zip(self.parts.values(), parts, strict=True))
        self.check(estimator)
        sizes: Sizes = {}
        for part in self.fields:
            part.read(estimator, model, sizes)
        return estimator

    def check_number(self, parts: Sequence[Any], expected: int) -> None:
        """Refuse any other number of estimators within."""
        if len(parts) != expected:
            raise ValueError(f"The number of estimators within {self.name} must be {expected}. Got {len(parts)}.")


class Steps(Row):
    """scikit-learn's Pipeline: its steps are the estimators within. The cache (``memory``) is not stored."""

    def parts_of(self, estimator: Pipeline) -> list[tuple[str, Any]]:
        """Return the steps that are estimators."""
        return [(f"Pipeline step {name!r}", step) for name, step in estimator.steps if not _is_passthrough(step)]

    def described(self, estimator: Pipeline) -> ModelFile:
        """Return the contents of the file, without the steps."""
        model = super().described(estimator)
        model.description["steps"] = [[name, s if _is_passthrough(s) else "part"] for name, s in estimator.steps]
        return model

    def restored(self, model: ModelFile, parts: Sequence[Any]) -> Pipeline:
        """Return the fitted pipeline."""
        left, stored = iter(parts), model.description["steps"]
        steps = [(name, next(left, None) if step == "part" else step) for name, step in stored]
        _check_steps(steps)
        self.check_number(parts, sum(step == "part" for _, step in stored))
        pipeline = self.cls(steps, **from_json(model.description["settings"]))
        self.check(pipeline)
        return pipeline


def _is_passthrough(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _check_steps(steps: list[tuple[Any, Any]]) -> None:
    """Refuse steps that a Pipeline cannot have."""
    names = [name for name, _ in steps]
    if not names or not all(isinstance(name, str) and "__" not in name for name in names):
        raise ValueError(f"A Pipeline must have steps whose names are strings without '__'. Got {names}.")
    if len(set(names)) < len(names) or set(names) & set(Pipeline([]).get_params(deep=False)):
        raise ValueError(f"Names of steps must be unique, and not parameters of Pipeline. Got {names}.")
    for k, (name, step) in enumerate(steps):
        what, method = ("an estimator", "fit") if k == len(steps) - 1 else ("a transformer", "transform")
        if not _is_passthrough(step) and not hasattr(step, method):
            raise ValueError(f"Pipeline step {name!r} must be {what}. Got an object of class {type(step).__name__}.")


# --- checks of settings that fit makes elsewhere, or not at all ---


def _check_nothing(estimator: Any) -> None:
    pass


def _check_transformer(estimator: Any) -> None:
    if not hasattr(estimator.transformer, "transform"):
        name = type(estimator.transformer).__name__
        raise ValueError(f"A transformer is needed. Got {name}, which has no transform.")


def _check_svc(svc: Any) -> None:
    svc._check_settings()
    kernels.check_kernel(svc.kernel)
    positive("memory_mib", svc.memory_mib)
    as_threads(svc.n_jobs)


def _check_range(scaler: Any) -> None:
    scaler._validate_params()
    low, high = scaler.feature_range
    if not (is_number(low) and is_number(high) and low < high):
        raise ValueError(f"feature_range must hold two increasing numbers. Got {scaler.feature_range}.")


def _check_imputer(imputer: Any) -> None:
    imputer._validate_params()
    for name in ("missing_values", "fill_value"):
        if not ((value := getattr(imputer, name)) is None or is_number(value) or value != value):
            raise ValueError(f"{name} must be a number. Got {value!r}.")


# --- the table ---


def _trained(home: str) -> Row:
    fields = (Labels(), Parameters(), Features("feature_names"), FittedScaling(), TrainingRecord())
    return Row(f"setrbm.estimators.{home}", fields, check=check_execution)


def _svc(name: str, is_search: bool) -> Row:
    fields = (Labels(), Features(), FittedScaling(), SupportSets(), Decisions(is_search))
    return Row(f"setrbm.estimators.set_svc.{name}", fields, check=_check_svc)


def _transformer(home: str, arrays: dict[str, Kind], *more: Field, **settings: Any) -> Row:
    return Row(home, (Features(), Attributes(arrays), *more), **settings)


_ROWS = (
    _trained("class_rbm.ClassRBM"),
    _trained("class_set_rbm.ClassSetRBM"),
    _trained("class_set_rbm.ClassSetRBMCV"),
    _trained("max_out.MaxOutClassifier"),
    _trained("max_out.MaxOutClassifierCV"),
    _svc("SetSVC", is_search=False),
    _svc("SetSVCCV", is_search=True),
    Row("setrbm.text.page_words.PageWords", (Vocabulary(),), check=methodcaller("_check_settings")),
    _transformer("setrbm.estimators.input_pooling.InputPooling", {}, check=methodcaller("_check_statistics")),
    _transformer(
        "setrbm.estimators.per_vector.PerVector", {}, parts={"transformer": "transformer_"}, check=_check_transformer
    ),
    _transformer(
        "sklearn.preprocessing.StandardScaler",
        {
            "mean_": Floats("n", needed_if="with_mean"),
            "var_": Floats("n", needed_if="with_std"),
            "scale_": Floats("n", needed_if="with_std", positive=True),
            "n_samples_seen_": Counts(),
        },
    ),
    _transformer(
        "sklearn.preprocessing.MinMaxScaler",
        {
            "min_": Floats("n"),
            "scale_": Floats("n", positive=True),
            "data_min_": Floats("n"),
            "data_max_": Floats("n"),
            "data_range_": Floats("n"),
            "n_samples_seen_": Counts(),
        },
        check=_check_range,
    ),
    _transformer(
        "sklearn.impute.SimpleImputer",
        {
            # NaN for features without any value; objects with the strategy "constant".
            "statistics_": Floats("n", may_be_nan=True, may_be_objects=True),
            "_fit_dtype": NumberType(),
            "_fill_dtype": NumberType(),
        },
        Indicator(),
        check=_check_imputer,
    ),
    _transformer("sklearn.feature_extraction.text.TfidfTransformer", {"idf_": Floats("n", needed_if="use_idf")}),
    _transformer(
        "sklearn.preprocessing.QuantileTransformer",
        {"quantiles_": Floats("qn"), "references_": Floats("q"), "n_quantiles_": Counts()},
    ),
    _transformer(
        "sklearn.decomposition.TruncatedSVD",
        {
            "components_": Floats("kn"),
            "explained_variance_": Floats("k"),
            "explained_variance_ratio_": Floats("k"),
            "singular_values_": Floats("k"),
        },
    ),
    Steps("sklearn.pipeline.Pipeline", unsaved=("steps", "memory")),
    Row("sklearn.frozen.FrozenEstimator", parts={"estimator": "estimator"}, has_settings=False, check=_check_nothing),
    Row(
        "setrbm.selective.reject.RejectOption",
        (Promises(),),
        parts={"classifier": "classifier_"},
        check=methodcaller("_check_settings"),
    ),
)
ROWS = {row.name: row for row in _ROWS}
# Rows of other packages: the name of the class, the module that has the row as ROW, and the package to install.
ELSEWHERE = {"DocumentFeatures": ("setrbm_mail.features.files", "setrbm-mail")}


def names() -> list[str]:
    """Return the names of all classes that can be saved."""
    return [*ROWS, *ELSEWHERE]


def row_of(name: str) -> Row:
    """Return the row of a class of the table.

    Raises ImportError if it belongs to another package that is not installed.
    """
    if name in ROWS:
        return ROWS[name]
    module, package = ELSEWHERE[name]
    if find_spec(module.partition(".")[0]) is None:
        raise ImportError(f"This model needs the package {package}. Run: pip install {package}")
    row: Row = import_module(module).ROW
    return row
