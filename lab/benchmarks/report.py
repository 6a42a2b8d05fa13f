"""Write the page of results from the CSV files: ``python lab/benchmarks/report.py [--quick]``.

The page begins with takeaways and a picture. Every target is listed as met, missed or not measured. All figures come
from the CSV files.
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from _bars import BARS
from _harness import FOLDER, RESULTS, Row, read_rows, shown
from _picture import by_importance, draw_bars, draw_throughput

PAGE = FOLDER.parents[1] / "docs" / "performance.md"
SUMMARY, THROUGHPUT = "all_bars", "throughput"
RowsByName = dict[str, Row]


def all_rows(folder: Path) -> dict[str, list[Row]]:
    """Return the rows of every benchmark that has left a CSV file, in the order of the bars."""
    order = list(dict.fromkeys(bar.benchmark for bar in BARS.values()))
    found = {path.stem: read_rows(path) for path in sorted(folder.glob("*.csv"))}
    names = sorted(found, key=lambda name: (order.index(name) if name in order else len(order), name))
    return {name: found[name] for name in names if found[name]}


def rows_with_bars(results: dict[str, list[Row]]) -> list[Row]:
    """Return the rows that have a bar, in the order of the bars."""
    return [row for key in BARS for rows in results.values() for row in rows if row.bar == key]


def described(benchmark: str) -> tuple[str, list[str]]:
    """Return the title and the paragraphs of the docstring of a benchmark's file."""
    file = FOLDER / f"bench_{benchmark}.py"
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) if file.exists() else None
    if text is None:
        return benchmark.capitalize(), []
    title, *paragraphs = [" ".join(part.split()).replace("``", "`") for part in text.split("\n\n")]
    return title.rstrip("."), paragraphs


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def measured(row: Row) -> str:
    spread = f" ({shown(row.low, '')} to {shown(row.high, '')})" if row.rounds > 1 else ""
    return f"{shown(row.value, row.unit)}{spread}"


def bar_table(results: dict[str, list[Row]]) -> list[str]:
    """Return the table of all targets, with a line for each row that has one."""
    lines = ["| what | target | measured | | threads | details |", "|---|---|---|---|---|---|"]
    for key, bar in BARS.items():
        title, _ = described(bar.benchmark)
        details = f"[{title}](#{anchor(title)})" if bar.benchmark in results else f"`bench_{bar.benchmark}.py`"
        rows = [row for row in rows_with_bars(results) if row.bar == key]
        if not rows:
            lines.append(f"| {cell(bar.what)} | {bar} | | not measured | | {details} |")
        for row in rows:
            what = cell(row.what if len(rows) > 1 else bar.what)
            verdict = "met" if row.met else "**missed**"
            kind = " (quick)" if row.quick else ""
            lines.append(f"| {what} | {bar} | {measured(row)} | {verdict}{kind} | {row.threads} | {details} |")
    return lines


def bar_notes() -> list[str]:
    """Return a paragraph for each target that was added because another was missed."""
    return [f"*{cell(bar.what)}*: {' '.join(bar.note.split())}" for bar in BARS.values() if bar.note]


