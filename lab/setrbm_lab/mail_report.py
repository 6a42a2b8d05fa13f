"""The page about Table 2, generated from the records of a folder of results."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from setrbm_lab.growth import Growth, exponent, fit_growth
from setrbm_lab.mail_data import HEADS, TITLES
from setrbm_lab.mail_pictures import N_SETS, SETTINGS
from setrbm_lab.mail_plots import draw_curves
from setrbm_lab.mail_systems import FIRST, HIDDEN, N_SAMPLE, OURS, USUAL
from setrbm_lab.mail_tables import MailCell, MailRecords, Table2, kernel_bytes
from setrbm_lab.paper import MAIL_DATASETS, MAIL_SOURCE
from setrbm_lab.rendering import escape_markdown, interval, markdown_table, marks_of, number, p_value
from setrbm_lab.report import IMAGES, write_page
from setrbm_lab.run_history import duration, run_line

PICTURE_SETTINGS = ", ".join(f"{name}={value!r}" for name, value in SETTINGS.items())
PAGE, CURVES = "table2.md", "table2_curves.png"

WARNING = """**DsUs, DsDe and the page images are generated here.** The paper's mail belongs to a company and is not
public. DsUs and DsDe have its numbers of sets, pages and classes, and features of the same kinds, but they are not the
paper's data, so our figures neither confirm nor refute the paper's, which are shown for orientation only."""

DATA = f"""## The data sets and splits

- DsUs and DsDe: `make_mail_like(collection=..., random_state=2011)`. Five stratified folds, as in the paper.
- 20 Newsgroups threads: a set is a thread, a page is a message, the class is the newsgroup. In the order of dates, the
  first 50, 55, 60, 65 or 70% of the threads are trained on, and the next 30% are tested.
- Debian packages: a set is a source package, a page is the description of one of its binary packages, the class is the
  section. Five times, 30% of all packages, drawn from one fixed half, are tested, and all others are trained on.
- Page images: `generate_mail(folder, {N_SETS}, {PICTURE_SETTINGS}, random_state=2011)` writes PDF, TIFF and JPEG files
  and mails with scanned pages, and some with a text layer; `read_documents` reads them at 200 dpi. It is as large as
  two cores can read in a quarter of an hour. Five stratified folds.

In both real collections one half of the sets is never tested; settings may be developed there. The splits were fixed
before the table was run. But the last 30% of the threads, the test part of their fifth split, had been used before, to
compare inputs and settings for text (`lab/experiments/text.py`, `lab/results/text.csv`). The parts of different splits
overlap; the corrected t-test allows for this with the ratio of test to training sets.

## The rows

All choices are made inside the training part.

- The rows of the paper get the pages of generated mail as they are, of the real collections the 10,000 binary words
  that occur in the most training sets, and of page images such words, the gray grid, the layout and the page types.
  Those with hidden units choose one of three learning rates and the number of epochs, {HIDDEN["max_epochs"]} at most,
  on a held-out fifth, and are refitted. ClassRBM-poolIn gets the maximum of each feature.
- The support vector machines learn from at most {N_SAMPLE:,} training sets, a random sample with the classes in
  proportion, and are tested on the whole test part. They choose among the candidates of Table 1 by five-fold
  cross-validation.
- The rows on tf-idf get all pages of a set as one text, as most people would do it today. They choose C on a held-out
  fifth, and are refitted.
- {OURS} is `make_pipeline(PageWords(), ClassSetRBMCV.for_text())`. To show what of its accuracy is due to the words and
  their weights, "PageWords, linear SVM" gets the mean of the same vectors over the pages. It chooses C on a held-out
  fifth whose labels had a part in the weights.
- {FIRST} is the first form of this preset, and was run first: on the threads its interval against {USUAL} was
  [-1.0, +1.7]. Pairs of words were then made optional, chosen inside the training part, on the evidence of the
  documents that are never tested (`docs/decisions/0006-text.md`), and the row above was run, once.
