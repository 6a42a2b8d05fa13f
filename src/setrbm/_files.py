"""Atomic file writes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces ``path`` once it is complete and on disk.

    Each writer uses its own temporary name. On failure, the old file is kept and the temporary file deleted.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} to write {path.name!r} to.")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        # open applies the umask to the permissions, and "x" never opens an existing file.
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, payload: bytes) -> None:
    """Write a file that appears under its name only when it is complete."""
    with replacing(path) as file:
        file.write(payload)
