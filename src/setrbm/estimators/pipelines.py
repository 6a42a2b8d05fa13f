"""The steps of fitted pipelines: what they take, and explanations by the last step.

A reject option, or a frozen estimator, counts as the classifier or pipeline within it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from setrbm.explain import Explanation


def _opened(model: Any) -> Any:
    """Return what is within a frozen estimator or a fitted reject option; or the model itself."""
    if isinstance(model, FrozenEstimator):
        return _opened(model.estimator)
    return _opened(model.classifier_) if hasattr(model, "classifier_") else model


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, also of one that ends with a pipeline; or the model itself."""
    while isinstance(model := _opened(model), Pipeline):
        model = model.steps[-1][1]
    return model


def _steps_before_last(model: Any) -> Iterator[Any]:
    while isinstance(model := _opened(model), Pipeline):
        yield from (step for _, step in model.steps[:-1] if step is not None and step != "passthrough")
        model = model.steps[-1][1]


def first_step(model: Any) -> Any:
    """Return the first step of a pipeline that does something, also within other pipelines; or the model itself."""
    first = _opened(next(_steps_before_last(model), last_step(model)))
    return first_step(first) if isinstance(first, Pipeline) else first


def input_of_last_step(model: Any, X: Any) -> Any:
    """Return the input of a fitted pipeline as its last step gets it."""
    for step in _steps_before_last(model):
        X = step.transform(X)
    return X


def explain(model: Any, X: Any, y: Any = None) -> Explanation:
    """Return the explanation of a fitted model or pipeline, with the names of the features the last step gets.

    Parameters
    ----------
    model : estimator
        Its last step must have ``explain``.
    X : what the model takes
    y : array-like of shape (n_sets,), optional
        The classes to explain; the predicted ones by default.
    """
    explanation: Explanation = last_step(model).explain(input_of_last_step(model, X), y)
    return explanation if explanation.feature_names is not None else replace(explanation, feature_names=_names(model))


def _names(model: Any) -> Any:
    """Return the names of the features that the last step gets; None if a step gives none."""
    names = None
    for step in _steps_before_last(model):
        if not hasattr(step, "get_feature_names_out"):
            return None
        names = step.get_feature_names_out(names)
    return names
