"""The record beside the results of how they were made: one entry a run, kept up to date while it goes on."""

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

from setrbm._files import write_atomically
from setrbm._version import __version__
from setrbm.evaluation.results import Fold

KEYS = ("command", "machine", "versions", "seconds", "started", "systems", "datasets", "engine")
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "triton", "torchmil")
# A run that is killed is on record up to so long before.
SECONDS_BETWEEN_WRITES = 10.0


@dataclass(frozen=True)
class Kind:
    """What all runs that keep their results in one file have in common.

    Attributes
    ----------
    quick : bool
        Whether systems chose from little and were trained shortly.
    repeats, folds : int
        Of the cross-validation.
    """

    quick: bool = False
    repeats: int = 5
    folds: int = 10


class Record:
    """The entry of one run; nothing is written before its first fold is finished.

    Parameters
    ----------
    path : Path
        The file of all runs; one that is no such file is refused.
    command : str
        What was asked for.
    kind : Kind, optional
    """

    def __init__(self, path: Path, command: str, kind: Kind | None = None) -> None:
        self.path, self.command, self.kind = path, command, kind or Kind()
        self._before = read(path)
        _check_version(self._before, path)
        self._begin, self._last_write = time.perf_counter(), -SECONDS_BETWEEN_WRITES
        self._started = datetime.now(UTC).strftime("%Y-%m-%d")
        self._rows: list[Fold] = []

    def note(self, row: Fold) -> None:
        """Write down a finished fold, now or soon."""
        self._rows.append(row)
        if time.perf_counter() - self._last_write >= SECONDS_BETWEEN_WRITES:
            self._write(finished=False)

    def close(self, finished: bool) -> None:
        """Write down how the run ended."""
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
    """Return the entries of a file of runs; none where there is no file."""
    if not path.exists():
        return []
    try:
        entries = list(json.loads(path.read_text(encoding="utf-8")))
        missing = [key for entry in entries for key in KEYS if key not in entry]
        for entry in entries if not missing else []:
            float(entry["seconds"])
            str(entry["versions"]["setrbm"])
            Kind(**entry.get("kind", {}))
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} must hold a list of runs in JSON. Got something else: {error}.") from None
    if missing:
        raise ValueError(f"Every run in {path} must have {', '.join(KEYS)}. Got one without {missing[0]}.")
    return entries


def kind_of(entries: Sequence[Mapping[str, Any]]) -> Kind | None:
    """Return the kind of the runs on record; nothing where it is not on record."""
    return next((Kind(**entry["kind"]) for entry in entries if "kind" in entry), None)


def _check_version(entries: list[Mapping[str, Any]], path: Path) -> None:
    if others := sorted({entry["versions"]["setrbm"] for entry in entries} - {__version__}):
        raise ValueError(
            f"All results of a folder must be made by one version of setrbm. Got {others[0]} in {path}, and this is "
            f"{__version__}. Write to another folder."
        )


def machine(has_gpu: bool) -> str:
    """Say what the work is done on."""
    words = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    if not has_gpu:
        return words
    from setrbm.engines.gpu.device import device_name

    return f"{device_name()}, {words}"


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
