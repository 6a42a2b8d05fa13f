"""Examples of the pages are tests; the site's settings, its gallery and what is generated are not."""

import pytest

# scripts/docs runs the gallery.
collect_ignore = ["_build", "conf.py", "gallery", "generated"]


# The pages whose examples need an extra, and what it installs.
NEEDS = {"cluster.md": "distributed", "documents.md": "pypdfium2"}


@pytest.fixture(autouse=True)
def _empty_folder(request, tmp_path, monkeypatch):
    """Run each page in an empty folder, so that its examples may write files."""
    if package := NEEDS.get(request.path.name):
        pytest.importorskip(package, reason=f"the examples of this page need {package}")
    monkeypatch.chdir(tmp_path)
