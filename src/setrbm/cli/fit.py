"""``setrbm fit``: fit a model to a file of sets."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._data import Source, check_for_training
from setrbm.cli._models import class_weights, new_model, training
from setrbm.cli._options import (
    BagOption,
    CalibrateOption,
    ClassWeightOption,
    ConstraintOption,
    DataArgument,
    Engine,
    EngineOption,
    EpochsOption,
    ForceOption,
    HiddenOption,
    IgnoreOption,
    JobsOption,
    JsonOption,
    LabelOption,
    ObjectiveOption,
    PoolingOption,
    QuietOption,
    RatesOption,
    ScaleOption,
    SeedOption,
)
from setrbm.cli._output import check_output, count, show_json
from setrbm.cli._progress import Bar, FitProgress

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags


def fit(
    data: DataArgument,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File to write, such as model.safetensors.")],
    bag: BagOption = "bag",
    label: LabelOption = "label",
    ignore: IgnoreOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
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
    """Fit a model to a file of labeled sets.

    Learning rates and initial scales that are not given are chosen: they are tried side by side, judged on held-out
    sets, and the best are refitted on all sets five times; the five fits are averaged.
    """
    from setrbm._files import completing

    source = Source.of(data, bag, label, ignore)
    check_output(model, force, data)
    bags, y = source.labeled()
    check_for_training(source, bags, y, objective, scale)
    estimator = new_model(
        constraint=constraint, pooling=pooling, objective=objective, hidden=hidden, rates=learning_rate,
        epochs=epochs, scale=scale, class_weight=class_weights(class_weight, y), calibrate=calibrate, seed=seed,
        jobs=jobs, engine=engine,
    )  # fmt: skip
    begin = time.perf_counter()
    fit_with_bar(estimator, bags, y, "Fitting", quiet)
    with completing(model, overwrite=force) as unfinished:
        estimator.save(unfinished)
    summary = _summary(estimator, bags, y) | {"seconds": time.perf_counter() - begin, "model": str(model)}
    (show_json if json else _show)(summary)


def fit_with_bar(estimator: Any, bags: Bags, y: Array, title: str, quiet: bool) -> None:
    """Fit a ClassSetRBMCV with a progress bar on stderr."""
    with Bar(title, total=1.0, quiet=quiet, bound="at most") as bar, training(estimator):
        estimator.set_callbacks(FitProgress(bar)).fit(bags, y)
    estimator.set_callbacks()


def _summary(estimator: Any, bags: Bags, y: Array) -> dict[str, Any]:
    sets_of_class = {name: int((y == name).sum()) for name in estimator.classes_.tolist()}
    return {
        "sets": len(bags),
        "vectors": bags.n_vectors,
        "features": bags.shape[1],
        "classes": [{"label": name, "sets": n} for name, n in sets_of_class.items()],
        "settings": {name: getattr(estimator.settings_, name) for name in estimator.CHOOSABLE},
        "chosen": estimator.best_params_,
        "candidates": len(estimator.cv_results_["params"]),
        "epochs": estimator.best_epoch_,
        # If every class has one set, nothing is held out.
        "judged_on": "held-out sets" if max(sets_of_class.values()) > 1 else "training sets",
        "mean_negative_log_p": -estimator.best_score_,
    }


def _show(summary: dict[str, Any]) -> None:
    names = ", ".join(f"{c['label']} ({c['sets']:,})" for c in summary["classes"][:8])
    more = ", ..." if len(summary["classes"]) > 8 else ""
    chosen = ", ".join(f"{name} {value}" for name, value in summary["chosen"].items())
    typer.echo(
        f"sets       {summary['sets']:,}, with {count(summary['vectors'], 'vector')} of "
        f"{count(summary['features'], 'feature')}\n"
        f"classes    {len(summary['classes'])}: {names}{more}\n"
        f"chosen     {chosen}, {count(summary['epochs'], 'epoch')}\n"
        f"loss       {summary['mean_negative_log_p']:.4f}, mean -log p on {summary['judged_on']} (optimistic: "
        f"best of {count(summary['candidates'], 'candidate')})\n"
        f"time       {summary['seconds']:.1f} s\n"
        f"model      {summary['model']}"
    )
