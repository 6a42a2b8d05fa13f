"""``setrbm datasets``: the benchmarks, listed and fetched."""

from __future__ import annotations

import dataclasses
import re
import shlex

import numpy as np
import pytest

from command_line import answer, run, sets
from setrbm.datasets.files import read_sets, write_csv


@pytest.fixture
def data_home(tmp_path, monkeypatch):
    """A data folder with a file named as Fox's, and a registry in which Tiger is the data of ``sets``."""
    from setrbm.datasets import benchmarks

    bags, y = sets(labels=(0, 1))
    write_csv(tmp_path / "rows.csv", bags, y)
    digest = benchmarks.content_digest(bags, y)
    tiger = dataclasses.replace(
        benchmarks.BENCHMARKS["tiger"],
        n_sets=20, n_positive=10, n_vectors=bags.n_vectors, n_features=3, digest=digest,
    )  # fmt: skip
    monkeypatch.setattr(benchmarks, "BENCHMARKS", {**benchmarks.BENCHMARKS, "tiger": tiger})
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "fox.csv").write_text("bag,label,f0\n1,0,1\n2,1,0\n")
    return tmp_path / "home"


def test_benchmarks_are_listed_with_their_place_or_the_command_that_fetches_them(data_home):
    from setrbm.datasets import benchmarks

    told = {one["name"]: one for one in answer("datasets", "--data-home", data_home)["datasets"]}
    assert list(told) == list(benchmarks.BENCHMARKS)
    assert [name for name, one in told.items() if one["here"]] == ["musk1", "fox"]
    assert told["musk1"]["in_package"]
    assert (told["musk2"]["sets"], told["musk2"]["vectors"], told["musk2"]["features"]) == (102, 6598, 166)
    assert told["fox"]["path"] == str(data_home / "fox.csv")
    assert told["fox"]["fetch"] is None
    assert shlex.split(told["musk2"]["fetch"])[1:] == ["datasets", "--fetch", "musk2", "--data-home", str(data_home)]
    shown = run("datasets", "--data-home", data_home, env={"COLUMNS": "100"}).stdout
    assert "Musk (Version 2)" in shown
    assert "musk1: inside the package\n" in shown
    assert "fox: The benchmark 'fox' must have 200 sets (100 positive)" in shown
    assert re.search(r"fox .*damaged", shown)
    assert told["fox"]["fault"] in shown
    assert told["musk1"]["fault"] is None
    assert shown.count("license: ") == shown.count("cite: ") == shown.count("SHA-256") == 11
    assert f"elephant: missing. Run: {told['elephant']['fetch']}\n" in shown


def test_the_data_folder_comes_from_the_environment_too(data_home, monkeypatch):
    monkeypatch.setenv("SETRBM_DATA", str(data_home))
    told = {one["name"]: one for one in answer("datasets")["datasets"]}
    assert told["fox"]["path"] == str(data_home / "fox.csv")
    assert told["elephant"]["fetch"] == "setrbm datasets --fetch elephant"


def test_fetching_shows_path_license_and_citation(data_home):
    fetch = ("datasets", "--fetch", "musk1", "--fetch", "tiger", "--data-home", data_home)
    told = answer(*fetch, "--from", data_home.parent / "rows.csv")["fetched"]
    assert [one["name"] for one in told] == ["musk1", "tiger"]
    assert told[1]["path"] == str(data_home / "tiger.csv.gz")
    np.testing.assert_array_equal(read_sets(data_home / "tiger.csv.gz")[0].X, sets()[0].X)
    # It is there now, so no source is needed.
    shown = run(*fetch).stdout
    assert "(inside the package, no need to fetch it)" in shown
    assert f"tiger: {data_home / 'tiger.csv.gz'}\n  license: no license stated" in shown
    assert "  cite: S. Andrews, " in shown


def test_a_data_folder_that_cannot_be_written_to_is_refused_before_anything_is_fetched(data_home):
    (data_home.parent / "file").touch()
    fetch = ("datasets", "--fetch", "tiger", "--from", data_home.parent / "rows.csv", "--data-home")
    result = run(*fetch, data_home.parent / "file" / "deep")
    assert result.exit_code == 2
    assert "must be a folder, or the name of a new one" in result.stderr
    # What is in the package needs no folder.
    assert run("datasets", "--fetch", "musk1", "--data-home", data_home.parent / "file").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("--fetch", "tiger", "--fetch", "lion"),
            2,
            "--fetch must name a benchmark. A benchmark must be one of musk1, ",
        ),
        (("--from", "rows.csv"), 2, "--from needs --fetch NAME: there is nothing to fetch."),
        (("--fetch", "tiger"), 1, "The benchmark 'tiger' is in no package"),
        (("--fetch", "tiger", "--from", "none.csv"), 1, "The source must be a folder, a file or a URL."),
        (("--fetch", "fox"), 1, "The benchmark 'fox' must have 200 sets (100 positive)"),
    ],
)
def test_what_cannot_be_fetched_is_said_in_one_sentence_and_nothing_is_written(data_home, arguments, code, message):
    result = run("datasets", "--data-home", data_home, *arguments)
    assert result.exit_code == code
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in data_home.iterdir()] == ["fox.csv"]
