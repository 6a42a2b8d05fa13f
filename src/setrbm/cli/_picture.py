"""The pictures of the demo: how much each digit, and each conformation, matters."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from setrbm.cli._parts import rounded

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.explain import Explanation

# Okabe and Ito's palette, which is safe for color-blind readers.
DECIDING, OTHERS, PAPER, PALE = "#D55E00", "#56B4E9", "#999999", "#CCCCCC"
SIDE = 8


def draw_digits(sets: Sequence[dict[str, Any]], bags: Bags, explanation: Explanation) -> bytes:
    """Return a PNG with one row per set: its digits, those that decided framed, and what the pixels contribute.

    Parameters
    ----------
    sets : sequence of dict
        The first sets, as ``setrbm.cli.explain.described`` gives them, with ``label``.
    bags : Bags
    explanation : Explanation
        Of all sets of the bags.
    """
    from matplotlib.figure import Figure

    most = max(len(item["vectors"]) for item in sets)
    widths = (1.6, *[1.0] * most, 0.25, 1.0)
    figure: Any = Figure(figsize=(1.25 * sum(widths), 1.5 * len(sets) + 1.0), dpi=150)
    grid = figure.add_gridspec(
        len(sets),
        len(widths),
        width_ratios=widths,
        left=0.01,
        right=0.97,
        bottom=0.1,
        top=0.87,
        wspace=0.12,
        hspace=0.3,
    )
    pixels = [_pixels(explanation[k]) for k in range(len(sets))]
    # The few largest contributions may be beyond the end of the scale, or the others would be pale.
    largest = 0.8 * max((float(abs(values).max()) for values in pixels if values is not None), default=1.0)
    for k, item in enumerate(sets):
        _write_set(figure.add_subplot(grid[k, 0]), item)
        for s, vector in enumerate(item["vectors"]):
            _draw_digit(figure.add_subplot(grid[k, s + 1]), bags[k][s], vector["drop"], vector["decided"])
        image = _draw_pixels(figure.add_subplot(grid[k, most + 2]), pixels[k], largest)
    _write_around(figure, grid, image)
    return _as_png(figure)


def _pixels(explanation: Explanation) -> Array | None:
    """Return the contributions of the digit with the largest drop; None if no digit decided."""
    pixels: Array = explanation.contributions[explanation.drop.argmax()].reshape(SIDE, SIDE)
    return pixels if explanation.decided.any() else None


def _write_set(axes: Any, item: dict[str, Any]) -> None:
    words = "right" if item["predicted"] == item["label"] else f"wrong: it is {item['label']}"
    axes.axis("off")
    center = {"ha": "center", "va": "center", "transform": axes.transAxes}
    axes.text(
        0.5,
        0.62,
        f"{item['predicted']}\np = {item['probability']:.2f}",
        fontsize=13,
        fontweight="bold",
        **center,
    )
    axes.text(0.5, 0.2, words, fontsize=10, color="#555555", **center)


def _draw_digit(axes: Any, vector: Array, drop: float, decided: bool) -> None:
    axes.imshow(vector.reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=16)
    _frame(axes, *((DECIDING, 4) if decided else (PALE, 0.8)))
    axes.set_xlabel(rounded(drop), fontsize=11, color=DECIDING if decided else "#555555", labelpad=4)


def _draw_pixels(axes: Any, values: Array | None, largest: float) -> Any:
    """Draw the contributions of the pixels of a digit; all sets share one scale."""
    import numpy as np

    if values is None:
        axes.text(0.5, 0.5, "no single\ndigit\ndecided", ha="center", va="center", fontsize=9, transform=axes.transAxes)
        values = np.zeros((SIDE, SIDE))
    _frame(axes, PALE, 0.8)
    return axes.imshow(values, cmap="PuOr_r", vmin=-largest, vmax=largest)


def _frame(axes: Any, color: str, width: float) -> None:
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color=color, linewidth=width)


def _write_around(figure: Any, grid: Any, image: Any) -> None:
    """Write the title, the meaning of frames and numbers, and the scale of the pixels."""
    left, right = (grid[-1, column].get_position(figure) for column in (1, grid.ncols - 1))
    figure.text(left.x0, 0.945, "Which digit decided?", fontsize=16, fontweight="bold", va="center")
    meaning = "Framed: without it, another class is predicted. Numbers: drop of log p without the digit."
    figure.text(left.x0, 0.9, meaning, fontsize=11)
    middle = (right.x0 + right.x1) / 2
    figure.text(middle, 0.9, "its pixels", fontsize=11, ha="center")
    bar = figure.colorbar(image, cax=figure.add_axes((right.x0, 0.055, right.width, 0.012)), orientation="horizontal")
    bar.outline.set_visible(False)
    bar.set_ticks([image.norm.vmin, image.norm.vmax], labels=["against", "for"])
    bar.ax.tick_params(labelsize=10, length=0)


def draw_molecules(molecules: Sequence[dict[str, Any]], accuracies: Sequence[float], paper: float) -> bytes:
    """Return a PNG with one row per molecule, a point for each of its conformations, and a panel for the accuracies.

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

    figure: Any = Figure(figsize=(13.0, 6.5), layout="constrained", dpi=150)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    left, right = figure.subfigures(1, 2, width_ratios=(2.9, 1.0))
    _draw_conformations(left, molecules)
    _draw_accuracies(right, accuracies, paper)
    return _as_png(figure)


def _draw_conformations(figure: Any, molecules: Sequence[dict[str, Any]]) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    for axes, quantity in zip(panels, ("drop", "alone"), strict=True):
        for row, molecule in enumerate(molecules):
            _draw_row(axes, row, quantity, molecule["vectors"])
        axes.tick_params(labelsize=10)
        axes.grid(axis="y", color="#EEEEEE")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(molecules)), [molecule["title"] for molecule in molecules])
    panels[0].invert_yaxis()
    panels[0].set_xlabel("drop of log p(class) without the conformation", fontsize=11)
    panels[1].set_xlabel("p(class) of the conformation alone", fontsize=11)
    panels[1].set_xlim(-0.03, 1.03)
    figure.suptitle("How much does each conformation matter? The test molecules", fontsize=14, fontweight="bold")
    _draw_legend(figure)


def _draw_row(axes: Any, row: int, quantity: str, vectors: Sequence[dict[str, Any]]) -> None:
    others, deciding = ([v[quantity] for v in vectors if v["decided"] is decided] for decided in (False, True))
    axes.scatter(others, [row] * len(others), color=OTHERS, edgecolor="white", linewidth=0.5, s=55, alpha=0.8, zorder=2)
    axes.scatter(deciding, [row] * len(deciding), color=DECIDING, marker="D", s=75, zorder=3)


def _draw_legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    marks: dict[str, Any] = {"linestyle": "none", "markersize": 9}
    handles = [
        Line2D([], [], color=DECIDING, marker="D", label="decided: without it, the class changes", **marks),
        Line2D([], [], color=OTHERS, marker="o", label="without it, the class stays the same", **marks),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=11)


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
    axes.set_ylabel("accuracy in %", fontsize=11)
    axes.tick_params(labelsize=9)
    axes.set_title(f"Musk1, a point for each of {len(accuracies)} folds", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("How often is it right?", fontsize=14, fontweight="bold")


def _label_line(axes: Any, share: float, name: str, side: int, color: str) -> None:
    """Label a line at its right end, above it (side 1) or below it (-1)."""
    axes.annotate(
        name, (1.0, 100 * share), (0, 5 * side), textcoords="offset points", ha="right",
        va="bottom" if side > 0 else "top", fontsize=11, color=color,
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
