import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from setrbm import Bags, ClassSetRBMCV
from setrbm_lab import results
from setrbm_lab.plans import Plan, System
from setrbm_lab.runner import run
from setrbm_lab.runs import Record
from setrbm_lab.runs import read as read_runs


class Mean(ClassifierMixin, BaseEstimator):
    """Says 1 where the mean of a set is above that of the training sets; its seed decides ties, and it can fail."""

    def __init__(self, random_state=0, fail_in=(), pause=0.0):
        self.random_state = random_state
        self.fail_in = fail_in
        self.pause = pause

    def fit(self, X, y):
        time.sleep(self.pause)
        if len(X) in self.fail_in:
            raise ValueError("There are too many sets.")
        self.classes_ = np.unique(y)
        self.at_ = np.mean([one.mean() for one in X])
        self.best_params_ = {"at": float(self.at_), "seed": self.random_state}
        return self

    def predict_proba(self, X):
        p = 1.0 / (1.0 + np.exp([self.at_ - one.mean() for one in X]))
        return np.column_stack([1.0 - p, p])

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def load(name):
    rng = np.random.default_rng(len(name))
    sizes = rng.integers(1, 4, 23)
    y = np.arange(23) % 2
    X = rng.random((sizes.sum(), 2)) + np.repeat(y, sizes)[:, np.newaxis]
    return Bags(X, np.concatenate([[0], np.cumsum(sizes)])), y


def system(name="Mean", **settings):
    return System(name, lambda seed, quick, engine, n_jobs: Mean(seed, **settings))


def plan(*systems, **changes):
    return Plan(**{"systems": systems or (system(),), "datasets": ("one", "other"), "load": load, "folds": 5} | changes)


def without_time(rows):
    return [dataclasses.replace(row, seconds=0.0) for row in sorted(rows)]


def test_every_fold_of_every_data_set_is_run_and_saved(tmp_path):
    path, seen = tmp_path / "table.csv", []
    outcome = run(plan(repeats=2), path, seen.append)
    assert len(outcome.rows) == outcome.n_done == 20
    assert results.read(path) == outcome.rows == sorted(outcome.rows)
    assert [progress.n_done for progress in seen] == list(range(1, 21))
    assert seen[-1].seconds_left == 0.0
    assert {(row.dataset, row.repeat, row.fold) for row in outcome.rows} == {
        (d, r, f) for d in ("one", "other") for r in range(2) for f in range(5)
    }
    # Each test fold is compared with its own labels; the folds partition the sets.
    assert all(sum(row.n_test for row in outcome.rows if (row.dataset, row.repeat) == ("one", r)) == 23 for r in (0, 1))


def test_existing_results_are_not_made_again(tmp_path):
    path = tmp_path / "table.csv"
    whole = run(plan(), path)
    before = path.read_bytes()
    again = run(plan(), path)
    assert again.n_done == 0
    assert again.rows == whole.rows
    assert path.read_bytes() == before


def test_a_resumed_run_equals_a_run_in_one_go(tmp_path):
    whole = run(plan(n_jobs=2), tmp_path / "whole.csv")
    path = tmp_path / "parts.csv"
    results.write(path, whole.rows[3:9])
    parts = run(plan(), path)
    assert parts.n_done == len(whole.rows) - 6
    assert without_time(parts.rows) == without_time(whole.rows)


def test_another_seed_or_setting_does_not_overwrite(tmp_path):
    path = tmp_path / "table.csv"
    run(plan(), path)
    before = path.read_bytes()
    for other in (plan(seed=1), plan(system("Another"), seed=1)):
        with pytest.raises(ValueError, match="must hold results of one seed of the splits, 1. Got 0"):
            run(other, path)
    for other in (plan(system(pause=0.001)), plan(repeats=3)):
        with pytest.raises(ValueError, match="must have the same settings, data and splits. Got different ones for"):
            run(other, path)
    assert path.read_bytes() == before


