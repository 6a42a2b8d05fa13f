"""The page of the reproduction of Table 1, written from the rows of results; no number on it is typed by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median, stdev
from typing import Any

from setrbm.evaluation.plots import draw_critical_difference, draw_setting
from setrbm.evaluation.results import Fold
from setrbm.evaluation.statistics import (
    LEVEL,
    SAME,
    Friedman,
    cliques,
    corrected_t_test,
    critical_difference,
    friedman,
    summarize,
)
from setrbm.reproduction.effects import BASE, EFFECTS, TITLES, curves
from setrbm.reproduction.paper import FOLDS, REPEATS, SOURCE
from setrbm.reproduction.rendering import as_markdown, escape_markdown, interval, number, p_value, signed, title
from setrbm.reproduction.table_plots import draw_accuracies
from setrbm.reproduction.tables import Marking, Table1

PAGE, IMAGES = "reproduction.md", "images"
ACCURACIES, RANKS = "reproduction_accuracies.png", "reproduction_ranks.png"
# Cells further from the paper's figure than this, in points, are listed.
FAR = 3.0
MARKINGS: tuple[Marking, ...] = ("plain", "corrected", "holm")
# The row of our own defaults.
OURS = "ClassSetRBMCV"
Remarks = Mapping[tuple[str, str], str]
NOT_AS_IN_THE_PAPER = """## What is not as in the paper

The paper leaves open how its systems were trained in detail, and takes the best number of updates on the held-out
fifth. Here:

- Rows with hidden units choose the number of updates from one or two lengths, not among all epochs, and what was
  chosen is trained again on the whole training part. Inside training parts these two changes are worth more than most
  differences between rows (docs/decisions/0005-the-recipe.md).
- The support vector machines choose by five held-out parts in turn.
- The max-out rows see standardised inputs, but for logistic regression. Pooled inputs are mean, least and largest
  value.
