"""``setrbm evaluate``: scores of a fitted model, or by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._cluster import CLUSTER_PARAMETERS, ClusterOptions
from setrbm.cli._data import Source, refuse_swapped
from setrbm.cli._errors import FAILED, Refused
from setrbm.cli._folds import cross_validate
from setrbm.cli._models import load_model, note_unknown, to_train, true_codes, unknown_documents
from setrbm.cli._options import (
    TRAINING,
    BagOption,
    CalibrateOption,
    ClassWeightOption,
    ConstraintOption,
    DataArgument,
    Engine,
    EngineOption,
    EpochsOption,
    HiddenOption,
    IgnoreOption,
    JobsOption,
    JsonOption,
    LabelOption,
    ObjectiveOption,
    PagesOption,
    PoolingOption,
    QuietOption,
    RatesOption,
    ScaleOption,
    SeedOption,
    with_options,
)
from setrbm.cli._output import count, fits, percent, show_json, show_table

if TYPE_CHECKING:
    from setrbm.evaluation.scores import Predictions

# A confusion matrix of more classes is wider than a terminal.
MOST_CLASSES_SHOWN = 10
# The options that do not apply to a fitted model.
FOR_CROSS_VALIDATION = (
    "folds", "repeats", "constraint", "pooling", "objective", "hidden", "learning_rate", "epochs", "scale",
    "class_weight", "calibrate", "seed", "jobs", "engine", *CLUSTER_PARAMETERS,
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


@with_options("cluster", ClusterOptions)
def evaluate(
    ctx: typer.Context,
    data: DataArgument,
    cluster: ClusterOptions,
    model: FittedOption = None,
    bag: BagOption = "bag",
    label: LabelOption = "label",
    ignore: IgnoreOption = None,
    pages: PagesOption = "pages",
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
    scale: ScaleOption = None,
    class_weight: ClassWeightOption = None,
    calibrate: CalibrateOption = False,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    engine: EngineOption = Engine.AUTO,
) -> None:
    """Measure how well labeled sets are classified: by a fitted model, or by cross-validation.

    With --model, the fitted model is scored on DATA, which it should not have been trained on. Without it, DATA are
    cross-validated: whole sets are split into stratified folds, and each fold is predicted by a model that chose its
    settings and learned from the other folds only.

    Shown are accuracy; balanced accuracy, the mean of the recalls of the classes; ROC AUC, with more than two classes
    the mean over the classes of each against the rest; the mean of -log p of the true class; precision, recall and F1
    of each class; and the confusion matrix. Of a model with a reject option also the share of the sets that are
    accepted, and their accuracy.
    """
    refuse_swapped(model, data, "evaluate {data} --model {model}")
    source = Source.of(data, bag, label, ignore, pages)
    if model is not None:
        _refuse_training_options(ctx)
        _show(data, model, _score(model, source), [], json)
        return
    cluster.refuse_with(jobs=jobs, engine=engine if engine is Engine.GPU else None)
    bags, y, estimator = to_train(
        source, objective, scale, class_weight, constraint=constraint, pooling=pooling, hidden=hidden,
        rates=learning_rate, epochs=epochs, calibrate=calibrate, seed=seed, jobs=jobs, engine=engine,
    )  # fmt: skip
    with cluster.connect() as on:
        found = cross_validate(estimator, bags, y, folds, repeats, seed, "Cross-validating", quiet, on)
    _show(data, None, *found, json)


def _show(data: Path, model: Path | None, found: Predictions, failures: list[str], json: bool) -> None:
    """Show scores, and the folds that failed, if any; these are an error."""
    from setrbm.evaluation.scores import all_scores

    document = {"data": str(data), "model": None if model is None else str(model), **all_scores(found)}
    (show_json if json else show_scores)(document | ({"failed": failures} if failures else {}))
    for failure in failures:
        typer.echo(f"Failed: {failure}", err=True)
    if failures:
        typer.echo("The scores are those of the other folds.", err=True)
        raise typer.Exit(FAILED)


def _refuse_training_options(ctx: typer.Context) -> None:
    for name in FOR_CROSS_VALIDATION:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise Refused(f"{option} is for cross-validation, and --model scores a fitted model. Use one or the other.")


def _score(model: Path, source: Source) -> Predictions:
    """Return a fitted model's predictions for the sets of a file."""
    from setrbm.evaluation.scores import Predictions

    fitted = load_model(model, "evaluate", "predict_log_proba")
    bags, y = source.labeled(fitted)
    truth = true_codes(fitted, source, bags, y)
    note_unknown(unknown_documents(fitted, source, bags), len(bags))
    accepted = fitted.accepts(bags) if hasattr(fitted, "accepts") else None
    return Predictions(fitted.classes_, truth, fitted.predict_log_proba(bags), [], accepted)


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
