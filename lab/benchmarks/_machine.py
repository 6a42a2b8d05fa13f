"""The machine a benchmark runs on: what it is, what is installed, and what else it does meanwhile."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "torch", "triton", "torchmil", "learnergy")


def machine() -> str:
    """Return the processor and the number of cores this process may use."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{model}, {cores()} cores, {platform.system()}"


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> str:
    """Return the versions of Python and of all packages that play a part."""
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found)


def commit() -> str:
    """Return the commit that is checked out, with a + if files were changed since; "unknown" outside a clone."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True)
        status = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + "+" * bool(status.stdout.strip())


class Watch:
    """What the machine does besides us, from now on."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.busy, self.own = self._busy(), self._own()

    @staticmethod
    def _busy() -> float:
        """Return the seconds all cores have been busy, those lost to other guests of the same hardware included."""
        stat = Path("/proc/stat")
        if not stat.exists():
            return float("nan")
        user, nice, system, _idle, _waiting, irq, softirq, steal = stat.read_text().split()[1:9]
        return sum(map(int, (user, nice, system, irq, softirq, steal))) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _own() -> float:
        """Return the seconds this process and the ones it waited for have used."""
        return sum(os.times()[:4])

    def wall(self) -> float:
        """Return the seconds since the watch began."""
        return time.perf_counter() - self.begin

    def others(self) -> float:
        """Return how many cores others kept busy, on average since the watch began."""
        spent = (self._busy() - self.busy) - (self._own() - self.own)
        return spent if np.isnan(spent) else max(0.0, spent / max(self.wall(), 1e-9))
