"""Files that are written: complete or not at all, where links lead, and never over what must be kept."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from setrbm.tools.files import _temporary_name, check_folder, check_writable, completing, replacing, write_atomically


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# --- links ---


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real.csv").write_text("old")
    (tmp_path / "second").symlink_to(Path("there") / "real.csv")
    (tmp_path / "first").symlink_to("second")
    write_atomically(tmp_path / "first", b"new")
    assert (tmp_path / "there" / "real.csv").read_text() == "new"
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert names_in(tmp_path / "there") == ["real.csv"]


def test_a_dangling_link_creates_its_target(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "new.csv")
    write_atomically(tmp_path / "link", b"new", overwrite=False)
    assert (tmp_path / "there" / "new.csv").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_a_folder_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    write_atomically(tmp_path / "folder" / "a.csv", b"new")
    assert (tmp_path / "real" / "a.csv").read_text() == "new"
    assert names_in(tmp_path / "real") == ["a.csv"]


def test_links_that_lead_nowhere_are_refused_by_the_name_the_user_gave(tmp_path):
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(OSError, match=r"one' must lead to a file\. Got symbolic links that form a loop"):
        check_writable(tmp_path / "one")
    (tmp_path / "link").symlink_to(tmp_path / "gone" / "a.csv")
    with pytest.raises(FileNotFoundError, match=r"link' must be .* no folder '.*gone', where a symbolic link leads"):
        check_writable(tmp_path / "link")


# --- what is not a regular file ---


def special_files(folder):
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        before = Path.cwd()
        # The path of a socket is limited to about 100 characters.
        os.chdir(folder)
        listening.bind("socket")
        os.chdir(before)
    (folder / "link").symlink_to("pipe")
    yield from ((folder / "pipe", "a named pipe"), (folder / "folder", "a folder"), (folder / "socket", "a socket"))
    yield from ((folder / "link", "a named pipe"), (Path("/dev/null"), "a device"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a POSIX system")
def test_what_is_not_a_regular_file_is_refused_and_left_alone(tmp_path):
    for path, kind in special_files(tmp_path):
        for act in (check_writable, lambda path: write_atomically(path, b"new")):
            with pytest.raises(OSError, match=rf"{path.name}' must be a regular file, .*It is {kind}\."):
                act(path)
    assert (tmp_path / "pipe").is_fifo()
    assert names_in(tmp_path) == ["folder", "link", "pipe", "socket"]


# --- places that cannot be written to ---


def test_a_missing_folder_and_a_path_below_a_file_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a\.csv' must be in a folder that exists\. There is no folder '.*no'"):
        check_writable(tmp_path / "no" / "a.csv")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"a\.csv' must be in a folder\. '.*file' is not a folder"):
        check_writable(tmp_path / "file" / "a.csv")
    with pytest.raises(NotADirectoryError, match=r"deep' must be a folder, .*file' is none"):
        check_folder(tmp_path / "file" / "deep")


def test_a_place_is_tried_rather_than_believed(tmp_path, monkeypatch):
    def read_only(path, *_):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr(Path, "unlink", read_only)
    for act, path in ((check_writable, tmp_path / "a.csv"), (check_folder, tmp_path / "new" / "deep")):
        with pytest.raises(OSError, match=r"Cannot write (the file|to the folder) \(Read-only file syst") as caught:
            act(path)
        assert caught.value.filename == str(path)
        assert caught.value.errno == errno.EROFS


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_folder_in_which_nobody_may_create_files_is_found_out():
    with pytest.raises(OSError, match="Cannot write the file"):
        check_writable(Path("/proc/a.csv"))
    with pytest.raises(OSError, match="Cannot write to the folder"):
        check_folder(Path("/proc/folder"))


def test_checking_leaves_nothing_behind(tmp_path):
    check_writable(tmp_path / "a.csv")
    check_folder(tmp_path / "new" / "deep")
    assert names_in(tmp_path) == []


def test_the_longest_name_can_be_written(tmp_path):
    write_atomically(tmp_path / ("x" * 255), b"new")
    assert names_in(tmp_path) == ["x" * 255]


# --- failures ---


class Full:
    """A file on a full disk."""

    def __init__(self, file):
        self.file = file

    def write(self, _):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_keeps_the_old_file_and_names_the_one_the_user_gave(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(OSError, match="No space left on device") as caught, replacing(path) as file:
        Full(file).write(b"new")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.csv"]


def test_one_write_inside_another_names_the_users_file_once(tmp_path):
    with (
        pytest.raises(OSError, match="No space left") as caught,
        completing(tmp_path / "a.csv") as unfinished,
        replacing(unfinished) as file,
    ):
        Full(file).write(b"new")
    assert str(caught.value).endswith(f"Cannot write the file (No space left on device): {str(tmp_path / 'a.csv')!r}")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("stage", ["write", "rename"])
@pytest.mark.parametrize("overwrite", [True, False])
def test_ctrl_c_leaves_the_old_file_and_no_temporary_one(tmp_path, monkeypatch, stage, overwrite):
    def interrupted(*_):
        raise KeyboardInterrupt

    path = tmp_path / "a.csv"
    if overwrite:
        path.write_text("old")
    monkeypatch.setattr(os, "fsync" if stage == "write" else "replace" if overwrite else "link", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new", overwrite)
    assert names_in(tmp_path) == (["a.csv"] if overwrite else [])
    assert not overwrite or path.read_text() == "old"


def test_an_error_about_another_file_is_passed_on(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "a.csv"):
        (tmp_path / "other").read_text()
    assert caught.value.filename == str(tmp_path / "other")


# --- two writers ---


def without_links(*_):
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_a_file_that_appears_in_the_meantime_is_kept(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", without_links)
    path = tmp_path / "a.csv"
    message = r"a\.csv' must be a new file\. Another program has created it"
    with pytest.raises(FileExistsError, match=message), replacing(path, overwrite=False):
        path.write_text("first")
    assert path.read_text() == "first"
    assert names_in(tmp_path) == ["a.csv"]
    write_atomically(tmp_path / "b.csv", b"new", overwrite=False)
    assert (tmp_path / "b.csv").read_text() == "new"
    assert names_in(tmp_path) == ["a.csv", "b.csv"]


def test_without_hard_links_a_failed_rename_leaves_no_empty_file(tmp_path, monkeypatch):
    def failing(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "link", without_links)
    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="Input/output error"):
        write_atomically(tmp_path / "a.csv", b"new", overwrite=False)
    assert names_in(tmp_path) == []


RACE = """
import errno, os, sys, time
from pathlib import Path
from setrbm.tools.files import write_atomically

