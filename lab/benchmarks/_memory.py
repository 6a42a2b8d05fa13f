"""How far resident memory rises while something is done."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path

MEBI = 2.0**20
STATUS, CLEAR_PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def process_peak() -> float:
    """Return the peak of resident memory of this process so far, in MiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEBI


def resident(field: str) -> float:
    """Return VmRSS (now) or VmHWM (peak since it was set back), in MiB."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024 / MEBI


def set_peak_back() -> bool:
    """Let the peak begin anew from what is resident now; return whether the system can."""
    try:
        CLEAR_PEAK.write_text("5")
    except OSError:
        return False
    return STATUS.exists()


def growth_in(job: Callable[[], object]) -> float:
    """Return how far resident memory rises during a job above what it was before, in MiB."""
    exact = set_peak_back()
    before = resident("VmRSS") if exact else process_peak()
    job()
    return (resident("VmHWM") if exact else process_peak()) - before
