"""Examples of the pages are tests; the site's settings, its gallery and what is generated are not."""

import pytest

# scripts/docs runs the gallery.
collect_ignore = ["_build", "conf.py", "gallery", "generated"]


# The pages whose examples need more than the package does: a package of an extra, or a later version.
NEEDS = {
    "cluster.md": ("distributed", None),
    "documents.md": ("setrbm_mail", None),
    "confidence.md": ("sklearn", "1.8"),
}


@pytest.fixture(autouse=True)
def _empty_folder(request, tmp_path, monkeypatch):
    """Run each page in an empty folder, so that its examples may write files."""
    package, version = NEEDS.get(request.path.name, ("setrbm", None))
    pytest.importorskip(package, version, reason=f"the examples of this page need {package} {version or ''}".rstrip())
    monkeypatch.chdir(tmp_path)
