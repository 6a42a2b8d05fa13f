"""The files that commands write: never half, never over what is precious."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import QUICK, run
from setrbm import ClassSetRBMCV, load


def test_a_model_file_is_overwritten_only_by_force(work, tmp_path):
    model = tmp_path / "m.safetensors"
    model.write_text("precious")
    refused = run("fit", work / "data.csv", model, *QUICK)
    assert refused.exit_code == 2
    assert "exists already. Use --force" in refused.stderr
    assert model.read_text() == "precious"
    assert run("fit", work / "data.csv", model, *QUICK, "--force").exit_code == 0
    assert load(model).classes_.tolist() == ["no", "yes"]


def unwritable(folder):
    """Yield outputs that cannot be written, with what is said about them."""
    os.mkfifo(folder / "pipe")
    (folder / "file").touch()
    yield folder / "no" / "m", "must be in a folder that exists. There is no folder"
    yield folder / "file" / "m", "must be in a folder."
    yield folder, "must be a regular file, or the name of a new one. It is a folder."
    yield folder / "pipe", "It is a named pipe."
    yield "/dev/null", "It is a device."
    yield "/proc/m", "Cannot write the file ("


def test_an_output_that_cannot_be_written_is_refused_before_any_work(work, tmp_path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("a model was trained or loaded")

    monkeypatch.setattr(ClassSetRBMCV, "fit", never)
    monkeypatch.setattr("setrbm.load", never)
    for path, message in unwritable(tmp_path):
        commands = (("fit", work / "data.csv", path), ("predict", "model", work / "data.csv", "-o", path))
        for command in commands:
            result = run(*command, "--force")
            assert result.exit_code == 2, result.stderr
            assert message in result.stderr
            assert f"{str(path)!r}" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe"]


def test_a_link_given_as_output_stays_a_link(work, tmp_path):
    (tmp_path / "real").mkdir()
    for name, command in (
        ("m", ("fit", work / "data.csv", tmp_path / "m", *QUICK)),
        ("a.csv", ("predict", work / "model.safetensors", work / "data.csv", "-o", tmp_path / "a.csv")),
    ):
        (tmp_path / name).symlink_to(Path("real") / name)
        assert run(*command).exit_code == 0
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "real" / name).stat().st_size > 0
        # What the link leads to exists now.
        assert run(*command).exit_code == 2


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_full_disk_is_reported_with_the_users_file_and_the_old_one_is_kept(work, tmp_path, monkeypatch, command):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "out"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    files = (work / "data.csv", path) if command == "fit" else (work / "model.safetensors", work / "data.csv")
    result = run(command, *files, *(QUICK if command == "fit" else ("-o", path)), "--force")
    assert result.exit_code == 1
    assert result.stderr == f"Error: Cannot write the file (No space left on device): {str(path)!r}.\n"
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_file_that_appears_during_the_work_is_kept(work, tmp_path, monkeypatch, command):
    path = tmp_path / "out"
    link = os.link

    def late(*arguments):
        path.write_text("of another run")
        return link(*arguments)

    monkeypatch.setattr(os, "link", late)
    files = (work / "data.csv", path) if command == "fit" else (work / "model.safetensors", work / "data.csv")
    result = run(command, *files, *(QUICK if command == "fit" else ("-o", path)))
    assert result.exit_code == 1
    assert f"{str(path)!r} must be a new file. Another program has created it in the meantime" in result.stderr
    assert path.read_text() == "of another run"
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_of_two_runs_with_the_same_new_output_exactly_one_succeeds(work, tmp_path):
    path = tmp_path / "answers.csv"
    command = [sys.executable, "-m", "setrbm", "predict", "model.safetensors", "data.csv", "-o", path]
    runs = [subprocess.Popen(command, cwd=work, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    messages = [process.communicate(timeout=120)[1] for process in runs]
    assert sorted(process.returncode for process in runs) in ([0, 1], [0, 2]), messages
    refused = next(words for words, process in zip(messages, runs, strict=True) if process.returncode)
    assert "exists already" in refused or "Another program has created it" in refused
    assert path.read_text().startswith("bag,label,probability\n")
    assert [file.name for file in tmp_path.iterdir()] == ["answers.csv"]


def test_what_is_read_is_never_overwritten(work):
    model, data = work / "model.safetensors", work / "data.csv"
    for arguments in (("fit", data, data), ("predict", model, data, "-o", data), ("predict", model, data, "-o", model)):
        result = run(*arguments, "--force")
        assert result.exit_code == 2
        assert "must not be one that is read" in result.stderr
