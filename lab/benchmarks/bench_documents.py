"""Reading documents.

How long does a page take without OCR (drawing it at 200 dpi, thumbnail, layout, scores of the page types), on one core?
How much longer does all of reading take than tesserocr alone on the same pictures, drawn before, both with one process
per core? And how much longer does our OCR take? It finds out which way up a page is and comes back through pipes; its
time is that to read pages, less that to read them without OCR. Does memory grow while thousands of pages with a
text layer, and hundreds of scanned ones, are read and classified? The pages are generated mail.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from _bars import MIB, RATIO, SECONDS
from _harness import Benchmark, require_agreement, wall
from _machine import cores
from setrbm_mail import Document, Reading, classify, document_classifier, iter_documents
from setrbm_mail.features.page_types import detectors
from setrbm_mail.formats.pdf import PdfSource
from setrbm_mail.generate import Manifest, generate_mail
from setrbm_mail.limits import Limits
from setrbm_mail.reading import ocr
from setrbm_mail.reading.page import read_page

DPI = 200.0
N_SETS, QUICK_SETS = 30, 12
# Pages for memory: with a text layer, and scanned.
N_TEXT_PAGES, N_SCANNED_PAGES = 5_000, 500
ROUNDS, OCR_ROUNDS = 5, 3


def mail(folder: Path, n_sets: int, digital: float, formats: tuple[str, ...]) -> Path:
    """Return a folder of generated mail."""
    generate_mail(folder, n_sets, formats=formats, born_digital=digital, pages_per_set=3.0, noise=(0.0, 0.5))
    return folder


def scans(folder: Path) -> Iterator[tuple[bytes, int]]:
    """Yield the content of every scanned PDF, and its number of pages."""
    for path in sorted(folder.glob("*.pdf")):
        data = path.read_bytes()
        yield data, PdfSource(data, Limits()).n_pages


def read_without_ocr(files: Sequence[tuple[bytes, int]]) -> int:
    """Read all pages of some files without OCR; return how many there are."""
    pages = []
    for data, n_pages in files:
        source = PdfSource(data, Limits())
        pages += [read_page(source, number + 1, Reading(ocr="never")) for number in range(n_pages)]
    detectors().scores(pages)
    return len(pages)


def only_ocr(path: Path) -> tuple[str, ...]:
    """Read a picture by OCR alone, unless it is blank."""
    picture = np.load(path)
    if (picture < ocr.INK).mean() < ocr.BLANK:
        return ()
    return ocr._recognized(picture, DPI, "eng", ocr.language_folder("eng")).words


def memory_of_children() -> float:
    """Return the resident memory of this process and its children, in MiB."""
    import psutil

    me = psutil.Process()
    return sum(one.memory_info().rss for one in (me, *me.children(recursive=True))) / 2**20


def growth(folder: Path, n_pages: int, reading: Reading, model: Any) -> float:
    """Return by how much memory grows from a tenth of the pages to all of them, in MiB, in one pass of classify."""
    seen, early, now = 0, 0.0, 0.0

    def watched() -> Iterator[Document]:
        nonlocal seen, early, now
        for document in iter_documents(folder, reading=reading):
            seen += len(document)
            now = memory_of_children()
            early = now if seen < n_pages / 10 else early
            yield document

    answers = classify(model, watched())
    assert seen >= n_pages, f"There must be {n_pages} pages. Got {seen}."
    assert all(one.label is not None for one in answers)
    return max(now, memory_of_children()) - early


def copied(folder: Path, times: int) -> Path:
    """Return a folder with every document of a folder several times, so that a pass is long."""
    place = folder.with_name(f"{folder.name}-copies")
    for n in range(times):
        shutil.copytree(folder, place / f"{n:03d}", ignore=shutil.ignore_patterns("*.json", "*.jsonl", "*.csv"))
    return place


def add_page(bench: Benchmark, folder: Path) -> None:
    """Time pages without OCR, on one core."""
    files = list(scans(mail(folder / "scanned", QUICK_SETS if bench.quick else N_SETS, 0.0, ("pdf",))))
    n_pages = read_without_ocr(files[:2]) and sum(n for _, n in files)
    seconds = [wall(lambda: read_without_ocr(files)) / n_pages for _ in range(2 if bench.quick else ROUNDS)]
    bench.add("page without OCR", seconds, SECONDS, "page-without-ocr", threads=1, sizes=f"{n_pages} scanned pages")


def add_ocr(bench: Benchmark, folder: Path) -> None:
    """Compare reading with OCR alone, both with one process per core."""
    sources = [PdfSource(data, Limits()) for data, _ in scans(folder / "scanned")]
    pictures = []
    for picture in (source.picture(k + 1, DPI)[0] for source in sources for k in range(source.n_pages)):
        pictures.append(folder / f"{len(pictures)}.npy")
        np.save(pictures[-1], picture)
    seconds: dict[str, list[float]] = {"alone": [], "reading": [], "without": []}
    with ProcessPoolExecutor(cores(), get_context("spawn")) as pool:
        list(pool.map(only_ocr, pictures[: 2 * cores()]))
        require_same_words(list(pool.map(only_ocr, pictures)), folder / "scanned")
        for _ in range(1 if bench.quick else OCR_ROUNDS):
            seconds["alone"].append(wall(lambda: list(pool.map(only_ocr, pictures))))
            for name, reading in (("reading", Reading()), ("without", Reading(ocr="never"))):
                seconds[name].append(wall(lambda reading=reading: n_pages_of(folder / "scanned", reading)))
    alone, whole, without = (np.array(seconds[name]) for name in ("alone", "reading", "without"))
    about = {"threads": cores(), "sizes": f"{len(pictures)} scanned pages"}
    bench.add("all of reading ÷ tesserocr alone", whole / alone, RATIO, "reading", **about)
    bench.add("our OCR ÷ tesserocr alone", (whole - without) / alone, RATIO, "ocr", **about)
    bench.add("tesserocr alone, per page and core", alone * cores() / len(pictures), SECONDS, **about)


def require_same_words(alone: Sequence[tuple[str, ...]], folder: Path) -> None:
    """Raise ValueError unless upright pages have the same words either way."""
    ours = [page for document in iter_documents(folder) for page in document.pages]
    pairs = [(page.words, words) for page, words in zip(ours, alone, strict=True) if not page.rotation]
    require_agreement(f"words of {len(pairs)} upright pages", sum(a != b for a, b in pairs) / len(pairs), 0.0)


def n_pages_of(folder: Path, reading: Reading) -> int:
    """Read all documents of a folder; return the number of their pages."""
    return sum(map(len, iter_documents(folder, reading=reading)))


def classifier_of(folder: Path) -> Any:
    """Return a model of documents."""
    documents = iter_documents(folder, reading=Reading(ocr="never"))
    labels = {piece.document: piece.label for piece in Manifest.read(folder).pieces}
    known = [document for document in documents if document.pages]
    return document_classifier(None, random_state=0).fit(known, [labels[one.id] for one in known])


def add_memory(bench: Benchmark, folder: Path) -> None:
    """Watch memory over many pages."""
    digital = mail(folder / "digital", QUICK_SETS if bench.quick else N_SETS, 1.0, ("pdf",))
    model = classifier_of(digital)
    for name, place, n, reading in (
        # Handwritten pages have no text layer, and are not read.
        ("text-layer-memory", digital, N_TEXT_PAGES, Reading(ocr="never")),
        ("ocr-memory", folder / "scanned", N_SCANNED_PAGES, Reading()),
    ):
        n_pages = 30 if bench.quick else n
        what = "with a text layer" if place == digital else "by OCR"
        grown = growth(copied(place, -(-n_pages // n_pages_of(place, Reading(ocr="never")))), n_pages, reading, model)
        bench.add(
            f"growth of memory over {n:,} pages {what}", grown, MIB, name, threads=cores(), sizes=f"{n_pages} pages"
        )


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    os.environ["OMP_THREAD_LIMIT"] = "1"
    folder = Path(tempfile.mkdtemp())
    try:
        add_page(bench, folder)
        add_ocr(bench, folder)
        add_memory(bench, folder)
    finally:
        shutil.rmtree(folder)
    bench.finish()


if __name__ == "__main__":
    main()
