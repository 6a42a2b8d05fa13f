"""Sections of the page that compare: with the paper, between rows, and with the same folds on another engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from setrbm.evaluation.statistics import LEVEL, SAME, corrected_t_test, summarize
from setrbm_lab.rendering import escape_markdown, interval, markdown_table, number, p_value, signed, title
from setrbm_lab.results import Fold
from setrbm_lab.statistics import Friedman, cliques, critical_difference, friedman
from setrbm_lab.systems import OURS
from setrbm_lab.tables import Marking, Table1

# Cells further than this from the paper's figure, in points, are listed.
FAR = 3.0
MARKINGS: tuple[Marking, ...] = ("plain", "corrected", "holm")
Remarks = Mapping[tuple[str, str], str]


def differences(table: Table1) -> list[str]:
    """Return the differences from the paper's figures."""
    pooling = [
        abs(cell.pooled - cell.summary.mean) for cell in table.cells.values() if cell.summary and cell.paper is not None
    ]
    lines = [
        "## Difference from the paper",
        "",
        "Our mean minus the paper's figure, in points, with the 95% interval of the corrected resampled t-test; below "
        "it the paper's figure. The interval treats the paper's figure as exact; its spread is not published. An "
        "interval that contains 0 does not show that both are equal, only that these folds do not distinguish them.",
    ]
    if pooling:
        lines += [
            "",
            "The paper's figures are accuracies over the test sets of all folds pooled; ours are means of folds. "
            f"Pooled accuracies differ from ours by at most {number(max(pooling), 2)} points.",
        ]
    rows = []
    for system in table.systems:
        if (paper := table.paper_average(system)) is not None:
            ours = table.average(system)
            average = f"{signed(None if ours is None else ours - paper)}<br>{number(paper, 2)}"
            cells = [_against_paper(table, system, dataset) for dataset in table.datasets]
            rows += [[escape_markdown(system), *cells, average]]
    return [*lines, "", *markdown_table([*map(title, table.datasets), "average"], rows)]


def _against_paper(table: Table1, system: str, dataset: str) -> str:
    cell = table.cells[system, dataset]
    return f"{interval(cell.against_paper) if cell.against_paper else '-'}<br>{number(cell.paper, 2)}"


def significance(table: Table1) -> list[str]:
    """Return the tests of every system against the best, for each data set."""
    lines = [
        "## Significance",
        "",
        "Each system against the best of its data set: two-sided tests, paired by fold. *Plain* is Student's t-test, "
        "as in the paper; it assumes independent folds, which these are not, and rejects too often. *Corrected* is the "
        "corrected resampled t-test (Nadeau and Bengio). *Holm* adjusts its p-values for the comparisons within the "
        "data set. The best was selected by the same scores, which biases all three tests towards significance.",
    ]
    for dataset in table.datasets:
        lines += ["", f"### {title(dataset)}", "", *_against_best(table, dataset)]
    return lines


def _against_best(table: Table1, dataset: str) -> list[str]:
    best = table.best(dataset)
    tests = {marking: table.against_best(dataset, marking) for marking in MARKINGS}
    if best is None or not tests["plain"]:
        return ["Fewer than two systems have all folds: nothing to compare."]
    n = len(tests["plain"])
    plain, corrected, adjusted = (n + 1 - len(table.not_worse(dataset, marking)) for marking in MARKINGS)
    rows = [
        [escape_markdown(system), interval(test), *(p_value(tests[marking][system].p) for marking in MARKINGS)]
        for system, test in tests["corrected"].items()
    ]
    return [
        f"Best: {escape_markdown(best)}, {number(table.mean(best, dataset))}. Significantly worse at the 5% level: "
        f"{plain} of {n} by the plain test, {corrected} by the corrected one, {adjusted} after Holm's correction.",
        "",
        *markdown_table(["minus the best, corrected 95% interval", "p plain", "p corrected", "p Holm"], rows),
    ]


def our_row(table: Table1) -> list[str]:
    """Compare our defaults with every other row."""
    if OURS not in table.systems:
        return []
    rows = []
    for dataset in table.datasets:
        if tests := table.against(OURS, dataset, "holm"):
            apart = {name: test.difference for name, test in tests.items() if test.p < 1 - LEVEL}
            groups = ([name for name, value in apart.items() if sign * value > 0] for sign in (1, -1))
            better, worse = (", ".join(map(escape_markdown, names)) or "none" for names in groups)
            above = sum(test.difference > 0 for test in tests.values())
            mean = number(table.mean(OURS, dataset))
            rows += [[title(dataset), mean, f"{above} of {len(tests)}", better, worse]]
    return [
        f"### {OURS} against every other row",
        "",
        "The estimator's defaults, the same for all data sets. Significance by the corrected test with Holm's "
        "correction within the data set.",
        "",
        *markdown_table(["accuracy", "rows above it", "significantly better", "significantly worse"], rows),
    ]


