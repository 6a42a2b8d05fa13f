"""A table from our results: every system on every data set, compared with the paper's figure and with the best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

from setrbm.evaluation.statistics import (
    LEVEL,
    SAME,
    Comparison,
    Summary,
    corrected_t_test,
    one_sample_interval,
    paired_t_test,
    summarize,
)
from setrbm_lab.paper import DATASETS, FOLDS, PAPER_SYSTEMS, REPEATS, TABLE_1
from setrbm_lab.results import Fold
from setrbm_lab.statistics import holm

# "plain" is the paper's test; "corrected" allows for overlapping training parts; "holm" also for multiple comparisons.
Marking = Literal["plain", "corrected", "holm"]


@dataclass(frozen=True)
class Cell:
    """One system on one data set, in percent.

    Attributes
    ----------
    n_folds : int
        The number of folds with results; the cell is complete if all have one.
    scores : mapping of (repeat, fold) to float
    summary : Summary or None
        None unless the cell is complete.
    pooled : float
        The accuracy over the test sets of all folds pooled; NaN unless complete.
    log_loss : float
        The mean log loss of the folds; NaN unless complete, or without probabilities.
    paper : float or None
        The paper's figure, if it has one.
    against_paper : Comparison or None
        Our mean minus the paper's figure.
    """

    n_folds: int
    scores: Mapping[tuple[int, int], float]
    summary: Summary | None
    pooled: float
    log_loss: float
    paper: float | None
    against_paper: Comparison | None


@dataclass(frozen=True)
class Layout:
    """The rows, columns and figures of a table of the paper.

    Attributes
    ----------
    datasets, systems : tuple of str
        The data sets of our table, and the systems of the paper's, in order.
    figures : mapping of (system, dataset) to float
        The paper's figures, in percent.
    repeats, folds : int
        Of the cross-validation.
    ratios : mapping of str to float
        The number of test sets over that of training sets, for data sets whose folds do not partition the sets.
    """

    datasets: tuple[str, ...]
    systems: tuple[str, ...]
    figures: Mapping[tuple[str, str], float]
    repeats: int
    folds: int
    ratios: Mapping[str, float] = field(default_factory=dict)


class Table:
    """A table from the rows of results, with significance tests; subclasses set the layout.

    Parameters
    ----------
    rows : iterable of Fold
        Results on the data sets of the table; systems that are not in the paper are added below, sorted by name.
    repeats, folds : int, optional
        Of a complete cell; by default those of the layout.
    quick : bool
        Whether systems used few candidates and short training.

    Attributes
    ----------
    systems, datasets : tuple of str
    rows : list of Fold
    cells : dict of (system, dataset) to Cell
        For every pair, with or without results.
    """

    layout: ClassVar[Layout]

    def __init__(
        self, rows: Iterable[Fold], repeats: int | None = None, folds: int | None = None, quick: bool = False
    ) -> None:
        rows, layout = sorted(rows), self.layout
        self.repeats = layout.repeats if repeats is None else repeats
        self.folds = layout.folds if folds is None else folds
        _check(rows, layout.datasets, self.repeats, self.folds)
        self.rows, self.quick, self.datasets = rows, quick, layout.datasets
        self.systems = (*layout.systems, *sorted({row.system for row in rows} - set(layout.systems)))
        self.n_folds = self.repeats * self.folds
        by_cell: dict[tuple[str, str], list[Fold]] = {}
        for row in rows:
            by_cell.setdefault((row.system, row.dataset), []).append(row)
        keys = [(system, dataset) for system in self.systems for dataset in self.datasets]
        self.cells = {key: _cell(by_cell.get(key, []), layout.figures.get(key), self.n_folds) for key in keys}

    @property
    def shortcut(self) -> str:
        """How this falls short of the paper's protocol; empty if it does not."""
        repeats, folds = self.layout.repeats, self.layout.folds
        if not self.quick and (self.repeats, self.folds) == (repeats, folds):
            return ""
        cut = f"{self.repeats} x {self.folds} folds instead of {repeats} x {folds}"
        return f"Not a reproduction: {cut}" + (", with few candidates and short training." if self.quick else ".")

    def mean(self, system: str, dataset: str) -> float | None:
        """Return our mean; None unless the cell is complete."""
        summary = self.cells[system, dataset].summary
        return None if summary is None else summary.mean

    def complete(self, dataset: str) -> list[str]:
        """Return the systems with all folds of a data set, in table order."""
        return [system for system in self.systems if self.mean(system, dataset) is not None]

    def average(self, system: str) -> float | None:
        """Return the mean over all data sets; None if one is missing."""
        means = [mean for dataset in self.datasets if (mean := self.mean(system, dataset)) is not None]
        return math.fsum(means) / len(means) if len(means) == len(self.datasets) else None

    def paper_average(self, system: str) -> float | None:
        """Return the mean of the paper's figures over all data sets; None for a system that is not in the paper."""
        known = self.layout.figures
        figures = [known[system, dataset] for dataset in self.datasets if (system, dataset) in known]
        return math.fsum(figures) / len(figures) if figures else None

    def best(self, dataset: str) -> str | None:
        """Return the complete system with the highest mean (the first if tied); None if there is none."""
        means = {system: self.cells[system, dataset].summary for system in self.complete(dataset)}
        top = max((summary.mean for summary in means.values() if summary), default=math.nan)
        return next((system for system, summary in means.items() if summary and summary.mean >= top - SAME), None)

    def against_best(self, dataset: str, marking: Marking = "corrected") -> dict[str, Comparison]:
        """Return the t-test of each complete system minus the best; "holm" adjusts p within the data set."""
        best = self.best(dataset)
        return {} if best is None else self.against(best, dataset, marking)

    def against(self, baseline: str, dataset: str, marking: Marking = "corrected") -> dict[str, Comparison]:
        """Return the t-test of each complete system minus a given one; empty unless that is complete."""
        if baseline not in self.complete(dataset):
            return {}
        corrected = partial(corrected_t_test, ratio=self.layout.ratios.get(dataset))
        test: Any = paired_t_test if marking == "plain" else corrected
        reference = self.cells[baseline, dataset].scores
        others = [system for system in self.complete(dataset) if system != baseline]
        tests = {system: test(self.cells[system, dataset].scores, reference) for system in others}
        if marking != "holm":
            return tests
        adjusted = holm([result.p for result in tests.values()])
        return {
            system: Comparison(result.difference, result.t, p, result.low, result.high)
            for (system, result), p in zip(tests.items(), adjusted, strict=True)
        }

    def not_worse(self, dataset: str, marking: Marking = "corrected") -> list[str]:
        """Return the best system and those not significantly worse, in table order."""
        tests = self.against_best(dataset, marking)
        best = self.best(dataset)
        return [
            system
            for system in self.complete(dataset)
            if system == best or tests[system].p >= 1 - LEVEL or tests[system].difference >= -SAME
        ]

    def far_from_paper(self, points: float, sign: int) -> list[tuple[str, str]]:
        """Return the cells more than ``points`` above (sign 1) or below (sign -1) the paper's figure."""
        compared = {key: cell.against_paper for key, cell in self.cells.items()}
        return [key for key, test in compared.items() if test and sign * test.difference > points]

    def ranked(self) -> list[str]:
        """Return the systems that are complete on every data set; only these can be ranked."""
        return [system for system in self.systems if self.average(system) is not None]


