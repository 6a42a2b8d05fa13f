"""``setrbm fit``: fit a model to a file of sets."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._data import DataFile, refuse_data_name, refuse_swapped
from setrbm.cli._options import BagOption, DataArgument, ForceOption, IgnoreOption, LabelOption, PagesOption
from setrbm.cli._progress import FitProgress
from setrbm.cli._training import TrainingOptions, errors_of_training
from setrbm.tools.options import JsonOption, QuietOption, with_options
from setrbm.tools.output import check_output, show_json
from setrbm.tools.progress import Bar
from setrbm.tools.text import count

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.text import PageTexts


@with_options("options", TrainingOptions)
def fit(
    data: DataArgument,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File to write, such as model.safetensors.")],
    options: TrainingOptions,
    bag: BagOption = "bag",
    label: LabelOption = "label",
    ignore: IgnoreOption = None,
    pages: PagesOption = "pages",
    force: ForceOption = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Fit a model to a file of labeled sets.

    Learning rates and initial scales that are not given are chosen: they are tried side by side, judged on held-out
    sets, and the best are refitted on all sets ten times (five times for sparse sets, or with another pooling than
    mixed); the fits are averaged.

    Page texts are turned into word vectors, and settings that are not given suit them: no scaling, and larger learning
    rates. The model file has the words as well.
    """
    refuse_swapped(model, data, "fit {data} {model}")
    file = DataFile.of(data, bag, label, ignore, pages)
    check_output(model, force, data)
    refuse_data_name(model)
    bags, y, estimator = options.read(file)
    begin = time.perf_counter()
    classifier = fit_with_bar(estimator, bags, y, "Fitting", quiet)
    _write(estimator, model, force)
    data_read = {"sets": len(bags), **({"pages": bags.n_pages} if file.holds_texts else {"vectors": bags.n_vectors})}
    summary = data_read | _summary(classifier, y) | {"seconds": time.perf_counter() - begin, "model": str(model)}
    (show_json if json else _show)(summary)


def _write(estimator: Any, path: Path, force: bool) -> None:
    """Write the model; an existing file is replaced only by force."""
    from setrbm import save
    from setrbm.tools.files import completing

    with completing(path, overwrite=force) as unfinished:
        save(estimator, unfinished)


def fit_with_bar(estimator: Any, bags: Bags | PageTexts, y: Array, title: str, quiet: bool) -> Any:
    """Fit a ClassSetRBMCV, or a pipeline that ends with one, with a progress bar on stderr; return the former."""
    from setrbm.estimators.pipelines import last_step

    classifier = last_step(estimator)
    with Bar(title, total=1.0, quiet=quiet, bound="at most") as bar, errors_of_training(estimator):
        classifier.set_callbacks(FitProgress(bar))
        estimator.fit(bags, y)
    return classifier.set_callbacks()


def _summary(estimator: Any, y: Array) -> dict[str, Any]:
    sets_of_class = {name: int((y == name).sum()) for name in estimator.classes_.tolist()}
    return {
        "features": estimator.n_features_in_,
        "classes": [{"label": name, "sets": n} for name, n in sets_of_class.items()],
        "settings": {name: getattr(estimator.settings_, name) for name in estimator.CHOOSABLE},
        "chosen": estimator.best_params_,
        "candidates": len(estimator.cv_results_["params"]),
        "epochs": estimator.best_epoch_,
        # If every class has one set, nothing is held out.
        "judged_on": "held-out sets" if max(sets_of_class.values()) > 1 else "training sets",
        "mean_negative_log_p": -estimator.best_score_,
    }


def _caution(summary: dict[str, Any]) -> str:
    """Return why the loss is lower than it would be on new sets; nothing if it is not."""
    if "pages" in summary:
        return " (optimistic: their labels had a part in the weights of the words)"
    several = summary["candidates"] > 1
    return f" (optimistic: best of {summary['candidates']} candidates)" if several else ""


def _show(summary: dict[str, Any]) -> None:
    vector, feature = ("page", "word") if "pages" in summary else ("vector", "feature")
    names = ", ".join(f"{c['label']} ({c['sets']:,})" for c in summary["classes"][:8])
    more = ", ..." if len(summary["classes"]) > 8 else ""
    # Nothing is chosen if every setting has one value.
    chosen = [f"{name} {value}" for name, value in summary["chosen"].items()]
    typer.echo(
        f"sets       {summary['sets']:,}, with {count(summary[f'{vector}s'], vector)}; "
        f"{count(summary['features'], feature)}\n"
        f"classes    {len(summary['classes'])}: {names}{more}\n"
        f"chosen     {', '.join([*chosen, count(summary['epochs'], 'epoch')])}\n"
        f"loss       {summary['mean_negative_log_p']:.4f}, mean -log p on {summary['judged_on']}{_caution(summary)}\n"
        f"time       {summary['seconds']:.1f} s\n"
        f"model      {summary['model']}"
    )