folder, me, other, links = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "True"
if not links:
    def refuse(*_):
        raise OSError(errno.EPERM, "no links")
    os.link = refuse
won = []
for i in range(200):
    (folder / f"{i}-{me}.ready").touch()
    while not (folder / f"{i}-{other}.ready").exists():
        pass
    try:
        write_atomically(folder / f"{i}.csv", me.encode() * 1000, overwrite=False)
        won.append(i)
    except FileExistsError:
        pass
print(*won)
"""


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_of_two_processes_that_write_the_same_new_file_exactly_one_succeeds(tmp_path, links):
    pairs = (("a", "b"), ("b", "a"))
    runs = [
        subprocess.Popen([sys.executable, "-c", RACE, tmp_path, *pair, str(links)], stdout=subprocess.PIPE, text=True)
        for pair in pairs
    ]
    said = [run.communicate(timeout=60)[0] for run in runs]
    won = {me: {int(word) for word in words.split()} for (me, _), words in zip(pairs, said, strict=True)}
    assert not won["a"] & won["b"]
    assert won["a"] | won["b"] == set(range(200))
    for me, names in won.items():
        assert all((tmp_path / f"{i}.csv").read_text() == me * 1000 for i in names)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_temporary_names_do_not_repeat():
    assert len({_temporary_name() for _ in range(1000)}) == 1000