# --- ranks ---


def ranking(table: Table1) -> tuple[list[str], float, Friedman] | None:
    """Return the systems that can be ranked, the critical difference and Friedman's test; None if fewer than three."""
    names, n = table.ranked(), len(table.datasets)
    if len(names) < 3:
        return None
    result = friedman([[table.mean(name, dataset) or 0.0 for name in names] for dataset in table.datasets])
    return names, critical_difference(len(names), n), result


def different_pairs(ranks: Sequence[float], difference: float) -> tuple[int, int]:
    """Return how many pairs of systems differ significantly, and how many pairs there are."""
    alike = {(a, b) for group in cliques(ranks, difference) for a in group for b in group if a < b}
    pairs = len(ranks) * (len(ranks) - 1) // 2
    return pairs - len(alike), pairs


def ranks(table: Table1, image: str) -> list[str]:
    """Return the ranks over all data sets."""
    lines = ["## Ranks over the data sets", ""]
    if (ranked := ranking(table)) is None:
        return [*lines, "Fewer than three systems have all folds of all data sets: nothing to rank."]
    names, difference, result = ranked
    if left_out := [escape_markdown(system) for system in table.systems if system not in names]:
        lines += [f"Without {', '.join(left_out)}, whose folds are incomplete.", ""]
    n, (different, pairs) = len(table.datasets), different_pairs(list(result.ranks), difference)
    return [
        *lines,
        f"Friedman's test of {len(names)} systems on {n} data sets: statistic {result.statistic:.2f}, p "
        f"{p_value(result.p)}. Nemenyi's critical difference at the 5% level is {difference:.2f} ranks, and average "
        f"ranks differ by at most {len(names) - 1}: with {n} data sets only a system that is nearly always among the "
        f"best differs significantly from one that is nearly always among the worst. Here {different} of {pairs} pairs "
        "differ significantly.",
        "",
        f"![Average ranks, with groups that are not significantly different]({image})",
    ]


# --- remarks ---


def far_from_paper(table: Table1, remarks: Remarks) -> list[str]:
    """List the cells that are far from the paper's figure, with remarks on those below."""
    below, above = (table.far_from_paper(FAR, sign) for sign in (-1, 1))
    lines = [f"## More than {FAR:g} points from the paper", "", "Below:", ""]
    lines += [f"- {_name(key)}: {_compared(table, key)}. {_remark(remarks, key)}" for key in below] or ["None."]
    lines += ["", "Above (see *What differs from the paper*):", ""]
    lines += [f"- {_name(key)}: {_compared(table, key)}." for key in above] or ["None."]
    if others := [key for key in table.cells if key in remarks and key not in below]:
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


# --- the same folds on another engine ---


def made_again(table: Table1, rows: Sequence[Fold]) -> list[str]:
    """Compare rows of the table with the same folds on another engine."""
    if not rows:
        return []
    known = {row.key: row for row in table.rows}
    again: dict[tuple[str, str], list[Fold]] = {}
    for row in (row for row in rows if row.key in known):
        _check_same(row, known[row.key])
        again.setdefault((row.system, row.dataset), []).append(row)
    shown = []
    for (system, dataset), cell in table.cells.items():
        folds = again.get((system, dataset), [])
        scores = {(row.repeat, row.fold): 100 * row.accuracy for row in folds}
        if cell.summary is None or scores.keys() != cell.scores.keys():
            continue
        differ = sum(abs(scores[key] - cell.scores[key]) > SAME for key in scores)
        engines = (sorted({row.engine for row in group}) for group in ((known[row.key] for row in folds), folds))
        before, now = (", ".join(names) for names in engines)
        means = f"{number(cell.summary.mean)} ({before})", f"{number(summarize(scores).mean)} ({now})"
        test = interval(corrected_t_test(scores, cell.scores))
        shown += [[escape_markdown(system), title(dataset), *means, f"{differ} of {len(scores)}", test]]
    return [
        "## The same folds on another engine",
        "",
        "Engines sum in different orders, so the choice between nearly equal candidates can differ. The difference is "
        "*again* minus *table*, with the 95% interval of the corrected resampled t-test.",
        "",
        *markdown_table(["data set", "table", "again", "folds that differ", "difference"], shown),
    ]


def _check_same(row: Fold, known: Fold) -> None:
    if (row.seed, row.settings, row.n_test) != (known.seed, known.settings, known.n_test):
        raise ValueError(
            f"Rows made again must have the same settings, data and splits. Got different ones for {row.system} on "
            f"{row.dataset}, repetition {row.repeat}, fold {row.fold}."
        )
