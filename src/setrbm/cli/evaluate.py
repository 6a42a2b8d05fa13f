"""``setrbm evaluate``: scores of a fitted model, or by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from setrbm.cli._data import DataFile, refuse_swapped
from setrbm.cli._folds import cross_validate
from setrbm.cli._models import load_model, note_unknown, true_codes, unknown_documents
from setrbm.cli._options import BagOption, DataArgument, IgnoreOption, LabelOption, PagesOption
from setrbm.cli._training import TrainingOptions
from setrbm.dask.options import ClusterOptions
from setrbm.tools.commands import FAILED, Refused
from setrbm.tools.options import TRAINING, JsonOption, QuietOption, names_of, with_options
from setrbm.tools.output import show_json
from setrbm.tools.scores import show_scores

if TYPE_CHECKING:
    from setrbm.evaluation.scores import Predictions

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
@with_options("options", TrainingOptions)
def evaluate(
    ctx: typer.Context,
    data: DataArgument,
    options: TrainingOptions,
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
    file = DataFile.of(data, bag, label, ignore, pages)
    if model is not None:
        _refuse_training_options(ctx)
        _show(data, model, _score(model, file), [], json)
        return
    cluster.refuse_with(jobs=options.jobs, engine="gpu" if options.engine == "gpu" else None)
    bags, y, estimator = options.read(file)
    with cluster.connect() as on:
        predictions, failures = cross_validate(
            estimator, bags, y, folds, repeats, options.seed, "Cross-validating", quiet, on
        )
    _show(data, None, predictions, failures, json)


def _show(data: Path, model: Path | None, predictions: Predictions, failures: list[str], json: bool) -> None:
    """Show scores, and the folds that failed, if any; these are an error."""
    from setrbm.evaluation.scores import all_scores

    document = {"data": str(data), "model": None if model is None else str(model), **all_scores(predictions)}
    (show_json if json else show_scores)(document | ({"failed": failures} if failures else {}))
    for failure in failures:
        typer.echo(f"Failed: {failure}", err=True)
    if failures:
        typer.echo("The scores are those of the other folds.", err=True)
        raise typer.Exit(FAILED)


def _refuse_training_options(ctx: typer.Context) -> None:
    """Refuse the options that do not apply to a fitted model."""
    for name in ("folds", "repeats", *names_of(TrainingOptions), *names_of(ClusterOptions)):
        given_by = ctx.get_parameter_source(name)
        if given_by is not None and given_by.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise Refused(f"{option} is for cross-validation, and --model scores a fitted model. Use one or the other.")


def _score(model: Path, data: DataFile) -> Predictions:
    """Return a fitted model's predictions for the sets of a file."""
    from setrbm.evaluation.scores import Predictions

    fitted = load_model(model, "evaluate", "predict_log_proba")
    bags, y = data.labeled(fitted)
    truth = true_codes(fitted, data, bags, y)
    note_unknown(unknown_documents(fitted, data, bags), len(bags))
    accepted = fitted.accepts(bags) if hasattr(fitted, "accepts") else None
    return Predictions(fitted.classes_, truth, fitted.predict_log_proba(bags), [], accepted)
