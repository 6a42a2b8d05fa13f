"""The systems of Table 1: all rows are there, and the recorded results belong to the settings of today."""

import os
from pathlib import Path

import numpy as np
import pytest

from setrbm import ClassSetRBMCV
from setrbm.datasets import load_benchmark
from setrbm_lab import effects, results
from setrbm_lab.paper import DATASETS, PAPER_SYSTEMS
from setrbm_lab.plans import Plan
from setrbm_lab.runner import run
from setrbm_lab.systems import FORMER, ROWS, find_system

ROOT = Path(__file__).parents[2]
# Where the data sets are: the folder the user names, else the one beside the checkout.
DATA = Path(os.environ.get("SETRBM_DATA") or ROOT.parent / "shared" / "data" / "mil")


def test_every_row_of_the_paper_has_a_system():
    assert tuple(ROWS)[: len(PAPER_SYSTEMS)] == PAPER_SYSTEMS
    for quick in (False, True):
        for one in ROWS.values():
            assert hasattr(one.make(0, quick, "cpu", 1), "fit")


def test_a_row_is_found_in_any_case_and_otherwise_the_nearest_are_named():
    assert find_system("svm-MIGRAPH").name == "SVM-miGraph"
    assert find_system("xor* hybrid").name == "ClassSetRBM XOR* Hybrid"
    with pytest.raises(ValueError, match=r"Got 'ClassSetRBM XR\*'. The nearest: 'ClassSetRBM XOR\*'"):
        find_system("ClassSetRBM XR*")
    with pytest.raises(ValueError, match="All: 'ClassSetRBM XOR', "):
        find_system("zzzzzz")


def test_our_row_is_run_with_the_defaults_of_the_estimator():
    made = find_system("ClassSetRBMCV").make(3, False, "cpu", 1)
    assert made.get_params() == ClassSetRBMCV(engine="cpu", n_jobs=1, random_state=3).get_params()
    quick = find_system("ClassSetRBMCV").make(3, True, "cpu", 1).get_params()
    assert quick["max_epochs"] < max(np.ravel(made.max_epochs))


def test_the_row_with_the_former_defaults_differs_from_ours_in_pooling():
    former, ours = (find_system(name).make(3, False, "cpu", 1).get_params() for name in (FORMER, "ClassSetRBMCV"))
    changed = {name: value for name, value in former.items() if value != ours[name]}
    assert changed == {"pooling": "hard"}
    assert find_system(FORMER).make(3, True, "cpu", 1).pooling == "hard"


@pytest.mark.skipif(not (ROOT / "lab" / "results").exists(), reason="the results are not part of this copy")
@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("name", ["table1", "again/table1", "again/gpu/table1", "effects"])
def test_recorded_results_have_the_settings_of_today(name, dataset, tmp_path):
    """Resuming a finished run accepts the settings digest of every row, and finds nothing to do."""
    pytest.importorskip("sklearn", minversion="1.9", reason="the digest covers settings of scikit-learn's estimators")
    try:
        data = load_benchmark(dataset, DATA)
    except FileNotFoundError:
        pytest.skip(f"{dataset} is not here; set SETRBM_DATA to its folder")
    rows = [row for row in results.read(ROOT / "lab" / "results" / f"{name}.csv") if row.dataset == dataset]
    systems = {system.name: system for system in (*ROWS.values(), *effects.systems())}
    repeats = max(row.repeat for row in rows) + 1
    made = [systems[system] for system in dict.fromkeys(row.system for row in rows)]
    assert len(rows) == 10 * repeats * len(made)
    results.write(tmp_path / "results.csv", rows)
    plan = Plan(made, [dataset], lambda _: data, repeats=repeats, seed=rows[0].seed)
    assert run(plan, tmp_path / "results.csv").n_done == 0
