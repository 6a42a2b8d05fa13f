"""Examples of the pages are tests; the site's settings, its gallery and what is generated are not."""

import pytest

# scripts/docs runs the gallery.
collect_ignore = ["_build", "conf.py", "gallery", "generated"]


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    """Run each page in an empty folder, so that its examples may write files."""
    monkeypatch.chdir(tmp_path)
