"""``setrbm predict``: predict the class of each set of a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._data import Source
from setrbm.cli._errors import Refused
from setrbm.cli._models import load_model
from setrbm.cli._options import (
    BagOption,
    DataArgument,
    ForceOption,
    IgnoreNewOption,
    JsonOption,
    LabelOption,
    ModelArgument,
)
from setrbm.cli._output import check_output, count, show_json

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags


def predict(
    model: ModelArgument,
    data: DataArgument,
    bag: BagOption = "bag",
    label: LabelOption = "label",
    ignore: IgnoreNewOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the CSV here instead of to stdout.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    check_range: Annotated[
        bool, typer.Option("--check-range", help="Count on stderr what lies outside the range seen in training.")
    ] = False,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Predict the class of each set of a file, one row per set.

    The label column may be missing and is ignored. Features are found by name if the model knows their names; other
    columns are ignored then.
    """
    source = Source.of(data, bag, label, ignore)
    if output is not None:
        check_output(output, force, model, data)
    fitted = load_model(model, "predict", "predict_proba")
    bags = source.sets(fitted)
    ranges = _ranges(fitted, bags) if check_range else {}
    answers = _answers(fitted, bags.ids, fitted.predict_proba(bags), proba)
    if output is not None:
        from setrbm._files import write_atomically

        write_atomically(output, _as_csv(answers, bag, label).encode(), overwrite=force)
        typer.echo(f"Wrote the classes of {count(len(answers), 'set')} to {output}.", err=True)
    if check_range:
        typer.echo(_in_words(ranges), err=True)
    if json:
        show_json({"model": str(model), "data": str(data), **({"range": ranges} if ranges else {}), "sets": answers})
    elif output is None:
        typer.echo(_as_csv(answers, bag, label), nl=False)


def _ranges(fitted: Any, bags: Bags) -> dict[str, Any]:
    """Return the counts of values outside the range of their feature, and of sets larger than any in training."""
    if getattr(fitted, "scale", None) is None or not hasattr(fitted, "check_range"):
        raise Refused("--check-range needs a model fitted with --scale auto. Others keep no range of the features.")
    found = fitted.check_range(bags)
    names = range(bags.shape[1]) if bags.feature_names is None else bags.feature_names.tolist()
    by_count = sorted(zip(names, found.by_feature.tolist(), strict=True), key=lambda pair: -pair[1])
    return {
        "values": found.n_values,
        "values_outside": found.n_values_outside,
        "sets_with_values_outside": found.n_sets_outside,
        "values_outside_by_feature": {str(name): n for name, n in by_count if n},
        "largest_set_in_training": found.largest_set or None,
        "larger_sets": found.n_larger_sets if found.largest_set else None,
    }


def _in_words(ranges: dict[str, Any]) -> str:
    from setrbm._text import listed

    n, most = ranges["values_outside"], ranges["largest_set_in_training"]
    words = f"Outside the range seen in training: {n:,} of {count(ranges['values'], 'value')}"
    if n:
        worst = listed((f"{name} {times:,}" for name, times in ranges["values_outside_by_feature"].items()), 3)
        words += f", in {count(ranges['sets_with_values_outside'], 'set')} ({worst})"
    if most is not None:
        words += f"; {count(ranges['larger_sets'], 'set')} with more than {most:,} vectors, the most in training"
    return f"{words}."


def _answers(fitted: Any, ids: Array, p: Array, every: bool) -> list[dict[str, Any]]:
    """Return the id, the most probable class and its probability of each set; every probability if asked."""
    best = p.argmax(axis=1)
    classes = fitted.classes_.tolist()
    return [
        {"set": name, "label": classes[code], "probability": row[code]}
        | ({"probabilities": dict(zip(map(str, classes), row, strict=True))} if every else {})
        for name, code, row in zip(ids.tolist(), best.tolist(), p.tolist(), strict=True)
    ]


def _as_csv(answers: list[dict[str, Any]], bag: str, label: str) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    every = answers[0].get("probabilities", {})
    writer.writerow([bag, label, "probability", *(f"p_{name}" for name in every)])
    for answer in answers:
        row = [answer["probability"], *answer.get("probabilities", {}).values()]
        writer.writerow([answer["set"], answer["label"], *(f"{p:.6g}" for p in row)])
    return text.getvalue()
