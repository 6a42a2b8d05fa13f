"""``setrbm predict``: predict the class of each set of a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._data import Source
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
    answers = _answers(fitted, bags.ids, fitted.predict_proba(bags), proba)
    if output is not None:
        from setrbm._files import write_atomically

        write_atomically(output, _as_csv(answers, bag, label).encode(), overwrite=force)
        typer.echo(f"Wrote the classes of {count(len(answers), 'set')} to {output}.", err=True)
    if json:
        show_json({"model": str(model), "data": str(data), "sets": answers})
    elif output is None:
        typer.echo(_as_csv(answers, bag, label), nl=False)


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
