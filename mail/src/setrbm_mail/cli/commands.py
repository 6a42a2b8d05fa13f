"""``setrbm-mail``: from folders of scanned mail to classes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.dask.options import ClusterOptions
from setrbm.tools.commands import Refused
from setrbm.tools.options import JsonOption, QuietOption, SeedOption, with_options
from setrbm.tools.output import check_output_folder, percent, show_json, show_table
from setrbm.tools.text import count
from setrbm_mail.cli.reader import (
    FolderArgument,
    ManifestOption,
    ModelArgument,
    OutputOption,
    Reader,
    ReadingOptions,
    warn_of_problems,
    write_csv,
    write_json,
)

if TYPE_CHECKING:
    from setrbm.evaluation.scores import Predictions
    from setrbm_mail import Document, Problem
    from setrbm_mail.answers import Answer
    from setrbm_mail.cli.reader import Labeled

MODEL = "model.safetensors"
OUTPUT = Path("documents-output")
# How many documents for a person are listed in the terminal.
MOST_LISTED = 20


def generate(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write to; made if it does not exist.")],
    sets: Annotated[int, typer.Option("--sets", metavar="N", min=1, help="Pieces of mail.")] = 100,
    pages: Annotated[float, typer.Option("--pages", metavar="X", min=1.0, help="Mean number of pages.")] = 3.0,
    classes: Annotated[int, typer.Option("--classes", metavar="N", min=3, max=11, help="Number of classes.")] = 6,
    noise: Annotated[
        float, typer.Option("--noise", metavar="X", min=0.0, max=1.0, help="How bad the worst scans are.")
    ] = 0.5,
    formats: Annotated[
        str, typer.Option("--formats", metavar="NAMES", help="File formats, separated by commas.")
    ] = "pdf,tiff,jpeg,eml",
    held_out_phrases: Annotated[
        bool, typer.Option("--held-out-phrases", help="Use only phrases that other generated mail does not use.")
    ] = False,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Generate scanned mail: letters, forms, invoices, checks, envelopes and more, with a manifest of the true classes.

    The same options give the same files. After a kill, run the same command again: whole files are kept.
    """
    from setrbm.tools.progress import Bar
    from setrbm_mail.generate import generate_mail

    check_output_folder(folder)
    with Bar("Generating", sets, quiet) as bar:
        manifest = generate_mail(
            folder, sets, formats=tuple(formats.split(",")), noise=(0.0, noise), held_out_phrases=held_out_phrases,
            random_state=seed, n_classes=classes, pages_per_set=pages,
            on_piece=lambda n: bar.show(n, f"{n:,} of {sets:,} pieces of mail"),
        )  # fmt: skip
    typer.echo(f"Wrote {count(sets, 'piece')} of mail with {count(manifest.n_pages, 'page')} to {folder}.")


