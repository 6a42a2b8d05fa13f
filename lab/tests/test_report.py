"""The page of the reproduction: its content comes from the rows, and the same rows give the same page."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from made_rows import FOLDS, REPEATS, cell, everywhere, row
from setrbm_lab.budgets import budget_of, settings_of
from setrbm_lab.collection import CollectionRecords, CollectionTable
from setrbm_lab.paper import DATASETS, TABLE_1
from setrbm_lab.records import Records
from setrbm_lab.rendering import as_html, as_latex, interval
from setrbm_lab.report import ACCURACIES, RANKS, report_text, write_report
from setrbm_lab.run_history import AFTER, BEFORE, CHANGE, duration
from setrbm_lab.statistics import critical_difference
from setrbm_lab.systems import ROWS as SYSTEMS
from setrbm_lab.tables import Table1

RUN = {
    "command": "scripts/reproduce --engine cpu",
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


def text(rows=ROWS, runs=(RUN,), **records):
    return report_text(Table1(rows, REPEATS, FOLDS), Records(rows, runs, **records))


def write(folder, rows=ROWS, quick=False, **records):
    return write_report(Table1(rows, REPEATS, FOLDS, quick), Records(rows, **records), folder)


def section(page, title):
    return page.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_same_input_gives_the_same_files(tmp_path):
    pytest.importorskip("matplotlib")
    folders = tmp_path / "a", tmp_path / "b"
    for folder, rows in zip(folders, (ROWS, ROWS[::-1]), strict=True):
        page = write(folder, rows, runs=[RUN], remarks=REMARKS)
        assert page == folder / "reproduction.md"
        assert page.read_text(encoding="utf-8") == text(remarks=REMARKS)
    for name in ("reproduction.md", f"images/{ACCURACIES}", f"images/{RANKS}"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


def test_every_picture_on_the_page_is_written(tmp_path):
    pytest.importorskip("matplotlib")
    of_settings = [row("base", "fox", 0, fold, 12) for fold in range(FOLDS)]
    for rows, effects in ((ROWS, of_settings), (cell("Ours", "fox", 12), [])):
        page = write(tmp_path, rows, effects=effects)
        links = re.findall(r"!\[.*?\]\((.*?)\)", page.read_text(encoding="utf-8"))
        assert len(links) == (6 if effects else 1)
        assert all((tmp_path / link).exists() for link in links)


def test_effects_that_lack_folds_are_marked():
    rows = [row(name, "fox", 0, fold, 12) for name in ("base", "n_hidden=10") for fold in range(FOLDS)]
    assert "Incomplete" not in text(effects=rows)
    assert f"**Incomplete: {2 * FOLDS - 1} of {2 * FOLDS} folds" in text(effects=rows[:-1])


def test_the_page_says_how_it_was_made():
    part = section(text(), "How it was made")
    assert "`scripts/reproduce --engine cpu`, started 2026-01-02 03:04, 10 min, engine cpu." in part
    assert r"Systems: ClassSetRBM XOR\*, Ours. Data sets: fox, tiger. setrbm 1.2, numpy 2.4." in part
    assert r"Machine: a machine\_with cores." in part
    # Ten folds of a quarter of a second.
    assert r"| ClassSetRBM XOR\* | cpu | 2.5 s | 2.5 s | 2.5 s | 2.5 s | 2.5 s |" in part
    assert "| SVM-miGraph |" not in part
    assert "No run is on record." in text(runs=())
    assert "10 min, 1,234 folds, interrupted, engine" in text(runs=[RUN | {"folds": 1234, "finished": False}])
    assert "setrbm 1.3." in text(runs=[{**RUN, "versions": "setrbm 1.3"}])


def test_one_slow_fold_does_not_change_the_time():
    slow = [
        dataclasses.replace(one, seconds=100.0 if i == 0 else 0.25) for i, one in enumerate(cell("Ours", "fox", 12))
    ]
    assert "| Ours | cpu | - | - | - | 2.5 s | - |" in text(slow)


def test_a_page_of_a_quick_run_says_so_first(tmp_path):
    pytest.importorskip("matplotlib")
    page = write(tmp_path, quick=True).read_text(encoding="utf-8")
    assert "**Not a reproduction: 2 x 5 folds instead of 5 x 10, with few candidates and short training.**" in page
    assert as_latex(Table1(ROWS, REPEATS, FOLDS, quick=True)).count("Not a reproduction: 2 x 5 folds") == 1


def test_a_page_without_matplotlib_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("setrbm_lab.report.find_spec", lambda name: None)
    page = write(tmp_path).read_text(encoding="utf-8")
    assert page.count("*A plot is missing here: matplotlib was not installed.*") == 2
    assert not (tmp_path / "images").exists()


def test_the_page_counts_complete_cells():
    assert re.search(r"20 of 80 cells have all 10 folds. The paper's .* in \d+ of 15 cells", text())
    assert "19 of 80 cells" in text(ROWS[:-1])
    assert "(9 of 10 folds)" in text(ROWS[:-1]).split("## Takeaways")[0]


def test_the_differences_are_those_of_the_table():
    table = Table1(ROWS, REPEATS, FOLDS)
    part = section(text(), "Difference from the paper")
    (line,) = [line for line in part.splitlines() if line.startswith("| SVM-max")]
    for dataset in table.datasets:
        cell = table.cells["SVM-max", dataset]
        assert f"{interval(cell.against_paper)}<br>{cell.paper:.2f}" in line
    assert line.endswith(f"{table.average('SVM-max') - 78.798:+.1f}<br>78.80 |")
    assert "| Ours" not in part and "| SVM-miGraph | -<br>86.74 |" in part
    assert "differ from ours by at most 0.00 points" in part


def test_the_significance_is_that_of_the_three_tests():
    table = Table1(ROWS, REPEATS, FOLDS)
    part = section(text(), "Significance").split("### Fox")[1].split("###")[0]
    tests = [table.against_best("fox", marking) for marking in ("plain", "corrected", "holm")]
    p = [f"{test['Ours'].p:.3f}" if test["Ours"].p >= 0.001 else "< 0.001" for test in tests]
    assert f"| Ours | {interval(tests[1]['Ours'])} | {' | '.join(p)} |" in part
    worse = [4 - len(table.not_worse("fox", marking)) for marking in ("plain", "corrected", "holm")]
    assert f"{worse[0]} of 3 by the plain test, {worse[1]} by the corrected one, {worse[2]} after Holm's" in part


def test_our_row_is_compared_with_every_other():
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


def test_the_ranks_show_how_few_systems_differ():
    part = section(text(), "Ranks over the data sets")
    assert "Friedman's test of 4 systems on 5 data sets" in part
    assert (
        f"critical difference at the 5% level is {critical_difference(4, 5):.2f} ranks, and average ranks differ by at "
        "most 3" in part
    )
    # The first is the best everywhere and the last the worst, so that their average ranks are 1 and 4.
    clear = everywhere({"A": 18, "B": 13, "C": 8, "D": 3})
    near = section(text(clear), "Ranks over the data sets")
    # Ranks 1, 2, 3, 4 and a critical difference of 2.10: only 1 and 4 are further apart.
    assert "Here 1 of 6 pairs differ significantly" in near
    assert "1 of 6 pairs of systems differ significantly" in section(text(clear), "Takeaways")
    assert "Without ClassSetRBM XOR, " in part and "SVM-max" not in part.split("Friedman")[0]


def test_pages_of_few_results_say_what_is_missing():
    page = text(cell("Ours", "fox", 12))
    assert "Fewer than three systems have all folds of all data sets: nothing to rank." in page
    assert page.count("Fewer than two systems have all folds: nothing to compare.") == 5
    assert "differ from ours" not in page
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


def test_times_have_a_suitable_unit():
    assert [duration(seconds) for seconds in (1.25, 119, 600, 9000)] == ["1.2 s", "119.0 s", "10 min", "2.5 h"]


def test_rows_made_again_are_compared_with_the_table_fold_by_fold():
    table = Table1([*cell("Ours", "fox", 12), *cell("Ours", "tiger", 12)], REPEATS, FOLDS)
    same = [dataclasses.replace(one, engine="gpu") for one in cell("Ours", "fox", 12)]
    other = [
        dataclasses.replace(one, engine="gpu", n_right=one.n_right + (i < 3))
        for i, one in enumerate(cell("Ours", "tiger", 12))
    ]
    part = section(report_text(table, Records(again=[*same, *other[:-1]])), "The same folds on another engine")
    assert [line.split(" | ")[1:5] for line in part.splitlines() if line.startswith("| Ours")] == [
        ["Fox", "60.0 (cpu)", "60.0 (gpu)", f"0 of {REPEATS * FOLDS}"]
    ]
    part = section(report_text(table, Records(again=[*same, *other])), "The same folds on another engine")
    lines = [line.split(" | ")[1:5] for line in part.splitlines() if line.startswith("| Ours")]
    assert lines[1] == ["Tiger", "60.0 (cpu)", "61.5 (gpu)", f"3 of {REPEATS * FOLDS}"]
    assert "another engine" not in report_text(table, Records())
    for change in ({"seed": 8}, {"settings": "t"}, {"n_test": 30}):
        with pytest.raises(ValueError, match="Got different ones for Ours on fox, repetition 0, fold 0"):
            report_text(table, Records(again=[dataclasses.replace(same[0], **change), *same[1:]]))


def test_a_remark_on_an_unknown_cell_is_refused():
    with pytest.raises(ValueError, match=r"Got 1 others, the first \('XOR', 'fox'\)"):
        text(remarks={("XOR", "fox"): "Said."})


# --- how the rows were made ---


def test_log_loss_is_shown_beside_accuracy_and_overconfidence_is_a_takeaway():
    made = {"ClassSetRBMCV": 15, "SVM-max": 14, "MLP-maxOut": 13}
    rows = [
        dataclasses.replace(
            one,
            log_loss={"ClassSetRBMCV": 0.9 if one.dataset == "fox" else 0.25, "SVM-max": np.nan}.get(one.system, 0.5),
        )
        for one in everywhere(made)
    ]
    part, table = section(text(rows), "Log loss and calibration"), Table1(rows, REPEATS, FOLDS)
    shown = " | ".join(
        f"{table.mean('ClassSetRBMCV', dataset):.1f} / {0.9 if dataset == 'fox' else 0.25:.3f}"
        for dataset in table.datasets
    )
    assert f"| ClassSetRBMCV | {shown} |" in part
    assert "SVM-max" not in part
    assert "ClassSetRBMCV are overconfident: log loss 0.900 on Fox, where" in section(text(rows), "Takeaways")
    assert "overconfident" not in text()


def test_the_calibration_error_is_that_of_the_recorded_predictions():
    lines = [{"system": "Ours", "dataset": "musk1", "p": p, "label": y} for p, y in (("0.9", "1"), ("0.1", "1"))]
    part = section(text(predictions=lines), "Log loss and calibration")
    assert "| Ours | Musk1 | 2 | 50.0 | 90.0 | 40.0 |" in part
    assert "calibration error |" not in text()


def first_records():
    """Records with a first table, whose XOR* was early stopped, and the evidence for the change."""
    recipes = [
        {"family": "A", "settings": "decay 0", "recipe": recipe, "average": average}
        for recipe, average in ((BEFORE, "77.39"), (AFTER, "81.69"), ("another", "1"))
    ]
    settings = {
        name: {"estimator": "ClassSetRBMCV", "settings": {"early_stopping": True, "refit": False, "max_epochs": 400}}
        for name in ("ClassSetRBM XOR*", "ClassSetRBM OR*")
    }
    first = [
        row(system, dataset, repeat, fold, 14, seed=0)
        for system in ("ClassSetRBM XOR*", "ClassSetRBM OR*", "ClassRBM-poolIn")
        for dataset in DATASETS
        for repeat in range(5)
        for fold in range(10)
    ]
    history = [{"time": "2026-01-02 03:04", "commit": CHANGE, "event": "Changed."}]
    return {
        "recipes": recipes, "first": first, "first_settings": settings, "history": history, "first_runs": [RUN],
    }  # fmt: skip


def test_the_page_tells_what_was_changed_after_the_first_table():
    page = text(**first_records())
    part = page.split("### What was changed after a first table\n", 1)[1].split("\n### ", 1)[0]
    prose = " ".join(part.split())
    assert r"Averages: ClassSetRBM XOR\* 70.0, ClassSetRBM OR\* 70.0, ClassRBM-poolIn 70.0." in prose
    assert f"(2026-01-02 03:04, commit {CHANGE})" in prose
    assert "77.4 on average for the paper's procedure, 81.7 for the new one" in prose
    ours = f"{Table1(ROWS, REPEATS, FOLDS).average('ClassSetRBM XOR*'):.1f}"
    assert rf"| ClassSetRBM XOR\* | 70.0 | 70.0 | 70.0 | 70.0 | 70.0 | 70.0 | 79.75 | {ours} |" in part
    assert r"- ClassSetRBM XOR\*, ClassSetRBM OR\*: `early_stopping` True to False, `max_epochs` 400 to 200 or" in part
    assert f"- 2026-01-02 03:04, {CHANGE}: Changed." in part
    assert r"ClassSetRBM XOR\* 70.0 (paper 79.75)" in section(page, "Takeaways")
    assert "after a first table" not in text()


def test_the_page_counts_the_runs_of_each_row():
    records = first_records() | {"superseded_runs": [RUN | {"datasets": ["fox"]}], "again_runs": [RUN]}
    part = text(**records).split("### Rows that were run more than once\n", 1)[1].split("\n## ", 1)[0]
    assert r"| ClassSetRBM XOR\* | 5 | 3 |" in part
    assert "| SVM-max | 0 | 0 |" in part
    assert "| ClassRBM-poolIn | 5 | 0 |" in part


def test_budgets_are_those_of_the_systems():
    part = text(**first_records()).split("### Selection budgets\n", 1)[1].split("\n### ", 1)[0]
    for line in (
        r"| ClassSetRBM XOR\* Hybrid | 36 | 1 | 200 or 400 | 1 | 37 | 3 |",
        "| MLP-maxOut | 6 | 1 | 300 | 1 | 7 | not recorded |",
        "| SVM-miGraph2 | 100 | 5 | - | 1 | 501 | 0 |",
        "| SVM-max | 25 | 5 | - | 1 | 126 | 0 |",
    ):
        assert line in part
    assert "| Ours" not in part


@pytest.mark.parametrize("name", ["ClassSetRBMCV", "SVM-max", "Logit-maxOut"])
def test_a_budget_counts_what_a_fit_tries(name):
    """The number of candidates and of averaged fits, against a fit on a few small sets."""
    estimator = SYSTEMS[name].make(0, False, "cpu", 1)
    budget = budget_of(*settings_of(estimator))
    if hasattr(estimator, "max_epochs"):
        estimator.set_params(max_epochs=2)
    rng = np.random.default_rng(0)
    fitted = estimator.fit([rng.random((2, 3)) for _ in range(20)], np.arange(20) % 2)
    assert len(fitted.cv_results_["params"]) == budget.candidates
    assert getattr(fitted, "temperature_", 1) == budget.final_fits


ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not (ROOT / "lab" / "results").exists(), reason="the results are not part of this copy")
def test_the_page_of_the_documentation_is_the_generated_one():
    records = Records.read(ROOT / "lab" / "results")
    table = Table1(records.rows)
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == report_text(table, records)
    assert (ROOT / "docs" / "table1.html").read_text(encoding="utf-8") == as_html(table)
    assert (ROOT / "docs" / "table1.tex").read_text(encoding="utf-8") == as_latex(table)


@pytest.mark.skipif(not (ROOT / "lab" / "results").exists(), reason="the results are not part of this copy")
def test_no_result_names_a_folder_of_a_machine():
    text = (ROOT / "lab" / "results" / "table1-runs.json").read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|work|mnt|var)\b", text)


@pytest.mark.skipif(not (ROOT / "lab" / "results").exists(), reason="the results are not part of this copy")
def test_the_figures_of_the_readme_are_those_of_the_results():
    records = Records.read(ROOT / "lab" / "results")
    table = Table1(records.rows)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = {
        "`ClassSetRBMCV`": "ClassSetRBMCV",
        "support vector machine with a kernel": "SVM-miGraph",
        "the same with another kernel": "SVM-max",
        "support vector machine on": "Pooled SVM",
        "gated": "Gated attention",
    }
    collection = CollectionTable(CollectionRecords.read(ROOT / "lab" / "results").rows)
    expected = {}
    for begin, system in rows.items():
        eleven = [collection.average(system)] if system in collection.systems else []
        expected[begin] = [f"{one:.1f}" for one in (table.mean(system, "musk1"), table.average(system), *eleven)]
    best = max(table.systems, key=lambda system: table.paper_average(system) or 0.0)
    expected["best model in the paper"] = [f"{TABLE_1[best, 'musk1']:.2f}", f"{table.paper_average(best):.2f}"]
    for begin, figures in expected.items():
        line = re.search(rf"^\| {begin}.*$", readme, flags=re.MULTILINE)[0]
        assert re.findall(r"[\d.]+(?=%)", line) == figures
    ranked = sorted(table.systems, key=lambda system: -(table.average(system) or 0.0))
    assert ranked[:3] == ["ClassSetRBMCV (former)", "ClassSetRBMCV", "SVM-max"]
    first = Table1(records.first).average("ClassSetRBM XOR*")
    assert f"had been seen (XOR\\* {first:.1f})" in " ".join(readme.split())


def test_calibrated_log_losses_are_the_means_of_the_recorded_folds():
    losses = [("fox", 1.0, 0.6, 4.0), ("fox", 0.8, 0.7, 6.0), ("tiger", 0.5, 0.4, 2.0)]
    names = ("dataset", "log_loss", "calibrated_log_loss", "temperature")
    lines = [dict(zip(names, map(str, line), strict=True)) for line in losses]
    part = section(text(calibrated=lines), "Log loss and calibration")
    assert "| Fox | 2 | 0.900 | 0.650 | 5.0 |\n| Tiger | 1 | 0.500 | 0.400 | 2.0 |" in part
    assert "calibrate=True)` divides" not in text()
