"""The collection of eleven data sets that our defaults were chosen on: its table and everything on record about it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from setrbm.datasets.benchmarks import BENCHMARKS
from setrbm.evaluation.statistics import LEVEL, Comparison, paired_t_test
from setrbm_lab import results, runs
from setrbm_lab.paper import FOLDS, REPEATS
from setrbm_lab.records import Run
from setrbm_lab.results import Fold
from setrbm_lab.statistics import holm
from setrbm_lab.systems import COMPARED, OURS
from setrbm_lab.tables import Layout, Table

# Recipes that were run on other splits before today's: the folder of each, and what it was.
TRIES = {
    "mixed-2-to-1": "a third of the fits with mean pooling, two initial scales",
    "mixed-one-start": "a fifth with mean pooling, one initial scale",
}


@dataclass(frozen=True)
class CollectionRecords:
    """Everything on record about the collection in a folder of results.

    Attributes
    ----------
    rows : list of Fold
        ``collection.csv``.
    tries : dict of lists of Fold
        ``<folder>/collection.csv`` for every folder of ``TRIES``: recipes tried before, and the other rows, on other
        splits.
    runs : list of dict
        ``collection-runs.json``: how the rows were made.
    properties, rare_words : list of dict
        ``properties.csv`` and ``rare_words.csv``, made by the experiments of these names.
    """

    rows: list[Fold]
    tries: dict[str, list[Fold]]
    runs: list[Run]
    properties: list[dict[str, str]]
    rare_words: list[dict[str, str]]

    @classmethod
    def read(cls, folder: Path) -> CollectionRecords:
        """Read the records of a folder; files that do not exist are empty."""
        rows, *others = (_folds(folder / name / "collection.csv") for name in ("", *TRIES))
        tries = {name: folds for name, folds in zip(TRIES, others, strict=True) if folds}
        return cls(
            rows, tries, runs.read(folder / "collection-runs.json"), _lines(folder / "properties.csv"),
            _lines(folder / "rare_words.csv"),
        )  # fmt: skip


def _folds(path: Path) -> list[Fold]:
    return results.read(path) if path.exists() else []


def _lines(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class CollectionTable(Table):
    """Our defaults and others on eleven data sets."""

    layout = Layout(tuple(BENCHMARKS), COMPARED, {}, REPEATS, FOLDS)

    def over_data_sets(self, system: str, datasets: tuple[str, ...] | None = None) -> Comparison | None:
        """Compare our defaults with a system, paired by data set; None unless both have all of them."""
        datasets = self.datasets if datasets is None else datasets
        ours, theirs = (
            {(i, 0): mean for i, dataset in enumerate(datasets) if (mean := self.mean(name, dataset)) is not None}
            for name in (OURS, system)
        )
        return paired_t_test(ours, theirs) if len(ours) == len(theirs) == len(datasets) else None

    def over_all(self) -> dict[str, tuple[Comparison, float]]:
        """Compare our defaults with every other system over all data sets, with p-values adjusted by Holm's method."""
        others = [system for system in self.ranked() if system != OURS]
        tests = {system: test for system in others if (test := self.over_data_sets(system)) is not None}
        adjusted = holm([test.p for test in tests.values()])
        return {system: (test, p) for (system, test), p in zip(tests.items(), adjusted, strict=True)}

    def clearly_different(self) -> list[str]:
        """Return the systems that our defaults differ significantly from over all data sets, after the adjustment."""
        return [system for system, (_, p) in self.over_all().items() if p < 1 - LEVEL]

    def significant(self, system: str, sign: int) -> list[str]:
        """Return the data sets on which a system is significantly better (1) or worse (-1) than our defaults."""
        tests = {dataset: self.against(OURS, dataset, "holm").get(system) for dataset in self.datasets}
        return [name for name, test in tests.items() if test and test.p < 1 - LEVEL and sign * test.difference > 0]
