"""The plot of Table 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from setrbm.evaluation.statistics import one_sample_interval
from setrbm_lab.plots import FAINT, OURS, PAPER, new_figure, save, style
from setrbm_lab.rendering import title
from setrbm_lab.tables import Table1


def draw_accuracies(table: Table1, path: Path) -> None:
    """Draw one panel per data set: each system's mean with its corrected 95% interval, and the paper's figure.

    Parameters
    ----------
    table : Table1
        Incomplete cells are left empty.
    path : Path
        The PNG to write.
    """
    with style():
        figure = new_figure(0.26 * len(table.systems) + 1.3)
        panels = figure.subplots(1, len(table.datasets), sharey=True)
        for axes, dataset in zip(panels, table.datasets, strict=True):
            _draw_data_set(axes, table, dataset)
        panels[0].set_yticks(range(len(table.systems)), table.systems)
        panels[0].set_ylim(len(table.systems) - 0.4, -0.6)
        figure.supxlabel("accuracy in %", fontsize=9)
        handles = [
            _handle("o", OURS, "ours, with corrected 95% interval", line="-"),
            _handle("D", PAPER, "paper", hollow=True),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=2)
        save(figure, path)


def _draw_data_set(axes: Any, table: Table1, dataset: str) -> None:
    from matplotlib.ticker import MaxNLocator

    for place, system in enumerate(table.systems):
        cell = table.cells[system, dataset]
        if cell.summary is not None:
            reach = one_sample_interval(cell.scores, 0.0)
            axes.plot([reach.low, reach.high], [place, place], color=OURS, linewidth=1.5)
            axes.plot(cell.summary.mean, place, "o", color=OURS, markersize=5)
        if cell.paper is not None:
            axes.plot(cell.paper, place, "D", color=PAPER, markerfacecolor="none", markersize=6, markeredgewidth=1.3)
    axes.set_title(title(dataset))
    axes.margins(x=0.09)
    axes.grid(axis="both", color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True, steps=[1, 2, 5, 10]))


def _handle(marker: str, color: str, label: str, line: Any = "none", hollow: bool = False) -> Any:
    from matplotlib.lines import Line2D

    face = "none" if hollow else color
    return Line2D([], [], color=color, marker=marker, markerfacecolor=face, linestyle=line, label=label)
