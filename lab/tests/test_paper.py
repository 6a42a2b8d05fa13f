"""The figures of the paper: complete, and accuracies over all folds pooled."""

import csv
from pathlib import Path

import pytest

from setrbm_lab.paper import DATASETS, MAIL_DATASETS, MAIL_SYSTEMS, PAPER_SYSTEMS, REPEATS, TABLE_1, TABLE_2

FILE = Path(__file__).parents[3] / "shared" / "paper" / "tables.csv"
N_SETS = {"musk1": 92, "musk2": 102, "elephant": 200, "fox": 200, "tiger": 200}


@pytest.mark.skipif(not FILE.exists(), reason="the paper's tables are not beside the checkout")
@pytest.mark.parametrize(
    ("name", "figures", "systems"), [("mil", TABLE_1, PAPER_SYSTEMS), ("mail", TABLE_2, MAIL_SYSTEMS)]
)
def test_the_figures_are_those_of_the_tables_beside_the_checkout(name, figures, systems):
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == name]
    assert {(row["model"], row["dataset"]): float(row["accuracy"]) for row in rows} == figures
    assert list(systems) == list(dict.fromkeys(row["model"] for row in rows))


def test_every_system_has_a_figure_for_every_data_set():
    assert len(PAPER_SYSTEMS) == 15 and len(DATASETS) == 5
    assert set(TABLE_1) == {(system, dataset) for system in PAPER_SYSTEMS for dataset in DATASETS}
    assert set(TABLE_2) == {(system, dataset) for system in MAIL_SYSTEMS for dataset in MAIL_DATASETS}


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_figure_is_an_accuracy_over_all_folds_pooled(dataset):
    n = REPEATS * N_SETS[dataset]
    for system in PAPER_SYSTEMS:
        figure = TABLE_1[system, dataset]
        assert round(100 * round(figure * n / 100) / n, 2) == pytest.approx(figure, abs=1e-9)
