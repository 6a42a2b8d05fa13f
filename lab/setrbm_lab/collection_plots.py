"""The plots of the collection: differences between rows by data set, and accuracies on made-up problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from setrbm_lab.collection import CollectionTable
from setrbm_lab.plots import COLORS, FAINT, new_figure, save, style
from setrbm_lab.rendering import title
from setrbm_lab.systems import OURS

# One more than colors, so that systems with the same color have other markers.
MARKERS = "osD^vPX*"


def draw_differences(table: CollectionTable, path: Path) -> None:
    """Draw for every other row how far our defaults are ahead on each data set, and on average."""
    others = [system for system in table.ranked() if system != OURS]
    with style():
        figure = new_figure(1.2 + 0.62 * len(others))
        axes = figure.subplots()
        for place, system in enumerate(others):
            test = table.over_data_sets(system)
            for i, dataset in enumerate(table.datasets):
                difference = (table.mean(OURS, dataset) or 0.0) - (table.mean(system, dataset) or 0.0)
                marker = "o^sDv"[i // len(COLORS)]
                label = title(dataset) if place == 0 else None
                axes.plot(difference, place + 0.12, marker, color=COLORS[i % len(COLORS)], label=label, clip_on=False)
            if test is not None:
                axes.plot([test.low, test.high], [place - 0.22] * 2, color="black", linewidth=1.5)
                axes.plot(test.difference, place - 0.22, "|", color="black", markersize=12, markeredgewidth=2.5)
        axes.axvline(0.0, color="black", linewidth=0.8)
        axes.set(yticks=range(len(others)), ylim=(len(others) - 0.5, -0.6))
        axes.set_yticklabels(others)
        axes.set_xlabel(f"{OURS} minus the row, in points: each data set, and the mean with its 95% interval")
        axes.grid(axis="x", color=FAINT, linewidth=0.4)
        figure.legend(loc="outside lower center", ncols=6)
        save(figure, path)


def draw_properties(accuracies: Mapping[tuple[str, str], Sequence[float]], path: Path) -> None:
    """Draw the mean accuracy of every system on every made-up problem, and every draw as a small point.

    Parameters
    ----------
    accuracies : mapping of (problem, system) to the accuracies of all draws
    path : Path
        The PNG to write.
    """
    problems, systems = (list(dict.fromkeys(key[i] for key in accuracies)) for i in (0, 1))
    with style():
        figure = new_figure(1.3 + 0.8 * len(problems))
        axes = figure.subplots()
        for i, system in enumerate(systems):
            places = np.arange(len(problems)) + 0.1 * (i - (len(systems) - 1) / 2)
            by_problem = [accuracies.get((problem, system), [np.nan]) for problem in problems]
            color, marker = COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]
            means = [np.mean(scores) for scores in by_problem]
            axes.plot(means, places, marker, color=color, label=system, markersize=7)
            for place, scores in zip(places, by_problem, strict=True):
                axes.plot(scores, [place] * len(scores), ".", color=color, markersize=3)
        for place in range(1, len(problems)):
            axes.axhline(place - 0.5, color=FAINT, linewidth=0.6)
        axes.set(yticks=range(len(problems)), ylim=(len(problems) - 0.5, -0.5))
        axes.set_yticklabels([problem.replace("_", " ") for problem in problems])
        axes.set_xlabel("accuracy on new sets, in percent")
        axes.grid(axis="x", color=FAINT, linewidth=0.4)
        figure.legend(loc="outside lower center", ncols=4)
        save(figure, path)
