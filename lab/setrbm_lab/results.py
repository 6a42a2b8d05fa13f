"""Results of experiments: one row per fold, in a CSV file that is appended to and survives a kill."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TypeVar

from setrbm.tools.files import write_atomically

# Increased whenever the meaning of a column changes; files with another number are refused.
FORMAT = 1


@dataclass(frozen=True, order=True)
class Row:
    """A line about one system on one test fold of one data set.

    Attributes
    ----------
    dataset, system : str
    repeat, fold : int
        Counting from 0.
    """

    dataset: str
    system: str
    repeat: int
    fold: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        """The data set, system, repeat and fold."""
        return self.dataset, self.system, self.repeat, self.fold

    def fault(self) -> str:
        """Return what the line must have, and what it has instead; empty if nothing is wrong."""
        return ""


@dataclass(frozen=True, order=True)
class Fold(Row):
    """The result of one system on one test fold of one data set.

    Attributes
    ----------
    dataset, system : str
    repeat, fold : int
        Counting from 0.
    seed : int
        The seed of the splits; the system's own seed is derived from it, the repeat and the fold.
    n_test, n_right : int
    log_loss : float
        The mean of -log p(true class) over the test sets; NaN for a system without probabilities.
    chosen : str
        The settings chosen inside the training part, as JSON.
    settings : str
        A digest of everything fixed beforehand: system, candidates, folds, data.
    engine : str
        What trained the system: "cpu", "gpu", "reference", or another library.
    seconds : float
        The time of this fold, or its share if many were trained at once.
    """

    seed: int
    n_test: int
    n_right: int
    log_loss: float
    chosen: str
    settings: str
    engine: str
    seconds: float

    @property
    def accuracy(self) -> float:
        """The fraction of test sets classified correctly."""
        return self.n_right / self.n_test

    def fault(self) -> str:
        """Return what the line must have, and what it has instead; empty if nothing is wrong."""
        if 0 <= self.n_right <= self.n_test and self.n_test >= 1:
            return ""
        return f"n_right from 0 to n_test. Got {self.n_right} of {self.n_test}"


R = TypeVar("R", bound=Row)
_KINDS = {"str": str, "int": int, "float": float}


def read(path: Path) -> list[Fold]:
    """Return the rows of a results file; an empty list if there is no file.

    An incomplete last line, left by a killed process, is ignored.
    """
    return read_rows(path, Fold)


def read_rows(path: Path, kind: type[R]) -> list[R]:
    """Return the rows of a file as ``read`` does, for rows of another class."""
    header = _header(kind)
    if not path.exists():
        return []
    try:
        text = path.read_bytes().decode("utf-8")
        whole = text[: text.rfind("\n") + 1]
        lines = list(csv.reader(io.StringIO(whole, newline="")))
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"{path} must be a results file in UTF-8. Got something else.") from None
    if not lines:
        # A killed process may have left an incomplete header.
        if not ",".join(header).startswith(text):
            raise ValueError(
                f"{path} must be a results file or not exist. Got something else. Write to another folder."
            )
        return []
    if lines[0] != header:
        raise ValueError(
            f"{path} must be a results file with the columns {', '.join(header)}. Got {', '.join(lines[0])}. "
            "It is another kind of file, or from another version. Write to another folder."
        )
    return [_row(path, number, line, kind) for number, line in enumerate(lines[1:], start=2)]


def _header(kind: type[Row]) -> list[str]:
    return ["format", *(field.name for field in fields(kind))]


def _row(path: Path, number: int, line: list[str], kind: type[R]) -> R:
    if len(line) != (n_columns := len(_header(kind))):
        raise ValueError(f"Every line of {path} must have {n_columns} columns. Got {len(line)} in line {number}.")
    if line[0] != str(FORMAT):
        raise ValueError(
            f"{path} must be in results format {FORMAT}. Got format {line[0]!r} in line {number}: it is from "
            "another version. Write to another folder."
        )
    try:
        row = kind(*(_KINDS[str(field.type)](text) for field, text in zip(fields(kind), line[1:], strict=True)))
    except ValueError as error:
        raise ValueError(
            f"Line {number} of {path} must have numbers in its numeric columns. Got {line}: {error}."
        ) from None
    if fault := row.fault():
        raise ValueError(f"Line {number} of {path} must have {fault}.")
    return row


class RowWriter:
    """Appends rows to a results file.

    Parameters
    ----------
    path : Path
        Created with a header if it does not exist; an incomplete last line is removed.
    kind : type
        The class of the rows.
    """

    def __init__(self, path: Path, kind: type[Row] = Fold) -> None:
        read_rows(path, kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if not whole:
            write(path, [], kind)
        elif len(whole) < len(text):
            os.truncate(path, len(whole))

    def add(self, rows: Iterable[Row]) -> None:
        """Append rows and wait until they are on disk."""
        with self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(_lines(rows))
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Lock a results file against other processes; the lock ends with this process, even if it is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as file:
        try:
            import fcntl
        except ImportError:
            # No such locks on this platform.
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{path} must have one writer at a time. Another run is writing to it: wait, or write to another "
                "folder."
            ) from None
        yield


def write(path: Path, rows: Iterable[R], kind: type[Row] = Fold) -> None:
    """Write a whole results file with its rows in order; an existing file is replaced atomically."""
    write_atomically(path, (",".join(_header(kind)) + "\n" + _lines(sorted(rows))).encode())


def _lines(rows: Iterable[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        writer.writerow([FORMAT, *astuple(row)])
    return out.getvalue()
