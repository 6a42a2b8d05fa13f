"""Models as the commands need them: made from options, loaded from files, matched with labels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setrbm.cli._errors import Refused

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.cli._data import Source


def new_model(
    *,
    constraint: str | None,
    pooling: str | None,
    objective: str | None,
    hidden: int | None,
    rates: list[float] | None,
    epochs: int | None,
    scale: str | None,
    class_weight: Any,
    calibrate: bool,
    seed: int,
    jobs: int | None,
    engine: str,
) -> Any:
    """Return a ClassSetRBMCV with the settings given; None leaves one at its default."""
    from setrbm import ClassSetRBMCV

    given: dict[str, Any] = {
        "constraint": None if constraint is None else str(constraint),
        "pooling": None if pooling is None else str(pooling),
        "objective": None if objective is None else str(objective),
        "n_hidden": hidden,
        "learning_rate": (rates[0] if len(rates) == 1 else tuple(rates)) if rates else None,
        "max_epochs": epochs,
        "class_weight": class_weight,
        "n_jobs": jobs,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    if scale == "none":
        settings["scale"] = None
    return ClassSetRBMCV(**settings, calibrate=calibrate, engine=str(engine), random_state=seed)


def class_weights(given: list[str] | None, y: Array) -> Any:
    """Return the weights of classes as the estimator takes them, from "balanced" or from CLASS=WEIGHT."""
    if not given:
        return None
    if given == ["balanced"]:
        return "balanced"
    classes = {str(name): name for name in y.tolist()}
    weights: dict[Any, float] = {}
    for text in given:
        name, weight = _class_and_weight(text, classes)
        if name in weights:
            raise Refused(f"--class-weight must be given once for each class. Got class {name!s} twice.")
        weights[name] = weight
    return weights


def _class_and_weight(text: str, classes: dict[str, Any]) -> tuple[Any, float]:
    from setrbm._text import listed

    name, mark, number = text.rpartition("=")
    try:
        weight = float(number) if mark else math.nan
    except ValueError:
        weight = math.nan
    if not 0.0 < weight < math.inf:
        raise Refused(f"--class-weight must be 'balanced' alone, or CLASS=WEIGHT with a positive number. Got {text!r}.")
    if name.strip() not in classes:
        raise Refused(f"--class-weight must name a class of the data: {listed(sorted(classes), 8)}. Got {name!r}.")
    return classes[name.strip()], weight


@contextmanager
def training(model: Any) -> Iterator[None]:
    """Name the options of the command line where training diverges."""
    from setrbm.estimators.trainable import DivergenceError

    try:
        yield
    except DivergenceError:
        rates = model.learning_rate if isinstance(model.learning_rate, tuple) else (model.learning_rate,)
        tried = ", ".join(f"{rate:g}" for rate in rates)
        cure = ", or --scale auto" if model.scale is None else ""
        raise ValueError(f"Training diverged with --learning-rate {tried}. Use a smaller one{cure}.") from None


def load_model(path: Path, command: str, needs: str) -> Any:
    """Return the fitted model of a file; refuse a kind that has not what a command needs."""
    from setrbm import load

    model = load(path)
    if not hasattr(model, needs):
        raise ValueError(
            f"setrbm {command} needs a model with {needs}. {str(path)!r} holds a {type(model).__name__}, which has "
            "none."
        )
    return model


def as_classes(model: Any, labels: Array) -> Array:
    """Return labels as classes of the model, matched by their text; raise LookupError with the first unknown label."""
    import numpy as np

    known = {str(name): code for code, name in enumerate(model.classes_.tolist())}
    for i, name in enumerate(labels.tolist()):
        if str(name) not in known:
            raise LookupError(i)
    return np.asarray(model.classes_[[known[str(name)] for name in labels.tolist()]])


def known_classes(model: Any) -> str:
    """Return the classes of a model for a message."""
    from setrbm._text import listed

    return listed(model.classes_.tolist(), 8)


def true_codes(model: Any, source: Source, bags: Bags, y: Array) -> Array:
    """Return the codes of the labels of a file; raise ValueError for one that the model has not learned."""
    import numpy as np

    try:
        return np.searchsorted(model.classes_, as_classes(model, y))
    except LookupError as error:
        k = error.args[0]
        raise ValueError(
            f"{source.labels_of(bags)} must hold classes the model has learned: {known_classes(model)}. Got {y[k]!s} "
            f"for set {bags.ids[k]!s}."
        ) from None
