"""The scores of ``setrbm.evaluation.scores.all_scores``, shown in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from setrbm.tools.output import fits, percent, show_table
from setrbm.tools.text import count

# A confusion matrix of more classes is wider than a terminal.
MOST_CLASSES_SHOWN = 10


def show_scores(document: dict[str, Any]) -> None:
    """Show scores in the terminal."""
    for name, key, as_text in (
        ("accuracy", "accuracy", percent),
        ("balanced accuracy", "balanced_accuracy", percent),
        ("ROC AUC", "roc_auc", "{:.4f}".format),
    ):
        typer.echo(f"{name:<19} {_in_words(document, key, as_text)}")
    typer.echo(f"{'mean -log p':<19} {document['mean_negative_log_p']:.4f}")
    if "accepted" in document:
        _show_accepted(document)
    _show_classes(document)


def _show_accepted(document: dict[str, Any]) -> None:
    n, sets = document["accepted"], count(document["predictions"], "set")
    typer.echo(f"{'accepted':<19} {percent(document['share_accepted'])}, {n:,} of {sets}")
    if n:
        accuracy = percent(document["accuracy_of_accepted"])
        typer.echo(f"{'accuracy of these':<19} {accuracy}, {document['accepted_right']:,} of {count(n, 'set')}")


def _in_words(document: dict[str, Any], key: str, as_text: Callable[[float], str]) -> str:
    """Return a score with its meaning: the mean of the folds, or of all sets."""
    by_fold = document[f"{key}_by_fold"]
    value = document[f"mean_{key}_of_folds"] if by_fold else document[key]
    if value is None:
        return f"not defined: {document['not_defined']}"
    if by_fold:
        spread = document["standard_deviation_of_folds"] if key == "accuracy" else None
        words = f", mean of {len(by_fold)} folds"
        return as_text(value) + words + ("" if spread is None else f", standard deviation {percent(spread)}")
    return as_text(value) + (
        f", {document['right']:,} of {count(document['predictions'], 'set')}" if key == "accuracy" else ""
    )


def _show_classes(document: dict[str, Any]) -> None:
    rows = [
        (c["label"], c["sets"], percent(c["precision"]), percent(c["recall"]), percent(c["f1"]))
        for c in document["classes"]
    ]
    show_table("", ("class", "sets", "precision", "recall", "F1"), rows)
    labels = [str(c["label"]) for c in document["classes"]]
    headings = ("is \\ predicted", *labels)
    matrix = [(name, *row) for name, row in zip(labels, document["confusion"], strict=True)]
    if len(labels) > MOST_CLASSES_SHOWN or not fits(headings, matrix):
        typer.echo(f"The confusion matrix of {len(labels)} classes is too wide to show; --json has it.")
        return
    show_table("", headings, matrix)
