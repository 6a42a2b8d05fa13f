"""The decorator for kernels, and their cache on disk."""

from __future__ import annotations

import hashlib
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

from setrbm import draws

# Not fastmath=True: its no-NaN and no-infinity flags turn the log-sum-exp of -inf into NaN. Not reassoc either: whether
# a sum is then vectorized depends on the alignment of the arrays, and so would its last bits.
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "arcp", "nsz"}}


def source_stamp() -> str:
    """Return a digest of all files that are compiled or that kernels take constants from."""
    package = Path(draws.__file__).parent
    # A frozen application has no source files; Numba's own stamp is then a digest of the executable.
    files = [*package.glob("draws.py"), *package.glob("engines/cpu/*.py")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


STAMP = source_stamp()


ONCE = "setrbm: compiling the CPU kernels once, which takes 10 to 20 seconds ..."
EVERY_TIME = (
    "setrbm: compiling the CPU kernels, which takes 10 to 20 seconds in every process: there is no writable folder to "
    "keep them in. Set NUMBA_CACHE_DIR to one."
)


@cache
def say(message: str) -> None:
    """Print a message to stderr, once per process: the first fit would otherwise be silent for seconds."""
    print(message, file=sys.stderr, flush=True)


class KernelCache(FunctionCache):
    """Numba's cache on disk, invalidated by a change in any compiled file.

    Numba itself checks only the file of the cached function. But the machine code of a kernel also depends on constants
    and functions from other files. Unlike Numba's, the names of cached files contain no line numbers, so that new code
    replaces old code.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
        name = f"{function.__module__}.{function.__qualname__}.{python}"
        self._cache_file = IndexDataCacheFile(self.cache_path, name, self._impl.locator.get_source_stamp())
        # Compared before anything else is unpickled, which would fail after a record was renamed.
        self._cache_file._version += f" {STAMP}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel from the cache; None, with a notice, if it is not there."""
        compiled = super().load_overload(sig, target_context)
        if compiled is None:
            say(ONCE)
        return compiled


def kernel(function: Any, **options: Any) -> Any:
    """Compile a function when it is first called, and cache the result on disk if a folder is writable."""
    compiled = numba.njit(**OPTIONS, **options)(function)
    try:
        compiled._cache = KernelCache(function)
    except RuntimeError:  # Numba found no writable folder.
        say(EVERY_TIME)
    return compiled


# For functions called once per set, where copying the records takes a measurable time.
inlined_kernel = partial(kernel, forceinline=True)
