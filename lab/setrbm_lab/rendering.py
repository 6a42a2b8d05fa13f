"""Table 1 as text: Markdown, a stand-alone HTML page, LaTeX."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence

from setrbm.evaluation.statistics import SAME, Comparison
from setrbm_lab.paper import SOURCE
from setrbm_lab.tables import Cell, Marking, Table, Table1

MARKS = {
    "plain": "the plain paired t-test, as in the paper",
    "corrected": "the corrected resampled t-test",
    "holm": "the corrected resampled t-test with Holm's correction within the data set",
}
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$",
}  # fmt: skip
_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #bbb; --soft: #595959; --best: #cfe3f5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #161616; --line: #555; --soft: #b0b0b0; --best: #1f4a70; }
}
body { font: 16px/1.4 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .8em; max-width: 60em; }
th, td { padding: .3em .8em; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child { text-align: left; }
td { font-weight: normal; }
td.not-worse { font-weight: bold; }
td.best { background: var(--best); }
small { display: block; font-weight: normal; color: var(--soft); }
td.best small { color: inherit; }
"""


def escape_markdown(text: str) -> str:
    """Escape text for Markdown, also inside a table."""
    return re.sub(r"([\\`*_\[\]<>|~#])", r"\\\1", text)


def escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def number(value: float | None, digits: int = 1) -> str:
    """Format a number with a fixed number of digits; "-" if there is none."""
    return "-" if value is None or math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def signed(value: float | None, digits: int = 1) -> str:
    """Format a number with its sign (0 without one); "-" if there is none."""
    if value is None or math.isnan(value):
        return "-"
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else f"{0:.{digits}f}"


def interval(test: Comparison) -> str:
    """Format a difference and its confidence interval."""
    return f"{signed(test.difference)} [{signed(test.low)}, {signed(test.high)}]"


