"""Fitted models as the commands need them: loaded from files, and matched with labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from setrbm.cli._data import DataFile, as_number

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.text import PageTexts


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


def true_codes(model: Any, data: DataFile, bags: Bags | PageTexts, y: Array) -> Array:
    """Return the codes of the labels of a file; raise ValueError for one that the model has not learned."""
    import numpy as np

    try:
        return np.searchsorted(model.classes_, as_classes(model, y))
    except LookupError as error:
        k = error.args[0]
        raise ValueError(
            f"{data.labels_of(bags)} must hold classes the model has learned: {known_classes(model)}. Got {y[k]!s} "
            f"for set {bags.ids[k]!s}."
        ) from None


def unknown_documents(fitted: Any, data: DataFile, texts: Bags | PageTexts) -> dict[str, list[Any]]:
    """Return the ids of the documents without a known word, under their name in JSON; empty for sets of vectors."""
    if not data.holds_texts:
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
