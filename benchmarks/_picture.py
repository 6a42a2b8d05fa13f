"""Pictures of results: one panel a unit, bars with quartiles, and each limit as a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _bars import BARS

# From the palette of Okabe and Ito, which color-blind readers can tell apart; missed bars are hatched or crossed too.
MET, MISSED, OURS, OTHERS, LIMIT = "#0072B2", "#E69F00", "#56B4E9", "#999999", "#000000"
WORDS = {
    "x": "ratio, measured in one run",
    "s": "seconds",
    "MiB": "MiB",
    "sets/s": "sets (or vectors) per second",
    "": "number",
}
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


def draw_rows(path: Path, rows: Sequence[Any]) -> None:
    """Draw the rows of one benchmark."""
    plt = pyplot()
    if plt is None or not rows:
        return
    units = list(dict.fromkeys(row.unit for row in rows))
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
    reach = [row.value for row in rows] + [BARS[row.bar].limit for row in rows if row.bar]
    positive = [value for value in reach if value > 0]
    is_log = bool(positive) and max(positive) > FAR_APART * min(positive)
    if is_log:
        ax.set_xscale("log")
        ax.grid(axis="y", linewidth=0.3)
        ax.set_xlim(min(positive) / 2, max(positive) * 4)
    else:
        ax.set_xlim(min(0, *reach), max(1e-9, *reach) * 1.6)
    for i, row in enumerate(rows):
        if is_log:  # lengths mean nothing there: points
            ax.plot(row.value, i, marker="X" if row.met is False else "o", markersize=9, color=_color(row))
        else:
            hatch = "//" if row.met is False else None
            ax.barh(i, row.value, color=_color(row), hatch=hatch, edgecolor="white", height=0.7)
        ax.plot([row.low, row.high], [i, i], color=LIMIT, linewidth=1.2)
        edge = max(row.high, BARS[row.bar].limit if row.bar else 0)
        ax.text(edge * 1.15 if is_log else edge + 0.015 * max(reach), i, _label(row), va="center")
        if row.bar:
            ax.plot([BARS[row.bar].limit] * 2, [i - 0.45, i + 0.45], color=LIMIT, linewidth=2.5)
    ax.set_yticks(range(len(rows)), _names(rows))
    ax.invert_yaxis()
    ax.set_xlabel(WORDS.get(rows[0].unit, rows[0].unit))


def _names(rows: Sequence[Any]) -> list[str]:
    """Return what each row is about, with its threads where two rows would else be named alike."""
    names = [row.what for row in rows]
    return [f"{row.what}, threads: {row.threads}" if names.count(row.what) > 1 else row.what for row in rows]


def _color(row: Any) -> str:
    """Blue keeps its bar, orange does not; without one, light blue is ours and grey somebody else's or a ratio."""
    if row.met is not None:
        return MET if row.met else MISSED
    return OURS if row.what.startswith("setrbm") and "÷" not in row.what else OTHERS


def _label(row: Any) -> str:
    value = f"{row.value:,.0f}" if abs(row.value) >= 100 else f"{row.value:.3g}"
    return value if not row.bar else f"{value}  (bar {BARS[row.bar]}: {'met' if row.met else 'missed'})"


def draw_bars(path: Path, rows: Sequence[Any]) -> None:
    """Draw every bar on one axis: what was measured as a part of what is allowed, so that 1 or less is met."""
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
    ax.set_xlabel("part of the allowance used: left of 1 (circles) is met, right of it (crosses) is missed")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
