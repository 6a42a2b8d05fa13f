"""How large are the three houses? Prints lines and files of Python, what a fit enters, and what a pooling touches.

python lab/experiments/sizes.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

from setrbm import ClassSetRBMCV
from setrbm.datasets import load_musk1

ROOT = Path(__file__).parents[2]
HOUSES = {"library": "src/setrbm", "mail": "mail/src", "laboratory": "lab", "tests": "tests"}


def size(folder: Path) -> tuple[int, int]:
    """Return the number of lines and of files of Python."""
    files = [path for path in folder.rglob("*.py") if ".cache" not in path.parts]
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files), len(files)


def files_of_a_pooling() -> int:
    """Return how many files a new pooling touches: the rows of the table in CONTRIBUTING, whose files a test checks."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    task = page.partition("## To add a variant")[2].partition("\n## ")[0]
    return sum(line.startswith("| `") for line in task.splitlines())


def entered() -> tuple[int, int, int]:
    """Return the number of files and functions of the library that a default fit enters, and how deep it goes."""
    source, seen, deepest = str(ROOT / "src" / "setrbm"), set(), 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        if event == "call" and frame.f_code.co_filename.startswith(source):
            seen.add((frame.f_code.co_filename, frame.f_code.co_qualname, frame.f_code.co_firstlineno))
            depth, above = 0, frame
            while above is not None:
                depth += above.f_code.co_filename.startswith(source)
                above = above.f_back
            deepest = max(deepest, depth)

    bags, y = load_musk1()
    model = ClassSetRBMCV(max_epochs=3, n_jobs=1, random_state=0)
    model.fit(bags, y)
    sys.setprofile(note)
    try:
        model.fit(bags, y)
    finally:
        sys.setprofile(None)
    return len({file for file, *_ in seen}), len(seen), deepest


if __name__ == "__main__":
    for name, folder in HOUSES.items():
        lines, files = size(ROOT / folder)
        print(f"{name}: {lines:,} lines in {files} files")
    n_files, n_functions, depth = entered()
    print(f"a fit of ClassSetRBMCV enters {n_files} files and {n_functions} functions of the library, {depth} deep")
    print(f"a new pooling touches {files_of_a_pooling()} files")
