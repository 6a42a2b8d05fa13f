"""What commands print and write."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from setrbm.tools.commands import Refused, in_words
from setrbm.tools.files import check_folder, check_writable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Instead of +0.000 or -0.000, which would look like evidence.
ZERO = "0"


def show_json(document: Any) -> None:
    """Print one JSON document to stdout."""
    typer.echo(json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """Return a value as JSON types: numpy types become Python types, NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)


# Wider than any table, in characters.
WIDEST = 10_000


def fits(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> bool:
    """Return whether a table is as narrow as the terminal, with words and numbers whole."""
    return bool(_width(_table(headings, rows, is_narrow=True)) <= _console().width)


def show_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], strong: Sequence[int] = ()) -> None:
    """Print a table to stdout; numbers are right-aligned, and some rows may be bold."""
    rows = list(rows)
    is_narrow = _width(_table(headings, rows)) > _console().width and fits(headings, rows)
    table = _table(headings, rows, strong, is_narrow)
    table.title = title or None
    _console().print(table)


def _width(table: Any) -> int:
    """Return the width of a table in characters, however wide the terminal is."""
    console = _console()
    return int(console.measure(table, options=console.options.update_width(WIDEST)).maximum)


def _console() -> Any:
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False)


def _table(
    headings: Sequence[str], rows: Iterable[Sequence[Any]], strong: Sequence[int] = (), is_narrow: bool = False
) -> Any:
    """Return a table; a narrow one has columns as wide as their longest words."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    cells = [[str(cell) for cell in row] for row in rows]
    table = Table(box=SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for i, heading in enumerate(headings):
        column = [row[i] for row in cells]
        numeric = bool(cells) and all(map(_looks_numeric, column))
        longest = max((len(word) for cell in (heading, *column) for word in cell.split()), default=1)
        # Words are kept whole if the terminal is too narrow.
        widths: dict[str, Any] = {"width": longest} if is_narrow else {"min_width": min(longest, 24)}
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold", **widths)
    for i, row in enumerate(cells):
        table.add_row(*row, style="bold" if i in strong else None)
    return table


def _looks_numeric(cell: str) -> bool:
    return not cell or cell.removesuffix(" %").lstrip("+-").replace(".", "", 1).isdecimal()


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


def signed(value: float) -> str:
    """Return a number with its sign and three decimals; ZERO if nothing of it would be seen, nothing for NaN."""
    if math.isnan(value):
        return ""
    text = f"{value:+.3f}"
    return text if float(text) else ZERO


def check_output(path: Path, force: bool, *inputs: Path) -> None:
    """Refuse, before any work is done, an output file that cannot be written, exists, or is also an input."""
    try:
        if path.exists() and any(path.samefile(other) for other in inputs if other.exists()):
            raise Refused(
                f"The file to write must not be one that is read. Got {str(path)!r} for both. Use another name."
            )
        if path.is_file() and not force:
            raise Refused(f"The file {str(path)!r} exists already. Use --force to overwrite it, or another name.")
        check_writable(path)
    except OSError as error:
        raise Refused(in_words(error)) from None


def check_output_folder(folder: Path) -> None:
    """Refuse, before any work is done, a folder that cannot be written to or created."""
    try:
        check_folder(folder)
    except OSError as error:
        raise Refused(in_words(error)) from None