- ClassSetRBMCV, Gated attention and Pooled SVM are not in the paper. The defaults of ClassSetRBMCV, and the first
  change above, were found inside training parts of these same five data sets, dealt by another seed. No test fold was
  looked at, but data sets that were never looked at would be the fairer test."""


def write_report(
    rows: Iterable[Fold], runs: Sequence[Mapping[str, Any]], out_folder: Path, remarks: Remarks | None = None,
    repeats: int = REPEATS, folds: int = FOLDS, effects: Iterable[Fold] = (), again: Iterable[Fold] = (),
    quick: bool = False,
) -> Path:  # fmt: skip
    """Write ``reproduction.md`` and, in ``images/`` beside it, its pictures; return the path of the page.

    The same input gives the same files, byte for byte. Without matplotlib there are no pictures, and the page says so.

    Parameters
    ----------
    rows : iterable of Fold
    runs : sequence of dict
        What made the rows, each with command, machine, versions, seconds, started, systems, datasets and engine.
    out_folder : Path
        Made where it is missing.
    remarks : mapping of (system, dataset) to str, optional
        Markdown said of single cells.
    repeats, folds : int
        How many there must be for a cell to count; the paper's numbers unless given.
    effects : iterable of Fold, optional
        Rows of `setrbm.reproduction.effects`; without any, the page says nothing of single settings.
    again : iterable of Fold, optional
        Some of the same rows, made once more by another engine.
    quick : bool
        Whether the rows chose from little and were trained shortly, which the page then says.
    """
    table, of_settings = Table1(rows, repeats, folds, quick), list(effects)
    text = report_text(table, runs, remarks, of_settings, list(again))
    page = out_folder / PAGE
    out_folder.mkdir(parents=True, exist_ok=True)
    if find_spec("matplotlib") is None:
        page.write_text(_without_pictures(text), encoding="utf-8", newline="\n")
        return page
    images = out_folder / IMAGES
    images.mkdir(parents=True, exist_ok=True)
    draw_accuracies(table, images / ACCURACIES)
    if ranked := _ranked(table):
        names, _, difference, result = ranked
        draw_critical_difference(names, [float(rank) for rank in result.ranks], difference, images / RANKS)
    for setting in EFFECTS if of_settings else ():
        by_title = {title(name): line for name, line in curves(of_settings, setting).items()}
        draw_setting(TITLES[setting], by_title, images / image_of(setting))
    page.write_text(text, encoding="utf-8", newline="\n")
    return page


def _without_pictures(text: str) -> str:
    missing = "*A picture is missing here: matplotlib was not installed.*"
    return re.sub(r"^!\[.*\]\(.*\)$", missing, text, flags=re.MULTILINE)


def report_text(
    table: Table1, runs: Sequence[Mapping[str, Any]], remarks: Remarks | None = None, effects: Sequence[Fold] = (),
    again: Sequence[Fold] = (),
) -> str:  # fmt: skip
    """Return the page as Markdown; its pictures are taken to be in ``images/``.

    Parameters
    ----------
    table : Table1
    runs, remarks, effects, again
        As in `write_report`.
    """
    remarks = remarks or {}
    if unknown := sorted(set(remarks) - set(table.cells)):
        raise ValueError(
            f"Every remark must be of a (system, data set) in the table. Got {len(unknown)} others, the first "
            f"{unknown[0]}."
        )
    parts = [
        _head(table),
        _how_made(table, runs),
        [NOT_AS_IN_THE_PAPER],
        ["## Table", "", *as_markdown(table).splitlines(), "", f"![Accuracy by system]({IMAGES}/{ACCURACIES})"],
        _differences(table),
        _significance(table),
        *([_ours(table)] if OURS in table.systems else []),
        _ranks(table),
        _far_from_paper(table, remarks),
        *([_made_again(table, again)] if again else []),
        *([_effects(effects)] if effects else []),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _head(table: Table1) -> list[str]:
    cells = table.cells.values()
    n_complete = sum(cell.summary is not None for cell in cells)
    compared = [cell.against_paper for cell in cells if cell.against_paper]
    inside = sum(test.low <= 0 <= test.high for test in compared)
    return [
        "# Reproduction of Table 1",
        "",
        "Generated from the folds, the records of runs and the remarks in the folder of results.",
        "",
        *([f"**{table.shortcut}**", ""] if table.shortcut else []),
        f"The paper: {SOURCE}. {n_complete} of {len(table.cells)} cells have all their {table.n_folds} folds. Of the "
        f"{len(compared)} that the paper has too, the paper's figure lies in our 95 % interval for {inside}.",
    ]


# --- how it was made ---


def _how_made(table: Table1, runs: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = ["## How it was made", ""]
    if not runs:
        lines += ["No run is on record."]
    for run in runs:
        lines += [
            f"- `{run['command']}`, started {run['started']}, {duration(float(run['seconds']))}{_made(run)}, engine "
            f"{run['engine']}. Systems: {_listed(run['systems'])}. Data sets: {_listed(run['datasets'])}. "
            f"{_versions(run['versions'])}. Machine: {escape_markdown(str(run['machine']))}."
        ]
    heads = " | ".join(map(title, table.datasets))
    lines += [
        "",
        "Time of all folds together: the median fold's times their number, since single folds met other work on the "
        "machine. On a GPU all folds of a cell are trained at once and several cells share it: a run takes less than "
        "its cells together. Elsewhere each fold has one core. Rows of different engines ran on different machines.",
        "",
        f"| | engine | {heads} |",
        "|---|---" + "|---:" * len(table.datasets) + "|",
    ]
    for system in table.systems:
        rows = [[row for row in table.rows if (row.system, row.dataset) == (system, d)] for d in table.datasets]
        if any(rows):
            engines = ", ".join(dict.fromkeys(row.engine for cell in rows for row in cell))
            times = " | ".join(duration(len(cell) * median(r.seconds for r in cell)) if cell else "-" for cell in rows)
            lines += [f"| {escape_markdown(system)} | {engines} | {times} |"]
    return lines


def _made(run: Mapping[str, Any]) -> str:
    """Say how many folds a run made, where that is on record, and whether it came to its end."""
    made = f", {run['folds']:,} folds" if "folds" in run else ""
    return made + ("" if run.get("finished", True) else ", ended before the last")


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(escape_markdown, names))


def _versions(versions: str | Mapping[str, str]) -> str:
    if isinstance(versions, str):
        return escape_markdown(versions)
    return escape_markdown(", ".join(f"{name} {version}" for name, version in versions.items()))


# --- against the paper ---


def _differences(table: Table1) -> list[str]:
    heads = " | ".join(map(title, table.datasets))
    pooling = [
        abs(cell.pooled - cell.summary.mean) for cell in table.cells.values() if cell.summary and cell.paper is not None
    ]
    lines = [
        "## Ours less the paper's",
        "",
        "In points, with the 95 % interval of the corrected resampled t-test; below it the paper's figure. The "
        "interval takes the paper's figure as exact, which it is not: its own spread is not printed. An interval that "
        "holds 0 does not show that both are equal, only that these folds do not separate them.",
    ]
    if pooling:
        lines += [
            "",
            "The paper's figures fit shares of the test sets of all folds together; ours are means of folds. Taken "
            f"that way, ours would move by {number(max(pooling), 2)} points at most.",
        ]
    lines += ["", f"| | {heads} | average |", "|---" + "|---:" * (len(table.datasets) + 1) + "|"]
    for system in table.systems:
        if (paper := table.paper_average(system)) is None:
            continue
        ours = table.average(system)
        cells = [_against_paper(table, system, dataset) for dataset in table.datasets]
        last = f"{signed(None if ours is None else ours - paper)}<br>{number(paper, 2)}"
        lines += [f"| {escape_markdown(system)} | {' | '.join([*cells, last])} |"]
    return lines


def _against_paper(table: Table1, system: str, dataset: str) -> str:
    cell = table.cells[system, dataset]
    return f"{interval(cell.against_paper) if cell.against_paper else '-'}<br>{number(cell.paper, 2)}"


# --- significance ---


def _significance(table: Table1) -> list[str]:
    lines = [
        "## Significance",
        "",
        "Each system against the best of its data set, two-sided, paired fold by fold. *Plain* is Student's t-test, as "
        "the paper marks; it takes the folds for independent, which they are not, so it separates too much. "
        "*Corrected* is the corrected resampled t-test (Nadeau and Bengio); *Holm* adjusts its p values for the "
        "comparisons within the data set. The best was picked by the same scores, which "
        "makes all three too ready to call others worse.",
    ]
    for dataset in table.datasets:
        lines += ["", f"### {title(dataset)}", "", *_significance_of(table, dataset)]
    return lines


def _significance_of(table: Table1, dataset: str) -> list[str]:
    best = table.best(dataset)
    tests = {marking: table.against_best(dataset, marking) for marking in MARKINGS}
    if best is None or not tests["plain"]:
        return ["Fewer than two systems have all their folds: nothing to compare."]
    n = len(tests["plain"])
    plain, corrected, adjusted = (n + 1 - len(table.not_worse(dataset, marking)) for marking in MARKINGS)
    lines = [
        f"The best: {escape_markdown(best)}, {number(table.mean(best, dataset))}. Significantly worse at 5 %: {plain} "
        f"of {n} by the plain test, {corrected} by the corrected one, {adjusted} after Holm.",
        "",
        "| | less the best, 95 % corrected interval | p plain | p corrected | p Holm |",
        "|---|---:|---:|---:|---:|",
    ]
    for system, test in tests["corrected"].items():
        values = " | ".join(p_value(tests[marking][system].p) for marking in MARKINGS)
        lines += [f"| {escape_markdown(system)} | {interval(test)} | {values} |"]
    return lines


def _ours(table: Table1) -> list[str]:
    """Say where our own row is told from the others."""
    lines = [
        f"### {OURS} against every other row",
        "",
        "Its defaults, one recipe for all data sets; p values of the corrected test, after Holm's correction within "
        "the data set.",
        "",
        "| | accuracy | rows above it | significantly better than it | significantly worse than it |",
        "|---|---:|---:|---|---|",
    ]
    for dataset in table.datasets:
        if not (tests := table.against(OURS, dataset, "holm")):
            continue
        apart = {name: test.difference for name, test in tests.items() if test.p < 1 - LEVEL}
        better, worse = (_listed([n for n, d in apart.items() if sign * d > 0]) or "none" for sign in (1, -1))
        above = sum(test.difference > 0 for test in tests.values())
        mean = number(table.mean(OURS, dataset))
        lines += [f"| {title(dataset)} | {mean} | {above} of {len(tests)} | {better} | {worse} |"]
    return lines


# --- the same rows by another engine ---


def _made_again(table: Table1, rows: Sequence[Fold]) -> list[str]:
    known_rows = {row.key: row for row in table.rows}
    others = {row.key: row for row in rows if row.key in known_rows}
    for key, row in others.items():
        known = known_rows[key]
        if (row.seed, row.settings, row.n_test) != (known.seed, known.settings, known.n_test):
            raise ValueError(
                f"Rows made again must be of the same settings, data and splits. Got others for {row.system} on "
                f"{row.dataset}, repetition {row.repeat}, fold {row.fold}."
            )
    lines = [
        "## The same folds by another engine",
        "",
        "Engines add up in another order, so a choice between settings that are nearly equal can fall the other way. "
        "The difference is again less table, with the 95 % interval of the corrected resampled t-test.",
        "",
        "| | data set | in the table | again | folds that differ | difference |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for (system, dataset), cell in table.cells.items():
        found = [row for row in others.values() if (row.system, row.dataset) == (system, dataset)]
        scores = {(row.repeat, row.fold): 100 * row.accuracy for row in found}
        if cell.summary is None or scores.keys() != cell.scores.keys():
            continue
        differ = sum(abs(scores[key] - cell.scores[key]) > SAME for key in scores)
        before, now = (
            ", ".join(sorted({row.engine for row in of})) for of in ((known_rows[row.key] for row in found), found)
        )
        lines += [
            f"| {escape_markdown(system)} | {title(dataset)} | {number(cell.summary.mean)} ({before}) | "
            f"{number(summarize(scores).mean)} ({now}) | {differ} of {len(scores)} | "
            f"{interval(corrected_t_test(scores, cell.scores))} |"
        ]
    return lines


# --- single settings ---


def image_of(setting: str) -> str:
    """Return the name of the picture of a setting's effect."""
    return f"reproduction_{setting}.png"


