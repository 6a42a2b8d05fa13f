"""Table 2 from our results: accuracies as in Table 1, and for each cell its curve and its times."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from setrbm._types import Floats
from setrbm.evaluation.statistics import Comparison
from setrbm_lab import results, runs
from setrbm_lab.curves import Curve, curves_path
from setrbm_lab.fold_files import FoldFiles
from setrbm_lab.mail_data import ALL, N_QUICK
from setrbm_lab.mail_splits import N_SPLITS, RATIOS
from setrbm_lab.mail_systems import OURS, USUAL
from setrbm_lab.paper import MAIL_SYSTEMS, TABLE_2
from setrbm_lab.records import Run
from setrbm_lab.results import Fold
from setrbm_lab.tables import Layout, Table


@dataclass(frozen=True)
class MailRecords:
    """Everything on record about Table 2 in a folder of results.

    Attributes
    ----------
    rows : sequence of Fold
        ``table2.csv``: the folds that have a curve.
    curves : sequence of Curve
        ``table2-curves.csv``.
    runs : sequence of dict
        ``table2-runs.json``: how the rows were made.
    """

    rows: list[Fold]
    curves: list[Curve]
    runs: list[Run]

    @classmethod
    def read(cls, folder: Path) -> MailRecords:
        """Read the records of a folder; files that do not exist are empty."""
        path = folder / "table2.csv"
        rows = FoldFiles(path, with_curves=True).known()
        curves = {row.key: row for row in results.read_rows(curves_path(path), Curve) if row.key in rows}
        return cls(sorted(rows.values()), sorted(curves.values()), runs.read(folder / "table2-runs.json"))


@dataclass(frozen=True)
class MailCell:
    """The curve and the times of one system on one data set.

    Attributes
    ----------
    area : float
        The mean area under precision against recall, in percent.
    precision : ndarray of shape (n_recalls,)
        The mean precision at each recall; NaN where not every fold reaches the recall.
    fit_seconds, predict_seconds : float
        The medians over the folds.
    measured : list of dict
        The attribute ``measured_`` of the fitted system, fold by fold.
    """

    area: float
    precision: Floats
    fit_seconds: float
    predict_seconds: float
    measured: list[dict[str, Any]]


class Table2(Table):
    """Table 2 with our data sets, splits and additional rows.

    Parameters
    ----------
    rows : iterable of Fold
    curves : iterable of Curve
        Those of the same folds.
    quick : bool
        Whether the run was a quick one.
    """

    layout = Layout(ALL, MAIL_SYSTEMS, TABLE_2, 1, N_SPLITS, RATIOS)

    def __init__(self, rows: Iterable[Fold], curves: Iterable[Curve], quick: bool = False) -> None:
        super().__init__(rows, quick=quick)
        by_cell: dict[tuple[str, str], list[Curve]] = {}
        for curve in curves:
            by_cell.setdefault((curve.system, curve.dataset), []).append(curve)
        self.details = {
            key: _details([row for row in self.rows if (row.system, row.dataset) == key], of_cell)
            for key, of_cell in by_cell.items()
        }

    @property
    def shortcut(self) -> str:
        """How this falls short of the whole table; empty if it does not."""
        if not self.rows:
            return "Not run yet. Run: scripts/reproduce table2"
        return f"A quick run: {N_QUICK} sets of each data set, few candidates, short training." if self.quick else ""

    def ours_against_usual(self, dataset: str) -> Comparison | None:
        """Compare our preset for text with the linear SVM on tf-idf; None unless both are complete."""
        return self.against(USUAL, dataset).get(OURS) if {OURS, USUAL} <= set(self.complete(dataset)) else None


def _details(rows: list[Fold], curves: list[Curve]) -> MailCell:
    # The mean of a column with a NaN is NaN: a recall counts only if every fold reaches it.
    return MailCell(
        100.0 * math.fsum(curve.area for curve in curves) / len(curves),
        np.mean([curve.precisions for curve in curves], axis=0),
        median(row.seconds for row in rows),
        median(curve.predict_seconds for curve in curves),
        [json.loads(curve.measured) for curve in curves],
    )


def kernel_bytes(n: int) -> int:
    """Return the bytes of the kernel of n sets and of the copy that the solver makes."""
    return 2 * 8 * n**2