def anchor(title: str) -> str:
    """Return the anchor of a heading, as repository browsers make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def ran_on(row: Row) -> str:
    return f"{row.machine}. {row.versions}."


def section(benchmark: str, rows: Sequence[Row], picture: str | None, usual: str) -> list[str]:
    """Return the part of the page about one benchmark: what is measured, all its rows, its picture."""
    title, paragraphs = described(benchmark)
    first, sizes = rows[0], {row.sizes for row in rows}
    lines = [f"## {title}", ""]
    for paragraph in paragraphs:
        lines += [cell(paragraph), ""]
    many = len(sizes) > 1
    lines += [f"| | measured | runs | threads |{' sizes |' * many}", "|---|---|---|---|" + "---|" * many]
    for row in by_importance(rows):
        size = f" {cell(row.sizes)} |" * many
        verdict = "" if row.met is None else f"; target {BARS[row.bar]}{'' if row.met else ', **missed**'}"
        lines += [f"| {cell(row.what)} | {measured(row)}{verdict} | {row.rounds} | {row.threads} |{size}"]
    lines += ["", *([] if picture is None else [f"![{title}]({picture})", ""])]
    others = "" if math.isnan(first.others) else f"; other processes kept {first.others:.1f} cores busy"
    lines += [f"`python lab/benchmarks/bench_{benchmark}.py`, {first.date}, commit {first.commit}{others}."]
    lines += [ran_on(first)] * (ran_on(first) != usual) + [f"Sizes: {cell(first.sizes)}."] * (not many)
    return [*lines, ""]


TARGETS = """Values are medians of several rounds, with
quartiles in parentheses. Ratios compare contenders that took turns in the same run."""
NOTES = """Each benchmark notes how many cores other processes kept busy; if that is not near 0, they influenced the
figures. *Commit* is the code that was measured; "recorded in" marks older results and names the commit that added them.
`scripts/bench` runs the benchmarks and generates this page."""
QUICK = "**Quick runs are among these: small sizes, few rounds. They show that it works, not how fast it is.**"


def takeaways(results: dict[str, list[Row]]) -> list[str]:
    """Return the paragraph at the top of the page, about the rows that were measured."""
    by_name = {row.what: row for rows in results.values() for row in rows}
    sentences = []
    for sentence in (about_torch, about_torchmil, about_gpu):
        with suppress(KeyError):
            sentences.append(sentence(by_name))
    return ["", " ".join(sentences)] if sentences else []


def about_torch(rows: RowsByName) -> str:
    ours, alike = rows["setrbm XOR*, 1 set per step"], rows["PyTorch autograd, 1 set per step"]
    batches = rows["PyTorch autograd, 64 sets per step"]
    cores = "core" if ours.threads == 1 else "cores"
    return (
        f"On {ours.threads} CPU {cores} setrbm trains on {ours.value:,.0f} sparse sets per second; the same model in "
        f"PyTorch with autograd trains on {alike.value:,.0f}, or {batches.value:,.0f} in mini-batches of 64."
    )


def about_torchmil(rows: RowsByName) -> str:
    ours = rows["setrbm XOR* on Musk1, 1 set per step"].value
    theirs = rows["torchmil ABMIL (gated) on Musk1, 1 set per step"].value
    return (
        f"On Musk1, on one core, it trains on {ours:,.0f} sets per second; torchmil's gated attention network trains "
        f"on {theirs:,.0f}."
    )


def about_gpu(rows: RowsByName) -> str:
    large = rows["epoch over 16,808 sets, XOR*, GPU time ÷ CPU time"]
    many, device = rows["epoch of 200 models, GPU time ÷ CPU time"], rows["limit: copy in device memory"].sizes
    return (
        f"Compared with the {large.threads} CPU cores of the same machine, one {device} is {1 / many.value:.0f} times "
        f"faster for 200 small models side by side; for one large sparse model, which trains on one core, it is "
        f"{1 / large.value:.0f} times faster."
    )


def how_long(results: dict[str, list[Row]]) -> list[str]:
    """Return the answer to the first question of a new user, from the rows that were measured."""
    rows = {row.what: row for benchmark in results.values() for row in benchmark}
    try:
        dense, sparse = rows["fit of 1,000 dense sets like Musk1"], rows["fit of 1,000 sparse sets like mail"]
        longest = rows["fit of 1,000 dense sets like Musk1, no early stopping"]
        growth = rows["epoch over 14,590 sets ÷ epoch over 1,459 sets"]
        first = rows["first fit in a new environment, discriminative"]
    except KeyError:
        return []
    title, _ = described("fit")
    busy = f", while other processes kept {dense.others:.1f} cores busy" if dense.others >= 0.1 else ""
    return [
        "## How long will it take for my 1,000 sets?",
        "",
        f"Seconds, on {dense.threads} CPU cores. The whole `ClassSetRBMCV().fit`, with the choice of settings and "
        f"the refits, took about {dense.value:.2g} seconds for 1,000 made-up dense sets of the shape of Musk1 "
        f"({dense.sizes}), where training stopped early, and about {longest.value:.2g} seconds without early stopping. "
        f"For 1,000 sparse sets of the shape of the paper's mail ({sparse.sizes}) it took about {sparse.value:.2g} "
        f"seconds. These are medians of {dense.rounds} runs{busy}: [{title}](#{anchor(title)}).",
        "",
        f"For more sets: an epoch over ten times the sets takes {growth.value:.2g} times as long. The first fit in a "
        f"new environment also compiles the kernels: about {first.value:.2g} seconds in all.",
        "",
    ]


def page(results: dict[str, list[Row]], folder: Path, target: Path) -> str:
    """Return the whole page as Markdown."""

    def link(name: str) -> str | None:
        picture = folder / f"{name}.png"
        return Path(os.path.relpath(picture, target.parent)).as_posix() if picture.exists() else None

    with_bars = rows_with_bars(results)
    usual = ran_on(next(iter(results.values()))[0])
    lines = ["# Performance", *takeaways(results), "", *how_long(results)]
    if throughput := link(THROUGHPUT):
        lines += [f"![Training throughput of setrbm and of alternatives]({throughput})", ""]
    met = sum(bool(row.met) for row in with_bars)
    lines += ["## Targets", "", f"{met} of {len(with_bars)} measured values meet their target. {TARGETS}"]
    lines += ["", QUICK] if any(row.quick for row in with_bars) else []
    lines += ["", *bar_table(results), "", *bar_notes(), ""]
    if summary := link(SUMMARY):
        lines += [f"![Every measured value relative to its target]({summary})", ""]
    lines += [*NOTES.splitlines(), "", f"Machine: {usual}", ""]
    for name, rows in results.items():
        lines += section(name, rows, link(name), usual)
    return "\n".join(lines).rstrip() + "\n"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the page of the quick runs, beside their CSV files")
    parser.add_argument("--results", type=Path, help="where the CSV files are")
    parser.add_argument("--page", type=Path, help="the page to write")
    options = parser.parse_args(argv)
    folder = options.results or (RESULTS / "quick" if options.quick else RESULTS)
    target = options.page or (folder / "performance.md" if options.quick else PAGE)
    results = all_rows(folder)
    if not results:
        raise SystemExit(f"There must be results in {os.path.relpath(folder)}. Got none. Run scripts/bench first.")
    draw_bars(folder / f"{SUMMARY}.png", rows_with_bars(results))
    draw_throughput(folder / f"{THROUGHPUT}.png", results.get("peers", []))
    target.write_text(page(results, folder, target), encoding="utf-8")
    print(f"{os.path.relpath(target)}: {len(results)} benchmarks")


if __name__ == "__main__":
    main()
