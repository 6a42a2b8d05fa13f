"""Atomic file writes: links are followed, only regular files are replaced, and errors name the user's file."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)
FAILED = "Cannot write the file"
# What os.link raises on file systems that have no hard links.
NO_LINKS = {errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


def target_of(path: Path) -> Path:
    """Return the file, existing or not, that a path leads to through symbolic links; refuse what is not a file."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(f"{str(path)!r} must lead to a file. Got symbolic links that form a loop.")
    if (kind := _kind(path)) is not None:
        error = IsADirectoryError if kind == "a folder" else OSError
        raise error(f"{str(path)!r} must be a regular file, or the name of a new one. It is {kind}.")
    if not target.parent.is_dir():
        raise _no_folder(path, target)
    return target


def _kind(path: Path) -> str | None:
    """Return what stands under a name; None if it is a regular file or nothing."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    return next((name for is_kind, name in KINDS if is_kind(mode)), None)


def _no_folder(path: Path, target: Path) -> OSError:
    folder, linked = (target.parent, ", where a symbolic link leads") if path.is_symlink() else (path.parent, "")
    if folder.exists():
        return NotADirectoryError(f"{str(path)!r} must be in a folder. {str(folder)!r} is not a folder{linked}.")
    return FileNotFoundError(
        f"{str(path)!r} must be in a folder that exists. There is no folder {str(folder)!r}{linked}."
    )


def check_writable(path: Path) -> None:
    """Raise OSError unless a file can be written there; it is tried, since permissions do not tell everything."""
    _try_to_create_in(target_of(path).parent, path)


def check_folder(folder: Path) -> None:
    """Raise OSError unless files can be written to a folder that may have to be created, with its parents."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        raise NotADirectoryError(f"{str(folder)!r} must be a folder, or the name of a new one. {str(there)!r} is none.")
    _try_to_create_in(there, folder, "Cannot write to the folder")


def _try_to_create_in(folder: Path, asked: Path, failed: str = FAILED) -> None:
    temporary = folder / _temporary_name()
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except OSError as error:
        raise _named(error, asked, failed) from None
    finally:
        _delete(temporary)


@contextmanager
def completing(path: Path, overwrite: bool = True) -> Iterator[Path]:
    """Provide the name of a temporary file that gets the name ``path`` once the block has ended.

    Each writer has its own temporary name, in the same folder. On failure the old file is kept and the temporary one
    deleted. Without ``overwrite``, a file that another program has created in the meantime is kept, too.
    """
    target = target_of(path)
    temporary = target.with_name(_temporary_name())
    try:
        yield temporary
        if overwrite:
            os.replace(temporary, target)
        else:
            _give_new_name(temporary, target, path)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary), temporary):
            raise
        raise _named(error, path) from None
    finally:
        _delete(temporary)


def _give_new_name(temporary: Path, target: Path, asked: Path) -> None:
    """Give a finished file its name, which no other file may have: checked and done in one step."""
    try:
        try:
            os.link(temporary, target)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            _take_name_and_replace(temporary, target)
    except FileExistsError:
        raise FileExistsError(
            f"{str(asked)!r} must be a new file. Another program has created it in the meantime; that file was kept."
        ) from None


def _take_name_and_replace(temporary: Path, target: Path) -> None:
    """Create an empty file, which fails if the name is taken, and replace it."""
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    try:
        os.replace(temporary, target)
    except BaseException:
        _delete(target)
        raise


@contextmanager
def replacing(path: Path, overwrite: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces ``path`` once it is complete and on disk.

    On failure the old file is kept and the temporary one deleted. Without ``overwrite``, FileExistsError is raised if
    another program has created the file in the meantime.
    """
    # open applies the umask to the permissions, and "x" never opens an existing file.
    with completing(path, overwrite) as temporary, open(temporary, "xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, payload: bytes, overwrite: bool = True) -> None:
    """Write a file that appears under its name only when it is complete."""
    with replacing(path, overwrite) as file:
        file.write(payload)


def _temporary_name() -> str:
    """Return a name no other writer has; not made from the user's, which may already be as long as names can be."""
    return f".setrbm-{secrets.token_hex(8)}.tmp"


def delete_abandoned(folder: Path, seconds: float = 86_400.0) -> None:
    """Delete temporary files of writers that were killed: those that have not changed for a day."""
    for path in folder.glob(".setrbm-*.tmp"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > seconds:
                path.unlink()


def _delete(temporary: Path) -> None:
    # On a read-only file system this fails for any name, and the first error says more.
    with suppress(OSError):
        temporary.unlink()


def _named(error: OSError, path: Path, failed: str = FAILED) -> OSError:
    """Return an error of the operating system with the user's file instead of a temporary one."""
    reason = str(error.strerror)
    # A writer may have written to the temporary file by way of one of its own.
    reason = reason if reason.startswith(failed) else f"{failed} ({reason})"
    return OSError(error.errno, reason, str(path))
