"""Models as the commands need them: made from options, loaded from files, matched with labels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from setrbm.cli._data import Source, as_number, check_for_training
from setrbm.tools.commands import Refused

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.text import PageTexts


def to_train(
    source: Source, objective: str | None, scale: str | None, class_weight: list[str] | None, **options: Any
) -> tuple[Any, Array, Any]:
    """Return the labeled sets of a file, checked, and the unfitted model that the options of a command describe."""
    bags, y = source.labeled()
    check_for_training(source, bags, y, objective, scale)
    weights = class_weights(class_weight, y)
    model = new_model(texts=source.holds_texts, objective=objective, scale=scale, class_weight=weights, **options)
    return bags, y, model


def new_model(
    *,
    texts: bool,
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
    """Return a ClassSetRBMCV with the settings given, after PageWords for texts; None leaves one at its default."""
    from sklearn.pipeline import make_pipeline

    from setrbm import ClassSetRBMCV
    from setrbm.text import PageWords

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
    if scale is not None:
        settings["scale"] = None if scale == "none" else str(scale)
    settings |= {"calibrate": calibrate, "engine": str(engine), "random_state": seed}
    if not texts:
        return ClassSetRBMCV(**settings)
    # Inputs of a generative model are probabilities.
    words = PageWords() if objective in (None, "discriminative") else PageWords(weights="binary")
    return make_pipeline(words, ClassSetRBMCV.for_text(**settings))


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
    from setrbm.tools.text import listed

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
    """Say what to do on the command line where training diverges, or no word is frequent enough."""
    from setrbm.estimators.pipelines import last_step
    from setrbm.estimators.settings import DivergenceError
    from setrbm.text.page_words import RareWordsError

    try:
        yield
    except RareWordsError:
        raise ValueError(
            "At least one word must occur in two or more of the documents to learn from. Got none. Use more documents."
        ) from None
    except DivergenceError:
        model = last_step(model)
        rates = model.learning_rate if isinstance(model.learning_rate, tuple) else (model.learning_rate,)
        tried = ", ".join(f"{rate:g}" for rate in rates)
        cure = ", or --scale auto" if model.scale is None else ""
        raise ValueError(f"Training diverged with --learning-rate {tried}. Use a smaller one{cure}.") from None


def load_model(path: Path, command: str, needs: str) -> Any:
    """Return the fitted model or pipeline of a file; refuse a kind that has not what a command needs."""
    from setrbm import load
    from setrbm.estimators.pipelines import last_step

    model = load(path)
    last = last_step(model)
    if not hasattr(last, needs):
        end = "" if last is model else f" that ends with {type(last).__name__}"
        cure = " Fit it with probability=True." if hasattr(last, "probability") and "proba" in needs else ""
        raise ValueError(
            f"setrbm {command} needs a model with the method {needs}. {str(path)!r} holds a {type(model).__name__}"
            f"{end}, which has no such method.{cure}"
        )
    return model


def as_classes(model: Any, labels: Array) -> Array:
    """Return labels as classes of the model; raise LookupError with the first unknown label.

    Labels are matched by their text and, if the classes are numbers, by their value, so that 0 is 0.0.
    """
    import numpy as np

    known: dict[Any, int] = {str(name): code for code, name in enumerate(model.classes_.tolist())}
    if model.classes_.dtype.kind in "iuf":
        known |= {float(name): code for code, name in enumerate(model.classes_.tolist())}
    codes = [known.get(str(name), known.get(as_number(str(name)))) for name in labels.tolist()]
    if None in codes:
        raise LookupError(codes.index(None))
    return np.asarray(model.classes_[codes])


def known_classes(model: Any) -> str:
    """Return the classes of a model for a message."""
    from setrbm.tools.text import listed

    return listed(model.classes_.tolist(), 8)


def true_codes(model: Any, source: Source, bags: Bags | PageTexts, y: Array) -> Array:
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


def unknown_documents(fitted: Any, source: Source, texts: Bags | PageTexts) -> dict[str, list[Any]]:
    """Return the ids of the documents without a known word, under their name in JSON; empty for sets of vectors."""
    if not source.holds_texts:
        return {}
    from setrbm.text.models import without_known_words

    return {"without_known_words": texts.ids[without_known_words(fitted, texts)].tolist()}


def note_unknown(unknown: dict[str, list[Any]], n_documents: int) -> None:
    """Say on stderr how many documents have no known word, if any."""
    from setrbm.tools.text import count

    n = len(unknown.get("without_known_words", ()))
    if n:
        have, their = ("has", "its") if n == 1 else ("have", "their")
        typer.echo(
            f"{n:,} of {count(n_documents, 'document')} {have} no known word: {their} class is a guess, whatever its "
            "probability.",
            err=True,
        )
