"""The plot of Table 2: precision against recall, as in the paper's figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from setrbm_lab.curves import RECALLS
from setrbm_lab.mail_data import TITLES
from setrbm_lab.mail_systems import OURS
from setrbm_lab.mail_tables import Table2
from setrbm_lab.paper import MAIL_SYSTEMS
from setrbm_lab.plots import COLORS, FAINT, new_figure, save, style


def draw_curves(table: Table2, path: Path) -> None:
    """Draw one panel per data set: the mean precision of each complete system at each recall.

    Parameters
    ----------
    table : Table2
        A data set without results has an empty panel.
    path : Path
        The PNG to write.
    """
    with style():
        figure = new_figure(12.0)
        *panels, last = figure.subplots(3, 2).flat
        for axes, dataset in zip(panels, table.datasets, strict=True):
            _draw_data_set(axes, table, dataset)
            axes.set_xlabel("recall: part of all sets that is accepted and right")
            axes.set_ylabel("precision: part of the accepted sets that is right")
        last.axis("off")
        last.legend(handles=[_handle(table, system) for system in table.systems], loc="center")
        save(figure, path)


def _draw_data_set(axes: Any, table: Table2, dataset: str) -> None:
    lowest = 1.0
    for system in table.complete(dataset):
        precision = table.details[system, dataset].precision
        axes.plot(RECALLS, precision, **_line(table, system))
        lowest = min(lowest, float(np.nanmin(precision)))
    axes.set(title=TITLES[dataset], xlim=(0.0, 1.0), ylim=(max(0.0, lowest - 0.03), 1.01))
    axes.grid(color=FAINT, linewidth=0.4)


def _line(table: Table2, system: str) -> dict[str, Any]:
    """Return the style of a line; lines with the same dash have different colors."""
    dash = _dash(system)
    place = [name for name in table.systems if _dash(name) == dash].index(system)
    # From the other end of the palette, so that lines of the paper and of today differ in color too.
    color = COLORS[-1 - place % len(COLORS)] if dash == "--" else COLORS[place]
    return {"linestyle": dash, "color": color, "linewidth": 2.4 if system == OURS else 1.5}


def _dash(system: str) -> str:
    """Return the dash of a row: the paper's kernel machines are dotted, its other rows solid, all others dashed."""
    if system not in MAIL_SYSTEMS:
        return "--"
    return ":" if system.startswith("SVM") else "-"


def _handle(table: Table2, system: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=system, **_line(table, system))
