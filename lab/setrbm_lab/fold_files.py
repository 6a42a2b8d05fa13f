"""Where finished folds are saved: a results file and, if curves are wanted, a file of curves beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from setrbm_lab import results
from setrbm_lab.curves import Curve, curves_path
from setrbm_lab.results import Fold, RowWriter


@dataclass(frozen=True)
class Finished:
    """A finished fold, and its curve if that is wanted."""

    fold: Fold
    curve: Curve | None = None


class FoldFiles:
    """The files of an experiment. A fold whose curve is wanted and missing is not finished.

    Parameters
    ----------
    path : Path
        The results file.
    with_curves : bool
        Whether curves are wanted.
    """

    def __init__(self, path: Path, with_curves: bool) -> None:
        self._path, self._with_curves = path, with_curves

    def known(self) -> dict[Any, Fold]:
        """Return the finished folds by their keys."""
        rows = {row.key: row for row in results.read(self._path)}
        curves = self._read_curves() if self._with_curves else rows
        return {key: row for key, row in rows.items() if key in curves}

    def add(self, finished: Sequence[Finished]) -> None:
        """Save finished folds, and wait until they are on disk."""
        folds, curves = self._writers
        # In this order, a fold in the results file has a curve even if the process is killed between the two lines.
        if curves is not None:
            curves.add([result.curve for result in finished if result.curve is not None])
        folds.add([result.fold for result in finished])

    def put_in_order(self) -> list[Fold]:
        """Sort the lines of the files, keep the last line of each fold, and return the folds."""
        rows = {row.key: row for row in results.read(self._path)}
        results.write(self._path, rows.values())
        if self._with_curves:
            results.write(curves_path(self._path), self._read_curves().values(), Curve)
        return list(rows.values())

    @cached_property
    def _writers(self) -> tuple[RowWriter, RowWriter | None]:
        curves = RowWriter(curves_path(self._path), Curve) if self._with_curves else None
        return RowWriter(self._path), curves

    def _read_curves(self) -> dict[Any, Curve]:
        return {row.key: row for row in results.read_rows(curves_path(self._path), Curve)}