def test_results_of_runs_of_different_kinds_are_not_mixed(tmp_path):
    path = tmp_path / "table.csv"
    run(plan(system("Quick"), repeats=1), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="Got different ones for Quick on one: .*Write to another folder"):
        run(plan(system("Whole"), repeats=2, others=[system("Quick")]), path)
    assert path.read_bytes() == before
    # Nor do rows of the same system on data sets that are not run now.
    with pytest.raises(ValueError, match="Got different ones for Quick on one"):
        run(plan(system("Quick", pause=0.001), datasets=("third",), repeats=1), path)
    assert path.read_bytes() == before
    alike = run(plan(system("Alike"), repeats=1, others=[system("Quick"), system("Never run")]), path)
    assert {row.system for row in alike.rows} == {"Alike"}
    assert {row.system for row in results.read(path)} == {"Quick", "Alike"}


def test_a_failed_fold_is_reported_and_tried_again(tmp_path):
    path = tmp_path / "table.csv"
    # 23 sets in five folds: training parts of 18 and of 19.
    outcome = run(plan(system(fail_in=(19,)), datasets=("one",), repeats=1), path)
    assert len(outcome.failures) + outcome.n_done == 5
    assert outcome.failures
    assert outcome.n_done
    assert outcome.failures[0].message == "ValueError: There are too many sets."
    again = run(plan(system(fail_in=(19,)), datasets=("one",), repeats=1), path)
    assert (again.n_done, len(again.failures)) == (0, len(outcome.failures))


def test_all_systems_see_the_same_splits_and_seeds(tmp_path):
    outcome = run(plan(system("a"), system("b"), repeats=1), tmp_path / "table.csv")
    a, b = ([row for row in outcome.rows if row.system == name] for name in "ab")
    assert without_time(dataclasses.replace(row, system="b") for row in a) == without_time(b)


def at_once(max_epochs, name="Ours"):
    # What the table calls "gpu" is done here by the engine that is always there.
    return System(
        name,
        lambda seed, quick, engine, n_jobs: ClassSetRBMCV(
            3, learning_rate=0.1, init_scale=0.3, max_epochs=max_epochs, n_jobs=1, random_state=seed
        ),
        side_by_side=True,
    )


def test_folds_trained_at_once_are_reported_and_saved_together(tmp_path, monkeypatch):
    seen, saved, add = [], [], results.RowWriter.add
    monkeypatch.setattr(results.RowWriter, "add", lambda self, rows: saved.append(len(rows)) or add(self, rows))
    outcome = run(plan(at_once(4), repeats=1, engine="gpu"), tmp_path / "gpu.csv", seen.append)
    assert {progress.note for progress in seen} == {"Ours on one", "Ours on other"}
    assert [progress.n_done for progress in seen] == [5, 10]
    assert saved == [5, 5]
    assert seen[-1].seconds_left == 0.0
    assert {row.engine for row in outcome.rows} == {"gpu"}
    alone = run(plan(at_once(4), repeats=1), tmp_path / "cpu.csv")
    compared = [dataclasses.replace(row, engine="gpu") for row in alone.rows]
    assert without_time(compared) == without_time(outcome.rows)


def test_tasks_trained_together_give_the_results_of_tasks_trained_alone(tmp_path):
    systems = [at_once(4), at_once(9, "Longer"), at_once(6, "Longest")]
    together = run(plan(*systems, repeats=1, engine="gpu"), tmp_path / "together.csv")
    alone = run(plan(*systems, repeats=1), tmp_path / "alone.csv")
    compared = [dataclasses.replace(row, engine="gpu") for row in alone.rows]
    assert without_time(together.rows) == without_time(compared)


def test_a_task_that_fails_leaves_the_others(tmp_path):
    def broken(seed, quick, engine, n_jobs):
        if seed:
            raise ValueError("no luck")
        return at_once(4).make(seed, quick, engine, n_jobs)

    systems = (System("Broken", broken, side_by_side=True), at_once(4))
    outcome = run(plan(*systems, repeats=1, engine="gpu"), tmp_path / "gpu.csv")
    assert {row.system for row in outcome.rows} == {"Ours"}
    assert len(outcome.rows) == outcome.n_done == 10
    assert {(one.system, one.message) for one in outcome.failures} == {("Broken", "ValueError: no luck")}
    assert len(outcome.failures) == 10


def test_a_report_that_raises_ends_the_run_and_fails_no_fold(tmp_path):
    def report(progress):
        raise BrokenPipeError("nobody listens")

    with pytest.raises(BrokenPipeError, match="nobody listens"):
        run(plan(at_once(4), repeats=1, engine="gpu"), tmp_path / "gpu.csv", report)


