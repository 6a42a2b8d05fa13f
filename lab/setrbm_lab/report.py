"""The page about the reproduction of Table 1, generated from the records of a folder of results."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median, stdev

from setrbm_lab import comparisons, run_history
from setrbm_lab.effects import BASE, EFFECTS, TITLES, curves
from setrbm_lab.paper import SOURCE
from setrbm_lab.plots import draw_critical_difference, draw_setting
from setrbm_lab.records import Records
from setrbm_lab.rendering import as_markdown, escape_markdown, markdown_table, number, title
from setrbm_lab.results import Fold
from setrbm_lab.statistics import expected_calibration_error
from setrbm_lab.systems import FORMER, OURS
from setrbm_lab.table_plots import draw_accuracies
from setrbm_lab.tables import Table1

PAGE, IMAGES = "reproduction.md", "images"
ACCURACIES, RANKS = "reproduction_accuracies.png", "reproduction_ranks.png"


def write_report(table: Table1, records: Records, folder: Path) -> Path:
    """Write ``reproduction.md`` and, in ``images/`` beside it, its plots; return the path of the page.

    The same input gives the same files, byte for byte. Without matplotlib there are no plots, and the page says so.

    Parameters
    ----------
    table : Table1
    records : Records
    folder : Path
        Created if it does not exist.
    """
    return write_page(report_text(table, records), folder / PAGE, lambda images: _draw(table, records, images))


def write_page(text: str, page: Path, draw: Callable[[Path], None]) -> Path:
    """Write a page and, in ``images/`` beside it, its plots; return its path.

    Parameters
    ----------
    text : str
        Markdown. Without matplotlib its plots are replaced by a remark.
    page : Path
    draw : callable
        Draws all plots into the folder given to it.
    """
    images = page.parent / IMAGES
    page.parent.mkdir(parents=True, exist_ok=True)
    if find_spec("matplotlib") is None:
        missing = "*A plot is missing here: matplotlib was not installed.*"
        text = re.sub(r"^!\[.*\]\(.*\)$", missing, text, flags=re.MULTILINE)
    else:
        images.mkdir(exist_ok=True)
        draw(images)
    page.write_text(text, encoding="utf-8", newline="\n")
    return page


def _draw(table: Table1, records: Records, images: Path) -> None:
    draw_accuracies(table, images / ACCURACIES)
    if ranked := comparisons.ranking(table):
        names, difference, result = ranked
        draw_critical_difference(names, [float(rank) for rank in result.ranks], difference, images / RANKS)
    for setting in EFFECTS if records.effects else ():
        by_title = {title(name): line for name, line in curves(records.effects, setting).items()}
        draw_setting(TITLES[setting], by_title, images / image_of(setting))


def report_text(table: Table1, records: Records) -> str:
    """Return the page as Markdown; its plots are expected in ``images/``."""
    if unknown := sorted(set(records.remarks) - set(table.cells)):
        raise ValueError(
            f"Every remark must be about a (system, data set) of the table. Got {len(unknown)} others, the first "
            f"{unknown[0]}."
        )
    parts = [
        _head(table),
        _takeaways(table, records),
        _probabilities(table, records),
        [run_history.DEVIATIONS],
        run_history.changes(table, records),
        run_history.budgets(table, records),
        run_history.repeated_runs(table, records),
        comparisons.differences(table),
        comparisons.significance(table),
        comparisons.our_row(table),
        comparisons.ranks(table, f"{IMAGES}/{RANKS}"),
        comparisons.far_from_paper(table, records.remarks),
        comparisons.made_again(table, records.again),
        _effects(records.effects),
        run_history.how_made(table, records),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(table: Table1) -> list[str]:
    return [
        "# Reproduction of Table 1",
        "",
        *([f"**{table.shortcut}**", ""] if table.shortcut else []),
        *as_markdown(table).splitlines(),
    ]


# --- takeaways ---


def _takeaways(table: Table1, records: Records) -> list[str]:
    cells = table.cells.values()
    n_complete = sum(cell.summary is not None for cell in cells)
    compared = [cell.against_paper for cell in cells if cell.against_paper]
    inside = sum(test.low <= 0 <= test.high for test in compared)
    points = [
        *_about_averages(table),
        *_about_first(records),
        f"{n_complete} of {len(table.cells)} cells have all {table.n_folds} folds. The paper's figure is inside our "
        f"95% interval in {inside} of {len(compared)} cells.",
        *_about_log_loss(table),
    ]
    return [
        "## Takeaways",
        "",
        *(f"- {point}" for point in points),
        "",
        f"![Accuracy by system]({IMAGES}/{ACCURACIES})",
        "",
        f"The paper: {SOURCE}. `scripts/reproduce page` generates this page from the files in the folder of results.",
    ]


def _about_averages(table: Table1) -> list[str]:
    if not (ranked := comparisons.ranking(table)):
        return []
    names, difference, result = ranked
    averages = {name: table.average(name) or 0.0 for name in names}
    best = sorted(names, key=lambda name: -averages[name])[:3]
    different, pairs = comparisons.different_pairs(list(result.ranks), difference)
    shown = ", ".join(f"{escape_markdown(name)} {number(averages[name])}" for name in best)
    papers = {name: paper for name in names if (paper := table.paper_average(name)) is not None}
    reached = sum(averages[name] >= paper for name, paper in papers.items())
    return [
        f"The highest averages: {shown}. Over {len(table.datasets)} data sets, {different} of {pairs} pairs of systems "
        "differ significantly (Nemenyi's test), so the order of the rows means little.",
        f"{reached} of the {len(papers)} rows that are in the paper reach its average.",
    ]


def _about_first(records: Records) -> list[str]:
    if not records.first:
        return []
    first = Table1(records.first)
    shown = ", ".join(
        f"{escape_markdown(name)} {number(first.average(name))} (paper {number(first.paper_average(name), 2)})"
        for name in run_history.QUOTED
    )
    return [
        "The rows with hidden units use a better training procedure than the paper's. It was introduced after a first "
        f"table with the paper's own procedure had been seen: {shown}. See *How to read the table*."
    ]


def _about_log_loss(table: Table1) -> list[str]:
    losses = {dataset: table.cells[OURS, dataset].log_loss for dataset in table.datasets if OURS in table.systems}
    worse = {title(dataset): loss for dataset, loss in losses.items() if loss > math.log(2)}
    if not worse:
        return []
    shown = ", ".join(f"{number(loss, 3)} on {name}" for name, loss in worse.items())
    return [
        f"The probabilities of {OURS} are overconfident: log loss {shown}, where always predicting 50% has "
        f"{math.log(2):.3f}. Calibrate them before acting on them (`calibrate=True`)."
    ]


# --- probabilities ---


def _probabilities(table: Table1, records: Records) -> list[str]:
    rows = []
    for system in table.systems:
        cells = [table.cells[system, dataset] for dataset in table.datasets]
        if any(math.isfinite(cell.log_loss) for cell in cells):
            shown = [
                f"{number(cell.summary.mean if cell.summary else None)} / {number(cell.log_loss, 3)}" for cell in cells
            ]
            rows += [[escape_markdown(system), *shown]]
    lines = [
        "## Log loss and calibration",
        "",
        "Accuracy in percent / log loss (the mean of -log p of the true class, lower is better; always predicting 50% "
        f"has {math.log(2):.3f}). Systems without probabilities are left out.",
        "",
        *markdown_table(list(map(title, table.datasets)), rows),
        "",
        "The calibration error needs the predicted probabilities, which the results do not keep.",
    ]
    lines += ["", *_calibration(records)] if records.predictions else []
    return lines + (["", *_calibrated(records)] if records.calibrated else [])


def _calibration(records: Records) -> list[str]:
    predictions: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for line in records.predictions:
        predictions.setdefault((line["system"], line["dataset"]), []).append((float(line["p"]), int(line["label"])))
    rows = []
    for (system, dataset), predicted in predictions.items():
        p, y = zip(*predicted, strict=True)
        confidence = [max(probability, 1.0 - probability) for probability in p]
        right = [(probability > 0.5) == label for probability, label in predicted]
        shown = number(100 * sum(right) / len(right)), number(100 * sum(confidence) / len(confidence))
        error = number(100 * expected_calibration_error(p, y))
        rows += [[escape_markdown(system), title(dataset), str(len(p)), *shown, error]]
    return [
        "For these two rows it was measured by fitting all folds of Musk1 again on the CPU "
        "(`lab/experiments/calibration.py`, `lab/results/calibration.csv`): expected calibration error in points, with "
        "ten "
        "bins of equal width over the test sets of all folds. For the other data sets and rows it is not known.",
        "",
        *markdown_table(["data set", "predictions", "accuracy", "mean confidence", "calibration error"], rows),
    ]


def _calibrated(records: Records) -> list[str]:
    """Return what ``calibrate=True`` does to our row."""
    by_dataset: dict[str, list[tuple[float, float, float]]] = {}
    for line in records.calibrated:
        losses = float(line["log_loss"]), float(line["calibrated_log_loss"])
        by_dataset.setdefault(line["dataset"], []).append((*losses, float(line["temperature"])))
    rows = []
    for dataset, folds in by_dataset.items():
        plain, calibrated, temperature = (math.fsum(column) / len(folds) for column in zip(*folds, strict=True))
        rows += [[title(dataset), str(len(folds)), number(plain, 3), number(calibrated, 3), number(temperature)]]
    return [
        f"`{OURS}(calibrate=True)` divides the free energies by a temperature fitted inside each training part. "
        f"Measured with the former defaults, on the folds of the row {FORMER}, with the same predicted classes "
        "(`lab/experiments/calibrated.py`, `lab/results/calibrated.csv`):",
        "",
        *markdown_table(["folds", "log loss", "calibrated", "mean temperature"], rows),
        "",
        "The procedure was fixed before these folds were opened; it had been tried once inside training parts "
        "(`lab/results/calibrated-inside.csv`).",
    ]


# --- single settings ---


def image_of(setting: str) -> str:
    """Return the file name of the plot of a setting's effect."""
    return f"reproduction_{setting}.png"


