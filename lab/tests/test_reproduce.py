"""``scripts/reproduce``: from the command to the table, its page and its record."""

import errno
import importlib.util
import json
import os
import re

import pytest
from typer.testing import CliRunner

from setrbm_lab.__main__ import app
from setrbm_lab.results import read as read_results


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="scripts/reproduce")


def reproduce(folder, *arguments):
    return run("reproduce", "table1", "--quick", "-d", "musk1", "-o", folder, "--folds", 3, "--quiet", *arguments)


def test_reproduce_makes_the_table_its_page_and_goes_on_from_what_is_there(tmp_path):
    first = reproduce(tmp_path / "out", "-m", "svm-max", "-m", "Pooled SVM", "-m", "SVM-max", "-d", "musk1")
    assert first.exit_code == 0, first.stderr
    assert re.search(r"SVM-max +[0-9.]+ ", first.stdout)
    rows = read_results(tmp_path / "out" / "table1.csv")
    assert {(row.system, row.fold) for row in rows} == {(s, f) for s in ("SVM-max", "Pooled SVM") for f in range(3)}
    files = sorted(path.name for path in (tmp_path / "out").iterdir() if not path.name.endswith(".lock"))
    assert files == ["images", "reproduction.md", "table1-runs.json", "table1.csv", "table1.html", "table1.tex"]
    written = (tmp_path / "out" / "reproduction.md").stat().st_mtime_ns
    again = reproduce(tmp_path / "out", "-m", "svm-max", "-m", "Pooled SVM")
    assert again.exit_code == 0
    assert [row.key for row in read_results(tmp_path / "out" / "table1.csv")] == [row.key for row in rows]
    assert "Nothing to do" not in first.stdout
    assert "Nothing to do: all 6 folds are in " in again.stdout
    assert "To run them again, write to another folder with -o." in again.stdout
    assert re.search(r"SVM-max +[0-9.]+ ", again.stdout)
    assert "No page was written. To write it anew: scripts/reproduce page -o " in again.stdout
    assert (tmp_path / "out" / "reproduction.md").stat().st_mtime_ns == written
    runs = json.loads((tmp_path / "out" / "table1-runs.json").read_text())
    command = "scripts/reproduce table1 --quick -m SVM-max -m 'Pooled SVM' -d musk1 --folds 3"
    assert [entry["command"] for entry in runs] == [command]


def test_the_effects_of_settings_are_run_shown_and_put_on_the_page(tmp_path):
    out = tmp_path / "out"
    first = run("reproduce", "effects", "--quick", "-d", "musk1", "-o", out, "--folds", 2, "--quiet")
    assert first.exit_code == 0, first.stderr
    assert re.search(r"n_hidden=300 +[0-9.]+", first.stdout)
    rows = read_results(out / "effects.csv")
    assert len(rows) == 2 * len({row.system for row in rows}) == 2 * 16
    assert reproduce(out, "-m", "SVM-max").exit_code == 0
    page = (out / "reproduction.md").read_text(encoding="utf-8")
    assert "## Learning curves and single settings" in page
    assert "`scripts/reproduce effects --quick -d musk1 --folds 2`" in page
    assert len(list((out / "images").iterdir())) == 5
    refused = run("reproduce", "effects", "-m", "SVM-max", "-o", out)
    assert refused.exit_code != 0
    assert "effects takes neither --models nor --engine gpu" in refused.stderr


