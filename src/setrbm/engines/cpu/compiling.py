"""Compile kernels, and cache them on disk as long as no compiled file changes."""

from __future__ import annotations

import hashlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

from setrbm import draws

# Not blanket fastmath: its no-NaN and no-infinity flags turn log-sum-exp of -inf into NaN. Not reassoc either: whether
# a sum is then taken in lanes or one by one depends on where the arrays happen to lie, and so would its last bits.
FASTMATH = {"contract", "arcp", "nsz"}

OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH}


def source_stamp() -> bytes:
    """Return a digest of the files that are compiled or that kernels take constants from."""
    package = Path(draws.__file__).parent
    # A frozen application has no such files; Numba then takes the digest of the whole executable.
    files = [*package.glob("draws.py"), *package.glob("engines/cpu/*.py")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).digest()


STAMP = source_stamp()


class KernelCache(FunctionCache):
    """Numba's cache on disk, which goes stale as soon as any compiled file changes.

    Numba itself checks only the file of the cached function, but the code of a kernel also depends on the constants and
    functions it takes from elsewhere. File names have no line numbers, unlike Numba's own: new code replaces the old.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
        name = f"{function.__module__}.{function.__qualname__}.{python}"
        self._cache_file = IndexDataCacheFile(self.cache_path, name, (self._impl.locator.get_source_stamp(), STAMP))


def kernel(function: Any) -> Any:
    """Compile a function when it is first called, and cache the result on disk if a folder is writable."""
    compiled = numba.njit(**OPTIONS)(function)
    # Numba raises RuntimeError if it finds no writable folder.
    with suppress(RuntimeError):
        compiled._cache = KernelCache(function)
    return compiled
