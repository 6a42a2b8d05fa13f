"""Sets from CSV files, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from setrbm.bags import Labels
from setrbm.datasets._rows import (
    Columns,
    Table,
    Wanted,
    find_columns,
    is_finite,
    refuse_number,
    refuse_unnamed,
)

# How many rows become numbers at once.
BLOCK = 4096
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def read_csv(path: Path, wanted: Wanted) -> Table:
    """Read a CSV file in blocks of rows; a block that fails is searched for the cell at fault."""
    with open_text(path) as file:
        reader = csv.reader(file, skipinitialspace=True, strict=True)
        header = [name.strip() for name in next((row for row in reader if row), [])]
        if not header:
            raise ValueError(f"{str(path)!r} must begin with a line of column names. It is empty.")
        columns = find_columns(path, header, wanted)
        lines: list[int] = []
        blocks, bags, labels = [], [], []
        for numbers, rows in _blocks(path, reader, len(header)):
            blocks.append(_as_numbers(path, rows, numbers, columns))
            bags += filled_cells(path, rows, numbers, columns.bag, wanted.bag)
            if columns.label is not None:
                labels += filled_cells(path, rows, numbers, columns.label, wanted.label)
            lines += numbers
    if not lines:
        raise ValueError(f"{str(path)!r} must hold at least one row below the column names. Got none.")
    return Table(
        np.concatenate(blocks),
        integers_or_text(bags),
        integers_or_text(labels),
        columns.names,
        lambda i: f"line {lines[i]}",
    )


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """Open a text file, packed or not, and put what can go wrong in it into words."""
    packed = path.name.lower().endswith(".gz")
    try:
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") if packed else plain_text(path) as file:
            yield file
    except UnicodeDecodeError:
        _refuse_bytes(path, packed)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{str(path)!r} must be packed by gzip. It is damaged or of another kind: {error}.") from None


def plain_text(path: Path) -> IO[str]:
    return path.open(encoding="utf-8-sig", newline="")


def _refuse_bytes(path: Path, packed: bool) -> NoReturn:
    with gzip.open(path, "rb") if packed else path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{str(path)!r} must be text in UTF-8. Got the byte 0x{line[error.start]:02x} in line {number}, "
                    f"byte {error.start + 1}. Save the file as UTF-8."
                ) from None
    raise ValueError(f"{str(path)!r} must be text in UTF-8. Save the file as UTF-8.")


def _blocks(path: Path, reader: Any, width: int) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Yield rows, some thousands at a time, with the line each begins in; empty lines are passed over."""
    numbers: list[int] = []
    rows: list[list[str]] = []
    line = reader.line_num + 1
    try:
        for row in reader:
            if row:
                if len(row) != width:
                    _refuse_width(path, row, line, width)
                numbers.append(line)
                rows.append(row)
            line = reader.line_num + 1
            if len(rows) == BLOCK:
                yield numbers, rows
                numbers, rows = [], []
    except csv.Error as error:
        raise ValueError(
            f"{str(path)!r} must be a CSV file. Got a row that cannot be read from line {line} on: {error}. Check its "
            "quotation marks."
        ) from None
    if rows:
        yield numbers, rows


def _refuse_width(path: Path, row: list[str], line: int, width: int) -> NoReturn:
    cure = "Fill in what is missing." if len(row) < width else "Put cells with a comma in them in quotation marks."
    raise ValueError(
        f"Every row must have one cell for each of the {width} columns. Got {len(row)} in line {line} of "
        f"{str(path)!r}. {cure}"
    )


def _as_numbers(path: Path, rows: list[list[str]], lines: list[int], columns: Columns) -> npt.NDArray[np.float64]:
    cells = [[row[i] for i in columns.features] for row in rows]
    try:
        X = np.array(cells, dtype=np.float64)
    except ValueError:
        X = None
    if X is not None and np.isfinite(X).all():
        return X
    for line, row in zip(lines, cells, strict=True):
        for name, cell in zip(columns.names, row, strict=True):
            if not is_finite(cell):
                refuse_number(path, cell, f"line {line}", name)
    raise ValueError(f"Every feature cell of {str(path)!r} must hold a number.")


def filled_cells(path: Path, rows: list[list[str]], lines: list[int], column: int, name: str) -> list[str]:
    cells = [row[column].strip() for row in rows]
    if "" in cells:
        refuse_unnamed(path, f"line {lines[cells.index('')]}", name)
    return cells


def integers_or_text(cells: list[str]) -> Labels:
    """Return integers if every cell is one that is written back the same way, else the text as it is."""
    if all(INTEGER.fullmatch(cell) for cell in set(cells)):
        return np.array(cells, dtype=np.int64)
    return np.array(cells, dtype=object)
