"""Reader for svmlight files, in which qid is the bag."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np

from setrbm.datasets._csv import open_text
from setrbm.datasets._rows import MAX_FEATURES, ColumnSelection, Table, integers_or_numbers, is_finite


def read_svmlight(path: Path, selection: ColumnSelection) -> Table:
    """Read a svmlight file. Features keep their numbers, so that files from the same source agree."""
    from sklearn.datasets import load_svmlight_file

    if selection.ignore:
        raise ValueError(
            f"Only columns of CSV and Parquet files can be ignored. Got {selection.ignore[0]!r} for {str(path)!r}, "
            "whose features have no names."
        )
    try:
        X, labels, sets = load_svmlight_file(
            os.fspath(path), n_features=selection.n_features, zero_based=True, query_id=True
        )
    except (ValueError, OverflowError, EOFError, OSError, zlib.error) as error:
        _refuse(path, selection.n_features, error)
    too_wide = selection.n_features is None and X.shape[1] > MAX_FEATURES
    if too_wide or len(sets) != X.shape[0] or not np.isfinite(X.data).all() or not np.isfinite(labels).all():
        _refuse(path, selection.n_features, None)
    if not X.shape[0]:
        raise ValueError(f"{str(path)!r} must have at least one vector. Got none.")
    return Table(X, sets, integers_or_numbers(labels), None, lambda i: f"line {_data_line(path, i)}")


def _refuse(path: Path, n_features: int | None, error: Exception | None) -> NoReturn:
    """Raise ValueError naming the first invalid line."""
    with open_text(path) as file:
        for number, tokens in _data_lines(file):
            if fault := _fault(tokens, n_features):
                raise ValueError(
                    f"Every line of a svmlight file must read 'label qid:set number:value number:value ...'. Got "
                    f"{fault} in line {number} of {str(path)!r}."
                )
            if n_features is not None and (last := _last_feature(tokens)) >= n_features:
                raise ValueError(
                    f"Feature numbers must be below {n_features}, the number of features. Got {last} in line {number} "
                    f"of {str(path)!r}. Features keep their numbers here; scikit-learn's load_svmlight_file makes a "
                    "file that counts from 1 count from 0."
                )
    raise ValueError(f"{str(path)!r} must be a svmlight file. It cannot be read: {error}.")


def _data_lines(file: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield number and tokens of each line that is neither empty nor a comment."""
    for number, line in enumerate(file, start=1):
        if tokens := line.partition("#")[0].split():
            yield number, tokens


def _data_line(path: Path, i: int) -> int:
    with open_text(path) as file:
        return next(number for k, (number, _) in enumerate(_data_lines(file)) if k == i)


def _last_feature(tokens: list[str]) -> int:
    """Return the largest feature number of a line without faults; -1 if it has no features."""
    return int(tokens[-1].partition(":")[0]) if len(tokens) > 2 else -1


def _fault(tokens: list[str], n_features: int | None) -> str | None:
    """Return what is wrong with a line, or None."""
    label, *rest = tokens
    if not is_finite(label):
        return f"the label {label!r}, which is not a finite number,"
    if not rest or not re.fullmatch(r"qid:[0-9]+", rest[0]):
        return "no qid:set after the label"
    last = -1
    for token in rest[1:]:
        number, _, value = token.partition(":")
        if not number.isdecimal() or not is_finite(value):
            return f"{token!r}, which is not number:value with a finite value,"
        if int(number) <= last:
            return f"feature {number} after feature {last}, which must increase,"
        if n_features is None and int(number) >= MAX_FEATURES:
            return f"feature {number}, which is beyond the limit of {MAX_FEATURES:,} unless n_features is given,"
        last = int(number)
    return None