@with_options("cluster", ClusterOptions)
@with_options("options", ReadingOptions)
def fit(
    folder: FolderArgument,
    options: ReadingOptions,
    cluster: ClusterOptions,
    output: OutputOption = OUTPUT,
    manifest: ManifestOption = None,
    precision: Annotated[
        float,
        typer.Option(
            "--precision",
            metavar="P",
            min=0.0,
            max=1.0,
            help="Precision that accepted answers must have; 0 accepts every answer.",
        ),
    ] = 0.95,
    features: Annotated[
        str,
        typer.Option(
            "--features",
            metavar="NAMES",
            help="What the model sees of a page, separated by commas: words, grid, layout, types. On generated mail, "
            "words alone are as good as all of them.",
        ),
    ] = "words",
    seed: SeedOption = 0,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Learn the classes of documents, and how sure an answer must be to be accepted.

    The documents are in one folder per class, or listed in a manifest. Three tenths of them are held out: on these the
    threshold is set, so that with 95 % confidence the wanted part of the accepted answers is right. The other documents
    are left to a person. A precision of 0.95 takes at least 200 documents, of 0.9 at least 100, and more if the model
    errs.
    """
    from setrbm import save
    from setrbm_mail.answers import document_classifier

    model = document_classifier(
        precision or None, blocks=_blocks(features), n_jobs=options.jobs, random_state=seed
    )  # fmt: skip
    known = Reader(folder, output, options, cluster, quiet).labeled(manifest, partial(_check_enough, precision))
    _check_enough(precision, known.classes)
    classes = sorted(set(known.classes))
    begin = time.perf_counter()
    save(model.fit(known.documents, known.classes), output / MODEL)
    summary = {
        "model": str(output / MODEL), "documents": len(known.documents), "pages": known.documents.n_pages,
        "classes": classes, "precision": precision,
        "share_left_to_people": getattr(model, "share_left_", (0.0,))[0],
        "seconds": round(time.perf_counter() - begin, 1),
    }  # fmt: skip
    (show_json if json else _show_learned)(summary)


def _blocks(features: str) -> tuple[str, ...]:
    """Return the blocks of features that are asked for."""
    from setrbm_mail.features.document_features import BLOCKS

    blocks = tuple(name.strip() for name in features.split(","))
    if len(set(blocks)) < len(blocks) or not set(blocks) <= set(BLOCKS):
        raise Refused(f"--features must be some of {', '.join(BLOCKS)}, each once. Got {features!r}.")
    return blocks


def _show_learned(summary: dict[str, Any]) -> None:
    learned = f"{count(len(summary['classes']), 'class')} from {count(summary['documents'], 'document')}"
    typer.echo(f"Learned {learned}: {summary['model']}.")
    wanted, left = percent(summary["precision"]), summary["share_left_to_people"]
    if not summary["precision"]:
        typer.echo("It accepts every answer.")
    elif left == 1.0:
        typer.echo(
            f"It will leave every document to a person: no threshold makes {wanted} of its answers right. Use a lower "
            "--precision, or more documents."
        )
    else:
        typer.echo(f"To be right in {wanted} of its answers, it leaves about {percent(left)} to a person.")


def _check_enough(precision: float, classes: Sequence[str]) -> None:
    """Refuse documents that are too few to learn from, or to show the precision."""
    from setrbm.selective import RejectOption
    from setrbm.selective.promise import fewest_sets

    if len(set(classes)) < 2:
        raise Refused(f"There must be documents of at least two classes. Got {count(len(set(classes)), 'class')}.")
    if not precision:
        return
    usual = RejectOption(None)
    needed = math.ceil((fewest_sets(precision, usual.confidence) + 1) / usual.held_out)
    if len(classes) < needed:
        raise Refused(
            f"A precision of {precision:g} takes at least {needed:,} documents, three tenths of them held out. Got "
            f"{len(classes):,}. Use a lower --precision, or more documents; --precision 0 accepts every answer."
        )


@with_options("cluster", ClusterOptions)
@with_options("options", ReadingOptions)
def classify(
    model: ModelArgument,
    folder: FolderArgument,
    options: ReadingOptions,
    cluster: ClusterOptions,
    output: OutputOption = OUTPUT,
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            metavar="P",
            help="Precision that accepted answers must have, between 0 and 1, if not that of the model. It holds if it "
            "was chosen before looking at the answers.",
            show_default=False,
        ),
    ] = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Classify the documents of a folder, or leave them to a person.

    Writes answers.csv and answers.json with the class of each document, how sure it is, and the page and words that
    matter most; for-a-person.csv with the documents that a person must look at, and why; problems.csv with what could
    not be read. Every document of the folder is in answers.csv.
    """
    from setrbm_mail.answers import classify as answers_of

    fitted, reader = _with_precision(_load(model), precision), Reader(folder, output, options, cluster, quiet)
    reader.check()
    problems: list[Problem] = []
    answers = answers_of(fitted, _noting(problems, reader.documents()))
    warn_of_problems(problems, output)
    _write_answers(answers, output)
    if json:
        show_json({"model": str(model), "folder": str(folder), "documents": [answer.to_json() for answer in answers]})
        return
    _show_answers(answers, output)


def _with_precision(fitted: Any, precision: float | None) -> Any:
    """Return a model that promises another precision, if one is wanted."""
    if precision is None:
        return fitted
    if not hasattr(fitted, "with_precision"):
        raise Refused("--precision needs a model with a reject option. This one was fitted with --precision 0.")
    return fitted.with_precision(precision)


def _noting(problems: list[Problem], documents: Iterable[Document]) -> Iterator[Document]:
    """Yield documents, and add their problems to a list."""
    for document in documents:
        problems += document.problems
        yield document


def _load(path: Path) -> Any:
    from setrbm import load
    from setrbm.estimators.pipelines import first_step
    from setrbm_mail.features.document_features import DocumentFeatures

    fitted = load(path)
    if not isinstance(first_step(fitted), DocumentFeatures):
        raise Refused(
            f"{str(path)!r} must be a model of documents, as `setrbm-mail fit` writes it. Got a "
            f"{type(first_step(fitted)).__name__}; use `setrbm predict` for it."
        )
    return fitted


def _write_answers(answers: list[Answer], output: Path) -> None:
    heads = ("document", "label", "probability", "accepted", "page", "place", "words", "why_a_person")
    rows = [
        (
            answer.document, answer.label, "" if answer.probability is None else f"{answer.probability:.4f}",
            str(answer.is_accepted).lower(), answer.page, answer.place, "; ".join(answer.words), answer.why_a_person,
        )
        for answer in answers
    ]  # fmt: skip
    write_csv(output / "answers.csv", heads, rows)
    write_csv(output / "for-a-person.csv", heads, [row for row in rows if row[-1]])
    write_json(output / "answers.json", [answer.to_json() for answer in answers])


def _show_answers(answers: list[Answer], output: Path) -> None:
    accepted = [answer for answer in answers if answer.is_accepted]
    by_class: dict[Any, int] = {}
    for answer in accepted:
        by_class[answer.label] = by_class.get(answer.label, 0) + 1
    if not answers:
        typer.echo("There are no documents in the folder.", err=True)
    if accepted:
        show_table("", ("class", "documents"), sorted(by_class.items(), key=lambda pair: -pair[1]))
    left = [answer for answer in answers if not answer.is_accepted]
    typer.echo(f"For a person: {len(left):,} of {count(len(answers), 'document')}.")
    for answer in left[:MOST_LISTED]:
        guess = f" (perhaps {answer.label})" if answer.label is not None else ""
        typer.echo(f"  {answer.document}: {answer.why_a_person}{guess}")
    if len(left) > MOST_LISTED:
        typer.echo(f"  ... and {len(left) - MOST_LISTED:,} more in {output / 'for-a-person.csv'}")
    typer.echo(f"All answers: {output / 'answers.csv'}, {output / 'answers.json'}.")


@with_options("cluster", ClusterOptions)
@with_options("options", ReadingOptions)
def explain(
    model: ModelArgument,
    folder: FolderArgument,
    options: ReadingOptions,
    cluster: ClusterOptions,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", metavar="ID", help="Only this document; may be repeated.")
    ] = None,
    output: OutputOption = OUTPUT,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Show which page of each document matters most, and which words: a picture of it, with these words marked.

    Writes explanations.json and the pictures.
    """
    from setrbm_mail.answers import classify as answers_of
    from setrbm_mail.pictures import marked_pages

    fitted, reader = _load(model), Reader(folder, output, options, cluster, quiet)
    reader.check()
    documents = [*reader.documents(document)]
    answers = answers_of(fitted, documents)
    pictures = marked_pages(
        folder, documents, answers, output / "pictures", limits=options.limits, n_jobs=options.jobs
    )  # fmt: skip
    explained = [
        answer.to_json() | {"picture": None if path is None else str(path)}
        for answer, path in zip(answers, pictures, strict=True)
    ]
    write_json(output / "explanations.json", explained)
    if json:
        show_json(explained)
        return
    for answer, picture in zip(answers, pictures, strict=True):
        typer.echo(f"{answer.document}: {answer.label if answer.label is not None else answer.why_a_person}")
        if answer.page is not None:
            typer.echo(f"  {answer.place}: {', '.join(answer.words)}\n  {picture or 'The page could not be drawn.'}")


@with_options("cluster", ClusterOptions)
@with_options("options", ReadingOptions)
def evaluate(
    model: ModelArgument,
    folder: FolderArgument,
    options: ReadingOptions,
    cluster: ClusterOptions,
    output: OutputOption = OUTPUT,
    manifest: ManifestOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Measure a model on labeled documents that it did not learn from; draw precision against what is accepted.

    Documents of which nothing could be read have no class; their number is shown. Those of which something could not be
    read are left to a person, as by classify.
    """
    from setrbm.evaluation.scores import all_scores
    from setrbm.tools.scores import show_scores

    fitted = _load(model)
    check = partial(_check_known, fitted.classes_.tolist())
    known = Reader(folder, output, options, cluster, quiet).labeled(manifest, check)
    predictions = _predictions(fitted, known)
    scores = {"model": str(model), "folder": str(folder), "not_read": known.n_lost, **all_scores(predictions)}
    write_json(output / "scores.json", scores)
    picture = _draw_curves(fitted, known, output)
    if json:
        show_json(scores)
        return
    show_scores(scores)
    if known.n_lost:
        typer.echo(f"{count(known.n_lost, 'document')} could not be read, and would be left to a person.")
    typer.echo(f"Scores: {output / 'scores.json'}." + (f" Curves: {picture}." if picture else ""))


def _check_known(known: Sequence[str], classes: Sequence[str]) -> None:
    if unknown := sorted(set(classes) - set(known)):
        raise Refused(f"The model knows the classes {', '.join(known)}. Got documents of class {unknown[0]!r}.")


def _predictions(fitted: Any, known: Labeled) -> Predictions:
    """Return the predictions for documents; accepted are those that classify accepts."""
    import numpy as np

    from setrbm.evaluation.scores import Predictions
    from setrbm_mail.answers import classify as answers_of

    codes = {label: k for k, label in enumerate(fitted.classes_.tolist())}
    truth = np.array([codes[label] for label in known.classes])
    accepted = np.array([answer.is_accepted for answer in answers_of(fitted, known.documents)])
    return Predictions(fitted.classes_, truth, fitted.predict_log_proba(known.documents), [], accepted)


def _draw_curves(fitted: Any, known: Labeled, output: Path) -> Path | None:
    """Draw precision against the share of accepted documents, and against recall, if matplotlib is installed."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        typer.echo("No curves were drawn: matplotlib is not installed. Run: pip install 'setrbm[plot]'", err=True)
        return None
    from matplotlib.figure import Figure

    from setrbm.selective import PrecisionCoverageDisplay, SelectivePrecisionRecallDisplay

    path, figure = output / "curves.png", Figure(figsize=(9.0, 3.6), layout="constrained")
    displays = (PrecisionCoverageDisplay, SelectivePrecisionRecallDisplay)
    for display, axes in zip(displays, figure.subplots(1, 2), strict=True):
        display.from_estimator(fitted, known.documents, known.classes, name="documents", ax=axes)
        if hasattr(fitted, "precision"):
            axes.axhline(fitted.precision, color="0.5", linewidth=0.8, linestyle="--", label="wanted precision")
            axes.legend()
    figure.savefig(path, dpi=150)
    return path
