"""Work on a Dask cluster: real workers on 127.0.0.1, killed, stopped, too small, of another version, or missing."""

import dataclasses
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import cloudpickle
import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.pipeline import make_pipeline

import setrbm
from cluster_jobs import Mean, deadly, doubled, in_vain, make_mean, make_rbm
from setrbm import Bags, ClassSetRBM, ClassSetRBMCV, save
from setrbm.dask import VersionError, connected, read_documents, run_plan, score_files
from setrbm.dask.cluster import Cluster, Lost, fingerprint
from setrbm.dask.experiments import _data_of, _job, predict_folds
from setrbm.dask.scoring import RECEIPTS
from setrbm.datasets import load_musk1, make_mail_like, read_bags, write_csv, write_parquet
from setrbm.datasets.predicted import as_csv, predicted
from setrbm.documents import Reading
from setrbm.documents import read_documents as read_here
from setrbm.documents.generate import generate_mail
from setrbm.estimators import PageWords
from setrbm.evaluation import results
from setrbm.evaluation.plans import Plan, System
from setrbm.evaluation.runner import Task, run, seen_by
from setrbm.evaluation.splits import repeated_folds, system_seed
from setrbm.evaluation.trials import Trial
from setrbm.shards import write_shard
from test_cli import run as command

# Each cluster takes memory and cores: one after the other. Workers that are killed on purpose say so in warnings.
pytestmark = [pytest.mark.xdist_group("dask"), pytest.mark.filterwarnings("ignore")]
N_FILES = 6


@contextmanager
def cluster_of(n, **settings):
    """A cluster of n workers with one thread each, without a dashboard."""
    given = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 60} | settings
    with LocalCluster(n_workers=n, **given) as local, Client(local, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def two():
    with cluster_of(2) as client:
        yield client


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A model, and files to score."""
    folder = tmp_path_factory.mktemp("work")
    bags, y = load_musk1()
    save(ClassSetRBM(max_epochs=3, random_state=0).fit(bags, y), folder / "model.safetensors")
    for k in range(N_FILES):
        write_csv(folder / f"part-{k}.csv", bags[15 * k : 15 * k + 15])
    return folder


def model_of(work):
    return work / "model.safetensors"


def inputs_of(work):
    return sorted(work.glob("part-*.csv"))


def contents(folder):
    """The outputs; a writer that was killed leaves a hidden file behind."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name[0] != "."}


def pids(client):
    return [info["pid"] for info in client.run(lambda: {"pid": os.getpid()}).values()]


# --- running functions ---


def test_every_job_comes_back_with_its_position(two):
    found = dict(Cluster(two).run(doubled, [(k,) for k in range(50)]))
    assert found == {k: 2 * k for k in range(50)}


def test_an_error_is_an_answer_and_the_others_go_on(two):
    assert dict(Cluster(two).run(in_vain, [(7,)])) == {0: Lost("ValueError: no luck with 7")}


def test_a_task_that_always_kills_its_worker_is_lost_and_the_others_are_not():
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), cluster_of(2) as client:
        begin = time.monotonic()
        found = dict(Cluster(client).run(deadly, [(k,) for k in range(6)]))
        assert time.monotonic() - begin < 60.0
    assert found.pop(1) == Lost("2 workers ended while working on it, and on nothing else, perhaps out of memory")
    assert found == {k: k for k in range(6) if k != 1}


def test_a_task_that_waits_where_another_kills_the_worker_is_done_in_the_end():
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), cluster_of(1) as client:
        found = dict(Cluster(client).run(deadly, [(1,), (2,), (3,)]))
    assert (found[1], found[2]) == (2, 3)
    assert found[0] == Lost("1 worker ended while working on it, and on nothing else, perhaps out of memory")