def _effects(rows: Sequence[Fold]) -> list[str]:
    if not rows:
        return []
    base = ", ".join(f"`{name}` {value:g}" for name, value in BASE.items())
    n_folds = len({(row.repeat, row.fold) for row in rows})
    n_expected = n_folds * len({row.system for row in rows}) * len({row.dataset for row in rows})
    cells: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        cells.setdefault((row.system, row.dataset), []).append(100 * row.accuracy)
    spreads = [stdev(scores) for scores in cells.values() if len(scores) > 1] or [0.0]
    lines = [
        "## Learning curves and single settings",
        "",
        "ClassSetRBM XOR\\*, trained for all epochs on the whole training part, with one setting varied at a time "
        f"({base}). Means over {n_folds} test folds per data set, by `scripts/reproduce effects`. No setting of any "
        "row "
        "was chosen by these. "
        f"The accuracies of single folds have a standard deviation of {number(min(spreads))} to {number(max(spreads))} "
        f"points, so the standard error of a mean is about {number(median(spreads) / n_folds**0.5)} points.",
    ]
    if len(rows) < n_expected:
        lines += ["", f"**Incomplete: {len(rows)} of {n_expected} folds; some means are over fewer folds.**"]
    for setting in EFFECTS:
        lines += ["", f"![Effect of {TITLES[setting]}]({IMAGES}/{image_of(setting)})"]
    return lines
