"""``save`` and ``load``: fitted estimators in files without pickle."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from setrbm import persistence
from setrbm.estimators import svc_files, word_files
from setrbm.estimators.class_rbm import ClassRBM
from setrbm.estimators.class_set_rbm import ClassSetRBM, ClassSetRBMCV
from setrbm.estimators.file_parts import describe_settings
from setrbm.estimators.files import Saveable
from setrbm.estimators.max_out import MaxOutClassifier, MaxOutClassifierCV
from setrbm.estimators.page_words import PageWords
from setrbm.estimators.set_svc import SetSVC, SetSVCCV
from setrbm.estimators.transformer_files import TRANSFORMERS
from setrbm.persistence import ModelFile

# Pipelines in pipelines: deeper ones could exceed Python's recursion limit in predict.
DEEPEST = 10


class Kind(Protocol):
    """How estimators of one class are written to files and restored."""

    @property
    def cls(self) -> type:
        """The class of the estimators."""

    def parts_of(self, estimator: Any) -> list[tuple[str, Any]]:
        """Return the estimators within a fitted estimator, and what to call them in messages."""

    def describe(self, estimator: Any) -> ModelFile:
        """Return the contents of the file, without the parts."""

    def restore(self, model: ModelFile, parts: Sequence[Any]) -> Any:
        """Return the fitted estimator; raise an error if anything about the file is wrong."""


@dataclass(frozen=True)
class Leaf:
    """An estimator without others inside, with the functions that describe and restore it."""

    cls: type
    to_file: Callable[[Any], ModelFile]
    from_file: Callable[[ModelFile], Any]

    def parts_of(self, estimator: Any) -> list[tuple[str, Any]]:
        """Return nothing, since there are no estimators within."""
        return []

    def describe(self, estimator: Any) -> ModelFile:
        """Return the contents of the file."""
        return self.to_file(estimator)

    def restore(self, model: ModelFile, parts: Sequence[Any]) -> Any:
        """Return the fitted estimator."""
        return self.from_file(model)


@dataclass(frozen=True)
class Steps:
    """scikit-learn's Pipeline. The cache (``memory``) is not stored."""

    cls: type = Pipeline

    def parts_of(self, estimator: Pipeline) -> list[tuple[str, Any]]:
        """Return the steps that are estimators."""
        return [(f"Pipeline step {name!r}", step) for name, step in estimator.steps if not _is_passthrough(step)]

    def describe(self, estimator: Pipeline) -> ModelFile:
        """Return the contents of the file, without the steps."""
        steps = [[name, step if _is_passthrough(step) else "part"] for name, step in estimator.steps]
        settings = describe_settings(estimator, but=("steps", "memory"))
        return ModelFile("Pipeline", {"settings": settings, "steps": steps}, {})

    def restore(self, model: ModelFile, parts: Sequence[Any]) -> Pipeline:
        """Return the fitted pipeline."""
        left = list(parts)
        steps = [(name, left.pop(0) if step == "part" else step) for name, step in model.description["steps"]]
        _check_steps(steps)
        pipeline = Pipeline(steps, **persistence.from_json(model.description["settings"]))
        pipeline._validate_params()
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


@dataclass(frozen=True)
class Frozen:
    """scikit-learn's FrozenEstimator: a fitted estimator that fit does not change."""

    cls: type = FrozenEstimator

    def parts_of(self, estimator: FrozenEstimator) -> list[tuple[str, Any]]:
        """Return the estimator within."""
        return [("estimator of FrozenEstimator", estimator.estimator)]

    def describe(self, estimator: FrozenEstimator) -> ModelFile:
        """Return the contents of the file, without the estimator."""
        return ModelFile("FrozenEstimator", {}, {})

    def restore(self, model: ModelFile, parts: Sequence[Any]) -> FrozenEstimator:
        """Return the frozen estimator."""
        (estimator,) = parts
        return FrozenEstimator(estimator)


