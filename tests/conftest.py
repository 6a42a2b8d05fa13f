"""Configuration of pytest for this folder."""

import pytest

# Run in a process of its own: it loads Triton as for a GPU, and test_gpu.py needs the interpreter.
collect_ignore = ["compile_kernels.py"]


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="Run the tests that take minutes, too.")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes; run with --long only")


def pytest_collection_modifyitems(config, items):
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
