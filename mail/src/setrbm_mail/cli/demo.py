"""``setrbm-mail demo``: mail is generated, read by OCR, learned and classified; a page shows what happened."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.tools.options import JsonOption
from setrbm.tools.output import check_output_folder, percent, show_json
from setrbm.tools.progress import Bar
from setrbm.tools.text import count

if TYPE_CHECKING:
    from setrbm_mail import Documents
    from setrbm_mail.answers import Answer
    from setrbm_mail.generate import Manifest

# What two cores generate, read and learn in about six minutes.
N_TRAIN, N_TEST, PAGES, CLASSES, PRECISION = 340, 60, 2.0, 6, 0.85
NOISE = (0.0, 0.6)
N_SHOWN = 12
PAGE = "documents.html"


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write the files to; created if missing.")
    ] = Path("demo-output"),
    json: JsonOption = False,
) -> None:
    """Generate scanned mail, read, learn and classify it, in about six minutes."""
    check_output_folder(output)
    output.mkdir(parents=True, exist_ok=True)
    outcome = run(output, show=not json)
    if json:
        show_json(outcome)


def run(output: Path, show: bool) -> dict[str, Any]:
    """Run the demo and return its results.

    Parameters
    ----------
    output : Path
        The folder for the mail, the model and the page.
    show : bool
        Whether to show each step.
    """
    from setrbm import save
    from setrbm_mail.answers import classify, document_classifier

    begin = time.perf_counter()
    mail, manifest = _generated(output, show)
    documents = _read(output, mail, manifest, show)
    labels = dict(zip(manifest.documents, manifest.labels, strict=True))
    train, test = documents[:N_TRAIN], documents[N_TRAIN:]
    model = document_classifier(PRECISION, random_state=0).fit(list(train), [labels[document.id] for document in train])
    save(model, output / "documents.safetensors")
    answers = classify(model, test)
    truth = dict(zip(manifest.documents, manifest.true_classes, strict=True))
    outcome = _outcome(answers, truth, documents, time.perf_counter() - begin)
    _write_page(output, mail, test, answers, truth, outcome)
    if show:
        _show(outcome, output)
    return outcome


def _generated(output: Path, show: bool) -> tuple[Path, Manifest]:
    from setrbm_mail.generate import generate_mail

    n = N_TRAIN + N_TEST
    # Another version may have generated other mail here.
    mail = output / f"mail-{n}"
    if show:
        typer.echo(f"Documents: {n} made-up pieces of mail, as a scanner would leave them.")
    with Bar("Generating", n, not show) as bar:
        manifest = generate_mail(
            mail, n, random_state=0, noise=NOISE, n_classes=CLASSES, pages_per_set=PAGES,
            on_piece=lambda k: bar.show(k, f"{k} of {n} pieces"),
        )  # fmt: skip
    return mail, manifest


def _read(output: Path, mail: Path, manifest: Manifest, show: bool) -> Documents:
    from setrbm.dask.options import ClusterOptions
    from setrbm_mail import Documents
    from setrbm_mail.cli.reader import Reader, ReadingOptions

    reader = Reader(mail, output, ReadingOptions(), ClusterOptions(), not show)
    return Documents([*reader.documents(manifest.documents)])


def _outcome(answers: list[Answer], truth: dict[str, str], documents: Documents, seconds: float) -> dict[str, Any]:
    accepted = [answer for answer in answers if answer.is_accepted]
    right = [answer for answer in accepted if answer.label == truth[answer.document]]
    return {
        "documents": len(documents), "pages": documents.n_pages, "tested": len(answers),
        "right": sum(answer.label == truth[answer.document] for answer in answers), "accepted": len(accepted),
        "accepted_right": len(right), "problems": len(documents.problems), "seconds": seconds,
    }  # fmt: skip


def _write_page(
    output: Path, mail: Path, test: Documents, answers: list[Answer], truth: dict[str, str], outcome: dict[str, Any]
) -> None:
    from setrbm_mail.pictures import marked_pages
    from setrbm_mail.report import Report

    pictures = marked_pages(mail, test[:N_SHOWN], answers[:N_SHOWN], output / "pages")
    known = zip((answer.document for answer in answers), pictures, strict=False)
    facts = {
        "pieces of mail": f"{outcome['documents']:,}, {outcome['pages']:,} pages, generated and read in this demo",
        "learned from": f"{N_TRAIN:,} of them",
        "tested on": f"{outcome['tested']:,} others",
        "right": percent(outcome["right"] / outcome["tested"]),
        "accepted": f"{outcome['accepted']:,}; {outcome['accepted_right']:,} of these are right",
        "wanted": f"{PRECISION:.0%} of the accepted answers right",
    }
    report = Report(
        "Mail, read and classified", facts, answers, {name: path for name, path in known if path}, truth
    )  # fmt: skip
    report.write(output / PAGE)


def _show(outcome: dict[str, Any], output: Path) -> None:
    n = count(outcome["tested"], "new piece")
    typer.echo(f"   {outcome['right']:,} of {n} of mail are classified right.")
    typer.echo(
        f"   {outcome['accepted']:,} answers are sure enough to be accepted; {outcome['accepted_right']:,} of these "
        "are right. The others are left to a person."
    )
    typer.echo(f"   {outcome['pages']:,} pages in {outcome['seconds']:.0f} s. Look at {output / PAGE}.")
