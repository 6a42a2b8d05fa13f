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
    found = run(output, show=not json)
    if json:
        show_json(found)


def run(output: Path, show: bool) -> dict[str, Any]:
    """Run the demo and return what it found.

    Parameters
    ----------
    output : Path
        The folder for the mail, the model and the page.
    show : bool
        Whether to say what is done.
    """
    from setrbm import save
    from setrbm_mail.answers import classify, document_classifier

    begin = time.perf_counter()
    mail, manifest = _generated(output, show)
    documents = _read(output, mail, manifest, show)
    labels = dict(zip(manifest.documents, manifest.labels, strict=True))
    train, test = documents[:N_TRAIN], documents[N_TRAIN:]
    model = document_classifier(PRECISION, random_state=0).fit(list(train), [labels[one.id] for one in train])
    save(model, output / "documents.safetensors")
    answers = classify(model, test)
    truth = dict(zip(manifest.documents, manifest.true_classes, strict=True))
    found = _found(answers, truth, documents, time.perf_counter() - begin)
    _write_page(output, mail, test, answers, truth, found)
    if show:
        _show(found, output)
    return found


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


def _found(answers: list[Answer], truth: dict[str, str], documents: Documents, seconds: float) -> dict[str, Any]:
    accepted = [one for one in answers if one.is_accepted]
    right = [one for one in accepted if one.label == truth[one.document]]
    return {
        "documents": len(documents), "pages": documents.n_pages, "tested": len(answers),
        "right": sum(one.label == truth[one.document] for one in answers), "accepted": len(accepted),
        "accepted_right": len(right), "problems": len(documents.problems), "seconds": seconds,
    }  # fmt: skip


def _write_page(
    output: Path, mail: Path, test: Documents, answers: list[Answer], truth: dict[str, str], found: dict[str, Any]
) -> None:
    from setrbm_mail.pictures import marked_pages
    from setrbm_mail.report import Report

    pictures = marked_pages(mail, test[:N_SHOWN], answers[:N_SHOWN], output / "pages")
    known = zip((one.document for one in answers), pictures, strict=False)
    facts = {
        "pieces of mail": f"{found['documents']:,}, {found['pages']:,} pages, generated and read in this demo",
        "learned from": f"{N_TRAIN:,} of them",
        "tested on": f"{found['tested']:,} others",
        "right": percent(found["right"] / found["tested"]),
        "accepted": f"{found['accepted']:,}; {found['accepted_right']:,} of these are right",
        "wanted": f"{PRECISION:.0%} of the accepted answers right",
    }
    report = Report(
        "Mail, read and classified", facts, answers, {name: path for name, path in known if path}, truth
    )  # fmt: skip
    report.write(output / PAGE)


def _show(found: dict[str, Any], output: Path) -> None:
    n = count(found["tested"], "new piece")
    typer.echo(f"   {found['right']:,} of {n} of mail are classified right.")
    typer.echo(
        f"   {found['accepted']:,} answers are sure enough to be accepted; {found['accepted_right']:,} of these are "
        "right. The others are left to a person."
    )
    typer.echo(f"   {found['pages']:,} pages in {found['seconds']:.0f} s. Look at {output / PAGE}.")
