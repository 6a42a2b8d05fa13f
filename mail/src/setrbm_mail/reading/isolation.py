"""What a child process is kept from: secrets of its parent, the network, too much memory, outliving its parent.

This is no sandbox: a process taken over by a file could still make empty files, delete files or read others.
"""

from __future__ import annotations

import ctypes
import os
import select
import site
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

# The exit status of a child that ran out of memory.
NO_MEMORY = 86
# Where Python, its libraries and the data of Tesseract are found, the language of messages, and where temporary files
# go. Nothing else of the parent's environment reaches a child.
ALLOWED = (
    "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "SYSTEMROOT", "PYTHONPATH",
    "PYTHONHOME", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE", "TESSDATA_PREFIX", "LANG", "LANGUAGE", "TMPDIR",
    "TEMP", "TMP",
)  # fmt: skip
# Every core has a child of its own.
ONE_THREAD = {"OMP_THREAD_LIMIT": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# Linux's flags for a network of its own, and for the right to ask for one without being root.
NEW_NETWORK, NEW_USER = 0x40000000, 0x10000000


def environment(parent: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a child."""
    allowed = {name: parent[name] for name in parent if name in ALLOWED or name.startswith("LC_")}
    # Packages installed for the user only are found without the user's HOME.
    return allowed | ONE_THREAD | {"PYTHONUSERBASE": site.getuserbase()}


def leave_network() -> bool:
    """Give this process an empty network of its own, where the system allows it; return whether it did.

    It must not have started threads yet.
    """
    if not sys.platform.startswith("linux"):
        return False
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare is None:
        return False
    # Root would lose its right to read files of others with a user namespace, and can do without.
    return unshare(NEW_NETWORK) == 0 or (os.geteuid() != 0 and unshare(NEW_NETWORK | NEW_USER) == 0)


def limit_memory(memory: int) -> None:
    """Limit the memory of this process, and keep it from writing into files, where the system can."""
    with suppress(ImportError):
        import resource

        sizes = ((resource.RLIMIT_AS, _size() + memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0))
        for kind, size in sizes:
            with suppress(ValueError, OSError, OverflowError):
                # Hard ones too: without root, code that takes the process over cannot lift them.
                resource.setrlimit(kind, (size, size))


def _size() -> int:
    """Return the address space that this process has now."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def end_with_parent() -> None:
    """End this process when its parent has ended, even in the middle of a page that never ends; run in a thread."""
    watch = select.poll()
    # No event is asked for: only the end of the other side is still reported.
    watch.register(sys.stdin.fileno(), 0)
    watch.poll()
    os._exit(1)
