"""The rooms and who may enter: imports are read with ast, and loading is tried in a new interpreter."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import setrbm

SOURCE = Path(setrbm.__file__).parent
# Data flows downwards: a module imports only from rooms that stand above its own (or its own).
ROOMS = [
    ["_types", "_version", "_files", "_text", "_warnings", "draws"],
    ["bags"],
    ["scaling", "pooling", "shards", "kernels"],
    ["energy"],
    ["gibbs", "max_out"],
    ["engines"],
    ["training"],
    ["explain"],
    ["persistence"],
    ["estimators"],
    ["datasets"],
    ["evaluation"],
    ["cli", "__main__"],
]
LEVEL = {name: level for level, room in enumerate(ROOMS) for name in room}
ONLY_IN = {
    "numba": {"engines/kernels.py"},
    "torch": {"engines/gpu", "evaluation/peers.py"},
    "triton": {"engines/gpu"},
}


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
def test_a_module_imports_only_what_stands_above_it(path):
    for name in imports(path):
        if name.startswith("setrbm.") and (target := name.split(".")[1]) in LEVEL:
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
    code = (
        "import sys; from setrbm import *; print(sorted({'numba', 'torch', 'matplotlib', 'typer'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert loaded.strip() == "[]"
