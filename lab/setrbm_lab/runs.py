"""A record of how results were made: one entry per run, updated while it runs."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from setrbm._version import __version__
from setrbm.tools.files import write_atomically
from setrbm_lab.results import Fold

KEYS = ("command", "machine", "versions", "seconds", "started", "systems", "datasets", "engine")
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "triton", "torchmil")
# The record of a run that is killed may be this much out of date.
SECONDS_BETWEEN_WRITES = 10.0


@dataclass(frozen=True)
class RunKind:
    """What all runs with results in the same file have in common.

    Attributes
    ----------
    quick : bool
        Whether systems used few candidates and short training.
    repeats, folds : int
        Of the cross-validation.
    """

    quick: bool = False
    repeats: int = 5
    folds: int = 10


class Record:
    """The entry of one run; nothing is written before the first fold is finished.

    Parameters
    ----------
    path : Path
        The JSON file with the entries of all runs.
    command : str
        The command that was run.
    kind : RunKind, optional
    """

    def __init__(self, path: Path, command: str, kind: RunKind | None = None) -> None:
        self.path, self.command, self.kind = path, command, kind or RunKind()
        self._before = read(path)
        _check_version(self._before, path)
        self._begin, self._last_write = time.perf_counter(), -SECONDS_BETWEEN_WRITES
        self._started = datetime.now(UTC).strftime("%Y-%m-%d")
        self._rows: list[Fold] = []

    def add(self, rows: Sequence[Fold]) -> None:
        """Add finished folds; they are written at the latest after ``SECONDS_BETWEEN_WRITES``."""
        self._rows += rows
        if self._rows and time.perf_counter() - self._last_write >= SECONDS_BETWEEN_WRITES:
            self._write(finished=False)

    def close(self, finished: bool) -> None:
        """Write the entry, and whether the run came to its end."""
        if self._rows:
            self._write(finished)

    def _write(self, finished: bool) -> None:
        engines = list(dict.fromkeys(row.engine for row in self._rows))
        entry = {
            "command": self.command,
            "machine": machine("gpu" in engines),
            "versions": {"setrbm": __version__, "python": platform.python_version()} | _versions(),
            "seconds": round(time.perf_counter() - self._begin, 1),
            "started": self._started,
            "systems": list(dict.fromkeys(row.system for row in self._rows)),
            "datasets": list(dict.fromkeys(row.dataset for row in self._rows)),
            "engine": ", ".join(engines),
            "folds": len(self._rows),
            "finished": finished,
            "kind": asdict(self.kind),
        }
        write_atomically(self.path, (json.dumps([*self._before, entry], indent=1) + "\n").encode())
        self._last_write = time.perf_counter()


def read(path: Path) -> list[Mapping[str, Any]]:
    """Return the entries of a file of runs; an empty list if there is no file."""
    if not path.exists():
        return []
    try:
        entries = list(json.loads(path.read_text(encoding="utf-8")))
        missing = [key for entry in entries for key in KEYS if key not in entry]
        for entry in entries if not missing else []:
            float(entry["seconds"])
            str(entry["versions"]["setrbm"])
            RunKind(**entry.get("kind", {}))
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} must be a JSON list of runs. Got something else: {error}.") from None
    if missing:
        raise ValueError(f"Every run in {path} must have {', '.join(KEYS)}. Got one without {missing[0]}.")
    return entries


def kind_of(entries: Sequence[Mapping[str, Any]]) -> RunKind | None:
    """Return the kind of the recorded runs; None if it was not recorded."""
    return next((RunKind(**entry["kind"]) for entry in entries if "kind" in entry), None)


def _check_version(entries: list[Mapping[str, Any]], path: Path) -> None:
    if others := sorted({entry["versions"]["setrbm"] for entry in entries} - {__version__}):
        raise ValueError(
            f"All results in a folder must come from one version of setrbm. Got {others[0]} in {path}; this is "
            f"{__version__}. Write to another folder."
        )


def machine(has_gpu: bool) -> str:
    """Describe this machine."""
    words = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    if not has_gpu:
        return words
    from setrbm.engines.gpu.device import device_name

    return f"{device_name()}, {words}"


def _versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
