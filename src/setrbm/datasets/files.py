"""Sets from files: CSV and Parquet with a bag and a label column, svmlight with qid as the bag.

Every format becomes a table of rows that knows where each row stands in its file; the checks of sets, shared by all
formats, then name that place. One file, since the three readers share these checks and their words.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm.bags import Bags, Labels
from setrbm.persistence import write_atomically

# How many rows of a CSV become numbers at once.
BLOCK = 4096
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
# What pandas calls the column of row labels it adds to a Parquet file.
PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")
NO_LABELS: Labels = np.empty(0, dtype=object)
TEXT, SVMLIGHT, PARQUET = (".csv",), (".svm", ".svmlight", ".libsvm"), (".parquet", ".pq")


@dataclass(frozen=True)
class Wanted:
    """Which columns of a file to read.

    Attributes
    ----------
    bag, label : str
        The columns that name a row's set and carry its label.
    with_labels : bool
        Whether the label column must be there; else it is passed over.
    feature_names : sequence of str, optional
        The columns to read as features, in this order; by default all the others.
    n_features : int, optional
        How many features a svmlight file has, where its own largest number does not say.
    """

    bag: str
    label: str
    with_labels: bool
    feature_names: Sequence[str] | None
    n_features: int | None


@dataclass(frozen=True)
class _Columns:
    """Where the wanted columns stand in a row."""

    bag: int
    label: int | None
    features: list[int]
    names: list[str]


@dataclass(frozen=True)
class _Table:
    """The rows of a file; ``where(i)`` says in words where row i stands in it. Without labels, these are none."""

    X: Any
    bags: Labels
    labels: Labels
    names: list[str] | None
    where: Callable[[int], str]


def read_sets(
    path: str | os.PathLike[str],
    bag: str = "bag",
    label: str = "label",
    *,
    feature_names: Sequence[str] | None = None,
    n_features: int | None = None,
) -> tuple[Bags, Labels]:
    """Return the sets of a file, in order of first appearance, and the label of each.

    Parameters
    ----------
    path : path
        ``.csv`` or ``.parquet`` with one vector a row, a bag column, a label column and one column a feature, or
        ``.svm``, ``.svmlight``, ``.libsvm`` with the bag as qid and features kept under the numbers they have there.
        ``.csv`` and svmlight files may be packed by gzip (``.csv.gz``).
    bag, label : str
        The columns that name a row's set and carry its label; svmlight has its own places for both.
    feature_names : sequence of str, optional
        The columns to read as features, in this order; by default all columns but the bag's and the label's.
    n_features : int, optional
        The number of features of a svmlight file; by default its largest feature number plus one.

    Returns
    -------
    bags : Bags
    y : ndarray of shape (n_sets,)
        Like the bags' ids, integers if all of them are written as integers, else text.

    Examples
    --------
    >>> import os, tempfile
    >>> from setrbm.datasets.files import read_sets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "mail.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("bag,label,x\\n7,bill,0.5\\n8,letter,1.5\\n7,bill,2.5\\n")
    ...     bags, y = read_sets(path)
    >>> bags, bags.ids, y
    (Bags(2 sets, 3 vectors, 1 feature, dense float64), array([7, 8]), array(['bill', 'letter'], dtype='<U6'))
    """
    path = _existing(Path(path))
    table = _reader_for(path)(path, Wanted(bag, label, True, feature_names, n_features))
    _refuse_mixed_labels(path, table)
    bags, y = Bags.from_groups(table.X, table.bags, table.labels, feature_names=table.names)
    return bags, np.array(y.tolist())


def read_bags(
    path: str | os.PathLike[str],
    bag: str = "bag",
    label: str = "label",
    *,
    feature_names: Sequence[str] | None = None,
    n_features: int | None = None,
) -> Bags:
    """Return the sets of a file without labels: a label column may be missing, and one that is there is passed over.

    Parameters are those of ``read_sets``.

    Examples
    --------
    >>> import os, tempfile
    >>> from setrbm import Bags
    >>> from setrbm.datasets import read_bags, write_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "new.csv")
    ...     write_csv(path, Bags.from_list([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]))
    ...     read_bags(path)
    Bags(2 sets, 3 vectors, 2 features, dense float64)
    """
    path = _existing(Path(path))
    table = _reader_for(path)(path, Wanted(bag, label, False, feature_names, n_features))
    return Bags.from_groups(table.X, table.bags, feature_names=table.names)


def write_csv(
    path: str | os.PathLike[str], bags: Bags, y: npt.ArrayLike | None = None, bag: str = "bag", label: str = "label"
) -> None:
    """Write sets, and the label of each where given, to a CSV file that ``read_sets`` reads back the same.

    Features without names are called f0, f1 and so on.

    Examples
    --------
    >>> import os, tempfile
    >>> from setrbm import Bags
    >>> from setrbm.datasets import read_bags, write_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "new.csv")
    ...     write_csv(path, Bags.from_list([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]))
    ...     read_bags(path)
    Bags(2 sets, 3 vectors, 2 features, dense float64)
    """
    names = [f"f{i}" for i in range(bags.shape[1])] if bags.feature_names is None else list(bags.feature_names)
    X, groups = bags.to_groups()
    columns = [groups.tolist()]
    if y is not None:
        columns.append(np.repeat(np.asarray(y), bags.sizes).tolist())
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([bag, *([] if y is None else [label]), *names])
    for first, vector in zip(zip(*columns, strict=True), X, strict=True):
        writer.writerow([*first, *(vector.toarray().ravel() if sparse.issparse(vector) else vector).tolist()])
    write_atomically(Path(path), text.getvalue().encode())


# --- what all formats share ---


def _existing(path: Path) -> Path:
    if path.is_dir():
        raise IsADirectoryError(f"The data must be a file. Got the folder {str(path)!r}. Name a file inside it.")
    if not path.exists():
        raise FileNotFoundError(f"The data must be a file that exists. There is no file {str(path)!r}.")
    return path


def _reader_for(path: Path) -> Callable[[Path, Wanted], _Table]:
    name = path.name.lower()
    if name.endswith(PARQUET):
        return _read_parquet
    unpacked = name.removesuffix(".gz")
    if unpacked.endswith(TEXT):
        return _read_csv
    if unpacked.endswith(SVMLIGHT):
        return _read_svmlight
    known = ", ".join([*TEXT, ".csv.gz", *PARQUET, *SVMLIGHT])
    raise ValueError(f"The name of a data file must end in one of {known}. Got {str(path)!r}. Rename or convert it.")


def _find_columns(path: Path, columns: list[str], wanted: Wanted) -> _Columns:
    """Return where the wanted columns stand, or raise ValueError naming one that is missing or there twice."""
    if len(set(columns)) < len(columns):
        twice = next(name for i, name in enumerate(columns) if name in columns[:i])
        places = [i + 1 for i, name in enumerate(columns) if name == twice]
        raise ValueError(
            f"Column names must differ. Got {twice!r} for columns {places[0]} and {places[1]} of {str(path)!r}. Rename "
            "one of them."
        )
    bag = _place(path, columns, wanted.bag, "bag")
    labelled = wanted.with_labels or wanted.label in columns
    label = _place(path, columns, wanted.label, "label") if labelled else None
    if wanted.feature_names is None:
        features = [i for i in range(len(columns)) if i not in (bag, label)]
    else:
        features = [_place(path, columns, name, "feature") for name in wanted.feature_names]
    if not features:
        raise ValueError(
            f"{str(path)!r} must have at least one feature column besides {wanted.bag!r} and {wanted.label!r}. Got "
            "none."
        )
    return _Columns(bag, label if wanted.with_labels else None, features, [columns[i] for i in features])


def _place(path: Path, columns: list[str], name: str, role: str) -> int:
    if name in columns:
        return columns.index(name)
    by_lower = {column.lower(): column for column in columns}
    near = get_close_matches(name.lower(), by_lower, n=1)
    nearest = f"; the nearest is {by_lower[near[0]]!r}" if near else ""
    cure = "Add it." if role == "feature" else f"Say which column it is: {role}=... in Python, --{role} in a command."
    if len(columns) == 1 and (mark := next((mark for mark in (";", "\t", "|") if mark in columns[0]), None)):
        cure = f"The columns seem to be parted by {mark!r}; part them by commas."
    raise ValueError(f"{str(path)!r} must have a {role} column {name!r}. Got {_some(columns)}{nearest}. {cure}")


def _some(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"the {'column' if len(names) == 1 else 'columns'} {shown}{more}"


def _refuse_mixed_labels(path: Path, table: _Table) -> None:
    """Raise ValueError naming both places if the rows of a set carry different labels."""
    labels = table.labels.tolist()
    first: dict[Any, int] = {}
    for i, (name, label) in enumerate(zip(table.bags.tolist(), labels, strict=True)):
        seen = first.setdefault(name, i)
        if labels[seen] != label:
            raise ValueError(
                f"All rows of a set must carry the same label. Got {labels[seen]!r} in {table.where(seen)} and "
                f"{label!r} in {table.where(i)} of {str(path)!r} for set {name!r}."
            )


def _refuse_cell(path: Path, got: str, line: str, column: str, need: str, cure: str) -> NoReturn:
    raise ValueError(f"{need}. Got {got} in {line}, column {column!r} of {str(path)!r}. {cure}")


def _refuse_number(path: Path, cell: Any, line: str, column: str) -> NoReturn:
    if cell is None or not str(cell).strip():
        _refuse_cell(path, "an empty one", line, column, "Every feature cell must hold a number", "Fill it in first.")
    cure = "Write it as a number, or leave the column out."
    if _is_number(str(cell)):
        cure = "Fill in or leave out such values first."
    _refuse_cell(path, repr(cell), line, column, "Every feature cell must hold a finite number", cure)


def _refuse_unnamed(path: Path, line: str, column: str) -> NoReturn:
    need = "Every row must name its set and its label"
    _refuse_cell(path, "an empty cell", line, column, need, "Fill it in, or leave the row out.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_finite(text: str) -> bool:
    return _is_number(text) and math.isfinite(float(text))


# --- CSV ---


def _read_csv(path: Path, wanted: Wanted) -> _Table:
    """Read a CSV file in blocks of rows; a block that fails is searched for the cell at fault."""
    with _open_text(path) as file:
        reader = csv.reader(file, skipinitialspace=True, strict=True)
        header = [name.strip() for name in next((row for row in reader if row), [])]
        if not header:
            raise ValueError(f"{str(path)!r} must begin with a line of column names. It is empty.")
        columns = _find_columns(path, header, wanted)
        lines: list[int] = []
        blocks, bags, labels = [], [], []
        for numbers, rows in _blocks(path, reader, len(header)):
            blocks.append(_as_numbers(path, rows, numbers, columns))
            bags += _filled_cells(path, rows, numbers, columns.bag, wanted.bag)
            if columns.label is not None:
                labels += _filled_cells(path, rows, numbers, columns.label, wanted.label)
            lines += numbers
    if not lines:
        raise ValueError(f"{str(path)!r} must hold at least one row below the column names. Got none.")
    return _Table(
        np.concatenate(blocks),
        _integers_or_text(bags),
        _integers_or_text(labels),
        columns.names,
        lambda i: f"line {lines[i]}",
    )


@contextmanager
def _open_text(path: Path) -> Iterator[IO[str]]:
    """Open a text file, packed or not, and put what can go wrong in it into words."""
    packed = path.name.lower().endswith(".gz")
    try:
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") if packed else _plain_text(path) as file:
            yield file
    except UnicodeDecodeError:
        _refuse_bytes(path, packed)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{str(path)!r} must be packed by gzip. It is damaged or of another kind: {error}.") from None


def _plain_text(path: Path) -> IO[str]:
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


def _as_numbers(path: Path, rows: list[list[str]], lines: list[int], columns: _Columns) -> npt.NDArray[np.float64]:
    cells = [[row[i] for i in columns.features] for row in rows]
    try:
        X = np.array(cells, dtype=np.float64)
    except ValueError:
        X = None
    if X is not None and np.isfinite(X).all():
        return X
    for line, row in zip(lines, cells, strict=True):
        for name, cell in zip(columns.names, row, strict=True):
            if not _is_finite(cell):
                _refuse_number(path, cell, f"line {line}", name)
    raise ValueError(f"Every feature cell of {str(path)!r} must hold a number.")


def _filled_cells(path: Path, rows: list[list[str]], lines: list[int], column: int, name: str) -> list[str]:
    cells = [row[column].strip() for row in rows]
    if "" in cells:
        _refuse_unnamed(path, f"line {lines[cells.index('')]}", name)
    return cells


def _integers_or_text(cells: list[str]) -> Labels:
    """Return integers if every cell is one that is written back the same way, else the text as it is."""
    if all(INTEGER.fullmatch(cell) for cell in set(cells)):
        return np.array(cells, dtype=np.int64)
    return np.array(cells, dtype=object)


# --- Parquet ---


def _read_parquet(path: Path, wanted: Wanted) -> _Table:
    table = _load_parquet(path)
    kept = [i for i, name in enumerate(table.column_names) if not PANDAS_INDEX.fullmatch(name)]
    table = table.select(kept)
    columns = _find_columns(path, table.column_names, wanted)
    if not table.num_rows:
        raise ValueError(f"{str(path)!r} must hold at least one row. Got none.")
    vectors = [
        _parquet_numbers(path, table.column(i), name) for i, name in zip(columns.features, columns.names, strict=True)
    ]
    return _Table(
        np.column_stack(vectors),
        _parquet_names(path, table.column(columns.bag), wanted.bag),
        NO_LABELS if columns.label is None else _parquet_names(path, table.column(columns.label), wanted.label),
        columns.names,
        _row,
    )


def _row(i: int) -> str:
    return f"row {i + 1}"


def _load_parquet(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            f"Reading {str(path)!r} needs pyarrow, which is not installed. Run: pip install 'setrbm[parquet]'"
        ) from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            return file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{str(path)!r} must be a Parquet file. It is damaged or of another kind: {error}") from None


def _parquet_numbers(path: Path, column: Any, name: str) -> npt.NDArray[Any]:
    """Return a column of finite numbers: float32 stays, other numbers become float64."""
    kind = str(column.type)
    if not kind.startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal")):
        raise ValueError(
            f"Feature columns must be numeric. Got type {kind} for column {name!r} of {str(path)!r}. Leave it out, or "
            "turn it into numbers."
        )
    numbers = np.asarray(column.to_numpy()).astype(np.float32 if kind == "float" else np.float64)
    if (bad := np.flatnonzero(~np.isfinite(numbers))).size:
        _refuse_number(path, column[int(bad[0])].as_py(), _row(int(bad[0])), name)
    return numbers


def _parquet_names(path: Path, column: Any, name: str) -> Labels:
    values = column.to_pylist()
    if column.null_count:
        _refuse_unnamed(path, _row(values.index(None)), name)
    kinds = {type(value) for value in values}
    if kinds == {float}:
        return _integers_or_numbers(np.array(values))
    return np.array(values) if kinds in ({int}, {bool}) else np.array([str(value) for value in values], dtype=object)


def _integers_or_numbers(numbers: npt.NDArray[np.float64]) -> Labels:
    """Return integers if every number is one."""
    whole = np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and (np.abs(numbers) < 2**53).all()
    return numbers.astype(np.int64) if whole else numbers


# --- svmlight ---


def _read_svmlight(path: Path, wanted: Wanted) -> _Table:
    """Read a svmlight file; features keep their numbers, so two files of one origin always agree."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, labels, sets = load_svmlight_file(
            os.fspath(path), n_features=wanted.n_features, zero_based=True, query_id=True
        )
    except (ValueError, OverflowError, EOFError, OSError, zlib.error) as error:
        _refuse_svmlight(path, wanted.n_features, error)
    if len(sets) != X.shape[0] or not np.isfinite(X.data).all() or not np.isfinite(labels).all():
        _refuse_svmlight(path, wanted.n_features, None)
    if not X.shape[0]:
        raise ValueError(f"{str(path)!r} must hold at least one vector. Got none.")
    return _Table(X, sets, _integers_or_numbers(labels), None, lambda i: f"line {_data_line(path, i)}")


