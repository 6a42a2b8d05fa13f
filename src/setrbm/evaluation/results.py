"""Results of experiments: one row a fold, kept in a CSV file that grows line by line and survives a kill."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from setrbm._files import write_atomically

# Raised whenever the meaning of a column changes; files of another number are refused.
FORMAT = 1


@dataclass(frozen=True, order=True)
class Fold:
    """What one system did on one test fold of one data set.

    Attributes
    ----------
    dataset, system : str
    repeat, fold : int
        Counted from 0.
    seed : int
        The seed of the splits; the system's own is derived from it, the repeat and the fold.
    n_test, n_right : int
    log_loss : float
        The mean -log p(y | X) of the test sets; NaN where the system has no probabilities.
    chosen : str
        The settings chosen inside the training part, as JSON.
    settings : str
        A digest of everything that was fixed beforehand: system, choices offered, folds, data.
    engine : str
        What did the arithmetic: "cpu", "gpu", "reference", or the library of a peer.
    seconds : float
        The time of this fold, or its share where many were trained together.
    """

    dataset: str
    system: str
    repeat: int
    fold: int
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
        """The share of test sets predicted right."""
        return self.n_right / self.n_test

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What this is the result of."""
        return self.dataset, self.system, self.repeat, self.fold


HEADER = ["format", *(field.name for field in fields(Fold))]
_KINDS = {"str": str, "int": int, "float": float}


def read(path: Path) -> list[Fold]:
    """Return the rows of a results file; none where there is no file.

    A last line without an end is what a kill left in the middle of writing: it is not counted.
    """
    if not path.exists():
        return []
    try:
        text = path.read_bytes().decode("utf-8")
        whole = text[: text.rfind("\n") + 1]
        lines = list(csv.reader(io.StringIO(whole, newline="")))
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"{path} must be a results file in UTF-8. Got something else.") from None
    if not lines:
        # A kill may have left the beginning of the header.
        if not ",".join(HEADER).startswith(text):
            raise ValueError(f"{path} must be a results file, or none. Got something else; write to another folder.")
        return []
    if lines[0] != HEADER:
        raise ValueError(
            f"{path} must be a results file with the columns {', '.join(HEADER)}. Got {', '.join(lines[0])}. "
            "It was written by another version or is something else; write to another folder."
        )
    return [_row(path, number, line) for number, line in enumerate(lines[1:], start=2)]


def _row(path: Path, number: int, line: list[str]) -> Fold:
    if len(line) != len(HEADER):
        raise ValueError(f"Every line of {path} must have {len(HEADER)} columns. Got {len(line)} in line {number}.")
    if line[0] != str(FORMAT):
        raise ValueError(
            f"{path} must be in results format {FORMAT}. Got format {line[0]!r} in line {number}: it was written by "
            "another version. Write to another folder."
        )
    try:
        values = [_KINDS[str(field.type)](text) for field, text in zip(fields(Fold), line[1:], strict=True)]
    except ValueError as error:
        raise ValueError(f"Line {number} of {path} must hold numbers where they belong. Got {line}: {error}.") from None
    row = Fold(*values)
    if not 0 <= row.n_right <= row.n_test or row.n_test < 1:
        raise ValueError(
            f"Line {number} of {path} must count right sets among test sets. Got {row.n_right} of {row.n_test}."
        )
    return row


class Writer:
    """Appends rows to a results file, each on the disk before the next begins.

    Parameters
    ----------
    path : Path
        Begun with a header where it does not exist; an unfinished last line is cut off.
    """

    def __init__(self, path: Path) -> None:
        read(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if not whole:
            write(path, [])
        elif len(whole) < len(text):
            os.truncate(path, len(whole))

    def add(self, rows: Iterable[Fold]) -> None:
        """Append rows and wait until they are on the disk."""
        with self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(_lines(rows))
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Keep other processes from writing to a results file; the system lets go of it when a process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as file:
        try:
            import fcntl
        except ImportError:
            # This system has no such locks.
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{path} must have one writer at a time. Another run is writing to it: wait for it, or write to "
                "another folder."
            ) from None
        yield


def write(path: Path, rows: Iterable[Fold]) -> None:
    """Write a whole results file, its rows in order; the old one is replaced in one step."""
    write_atomically(path, (",".join(HEADER) + "\n" + _lines(sorted(rows))).encode())


def _lines(rows: Iterable[Fold]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        writer.writerow([FORMAT, *astuple(row)])
    return out.getvalue()