def test_a_worker_killed_once_costs_nothing(tmp_path):
    """The worker of the first task is killed at the first try; no other task fails for it."""

    def make(seed, quick, engine, n_jobs):
        marker = tmp_path / "killed"
        if seed and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return at_once(4).make(seed, quick, engine, n_jobs)

    systems = [System("Killed", make, side_by_side=True), *(at_once(4, f"Other {k}") for k in range(4))]
    summary = run(plan(*systems, datasets=("one",), repeats=1, engine="gpu"), tmp_path / "gpu.csv")
    assert (summary.n_done, summary.failures) == (25, [])


def test_a_worker_killed_twice_fails_the_folds_trained_at_once(tmp_path):
    def make(seed, quick, engine, n_jobs):
        if seed:
            os.kill(os.getpid(), signal.SIGKILL)
        return at_once(4).make(seed, quick, engine, n_jobs)

    one = System("Killed", make, side_by_side=True)
    summary = run(plan(one, datasets=("one",), repeats=1, engine="gpu"), tmp_path / "gpu.csv")
    assert len(summary.failures) == 5
    assert "a worker process was killed, perhaps out of memory" in summary.failures[0].message


def test_every_fold_has_its_own_seed_and_all_systems_share_it(tmp_path):
    seeds = {"Mean": [], "Other": []}

    def watched(name):
        def make(seed, quick, engine, n_jobs):
            seeds[name].append(seed)
            return Mean(seed)

        return System(name, make)

    run(plan(*map(watched, seeds), datasets=("one",), repeats=2), tmp_path / "table.csv")
    # The first is of the digest alone.
    assert seeds["Mean"] == seeds["Other"]
    assert len(set(seeds["Mean"][1:])) == len(seeds["Mean"][1:]) == 10


def wait_for(n_folds, path):
    """Wait until this number of folds is saved, with a time limit."""
    deadline = time.monotonic() + 120
    while len(results.read(path)) < n_folds and time.monotonic() < deadline:
        time.sleep(0.05)


def kill_after(n_folds, process, path):
    wait_for(n_folds, path)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# A shell starts background jobs with SIGINT ignored; the test must not depend on how it was started.
ENDLESS = """
import signal, sys; from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {tests!r})
from test_runner import at_once, plan, run
run(plan(at_once(4), at_once(10**7, "Endless"), repeats=1, engine="gpu"), Path(sys.argv[1]))
"""


def test_ctrl_c_ends_tasks_trained_together_and_keeps_finished_folds(tmp_path):
    path, code = tmp_path / "table.csv", ENDLESS.format(tests=str(Path(__file__).parent))
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stderr=subprocess.PIPE, text=True)
    try:
        wait_for(10, path)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert told.rstrip().endswith("KeyboardInterrupt")
    assert {row.system for row in results.read(path)} == {"Ours"}
    assert len(results.read(path)) == 10


SLOW = """
import sys; from pathlib import Path
sys.path.insert(0, {tests!r})
from test_runner import Record, plan, system, run
record = Record(Path(sys.argv[1]).with_name("runs.json"), "it")
run(plan(system(pause=0.15), repeats=1, n_jobs=2), Path(sys.argv[1]), None, record)
"""


def test_a_run_resumed_after_kill_9_gives_the_same_results(tmp_path):
    path, code = tmp_path / "table.csv", SLOW.format(tests=str(Path(__file__).parent))
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], start_new_session=True)
    kill_after(3, process, path)
    killed_with = len(results.read(path))
    assert 3 <= killed_with < 10
    # What it made until then is on record, but for what the last seconds brought.
    (entry,) = read_runs(tmp_path / "runs.json")
    assert 1 <= entry["folds"] <= killed_with
    assert not entry["finished"]
    rest = run(plan(system(pause=0.15), repeats=1), path)
    assert rest.n_done == 10 - killed_with
    whole = run(plan(system(pause=0.15), repeats=1), tmp_path / "whole.csv")
    assert without_time(rest.rows) == without_time(whole.rows)


