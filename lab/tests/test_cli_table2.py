"""``scripts/reproduce table2`` from the command to the page, on small generated mail."""

import json

import pytest

from setrbm_lab import mail_data, results
from setrbm_lab.curves import Curve
from test_reproduce import run

MODELS = ("-m", "xor*", "-m", "SVM-max", "-m", "tf-idf, linear SVM", "-m", "ClassSetRBMCV for text")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """With fewer sets the whole way takes seconds."""
    monkeypatch.setattr(mail_data, "N_QUICK", 110)


def reproduce(folder, *arguments):
    return run("reproduce", "table2", "--quick", "-d", "dsus", "-o", folder, "--quiet", "--jobs", 1, *arguments)


def test_table2_is_run_shown_resumed_and_put_on_a_page(tmp_path):
    out = tmp_path / "out"
    first = reproduce(out, *MODELS)
    assert first.exit_code == 0, first.stderr
    assert "A quick run: " in first.stdout
    assert "ClassSetRBMCV for text" in first.stdout
    rows, curves = results.read(out / "table2.csv"), results.read_rows(out / "table2-curves.csv", Curve)
    assert len(rows) == len(curves) == 20
    assert {row.dataset for row in rows} == {"DsUs"}
    measured = {curve.system: json.loads(curve.measured) for curve in curves}
    assert measured["SVM-max"]["n_train"] == 88
    assert measured["ClassSetRBM XOR*"] == {}
    page = (out / "table2.md").read_text(encoding="utf-8")
    assert "## ClassSetRBMCV for text against tf-idf, linear SVM" in page
    assert "| SVM-max, DsUs (generated) | 44 and 88 |" in page
    command = "scripts/reproduce table2 --quick -m 'ClassSetRBM XOR*' -m SVM-max -m 'tf-idf, linear SVM' -m " + (
        "'ClassSetRBMCV for text' -d DsUs"
    )
    assert f"- `{command}`, started " in page
    assert (out / "images" / "table2_curves.png").exists()
    # A curve that is lost is made again, and with it its fold; then nothing is left.
    results.write(out / "table2-curves.csv", curves[:-1], Curve)
    again = reproduce(out, *MODELS)
    assert again.exit_code == 0, again.stderr
    assert [entry["folds"] for entry in json.loads((out / "table2-runs.json").read_text())] == [20, 1]
    idle = reproduce(out, *MODELS)
    assert "Nothing to do: all 20 folds are in " in idle.stdout
    assert "No page was written" in idle.stdout
    # The page alone, from what is on record, into another folder.
    alone = run("reproduce", "page", "-o", out, "--report", tmp_path / "docs")
    assert alone.exit_code == 0, alone.stderr
    assert (tmp_path / "docs" / "table2.md").read_text() == (out / "table2.md").read_text()
    assert not (tmp_path / "docs" / "reproduction.md").exists()


def test_a_folder_with_both_tables_gets_both_pages(tmp_path):
    assert reproduce(tmp_path, "-m", "ClassRBM-poolIn").exit_code == 0
    first = run("reproduce", "table1", "--quick", "-d", "musk1", "-m", "SVM-max", "--folds", 2, "-o", tmp_path, "-q")
    assert first.exit_code == 0, first.stderr
    assert run("reproduce", "page", "-o", tmp_path, "--report", tmp_path / "docs").exit_code == 0
    assert {path.name for path in (tmp_path / "docs").glob("*.md")} == {"reproduction.md", "table2.md"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--folds", 10), "table2 takes neither --folds nor --repeats nor --seed: its splits are fixed."),
        (("--repeats", 2), "table2 takes neither --folds nor --repeats nor --seed"),
        (("--seed", 7), "table2 takes neither --folds nor --repeats nor --seed"),
        (("--engine", "gpu"), "table2 must run on the CPU: its sets are sparse. Got --engine gpu. Leave it out."),
        (("-d", "musk1"), "The data set of table2 must be one of DsUs, DsDe, threads, debian, pictures. Got 'musk1'."),
        (("-m", "SVM-maxx"), "The nearest: 'SVM-max'"),
    ],
)
def test_what_table2_does_not_take_is_refused_before_any_work(arguments, message, tmp_path):
    result = reproduce(tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_missing_collections_are_told_before_any_work(tmp_path):
    result = run("reproduce", "table2", "-o", tmp_path / "out", "--data-home", tmp_path)
    assert result.exit_code == 2
    assert "There is no file of threads: ng20_threads.jsonl.gz or " in result.stderr
    assert "Or run without them: -d DsUs -d DsDe -d pictures." in result.stderr
    assert not (tmp_path / "out").exists()
