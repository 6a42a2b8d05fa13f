"""The lower bounds of dependencies: `scripts/test --oldest` installs exactly these."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = ["docs/getting_started.md", "docs/guide/scikit-learn.md"]


@pytest.fixture(scope="module")
def oldest():
    """Return what is installed, by name."""
    command = '. scripts/_environment; oldest_versions "$0"'
    printed = subprocess.run(
        ["bash", "-c", command, sys.executable], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return dict(line.split("==") for line in printed.stdout.splitlines())


def test_every_dependency_is_installed_in_its_oldest_version(oldest):
    extras = PROJECT["optional-dependencies"]
    for requirement in PROJECT["dependencies"] + extras["parquet"] + extras["plot"]:
        name, version = requirement.split(">=")
        assert oldest[name] == version


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_the_oldest_scikit_learn(page, oldest):
    named = re.findall(r"scikit-learn 1\.\d+ or newer", (ROOT / page).read_text(encoding="utf-8"))
    assert named == [f"scikit-learn {oldest['scikit-learn']} or newer"]


def test_each_python_that_the_classifiers_name_is_allowed():
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert named == sorted(named)
