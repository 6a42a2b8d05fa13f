"""The commands with --cluster: predict and evaluate."""

import pytest

from clusters import cluster_of, inputs_of, many_files, marks, model_of
from command_line import run as command
from setrbm.dask.cluster import Failed, VersionError
from setrbm.dask.scoring import RECEIPTS
from setrbm.datasets import load_musk1, write_csv

pytestmark = marks


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
    assert "4 outputs already existed." in again.stderr
    (folder / "broken.csv").write_text("")
    failed = command(*arguments)
    assert failed.exit_code == 1
    assert "broken.csv: " in failed.stderr
    assert "1 file failed. Rerun the same command to try again." in failed.stderr
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


def test_evaluate_runs_on_a_cluster(work, two, tmp_path):
    bags, y = load_musk1()
    write_csv(tmp_path / "data.csv", bags, y)
    quick = ("--folds", "3", "--epochs", "3", "--hidden", "5", "--quiet", "--json")
    here = command("evaluate", tmp_path / "data.csv", *quick)
    there = command("evaluate", tmp_path / "data.csv", *quick, "--cluster", two.scheduler.address)
    assert there.exit_code == 0, there.stderr
    assert there.stdout == here.stdout


def test_a_scheduler_file_names_a_cluster(work, tmp_path):
    file = tmp_path / "scheduler.json"
    with cluster_of(1) as client:
        file.write_text(f'{{"address": "{client.scheduler.address}"}}')
        found = command("predict", model_of(work), inputs_of(work)[0], "--cluster", file, "-o", tmp_path / "out")
    assert found.exit_code == 0, found.stderr


QUICK = ("--folds", "3", "--epochs", "3", "--hidden", "5", "--quiet", "--json")


def test_a_fold_that_fails_is_named_and_the_others_are_scored(work, two, monkeypatch):
    real = command_folds()

    def one_lost(*arguments, **others):
        first, _, third = real(*arguments, **others)
        return [first, Failed("2 workers died", was_killed=True), third]

    monkeypatch.setattr("setrbm.dask.folds.predict_folds", one_lost)
    found = command("evaluate", work / "data.csv", *QUICK, "--cluster", two.scheduler.address)
    assert found.exit_code == 1
    assert "Failed: fold 2 of 3: 2 workers died\n" in found.stderr
    assert "The scores are those of the other folds." in found.stderr
    assert '"failed": [' in found.stdout
    assert '"predictions": 61' in found.stdout


def command_folds():
    from setrbm.dask.folds import predict_folds

    return predict_folds


def test_if_all_folds_fail_the_reason_is_that_of_one_machine(work, two):
    wrong = ("evaluate", work / "data.csv", *QUICK, "--learning-rate", "1e30")
    here, there = command(*wrong), command(*wrong, "--cluster", two.scheduler.address)
    assert here.exit_code == there.exit_code == 1
    assert "Training diverged with --learning-rate" in here.stderr
    assert there.stderr == here.stderr


def test_a_worker_of_another_version_is_told_in_a_sentence(work, two, monkeypatch):
    monkeypatch.setattr("setrbm.dask.cluster.fingerprint", lambda package="setrbm": "9.9, source 0")
    found = command("evaluate", work / "data.csv", *QUICK, "--cluster", two.scheduler.address)
    assert found.exit_code == 1
    assert found.stderr.startswith("Error: All workers must have the version of setrbm that sends the work, 9.9")
    assert issubclass(VersionError, RuntimeError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate", "data.csv", "--jobs", "2"), "--jobs is for work on this machine, --cluster for work elsewhere"),
        (("evaluate", "data.csv", "--engine", "gpu"), "--engine is for work on this machine"),
        (("evaluate", "data.csv", "--model", "model.safetensors"), "--cluster is for cross-validation"),
        (("predict", "model.safetensors", "data.csv", "--bag", "label"), "--bag and --label must name two columns"),
        (("predict", "model.safetensors", ".", "-o", "."), "-o must name another folder than DATA"),
    ],
)
def test_options_that_contradict_the_cluster_are_refused_before_connecting(arguments, message, work, monkeypatch):
    monkeypatch.chdir(work)
    # Nobody listens there.
    found = command(*arguments, "--cluster", "tcp://127.0.0.1:1")
    assert found.exit_code in (1, 2)
    assert message in found.stderr


def test_options_of_the_cluster_need_one(work):
    for option in (("--wait", "5"), ("--tls-key", "x")):
        found = command("predict", model_of(work), work / "data.csv", *option)
        assert found.exit_code == 2
        assert "--tls-key are for --cluster. Name the cluster too." in found.stderr


def test_a_cluster_without_workers_is_left_after_the_time_given(work, tmp_path):
    with cluster_of(0, processes=False) as client:
        found = command(
            "predict", model_of(work), inputs_of(work)[0], "--cluster", client.scheduler.address, "--wait", "1", "-o",
            tmp_path / "out",
        )  # fmt: skip
    assert found.exit_code == 1
    assert "Error: The cluster must have workers." in found.stderr


def test_without_the_extra_the_command_says_what_to_install(work, tmp_path, monkeypatch):
    monkeypatch.setattr("setrbm.dask.cluster.find_spec", lambda name: None)
    found = command("predict", model_of(work), inputs_of(work)[0], "--cluster", "local", "-o", tmp_path / "out")
    assert found.exit_code == 1
    assert found.stderr == "Error: Working on a cluster needs the extra 'dask': pip install 'setrbm[dask]'.\n"


def test_a_cluster_is_reached_by_tls(work, tmp_path):
    pytest.importorskip("cryptography", reason="temporary certificates need cryptography")
    from distributed import Security

    made = Security.temporary()
    files = {"--tls-ca": made.tls_ca_file, "--tls-cert": made.tls_client_cert, "--tls-key": made.tls_client_key}
    options = []
    for name, text in files.items():
        path = tmp_path / f"{name.strip('-')}.pem"
        path.write_text(text)
        options += [name, path]
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1, threads_per_worker=1, security=made, protocol="tls://", dashboard_address="127.0.0.1:0"
    ) as local:  # fmt: skip
        assert local.scheduler_address.startswith("tls://")
        arguments = ("predict", model_of(work), inputs_of(work)[0], "--cluster", local.scheduler_address)
        found = command(*arguments, *options, "-o", tmp_path / "out")
        assert found.exit_code == 0, found.stderr
        refused = command(*arguments, "-o", tmp_path / "other")
        assert refused.exit_code == 1
        assert "needs certificates: --tls-ca, --tls-cert and --tls-key" in refused.stderr