def test_a_worker_that_hangs_is_given_up():
    with dask.config.set({"distributed.scheduler.worker-ttl": "3s"}), cluster_of(2) as client:
        stopped = pids(client)[0]
        jobs = Cluster(client).run(time.sleep, [(0.05,) for _ in range(20)])
        found = dict([next(jobs)])
        os.kill(stopped, signal.SIGSTOP)
        found |= dict(jobs)
    assert found == dict.fromkeys(range(20))


def test_without_workers_the_message_says_how_to_start_some():
    with (
        cluster_of(0, processes=False) as client,
        pytest.raises(TimeoutError, match=r"must have workers\. .* none for 0\.5 seconds\. Start some: dask worker"),
    ):
        dict(Cluster(client, patience=0.5).run(doubled, [(1,)]))


def test_workers_that_all_leave_are_not_waited_for_for_ever():
    with cluster_of(1, processes=False) as client:
        jobs = Cluster(client, patience=1.0).run(time.sleep, [(0.1,) for _ in range(100)])
        next(jobs)
        client.cluster.scale(0)
        with pytest.raises(TimeoutError, match="must have workers"):
            dict(jobs)


def test_work_may_begin_before_the_first_worker_is_there():
    with cluster_of(0, processes=False) as client:
        timer = threading.Timer(1.0, client.cluster.scale, (1,))
        timer.start()
        assert dict(Cluster(client).run(doubled, [(4,)])) == {0: 8}
        timer.join()


def test_shared_data_survive_the_worker_that_has_them():
    with cluster_of(1) as client:
        on = Cluster(client)
        data = on.share(list(range(1000)))
        assert dict(on.run(len, [(data,)])) == {0: 1000}
        os.kill(pids(client)[0], signal.SIGKILL)
        assert dict(on.run(len, [(data,)])) == {0: 1000}


def test_a_client_must_be_there():
    with pytest.raises(ValueError, match="There must be a client of a Dask cluster. Got none."):
        Cluster(None)


def test_a_scheduler_must_be_there(tmp_path):
    def connect(cluster):
        with connected(cluster, patience=1.0):
            pass

    with pytest.raises(ConnectionError, match="There must be a Dask scheduler at 'tcp://127.0.0.1:1'"):
        connect("tcp://127.0.0.1:1")
    with pytest.raises(FileNotFoundError, match="a scheduler file, or 'local'. There is no file"):
        connect(str(tmp_path / "none.json"))


# --- versions ---


