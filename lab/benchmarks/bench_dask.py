"""Past one machine.

How much of the speed of one process remains when files are scored on a Dask cluster: one one-thread worker compared
with a bare process, and two workers with one? The same for reading documents. And how long does a task take that does
nothing? The workers are those of a LocalCluster on this machine, started and warm before anything is timed.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from distributed import Client, LocalCluster

from _bars import RATIO, SETS_PER_SECOND
from _harness import Benchmark, mail_sets, wall
from setrbm import Bags, ClassSetRBM, save
from setrbm.dask import Scoring, score_files
from setrbm.dask.cluster import Cluster
from setrbm.dask.scoring import _tasks, score_file
from setrbm.datasets import write_parquet
from setrbm_mail import read_documents as read_here
from setrbm_mail.cluster import read_documents
from setrbm_mail.generate import generate_mail

# Sets per file, which make files of at least 50 MB, and how many files.
N_SETS, QUICK_SETS, N_FILES = 25_000, 500, 12
N_TASKS, ROUNDS, READING_ROUNDS = 2_000, 7, 2
N_DOCUMENTS, QUICK_DOCUMENTS = 64, 12


@contextmanager
def cluster_of(n: int) -> Iterator[Any]:
    with (
        LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address="127.0.0.1:0") as local,
        Client(local, set_as_default=False) as client,
    ):
        yield client


def archive(folder: Path, n_sets: int) -> tuple[Path, list[Path]]:
    """Return a model and files of mail-like sets, as Parquet with lists."""
    bags, y = mail_sets(min(n_sets, 14_593))
    model = ClassSetRBM(max_epochs=1, n_jobs=1, random_state=0).fit(bags, y)
    save(model, folder / "model.safetensors")
    # Values that are not all 1, as tf-idf has them, so that they are stored.
    paths = []
    for k in range(N_FILES):
        rng = np.random.default_rng(k)
        part = bags[rng.integers(len(bags), size=n_sets)]
        X = part.X.copy()
        X.data = rng.random(len(X.data), dtype=np.float32)
        paths.append(folder / f"part-{k}.parquet")
        write_parquet(paths[-1], Bags(X, part.offsets))
    return folder / "model.safetensors", paths


def bare(model: Path, paths: list[Path], output: Path) -> None:
    """Score files one after the other in this process, on one thread."""
    for job in _tasks(model, paths, output, Scoring()):
        result = score_file(job)
        assert not result.failed, result.failed


def on_cluster(client: Any, model: Path, paths: list[Path], output: Path) -> None:
    results = score_files(model, paths, output, client=client)
    assert not any(one.failed for one in results)


def timed(run: Any, output: Path) -> float:
    """Return the seconds to fill an output folder."""
    shutil.rmtree(output, ignore_errors=True)
    return wall(lambda: run(output))


def add_scoring(bench: Benchmark, folder: Path) -> None:
    n_sets = QUICK_SETS if bench.quick else N_SETS
    model, paths = archive(folder, n_sets)
    size = min(path.stat().st_size for path in paths) / 1e6
    about = f"{N_FILES} files of {n_sets:,} sets, {size:.0f} MB each"
    with cluster_of(1) as one, cluster_of(2) as two:
        ways = {
            "bare": lambda output: bare(model, paths, output),
            "one": lambda output: on_cluster(one, model, paths, output),
            "two": lambda output: on_cluster(two, model, paths, output),
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        made = {}
        for r in range((1 if bench.quick else ROUNDS) + 1):
            for name, run in ways.items():
                taken = timed(run, folder / name)
                # The first round loads the model and compiles.
                seconds[name] += [taken] if r else []
                made[name] = {path.name: path.read_bytes() for path in (folder / name).glob("*.parquet")}
    assert made["bare"] == made["one"] == made["two"]
    taken = {name: np.array(values) for name, values in seconds.items()}
    total = N_FILES * n_sets
    bench.add("scoring in a bare process", total / taken["bare"], SETS_PER_SECOND, sizes=about)
    bench.add(
        "one worker ÷ bare process, sets per second", taken["bare"] / taken["one"], RATIO, "dask-one", sizes=about
    )
    bench.add(
        "two workers ÷ one, sets per second", taken["one"] / taken["two"], RATIO, "dask-two", threads=2, sizes=about
    )


def add_tasks(bench: Benchmark) -> None:
    with cluster_of(1) as client:
        on = Cluster(client)
        n_tasks = 100 if bench.quick else N_TASKS
        dict(on.run(abs, [(k,) for k in range(100)]))
        taken = [wall(lambda: dict(on.run(abs, [(k,) for k in range(n_tasks)]))) for _ in range(ROUNDS)]
    bench.add("task that does nothing", 1000 * np.array(taken) / n_tasks, "ms", "dask-task", sizes=f"{n_tasks:,} tasks")


def add_reading(bench: Benchmark, folder: Path) -> None:
    mail = folder / "mail"
    generate_mail(mail, QUICK_DOCUMENTS if bench.quick else N_DOCUMENTS, collection="DsUs", pages_per_set=3.0)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    found = {}
    for _ in range(1 if bench.quick else READING_ROUNDS):
        for n in seconds:
            with cluster_of(n) as client:
                dict(Cluster(client).run(abs, [(1,)]))
                shutil.rmtree(folder / "read", ignore_errors=True)
                begin = time.perf_counter()
                found[n] = read_documents(mail, output=folder / "read", client=client)
                seconds[n].append(time.perf_counter() - begin)
    here = read_here(mail)
    for documents in found.values():
        assert [one.to_json() for one in documents] == [one.to_json() for one in here]
    ratios = np.array(seconds[1]) / np.array(seconds[2])
    sizes = f"{len(here)} documents, {here.n_pages} pages"
    bench.add("reading documents, two workers ÷ one", ratios, RATIO, "dask-reading", threads=2, sizes=sizes)


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    # One thread in this process too: pyarrow would read files with all cores.
    pyarrow.set_cpu_count(1)
    folder = Path(tempfile.mkdtemp())
    try:
        add_scoring(bench, folder)
        add_tasks(bench)
        add_reading(bench, folder)
    finally:
        shutil.rmtree(folder)
    bench.finish()


if __name__ == "__main__":
    main()
