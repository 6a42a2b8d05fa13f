"""The two files of an experiment: a fold is finished when both have it."""

import dataclasses

import pytest

from setrbm import ClassSetRBMCV
from setrbm.evaluation.splits import repeated_folds
from setrbm_lab import results
from setrbm_lab.curves import RECALLS, Curve, curves_path
from setrbm_lab.fold_files import FoldFiles
from setrbm_lab.plans import Plan, System
from setrbm_lab.runner import run
from test_runner import load, system, without_time


def plan(*systems, **changes):
    usual = {"datasets": ("one",), "load": load, "folds": 5, "repeats": 1, "curves": True}
    return Plan(**{"systems": systems or (system(),)} | usual | changes)


def curves_of(path):
    return results.read_rows(curves_path(path), Curve)


def without_times(curves):
    return [dataclasses.replace(curve, predict_seconds=0.0) for curve in sorted(curves)]


def test_every_fold_has_a_curve(tmp_path):
    path = tmp_path / "table.csv"
    rows = run(plan(), path).rows
    assert [curve.key for curve in curves_of(path)] == [row.key for row in rows]
    for row, curve in zip(rows, curves_of(path), strict=True):
        assert 0.0 < curve.area <= row.accuracy
        assert curve.predict_seconds >= 0.0
        assert len(curve.precisions) == len(RECALLS)
    assert run(plan(), path).n_done == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("lost", ["curve", "fold"])
def test_a_run_killed_between_the_two_files_is_resumed(lost, n_jobs, tmp_path):
    path = tmp_path / "table.csv"
    whole, curves = run(plan(), path).rows, curves_of(path)
    if lost == "fold":
        results.write(path, whole[:2])
    else:
        results.write(curves_path(path), curves[:2], Curve)
    assert len(FoldFiles(path, with_curves=True).known()) == 2
    again = run(plan(n_jobs=n_jobs), path)
    assert again.n_done == 3
    # No line is there twice, and nothing but the times differs.
    assert without_time(again.rows) == without_time(results.read(path)) == without_time(whole)
    assert without_times(curves_of(path)) == without_times(curves)


def test_a_curve_is_on_disk_before_its_fold(tmp_path, monkeypatch):
    """Else a kill after the fold would leave an old curve beside it."""
    path, added, add = tmp_path / "table.csv", [], results.RowWriter.add

    def told(self, rows):
        added.append(type(rows[0]).__name__)
        add(self, rows)

    monkeypatch.setattr(results.RowWriter, "add", told)
    run(plan(), path)
    assert added == ["Curve", "Fold"] * 5


def test_lines_made_again_before_a_kill_count_once(tmp_path):
    path = tmp_path / "table.csv"
    whole = run(plan(), path).rows
    results.RowWriter(path).add(whole[:2])
    assert list(FoldFiles(path, with_curves=True).known().values()) == whole
    assert run(plan(), path).rows == whole == results.read(path)


def test_a_fold_without_a_curve_fails_alone(tmp_path):
    """Though it was trained at once with the others."""

    class Silent(ClassSetRBMCV):
        """Answers for its log loss, but not again for its curve, if there are four test sets."""

        n_asked = 0

        def predict(self, X):
            return super().predict_proba(X).argmax(axis=1)

        def predict_proba(self, X):
            self.n_asked += 1
            if len(X) == 4 and self.n_asked == 2:
                raise ValueError("no probabilities twice")
            return super().predict_proba(X)

    def make(seed, quick, engine, n_jobs):
        return Silent(3, learning_rate=0.1, init_scale=0.3, max_epochs=4, n_jobs=1, random_state=seed)

    outcome = run(plan(System("Silent", make, side_by_side=True), engine="gpu"), tmp_path / "table.csv")
    n_short = sum(len(split.test) == 4 for split in repeated_folds(load("one")[1], 5, 1))
    assert 0 < n_short < 5
    assert {one.message for one in outcome.failures} == {"ValueError: no probabilities twice"}
    assert len(outcome.failures) == n_short
    assert outcome.n_done == len(curves_of(tmp_path / "table.csv")) == 5 - n_short


def test_without_curves_there_is_one_file(tmp_path):
    run(plan(curves=False), tmp_path / "table.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv", "table.csv.lock"]


def test_a_plan_may_bring_its_own_splits_and_views(tmp_path):
    def halves(dataset, y):
        assert dataset == "one"
        return [dataclasses.replace(split, test=split.test[:2]) for split in repeated_folds(y, 5, 1)]

    shown = []

    def view(data):
        shown.append(data)
        return data["sets"]

    def load_both(name):
        bags, y = load(name)
        return {"sets": bags}, y

    one = dataclasses.replace(system(), view=view)
    rows = run(plan(one, splits=halves, load=load_both), tmp_path / "table.csv").rows
    assert [row.n_test for row in rows] == [2] * 5
    assert set(shown[0]) == {"sets"}