def test_runs_are_recorded_beside_the_results(tmp_path):
    path, runs = tmp_path / "table.csv", tmp_path / "runs.json"
    outcome = run(plan(system(fail_in=(19,)), datasets=("one",)), path, record=Record(runs, "first"))
    assert outcome.failures
    (first,) = read_runs(runs)
    assert (first["command"], first["systems"], first["datasets"]) == ("first", ["Mean"], ["one"])
    # A failed fold made nothing.
    assert (first["folds"], first["finished"], first["engine"]) == (outcome.n_done, True, "cpu")
    assert first["seconds"] >= 0.0
    assert "numpy" in first["versions"]
    other = dataclasses.replace(system("Other"), library="scikit-learn")
    run(plan(other, engine="gpu"), path, record=Record(runs, "second"))
    assert [entry["command"] for entry in read_runs(runs)] == ["first", "second"]
    # What was asked for a GPU and did not need one was not made by one.
    assert read_runs(runs)[1]["engine"] == "scikit-learn"
    run(plan(other), path, record=Record(runs, "nothing new"))
    assert len(read_runs(runs)) == 2


def test_a_damaged_record_is_refused_before_any_work(tmp_path):
    (tmp_path / "runs.json").write_text("no list")
    with pytest.raises(ValueError, match=r"runs.json must be a JSON list of runs"):
        Record(tmp_path / "runs.json", "it")
    (tmp_path / "runs.json").write_text('[{"command": "it"}]')
    with pytest.raises(ValueError, match=r"must have command, .*Got one without machine"):
        Record(tmp_path / "runs.json", "it")
    run(plan(system(), datasets=("one",)), tmp_path / "table.csv", record=Record(tmp_path / "good.json", "it"))
    (entry,) = read_runs(tmp_path / "good.json")
    for change in ({"seconds": "long"}, {"versions": {}}, {"kind": {"slow": True}}):
        (tmp_path / "runs.json").write_text(json.dumps([entry | change]))
        with pytest.raises(ValueError, match=r"runs.json must be a JSON list of runs. Got something else"):
            Record(tmp_path / "runs.json", "it")
    (tmp_path / "runs.json").write_text(json.dumps([entry | {"versions": {"setrbm": "0.0.1"}}]))
    with pytest.raises(ValueError, match=r"one version of setrbm. Got 0.0.1 in .*Write to another folder"):
        Record(tmp_path / "runs.json", "it")


IDLE = SLOW.replace("pause=0.15), repeats=1, n_jobs=2", "pause=1.0), repeats=1, datasets=('one',), n_jobs=6")


@pytest.mark.parametrize("script", [SLOW, IDLE], ids=["busy", "more workers than folds"])
def test_workers_exit_when_their_parent_is_killed(script, tmp_path):
    path, code = tmp_path / "table.csv", script.format(tests=str(Path(__file__).parent))
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], start_new_session=True)
    wait_for(2, path)
    process.kill()
    process.wait()

    def still_there():
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    deadline = time.monotonic() + 60
    while still_there() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not still_there()


def test_a_plan_that_names_a_row_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must name every system and every data set once"):
        run(plan(system(), system()), tmp_path / "table.csv")
    assert not (tmp_path / "table.csv").exists()


class Killed(Mean):
    """Its worker is killed, as the system kills one that takes too much memory; once, or whenever it learns."""

    def __init__(self, random_state=0, fail_in=(), pause=0.0, once=None):
        super().__init__(random_state, fail_in, pause)
        self.once = once

    def fit(self, X, y):
        if self.once is None or not os.path.exists(self.once):
            if self.once is not None:
                Path(self.once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


def killed(once):
    return System("Killed", lambda seed, quick, engine, n_jobs: Killed(seed, once=once))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_worker_that_is_killed_once_only_costs_time(tmp_path):
    path = tmp_path / "table.csv"
    outcome = run(plan(killed(str(tmp_path / "killed")), datasets=("one",), repeats=1, n_jobs=2), path)
    assert outcome.n_done == 5
    assert not outcome.failures


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_folds_whose_workers_are_killed_twice_fail_and_the_others_go_on(tmp_path):
    path = tmp_path / "table.csv"
    outcome = run(plan(killed(None), system(), datasets=("one",), repeats=1, n_jobs=2), path)
    assert len(outcome.failures) == 5
    assert "a worker process was killed, perhaps out of memory" in outcome.failures[0].message
    assert [row.system for row in results.read(path)] == ["Mean"] * 5
