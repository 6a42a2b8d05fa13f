"""``setrbm evaluate``: scores of a fitted model, or by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from setrbm.cli._data import Source, refuse_swapped
from setrbm.cli._folds import cross_validate
from setrbm.cli._models import load_model, note_unknown, to_train, true_codes, unknown_documents
from setrbm.cli._options import (
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
    LabelOption,
    ObjectiveOption,
    PagesOption,
    PoolingOption,
    RatesOption,
    ScaleOption,
)
from setrbm.dask.options import CLUSTER_PARAMETERS, ClusterOptions
from setrbm.tools.commands import FAILED, Refused
from setrbm.tools.options import TRAINING, JsonOption, QuietOption, SeedOption, with_options
from setrbm.tools.output import show_json
from setrbm.tools.scores import show_scores

if TYPE_CHECKING:
    from setrbm.evaluation.scores import Predictions

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
