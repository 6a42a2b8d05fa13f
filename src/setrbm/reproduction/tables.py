"""The paper's Table 1 made again: every system on every data set, beside the paper's figure, with honest marks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from setrbm.evaluation.results import Fold
from setrbm.evaluation.statistics import (
    LEVEL,
    SAME,
    Comparison,
    Summary,
    corrected_t_test,
    holm,
    one_sample_interval,
    paired_t_test,
    summarize,
)
from setrbm.reproduction.paper import DATASETS, FOLDS, PAPER_SYSTEMS, REPEATS, TABLE_1

# "plain" marks as the paper does; "corrected" allows for folds that overlap; "holm" also for many comparisons.
Marking = Literal["plain", "corrected", "holm"]


@dataclass(frozen=True)
class Cell:
    """One system on one data set, in per cent.

    Attributes
    ----------
    n_folds : int
        How many folds there are results of; the cell is complete if these are all.
    scores : mapping of (repeat, fold) to float
    summary : Summary or None
        None unless the cell is complete: nothing is averaged over a part of the folds.
    pooled : float
        The share of all test sets, over all folds, that were predicted right; NaN unless complete.
    paper : float or None
        The paper's figure, where it has one.
    against_paper : Comparison or None
        Our mean less the paper's figure.
    """

    n_folds: int
    scores: Mapping[tuple[int, int], float]
    summary: Summary | None
    pooled: float
    paper: float | None
    against_paper: Comparison | None


class Table1:
    """Table 1 from the rows of results, and what the tests say of it.

    Parameters
    ----------
    rows : iterable of Fold
        Of the paper's data sets; systems the paper does not have are added below its own, by name.
    repeats, folds : int
        How many there must be for a cell to count; the paper's numbers unless given.
    quick : bool
        Whether systems chose from little and were trained shortly.

    Attributes
    ----------
    systems, datasets : tuple of str
    rows : list of Fold
    cells : dict of (system, dataset) to Cell
        Every pair has one, with or without results.
    """

    def __init__(self, rows: Iterable[Fold], repeats: int = REPEATS, folds: int = FOLDS, quick: bool = False) -> None:
        rows = sorted(rows)
        _check(rows, repeats, folds)
        self.rows, self.repeats, self.folds, self.quick = rows, repeats, folds, quick
        self.datasets = DATASETS
        self.systems = (*PAPER_SYSTEMS, *sorted({row.system for row in rows} - set(PAPER_SYSTEMS)))
        self.n_folds = repeats * folds
        found: dict[tuple[str, str], list[Fold]] = {}
        for row in rows:
            found.setdefault((row.system, row.dataset), []).append(row)
        self.cells = {
            (system, dataset): _cell(found.get((system, dataset), []), TABLE_1.get((system, dataset)), self.n_folds)
            for system in self.systems
            for dataset in self.datasets
        }

    @property
    def shortcut(self) -> str:
        """What makes this less than the paper's protocol; nothing where it is that."""
        if not self.quick and (self.repeats, self.folds) == (REPEATS, FOLDS):
            return ""
        cut = f"{self.repeats} x {self.folds} folds instead of {REPEATS} x {FOLDS}"
        return f"No reproduction: {cut}" + (", with few settings and short training." if self.quick else ".")

    def mean(self, system: str, dataset: str) -> float | None:
        """Return our mean; None unless the cell is complete."""
        summary = self.cells[system, dataset].summary
        return None if summary is None else summary.mean

    def complete(self, dataset: str) -> list[str]:
        """Return the systems with all folds of a data set, in the order of the table."""
        return [system for system in self.systems if self.mean(system, dataset) is not None]

    def average(self, system: str) -> float | None:
        """Return the mean over all data sets; None where one is missing."""
        means = [mean for dataset in self.datasets if (mean := self.mean(system, dataset)) is not None]
        return math.fsum(means) / len(means) if len(means) == len(self.datasets) else None

    def paper_average(self, system: str) -> float | None:
        """Return the mean of the paper's figures over all data sets; None for a system it does not have."""
        figures = [TABLE_1[system, dataset] for dataset in self.datasets if (system, dataset) in TABLE_1]
        return math.fsum(figures) / len(figures) if figures else None

    def best(self, dataset: str) -> str | None:
        """Return the complete system of the highest mean, the first of equal ones; None without any."""
        means = {system: self.cells[system, dataset].summary for system in self.complete(dataset)}
        top = max((summary.mean for summary in means.values() if summary), default=math.nan)
        return next((system for system, summary in means.items() if summary and summary.mean >= top - SAME), None)

    def against_best(self, dataset: str, marking: Marking = "corrected") -> dict[str, Comparison]:
        """Return the t-test of each complete system less the best one; under "holm" with p adjusted in the data set."""
        best = self.best(dataset)
        return {} if best is None else self.against(best, dataset, marking)

    def against(self, one: str, dataset: str, marking: Marking = "corrected") -> dict[str, Comparison]:
        """Return the t-test of each complete system less a given one; none unless that is complete too."""
        if one not in self.complete(dataset):
            return {}
        test = paired_t_test if marking == "plain" else corrected_t_test
        reference = self.cells[one, dataset].scores
        others = [system for system in self.complete(dataset) if system != one]
        tests = {system: test(self.cells[system, dataset].scores, reference) for system in others}
        if marking != "holm":
            return tests
        adjusted = holm([result.p for result in tests.values()])
        return {
            system: Comparison(result.difference, result.t, p, result.low, result.high)
            for (system, result), p in zip(tests.items(), adjusted, strict=True)
        }

    def not_worse(self, dataset: str, marking: Marking = "corrected") -> list[str]:
        """Return the best system and those that the test does not separate from it, in the order of the table."""
        tests = self.against_best(dataset, marking)
        best = self.best(dataset)
        return [
            system
            for system in self.complete(dataset)
            if system == best or tests[system].p >= 1 - LEVEL or tests[system].difference >= -SAME
        ]

    def far_from_paper(self, points: float, sign: int) -> list[tuple[str, str]]:
        """Return the (system, dataset) whose mean is more than ``points`` above (sign 1) or below (-1) the paper's."""
        compared = {key: cell.against_paper for key, cell in self.cells.items()}
        return [key for key, test in compared.items() if test and sign * test.difference > points]

    def ranked(self) -> list[str]:
        """Return the systems that are complete on every data set: only they can be ranked together."""
        return [system for system in self.systems if self.average(system) is not None]