@dataclass(frozen=True)
class Later:
    """A kind of a lower room or of another package. Its module, which has it as ``KIND``, is imported when needed."""

    module: str
    package: str = "setrbm"

    @property
    def kind(self) -> Kind:
        """The kind itself."""
        if find_spec(self.module.partition(".")[0]) is None:
            raise ImportError(f"This model needs the package {self.package}. Run: pip install {self.package}")
        kind: Kind = import_module(self.module).KIND
        return kind

    @property
    def cls(self) -> type:
        """The class of the estimators."""
        return self.kind.cls

    def parts_of(self, estimator: Any) -> list[tuple[str, Any]]:
        """Return the estimators within a fitted estimator, and what to call them in messages."""
        return self.kind.parts_of(estimator)

    def describe(self, estimator: Any) -> ModelFile:
        """Return the contents of the file, without the parts."""
        return self.kind.describe(estimator)

    def restore(self, model: ModelFile, parts: Sequence[Any]) -> Any:
        """Return the fitted estimator."""
        return self.kind.restore(model, parts)


# The one place that lists what can be saved. A class whose state is a few arrays is one more row of TRANSFORMERS.
_RBMS: tuple[type[Saveable], ...] = (ClassRBM, ClassSetRBM, ClassSetRBMCV, MaxOutClassifier, MaxOutClassifierCV)
_KINDS: tuple[Kind, ...] = (
    *(Leaf(cls, cls._to_file, cls._from_file) for cls in _RBMS),
    *(Leaf(cls, svc_files.describe, partial(svc_files.restore, cls)) for cls in (SetSVC, SetSVCCV)),
    Leaf(PageWords, word_files.describe, word_files.restore),
    *TRANSFORMERS,
    Steps(),
    Frozen(),
)
KINDS: dict[str, Kind] = {kind.cls.__name__: kind for kind in _KINDS}
KINDS["RejectOption"] = Later("setrbm.selective.files")
KINDS["DocumentFeatures"] = Later("setrbm_mail.features.files", "setrbm-mail")


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file without pickle.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package, one of scikit-learn's StandardScaler, MinMaxScaler, SimpleImputer,
        TfidfTransformer, QuantileTransformer and TruncatedSVD, or a Pipeline or FrozenEstimator of these. Anything
        else is refused.
    path : str or path-like
        An existing file is replaced.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from setrbm import load, save
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.estimators import PerVector, SetSVC
    >>> bags, y = load_musk1()
    >>> model = make_pipeline(PerVector(StandardScaler()), SetSVC(scale=None)).fit(bags, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "musk.safetensors")
    ...     save(model, path)
    ...     again = load(path)
    >>> bool((again.decision_function(bags) == model.decision_function(bags)).all())
    True
    """
    model = describe(estimator)
    # A file that could not be loaded is not written.
    restore(model)
    persistence.write(path, model)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted estimator that ``save`` wrote.

    Only numbers and plain settings are read; nothing in the file is executed.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from setrbm import ClassSetRBM, load
    >>> from setrbm.datasets import load_musk1
    >>> bags, y = load_musk1()
    >>> model = ClassSetRBM(max_epochs=3, random_state=0).fit(bags, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "musk.safetensors")
    ...     model.save(path)
    ...     again = load(path)
    >>> bool((again.predict_proba(bags) == model.predict_proba(bags)).all())
    True
    """
    model = persistence.read(path)
    if model.kind not in KINDS:
        raise ValueError(f"{os.fspath(path)!r} must hold one of {', '.join(KINDS)}. Got {model.kind!r}.")
    try:
        return restore(model)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)!r} is damaged: its description does not fit: {error!r}.") from None


def describe(estimator: Any, where: tuple[str, ...] = ()) -> ModelFile:
    """Return the contents of an estimator's file; ``where`` says of which others it is a part."""
    name = type(estimator).__name__
    kind = KINDS.get(name)
    if kind is None or kind.cls is not type(estimator):
        article = "an" if name[0] in "AEIOU" else "a"
        cure = (
            "Save its best_estimator_" if hasattr(estimator, "best_estimator_") else "For others, use joblib or skops"
        )
        raise TypeError(
            f"{', '.join(where) or 'The estimator'} is {article} {name}, which cannot be saved without pickle. These "
            f"can be saved: {', '.join(KINDS)}. {cure}."
        )
    _check_depth(len(where))
    parts = [describe(part, (*where, what)) for what, part in kind.parts_of(estimator)]
    model = kind.describe(estimator)
    return model.with_parts(parts) if parts else model


def restore(model: ModelFile, depth: int = 0) -> Any:
    """Return the fitted estimator of a file, checked."""
    _check_depth(depth)
    parts = [restore(part, depth + 1) for part in model.parts()]
    return KINDS[model.kind].restore(model, parts)


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise ValueError(f"Estimators must be nested at most {DEEPEST} deep to be saved.")
