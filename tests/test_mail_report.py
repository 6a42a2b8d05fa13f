"""The page of Table 2: generated from results alone, with every figure of the table."""

import dataclasses
from pathlib import Path

import pytest

from setrbm.reproduction.mail_data import ALL
from setrbm.reproduction.mail_report import mail_report_text, write_mail_report
from setrbm.reproduction.mail_systems import OURS, USUAL
from setrbm.reproduction.mail_tables import MailRecords, Table2
from setrbm.reproduction.rendering import interval
from test_mail_tables import cell, curve, everything

ROOT = Path(__file__).parents[1]


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
    assert line.endswith("| 1,000 and 2,000 | 2.0 s and 8.0 s | 8,000 | 2.0 | 2 min | 1.0 GiB |")
    assert len(lines_of(page, "| SVM-max, ")) == len(ALL)
    assert not lines_of(page, f"| {USUAL}, ")


def test_every_run_is_listed():
    run = {
        "command": "setrbm reproduce table2 -d DsUs", "machine": "2 cores", "versions": {"setrbm": "1"}, "seconds": 90,
        "started": "2026-01-01", "systems": [OURS], "datasets": ["DsUs"], "engine": "cpu", "folds": 5,
        "finished": False,
    }  # fmt: skip
    page = page_of(*everything(), runs=[run, run | {"command": "setrbm reproduce table2"}])
    assert "- `setrbm reproduce table2 -d DsUs`, started 2026-01-01, 90.0 s, 5 folds, interrupted" in page
    assert "- `setrbm reproduce table2`, started" in page


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


@pytest.mark.skipif(not (ROOT / "results").exists(), reason="the results are not part of this copy")
def test_the_page_of_the_documentation_is_the_generated_one():
    records = MailRecords.read(ROOT / "results")
    table = Table2(records.rows, records.curves)
    assert (ROOT / "docs" / "table2.md").read_text(encoding="utf-8") == mail_report_text(table, records)
