"""The page of Table 2: generated from results alone, with every figure of the table."""

import dataclasses
import json
from pathlib import Path

import pytest

from setrbm_lab.mail_data import ALL, TITLES
from setrbm_lab.mail_report import mail_report_text, write_mail_report
from setrbm_lab.mail_systems import OURS, USUAL
from setrbm_lab.mail_tables import MailRecords, Table2
from setrbm_lab.rendering import interval
from test_mail_tables import cell, curve, everything

ROOT = Path(__file__).parents[2]


def page_of(rows, curves, quick=False, runs=()):
    return mail_report_text(Table2(rows, curves, quick), MailRecords(rows, curves, list(runs)))


def lines_of(page, start):
    return [line for line in page.splitlines() if line.startswith(start)]


def test_the_page_opens_with_the_table_and_warns_that_the_mail_is_generated():
    page = page_of(*everything())
    assert page.startswith("# The paper's Table 2\n\nHow well are documents with pages classified?")
    assert page.split("\n\n")[2].startswith("| | DsUs | paper | DsDe | paper | threads | packages | page images |")
    assert page.index("**DsUs, DsDe and the page images are generated here.**") < page.index("## ")
    rows, curves = everything()
    table = Table2(rows, curves)
    first = lines_of(page, "| SVM-max |")[0]
    summary = table.cells["SVM-max", "DsUs"].summary
    assert f"| {summary.mean:.1f} ± {summary.fold_spread:.1f} | 56.45 |" in first
    # The paper has no figure for our preset, nor for real collections.
    assert lines_of(page, f"| {OURS} |")[0].count("| - |") == 2


def test_an_incomplete_cell_shows_its_number_of_splits():
    rows = cell(OURS, "DsUs", [10] * 3)
    assert f"| {OURS} | - (3 of 5) | - | - |" in page_of(rows, list(map(curve, rows)))


def test_the_page_compares_our_preset_with_what_is_used_today():
    rows, curves = everything()
    page = page_of(rows, curves)
    assert f"## {OURS} against {USUAL}" in page
    for dataset in ("DsUs", "debian"):
        assert interval(Table2(rows, curves).ours_against_usual(dataset)) in page


def test_areas_and_times_are_shown():
    rows, curves = everything()
    page = page_of(rows, [dataclasses.replace(one, area=0.4321, predict_seconds=3.0) for one in curves])
    assert f"| {USUAL} | 43.2 | 43.2 | 43.2 | 43.2 | 43.2 |" in page
    assert "0.2 s, 3.0 s" in lines_of(page, f"| {USUAL} |")[2]


def test_kernel_machines_show_what_all_sets_would_take():
    """Twice the sets took four times as long: 8,000 sets take 16 times the 8 seconds of 2,000."""
    page = page_of(*everything())
    (line,) = lines_of(page, "| SVM-max, Debian packages |")
    assert line.endswith("| 1,000 and 2,000 | 2.0 s and 8.0 s | 8,000 | 2 min [2 min, 2 min] | 1.0 GiB |")
    assert "one exponent, 2.00 with a standard error of 0.00: the mean over 5 data sets" in page
    assert len(lines_of(page, "| SVM-max, ")) == len(ALL)
    assert not lines_of(page, f"| {USUAL}, ")


def measuring(seconds_of):
    """Rows and curves of which SVM-max took these seconds for 1,000 and 2,000 sets."""
    rows, curves = everything()
    return rows, [
        dataclasses.replace(one, measured=json.dumps({**json.loads(one.measured), "seconds": seconds_of[one.dataset]}))
        if one.system == "SVM-max"
        else one
        for one in curves
    ]


def test_data_sets_with_other_exponents_are_extrapolated_with_one_and_its_interval():
    page = page_of(*measuring({name: [2.0, 4.0] if name == "DsUs" else [2.0, 8.0] for name in ALL}))
    assert "one exponent, 1.80 with a standard error of 0.20: the mean over 5 data sets" in page
    assert "[0.44, 3.16]" in page
    assert "took up to 1.0 times as long" in page
    lines = [lines_of(page, f"| SVM-max, {TITLES[name]} |")[0] for name in ("DsUs", "DsDe")]
    times = [line.split(" | ")[4] for line in lines]
    assert times == ["48.5 s [7.4 s, 5 min]", "97.0 s [14.7 s, 11 min]"]


def test_times_that_need_no_extrapolation_are_those_that_were_measured():
    rows, curves = measuring({name: [2.0, 8.0] for name in ALL})
    curves = [dataclasses.replace(one, measured=one.measured.replace("8000", "2000")) for one in curves]
    (line,) = lines_of(page_of(rows, curves), "| SVM-max, Debian packages |")
    assert "| 2.0 s and 8.0 s | 2,000 | as measured |" in line


def test_one_data_set_does_not_tell_how_time_grows():
    rows, curves = ([one for one in some if one.dataset == "DsUs"] for some in everything())
    page = page_of(rows, curves)
    assert "How the time grows cannot be told from one data set." in page
    (line,) = lines_of(page, "| SVM-max, ")
    assert "| 8,000 | - |" in line


def test_every_run_is_listed():
    run = {
        "command": "scripts/reproduce table2 -d DsUs", "machine": "2 cores", "versions": {"setrbm": "1"}, "seconds": 90,
        "started": "2026-01-01", "systems": [OURS], "datasets": ["DsUs"], "engine": "cpu", "folds": 5,
        "finished": False,
    }  # fmt: skip
    page = page_of(*everything(), runs=[run, run | {"command": "scripts/reproduce table2"}])
    assert "- `scripts/reproduce table2 -d DsUs`, started 2026-01-01, 90.0 s, 5 folds, interrupted" in page
    assert "- `scripts/reproduce table2`, started" in page


def test_a_quick_page_says_so_and_a_page_without_results_too(tmp_path):
    assert "**A quick run: 600 sets" in page_of(*everything(), quick=True)
    page = write_mail_report(Table2([], []), MailRecords([], [], []), tmp_path)
    assert "**Not run yet. Run: scripts/reproduce table2**" in page.read_text(encoding="utf-8")
    assert "![" not in page.read_text(encoding="utf-8")
    assert not list((tmp_path / "images").iterdir())


def test_the_same_input_gives_the_same_page_and_picture(tmp_path):
    rows, curves = everything()
    made = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        write_mail_report(Table2(rows, curves), MailRecords(rows, curves, []), folder)
        made.append({path.name: path.read_bytes() for path in folder.rglob("*.*")})
    assert made[0] == made[1]
    assert set(made[0]) == {"table2.md", "table2_curves.png"}


@pytest.mark.skipif(not (ROOT / "lab" / "results").exists(), reason="the results are not part of this copy")
def test_the_page_of_the_documentation_is_the_generated_one():
    records = MailRecords.read(ROOT / "lab" / "results")
    table = Table2(records.rows, records.curves)
    assert (ROOT / "docs" / "table2.md").read_text(encoding="utf-8") == mail_report_text(table, records)