def _cell(rows: list[Fold], paper: float | None, n_folds: int) -> Cell:
    scores = {(row.repeat, row.fold): 100 * row.accuracy for row in rows}
    if len(scores) < n_folds:
        return Cell(len(scores), scores, None, math.nan, paper, None)
    pooled = 100 * sum(row.n_right for row in rows) / sum(row.n_test for row in rows)
    against = None if paper is None else one_sample_interval(scores, paper)
    return Cell(len(scores), scores, summarize(scores), pooled, paper, against)


def _check(rows: list[Fold], repeats: int, folds: int) -> None:
    if repeats < 1 or folds < 2:
        raise ValueError(f"There must be one or more repetitions and two or more folds. Got {repeats} and {folds}.")
    if other := sorted({row.dataset for row in rows} - set(DATASETS)):
        raise ValueError(f"Every row must be of one of the data sets {', '.join(DATASETS)}. Got {', '.join(other)}.")
    if odd := [row for row in rows if not (0 <= row.repeat < repeats and 0 <= row.fold < folds)]:
        raise ValueError(
            f"Every row must be of one of {repeats} repetitions and {folds} folds. Got {len(odd)} others, the first of "
            f"{odd[0].system} on {odd[0].dataset}: repetition {odd[0].repeat}, fold {odd[0].fold}, counted from 0. "
            "Say how many there are."
        )
    _check_once(rows)
    _check_same_folds(rows)


def _check_once(rows: list[Fold]) -> None:
    """Refuse a fold that is there twice, and a cell whose folds were made with different settings."""
    seen: dict[tuple[str, str, int, int], Fold] = {}
    settings: dict[tuple[str, str], str] = {}
    for row in rows:
        if row.key in seen:
            raise ValueError(f"Every fold must be there once. Got {row.key} twice. Drop one of the two.")
        seen[row.key] = row
        if settings.setdefault((row.system, row.dataset), row.settings) != row.settings:
            raise ValueError(
                f"All folds of a system on a data set must have been made with the same settings. Got settings "
                f"{settings[row.system, row.dataset]!r} and {row.settings!r} for {row.system} on {row.dataset}. "
                "Keep the rows of one of them."
            )


def _check_same_folds(rows: list[Fold]) -> None:
    """Refuse systems that were not tested on the same folds: their scores cannot be paired."""
    first: dict[tuple[str, int, int], Fold] = {}
    for row in rows:
        other = first.setdefault((row.dataset, row.repeat, row.fold), row)
        if (other.seed, other.n_test) != (row.seed, row.n_test):
            raise ValueError(
                f"All systems must be tested on the same folds. Got repetition {row.repeat}, fold {row.fold} of "
                f"{row.dataset} with seed {other.seed} and {other.n_test} sets for {other.system}, with seed "
                f"{row.seed} and {row.n_test} sets for {row.system}. Run one of them again."
            )
