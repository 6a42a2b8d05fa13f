"""``setrbm predict``: predict the class of each set of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._cluster import score_on_cluster, show_results
from setrbm.cli._data import DataFile, refuse_swapped
from setrbm.cli._models import load_model, note_unknown, unknown_documents
from setrbm.cli._options import (
    BagOption,
    DataArgument,
    ForceOption,
    IgnoreNewOption,
    LabelOption,
    ModelArgument,
    PagesOption,
)
from setrbm.dask.options import ClusterOptions
from setrbm.tools.commands import Refused
from setrbm.tools.options import JsonOption, QuietOption, with_options
from setrbm.tools.output import check_output, show_json
from setrbm.tools.text import count

if TYPE_CHECKING:
    from setrbm.bags import Bags
    from setrbm.dask import Scoring
    from setrbm.datasets.predicted import Predicted
    from setrbm.text import PageTexts


@with_options("cluster", ClusterOptions)
def predict(
    model: ModelArgument,
    data: DataArgument,
    cluster: ClusterOptions,
    bag: BagOption = "bag",
    label: LabelOption = "label",
    ignore: IgnoreNewOption = None,
    pages: PagesOption = "pages",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the CSV here instead of to stdout. With --cluster, a folder for Parquet files.",
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    check_range: Annotated[
        bool, typer.Option("--check-range", help="Count on stderr what lies outside the range seen in training.")
    ] = False,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Predict the class of each set of a file, one row per set.

    The label column may be missing and is ignored. Features are found by name if the model knows their names; other
    columns are ignored then. Of page texts, the documents without any known word are counted on stderr.

    With --cluster, DATA may be a folder of such files and of shards (.npz), and -o names a folder, which gets a Parquet
    file for each. Existing outputs are kept, so the same command resumes. Documents without any known word are not
    counted then.
    """
    refuse_swapped(model, data, "predict {model} {data}")
    file = DataFile.of(data, bag, label, ignore, pages)
    if cluster.cluster is not None:
        if check_range or force:
            raise Refused("With --cluster, neither --check-range nor --force can be used.")
        results = score_on_cluster(cluster, model, data, output, _scoring(file, proba), quiet)
        show_results(results, model, data, output, json)
        return
    with cluster.connect():
        _predict_here(model, file, output, proba, check_range, force, json)


def _scoring(data: DataFile, proba: bool) -> Scoring:
    from setrbm.dask import Scoring

    return Scoring(**vars(data.columns), probabilities=proba)


def _predict_here(
    model: Path, data: DataFile, output: Path | None, proba: bool, check_range: bool, force: bool, json: bool
) -> None:
    """Predict in this process, and show or write the result."""
    from setrbm.datasets.predicted import as_csv, predicted

    if output is not None:
        check_output(output, force, model, data.path)
    fitted = load_model(model, "predict", "predict_proba")
    bags = data.sets(fitted)
    ranges = _ranges(fitted, bags, data.holds_texts) if check_range else {}
    predictions = predicted(fitted, bags)
    table = as_csv(predictions.columns(data.columns.bag, data.columns.label, proba))
    unknown = unknown_documents(fitted, data, bags)
    if output is not None:
        from setrbm.tools.files import write_atomically

        write_atomically(output, table.encode(), overwrite=force)
        typer.echo(f"Wrote the classes of {count(len(bags), 'set')} to {output}.", err=True)
    if check_range:
        typer.echo(_in_words(ranges, "page" if data.holds_texts else "vector"), err=True)
    note_unknown(unknown, len(bags))
    if json:
        counts = ({"range": ranges} if ranges else {}) | unknown
        show_json({"model": str(model), "data": str(data.path), **counts, "sets": _as_json(predictions, proba)})
    elif output is None:
        typer.echo(table, nl=False)


def _ranges(fitted: Any, bags: Bags | PageTexts, are_texts: bool) -> dict[str, Any]:
    """Return the counts of values outside the range of their feature, and of sets larger than any in training."""
    classifier, seen = _what_it_sees(fitted, bags, are_texts)
    counts = classifier.check_range(seen)
    names = getattr(seen, "feature_names", None)
    names = range(len(counts.by_feature)) if names is None else names.tolist()
    # A step that pools the vectors of a set leaves no sizes to compare.
    largest = counts.largest_set if hasattr(seen, "sizes") else 0
    by_count = sorted(zip(names, counts.by_feature.tolist(), strict=True), key=lambda pair: -pair[1])
    return {
        "values": counts.n_values,
        "values_outside": counts.n_values_outside,
        "sets_with_values_outside": counts.n_sets_outside,
        "values_outside_by_feature": {str(name): n for name, n in by_count if n},
        "largest_set_in_training": largest or None,
        "larger_sets": counts.n_larger_sets if largest else None,
    }


def _what_it_sees(fitted: Any, bags: Bags | PageTexts, are_texts: bool) -> tuple[Any, Any]:
    """Return the classifier of a file and its input: of a pipeline, the last step and what the others pass to it."""
    from setrbm.estimators.pipelines import input_of_last_step, last_step

    classifier = last_step(fitted)
    if getattr(classifier, "scale", None) is None and are_texts:
        raise Refused(
            "--check-range is for numbers: the weights of words have no range. Documents without any known word are "
            "counted without this option."
        )
    if getattr(classifier, "scale", None) is None:
        raise Refused(
            "--check-range needs a classifier fitted with --scale auto (in Python, scale='auto'), which keeps the "
            f"range of each feature. The {type(classifier).__name__} of this file was fitted without."
        )
    return classifier, input_of_last_step(fitted, bags)


def _in_words(ranges: dict[str, Any], vector: str) -> str:
    from setrbm.tools.text import listed

    n, most = ranges["values_outside"], ranges["largest_set_in_training"]
    words = f"Outside the range seen in training: {n:,} of {count(ranges['values'], 'value')}"
    if n:
        worst = listed((f"{name}: {times:,}" for name, times in ranges["values_outside_by_feature"].items()), 3)
        words += f", in {count(ranges['sets_with_values_outside'], 'set')} ({worst})"
    if most is not None:
        words += f"; {count(ranges['larger_sets'], 'set')} with more than {count(most, vector)}, the most in training"
    return f"{words}."


def _as_json(predictions: Predicted, every: bool) -> list[dict[str, Any]]:
    """Return the id, the most probable class and its probability of each set; every probability if asked.

    Of a reject option also whether the set is accepted.
    """
    columns = predictions.columns("set", "label", every=False)
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    answers = [dict(zip(columns, row, strict=True)) for row in rows]
    names = [str(name) for name in predictions.classes.tolist()]
    if every:
        for answer, p in zip(answers, predictions.p.tolist(), strict=True):
            answer["probabilities"] = dict(zip(names, p, strict=True))
    return answers
