"""CSV: files of sets, plain or gzipped, and rows as text."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from setrbm._types import Floats
from setrbm.bags import Labels
from setrbm.datasets._rows import (
    ColumnPositions,
    ColumnSelection,
    Table,
    find_columns,
    is_finite,
    refuse_number,
    refuse_unnamed,
)

# Rows converted to numbers at once.
BLOCK = 4096
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def read_csv(path: Path, selection: ColumnSelection) -> Table:
    """Read a CSV file."""
    with open_text(path) as file:
        return table_of(csv_rows(file, str(path)), str(path), selection)


def table_of(rows: Iterator[tuple[int, list[str]]], source: str, selection: ColumnSelection) -> Table:
    """Return the table of rows of text, the first of which has the column names; numbers are read in blocks of rows."""
    lines: list[int] = []
    blocks, bags, labels = [], [], []
    header = [name.strip() for name in next(rows, (0, []))[1]]
    if not header:
        raise ValueError(f"{source!r} must start with a line of column names. It is empty.")
    columns = find_columns(source, header, selection)
    while block := list(islice(rows, BLOCK)):
        numbers, cells = zip(*block, strict=True)
        blocks.append(_as_numbers(source, cells, numbers, columns))
        bags += _filled_cells(source, cells, numbers, columns.bag, selection.bag)
        if columns.label is not None:
            labels += _filled_cells(source, cells, numbers, columns.label, selection.label)
        lines += numbers
    if not lines:
        raise ValueError(f"{source!r} must have at least one row below the column names. Got none.")
    return Table(
        np.concatenate(blocks),
        _integers_or_text(bags),
        _integers_or_text(labels),
        columns.names,
        lambda i: f"line {lines[i]}",
    )


def as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as the text of a CSV file."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """Open a text file, gzipped or not; decoding errors become a ValueError that names the file."""
    packed = path.name.lower().endswith(".gz")
    try:
        try:
            with gzip.open(path, "rt", encoding="utf-8-sig", newline="") if packed else _open_plain(path) as file:
                yield file
        except UnicodeDecodeError:
            _refuse_bytes(path, packed)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{str(path)!r} must be a gzip file. It is damaged or of another type: {error}.") from None


def _open_plain(path: Path) -> IO[str]:
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


def csv_rows(file: Iterable[str], source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not empty with the number of its first line; all rows must be as wide as the first."""
    reader = csv.reader(file, skipinitialspace=True, strict=True)
    line, width = 1, 0
    try:
        for row in reader:
            if row:
                width = width or len(row)
                if len(row) != width:
                    _refuse_width(source, row, line, width)
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{source!r} must be a CSV file. Cannot read the row that starts in line {line}: {error}. Check its "
            "quotation marks."
        ) from None


def _refuse_width(source: str, row: list[str], line: int, width: int) -> NoReturn:
    cure = "Fill in the missing cells." if len(row) < width else "Quote cells that contain a comma."
    raise ValueError(
        f"Every row must have one cell for each of the {width} columns. Got {len(row)} in line {line} of "
        f"{source!r}. {cure}"
    )


def _as_numbers(source: str, rows: Sequence[list[str]], lines: Sequence[int], columns: ColumnPositions) -> Floats:
    """Return the features of a block of rows; only a block that cannot be converted is searched for the bad cell."""
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
                refuse_number(source, cell, f"line {line}", name, columns.or_ignore)
    raise ValueError(f"Every feature cell of {source!r} must hold a number.")


def _filled_cells(source: str, rows: Sequence[list[str]], lines: Sequence[int], column: int, name: str) -> list[str]:
    cells = [row[column].strip() for row in rows]
    if "" in cells:
        refuse_unnamed(source, f"line {lines[cells.index('')]}", name)
    return cells


def _integers_or_text(cells: list[str]) -> Labels:
    """Return integers if every cell is the usual form of one, else the text."""
    if all(INTEGER.fullmatch(cell) for cell in set(cells)):
        return np.array(cells, dtype=np.int64)
    return np.array(cells, dtype=object)
