"""What the commands of ``setrbm-mail`` share: options, reading with progress, and files of results."""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.dask.options import ClusterOptions
from setrbm.tools.commands import Refused
from setrbm.tools.output import check_output_folder, plain
from setrbm.tools.progress import Bar

if TYPE_CHECKING:
    from setrbm.dask import Cluster
    from setrbm_mail import Document, Documents, Limits, Problem, Reading
    from setrbm_mail.cluster import ClusterProgress
    from setrbm_mail.reading.documents import Progress

LIMITED = "Limits"
PAGES = "pages.sqlite"
# The folder that keeps documents that were read on a cluster.
READ = "read"
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
    Path, typer.Argument(metavar="MODEL", help="Model that `setrbm-mail fit` wrote: model.safetensors.")
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
        int, typer.Option("--max-pages", metavar="N", min=1, help="Pages per document.", rich_help_panel=LIMITED)
    ] = 1_000
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", metavar="N", min=1, help="Bytes per file.", rich_help_panel=LIMITED)
    ] = 200_000_000
    max_pixels: Annotated[
        int, typer.Option("--max-pixels", metavar="N", min=1, help="Pixels per picture.", rich_help_panel=LIMITED)
    ] = 100_000_000
    max_words: Annotated[
        int, typer.Option("--max-words", metavar="N", min=1, help="Words per document.", rich_help_panel=LIMITED)
    ] = 500_000
    max_seconds: Annotated[
        float,
        typer.Option("--max-seconds", metavar="S", min=0.1, help="Seconds per page.", rich_help_panel=LIMITED),
    ] = 60.0
    max_document_seconds: Annotated[
        float,
        typer.Option(
            "--max-document-seconds", metavar="S", min=0.1, help="Seconds per document.", rich_help_panel=LIMITED
        ),
    ] = 3600.0
    max_memory: Annotated[
        int,
        typer.Option(
            "--max-memory", metavar="MB", min=100, help="Memory per reading process.", rich_help_panel=LIMITED
        ),
    ] = 3_000

    @property
    def limits(self) -> Limits:
        """The limits above which files and pages are refused."""
        from setrbm_mail import Limits

        return Limits(
            file_bytes=self.max_bytes, pages=self.max_pages, pixels=self.max_pixels, words=self.max_words,
            seconds=self.max_seconds, document_seconds=self.max_document_seconds, memory=self.max_memory * MEGA,
        )  # fmt: skip

    @property
    def reading(self) -> Reading:
        """How pages are read."""
        from setrbm_mail import Reading

        folder = None if self.language_folder is None else str(self.language_folder)
        return Reading(ocr="never" if self.no_ocr else "auto", language=self.language, language_folder=folder)


@dataclass(frozen=True)
class Reader:
    """Reads documents for a command, with progress.

    Attributes
    ----------
    folder, output : Path
        Where the documents are, and where everything that is written goes.
    options : ReadingOptions
    cluster : ClusterOptions
    quiet : bool
    """

    folder: Path
    output: Path
    options: ReadingOptions
    cluster: ClusterOptions
    quiet: bool

    def check(self) -> None:
        """Refuse, before any work, options and folders that cannot be used."""
        self.cluster.refuse_with(cache=self.options.cache)
        if Path(os.path.realpath(self.output)).is_relative_to(os.path.realpath(self.folder)):
            raise Refused(
                f"-o must name a folder outside of FOLDER, so that outputs are not read as documents. Got "
                f"{str(self.output)!r} in {str(self.folder)!r}."
            )
        check_output_folder(self.output)

    def documents(self, only: Sequence[str] | None = None, by_class: bool = False) -> Iterator[Document]:
        """Yield the documents of the folder, or some of them, as they are read."""
        from setrbm_mail import iter_documents

        self.output.mkdir(parents=True, exist_ok=True)
        options = self.options
        wanted: dict[str, Any] = {
            "only": only, "by_class": by_class, "reading": options.reading, "limits": options.limits
        }  # fmt: skip
        with Bar("Reading", 1.0, self.quiet) as bar, self.cluster.connect() as on:
            if on is not None:
                yield from _on_cluster(on, self.folder, self.output / READ, wanted, bar)
                return
            cache = options.cache or self.output / PAGES
            watch = ReadingWatch(bar)
            yield from iter_documents(self.folder, **wanted, cache=cache, n_jobs=options.jobs, on_progress=watch)

    def labeled(self, manifest: Path | None, check_classes: Callable[[Sequence[str]], None]) -> Labeled:
        """Read the documents of a folder that have classes, and report what could not be read.

        ``check_classes`` gets the class of each document before any is read, which may take hours.
        """
        from setrbm_mail import Documents
        from setrbm_mail.labels import labels_of

        self.check()
        labels = labels_of(self.folder, manifest)
        check_classes([*labels.classes.values()])
        documents = Documents([*self.documents(list(labels.classes), labels.by_folder)])
        warn_of_problems([*documents.problems, *labels.problems], self.output)
        readable = documents.readable
        return Labeled(readable, [labels.classes[document.id] for document in readable], len(documents) - len(readable))