def p_value(p: float) -> str:
    """Format a p-value."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def title(dataset: str) -> str:
    """Return the name of a data set as the paper writes it."""
    return dataset.capitalize()


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table; ``heads`` are those of all columns but the first, which has the names."""
    lines = ["| | " + " | ".join(heads) + " |", "|---" + "|---:" * len(heads) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def caption(table: Table1, marking: Marking) -> str:
    """Explain the numbers and marks of a table."""
    spread = " ± standard deviation of the repetitions' means" if table.repeats > 1 else ""
    shortcut = f"{table.shortcut} " if table.shortcut else ""
    return (
        f"{shortcut}Accuracy in percent, mean of {table.n_folds} folds{spread}. Bold: not significantly worse than the "
        f"best of the data set at the 5% level ({MARKS[marking]}). An incomplete cell shows its number of folds and is "
        "neither averaged nor compared."
    )


def as_markdown(table: Table1, marking: Marking = "corrected") -> str:
    """Return the table in Markdown; the best is starred, those not significantly worse are bold.

    Parameters
    ----------
    table : Table1
    marking : {"plain", "corrected", "holm"}
        The test behind the bold figures.
    """
    heads = [*map(title, table.datasets), "average", "paper"]
    marks, rows = marks_of(table, marking), []
    for system in table.systems:
        shown = []
        for dataset in table.datasets:
            text = _figure(table.cells[system, dataset], table.n_folds, "±")
            is_best, is_bold = marks[system, dataset]
            shown += [f"**{text}**" + " ★" * is_best if is_bold else text]
        averages = number(table.average(system)), number(table.paper_average(system), 2)
        rows += [[escape_markdown(system), *shown, *averages]]
    below = f"{caption(table, marking)} Star: best. Last column: the paper's average."
    return "\n".join([*markdown_table(heads, rows), "", below, ""])


def as_html(table: Table1, marking: Marking = "corrected") -> str:
    """Return the table as a stand-alone HTML page; the best is shaded, those not significantly worse are bold.

    Parameters
    ----------
    table : Table1
    marking : {"plain", "corrected", "holm"}
        The test behind the bold figures.
    """
    marks = marks_of(table, marking)
    head = "".join(f'<th scope="col">{html.escape(title(name))}</th>' for name in table.datasets)
    body = "\n".join(_html_row(table, system, marks) for system in table.systems)
    words = (
        f"{caption(table, marking)} Shaded: the best. Below each figure: the paper's ({SOURCE}), and ours less the "
        "paper's with its 95 % interval."
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reproduction of Table 1</title>
<style>{_STYLE}</style>
</head>
<body>
<div class="scroll">
<table>
<caption>{html.escape(words)}</caption>
<thead><tr><th scope="col">System</th>{head}<th scope="col">average</th></tr></thead>
<tbody>
{body}
</tbody>
</table>
</div>
</body>
</html>
"""


def as_latex(table: Table1, marking: Marking = "corrected") -> str:
    r"""Return the table in LaTeX, the paper's figures below ours.

    The best is in a ``\cellcolor``, those not significantly worse in ``\textbf``. Needs the packages booktabs and
    xcolor with the option table.

    Parameters
    ----------
    table : Table1
    marking : {"plain", "corrected", "holm"}
        The test behind the bold figures.
    """
    marks = marks_of(table, marking)
    heads = " & ".join(escape_latex(title(name)) for name in table.datasets)
    lines = ["% Needs booktabs, and xcolor with the option table.", r"\begin{table}", r"\centering"]
    lines += [rf"\begin{{tabular}}{{l{'r' * (len(table.datasets) + 1)}}}", r"\toprule"]
    lines += [rf"System & {heads} & average \\", r"\midrule"]
    for system in table.systems:
        cells = [_latex_cell(table, system, dataset, marks[system, dataset]) for dataset in table.datasets]
        lines += [" & ".join([escape_latex(system), *cells, number(table.average(system))]) + r" \\"]
        if (average := table.paper_average(system)) is not None:
            figures = [number(table.cells[system, dataset].paper, 2) for dataset in table.datasets]
            small = [rf"\small {text}" for text in ("paper", *figures, number(average, 2))]
            lines += [r"\quad" + " & ".join(small) + r" \\"]
    words = escape_latex(f"{caption(table, marking)} Shaded: best. Small: the paper ({SOURCE}).")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{words}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def marks_of(table: Table, marking: Marking) -> dict[tuple[str, str], tuple[bool, bool]]:
    """Return for each cell whether it is the best (or tied), and whether it is not significantly worse."""
    marks = {}
    for dataset in table.datasets:
        best, bold = table.best(dataset), table.not_worse(dataset, marking)
        top = math.nan if best is None else table.mean(best, dataset)
        for system in table.systems:
            mean = table.mean(system, dataset)
            is_best = mean is not None and top is not None and mean >= top - SAME
            marks[system, dataset] = (is_best, system in bold)
    return marks


def _figure(cell: Cell, n_folds: int, sign: str) -> str:
    if cell.summary is None:
        return f"- ({cell.n_folds} of {n_folds} folds)" if cell.n_folds else "-"
    spread = cell.summary.repeat_spread
    return number(cell.summary.mean) + ("" if math.isnan(spread) else f" {sign} {number(spread)}")


def _html_row(table: Table1, system: str, marks: dict[tuple[str, str], tuple[bool, bool]]) -> str:
    cells = []
    for dataset in table.datasets:
        cell, (is_best, is_bold) = table.cells[system, dataset], marks[system, dataset]
        names = " ".join(name for name, holds in [("best", is_best), ("not-worse", is_bold)] if holds)
        below = "" if cell.paper is None else _below(number(cell.paper, 2), cell.against_paper)
        kind = f' class="{names}"' if names else ""
        cells += [f"<td{kind}>{html.escape(_figure(cell, table.n_folds, '±'))}{below}</td>"]
    paper = table.paper_average(system)
    below = "" if paper is None else _below(number(paper, 2), None)
    cells += [f"<td>{number(table.average(system))}{below}</td>"]
    return f'<tr><th scope="row">{html.escape(system)}</th>{"".join(cells)}</tr>'


def _below(paper: str, test: Comparison | None) -> str:
    return f"<small>paper {paper}</small>" + (f"<small>{interval(test)}</small>" if test else "")


def _latex_cell(table: Table1, system: str, dataset: str, marks: tuple[bool, bool]) -> str:
    is_best, is_bold = marks
    text = _figure(table.cells[system, dataset], table.n_folds, r"$\pm$")
    text = rf"\textbf{{{text}}}" if is_bold else text
    return rf"\cellcolor{{gray!25}}{text}" if is_best else text
