"""Scoring files on a Dask cluster: one complete output per input, whatever is killed, damaged or changed."""

import dataclasses
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from distributed import Client
from sklearn.pipeline import make_pipeline

import setrbm
from clusters import (
    N_FILES,
    cluster_of,
    dying_workers,
    inputs_of,
    killing,
    many_files,
    marks,
    model_of,
    settings,
    wait_until,
)
from setrbm import Bags, ClassSetRBM, ClassSetRBMCV, save
from setrbm.dask import Scoring, score_files, scoring
from setrbm.dask.scoring import RECEIPTS, ScoringTask, score_file
from setrbm.datasets import load_musk1, make_mail_like, read_bags, write_parquet
from setrbm.datasets.predicted import as_csv, predicted
from setrbm.shards import write_shard
from setrbm.text import PageWords

pytestmark = marks


def contents(folder):
    """The outputs; a writer that was killed leaves a hidden file behind."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name[0] != "."}


def receipts_in(folder):
    return list((folder / RECEIPTS).glob("*.json"))


def test_outputs_are_the_predictions_of_one_process(work, two, tmp_path):
    model = setrbm.load(model_of(work))
    seen = []
    found = score_files(
        model_of(work), inputs_of(work), tmp_path / "out", Scoring(probabilities=True, format="csv"), client=two,
        on_result=seen.append,
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


def test_the_same_bytes_from_any_workers_and_threads(work, two, tmp_path):
    score_files(model_of(work), inputs_of(work), tmp_path / "0", client=two)
    found = [contents(tmp_path / "0")]
    for n, kind in ((1, {}), (3, {}), (1, {"processes": False, "threads_per_worker": 2})):
        with cluster_of(n, **kind) as client:
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
        Scoring(format="xlsx")
    with pytest.raises(FileNotFoundError):
        score_files(work / "none.safetensors", paths, tmp_path, client=two)


def check_kills(work, tmp_path, n_files, seconds, at_least, at_most):
    """Score many files while workers are killed; the outputs must be those of a quiet run."""
    paths = many_files(work, tmp_path / "in", n_files)
    with settings(allowed_failures=1000), cluster_of(2) as client, killing(client, seconds, at_most) as killed:
        found = score_files(model_of(work), paths, tmp_path / "out", client=client)
    assert len(killed) >= at_least
    assert not any(one.failed for one in found)
    made = contents(tmp_path / "out")
    assert len(made) == len(receipts_in(tmp_path / "out")) == n_files
    with cluster_of(1, processes=False) as client:
        score_files(model_of(work), paths, tmp_path / "again", client=client)
    assert made == contents(tmp_path / "again")


def test_nothing_is_lost_or_doubled_when_workers_are_killed(work, tmp_path):
    check_kills(work, tmp_path, 120, 1.0, at_least=1, at_most=3)


@pytest.mark.long
def test_nothing_is_lost_or_doubled_in_many_kills(work, tmp_path):
    check_kills(work, tmp_path, 6000, 1.5, at_least=20, at_most=10_000)


@pytest.mark.parametrize(
    ("name", "which", "after"),
    [
        # In the middle of an output, of which a part may be on disk.
        ("_write", 2, True),
        # Between an output and its receipt.
        ("write_atomically", 0, False),
        # Between a receipt and its gathering.
        ("write_atomically", 0, True),
    ],
)
def test_every_file_may_kill_its_worker_once_anywhere(name, which, after, work, two, tmp_path):
    # Two workers, each of which dies twice.
    paths = inputs_of(work)[:4]
    with (
        settings(allowed_failures=100),
        dying_workers(tmp_path, "setrbm.dask.scoring", name, which, after) as deaths,
        cluster_of(2) as client,
    ):
        found = score_files(model_of(work), paths, tmp_path / "out", client=client)
    assert len(list(deaths.iterdir())) == len(paths)
    assert not any(one.failed for one in found)
    assert all(one.is_new for one in found)
    score_files(model_of(work), paths, tmp_path / "quiet", client=two)
    assert contents(tmp_path / "out") == contents(tmp_path / "quiet")


def test_a_killed_client_makes_only_what_is_missing(work, tmp_path):
    paths = many_files(work, tmp_path / "in", 150)
    code = (
        "import sys; from distributed import Client; from setrbm.dask import score_files\n"
        "client = Client(sys.argv[1]); score_files(sys.argv[2], sys.argv[4:], sys.argv[3], client=client)"
    )
    with cluster_of(2) as client:
        arguments = [client.scheduler.address, str(model_of(work)), str(tmp_path / "out"), *map(str, paths)]
        process = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.DEVNULL)
        wait_until(lambda: len(receipts_in(tmp_path / "out")) >= 3 or process.poll() is not None)
        assert process.poll() is None
        process.kill()
        process.wait()
        time.sleep(1.0)
        times = {path: path.stat().st_mtime_ns for path in receipts_in(tmp_path / "out")}
        assert 3 <= len(times) < 150
        found = score_files(model_of(work), paths, tmp_path / "out", client=client)
    assert sum(not one.is_new for one in found) == len(times)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert not any(one.failed for one in found)
    assert len(contents(tmp_path / "out")) == 150


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


def test_more_workers_than_files(work, two, tmp_path):
    found = score_files(model_of(work), inputs_of(work)[:1], tmp_path, client=two)
    assert [one.failed for one in found] == [""]


def test_a_file_that_does_not_fit_into_memory_says_smaller_shards(work, tmp_path):
    """Zeros take little space on disk and much in memory."""
    bags, _ = load_musk1()
    n = 600_000
    write_parquet(tmp_path / "large.parquet", Bags(np.zeros((n, bags.shape[1]), np.float32), np.arange(n + 1)))
    with settings(allowed_failures=0), cluster_of(1, memory_limit="600MB") as client:
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


def test_an_outdated_output_is_deleted_if_its_changed_input_cannot_be_scored(work, two, tmp_path):
    path = tmp_path / "part.csv"
    shutil.copy(inputs_of(work)[0], path)
    (first,) = score_files(model_of(work), [path], tmp_path / "out", client=two)
    path.write_text("damaged")
    (second,) = score_files(model_of(work), [path], tmp_path / "out", client=two)
    assert second.failed
    assert second.output == first.output
    assert not contents(tmp_path / "out")
    assert not receipts_in(tmp_path / "out")


def test_an_output_that_another_client_is_making_is_not_deleted(work, tmp_path, monkeypatch):
    """It has its name already, and no receipt yet, when the same input fails elsewhere."""
    job = ScoringTask(str(inputs_of(work)[0]), str(tmp_path / "out"), str(tmp_path / "receipt"), "", "", Scoring())
    Path(job.output).write_text("complete")

    def fails(*_):
        raise ValueError("for this client")

    monkeypatch.setattr("setrbm.dask.scoring._model", fails)
    assert score_file(job).failed
    assert Path(job.output).read_text() == "complete"


def test_a_receipt_never_stands_for_an_output_that_is_gone(work, tmp_path, monkeypatch):
    real = scoring.write_atomically
    job = ScoringTask(
        str(inputs_of(work)[0]), str(tmp_path / "out.csv"), str(tmp_path / "receipt"), str(model_of(work)),
        scoring.file_digest(str(model_of(work))), Scoring(format="csv"),
    )  # fmt: skip

    def deleting(path, payload):
        real(path, payload)
        os.unlink(job.output)

    monkeypatch.setattr(scoring, "write_atomically", deleting)
    assert "deleted by another client; rerun" in score_file(job).failed


def test_an_input_that_changes_while_it_is_read_is_not_scored(work, two, tmp_path, monkeypatch):
    path = tmp_path / "part.csv"
    shutil.copy(inputs_of(work)[0], path)
    real = read_bags

    def read_and_change(*arguments, **others):
        found = real(*arguments, **others)
        os.utime(path, (0, 0))
        return found

    monkeypatch.setattr("setrbm.datasets.for_models.read_bags", read_and_change)
    with cluster_of(1, processes=False) as client:
        (one,) = score_files(model_of(work), [path], tmp_path / "out", client=client)
    assert "it changed while it was read; rerun to score it again" in one.failed
    assert not contents(tmp_path / "out")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyError("bag"), "KeyError: 'bag'"),
        (MemoryError(), "not enough memory for it. Use smaller shards (50 to 100 MB)"),
        (OSError(28, "No space left on device"), "No space left on device"),
    ],
)
def test_every_fault_of_an_input_is_in_its_receipt(error, reason, work, tmp_path, monkeypatch):
    def fails(*_):
        raise error

    monkeypatch.setattr("setrbm.dask.scoring._model", fails)
    job = ScoringTask(str(inputs_of(work)[0]), str(tmp_path / "out"), str(tmp_path / "receipt"), "", "", Scoring())
    assert reason in score_file(job).failed


def test_inputs_of_the_same_name_have_outputs_of_their_own(work, two, tmp_path):
    paths = [tmp_path / folder / "part.csv" for folder in ("monday", "tuesday")]
    for path, one in zip(paths, inputs_of(work), strict=False):
        path.parent.mkdir()
        shutil.copy(one, path)
    found = score_files(model_of(work), paths, tmp_path / "out", client=two)
    assert len({one.output for one in found}) == len(contents(tmp_path / "out")) == 2


OTHER_SETTINGS = {
    "bag": "set", "label": "class", "ignore": ("x",), "pages": "texts", "probabilities": True, "format": "csv",
}  # fmt: skip


def test_other_settings_and_models_have_outputs_of_their_own(work, tmp_path):
    assert OTHER_SETTINGS.keys() == {field.name for field in dataclasses.fields(Scoring)}
    others = [Scoring(**{name: value}) for name, value in OTHER_SETTINGS.items()]
    model = tmp_path / "other.safetensors"
    model.write_bytes(b"another model")
    jobs = [scoring._tasks(model_of(work), inputs_of(work)[:1], tmp_path / "out", how) for how in [Scoring(), *others]]
    jobs.append(scoring._tasks(model, inputs_of(work)[:1], tmp_path / "out", Scoring()))
    assert len({job.output for (job,) in jobs}) == len({job.receipt for (job,) in jobs}) == len(others) + 2


def test_an_output_without_probabilities_does_not_stand_for_one_with_them(work, tmp_path):
    names = []
    for how in (Scoring(), Scoring(probabilities=True)):
        (job,) = scoring._tasks(model_of(work), inputs_of(work)[:1], tmp_path, how)
        receipt = score_file(job)
        assert receipt.is_new and not receipt.failed
        names.append(pyarrow.parquet.read_table(receipt.output).column_names)
    assert set(names[0]) < set(names[1])


def test_a_model_that_differs_on_the_worker_is_refused(work, two, tmp_path, monkeypatch):
    monkeypatch.setattr("setrbm.dask.scoring.file_digest", lambda path: "0" * 64)
    (one,) = score_files(model_of(work), inputs_of(work)[:1], tmp_path, client=two)
    assert "is another one on this worker: its digest is" in one.failed