- Rows that take texts see only the words of generated mail and of page images, not the 83 other features."""


def write_mail_report(table: Table2, records: MailRecords, folder: Path) -> Path:
    """Write ``table2.md`` and, in ``images/`` beside it, its plot; return the path of the page.

    Parameters
    ----------
    table : Table2
    records : MailRecords
    folder : Path
        Created if it does not exist.
    """

    def draw(images: Path) -> None:
        if table.details:
            draw_curves(table, images / CURVES)

    return write_page(mail_report_text(table, records), folder / PAGE, draw)


def mail_report_text(table: Table2, records: MailRecords) -> str:
    """Return the page as Markdown; its plot is expected in ``images/``."""
    parts = [_head(table), _comparison(table), _curves(table), _times(table), [DATA], _samples(table), _runs(records)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(table: Table2) -> list[str]:
    heads = [head for name in table.datasets for head in (HEADS[name], *(["paper"] if name in MAIL_DATASETS else []))]
    marks, rows = marks_of(table, "corrected"), []
    for system in table.systems:
        cells = []
        for dataset in table.datasets:
            is_best, is_bold = marks[system, dataset]
            text = accuracy(table, system, dataset)
            cells += [f"**{text}**" + " ★" * is_best if is_bold else text]
            cells += [number(table.cells[system, dataset].paper, 2)] if dataset in MAIL_DATASETS else []
        rows += [[escape_markdown(system), *cells]]
    return [
        "# The paper's Table 2",
        "",
        "How well are documents with pages classified? Compared are the paper's systems, what is used for text today, "
        f"and our preset for text ({OURS}), on two generated collections of mail, two real collections of texts, and "
        "generated mail that is scanned and read by OCR (page images).",
        "",
        *([f"**{table.shortcut}**", ""] if table.shortcut else []),
        *markdown_table(heads, rows),
        "",
        "DsUs and DsDe are generated mail, threads are discussions of the 20 Newsgroups collection, packages are those "
        f"of Debian, page images are {N_SETS:,} generated pieces of mail. Accuracy in percent, mean of {table.n_folds} "
        "splits ± their standard deviation. Star: best. Bold: not significantly worse than the best of the data set at "
        "the 5% level (corrected resampled t-test). An incomplete cell shows its number of splits.",
        "",
        WARNING,
        "",
        f"The paper: {MAIL_SOURCE}. `scripts/reproduce page` generates this page from the files in the folder of "
        "results.",
    ]


def accuracy(table: Table2, system: str, dataset: str) -> str:
    """Format the accuracy of a cell with the spread of its folds."""
    cell = table.cells[system, dataset]
    if cell.summary is None:
        return f"- ({cell.n_folds} of {table.n_folds})" if cell.n_folds else "-"
    return f"{number(cell.summary.mean)} ± {number(cell.summary.fold_spread)}"


def _comparison(table: Table2) -> list[str]:
    rows = []
    for dataset in table.datasets:
        if test := table.ours_against_usual(dataset):
            means = [number(table.mean(system, dataset)) for system in (OURS, USUAL)]
            rows += [[TITLES[dataset], *means, interval(test), p_value(test.p)]]
    if not rows:
        return []
    return [
        f"## {OURS} against {USUAL}",
        "",
        "The difference in points, with the 95% interval of the corrected resampled t-test, paired by split.",
        "",
        *markdown_table([OURS, USUAL, "difference", "p"], rows),
    ]


def _curves(table: Table2) -> list[str]:
    if not table.details:
        return []
    rows = [
        [escape_markdown(system), *(_area(table, system, dataset) for dataset in table.datasets)]
        for system in table.systems
    ]
    return [
        "## Precision and recall",
        "",
        "A system need not decide every set: unsure predictions can be left to a person. *Precision* is the part of "
        "the accepted predictions that is right, *recall* the part of all sets that is accepted and right; it ends at "
        "the accuracy. Both are micro-averaged over the classes, as in the paper's figure. Predictions are accepted in "
        "the order of the probability of the predicted class or, for support vector machines, of its margin to the "
        "second class. The decision function of the kernel machines counts votes between pairs of classes, which ranks "
        "predictions poorly: their curves do them less than justice, their accuracies do not suffer from it.",
        "",
        f"![Precision against recall]({IMAGES}/{CURVES})",
        "",
        "Means over the splits; a line ends where the first split does. The area under the curve, in percent:",
        "",
        *markdown_table([HEADS[name] for name in table.datasets], rows),
    ]


def _area(table: Table2, system: str, dataset: str) -> str:
    return number(table.details[system, dataset].area) if system in table.complete(dataset) else "-"


def _times(table: Table2) -> list[str]:
    if not table.details:
        return []
    rows = []
    for system in table.systems:
        cells = [table.details.get((system, dataset)) for dataset in table.datasets]
        if any(cells):
            times = [
                f"{duration(cell.fit_seconds)}, {duration(cell.predict_seconds)}" if cell else "-" for cell in cells
            ]
            rows += [[escape_markdown(system), *times]]
    return [
        "## Times",
        "",
        "To train on one split, all choices included, and to predict its test part: the median of the splits, each on "
        "one core. The times of support vector machines are those of their samples, and of half of them. The rows were "
        "run on different machines, some beside other work (see the runs below), so compare orders of magnitude; "
        "`lab/benchmarks/bench_mail.py` measures a fit alone.",
        "",
        *markdown_table([HEADS[name] for name in table.datasets], rows),
    ]


def _samples(table: Table2) -> list[str]:
    """Return what the kernel machines would take without a sample."""
    cells = {
        key: cell
        for key, cell in table.details.items()
        if cell.measured and all("n_sets" in fit for fit in cell.measured)
    }
    if not cells:
        return []
    exponents: dict[str, list[float]] = {}
    for (_, dataset), cell in cells.items():
        exponents.setdefault(dataset, []).extend(exponent(fit["n_sets"], fit["seconds"]) for fit in cell.measured)
    growth = fit_growth(exponents)
    rows = [
        [f"{escape_markdown(system)}, {TITLES[dataset]}", *_whole_fit(cell, growth)]
        for (system, dataset), cell in cells.items()
    ]
    return [
        "## Kernel machines on all sets",
        "",
        "What training on the whole training part would take, for one split on one core.",
        "",
        *_about_growth(growth, len(exponents), max(map(_disagreement, cells.values()))),
        "",
        "The memory is computed: the kernel matrix and the solver's copy, 8 bytes each per pair of sets.",
        "",
        *markdown_table(["sample", "measured", "training sets", "time", "memory"], sorted(rows)),
    ]


def _whole_fit(cell: MailCell, growth: Growth | None) -> list[str]:
    n_train, n_sets = int(median(fit["n_train"] for fit in cell.measured)), cell.measured[0]["n_sets"]
    seconds = [median(fit["seconds"][k] for fit in cell.measured) for k in (0, 1)]
    if n_train == n_sets[-1]:
        time = "as measured"
    elif growth is None:
        time = "-"
    else:
        likely, low, high = map(duration, growth.extrapolate(n_sets[-1], seconds[-1], n_train))
        time = f"{likely} [{low}, {high}]"
    sizes = " and ".join(f"{n:,}" for n in n_sets), " and ".join(map(duration, seconds))
    return [*sizes, f"{n_train:,}", time, f"{kernel_bytes(n_train) / 2**30:.1f} GiB"]


def _disagreement(cell: MailCell) -> float:
    """Return how many times as long the slowest split took as the fastest."""
    seconds = [fit["seconds"][-1] for fit in cell.measured]
    return float(max(seconds) / min(seconds))


def _about_growth(growth: Growth | None, n_datasets: int, disagreement: float) -> list[str]:
    if growth is None:
        return ["How the time grows cannot be told from one data set."]
    low, high = growth.power - growth.margin, growth.power + growth.margin
    return [
        f"The time is extrapolated with one exponent, {number(growth.power, 2)} with a standard error of "
        f"{number(growth.error, 2)}: the mean over {n_datasets} data sets. Each counts once, with the mean of its "
        "systems and splits, in which the sample and half of it were timed one after the other. The times are medians "
        "of the splits. In brackets is what follows from the 95% interval of the exponent on one more data set, "
        f"[{number(low, 2)}, {number(high, 2)}]. It leaves out that a power may not describe larger samples, and that "
        f"times of the same fit differ: the slowest split of a row took up to {number(disagreement)} times as long as "
        "the fastest.",
    ]


def _runs(records: MailRecords) -> list[str]:
    lines = [run_line("", run) for run in records.runs] or ["No run is on record."]
    return ["## How it was made", "", "Every run on the test parts:", "", *lines]
