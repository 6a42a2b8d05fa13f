"""Configuration of pytest for the three houses."""

import os
from importlib.util import find_spec

import pytest

# Tests run side by side, one process per core. Several threads of BLAS in each of them wait for each other: a fit of
# LogisticRegression to digits took 4.5 s instead of 0.07 s.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Run in a process of its own: it loads Triton as for a GPU, and test_gpu.py needs the interpreter.
collect_ignore = ["tests/engines/compile_kernels.py"]


class Skipped(pytest.Module):
    """A file of tests that cannot be imported, since what it needs is not installed."""

    def collect(self):
        """Skip the file."""
        pytest.skip("needs the extra 'dask', which is not installed")


def pytest_pycollect_makemodule(module_path, parent):
    """Skip the tests of clusters without the extra."""
    if module_path.match("test_dask_*.py") and find_spec("distributed") is None:
        return Skipped.from_parent(parent, path=module_path)


def pytest_addoption(parser):
    """Add the option --long."""
    parser.addoption("--long", action="store_true", help="Run the tests that take minutes, too.")


def pytest_configure(config):
    """Register the marker of long tests."""
    config.addinivalue_line("markers", "long: takes minutes; run with --long only")


def pytest_collection_modifyitems(config, items):
    """Skip long tests unless they are asked for."""
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
