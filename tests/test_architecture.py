"""The rooms and their imports, read with ast; what is loaded is tried in a new interpreter."""

import ast
import io
import re
import statistics
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

import setrbm

SOURCE = Path(setrbm.__file__).parent
# Data flows downwards: a module imports only from rooms that stand above its own (or its own).
ROOMS = [
    ["_json_values", "_types", "_version", "_warnings", "draws", "label_order", "tools"],
    ["bags"],
    ["scaling", "pooling", "shards", "kernels"],
    ["energy"],
    ["gibbs", "max_out"],
    ["engines"],
    ["training"],
    ["calibration", "explain"],
    ["estimators"],
    ["text"],
    ["selective"],
    # Names every class that can be saved, so it stands below all of them.
    ["persistence"],
    ["datasets"],
    ["evaluation"],
    ["dask"],
    ["cli", "__main__"],
]
LEVEL = {name: level for level, room in enumerate(ROOMS) for name in room}
# Names of the package itself, such as setrbm.save, belong to the room that defines them.
HOMES = {name: getattr(setrbm, name).__module__.split(".")[1] for name in setrbm.__all__ if not name.startswith("_")}
# The one way up: the method ``save`` of every estimator is the function of the room that knows them all.
UPWARDS = {("estimators/savable.py", "setrbm.save")}
ONLY_IN = {
    "numba": {"engines/cpu"},
    "torch": {"engines/gpu"},
    "triton": {"engines/gpu"},
    "distributed": {"dask"},
    # What stands on the library, and what only that needs.
    **{name: set() for name in ("setrbm_mail", "setrbm_lab", "cv2", "PIL", "pypdfium2", "tesserocr", "torchmil")},
}
ROOT = SOURCE.parents[1]
MAIL = ROOT / "mail" / "src" / "setrbm_mail"


def modules():
    return sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py" or path.parent != SOURCE)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                f"{node.module}.{alias.name}" if node.module == "setrbm" else node.module for alias in node.names
            )


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_from_rooms_above_it(path):
    for name in set(imports(path)) - {name for module, name in UPWARDS if path == SOURCE / module}:
        target = name.split(".")[1] if name.startswith("setrbm.") else ""
        if (target := HOMES.get(target, target)) in LEVEL:
            assert LEVEL[target] <= LEVEL[room(path)], f"{room(path)} may not import {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_numba_and_torch_stay_in_their_files(path):
    for name in imports(path):
        for package, allowed in ONLY_IN.items():
            if name.split(".")[0] == package:
                inside = path.relative_to(SOURCE)
                assert allowed & {str(folder) for folder in (inside, *inside.parents)}


def test_every_room_is_on_the_plan():
    assert {room(path) for path in modules()} <= set(LEVEL)


def test_importing_the_package_loads_neither_numba_nor_torch():
    unwanted = {"numba", "torch", "matplotlib", "typer", "distributed"}
    code = f"import sys; from setrbm import *; print(sorted({unwanted} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert loaded.strip() == "[]"


# Small tools that every room may use.
SHARED = {"_json_values", "_types", "_version", "_warnings"}


def private_imports(path):
    """Yield the private names of other rooms that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "setrbm":
            for alias in node.names:
                target, *rest = f"{node.module}.{alias.name}".split(".")[1:]
                private = any(name.startswith("_") and not name.endswith("__") for name in (target, *rest))
                if target not in SHARED and target != room(path) and private:
                    yield f"{node.module}.{alias.name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_room_imports_private_names_of_another(path):
    assert not list(private_imports(path))


def of_mail():
    return sorted(MAIL.rglob("*.py"))


@pytest.mark.parametrize("path", of_mail(), ids=lambda path: str(path.relative_to(MAIL)))
def test_the_application_uses_public_names_of_the_library_and_nothing_of_the_laboratory(path):
    for name in imports(path):
        assert name.split(".")[0] != "setrbm_lab"
        if name.split(".")[0] == "setrbm":
            assert not any(part.startswith("_") for part in name.split(".")), f"{path.name} imports {name}"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "setrbm":
            private = [alias.name for alias in node.names if alias.name.startswith("_")]
            assert not private, f"{path.name} imports {private} from {node.module}"


def test_contributing_describes_every_room():
    page = ROOT / "CONTRIBUTING.md"
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    described = {name for row in rows for name in re.findall(r"`([\w.]+)`", row.split("|")[1])}
    assert {room(path) for path in modules()} - {"__main__"} <= described


def code_lines(path):
    """Return the numbers of the lines that hold code: neither docstrings nor comments nor nothing."""
    text = path.read_text(encoding="utf-8")
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for t in tokens if t.type not in skipped for line in range(t.start[0], t.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code -= set(range(node.lineno, node.end_lineno + 1))
    return code


def functions(path):
    """Yield the name and the number of code lines of every function of a module."""
    code = code_lines(path)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node.name, sum(node.lineno <= line <= node.end_lineno for line in code)


def test_functions_are_short():
    """Constructors of estimators list their settings, and GPU kernels keep what they compute in registers."""
    kernels = {"many_kernels.py", "sparse_kernels.py"}
    sizes = [
        (size, f"{path.name}: {name}")
        for path in modules()
        if path.name not in kernels
        for name, size in functions(path)
        if name != "__init__"
    ]
    assert [function for size, function in sizes if size > 40] == []
    assert statistics.median(size for size, _ in sizes) <= 6


def test_modules_are_short_or_say_why():
    for path in modules():
        text = path.read_text(encoding="utf-8")
        docstring = ast.get_docstring(ast.parse(text)) or ""
        assert text.count("\n") <= 400 or "Longer than" in docstring, path