def _refuse_svmlight(path: Path, n_features: int | None, error: Exception | None) -> NoReturn:
    """Raise ValueError naming the first line at fault."""
    with _open_text(path) as file:
        for number, tokens in _data_lines(file):
            if fault := _fault(tokens, n_features):
                raise ValueError(
                    f"Every line of a svmlight file must read 'label qid:set number:value number:value ...'. Got "
                    f"{fault} in line {number} of {str(path)!r}."
                )
    raise ValueError(f"{str(path)!r} must be a svmlight file. It cannot be read: {error}.")


def _data_lines(file: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the parts of each line that is not empty and not a comment."""
    for number, line in enumerate(file, start=1):
        if tokens := line.partition("#")[0].split():
            yield number, tokens


def _data_line(path: Path, i: int) -> int:
    with _open_text(path) as file:
        return next(number for k, (number, _) in enumerate(_data_lines(file)) if k == i)


def _fault(tokens: list[str], n_features: int | None) -> str | None:
    """Return in words what is wrong with a line, or None."""
    label, *rest = tokens
    if not _is_finite(label):
        return f"the label {label!r}, which is no finite number,"
    if not rest or not re.fullmatch(r"qid:[0-9]+", rest[0]):
        return "no qid:set after the label"
    last = -1
    for token in rest[1:]:
        number, _, value = token.partition(":")
        if not number.isdecimal() or not _is_finite(value):
            return f"{token!r}, which is no number:value with a finite value,"
        if int(number) <= last:
            return f"feature {number} after feature {last}, which must rise,"
        if n_features is not None and int(number) >= n_features:
            return f"feature {number}, past the last known feature {n_features - 1},"
        last = int(number)
    return None
