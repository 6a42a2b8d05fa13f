"""Functions on a Dask cluster: results, errors, kills, hangs, lost connections, other versions, no workers."""

import os
import shutil
import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from distributed import KilledWorker
from distributed.client import FutureCancelledError

import setrbm
from cluster_jobs import deadly, doubled, in_vain, odd, without_memory
from clusters import cluster_of, marks, pids, scheduler, settings, worker
from setrbm.dask import Cluster, ClusterError, VersionError, connected
from setrbm.dask.cluster import AGAIN, FORGOTTEN, Failed, fingerprint

pytestmark = marks


def test_every_job_comes_back_with_its_position(two):
    found = dict(Cluster(two).run(doubled, [(k,) for k in range(50)]))
    assert found == {k: 2 * k for k in range(50)}


def test_an_error_is_a_result_and_the_others_continue(two):
    (found,) = dict(Cluster(two).run(in_vain, [(7,)])).values()
    assert found == Failed("ValueError: no luck with 7")
    assert isinstance(found.error, ValueError)


def test_errors_that_cannot_be_pickled_are_results_too(two):
    found = dict(Cluster(two, patience=10.0).run(odd, [("odd",), ("worse",)]))
    assert found == {0: Failed("OddError: this and that"), 1: Failed("WorseError: that")}
    assert found[0].error is found[1].error is None
    assert dict(Cluster(two).run(without_memory, [()])) == {0: Failed("MemoryError: ")}


def test_a_task_that_always_kills_its_worker_fails_and_the_others_do_not():
    with settings(allowed_failures=1), cluster_of(2) as client:
        begin = time.monotonic()
        found = dict(Cluster(client).run(deadly, [(k,) for k in range(6)]))
        assert time.monotonic() - begin < 60.0
    reason = "2 workers died while running this task alone, perhaps out of memory"
    assert found.pop(1) == Failed(reason, was_killed=True)
    assert found == {k: k for k in range(6) if k != 1}


def test_a_task_that_waits_where_another_kills_the_worker_is_done_in_the_end():
    with settings(allowed_failures=0), cluster_of(1) as client:
        found = dict(Cluster(client).run(deadly, [(1,), (2,), (3,)]))
    assert (found[1], found[2]) == (2, 3)
    assert found[0] == Failed("1 worker died while running this task alone, perhaps out of memory", was_killed=True)


def test_a_worker_that_hangs_is_given_up():
    with settings(worker_ttl="3s"), cluster_of(2) as client:
        stopped = pids(client)[0]
        jobs = Cluster(client).run(time.sleep, [(0.05,) for _ in range(20)])
        found = dict([next(jobs)])
        begin = time.monotonic()
        os.kill(stopped, signal.SIGSTOP)
        found |= dict(jobs)
        assert time.monotonic() - begin < 60.0
    assert found == dict.fromkeys(range(20))


def test_results_that_are_not_taken_are_released(two):
    jobs = Cluster(two).run(time.sleep, [(0.05,) for _ in range(2000)])
    next(jobs)
    jobs.close()
    begin = time.monotonic()
    assert dict(Cluster(two).run(doubled, [(1,)])) == {0: 2}
    # The 2,000 would take 50 seconds.
    assert time.monotonic() - begin < 25.0


# --- no workers ---


def test_without_workers_the_message_says_how_to_start_some():
    with (
        cluster_of(0, processes=False) as client,
        pytest.raises(ClusterError, match=r"must have workers\. .* none for 0\.5 seconds\. Start some: dask worker"),
    ):
        dict(Cluster(client, patience=0.5).run(doubled, [(1,)]))


def test_workers_that_all_leave_are_not_waited_for_for_ever():
    with cluster_of(1, processes=False) as client:
        jobs = Cluster(client, patience=1.0).run(time.sleep, [(0.1,) for _ in range(100)])
        next(jobs)
        client.cluster.scale(0)
        with pytest.raises(ClusterError, match="must have workers"):
            dict(jobs)


