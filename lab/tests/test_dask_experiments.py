"""Experiments on a Dask cluster: the results of one machine, small tasks, and folds that kill their workers."""

import dataclasses
import pickle
import shutil

import cloudpickle
import numpy as np
import pytest

from cluster_jobs import Mean, make_mean, make_rbm
from clusters import cluster_of, killing, marks, settings
from setrbm import Bags, ClassSetRBM
from setrbm.dask.cluster import Cluster, Failed
from setrbm.dask.folds import predict_folds
from setrbm.datasets import load_musk1
from setrbm.estimators.settings import DivergenceError
from setrbm.evaluation.splits import repeated_folds, system_seed
from setrbm_lab import results
from setrbm_lab.cluster import _data_of, _job, run_plan
from setrbm_lab.plans import Plan, System
from setrbm_lab.runner import CellTask, run, seen_by
from setrbm_lab.trials import Trial

pytestmark = marks


def load_plan_data(name):
    rng = np.random.default_rng(len(name))
    sizes = rng.integers(1, 4, 40)
    y = np.arange(40) % 2
    X = rng.random((sizes.sum(), 200)) + np.repeat(y, sizes)[:, np.newaxis]
    return Bags(X, np.concatenate([[0], np.cumsum(sizes)])), y


def plan_of(*systems, **changes):
    given = {
        "systems": systems,
        "datasets": ("one", "other"),
        "load": load_plan_data,
        "folds": 5,
        "repeats": 1,
        "curves": True,
    }
    return Plan(**(given | changes))


def without_time(rows):
    return [dataclasses.replace(row, seconds=0.0) for row in sorted(rows)]


def test_an_experiment_has_the_results_of_one_machine(two, tmp_path):
    plan = plan_of(System("Mean", make_mean), System("grid", make_rbm))
    here = run(plan, tmp_path / "here.csv")
    seen = []
    there = run_plan(plan, tmp_path / "there.csv", client=two, report=seen.append)
    assert without_time(there.rows) == without_time(here.rows)
    assert len(there.rows) == there.n_done == len(seen) == 20
    again = run_plan(plan, tmp_path / "there.csv", client=two)
    assert again.n_done == 0
    # What is missing is run, and nothing else.
    results.write(tmp_path / "parts.csv", there.rows[:3])
    shutil.copy(tmp_path / "there-curves.csv", tmp_path / "parts-curves.csv")
    assert run_plan(plan, tmp_path / "parts.csv", client=two).n_done == 17


def test_a_fold_that_kills_its_workers_is_a_failure_with_its_name(tmp_path):
    seeds = []

    def make(seed, quick, engine, n_jobs):
        return Mean(deadly_seed=seeds[2] if seeds else None, random_state=seed)

    _, y = load_plan_data("one")
    seeds += [system_seed(0, split) for split in repeated_folds(y, 5, 1, 0)]
    with settings(allowed_failures=1), cluster_of(2) as client:
        plan = plan_of(System("Deadly", make), System("Mean", make_mean), datasets=("one",))
        found = run_plan(plan, tmp_path / "table.csv", client=client)
    assert found.n_done == 9
    (failure,) = found.failures
    assert (failure.system, failure.dataset, failure.fold) == ("Deadly", "one", 2)
    assert failure.message == (
        "2 workers died while running this task alone, perhaps out of memory. Give the workers more memory, or run it "
        "on one machine."
    )


def test_a_fold_whose_worker_is_killed_is_run_again(two, tmp_path):
    """Workers die in the middle of a fold, some of them with the data that all folds share."""
    died = tmp_path / "died"

    def make(seed, quick, engine, n_jobs):
        return Mean(dies_once=str(died), random_state=seed)

    def make_slow(seed, quick, engine, n_jobs):
        return Mean(seconds=0.4, random_state=seed)

    plan = plan_of(System("Mean", make), System("Slow", make_slow))
    with settings(allowed_failures=1000), cluster_of(2) as client, killing(client, 1.5) as killed:
        found = run_plan(plan, tmp_path / "table.csv", client=client)
    assert died.exists()
    assert killed
    assert not found.failures
    assert found.n_done == 20
    died.unlink()
    again = plan_of(System("Mean", make_mean), System("Slow", make_slow))
    here = run(again, tmp_path / "here.csv")
    assert [one.accuracy for one in without_time(found.rows)] == [one.accuracy for one in without_time(here.rows)]


def test_a_task_is_small_and_data_are_sent_once(two, tmp_path, monkeypatch):
    sent, submitted, submit = [], [], Cluster._submit

    def counted(self, carrier, function, job):
        *own, data = job
        before = data.future
        future = submit(self, carrier, function, job)
        submitted.append(len(cloudpickle.dumps(own)))
        sent.extend([data.payload] if before is not data.future else [])
        return future

    monkeypatch.setattr(Cluster, "_submit", counted)
    plan = plan_of(System("Mean", make_mean), System("grid", make_rbm))
    run_plan(plan, tmp_path / "table.csv", client=two)
    assert len(sent) == 2
    assert len(submitted) == 20
    assert max(submitted) < 50_000 < min(map(len, sent))


def test_folds_of_a_table_are_small_tasks():
    from setrbm_lab.commands import Experiment, Wanted
    from setrbm_lab.commands import plan_of as plan_of_table

    plan, _ = plan_of_table(Experiment.TABLE1, Wanted(datasets=["musk1"]))
    data = plan.load("musk1")
    split = plan.splits_of("musk1", data[1])[0]
    for system in plan.systems:
        trial = Trial(system.name, "musk1", seen_by(system, data[0]), data[1], 0, "digest", "cpu")
        assert len(cloudpickle.dumps(_job(CellTask(data, trial, system, [split], plan), split))) < 50_000
    assert len(pickle.dumps(_data_of(CellTask(data, trial, system, [split], plan)))) > 50_000


def test_a_plan_for_a_gpu_is_refused(two, tmp_path):
    with pytest.raises(ValueError, match="folds are trained on the CPU. Got a plan with engine='gpu'."):
        run_plan(plan_of(System("Mean", make_mean), engine="gpu"), tmp_path / "table.csv", client=two)


def test_cross_validation_has_the_predictions_of_one_machine(two):
    bags, y = load_musk1()
    splits = repeated_folds(y, 3, 1, 0)
    model = ClassSetRBM(max_epochs=3, random_state=0)
    seen = []
    found = predict_folds(model, bags, y, splits, client=two, on_fold=seen.append)
    for split, log_p in zip(splits, found, strict=True):
        expected = ClassSetRBM(max_epochs=3, random_state=0).fit(bags[split.train], y[split.train])
        np.testing.assert_array_equal(log_p, expected.predict_log_proba(bags[split.test]))
    assert seen == [1, 2, 3]
    # The model that was given is not changed.
    assert not hasattr(model, "W_")


def test_folds_that_fail_do_not_stop_the_others(two):
    bags, y = load_musk1()
    splits = repeated_folds(y, 3, 1, 0)
    found = predict_folds(ClassSetRBM(max_epochs=-3), bags, y, splits, client=two)
    assert all(isinstance(one, Failed) and "max_epochs" in one.reason for one in found)
    assert all(isinstance(one.error, ValueError) for one in found)
    found = predict_folds(ClassSetRBM(learning_rate=1e30, max_epochs=3), bags, y, splits, client=two)
    assert all(isinstance(one.error, DivergenceError) for one in found)