class Table1(Table):
    """The paper's Table 1."""

    layout = Layout(DATASETS, PAPER_SYSTEMS, TABLE_1, REPEATS, FOLDS)


def _cell(rows: list[Fold], paper: float | None, n_folds: int) -> Cell:
    scores = {(row.repeat, row.fold): 100 * row.accuracy for row in rows}
    if len(scores) < n_folds:
        return Cell(len(scores), scores, None, math.nan, math.nan, paper, None)
    pooled = 100 * sum(row.n_right for row in rows) / sum(row.n_test for row in rows)
    against = None if paper is None else one_sample_interval(scores, paper)
    log_loss = math.fsum(row.log_loss for row in rows) / len(rows)
    return Cell(len(scores), scores, summarize(scores), pooled, log_loss, paper, against)


def _check(rows: list[Fold], datasets: tuple[str, ...], repeats: int, folds: int) -> None:
    if repeats < 1 or folds < 2:
        raise ValueError(f"There must be one or more repetitions and two or more folds. Got {repeats} and {folds}.")
    if other := sorted({row.dataset for row in rows} - set(datasets)):
        raise ValueError(f"Every row must be of one of the data sets {', '.join(datasets)}. Got {', '.join(other)}.")
    if odd := [row for row in rows if not (0 <= row.repeat < repeats and 0 <= row.fold < folds)]:
        raise ValueError(
            f"Every row must be of one of {repeats} repetitions and {folds} folds. Got {len(odd)} others, the first of "
            f"{odd[0].system} on {odd[0].dataset}: repetition {odd[0].repeat}, fold {odd[0].fold}, counted from 0. "
            "Set repeats and folds to those of the run."
        )
    _check_once(rows)
    _check_same_folds(rows)


def _check_once(rows: list[Fold]) -> None:
    """Refuse duplicate folds, and cells with folds of different settings."""
    seen: dict[tuple[str, str, int, int], Fold] = {}
    settings: dict[tuple[str, str], str] = {}
    for row in rows:
        if row.key in seen:
            raise ValueError(f"Every fold must appear once. Got {row.key} twice. Drop one of them.")
        seen[row.key] = row
        if settings.setdefault((row.system, row.dataset), row.settings) != row.settings:
            raise ValueError(
                f"All folds of a system on a data set must have the same settings. Got settings "
                f"{settings[row.system, row.dataset]!r} and {row.settings!r} for {row.system} on {row.dataset}. "
                "Keep the rows of one."
            )


def _check_same_folds(rows: list[Fold]) -> None:
    """Refuse systems that were tested on different folds: their scores cannot be paired."""
    first: dict[tuple[str, int, int], Fold] = {}
    for row in rows:
        other = first.setdefault((row.dataset, row.repeat, row.fold), row)
        if (other.seed, other.n_test) != (row.seed, row.n_test):
            raise ValueError(
                f"All systems must be tested on the same folds. Got repetition {row.repeat}, fold {row.fold} of "
                f"{row.dataset} with seed {other.seed} and {other.n_test} sets for {other.system}, with seed "
                f"{row.seed} and {row.n_test} sets for {row.system}. Run one of them again."
            )
