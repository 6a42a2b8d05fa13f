"""What the commands of ``setrbm documents`` share: options, reading with progress, and files of results."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from setrbm.cli._output import check_output_folder, count, plain
from setrbm.cli._progress import Bar

if TYPE_CHECKING:
    from setrbm.documents import Document, Documents
    from setrbm.documents.reading import Progress

LIMITS = "Limits"
PAGES = "pages.sqlite"
MEGA = 1_000_000

FolderArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER",
        help="Folder of documents: PDF, TIFF, JPEG and PNG files, mails (.eml), and folders of pictures, one per "
        "document.",
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model that `setrbm documents fit` wrote: model.safetensors.")
]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for everything that is written.")
]
ManifestOption = Annotated[
    Path | None,
    typer.Option(
        "--manifest",
        metavar="FILE",
        help="CSV file with the columns document and label. Default: manifest.csv in FOLDER; without it, the folders "
        "in FOLDER are the classes.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class ReadingOptions:
    """The options of every command that reads documents."""

    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FILE",
            help="File that keeps pages that were read. Default: pages.sqlite in the output folder.",
            show_default=False,
        ),
    ] = None
    language: Annotated[
        str, typer.Option("--language", metavar="NAME", help="Language of the pages for OCR, such as eng or deu+eng.")
    ] = "eng"
    language_folder: Annotated[
        Path | None,
        typer.Option("--language-folder", metavar="FOLDER", help="Folder with NAME.traineddata.", show_default=False),
    ] = None
    no_ocr: Annotated[bool, typer.Option("--no-ocr", help="Use text layers only.")] = False
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", min=1, help="Processes that read.", show_default="all cores")
    ] = None
    max_pages: Annotated[
        int, typer.Option("--max-pages", metavar="N", min=1, help="Pages per document.", rich_help_panel=LIMITS)
    ] = 1_000
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", metavar="N", min=1, help="Bytes per file.", rich_help_panel=LIMITS)
    ] = 200_000_000
    max_pixels: Annotated[
        int, typer.Option("--max-pixels", metavar="N", min=1, help="Pixels per picture.", rich_help_panel=LIMITS)
    ] = 100_000_000
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", metavar="S", min=0.1, help="Seconds per page.", rich_help_panel=LIMITS)
    ] = 60.0
    max_memory: Annotated[
        int,
        typer.Option("--max-memory", metavar="MB", min=100, help="Memory per reading process.", rich_help_panel=LIMITS),
    ] = 3_000

    def keywords(self, output: Path) -> dict[str, Any]:
        """Return the options as ``read_documents`` takes them."""
        from setrbm.documents import Limits, Reading

        limits = Limits(
            file_bytes=self.max_bytes, pages=self.max_pages, pixels=self.max_pixels, seconds=self.max_seconds,
            memory=self.max_memory * MEGA,
        )  # fmt: skip
        folder = None if self.language_folder is None else str(self.language_folder)
        reading = Reading(ocr="never" if self.no_ocr else "auto", language=self.language, language_folder=folder)
        return {"cache": self.cache or output / PAGES, "n_jobs": self.jobs, "limits": limits, "reading": reading}


def with_reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with every option of reading in place of its parameter ``options``."""
    names = [one.name for one in fields(ReadingOptions)]

    @wraps(command)
    def run(**given: Any) -> None:
        command(options=ReadingOptions(**{name: given.pop(name) for name in names}), **given)

    hints = get_type_hints(command, include_extras=True)
    of_options = get_type_hints(ReadingOptions, include_extras=True)
    own = [one for one in signature(command).parameters.values() if one.name != "options"]
    added = [Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default) for one in fields(ReadingOptions)]
    everything = [one.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[one.name]) for one in own]
    everything += [one.replace(annotation=of_options[one.name]) for one in added]
    run.__signature__ = Signature(everything, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in everything}
    return run


def read(
    folder: Path, only: Sequence[str] | None, output: Path, options: ReadingOptions, quiet: bool, by_class: bool = False
) -> Documents:
    """Read the documents of a folder, or only some of them, with progress."""
    from setrbm.documents import read_documents

    output.mkdir(parents=True, exist_ok=True)
    with Bar("Reading", 1.0, quiet) as bar:
        return read_documents(
            folder, only, by_class=by_class, on_progress=ReadingWatch(bar), **options.keywords(output)
        )


def read_labeled(
    folder: Path, manifest: Path | None, output: Path, options: ReadingOptions, quiet: bool
) -> tuple[Documents, dict[str, str]]:
    """Read the documents of a folder and return them with the class of each."""
    from setrbm.documents.labels import labels_of

    check_output_folder(output)
    labels = labels_of(folder, manifest)
    return read(folder, list(labels.classes), output, options, quiet, labels.by_folder), labels.classes


class ReadingWatch:
    """Shows how far reading has come: pages per second, and the time left."""

    def __init__(self, bar: Bar) -> None:
        self._bar, self._begin = bar, time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        seconds = time.perf_counter() - self._begin
        rate = (progress.n_pages_done - progress.n_pages_cached) / max(seconds, 1e-9)
        left = progress.n_pages_expected - progress.n_pages_done
        done = progress.n_pages_done / max(progress.n_pages_expected, 1.0)
        note = f"{progress.n_documents_done:,} of {progress.n_documents:,} documents, {rate:.1f} pages/s"
        self._bar.show_with(done, note, left / rate if rate else float("nan"))


def warn_of_problems(documents: Sequence[Document], output: Path) -> None:
    """Write the files and pages that were not read to a file, and say how many there are."""
    problems = [problem for document in documents for problem in document.problems]
    rows = [(problem.document, problem.where, problem.reason) for problem in problems]
    write_csv(output / "problems.csv", ("document", "where", "reason"), rows)
    if problems:
        typer.echo(f"Not read: {count(len(problems), 'file or page')}. See {output / 'problems.csv'}.", err=True)


def write_csv(path: Path, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows as CSV, whole or not at all."""
    from setrbm._files import write_atomically

    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode("utf-8", errors="surrogateescape"), overwrite=True)


def write_json(path: Path, document: Any) -> None:
    """Write a JSON document, whole or not at all."""
    from setrbm._files import write_atomically

    text = json.dumps(plain(document), indent=2, ensure_ascii=True, allow_nan=False)
    write_atomically(path, text.encode(), overwrite=True)