def _effects(rows: Sequence[Fold]) -> list[str]:
    base = ", ".join(f"{name} {value:g}" for name, value in BASE.items())
    n_folds = len({(row.repeat, row.fold) for row in rows})
    all_there = n_folds * len({row.system for row in rows}) * len({row.dataset for row in rows})
    cells: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        cells.setdefault((row.system, row.dataset), []).append(100 * row.accuracy)
    spreads = [stdev(scores) for scores in cells.values() if len(scores) > 1] or [0.0]
    lines = [
        "## Learning curves and single settings",
        "",
        f"ClassSetRBM XOR\\*, trained to the end on the whole training part, one setting changed at a time ({base}); "
        f"means over {n_folds} test folds a data set, by `setrbm reproduce effects`. Nothing is chosen by these; the "
        "settings of the rows were fixed before. "
        f"Accuracies of single folds have a standard deviation of {number(min(spreads))} to {number(max(spreads))} "
        f"points, so a mean of {n_folds} is not known better than to about {number(median(spreads) / n_folds**0.5)}.",
    ]
    if len(rows) < all_there:
        lines += ["", f"**Not all folds are there, but {len(rows)} of {all_there}: some means are over fewer.**"]
    for setting in EFFECTS:
        lines += ["", f"![The effect of {TITLES[setting]}]({IMAGES}/{image_of(setting)})"]
    return lines