def test_a_warning_says_that_there_are_no_workers(monkeypatch):
    monkeypatch.setattr("setrbm.dask.cluster.SILENCE", 0.2)
    with (
        cluster_of(0, processes=False) as client,
        pytest.warns(UserWarning, match="The cluster has no workers. Waiting 3 seconds for some."),
        pytest.raises(ClusterError),
    ):
        dict(Cluster(client, patience=3.0).run(doubled, [(1,)]))


def test_work_may_begin_before_the_first_worker_is_there():
    with cluster_of(0, processes=False) as client:
        timer = threading.Timer(1.0, client.cluster.scale, (1,))
        timer.start()
        assert dict(Cluster(client).run(doubled, [(4,)])) == {0: 8}
        timer.join()


def test_an_adaptive_cluster_starts_its_first_worker():
    with cluster_of(0, processes=False) as client:
        client.cluster.adapt(minimum=0, maximum=1, interval="100ms")
        assert dict(Cluster(client, patience=30.0).run(doubled, [(4,)])) == {0: 8}


# --- shared values ---


def test_a_shared_value_is_sent_once_and_survives_the_worker_that_has_it():
    with cluster_of(1) as client:
        on = Cluster(client)
        data = on.share(list(range(1000)))
        assert dict(on.run(len, [(data,)])) == {0: 1000}
        first = data.future
        os.kill(pids(client)[0], signal.SIGKILL)
        assert dict(on.run(len, [(data,), (data,)])) == {0: 1000, 1: 1000}
        assert data.future is first


# --- the connection ---


def lose_connection(client):
    async def lose():
        client.scheduler_comm.comm.abort()

    client.sync(lose)


def test_a_connection_that_is_lost_for_a_moment_loses_no_work():
    with cluster_of(2) as client:
        on = Cluster(client)
        data = on.share([1, 2, 3])
        jobs = on.run(waited, [(0.05, k, data) for k in range(60)])
        found = dict([next(jobs)])
        lose_connection(client)
        found |= dict(jobs)
    assert found == {k: k + 3 for k in range(60)}


def waited(seconds, k, data):
    time.sleep(seconds)
    return k + len(data)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_a_scheduler_that_is_restarted_gets_the_remaining_work_again():
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with scheduler(port) as first, worker(address), connected(address) as client:
        jobs = Cluster(client).run(time.sleep, [(0.05,) for _ in range(60)])
        found = dict([next(jobs)])
        first.kill()
        first.wait()
        with scheduler(port), worker(address):
            found |= dict(jobs)
    assert found == dict.fromkeys(range(60))


def test_a_scheduler_that_is_gone_ends_the_work_with_a_message():
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with scheduler(port) as first, worker(address), connected(address, patience=5.0) as client:
        jobs = Cluster(client, patience=5.0).run(time.sleep, [(0.05,) for _ in range(60)])
        next(jobs)
        first.kill()
        first.wait()
        with pytest.raises(ClusterError, match=f"The connection to the scheduler at .*{port} is lost. Restart"):
            dict(jobs)


def test_a_scheduler_that_does_not_answer_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr("setrbm.dask.cluster.ANSWER", 1.0)
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with scheduler(port) as first, worker(address), connected(address, patience=5.0) as client:
        jobs = Cluster(client, patience=3.0).run(time.sleep, [(0.05,) for _ in range(60)])
        next(jobs)
        os.kill(first.pid, signal.SIGSTOP)
        with pytest.raises(ClusterError):
            dict(jobs)
        os.kill(first.pid, signal.SIGCONT)


class Future:
    """A future in a given state, whose result raises an error."""

    def __init__(self, status, error=None):
        self.status, self.error = status, error

    def result(self, timeout):
        raise self.error

    def exception(self, timeout):
        return self.error


@pytest.mark.parametrize(
    ("future", "expected"),
    [
        # The worker died after the task, or between two questions.
        (Future("lost"), AGAIN),
        (Future("pending"), AGAIN),
        (Future("error", None), AGAIN),
        (Future("finished", TimeoutError()), AGAIN),
        (Future("finished", FutureCancelledError("key", "lost")), FORGOTTEN),
        (Future("cancelled"), FORGOTTEN),
        (Future("error", OSError("disk full")), Failed("OSError: disk full")),
        # The task was run again, and failed.
        (Future("finished", OSError("disk full")), Failed("OSError: disk full")),
        (
            Future("finished", KilledWorker("task", None, 0)),
            Failed("1 worker died while running this task alone, perhaps out of memory", was_killed=True),
        ),
    ],
)
def test_whatever_becomes_of_a_result_is_told_apart(future, expected):
    on = Cluster(SimpleNamespace(status="running"))
    assert on._result(future) == expected