@dataclass(frozen=True)
class Labeled:
    """Documents with at least one page, their classes, and how many others there were."""

    documents: Documents
    classes: list[str]
    n_lost: int


def _on_cluster(cluster: Cluster, folder: Path, output: Path, wanted: dict[str, Any], bar: Bar) -> Iterator[Document]:
    from setrbm_mail.cluster import iter_documents

    begin = time.perf_counter()

    def show(progress: ClusterProgress) -> None:
        rate = progress.n_pages / max(time.perf_counter() - begin, 1e-9)
        done = f"{progress.n_documents_done:,} of {progress.n_documents:,} documents, {rate:.1f} pages/s"
        bar.show(progress.n_documents_done / progress.n_documents, done)

    return iter_documents(folder, **wanted, output=output, client=cluster, on_progress=show)


class ReadingWatch:
    """Shows how far reading has come: pages per second, and the time left."""

    def __init__(self, bar: Bar) -> None:
        self._bar, self._begin = bar, 0.0

    def __call__(self, progress: Progress) -> None:
        """Show the progress."""
        # Reading may begin long after this object was made.
        self._begin = self._begin or time.perf_counter()
        seconds = time.perf_counter() - self._begin
        rate = (progress.n_pages_done - progress.n_pages_cached) / max(seconds, 1e-9)
        left = progress.n_pages_expected - progress.n_pages_done
        done = progress.n_pages_done / max(progress.n_pages_expected, 1.0)
        note = f"{progress.n_documents_done:,} of {progress.n_documents:,} documents, {rate:.1f} pages/s"
        self._bar.show_with(done, note, left / rate if rate else float("nan"))


def warn_of_problems(problems: Sequence[Problem], output: Path) -> None:
    """Write the files and pages that were not read to a file, and say how many there are."""
    rows = [(problem.document, problem.where, problem.reason) for problem in problems]
    write_csv(output / "problems.csv", ("document", "where", "reason"), rows)
    if problems:
        noun = "file or page" if len(problems) == 1 else "files or pages"
        typer.echo(f"Not read: {len(problems):,} {noun}. See {output / 'problems.csv'}.", err=True)


def write_csv(path: Path, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows as CSV, whole or not at all. Senders choose the names of files: none becomes a formula."""
    from setrbm.tools.files import write_atomically

    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([[_harmless(cell) for cell in row] for row in rows])
    write_atomically(path, text.getvalue().encode("utf-8", errors="surrogateescape"), overwrite=True)


def _harmless(cell: Any) -> Any:
    """Return a text that a spreadsheet would take for a formula with an apostrophe before it."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else cell


def write_json(path: Path, document: Any) -> None:
    """Write a JSON document, whole or not at all."""
    from setrbm.tools.files import write_atomically

    text = json.dumps(plain(document), indent=2, ensure_ascii=True, allow_nan=False)
    write_atomically(path, text.encode(), overwrite=True)
