"""Pages that were read before, by the content of the file they are in: no page is read twice."""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from setrbm_mail.pages import Page

# How long to wait for another process that writes, in seconds.
PATIENCE = 60.0


class PageCache:
    """A file with pages as they were read; a context manager.

    Every page is stored as soon as it is read, in a transaction of its own, so it is still there after a kill. Several
    processes may use one file.

    Parameters
    ----------
    path : Path or None
        None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._store: sqlite3.Connection | None = None
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # A generator of documents may be continued by another thread.
            self._store = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            _write_ahead(self._store)
            self._store.execute("PRAGMA synchronous = NORMAL")
            self._store.execute("CREATE TABLE IF NOT EXISTS pages (key TEXT PRIMARY KEY, page BLOB NOT NULL)")
        except sqlite3.DatabaseError as error:
            self.__exit__(None, None, None)
            raise self._unusable(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            self._store.close()

    def get(self, key: str) -> Page | None:
        """Return a page; None if it was never read, or the entry is damaged."""
        if self._store is None:
            return None
        try:
            row = self._store.execute("SELECT page FROM pages WHERE key = ?", (key,)).fetchone()
            return None if row is None else Page.from_json(json.loads(zlib.decompress(row[0])))
        except (sqlite3.DatabaseError, zlib.error, ValueError, TypeError):
            return None

    def put(self, key: str, page: dict[str, Any]) -> None:
        """Store a page."""
        if self._store is None:
            return
        packed = zlib.compress(json.dumps(page).encode(), level=1)
        try:
            self._store.execute("INSERT OR REPLACE INTO pages VALUES (?, ?)", (key, packed))
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: sqlite3.DatabaseError) -> Exception:
        """Return the error for a file that is full, locked or in a folder without permissions, or for one damaged."""
        if isinstance(error, sqlite3.OperationalError):
            return OSError(f"The page cache {str(self._path)!r} must be writable. Got: {error}.")
        return ValueError(f"{str(self._path)!r} must be a file of cached pages. {error}. Delete it, or use another.")


def _write_ahead(store: sqlite3.Connection) -> None:
    """Set the journal mode, for which SQLite itself does not wait: another process may be making the same file."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            store.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
        time.sleep(0.02)
