"""The page of the reproduction: what stands on it comes from the rows, and the same rows give the same page."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from made_rows import FOLDS, REPEATS, cell, everywhere, row
from setrbm.evaluation import results
from setrbm.evaluation.statistics import critical_difference
from setrbm.reproduction.rendering import as_html, as_latex, interval
from setrbm.reproduction.report import ACCURACIES, RANKS, duration, report_text, write_report
from setrbm.reproduction.tables import Table1

RUN = {
    "command": "setrbm reproduce --engine cpu",
    "machine": "a machine_with cores",
    "versions": {"setrbm": "1.2", "numpy": "2.4"},
    "seconds": 600.0,
    "started": "2026-01-02 03:04",
    "systems": ["ClassSetRBM XOR*", "Ours"],
    "datasets": ["fox", "tiger"],
    "engine": "cpu",
}
ROWS = everywhere({"ClassSetRBM XOR*": 15, "SVM-max": 14, "MLP-maxOut": 13, "Ours": 12})
REMARKS = {("ClassSetRBM XOR*", "elephant"): "Fewer\n epochs."}


def text(rows=ROWS, runs=(RUN,), remarks=None, effects=()):
    return report_text(Table1(rows, REPEATS, FOLDS), runs, remarks, effects)


def section(page, title):
    return page.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_same_input_gives_the_same_files(tmp_path):
    pytest.importorskip("matplotlib")
    folders = tmp_path / "a", tmp_path / "b"
    for folder, rows in zip(folders, (ROWS, ROWS[::-1]), strict=True):
        page = write_report(rows, [RUN], folder, REMARKS, repeats=REPEATS, folds=FOLDS)
        assert page == folder / "reproduction.md"
        assert page.read_text(encoding="utf-8") == text(remarks=REMARKS)
    for name in ("reproduction.md", f"images/{ACCURACIES}", f"images/{RANKS}"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


def test_every_picture_on_the_page_is_written(tmp_path):
    pytest.importorskip("matplotlib")
    of_settings = [row("base", "fox", 0, fold, 12) for fold in range(FOLDS)]
    for rows, effects in ((ROWS, of_settings), (cell("Ours", "fox", 12), [])):
        page = write_report(rows, [RUN], tmp_path, repeats=REPEATS, folds=FOLDS, effects=effects)
        links = re.findall(r"!\[.*?\]\((.*?)\)", page.read_text(encoding="utf-8"))
        assert len(links) == (6 if effects else 1)
        assert all((tmp_path / link).exists() for link in links)


def test_effects_that_lack_folds_are_marked():
    rows = [row(name, "fox", 0, fold, 12) for name in ("base", "n_hidden=10") for fold in range(FOLDS)]
    assert "Not all folds are there" not in text(effects=rows)
    assert f"**Not all folds are there, but {2 * FOLDS - 1} of {2 * FOLDS}" in text(effects=rows[:-1])


def test_the_page_says_how_it_was_made():
    part = section(text(), "How it was made")
    assert "`setrbm reproduce --engine cpu`, started 2026-01-02 03:04, 10 min, engine cpu." in part
    assert r"Systems: ClassSetRBM XOR\*, Ours. Data sets: fox, tiger. setrbm 1.2, numpy 2.4." in part
    assert r"Machine: a machine\_with cores." in part
    # Ten folds of a quarter of a second.
    assert r"| ClassSetRBM XOR\* | cpu | 2.5 s | 2.5 s | 2.5 s | 2.5 s | 2.5 s |" in part
    assert "| SVM-miGraph |" not in part
    assert "No run is on record." in text(runs=())
    assert "10 min, 1,234 folds, ended before the last, engine" in text(runs=[RUN | {"folds": 1234, "finished": False}])
    assert "setrbm 1.3." in text(runs=[{**RUN, "versions": "setrbm 1.3"}])


def test_one_fold_that_met_other_work_does_not_make_the_time():
    slow = [
        dataclasses.replace(one, seconds=100.0 if i == 0 else 0.25) for i, one in enumerate(cell("Ours", "fox", 12))
    ]
    assert "| Ours | cpu | - | - | - | 2.5 s | - |" in text(slow)


def test_a_page_of_a_quick_run_says_so_first(tmp_path):
    pytest.importorskip("matplotlib")
    page = write_report(ROWS, [], tmp_path, repeats=REPEATS, folds=FOLDS, quick=True).read_text(encoding="utf-8")
    assert "**No reproduction: 2 x 5 folds instead of 5 x 10, with few settings and short training.**" in page
    assert as_latex(Table1(ROWS, REPEATS, FOLDS, quick=True)).count("No reproduction: 2 x 5 folds") == 1


def test_a_page_without_matplotlib_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("setrbm.reproduction.report.find_spec", lambda name: None)
    page = write_report(ROWS, [], tmp_path, repeats=REPEATS, folds=FOLDS).read_text(encoding="utf-8")
    assert page.count("*A picture is missing here: matplotlib was not installed.*") == 2
    assert not (tmp_path / "images").exists()


def test_the_page_counts_complete_cells():
    assert "20 of 80 cells have all their 10 folds. Of the 15 that the paper has too" in text()
    assert "19 of 80 cells" in text(ROWS[:-1])
    assert "(9 of 10 folds)" in section(text(ROWS[:-1]), "Table")


def test_the_differences_are_those_of_the_table():
    table = Table1(ROWS, REPEATS, FOLDS)
    part = section(text(), "Ours less the paper's")
    (line,) = [line for line in part.splitlines() if line.startswith("| SVM-max")]
    for dataset in table.datasets:
        cell = table.cells["SVM-max", dataset]
        assert f"{interval(cell.against_paper)}<br>{cell.paper:.2f}" in line
    assert line.endswith(f"{table.average('SVM-max') - 78.798:+.1f}<br>78.80 |")
    assert "| Ours" not in part and "| SVM-miGraph | -<br>86.74 |" in part
    assert "would move by 0.00 points at most" in part


def test_the_significance_is_that_of_the_three_tests():
    table = Table1(ROWS, REPEATS, FOLDS)
    part = section(text(), "Significance").split("### Fox")[1].split("###")[0]
    tests = [table.against_best("fox", marking) for marking in ("plain", "corrected", "holm")]
    p = [f"{test['Ours'].p:.3f}" if test["Ours"].p >= 0.001 else "< 0.001" for test in tests]
    assert f"| Ours | {interval(tests[1]['Ours'])} | {' | '.join(p)} |" in part
    worse = [4 - len(table.not_worse("fox", marking)) for marking in ("plain", "corrected", "holm")]
    assert f"{worse[0]} of 3 by the plain test, {worse[1]} by the corrected one, {worse[2]} after Holm." in part


def test_our_row_is_held_against_every_other():
    made = {"ClassSetRBMCV": 15, "SVM-max": 15, "MLP-maxOut": 4, "Logit-maxOut": 19}
    part = text(everywhere(made)).split("### ClassSetRBMCV against every other row\n", 1)[1].split("\n## ", 1)[0]
    table = Table1(everywhere(made), REPEATS, FOLDS)
    for dataset in table.datasets:
        line = next(line for line in part.splitlines() if line.startswith(f"| {dataset.title()} |"))
        tests = table.against("ClassSetRBMCV", dataset, "holm")
        assert tests["MLP-maxOut"].p < 0.05
        assert line.endswith(
            "| Logit-maxOut | MLP-maxOut |" if tests["Logit-maxOut"].p < 0.05 else "| none | MLP-maxOut |"
        )
        assert f"{sum(test.difference > 0 for test in tests.values())} of 3" in line
    assert "against every other row" not in text()


def test_the_ranks_say_how_little_the_data_sets_separate():
    part = section(text(), "Ranks over the data sets")
    assert "Friedman's test of 4 systems on 5 data sets" in part
    assert (
        f"critical difference at 5 % is {critical_difference(4, 5):.2f} ranks, and average ranks can differ by 3"
        in part
    )
    # The first is the best everywhere and the last the worst, so that their average ranks are 1 and 4.
    clear = everywhere({"A": 18, "B": 13, "C": 8, "D": 3})
    near = section(text(clear), "Ranks over the data sets")
    # Ranks 1, 2, 3, 4 and a critical difference of 2.10: only 1 and 4 are further apart.
    assert "Here 1 of 6 pairs are separated" in near
    assert "Without ClassSetRBM XOR, " in part and "SVM-max" not in part.split("Friedman")[0]


def test_pages_of_few_results_say_what_is_missing():
    page = text(cell("Ours", "fox", 12))
    assert "Fewer than three systems have all folds of all data sets: nothing to rank." in page
    assert page.count("Fewer than two systems have all their folds: nothing to compare.") == 5
    assert "would move" not in page
    part = section(page, "More than 3 points from the paper")
    assert part.count("None.") == 2


def test_cells_far_below_the_paper_are_listed_with_their_remarks():
    page = text(remarks={**REMARKS, ("Ours", "fox"): "Said of a peer."})
    table = Table1(ROWS, REPEATS, FOLDS)
    part, above = section(page, "More than 3 points from the paper").split("Above")
    for listed, sign in ((part, -1), (above, 1)):
        assert len(re.findall("^- ", listed, flags=re.MULTILINE)) == len(table.far_from_paper(3.0, sign)) > 1
    test = interval(table.cells["ClassSetRBM XOR*", "elephant"].against_paper)
    mean = table.mean("ClassSetRBM XOR*", "elephant")
    assert rf"- ClassSetRBM XOR\* on Elephant: {mean:.1f} against 87.80, {test}. Fewer epochs." in part
    assert "No remark yet." in part
    assert "- Ours on Fox: Said of a peer." in section(page, "Other remarks")
    assert "Other remarks" not in text()


def test_times_have_the_unit_that_suits_them():
    assert [duration(seconds) for seconds in (1.25, 119, 600, 9000)] == ["1.2 s", "119.0 s", "10 min", "2.5 h"]


def test_rows_made_again_are_held_against_the_table_fold_by_fold():
    table = Table1([*cell("Ours", "fox", 12), *cell("Ours", "tiger", 12)], REPEATS, FOLDS)
    same = [dataclasses.replace(one, engine="gpu") for one in cell("Ours", "fox", 12)]
    other = [
        dataclasses.replace(one, engine="gpu", n_right=one.n_right + (i < 3))
        for i, one in enumerate(cell("Ours", "tiger", 12))
    ]
    part = section(report_text(table, [], again=[*same, *other[:-1]]), "The same folds by another engine")
    assert [line.split(" | ")[1:5] for line in part.splitlines() if line.startswith("| Ours")] == [
        ["Fox", "60.0 (cpu)", "60.0 (gpu)", f"0 of {REPEATS * FOLDS}"]
    ]
    part = section(report_text(table, [], again=[*same, *other]), "The same folds by another engine")
    lines = [line.split(" | ")[1:5] for line in part.splitlines() if line.startswith("| Ours")]
    assert lines[1] == ["Tiger", "60.0 (cpu)", "61.5 (gpu)", f"3 of {REPEATS * FOLDS}"]
    assert "another engine" not in report_text(table, [])
    for change in ({"seed": 8}, {"settings": "t"}, {"n_test": 30}):
        with pytest.raises(ValueError, match="Got others for Ours on fox, repetition 0, fold 0"):
            report_text(table, [], again=[dataclasses.replace(same[0], **change), *same[1:]])


def test_a_remark_on_an_unknown_cell_is_refused():
    with pytest.raises(ValueError, match=r"Got 1 others, the first \('XOR', 'fox'\)"):
        text(remarks={("XOR", "fox"): "Said."})


ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not (ROOT / "results").exists(), reason="the results are not part of this copy")
def test_the_page_of_the_documentation_is_the_generated_one():
    table = Table1(results.read(ROOT / "results" / "table1.csv"))
    effects = results.read(ROOT / "results" / "effects.csv")

    def known(name):
        path = ROOT / "results" / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []

    runs = known("table1-runs.json") + known("effects-runs.json")
    runs += [run | {"command": f"{run['command']} -o results/again"} for run in known("again/table1-runs.json")]
    remarks = {(one["system"], one["dataset"]): one["remark"] for one in known("table1-remarks.json")}
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    again = results.read(ROOT / "results" / "again" / "table1.csv")
    assert page == report_text(table, runs, remarks, effects, again)
    assert (ROOT / "docs" / "table1.html").read_text(encoding="utf-8") == as_html(table)
    assert (ROOT / "docs" / "table1.tex").read_text(encoding="utf-8") == as_latex(table)


@pytest.mark.skipif(not (ROOT / "results").exists(), reason="the results are not part of this copy")
def test_no_result_names_a_folder_of_a_machine():
    text = (ROOT / "results" / "table1-runs.json").read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|work|mnt|var)\b", text)


@pytest.mark.skipif(not (ROOT / "results").exists(), reason="the results are not part of this copy")
def test_the_numbers_of_the_readme_are_those_of_the_results():
    table = Table1(results.read(ROOT / "results" / "table1.csv"))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    said = re.search(
        r"training folds: ([\d.]+) % \(standard deviation over the 50 folds ([\d.]+) points\); on average over the "
        r"paper's five data sets ([\d.]+) %, where the paper's best row has ([\d.]+)\..*"
        r"the best, ([\w-]+), has ([\d.]+) there",
        readme,
    )
    musk1 = table.cells["ClassSetRBMCV", "musk1"].scores
    best = max(table.paper_average(system) or 0.0 for system in table.systems)
    other = max(set(table.systems) - {"ClassSetRBMCV"}, key=lambda system: table.average(system) or 0.0)
    expected = (
        f"{table.mean('ClassSetRBMCV', 'musk1'):.1f}", f"{np.std(list(musk1.values()), ddof=1):.1f}",
        f"{table.average('ClassSetRBMCV'):.1f}", f"{best:.2f}", other, f"{table.average(other):.1f}",
    )  # fmt: skip
    assert said.groups() == expected