def test_remarks_beside_the_results_stand_on_the_page(tmp_path):
    (tmp_path / "table1-remarks.json").write_text('[{"system": "SVM-max", "dataset": "musk1", "remark": "Quick."}]')
    assert reproduce(tmp_path, "-m", "SVM-max").exit_code == 0
    assert "SVM-max on Musk1: Quick." in (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    for damaged in ("no list", '[{"system": "SVM-max"}]', '["SVM-max"]'):
        (tmp_path / "table1-remarks.json").write_text(damaged)
        result = reproduce(tmp_path, "-m", "SVM-max")
        assert result.exit_code == 1
        assert "table1-remarks.json must be a JSON list of objects with system, dataset and remark" in result.stderr


def test_reproduce_names_the_nearest_rows_and_data_sets(tmp_path):
    for arguments, message in (
        (("-m", "SVM-maxx"), "The nearest: 'SVM-max'"),
        (("-m", "xr*"), "The nearest: 'ClassSetRBM XOR*'"),
        (("-d", "musk3"), "the nearest: musk"),
        (("-d", "foxs"), "the nearest: fox"),
        (("-d", "musk1", "--seed", 2**32 - 1, "--repeats", 2), "for 2 repetitions"),
        (("-d", "musk1", "--folds", "100"), "at least as many sets as there are folds, 100"),
    ):
        result = run("reproduce", "table1", "--quick", "-o", tmp_path / "out", "-m", "SVM-max", *arguments)
        assert result.exit_code in (1, 2)
        assert message in result.stderr
    assert not (tmp_path / "out" / "table1.csv").exists()


def test_what_is_missing_is_told_before_any_work(tmp_path, monkeypatch):
    out = tmp_path / "out"
    result = run("reproduce", "table1", "-o", out, "--data-home", tmp_path, "-m", "SVM-max")
    assert result.exit_code == 2
    assert "These data sets are not in the data folder: musk2, elephant, fox, tiger." in result.stderr
    assert "--fetch fox --from FOLDER_OR_ADDRESS" in result.stderr
    assert "Or run without them: -d musk1." in result.stderr
    monkeypatch.setattr(
        "setrbm_lab.plans.find_spec",
        lambda name: None if name == "torchmil" else importlib.util.find_spec(name),
    )
    result = reproduce(out, "-m", "Gated attention")
    assert result.exit_code == 2
    assert "Gated attention needs torch and torchmil: pip install 'setrbm[peers]'." in result.stderr
    from setrbm_lab.systems import ROWS

    two = {name: ROWS[name] for name in ("SVM-max", "Gated attention")}
    monkeypatch.setattr("setrbm_lab.commands.ROWS", two)
    result = reproduce(out)
    assert result.exit_code == 0, result.stderr
    assert "Left out: Gated attention needs torch and torchmil" in result.stderr
    assert {row.system for row in read_results(out / "table1.csv")} == {"SVM-max"}


def test_without_a_gpu_it_is_said_before_any_work(tmp_path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a graphics processor here")
    out = tmp_path / "out"
    result = reproduce(out, "--engine", "gpu", "-m", "SVM-max", "-m", "ClassSetRBM XOR")
    assert result.exit_code == 1
    assert "needs a GPU that torch can use. Got none" in result.stderr
    assert not out.exists()
    assert reproduce(out, "--engine", "gpu", "-m", "SVM-max").exit_code == 0


def test_the_page_alone_is_written_from_what_is_there(tmp_path):
    out, docs = tmp_path / "out", tmp_path / "docs"
    (tmp_path / "file").touch()
    assert "must be a folder, or the name of a new one" in run("reproduce", "page", "-o", tmp_path / "file").stderr
    empty = run("reproduce", "page", "-o", out)
    assert empty.exit_code == 2
    assert "There are no results to show in " in empty.stderr
    assert reproduce(out, "-m", "SVM-max").exit_code == 0
    before = (out / "table1.csv").read_bytes()
    # Of what kind the results are is on record.
    result = run("reproduce", "page", "-o", out, "--report", docs)
    assert result.exit_code == 0, result.stderr
    assert "Not a reproduction: 1 x 3 folds instead of 5 x 10, with few candidates and short training." in result.stdout
    assert (docs / "reproduction.md").read_text() == (out / "reproduction.md").read_text()
    assert (out / "table1.csv").read_bytes() == before


def test_a_folder_that_cannot_be_written_to_is_refused_before_any_work(tmp_path, monkeypatch):
    create = os.open

    def protected(path, *flags):
        if "docs" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return create(path, *flags)

    monkeypatch.setattr(os, "open", protected)
    (tmp_path / "docs").mkdir()
    new = tmp_path / "docs" / "new"
    result = reproduce(tmp_path / "out", "-m", "SVM-max", "--report", new)
    assert result.exit_code == 2
    assert result.stderr == f"Error: Cannot write to the folder (Permission denied): {str(new)!r}.\n"
    assert not (tmp_path / "out").exists()


def test_results_that_are_no_text_are_refused_by_name(tmp_path):
    (tmp_path / "table1.csv").write_bytes(b"\xbd\xff\x00")
    result = reproduce(tmp_path, "-m", "SVM-max")
    assert result.exit_code == 1
    assert "table1.csv must be a results file in UTF-8. Got something else." in result.stderr


def test_reproduce_refuses_results_of_another_version(tmp_path):
    (tmp_path / "table1.csv").write_text("some,other,file\n")
    result = reproduce(tmp_path, "-m", "SVM-max")
    assert result.exit_code == 1
    assert "must be a results file" in result.stderr
    assert (tmp_path / "table1.csv").read_text() == "some,other,file\n"


def test_what_was_finished_before_ctrl_c_has_its_record(tmp_path, monkeypatch):
    import setrbm_lab.runner as runner

    judged, seen = runner.fit_and_judge, []

    def interrupted(*arguments):
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return judged(*arguments)

    monkeypatch.setattr(runner, "fit_and_judge", interrupted)
    result = reproduce(tmp_path, "-m", "SVM-max", "--jobs", 1)
    assert result.exit_code != 0
    assert "Run the same command again to resume." in result.stderr
    assert len(read_results(tmp_path / "table1.csv")) == 1
    assert len(json.loads((tmp_path / "table1-runs.json").read_text())) == 1


def test_a_failed_fold_is_told_and_the_exit_code_says_so(tmp_path, monkeypatch):
    def fail(*_):
        raise ValueError("no luck")

    monkeypatch.setattr("setrbm_lab.runner.fit_and_judge", fail)
    result = reproduce(tmp_path, "-m", "SVM-max", "--jobs", 1)
    assert result.exit_code == 1
    assert "Failed: SVM-max on musk1, repetition 1, fold 1 and 2 more: ValueError: no luck" in result.stderr
    assert result.stderr.count("no luck") == 1
    assert "3 folds failed. Run the same command to try them again." in result.stderr


@pytest.mark.xdist_group("dask")
@pytest.mark.filterwarnings("ignore")
def test_a_table_runs_on_a_cluster(two, tmp_path):
    found = reproduce(tmp_path, "-m", "SVM-max", "--cluster", two.scheduler.address)
    assert found.exit_code == 0, found.stderr
    assert len(read_results(tmp_path / "table1.csv")) == 3


def test_jobs_are_for_work_on_this_machine(tmp_path):
    refused = reproduce(tmp_path, "--cluster", "x", "--jobs", 2)
    assert refused.exit_code == 2
    assert "--jobs is for work on this machine" in refused.stderr