@contextmanager
def other_worker(address, folder):
    """A worker whose setrbm differs in one line."""
    shutil.copytree(Path(setrbm.__file__).parent, folder / "setrbm", ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "setrbm" / "_text.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    environment = os.environ | {"PYTHONPATH": str(folder)}
    arguments = [address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", *arguments], env=environment, cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_a_worker_of_another_version_is_refused(tmp_path):
    message = "must have the version of setrbm that sends the work, .* on the worker tcp://"
    with cluster_of(0) as client, other_worker(client.scheduler.address, tmp_path):
        jobs = Cluster(client).run(time.sleep, [(0.0,)])
        with pytest.raises(VersionError, match=message):
            dict(jobs)


def test_a_worker_of_another_version_that_joins_late_is_refused(tmp_path):
    with cluster_of(1) as client:
        jobs = Cluster(client).run(time.sleep, [(0.1,) for _ in range(400)])
        next(jobs)
        message = f"Got {setrbm.__version__}, source .* on the worker tcp://"
        with other_worker(client.scheduler.address, tmp_path), pytest.raises(VersionError, match=message):
            dict(jobs)


def test_the_fingerprint_names_the_version():
    assert fingerprint().startswith(f"{setrbm.__version__}, source ")


# --- scoring ---


def test_outputs_are_the_predictions_of_one_process(work, two, tmp_path):
    model = setrbm.load(model_of(work))
    seen = []
    found = score_files(
        model_of(work), inputs_of(work), tmp_path / "out", client=two, probabilities=True, format="csv",
        on_receipt=seen.append,
    )  # fmt: skip
    assert [Path(one.input) for one in found] == inputs_of(work)
    assert sorted(one.output for one in seen) == sorted(one.output for one in found)
    for one in found:
        assert one.is_new
        assert not one.failed
        expected = predicted(model, read_bags(one.input)).columns("bag", "label", True)
        assert Path(one.output).read_text() == as_csv(expected)
        assert one.n_sets == len(expected["bag"])
    assert len(contents(tmp_path / "out")) == N_FILES


def other_kinds(folder):
    """One file of each other kind, with the model for it and the number of its sets."""
    bags, y = load_musk1()
    dense = ClassSetRBM(max_epochs=2, random_state=0).fit(bags, y)
    write_parquet(folder / "dense.parquet", bags[:20])
    write_shard(folder / "shard.npz", bags[:30], y[:30])
    mail, labels = make_mail_like(40, n_classes=3, random_state=0)
    sparse = ClassSetRBM(max_epochs=2, random_state=0).fit(Bags(mail.X, mail.offsets), labels)
    write_parquet(folder / "lists.parquet", mail)
    lines = [f'{{"bag": {k}, "pages": ["invoice amount {k % 2}", "letter"]}}' for k in range(12)]
    (folder / "pages.jsonl").write_text("\n".join(lines))
    texts = [["invoice amount", "letter"], ["claim damage", "letter"]] * 6
    words = make_pipeline(PageWords(), ClassSetRBMCV.for_text(n_hidden=5, max_epochs=2, n_fits=1, random_state=0))
    words.fit(texts, np.array(["a", "b"] * 6))
    (folder / "rows.svm").write_text("".join(f"0 qid:{k} 0:1 3:2\n" for k in range(9)))
    small = ClassSetRBM(max_epochs=2, random_state=0).fit([np.eye(4)[:2], np.eye(4)[2:]] * 4, [0, 1] * 4)
    return [
        ("dense.parquet", dense, 20), ("shard.npz", dense, 30), ("lists.parquet", sparse, 40),
        ("pages.jsonl", words, 12), ("rows.svm", small, 9),
    ]  # fmt: skip


def test_every_kind_of_file_is_scored(two, tmp_path):
    import pyarrow.parquet

    for name, model, n in other_kinds(tmp_path):
        save(model, tmp_path / f"{name}.safetensors")
        (one,) = score_files(tmp_path / f"{name}.safetensors", [tmp_path / name], tmp_path / "out", client=two)
        assert (one.failed, one.n_sets) == ("", n), name
        table = pyarrow.parquet.read_table(one.output)
        assert table.column_names == ["bag", "label", "probability"]
        assert table.num_rows == n
    # A model of words is not for vectors.
    (one,) = score_files(tmp_path / "pages.jsonl.safetensors", [tmp_path / "rows.svm"], tmp_path / "out", client=two)
    assert "must be of the kind the model was fitted to: page texts" in one.failed


def test_the_same_bytes_from_any_workers_and_threads(work, tmp_path):
    found = []
    for n, settings in ((1, {}), (2, {}), (3, {}), (1, {"processes": False, "threads_per_worker": 2})):
        with cluster_of(n, **settings) as client:
            score_files(model_of(work), inputs_of(work), tmp_path / f"{len(found)}", client=client)
            found.append(contents(tmp_path / f"{len(found)}"))
    assert len(found[0]) == N_FILES
    assert all(one == found[0] for one in found)


def test_outputs_that_are_there_are_kept_and_need_no_cluster(work, two, tmp_path):
    first = score_files(model_of(work), inputs_of(work), tmp_path, client=two)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    with cluster_of(0, processes=False) as nobody:
        again = score_files(model_of(work), inputs_of(work), tmp_path, client=nobody)
    assert [dataclasses.replace(one, is_new=True) for one in again] == first
    assert not any(one.is_new for one in again)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times


def test_changed_inputs_lost_outputs_and_damaged_receipts_are_made_again(work, two, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for path in inputs_of(work):
        shutil.copy(path, folder)
    paths = sorted(folder.iterdir())
    first = score_files(model_of(work), paths, tmp_path / "out", client=two)
    before = contents(tmp_path / "out")
    shutil.copy(paths[1], paths[0])
    Path(first[2].output).unlink()
    (tmp_path / "out" / RECEIPTS / f"{Path(first[3].output).name}.json").write_text("{")
    again = score_files(model_of(work), paths, tmp_path / "out", client=two)
    assert [one.is_new for one in again] == [True, False, True, True, False, False]
    after = contents(tmp_path / "out")
    changed = Path(first[0].output).name
    assert {name for name in before if before[name] != after[name]} == {changed}
    assert after.keys() == before.keys()


def test_damaged_missing_and_empty_inputs_are_named_and_the_others_scored(work, two, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 nothing")
    (tmp_path / "damaged.npz").write_bytes(b"PK nothing")
    (tmp_path / "what.xyz").write_bytes(b"")
    bad = [tmp_path / name for name in ("empty.csv", "damaged.parquet", "damaged.npz", "what.xyz", "missing.csv")]
    found = score_files(model_of(work), [*bad, *inputs_of(work)], tmp_path / "out", client=two)
    reasons = [one.failed for one in found]
    assert not any(reasons[5:])
    parts = "It is empty", "must be a Parquet file", "must be an undamaged shard", "must end with", "No such file"
    assert all(part in reason for part, reason in zip(parts, reasons[:5], strict=True))
    assert len(contents(tmp_path / "out")) == N_FILES


def test_bad_arguments_are_refused_before_any_work(work, two, tmp_path):
    paths = inputs_of(work)
    with pytest.raises(ValueError, match="Every input must be named once. Got several times: .*part-0.csv"):
        score_files(model_of(work), [paths[0], paths[0]], tmp_path, client=two)
    with pytest.raises(ValueError, match="format must be one of 'parquet', 'csv'. Got 'xlsx'."):
        score_files(model_of(work), paths, tmp_path, client=two, format="xlsx")
    with pytest.raises(FileNotFoundError):
        score_files(work / "none.safetensors", paths, tmp_path, client=two)


def kill_at_receipts(client, folder, kills):
    """Kill a worker whenever receipts have come, a few times: mid-file, or between the receipt and its gathering."""
    seen = 0
    while kills:
        now = len(list((folder / RECEIPTS).glob("*.json"))) if folder.exists() else 0
        if now > seen:
            seen = now
            try:
                os.kill(pids(client)[now % 2], signal.SIGKILL)
                kills -= 1
            except (OSError, IndexError):
                pass
        time.sleep(0.005)


def many_files(work, folder, n):
    folder.mkdir()
    for k in range(n):
        shutil.copy(work / f"part-{k % N_FILES}.csv", folder / f"{k:03d}.csv")
    return sorted(folder.iterdir())


def check_kills(work, tmp_path, n_files, kills):
    paths = many_files(work, tmp_path / "in", n_files)
    with dask.config.set({"distributed.scheduler.allowed-failures": 10 * kills}), cluster_of(2) as client:
        killer = threading.Thread(target=kill_at_receipts, args=(client, tmp_path / "out", kills), daemon=True)
        killer.start()
        found = score_files(model_of(work), paths, tmp_path / "out", client=client)
    assert not any(one.failed for one in found)
    made = contents(tmp_path / "out")
    assert len(made) == n_files
    with cluster_of(1, processes=False) as client:
        score_files(model_of(work), paths, tmp_path / "again", client=client)
    assert made == contents(tmp_path / "again")


def test_nothing_is_lost_or_doubled_when_workers_are_killed(work, tmp_path):
    check_kills(work, tmp_path, 30, 3)


@pytest.mark.long
def test_nothing_is_lost_or_doubled_in_many_kills(work, tmp_path):
    check_kills(work, tmp_path, 400, 40)


def test_a_killed_client_makes_only_what_is_missing(work, tmp_path):
    paths = many_files(work, tmp_path / "in", 60)
    code = (
        "import sys; from distributed import Client; from setrbm.dask import score_files\n"
        "client = Client(sys.argv[1]); score_files(sys.argv[2], sys.argv[4:], sys.argv[3], client=client)"
    )
    with cluster_of(2) as client:
        arguments = [client.scheduler.address, str(model_of(work)), str(tmp_path / "out"), *map(str, paths)]
        process = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.DEVNULL)
        while len(list((tmp_path / "out" / RECEIPTS).glob("*.json"))) < 3:
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
        process.wait()
        time.sleep(1.0)
        done = len(list((tmp_path / "out" / RECEIPTS).glob("*.json")))
        found = score_files(model_of(work), paths, tmp_path / "out", client=client)
    assert sum(not one.is_new for one in found) >= done >= 3
    assert not any(one.failed for one in found)
    assert len(contents(tmp_path / "out")) == 60


def test_two_clients_may_fill_one_folder(work, tmp_path):
    paths = many_files(work, tmp_path / "in", 20)
    with cluster_of(2) as client, Client(client.scheduler.address, set_as_default=False) as other:
        found = {}

        def score(name, one):
            found[name] = score_files(model_of(work), paths, tmp_path / "out", client=one)

        threads = [threading.Thread(target=score, args=pair) for pair in (("first", client), ("second", other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        score_files(model_of(work), paths, tmp_path / "alone", client=client)
    assert not any(one.failed for one in (*found["first"], *found["second"]))
    assert contents(tmp_path / "out") == contents(tmp_path / "alone")


def test_more_workers_than_files(work, tmp_path):
    with cluster_of(3) as client:
        found = score_files(model_of(work), inputs_of(work)[:1], tmp_path, client=client)
    assert [one.failed for one in found] == [""]


def test_a_file_that_does_not_fit_into_memory_says_smaller_shards(work, tmp_path):
    """Zeros take little space on disk and much in memory."""
    bags, _ = load_musk1()
    n = 600_000
    write_parquet(tmp_path / "large.parquet", Bags(np.zeros((n, bags.shape[1]), np.float32), np.arange(n + 1)))
    settings = {"distributed.scheduler.allowed-failures": 0}
    with dask.config.set(settings), cluster_of(1, memory_limit="600MB") as client:
        found = score_files(
            model_of(work), [tmp_path / "large.parquet", *inputs_of(work)], tmp_path / "out", client=client
        )
    assert (
        "perhaps out of memory. Use smaller shards (50 to 100 MB), or give the workers more memory" in found[0].failed
    )
    assert not any(one.failed for one in found[1:])


def test_what_killed_writers_left_is_deleted_after_a_day(work, two, tmp_path):
    for name, age in ((".setrbm-old.tmp", 90_000), (".setrbm-new.tmp", 10)):
        (tmp_path / name).write_text("half")
        os.utime(tmp_path / name, (time.time() - age, time.time() - age))
    score_files(model_of(work), inputs_of(work)[:1], tmp_path, client=two)
    assert [path.name for path in tmp_path.glob(".*")] == [".setrbm-new.tmp"]


def test_a_model_that_differs_on_the_worker_is_refused(work, two, tmp_path, monkeypatch):
    monkeypatch.setattr("setrbm.dask.scoring.file_digest", lambda path: "0" * 64)
    (one,) = score_files(model_of(work), inputs_of(work)[:1], tmp_path, client=two)
    assert "is another one on this worker: its digest is" in one.failed


# --- experiments ---


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
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), cluster_of(2) as client:
        plan = plan_of(System("Deadly", make), System("Mean", make_mean), datasets=("one",))
        found = run_plan(plan, tmp_path / "table.csv", client=client)
    assert found.n_done == 9
    (failure,) = found.failures
    assert (failure.system, failure.dataset, failure.fold) == ("Deadly", "one", 2)
    assert failure.message.startswith("2 workers ended while working on it, and on nothing else")


def test_a_task_is_small_and_data_are_sent_once(two, tmp_path, monkeypatch):
    sent, share = [], Cluster.share

    def counted(self, value):
        sent.append(value)
        return share(self, value)

    monkeypatch.setattr(Cluster, "share", counted)
    plan = plan_of(System("Mean", make_mean), System("grid", make_rbm))
    run_plan(plan, tmp_path / "table.csv", client=two)
    assert len(sent) == 2
    data = load_plan_data("one")
    (split, *_) = plan.splits_of("one", data[1])
    trial = Trial("grid", "one", seen_by(plan.systems[1], data[0]), data[1], 0, "digest", "cpu")
    job = _job(Task(data, trial, plan.systems[1], [split], plan), split)
    assert len(cloudpickle.dumps(job)) < 50_000 < len(pickle.dumps(sent[0]))


def test_folds_of_a_table_are_small_tasks():
    from setrbm.reproduction.commands import Experiment, Wanted
    from setrbm.reproduction.commands import plan_of as plan_of_table

    plan, _ = plan_of_table(Experiment.TABLE1, Wanted(datasets=["musk1"]))
    data = plan.load("musk1")
    split = plan.splits_of("musk1", data[1])[0]
    for system in plan.systems:
        trial = Trial(system.name, "musk1", seen_by(system, data[0]), data[1], 0, "digest", "cpu")
        assert len(cloudpickle.dumps(_job(Task(data, trial, system, [split], plan), split))) < 50_000
    assert len(pickle.dumps(_data_of(Task(data, trial, system, [split], plan)))) > 50_000


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
    with pytest.raises(RuntimeError, match="Fold . of 3 failed: "):
        predict_folds(ClassSetRBM(max_epochs=-3), bags, y, splits, client=two)


# --- documents ---


@pytest.fixture(scope="module")
def mail(tmp_path_factory):
    """Mail with text layers, a damaged file among it."""
    folder = tmp_path_factory.mktemp("mail")
    generate_mail(folder, 40, n_classes=3, pages_per_set=1.2, formats=("pdf", "eml"), born_digital=1.0)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    return folder


def plain(documents):
    return [document.to_json() for document in documents]


def test_documents_are_read_as_on_one_machine(mail, two, tmp_path):
    reading = Reading(ocr="never")
    seen = []
    found = read_documents(
        mail, output=tmp_path, client=two, reading=reading, on_progress=lambda *counts: seen.append(counts)
    )
    assert plain(found) == plain(read_here(mail, reading=reading))
    assert seen[-1][:2] == (41, 41)
    # What was read is kept; a document that changed is read again.
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    with cluster_of(0, processes=False) as nobody:
        assert plain(read_documents(mail, output=tmp_path, client=nobody, reading=reading)) == plain(found)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times
    os.utime(mail / found[0].id)
    read_documents(mail, output=tmp_path, client=two, reading=reading)
    assert len(list(tmp_path.iterdir())) == len(times) + 1
    few = read_documents(mail, [found[3].id, found[1].id], output=tmp_path, client=two, reading=reading)
    assert few.ids.tolist() == [found[3].id, found[1].id]


def test_a_folder_of_documents_is_an_input_too(mail, two, tmp_path):
    from setrbm.documents import document_classifier

    documents = read_here(mail, reading=Reading(ocr="never")).readable
    labels = np.array([k % 2 for k in range(len(documents))])
    save(document_classifier(None, random_state=0).fit(documents, labels), tmp_path / "model.safetensors")
    few = tmp_path / "few"
    few.mkdir()
    for name in (documents[0].id, documents[1].id, "broken.pdf"):
        shutil.copy(mail / name, few)
    (one,) = score_files(tmp_path / "model.safetensors", [few], tmp_path / "out", client=two, format="csv")
    assert (one.failed, one.n_sets) == ("", 3)
    assert "nothing could be read" in Path(one.output).read_text()
    (one,) = score_files(tmp_path / "model.safetensors", [few], tmp_path / "out", client=two)
    assert not one.failed


# --- commands ---


def test_predict_scores_a_folder_on_a_cluster(work, two, tmp_path):
    address = two.scheduler.address
    folder = tmp_path / "in"
    many_files(work, folder, 4)
    (folder / "notes.txt").write_text("no data")
    arguments = ("predict", model_of(work), folder, "--cluster", address, "-o", tmp_path / "out")
    first = command(*arguments)
    assert first.exit_code == 0, first.stderr
    assert "Scored 60 sets of 4 files into " in first.stderr
    again = command(*arguments)
    assert "4 outputs were there before." in again.stderr
    (folder / "broken.csv").write_text("")
    failed = command(*arguments)
    assert failed.exit_code == 1
    assert "broken.csv: " in failed.stderr
    assert "1 file failed. Run the same command to try again." in failed.stderr
    for wrong, message in (
        (("predict", model_of(work), folder, "--cluster", address), "-o must name the folder for the outputs"),
        (("predict", model_of(work), folder, "--tls-ca", "x"), "are for --cluster"),
        ((*arguments, "--tls-ca", "x"), "TLS needs all of"),
        ((*arguments, "--check-range"), "neither --check-range nor --force"),
        (("predict", model_of(work), tmp_path / "out" / RECEIPTS, *arguments[3:]), "must hold data files"),
    ):
        refused = command(*wrong)
        assert refused.exit_code == 2
        assert message in refused.stderr


def test_evaluate_and_reproduce_run_on_a_cluster(work, two, tmp_path):
    bags, y = load_musk1()
    write_csv(tmp_path / "data.csv", bags, y)
    quick = ("--folds", "3", "--epochs", "3", "--hidden", "5", "--quiet", "--json")
    here = command("evaluate", tmp_path / "data.csv", *quick)
    there = command("evaluate", tmp_path / "data.csv", *quick, "--cluster", two.scheduler.address)
    assert there.exit_code == 0, there.stderr
    assert there.stdout == here.stdout
    table = ("reproduce", "table1", "--quick", "-m", "SVM-max", "-d", "musk1", "--folds", "2", "--quiet")
    found = command(*table, "-o", tmp_path / "out", "--cluster", two.scheduler.address)
    assert found.exit_code == 0, found.stderr
    assert len(results.read(tmp_path / "out" / "table1.csv")) == 2


def test_a_scheduler_file_names_a_cluster(work, tmp_path):
    file = tmp_path / "scheduler.json"
    with cluster_of(1) as client:
        file.write_text(f'{{"address": "{client.scheduler.address}"}}')
        found = command("predict", model_of(work), inputs_of(work)[0], "--cluster", file, "-o", tmp_path / "out")
    assert found.exit_code == 0, found.stderr


def test_documents_are_classified_on_a_cluster(mail, two, tmp_path):
    labels = {path.name: "ab"[k % 2] for k, path in enumerate(sorted(mail.glob("piece-*")))}
    manifest = tmp_path / "labels.csv"
    manifest.write_text("document,label\n" + "".join(f"{name},{label}\n" for name, label in labels.items()))
    options = ("--no-ocr", "--quiet", "-o", tmp_path / "out", "--cluster", two.scheduler.address)
    fitted = command("documents", "fit", mail, "--manifest", manifest, "--precision", "0.5", *options)
    assert fitted.exit_code == 0, fitted.stderr
    found = command("documents", "classify", tmp_path / "out" / "model.safetensors", mail, *options)
    assert found.exit_code == 0, found.stderr
    assert len((tmp_path / "out" / "answers.csv").read_text().splitlines()) == 42
    # Nothing was read twice.
    assert len(list((tmp_path / "out" / "read").iterdir())) == 41


def test_without_the_extra_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr("setrbm.dask.cluster.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"needs the extra 'dask': pip install 'setrbm\[dask\]'"):
        Cluster(None)
