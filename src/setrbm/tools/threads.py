"""How many threads to use."""

from __future__ import annotations

import os
from functools import lru_cache
from numbers import Integral


def n_cores() -> int:
    """Return how many cores this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return _n_cores(allowed, os.environ.get("LOKY_MAX_CPU_COUNT"))


@lru_cache(maxsize=4)
def _n_cores(*what_it_depends_on: object) -> int:
    # Asking for the limits of containers takes as long as a small prediction.
    from joblib import cpu_count

    return int(cpu_count())


def as_threads(n_jobs: int | None) -> int:
    """Return how many threads to use: None means all cores, but one inside a parallel worker."""
    if n_jobs is None:
        from joblib.parallel import get_active_backend

        backend, _ = get_active_backend()
        return 1 if backend.nesting_level else n_cores()
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a positive number of threads, -1 for all cores, or None. Got {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, n_cores() + 1 + int(n_jobs))
