"""The command line as a whole: help, exit codes, and how it says no."""

from __future__ import annotations

import ast
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import setrbm.cli
import setrbm.tools
from command_line import run
from setrbm import __version__


def test_version_and_help_are_shown():
    assert run("--version").stdout == f"setrbm {__version__}\n"
    shown = run("--help").stdout
    for command in ("demo", "fit", "predict", "evaluate", "explain", "datasets"):
        assert command in shown
        assert "Example" in run(command, "--help").stdout


def test_the_entry_point_runs_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom setrbm.cli import main\nsys.argv = ['setrbm', '--version']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('numba', 'torch', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"setrbm {__version__}\n[]\n"


LIGHT = ("typer", "setrbm.cli", "setrbm.tools", "setrbm.pooling", "setrbm.dask.options")


def test_commands_import_only_what_is_light_at_the_top():
    for path in [*Path(setrbm.cli.__file__).parent.glob("*.py"), *Path(setrbm.tools.__file__).parent.glob("*.py")]:
        for node in ast.parse(path.read_text()).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                light = name.split(".")[0] in sys.stdlib_module_names or name.startswith(LIGHT)
                assert light, f"{path.name} imports {name} at its top"


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "data.csv"),
        ("fit", "data.csv", "m", "--hidden", "0"),
        ("fit", "data.csv", "m", "--constraint", "nand"),
        ("fit", "data.csv", "m", "--learning-rate", "0"),
        ("fit", "data.csv", "m", "--learning-rate", "nan"),
        ("fit", "data.csv", "m", "--jobs", "0"),
        ("fit", "data.csv", "m", "--engine", "tpu"),
        ("fit", "data.csv", "m", "--scale", "log"),
        ("evaluate", "data.csv", "--folds", "1"),
        ("nonsense",),
    ],
)
def test_wrong_arguments_end_with_code_2(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_a_bad_file_ends_with_one_sentence_and_code_1(tmp_path):
    (tmp_path / "bad.csv").write_text("bag,label,x\n1,0,oops\n")
    result = run("fit", tmp_path / "bad.csv", tmp_path / "model.safetensors")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: Every feature cell must hold a finite number. Got 'oops' in line 2")
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_a_fault_of_our_own_is_called_one(work, monkeypatch):
    def broken(*_):
        raise KeyError("lost")

    monkeypatch.setattr("setrbm.cli.predict._as_json", broken)
    result = run("predict", work / "model.safetensors", work / "data.csv", "--json")
    assert result.exit_code == 1
    assert "failed unexpectedly: KeyError: 'lost'" in result.stderr
    assert "SETRBM_TRACEBACK=1" in result.stderr


def test_a_traceback_is_there_for_those_who_ask(tmp_path, monkeypatch):
    monkeypatch.setenv("SETRBM_TRACEBACK", "1")
    result = run("fit", tmp_path / "none.csv", tmp_path / "model.safetensors")
    assert isinstance(result.exception, FileNotFoundError)


def test_a_warning_of_the_library_is_one_line_on_stderr(work, monkeypatch):
    def warned(*_, **__):
        warnings.simplefilter("always")
        warnings.warn("something to know", stacklevel=1)
        return []

    monkeypatch.setattr("setrbm.cli.explain.described", warned)
    result = run("explain", work / "model.safetensors", work / "data.csv")
    assert result.stderr == "Note: something to know\n"
