"""The figure of the demo: the effect of each conformation on its molecule's class, and the accuracy per fold."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

# Okabe and Ito's palette, which is safe for color-blind readers.
DECIDING, OTHERS, PAPER = "#D55E00", "#56B4E9", "#999999"


def draw(molecules: Sequence[dict[str, Any]], accuracies: Sequence[float], paper: float) -> bytes:
    """Return a PNG with one panel for each of six molecules and one for the accuracies.

    Parameters
    ----------
    molecules : sequence of dict
        As ``setrbm.cli.explain.described`` gives them, with ``title``.
    accuracies : sequence of float
        One per fold.
    paper : float
        The accuracy the paper reports.
    """
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(13.0, 7.0), layout="constrained", dpi=150)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    left, right = figure.subfigures(1, 2, width_ratios=(2.9, 1.0))
    _draw_molecules(left, molecules)
    _draw_accuracies(right, accuracies, paper)
    return _as_png(figure)


def _draw_molecules(figure: Any, molecules: Sequence[dict[str, Any]]) -> None:
    panels = figure.subplots(2, 3)
    for axes, molecule in zip(panels.ravel(), molecules, strict=True):
        _draw_molecule(axes, molecule)
    for axes in panels[-1]:
        axes.set_xlabel("conformation", fontsize=10)
    figure.suptitle("Which conformation decided? Six of the test molecules", fontsize=14, fontweight="bold")
    figure.supylabel("drop of log p(class) when a conformation is left out (each panel has its own scale)", fontsize=10)
    _draw_legend(figure)


def _draw_molecule(axes: Any, molecule: dict[str, Any]) -> None:
    from matplotlib.ticker import MaxNLocator

    drops = [vector["drop"] for vector in molecule["vectors"]]
    places, deciding = range(1, len(drops) + 1), molecule["deciding_vector"]
    colors = [DECIDING if place == deciding else OTHERS for place in places]
    hatches = ["///" if place == deciding else "" for place in places]
    axes.bar(places, drops, color=colors, hatch=hatches, edgecolor="white", linewidth=0.5, width=0.8)
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_xlim(0.3, max(len(drops), 4) + 0.7)
    axes.margins(y=0.1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter("{x:.3g}")
    axes.tick_params(labelsize=9)
    axes.set_title(molecule["title"], fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_legend(figure: Any) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=DECIDING, hatch="///", edgecolor="white", label="decided: the largest drop"),
        Patch(facecolor=OTHERS, label="the others; below 0 they speak against the class"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=10)


def _draw_accuracies(figure: Any, accuracies: Sequence[float], paper: float) -> None:
    """Draw a point for each fold, their mean, and the paper's figure."""
    axes = figure.subplots()
    mean = sum(accuracies) / len(accuracies)
    axes.axhline(100 * paper, color=PAPER, linewidth=2, linestyle="--")
    axes.axhline(100 * mean, color=DECIDING, linewidth=2)
    axes.scatter(
        _side_by_side(accuracies), [100 * a for a in accuracies], color=OTHERS, edgecolor="black", s=40, zorder=3
    )
    # The two lines can be close: the upper one is labeled above, the lower one below.
    side = 1 if mean >= paper else -1
    _label_line(axes, mean, f"this run {100 * mean:.1f} %", side, DECIDING)
    _label_line(axes, paper, f"the paper {100 * paper:.2f} %", -side, "#555555")
    lowest = 100 * min(*accuracies, paper)
    axes.set(xlim=(0, 1), ylim=(max(0.0, lowest - 10), 103), xticks=[])
    axes.set_ylabel("accuracy in %", fontsize=10)
    axes.tick_params(labelsize=9)
    axes.set_title(f"Musk1, a point for each of {len(accuracies)} folds", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("How often is it right?", fontsize=14, fontweight="bold")


def _label_line(axes: Any, share: float, name: str, side: int, color: str) -> None:
    """Label a line at its right end, above it (side 1) or below it (-1)."""
    axes.annotate(
        name, (1.0, 100 * share), (0, 5 * side), textcoords="offset points", ha="right",
        va="bottom" if side > 0 else "top", fontsize=10, color=color,
    )  # fmt: skip


def _side_by_side(accuracies: Sequence[float]) -> list[float]:
    """Return a horizontal position for each point: points of about the same height side by side."""
    rows = [round(40 * accuracy) for accuracy in accuracies]
    step = min(0.066, 0.36 / max(rows.count(row) for row in rows))
    return [0.05 + step * rows[:i].count(row) for i, row in enumerate(rows)]


def _as_png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
