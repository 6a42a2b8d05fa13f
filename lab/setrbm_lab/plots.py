"""Plots of results. matplotlib is imported only when a plot is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from setrbm.evaluation.statistics import SAME
from setrbm_lab.statistics import cliques

# Okabe and Ito's palette, safe for color-blind readers; lines also differ by marker or dash.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
OURS, PAPER, FAINT = COLORS[0], COLORS[1], "#BBBBBB"
# At this width and font size a plot is legible when shown 900 pixels wide.
WIDTH, DPI = 9.0, 120
STYLE: dict[str, Any] = {
    "font.size": 9.0, "font.family": "DejaVu Sans", "axes.spines.top": False, "axes.spines.right": False,
    "axes.titlesize": 10.0, "axes.labelsize": 9.0, "legend.frameon": False,
}  # fmt: skip


def draw_critical_difference(names: Sequence[str], ranks: Sequence[float], difference: float, path: Path) -> None:
    """Draw a critical difference diagram: average ranks, best on top, with bars joining those not different.

    Parameters
    ----------
    names : sequence of str
    ranks : sequence of float
        The average rank of each system; 1 is the best.
    difference : float
        The critical difference: average ranks closer than this are not significantly different.
    path : Path
        The PNG to write.
    """
    if not len(names) == len(ranks) >= 2:
        raise ValueError(
            f"There must be two or more names and one rank for each. Got {len(names)} names, {len(ranks)} ranks."
        )
    order = [int(i) for i in np.argsort(np.asarray(ranks), kind="stable")]
    groups = cliques([ranks[i] for i in order], difference)
    with style():
        figure = new_figure(0.26 * len(names) + 1.5)
        axes, bars = figure.subplots(1, 2, sharey=True, width_ratios=(1.0, 0.035 * max(len(groups), 2)))
        places = range(len(order))
        axes.hlines(places, 1, [ranks[i] for i in order], color=FAINT, linewidth=0.8)
        axes.plot([ranks[i] for i in order], list(places), "o", color=OURS, markersize=6)
        for i, place in zip(order, places, strict=True):
            axes.annotate(
                f"{ranks[i]:.1f}", (ranks[i], place), (7, 0), textcoords="offset points", va="center", fontsize=8
            )
        axes.set_yticks(places, [names[i] for i in order])
        axes.set_ylim(len(order) - 0.4, -2.1)
        _draw_ruler(axes, difference, len(names))
        axes.set_xlabel("average rank over the data sets (1 is the best)")
        _draw_groups(bars, groups)
        save(figure, path)


def _draw_ruler(axes: Any, difference: float, n: int) -> None:
    """Draw the critical difference above the ranks, and extend the axis to it."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(0.7, max(n, 1 + difference) + 0.6)
    axes.plot([1, 1 + difference], [-1.1, -1.1], color="black", linewidth=1.5, marker="|", markersize=9)
    axes.text(1, -1.35, f"critical difference {difference:.2f}", va="bottom", fontsize=8.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    axes.tick_params(axis="y", length=0)


def _draw_groups(axes: Any, groups: Sequence[Sequence[int]]) -> None:
    for column, group in enumerate(groups):
        axes.plot([column, column], [min(group) - 0.2, max(group) + 0.2], color="black", linewidth=3.5)
    axes.set_xlim(-0.7, max(len(groups), 2) - 0.3)
    axes.text(-0.5, -1.35, "not different" if groups else "all different", va="bottom", fontsize=8.5)
    axes.axis("off")


def line_style(index: int) -> dict[str, Any]:
    """Return color, dash and marker of a line; the first 49 lines are all different."""
    turn = (index + index // len(COLORS)) % len(DASHES)
    return {"color": COLORS[index % len(COLORS)], "linestyle": DASHES[turn], "marker": MARKERS[turn]}


def draw_setting(
    name: str, curves: Mapping[str, Mapping[float, tuple[float, float]]], path: Path, score: str = "mean -log p"
) -> None:
    """Draw test loss and accuracy against a setting, one line per data set.

    Parameters
    ----------
    name : str
        The name of the setting.
    curves : mapping of str to mapping of float to (float, float)
        For each data set and each value of the setting, the loss and the accuracy in percent. The axis is
        logarithmic; 0 is drawn to the left of it, after a gap.
    path : Path
        The PNG to write.
    score : str
        The name of the loss.
    """
    values = sorted({value for line in curves.values() for value in line})
    places = dict(zip(values, log_places(values), strict=True))
    with style():
        figure = new_figure(3.6)
        panels = figure.subplots(1, 2)
        for which, (axes, label) in enumerate(zip(panels, (score, "accuracy in %"), strict=True)):
            for i, (dataset, line) in enumerate(curves.items()):
                x, y = [places[value] for value in sorted(line)], [line[value][which] for value in sorted(line)]
                axes.plot(x, y, linewidth=1.4, label=dataset, **line_style(i))
            _draw_log_axis(axes, places)
            axes.set(title=label, xlabel=name)
            axes.grid(color=FAINT, linewidth=0.4)
        _legend(figure, *panels[0].get_legend_handles_labels())
        save(figure, path)


def log_places(values: Sequence[float]) -> list[float]:
    """Return the positions of increasing values on a logarithmic axis; 0 is put at least a typical step to the left."""
    if not values or values[0] < 0:
        raise ValueError(f"There must be one or more values, none negative. Got {list(values)}.")
    places = [math.log10(value) for value in values if value > 0]
    if values[0] > 0:
        return places
    step = max(0.3, float(np.median(np.diff(places)))) if len(places) > 1 else 1.0
    return [places[0] - 1.3 * step if places else 0.0, *places]


def _draw_log_axis(axes: Any, places: Mapping[float, float]) -> None:
    """Label as many values as there is room for, and mark the gap after 0."""
    x = list(places.values())
    room = max(x[-1] - x[0], SAME) / 9
    labeled: list[float] = []
    for value, place in places.items():
        if not labeled or place - places[labeled[-1]] >= room:
            labeled += [value]
    axes.set_xticks([places[value] for value in labeled], [_short(value) for value in labeled])
    if x[0] < x[-1] and 0.0 in places:
        axes.plot((x[0] + x[1]) / 2, 0, "s", color="white", markersize=8, clip_on=False, zorder=9, **_below(axes))
        axes.text((x[0] + x[1]) / 2, 0, "//", ha="center", va="center", zorder=10, **_below(axes))


def _short(value: float) -> str:
    """Return a short label of a value: 0.01, but 3e-4."""
    return f"{value:g}" if value == 0 or value >= 0.001 else f"{value:.0e}".replace("e-0", "e-")


def _below(axes: Any) -> dict[str, Any]:
    """Return coordinates in which y = 0 is the axis, independent of the data."""
    return {"transform": axes.get_xaxis_transform()}


def _legend(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    columns = max(1, 120 // (max(map(len, labels), default=0) + 8))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def style() -> AbstractContextManager[None]:
    """Return a context with the style of our plots; matplotlib's global settings do not change."""
    try:
        from matplotlib import style
    except ImportError:
        raise ImportError("Plots need matplotlib, which is not installed. Run: pip install 'setrbm[plot]'") from None
    context: AbstractContextManager[None] = style.context(["default", STYLE])
    return context


def new_figure(height: float) -> Any:
    """Return an empty figure of the usual width."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")


def save(figure: Any, path: Path) -> None:
    """Write a PNG without date or version, so that equal plots are equal files."""
    figure.savefig(path, format="png", dpi=DPI, bbox_inches="tight", facecolor="white", metadata={"Software": None})
