"""Fixtures of the tests of the command line."""

from __future__ import annotations

import pytest

from command_line import QUICK, run, sets
from setrbm.datasets.files import write_csv


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    """A folder with data.csv and a model fitted on it."""
    folder = tmp_path_factory.mktemp("work")
    write_csv(folder / "data.csv", *sets())
    result = run("fit", folder / "data.csv", folder / "model.safetensors", *QUICK)
    assert result.exit_code == 0, result.stderr
    return folder
