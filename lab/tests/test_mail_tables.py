"""Table 2: means, curves, comparisons with the ratios of its own splits, and what kernels would take."""

import dataclasses

import numpy as np
import pytest

from made_rows import row
from setrbm.evaluation.statistics import corrected_t_test
from setrbm_lab import results
from setrbm_lab.curves import RECALLS, Curve
from setrbm_lab.mail_data import ALL
from setrbm_lab.mail_splits import RATIOS
from setrbm_lab.mail_systems import OURS, USUAL
from setrbm_lab.mail_tables import MailRecords, Table2, kernel_bytes

MEASURED = '{"n_sets": [1000, 2000], "n_train": 8000, "seconds": [2.0, 8.0]}'


def cell(system, dataset, counts):
    return [row(system, dataset, 0, fold, count) for fold, count in enumerate(counts)]


def curve(fold, reach=1.0, **changes):
    """The curve of a fold: precision falls from 1, up to a recall."""
    precision = np.where(reach >= RECALLS, 1.0 - RECALLS / 2, np.nan)
    text = " ".join(f"{value:.4f}" for value in precision)
    made = Curve(*fold.key, 0.5 + fold.fold, fold.accuracy / 2, text, "{}")
    return dataclasses.replace(made, **changes)


def everything(seed=0):
    """Rows and curves of three systems on every data set; SVM-max measures itself."""
    rng = np.random.default_rng(seed)
    means = {OURS: 16, USUAL: 14, "SVM-max": 6}
    rows = [
        one
        for system, mean in means.items()
        for dataset in ALL
        for one in cell(system, dataset, np.clip(mean + rng.integers(-2, 3, 5), 0, 20).tolist())
    ]
    return rows, [curve(one, measured=MEASURED if one.system == "SVM-max" else "{}") for one in rows]


def test_a_cell_has_mean_areas_and_median_times():
    rows = [dataclasses.replace(one, seconds=10.0**one.fold) for one in cell(OURS, "DsUs", [10, 12, 14, 16, 18])]
    table = Table2(rows, map(curve, rows))
    details = table.details[OURS, "DsUs"]
    assert details.area == pytest.approx(100 * np.mean([one.accuracy for one in rows]) / 2)
    assert (details.fit_seconds, details.predict_seconds) == (100.0, 2.5)
    assert table.mean(OURS, "DsUs") == pytest.approx(70.0)
    np.testing.assert_allclose(details.precision, 1.0 - RECALLS / 2, atol=1e-4)


def test_a_mean_curve_ends_where_the_first_fold_does():
    rows = cell(OURS, "DsUs", [10] * 5)
    table = Table2(rows, [curve(one, 0.3 if one.fold == 2 else 0.9) for one in rows])
    reached = ~np.isnan(table.details[OURS, "DsUs"].precision)
    assert RECALLS[reached].max() == pytest.approx(0.3)


@pytest.mark.parametrize("dataset", ALL)
def test_our_preset_is_compared_with_the_ratio_of_the_splits(dataset):
    rows, curves = everything()
    table = Table2(rows, curves)
    scores = [
        {(0, one.fold): 100 * one.accuracy for one in rows if (one.system, one.dataset) == (system, dataset)}
        for system in (OURS, USUAL)
    ]
    assert table.ours_against_usual(dataset) == corrected_t_test(*scores, ratio=RATIOS[dataset])
    assert table.against_best(dataset)["SVM-max"].difference < 0


def test_nothing_is_compared_before_both_rows_are_complete():
    rows = [*cell(OURS, "DsUs", [10] * 5), *cell(USUAL, "DsUs", [9] * 4)]
    assert Table2(rows, map(curve, rows)).ours_against_usual("DsUs") is None


def test_the_shortcut_says_what_is_missing():
    rows, curves = everything()
    assert Table2(rows, curves).shortcut == ""
    assert Table2(rows, curves, quick=True).shortcut.startswith("A quick run: 600 sets of each data set")
    assert Table2([], []).shortcut == "Not run yet. Run: scripts/reproduce table2"


def test_records_have_only_folds_with_a_curve(tmp_path):
    rows, curves = everything()
    results.write(tmp_path / "table2.csv", rows[:-2])
    results.write(tmp_path / "table2-curves.csv", curves[3:], Curve)
    records = MailRecords.read(tmp_path)
    assert records.rows == sorted(rows[3:-2])
    assert records.curves == sorted(curves[3:-2])
    assert MailRecords.read(tmp_path / "none") == MailRecords([], [], [])


# --- what kernel machines would take ---


def test_the_memory_of_a_kernel_is_that_of_two_matrices():
    assert kernel_bytes(100) == 2 * np.zeros((100, 100)).nbytes
