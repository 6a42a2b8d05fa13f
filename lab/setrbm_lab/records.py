"""Everything on record in a folder of results: the page of Table 1 is made from this alone."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from setrbm_lab import results, runs
from setrbm_lab.results import Fold

Run = Mapping[str, Any]


@dataclass(frozen=True)
class Records:
    """What a folder of results holds; everything except the rows is optional.

    Attributes
    ----------
    rows : sequence of Fold
        ``table1.csv``.
    runs, effects_runs : sequence of dict
        ``table1-runs.json`` and ``effects-runs.json``: how the rows were made.
    effects : sequence of Fold
        ``effects.csv``: rows of `setrbm_lab.effects`.
    remarks : mapping of (system, dataset) to str
        ``table1-remarks.json``: Markdown about single cells.
    again, again_runs : sequence of Fold, sequence of dict
        ``again/``: some of the rows, made again on another engine; ``again/gpu/``: by a later version.
    first, first_runs : sequence of Fold, sequence of dict
        ``first/``: rows made before the procedure was changed.
    first_settings : mapping of str to dict
        ``first/settings.json``: the estimator of each of these rows and its settings.
    superseded_runs : sequence of dict
        ``superseded-runs.json``: runs whose rows were made again by a later run.
    history : sequence of dict
        ``history.json``: what was run or changed, each with time, commit and event.
    recipes : sequence of dict
        ``recipe.csv``: training procedures compared inside training parts.
    predictions : sequence of dict
        ``calibration.csv``: predicted probabilities of test sets.
    calibrated : sequence of dict
        ``calibrated.csv``: the log loss of our row with and without calibration, fold by fold.
    """

    rows: Sequence[Fold] = ()
    runs: Sequence[Run] = ()
    effects: Sequence[Fold] = ()
    effects_runs: Sequence[Run] = ()
    remarks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    again: Sequence[Fold] = ()
    again_runs: Sequence[Run] = ()
    first: Sequence[Fold] = ()
    first_runs: Sequence[Run] = ()
    first_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    superseded_runs: Sequence[Run] = ()
    history: Sequence[Mapping[str, str]] = ()
    recipes: Sequence[Mapping[str, str]] = ()
    predictions: Sequence[Mapping[str, str]] = ()
    calibrated: Sequence[Mapping[str, str]] = ()

    @classmethod
    def read(cls, folder: Path) -> Records:
        """Read the records of a folder; files that do not exist are empty."""
        return cls(
            rows=results.read(folder / "table1.csv"),
            runs=runs.read(folder / "table1-runs.json"),
            effects=results.read(folder / "effects.csv"),
            effects_runs=runs.read(folder / "effects-runs.json"),
            remarks=_remarks(folder / "table1-remarks.json"),
            again=results.read(folder / "again" / "table1.csv"),
            again_runs=[
                *runs.read(folder / "again" / "table1-runs.json"),
                *runs.read(folder / "again" / "gpu" / "table1-runs.json"),
            ],
            first=results.read(folder / "first" / "table1.csv"),
            first_runs=runs.read(folder / "first" / "table1-runs.json"),
            first_settings=_json(folder / "first" / "settings.json", {}),
            superseded_runs=runs.read(folder / "superseded-runs.json"),
            history=_json(folder / "history.json", []),
            recipes=_csv(folder / "recipe.csv"),
            predictions=_csv(folder / "calibration.csv"),
            calibrated=_csv(folder / "calibrated.csv"),
        )

    @property
    def all_runs(self) -> list[tuple[str, Run]]:
        """Every run with a note about its results."""
        groups = {
            "": self.runs,
            "effects of single settings": self.effects_runs,
            "the same folds run again, `lab/results/again`": self.again_runs,
            "superseded by a later run": self.superseded_runs,
            "splits of seed 0, before the procedure was changed, `lab/results/first`": self.first_runs,
        }
        return [(note, run) for note, group in groups.items() for run in group]


def _json(path: Path, missing: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else missing


def _csv(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _remarks(path: Path) -> dict[tuple[str, str], str]:
    try:
        return {(str(entry["system"]), str(entry["dataset"])): str(entry["remark"]) for entry in _json(path, [])}
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} must be a JSON list of objects with system, dataset and remark. Got something else: {error}."
        ) from None
