"""Clusters for tests: real workers on 127.0.0.1, killed at a chosen place or as often as wanted."""

import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import dask
import pytest
from distributed import Client, LocalCluster

from setrbm import ClassSetRBM, save
from setrbm.dask.connecting import PATIENT
from setrbm.datasets import load_musk1, write_csv

# Each cluster takes memory and cores: one after the other. Workers that are killed on purpose say so in warnings.
marks = [pytest.mark.xdist_group("dask"), pytest.mark.filterwarnings("ignore")]


# Files to score.
N_FILES = 6
# A worker starts as a copy of a process that has imported Dask, which takes a fraction of importing it anew.
FORKED = {"distributed.worker.multiprocessing-method": "forkserver"}


def make_work(folder):
    """A model, files to score, and labeled data."""
    bags, y = load_musk1()
    save(ClassSetRBM(max_epochs=3, random_state=0).fit(bags, y), folder / "model.safetensors")
    for k in range(N_FILES):
        write_csv(folder / f"part-{k}.csv", bags[15 * k : 15 * k + 15])
    write_csv(folder / "data.csv", bags, y)
    return folder


def model_of(work):
    return work / "model.safetensors"


def inputs_of(work):
    return sorted(work.glob("part-*.csv"))


def many_files(work, folder, n):
    folder.mkdir()
    for k in range(n):
        shutil.copy(work / f"part-{k % N_FILES}.csv", folder / f"{k:03d}.csv")
    return sorted(folder.iterdir())


@contextmanager
def cluster_of(n, **settings):
    """A cluster of n workers with one thread each, without a dashboard."""
    given = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 60} | settings
    with (
        dask.config.set(PATIENT | FORKED),
        LocalCluster(n_workers=n, **given) as local,
        Client(local, set_as_default=False) as client,
    ):
        yield client


def pids(client):
    """The processes of the workers."""
    return [info["pid"] for info in client.run(lambda: {"pid": os.getpid()}).values()]


def settings(**given):
    """Settings of Dask: ``allowed_failures=1`` is distributed.scheduler.allowed-failures."""
    return dask.config.set({f"distributed.scheduler.{name.replace('_', '-')}": value for name, value in given.items()})


# Ends a worker the first time it comes to a place; a file says that it has been there.
DYING = """
import hashlib, os, signal, time

loaded = time.monotonic()

def dies_before(module, name, after=False):
    real = getattr(module, name)

    def dying(*arguments, **others):
        result = real(*arguments, **others) if after else None
        about = hashlib.sha256(str(arguments[{which}]).encode()).hexdigest()
        flag = os.path.join({flags!r}, about)
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return result if after else real(*arguments, **others)
        # A nanny gives up on a worker that dies before it has quite started.
        time.sleep(max(0.0, loaded + 1.5 - time.monotonic()))
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(module, name, dying)

import {module}
dies_before({module}, {name!r}, after={after})
"""


@contextmanager
def dying_workers(folder, module, name, which=0, after=False):
    """Workers started in the block die before, or after, the first call of a function for each of its arguments.

    Provides the folder that has a file for each death.
    """
    flags = folder / "deaths"
    flags.mkdir()
    code = folder / "dying.py"
    code.write_text(DYING.format(flags=str(flags), module=module, name=name, which=which, after=after))
    with dask.config.set({"distributed.worker.preload": [str(code)]}):
        yield flags


@contextmanager
def killing(client, seconds, most=math.inf):
    """Kill one worker after the other while the block runs, a number at most; provides the list of the killed."""
    killed, over = [], threading.Event()

    def kill():
        while len(killed) < most and not over.wait(seconds):
            with suppress(OSError, IndexError, ValueError):
                one = pids(client)[len(killed) % 2]
                os.kill(one, signal.SIGKILL)
                killed.append(one)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


@contextmanager
def process(*arguments, **environment):
    """A process of Dask: a scheduler or a worker."""
    running = subprocess.Popen(
        [sys.executable, "-m", *map(str, arguments)], env=os.environ | environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def scheduler(port):
    """A scheduler of its own, on 127.0.0.1."""
    return process("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")


def worker(address, **environment):
    """A worker of its own, with one thread."""
    options = ("--nthreads", 1, "--no-nanny", "--no-dashboard")
    return process("distributed.cli.dask_worker", address, *options, **environment)


def wait_until(is_so, seconds=60.0):
    """Wait for something; fail if it does not happen."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)
