"""``setrbm evaluate``: scores of a fitted model, or by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._errors import Refused
from setrbm.cli._folds import Predictions, cross_validate
from setrbm.cli._models import as_classes, columns_of, new_model
from setrbm.cli._options import (
    TRAINING,
    BagOption,
    ConstraintOption,
    DataArgument,
    EngineOption,
    EpochsOption,
    HiddenOption,
    JobsOption,
    JsonOption,
    LabelOption,
    ObjectiveOption,
    PoolingOption,
    QuietOption,
    RatesOption,
    SeedOption,
)
from setrbm.cli._output import count, percent, show_json, show_table

if TYPE_CHECKING:
    from setrbm._types import Array

# A confusion matrix of more classes is wider than a terminal.
MOST_CLASSES_SHOWN = 10
# The options that do not apply to a fitted model.
FOR_CROSS_VALIDATION = (
    "folds", "repeats", "constraint", "pooling", "objective", "hidden", "learning_rate", "epochs", "seed", "jobs",
    "engine",
)  # fmt: skip

FittedOption = Annotated[
    Path | None, typer.Option("--model", metavar="FILE", help="Score this fitted model instead of cross-validating.")
]
FoldsOption = Annotated[
    int, typer.Option("--folds", metavar="N", min=2, help="Folds of the cross-validation.", rich_help_panel=TRAINING)
]
RepeatsOption = Annotated[
    int,
    typer.Option(
        "--repeats", metavar="N", min=1, help="Cross-validations, each with other folds.", rich_help_panel=TRAINING
    ),
]


def evaluate(
    ctx: typer.Context,
    data: DataArgument,
    model: FittedOption = None,
    bag: BagOption = "bag",
    label: LabelOption = "label",
    json: JsonOption = False,
    quiet: QuietOption = False,
    folds: FoldsOption = 10,
    repeats: RepeatsOption = 1,
    constraint: ConstraintOption = None,
    pooling: PoolingOption = None,
    objective: ObjectiveOption = None,
    hidden: HiddenOption = None,
    learning_rate: RatesOption = None,
    epochs: EpochsOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    engine: EngineOption = "auto",
) -> None:
    """Measure accuracy on labeled sets: of a fitted model, or by cross-validation.

    With --model, the fitted model is scored on DATA, which it should not have been trained on. Without it, DATA are
    cross-validated: whole sets are split into stratified folds, and each fold is predicted by a model that chose its
    settings and learned from the other folds only.
    """
    from setrbm.datasets.files import read_sets

    if model is not None:
        _refuse_training_options(ctx)
        found = _score(model, data, bag, label)
    else:
        bags, y = read_sets(data, bag, label)
        estimator = new_model(
            constraint=constraint, pooling=pooling, objective=objective, hidden=hidden, rates=learning_rate,
            epochs=epochs, seed=seed, jobs=jobs, engine=engine,
        )  # fmt: skip
        found = cross_validate(estimator, bags, y, folds, repeats, seed, "Cross-validating", quiet)
    document = {"data": str(data), "model": None if model is None else str(model), **scores(found)}
    if json:
        show_json(document)
    else:
        _show(document)


def _refuse_training_options(ctx: typer.Context) -> None:
    for name in FOR_CROSS_VALIDATION:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise Refused(f"{option} is for cross-validation, and --model scores a fitted model. Use one or the other.")


def _score(model: Path, data: Path, bag: str, label: str) -> Predictions:
    """Return a fitted model's predictions for the sets of a file."""
    import numpy as np

    from setrbm import load
    from setrbm.datasets.files import read_sets

    fitted = load(model)
    bags, y = read_sets(data, bag, label, **columns_of(fitted))
    truth = np.searchsorted(fitted.classes_, as_classes(fitted, y))
    return Predictions(fitted.classes_, truth, fitted.predict_log_proba(bags), [])


def scores(found: Predictions) -> dict[str, Any]:
    """Return accuracy, mean -log p, the scores of each class and the confusion matrix."""
    import numpy as np
    from sklearn.metrics import confusion_matrix

    predicted, codes = found.log_p.argmax(axis=1), np.arange(len(found.classes))
    confusion = confusion_matrix(found.truth, predicted, labels=codes)
    return {
        "predictions": len(found.truth),
        "right": int((predicted == found.truth).sum()),
        "accuracy": float((predicted == found.truth).mean()),
        "mean_negative_log_p": float(-found.log_p[np.arange(len(found.truth)), found.truth].mean()),
        "accuracy_by_fold": found.accuracies,
        "mean_accuracy_of_folds": float(np.mean(found.accuracies)) if found.accuracies else None,
        "standard_deviation_of_folds": float(np.std(found.accuracies, ddof=1)) if found.accuracies else None,
        "classes": _class_scores(found.classes, found.truth, predicted),
        "confusion": confusion.tolist(),
    }


def _class_scores(classes: Array, truth: Array, predicted: Array) -> list[dict[str, Any]]:
    from sklearn.metrics import precision_recall_fscore_support

    parts = precision_recall_fscore_support(truth, predicted, labels=range(len(classes)), zero_division=0.0)
    return [
        {"label": label, "sets": int(n), "precision": float(precision), "recall": float(recall), "f1": float(f1)}
        for label, precision, recall, f1, n in zip(classes.tolist(), *parts, strict=True)
    ]


def _show(document: dict[str, Any]) -> None:
    n_folds = len(document["accuracy_by_fold"])
    if n_folds:
        spread = f"standard deviation {percent(document['standard_deviation_of_folds'])}"
        typer.echo(f"accuracy      {percent(document['mean_accuracy_of_folds'])}, mean of {n_folds} folds, {spread}")
    else:
        right = f"{document['right']:,} of {count(document['predictions'], 'set')}"
        typer.echo(f"accuracy      {percent(document['accuracy'])}, {right}")
    typer.echo(f"mean -log p   {document['mean_negative_log_p']:.4f}")
    rows = [
        (c["label"], c["sets"], percent(c["precision"]), percent(c["recall"]), percent(c["f1"]))
        for c in document["classes"]
    ]
    show_table("", ("class", "sets", "precision", "recall", "F1"), rows)
    if len(document["classes"]) > MOST_CLASSES_SHOWN:
        typer.echo(f"The confusion matrix of {len(document['classes'])} classes is too wide to show; --json has it.")
        return
    labels = [str(c["label"]) for c in document["classes"]]
    matrix = zip(labels, document["confusion"], strict=True)
    show_table("", ("is \\ predicted", *labels), [(name, *row) for name, row in matrix])
