"""The collection of eleven data sets: its table, its comparisons over data sets, its page and its command."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from made_rows import FOLDS, REPEATS, cell, row
from setrbm_lab import results
from setrbm_lab.collection import TRIES, CollectionRecords, CollectionTable
from setrbm_lab.collection_plots import MARKERS
from setrbm_lab.collection_report import collection_text, write_collection_report
from setrbm_lab.paper import DATASETS
from setrbm_lab.plots import COLORS
from setrbm_lab.rendering import escape_markdown, interval, p_value
from setrbm_lab.statistics import holm
from setrbm_lab.systems import COMPARED, FORMER, OURS
from test_reproduce import run

ROOT = Path(__file__).parents[2]
ALL = CollectionTable.layout.datasets
# The numbers of right sets, of 20, of our defaults and of two others on the eleven data sets.
RIGHT = {
    OURS: (18, 17, 16, 12, 17, 17, 15, 16, 12, 13, 17),
    FORMER: (18, 18, 17, 11, 17, 16, 15, 15, 12, 12, 16),
    "Pooled SVM": (18, 16, 16, 13, 16, 13, 13, 16, 20, 13, 14),
}


def rows(systems=RIGHT):
    noise = np.tile([0, 1, -1, 0, 0], REPEATS)
    return [
        made
        for system, counts in systems.items()
        for dataset, right in zip(ALL, counts, strict=True)
        for made in cell(system, dataset, np.minimum(right + (noise if system == OURS else 0), 20))
    ]


def table(systems=RIGHT):
    return CollectionTable(rows(systems), REPEATS, FOLDS)


def records(**more):
    return CollectionRecords(**{"rows": rows(), "tries": {}, "runs": [], "properties": [], "rare_words": []} | more)


PROPERTIES = [
    {"problem": problem, "draw": str(draw), "system": system, "accuracy": accuracy}
    for problem, system, accuracies in (
        ("one_vector", OURS, ("94.0", "96.0")),
        ("one_vector", "SVM-max", ("80.0", "81.0")),
        ("large_sets", OURS, ("70.0", "72.0")),
        ("large_sets", "SVM-max", ("50.0", "52.0")),
    )
    for draw, accuracy in enumerate(accuracies)
]
RARE = [{"dataset": "newsgroups2", "features": "200", "features in one set only": "124"}]


def test_the_collection_has_eleven_data_sets_and_the_rows_that_are_compared():
    assert len(ALL) == 11
    assert set(DATASETS) < set(ALL)
    assert table({}).systems == COMPARED


def test_rows_are_compared_over_the_data_sets():
    ours, former = (100.0 * np.array(RIGHT[system]) / 20 for system in (OURS, FORMER))
    test = table().over_data_sets(FORMER)
    low, high = stats.ttest_rel(ours, former).confidence_interval()
    assert (test.difference, test.low, test.high) == pytest.approx(((ours - former).mean(), low, high))
    five = table().over_data_sets(FORMER, DATASETS)
    assert five.difference == pytest.approx((ours - former)[:5].mean())


def test_a_row_without_all_data_sets_is_not_compared_over_them():
    partial = CollectionTable([one for one in rows() if (one.system, one.dataset) != (FORMER, "fox")], REPEATS, FOLDS)
    assert partial.over_data_sets(FORMER) is None
    assert partial.over_data_sets(FORMER, ("musk1", "tiger")) is not None


def test_significant_differences_are_those_of_the_adjusted_test():
    assert table().significant("Pooled SVM", 1) == ["newsgroups2"]
    assert "mutagenesis1" in table().significant("Pooled SVM", -1)
    assert table().significant(FORMER, 1) == []


def test_the_page_shows_the_table_the_differences_and_what_is_on_record():
    text = collection_text(table(), records(properties=PROPERTIES, rare_words=RARE))
    assert text.startswith("# Eleven data sets\n")
    ours = next(line for line in text.splitlines() if line.startswith(f"| {OURS} |"))
    assert ours.endswith(" 77.3 |")
    pooled = next(line for line in text.splitlines() if line.startswith("| Pooled SVM | +"))
    assert "| Mutagenesis1, " in pooled
    assert "| Newsgroups2 |" in pooled
    assert "| SVM-max | 80.5 | 51.0 |" in text
    assert "  | Newsgroups2 | 200 | 124 |" in text
    assert "Recipes that were run before" not in text
    assert "How it was made" not in text


def test_leads_over_all_data_sets_are_corrected_for_the_number_of_comparisons():
    whole = table()
    others = [system for system in whole.ranked() if system != OURS]
    found = [whole.over_data_sets(system) for system in others]
    text = collection_text(whole, records())
    for system, test, p in zip(others, found, holm([test.p for test in found]), strict=True):
        assert f"| {escape_markdown(system)} | {interval(test)} | {p_value(p)} | " in text
    clear = ", ".join(escape_markdown(system) for system in whole.clearly_different())
    assert f"{len(others)} comparisons). Significant at the 5% level: {clear or 'none'}." in text


@pytest.mark.skipif(not (ROOT / "lab" / "results").exists(), reason="the results are not part of this copy")
def test_one_lead_on_record_is_significant_after_the_correction_as_the_pages_say():
    known = CollectionTable(CollectionRecords.read(ROOT / "lab" / "results").rows)
    assert known.clearly_different() == ["ClassSetRBM XOR*"]


def test_a_page_of_incomplete_results_has_no_comparisons():
    text = collection_text(CollectionTable(rows()[:7], REPEATS, FOLDS), records())
    assert "against every other row" not in text
    assert "- (7)" in text


def test_earlier_tries_are_reported_from_their_own_rows():
    first = [one for system in (OURS, FORMER) for dataset in ALL for one in _fifty(system, dataset)]
    name = next(iter(TRIES))
    text = collection_text(table(), records(tries={name: first}))
    assert f"| {TRIES[name]} (`lab/results/{name}`) | 7 | 80.0 | 75.0 | +5.0 [+5.0, +5.0] |" in text
    today = next(line for line in text.splitlines() if line.startswith("| today's"))
    assert " | 77.3 | " in today


def _fifty(system, dataset):
    right = 16 if system == OURS else 15
    return [row(system, dataset, repeat, fold, right) for repeat in range(5) for fold in range(10)]


def test_the_same_input_gives_the_same_page_and_pictures(tmp_path):
    known, found = records(properties=PROPERTIES), []
    for folder in (tmp_path / "a", tmp_path / "b"):
        write_collection_report(table(), known, folder)
        found.append({path.name: path.read_bytes() for path in folder.rglob("*.*")})
    assert found[0] == found[1]
    assert set(found[0]) == {"collection.md", "collection_differences.png", "collection_properties.png"}


def test_every_system_has_its_own_color_and_marker():
    systems = {line["system"] for line in CollectionRecords.read(ROOT / "lab" / "results").properties} or range(8)
    looks = {(COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]) for i in range(len(systems))}
    assert len(looks) == len(systems) > len(COLORS)


@pytest.mark.skipif(not (ROOT / "lab" / "results").exists(), reason="the results are not part of this copy")
def test_the_page_of_the_documentation_is_the_generated_one():
    known = CollectionRecords.read(ROOT / "lab" / "results")
    assert known.rows
    assert set(known.tries) == set(TRIES)
    assert (ROOT / "docs" / "collection.md").read_text(encoding="utf-8") == collection_text(
        CollectionTable(known.rows), known
    )


def test_the_collection_is_run_shown_resumed_and_put_on_a_page(tmp_path):
    out = tmp_path / "out"
    arguments = ("collection", "--quick", "-d", "musk1", "-m", "Pooled SVM", "-m", FORMER, "--folds", 2)
    first = run("reproduce", *arguments, "-o", out, "--jobs", 1, "-q")
    assert first.exit_code == 0, first.stderr
    assert "Not a reproduction: 1 x 2 folds instead of 5 x 10" in first.stdout
    assert len(results.read(out / "collection.csv")) == 4
    (entry,) = json.loads((out / "collection-runs.json").read_text())
    assert entry["command"] == (
        f"scripts/reproduce collection --quick -m 'Pooled SVM' -m '{FORMER}' -d musk1 --folds 2"
    )
    page = (out / "collection.md").read_text(encoding="utf-8")
    assert f"- `{entry['command']}`, started " in page
    idle = run("reproduce", *arguments, "-o", out, "--jobs", 1, "-q")
    assert "Nothing to do: all 4 folds are in " in idle.stdout
    assert run("reproduce", "page", "-o", out, "--report", tmp_path / "docs").exit_code == 0
    assert {path.name for path in (tmp_path / "docs").glob("*.md")} == {"collection.md"}
