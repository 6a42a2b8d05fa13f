"""Pictures of results: one panel per unit, bars with quartiles, and each target as a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _bars import BARS, RATIO, SETS_PER_SECOND

# From the palette of Okabe and Ito, which color-blind readers can tell apart; missed bars are hatched or crossed too.
MET, MISSED, OURS, OTHERS, LIMIT = "#0072B2", "#E69F00", "#56B4E9", "#999999", "#000000"
WORDS = {
    "x": "ratio, measured in the same run",
    "s": "seconds",
    "MiB": "MiB",
    "sets/s": "sets (or vectors) per second",
    "": "number",
}
# How the sizes of a row begin, and the kind of data this means.
DATA = {"digits": "single dense vectors (handwritten digits)", "Musk1": "dense sets (Musk1), one core"}
# Names of ratios longer than this take two lines.
LONG = 60
# Values this far apart are drawn on a logarithmic axis.
FAR_APART = 30.0


def pyplot() -> Any:
    """Return matplotlib's pyplot without a display, or None where matplotlib is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("  no picture: matplotlib is not installed")
        return None
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    return plt


def by_importance(rows: Sequence[Any]) -> list[Any]:
    """Return the rows with targets first, then other ratios, then everything else, each in its order."""
    return sorted(rows, key=lambda row: (not row.bar, row.unit != RATIO))


def draw_rows(path: Path, rows: Sequence[Any]) -> None:
    """Draw the rows of one benchmark."""
    plt = pyplot()
    if plt is None or not rows:
        return
    units = list(dict.fromkeys(row.unit for row in by_importance(rows)))
    panels = [[row for row in rows if row.unit == unit] for unit in units]
    heights = [len(panel) + 1.4 for panel in panels]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(9, 0.36 * sum(heights) + 0.5), height_ratios=heights, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for ax, panel in zip(axes[:, 0], panels, strict=True):
        _panel(ax, panel)
    figure.suptitle(f"{rows[0].benchmark}{' (quick run)' if rows[0].quick else ''}", x=0.01, ha="left", weight="bold")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _panel(ax: Any, rows: Sequence[Any]) -> None:
    reach = [value for row in rows for value in (row.value, row.high)] + [
        BARS[row.bar].limit for row in rows if row.bar
    ]
    positive = [value for value in reach if value > 0]
    is_log = bool(positive) and max(positive) > FAR_APART * min(positive)
    if is_log:
        ax.set_xscale("log")
        ax.grid(axis="y", linewidth=0.3)
        ax.set_xlim(min(positive) / 2, max(positive) * 2)
    else:
        ax.set_xlim(min(0, *reach), 1.15 * max(reach) or 1.0)
    for i, row in enumerate(rows):
        if is_log:  # lengths mean nothing there: points
            ax.plot(row.value, i, marker="X" if row.met is False else "o", markersize=9, color=_color(row))
        else:
            hatch = "//" if row.met is False else None
            ax.barh(i, row.value, color=_color(row), hatch=hatch, edgecolor="white", height=0.7)
        ax.plot([row.low, row.high], [i, i], color=LIMIT, linewidth=1.2)
        edge = max(row.high, BARS[row.bar].limit if row.bar else 0)
        # A label is as wide on any axis: the layout makes room for those that reach beyond it.
        ax.annotate(_label(row), (edge, i), (8, 0), textcoords="offset points", va="center")
        if row.bar:
            ax.plot([BARS[row.bar].limit] * 2, [i - 0.45, i + 0.45], color=LIMIT, linewidth=2.5)
    ax.set_yticks(range(len(rows)), _names(rows))
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel(WORDS.get(rows[0].unit, rows[0].unit))


def _names(rows: Sequence[Any]) -> list[str]:
    """Return the name of each row, with its threads where two rows have the same name."""
    names = [row.what for row in rows]
    full = [f"{row.what}, threads: {row.threads}" if names.count(row.what) > 1 else row.what for row in rows]
    return [name.replace(" ÷ ", "\n÷ ") if len(name) > LONG else name for name in full]


def _color(row: Any) -> str:
    """Blue meets its target, orange misses it; without one, light blue is setrbm and gray a peer or a ratio."""
    if row.met is not None:
        return MET if row.met else MISSED
    return OURS if row.what.startswith("setrbm") and "÷" not in row.what else OTHERS


def _label(row: Any) -> str:
    value = f"{row.value:,.0f}" if abs(row.value) >= 100 else f"{row.value:.3g}"
    return value if not row.bar else f"{value} (target {BARS[row.bar]})"


def draw_bars(path: Path, rows: Sequence[Any]) -> None:
    """Draw every measured value relative to its target, so that 1 or less is met."""
    plt = pyplot()
    rows = [row for row in rows if row.bar and BARS[row.bar].limit > 0 and row.value > 0]
    if plt is None or not rows:
        return
    used = [(row.value / BARS[row.bar].limit) ** (1 if BARS[row.bar].at_most else -1) for row in rows]
    figure, ax = plt.subplots(figsize=(9, 0.34 * len(rows) + 1.0), layout="constrained")
    for i, (row, part) in enumerate(zip(rows, used, strict=True)):
        ax.plot([1, part], [i, i], color=MET if row.met else MISSED, linewidth=2)
        ax.plot(part, i, marker="o" if row.met else "X", markersize=8, color=MET if row.met else MISSED)
    ax.axvline(1, color=LIMIT, linewidth=1)
    ax.set_xscale("log")
    ticks = [tick for tick in (0.03, 0.1, 0.3, 0.5, 1, 2, 3, 5, 10, 30) if min(used) / 1.5 <= tick <= max(used) * 1.5]
    ax.set_xticks(sorted({*ticks, 1}), [f"{tick:g}" for tick in sorted({*ticks, 1})])
    ax.minorticks_off()
    ax.set_yticks(range(len(rows)), _names(rows))
    ax.invert_yaxis()
    ax.set_xlabel("relative to the target: left of 1 is met (circles)")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def draw_throughput(path: Path, rows: Sequence[Any]) -> None:
    """Draw sets per second of setrbm and of its peers, one panel per kind of data."""
    plt = pyplot()
    panels: dict[str, list[Any]] = {}
    for row in rows:
        if row.unit == SETS_PER_SECOND:
            panels.setdefault(_data_of(row), []).append(row)
    if plt is None or not panels:
        return
    heights = [len(panel) + 1.5 for panel in panels.values()]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(9, 0.33 * sum(heights) + 0.5), height_ratios=heights, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for ax, (data, panel) in zip(axes[:, 0], panels.items(), strict=True):
        panel = sorted(panel, key=lambda row: -row.value)
        ax.barh(range(len(panel)), [row.value for row in panel], color=[_color(row) for row in panel], height=0.7)
        for i, row in enumerate(panel):
            ax.text(row.value, i, f" {row.value:,.0f}", va="center")
        ax.set_yticks(range(len(panel)), [row.what.replace(" on Musk1", "") for row in panel])
        ax.set_xlim(0, 1.15 * panel[0].value)
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.invert_yaxis()
        ax.set_title(data, loc="left", fontsize=9, weight="bold")
    axes[-1, 0].set_xlabel("sets (or vectors) per second in training; setrbm is blue")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _data_of(row: Any) -> str:
    """Return the kind of data a row of throughput was measured on."""
    for start, data in DATA.items():
        if row.sizes.startswith(start):
            return data
    return "sparse sets of words (mail-like)"