# --- ranks ---


def _ranked(table: Table1) -> tuple[list[str], int, float, Friedman] | None:
    """Return the systems that can be ranked, the number of data sets, the critical difference and the test."""
    names, n = table.ranked(), len(table.datasets)
    if len(names) < 3:
        return None
    result = friedman([[table.mean(name, dataset) or 0.0 for name in names] for dataset in table.datasets])
    return names, n, critical_difference(len(names), n), result


def _ranks(table: Table1) -> list[str]:
    lines = ["## Ranks over the data sets", ""]
    ranked = _ranked(table)
    if ranked is None:
        return [*lines, "Fewer than three systems have all folds of all data sets: nothing to rank."]
    names, n, difference, result = ranked
    left_out = [system for system in table.systems if system not in names]
    if left_out:
        lines += [f"Without {_listed(left_out)}: not all their folds are there.", ""]
    groups = cliques(result.ranks, difference)
    kept = {(a, b) for group in groups for a in group for b in group if a < b}
    pairs = len(names) * (len(names) - 1) // 2
    return [
        *lines,
        f"Friedman's test of {len(names)} systems on {n} data sets: statistic {result.statistic:.2f}, p "
        f"{p_value(result.p)}. Nemenyi's critical difference at 5 % is {difference:.2f} ranks, and average ranks can "
        f"differ by {len(names) - 1} at most: {n} data sets can separate only a system that is nearly always among the "
        f"first from one nearly always among the last. Here {pairs - len(kept)} of {pairs} pairs are separated.",
        "",
        f"![Average ranks, and what is not separated]({IMAGES}/{RANKS})",
    ]


# --- remarks ---


def _far_from_paper(table: Table1, remarks: Remarks) -> list[str]:
    below, above = (table.far_from_paper(FAR, sign) for sign in (-1, 1))
    lines = [f"## More than {FAR:g} points from the paper", "", "Below:", ""]
    lines += [f"- {_name(key)}: {_compared(table, key)}. {_remark(remarks, key)}" for key in below] or ["None."]
    lines += ["", "Above (see *What is not as in the paper*):", ""]
    lines += [f"- {_name(key)}: {_compared(table, key)}." for key in above] or ["None."]
    others = [key for key in table.cells if key in remarks and key not in below]
    if others:
        lines += ["", "## Other remarks", ""]
        lines += [f"- {_name(key)}: {_remark(remarks, key)}" for key in others]
    return lines


def _name(key: tuple[str, str]) -> str:
    return f"{escape_markdown(key[0])} on {title(key[1])}"


def _compared(table: Table1, key: tuple[str, str]) -> str:
    cell = table.cells[key]
    test = cell.against_paper
    return f"{number(table.mean(*key))} against {number(cell.paper, 2)}, {interval(test) if test else '-'}"


def _remark(remarks: Remarks, key: tuple[str, str]) -> str:
    return " ".join(remarks[key].split()) if key in remarks else "No remark yet."