def test_a_result_that_is_lost_again_and_again_is_a_failure(two, monkeypatch):
    on = Cluster(two)
    monkeypatch.setattr(on, "_result", lambda future: FORGOTTEN)
    monkeypatch.setattr("setrbm.dask.cluster.MOST_LOSSES", 3)
    assert dict(on.run(doubled, [(1,)])) == {0: Failed("its result was lost 4 times")}
    monkeypatch.setattr(on, "_result", lambda future: AGAIN)
    assert dict(on.run(doubled, [(1,)])) == {0: Failed("its result was lost 4 times")}


def test_results_are_taken_however_short_the_patience(two):
    assert dict(Cluster(two, patience=0.0).run(doubled, [(4,)])) == {0: 8}


def test_a_shared_value_that_failed_is_sent_again(two):
    on = Cluster(two)
    data = on.share([1, 2])
    data.future = two.submit(in_vain, 1)
    data.future.exception()
    assert dict(on.run(len, [(data,)])) == {0: 2}


def test_a_task_that_exits_kills_no_worker(two):
    before = pids(two)
    assert dict(Cluster(two).run(sys.exit, [(3,)])) == {0: Failed("SystemExit: 3")}
    assert pids(two) == before


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
    for content in ("{}", "[1]", "nothing"):
        (tmp_path / "other.json").write_text(content)
        with pytest.raises(ValueError, match="is not what `dask scheduler --scheduler-file` writes"):
            connect(str(tmp_path / "other.json"))
    with pytest.raises(ValueError, match="tls://127.0.0.1:1 needs certificates: --tls-ca"):
        connect("tls://127.0.0.1:1")


def test_without_the_extra_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr("setrbm.dask.cluster.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"needs the extra 'dask': pip install 'setrbm\[dask\]'"):
        Cluster(None)


# --- versions ---


def other_line(folder):
    """A setrbm whose source differs in one line."""
    with (folder / "setrbm" / "_text.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")


def without_dask(folder):
    """An early setrbm, which knew nothing of Dask."""
    shutil.rmtree(folder / "setrbm" / "dask")


def missing(folder):
    """No setrbm at all."""
    shutil.rmtree(folder / "setrbm")
    (folder / "setrbm.py").write_text("raise ImportError('not installed')")


def broken(folder):
    """A setrbm for another Python."""
    (folder / "setrbm" / "dask" / "cluster.py").write_text("this is no Python")


@contextmanager
def other_worker(address, folder, change):
    """A worker with another setrbm, or none."""
    shutil.copytree(Path(setrbm.__file__).parent, folder / "setrbm", ignore=shutil.ignore_patterns("__pycache__"))
    change(folder)
    with worker(address, PYTHONPATH=str(folder)):
        yield


@pytest.mark.parametrize("change", [other_line, without_dask, missing, broken])
def test_a_worker_of_another_version_is_refused(change, tmp_path):
    message = "must have the version of setrbm that sends the work, .* on the worker tcp://.* rerun to resume"
    with cluster_of(0) as client, other_worker(client.scheduler.address, tmp_path, change):
        on = Cluster(client)
        jobs = on.run(waited, [(0.0, 1, on.share([1]))])
        with pytest.raises(VersionError, match=message):
            dict(jobs)


def test_a_worker_of_another_version_that_joins_late_is_refused(tmp_path):
    with cluster_of(1) as client:
        jobs = Cluster(client).run(time.sleep, [(0.1,) for _ in range(400)])
        next(jobs)
        message = f"Got {setrbm.__version__}, source .* on the worker tcp://"
        with (
            other_worker(client.scheduler.address, tmp_path, other_line),
            pytest.raises(VersionError, match=message),
        ):
            dict(jobs)


def test_the_fingerprint_names_the_version():
    assert fingerprint().startswith(f"{setrbm.__version__}, source ")
