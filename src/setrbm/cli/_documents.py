"""What the commands of ``setrbm documents`` share: options, reading with progress, and files of results."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._cluster import ClusterOptions
from setrbm.cli._output import check_output_folder, count, plain
from setrbm.cli._progress import Bar

if TYPE_CHECKING:
    from setrbm.documents import Document, Documents, Limits, Reading
    from setrbm.documents.reading import Progress

LIMITED = "Limits"
PAGES = "pages.sqlite"
# Where documents are kept that were read on a cluster.
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
        int, typer.Option("--max-pages", metavar="N", min=1, help="Pages per document.", rich_help_panel=LIMITED)
    ] = 1_000
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", metavar="N", min=1, help="Bytes per file.", rich_help_panel=LIMITED)
    ] = 200_000_000
    max_pixels: Annotated[
        int, typer.Option("--max-pixels", metavar="N", min=1, help="Pixels per picture.", rich_help_panel=LIMITED)
    ] = 100_000_000
    max_seconds: Annotated[
        float,
        typer.Option("--max-seconds", metavar="S", min=0.1, help="Seconds per page.", rich_help_panel=LIMITED),
    ] = 60.0
    max_memory: Annotated[
        int,
        typer.Option(
            "--max-memory", metavar="MB", min=100, help="Memory per reading process.", rich_help_panel=LIMITED
        ),
    ] = 3_000

    @property
    def limits(self) -> Limits:
        """What is refused."""
        from setrbm.documents import Limits

        return Limits(
            file_bytes=self.max_bytes, pages=self.max_pages, pixels=self.max_pixels, seconds=self.max_seconds,
            memory=self.max_memory * MEGA,
        )  # fmt: skip

    @property
    def reading(self) -> Reading:
        """How pages are read."""
        from setrbm.documents import Reading

        folder = None if self.language_folder is None else str(self.language_folder)
        return Reading(ocr="never" if self.no_ocr else "auto", language=self.language, language_folder=folder)


def read(
    folder: Path,
    only: Sequence[str] | None,
    output: Path,
    options: ReadingOptions,
    quiet: bool,
    cluster: ClusterOptions,
    by_class: bool = False,
) -> Documents:
    """Read the documents of a folder, or only some of them, with progress."""
    from setrbm.documents import read_documents

    output.mkdir(parents=True, exist_ok=True)
    wanted: dict[str, Any] = {"only": only, "by_class": by_class, "reading": options.reading, "limits": options.limits}
    with Bar("Reading", 1.0, quiet) as bar, cluster.client() as client:
        if client is not None:
            return _read_on_cluster(folder, output, client, bar, wanted)
        cache = options.cache or output / PAGES
        return read_documents(folder, **wanted, cache=cache, n_jobs=options.jobs, on_progress=ReadingWatch(bar))


def _read_on_cluster(folder: Path, output: Path, client: Any, bar: Bar, wanted: dict[str, Any]) -> Documents:
    from setrbm.dask import read_documents

    begin = time.perf_counter()

    def show(n_done: int, n_all: int, n_pages: int) -> None:
        rate = n_pages / max(time.perf_counter() - begin, 1e-9)
        bar.show(n_done / n_all, f"{n_done:,} of {n_all:,} documents, {rate:.1f} pages/s")

    return read_documents(folder, **wanted, output=output / READ, client=client, on_progress=show)


def read_labeled(
    folder: Path, manifest: Path | None, output: Path, options: ReadingOptions, quiet: bool, cluster: ClusterOptions
) -> tuple[Documents, dict[str, str]]:
    """Read the documents of a folder and return them with the class of each."""
    from setrbm.documents.labels import labels_of

    check_output_folder(output)
    labels = labels_of(folder, manifest)
    documents = read(folder, list(labels.classes), output, options, quiet, cluster, labels.by_folder)
    return documents, labels.classes


class ReadingWatch:
    """Shows how far reading has come: pages per second, and the time left."""

    def __init__(self, bar: Bar) -> None:
        self._bar, self._begin = bar, 0.0

    def __call__(self, progress: Progress) -> None:
        # Reading may begin long after this object was made.
        self._begin = self._begin or time.perf_counter()
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
