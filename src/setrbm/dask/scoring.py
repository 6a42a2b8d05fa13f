"""score_files: one output file per input file, made on a cluster, and resumable."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from setrbm._types import Array
from setrbm.dask.cluster import Cluster, Failed
from setrbm.datasets.columns import Columns
from setrbm.datasets.files import is_data_name
from setrbm.datasets.for_models import read_for
from setrbm.datasets.predicted import as_csv, predicted, write_table
from setrbm.estimators.pipelines import last_step
from setrbm.persistence import load
from setrbm.shards import read_shard
from setrbm.tools.files import check_folder, delete_abandoned, replacing, write_atomically
from setrbm.tools.text import listed

FORMATS = ("parquet", "csv")
RECEIPTS = "receipts"
SHARD = ".npz"
# Characters of the name of an input in that of its output.
MOST_CHARACTERS = 50
ADVICE = "Use smaller shards (50 to 100 MB), or give the workers more memory."


@dataclass(frozen=True)
class FileResult:
    """The result of scoring one input.

    Attributes
    ----------
    input, output : str
        Paths; the output exists unless ``failed`` says why not.
    n_sets : int
    stamp : str
        Tells whether the input has changed since.
    failed : str
        Empty if the output is there.
    is_new : bool
        Whether this call made the output, or it existed before.
    """

    input: str
    output: str
    n_sets: int = 0
    stamp: str = ""
    failed: str = ""
    is_new: bool = True


@dataclass(frozen=True)
class Scoring(Columns):
    """How to score files; a subclass can score inputs of other kinds.

    Attributes
    ----------
    bag, label, ignore, pages
        Columns of tables, and fields of JSON lines; see ``setrbm.datasets.columns.Columns``.
    probabilities : bool
        Whether to write the probability of every class.
    format : {"parquet", "csv"}
        Of the outputs.
    """

    probabilities: bool = False
    format: str = "parquet"

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}. Got {self.format!r}.")

    def stamp(self, path: str) -> str:
        """Return what changes if an input does: its size and time of modification."""
        return stamp_of(path)

    def columns(self, model: Any, path: str) -> dict[str, Array]:
        """Return the columns of the output for an input."""
        sets = read_shard(Path(path))[0] if is_shard(Path(path)) else read_for(model, Path(path), self)
        return predicted(model, sets).columns(self.bag, self.label, self.probabilities)


@dataclass(frozen=True)
class ScoringTask:
    """One input to score: everything its output depends on. ``receipt`` is the file that its result is kept in."""

    input: str
    output: str
    receipt: str
    model: str
    model_digest: str
    how: Scoring


def score_files(
    model: str | os.PathLike[str], paths: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str],
    how: Scoring | None = None, *, client: Any = None, on_result: Callable[[FileResult], None] | None = None,
) -> list[FileResult]:  # fmt: skip
    """Score files on a cluster, with one output file per input.

    An output appears under its name only when it is complete. Existing outputs are kept, so rerunning the same call
    resumes; an input that has changed is scored again. A task may run more than once, on several workers or for several
    clients: the bytes are the same, and one complete output remains.

    Parameters
    ----------
    model : path
        Of a model file; every worker must see it under this path, and the inputs and the output folder too.
    paths : iterable of path
        CSV, Parquet and svmlight files, shards (``.npz``), and JSON lines of page texts.
    output : path
        The folder for the outputs, made if it does not exist. Their names are those of the inputs, with a digest of
        the path of the input and one of the model and the settings. ``receipts/`` in it has one small file for each.
    how : Scoring, optional
        Columns, format, and what to write.
    client : distributed.Client or Cluster, optional
        The default client if it is not given. A ``Cluster`` says how long to wait for workers.
    on_result : callable, optional
        Called with each result as it comes.

    Returns
    -------
    list of FileResult
        In the order of the inputs. Inputs that could not be scored say why in ``failed``.
    """
    cluster = Cluster.of(client)
    tasks = _tasks(Path(model), list(paths), Path(output), how or Scoring())
    results = {k: known for k, task in enumerate(tasks) if (known := _result_on_disk(task)) is not None}
    missing = [k for k in range(len(tasks)) if k not in results]
    report = on_result or (lambda result: None)
    for known in results.values():
        report(known)
    with closing(cluster.run(score_file, [(tasks[k],) for k in missing])) as scored:
        for n, outcome in scored:
            k = missing[n]
            results[k] = _result_of(tasks[k], outcome)
            report(results[k])
    return [results[k] for k in range(len(tasks))]


def _result_of(task: ScoringTask, outcome: FileResult | Failed) -> FileResult:
    """Return the result of a task that this call has run."""
    if not isinstance(outcome, Failed):
        return replace(outcome, is_new=True)
    _delete_outdated(task)
    advice = f". {ADVICE}" if outcome.was_killed else ""
    return FileResult(task.input, task.output, failed=outcome.reason + advice)


def _tasks(model: Path, paths: list[Any], output: Path, how: Scoring) -> list[ScoringTask]:
    inputs = [os.path.abspath(path) for path in paths]
    if len(set(inputs)) < len(inputs):
        twice = sorted({path for path in inputs if inputs.count(path) > 1})
        raise ValueError(f"Every input must be named once. Got several times: {listed(twice)}.")
    digest = file_digest(str(model))
    check_folder(output)
    receipts = output.absolute() / RECEIPTS
    receipts.mkdir(parents=True, exist_ok=True)
    for folder in (output, receipts):
        delete_abandoned(folder)
    settings = short_digest(f"{digest} {how}")
    tasks = []
    for path in inputs:
        name = f"{os.path.basename(path)[:MOST_CHARACTERS]}-{short_digest(path)}-{settings}.{how.format}"
        place = os.path.join(os.path.abspath(output), name)
        tasks.append(ScoringTask(path, place, str(receipts / f"{name}.json"), os.path.abspath(model), digest, how))
    return tasks


def short_digest(text: str) -> str:
    """Return ten characters that distinguish texts."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogateescape")).hexdigest()[:10]


def file_digest(path: str) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp_of(path: str) -> str:
    """Return the size and time of modification of a file."""
    status = os.stat(path)
    return f"{status.st_size} {status.st_mtime_ns}"


def _result_on_disk(task: ScoringTask) -> FileResult | None:
    """Return the result of an output that is there, made from the input as it is now; None without one."""
    try:
        kept = FileResult(**json.loads(Path(task.receipt).read_bytes()))
        is_there = os.path.isfile(task.output) and kept.stamp == task.how.stamp(task.input)
    except (OSError, ValueError, TypeError):
        return None
    return replace(kept, input=task.input, output=task.output, is_new=False) if is_there else None


def score_file(task: ScoringTask) -> FileResult:
    """Score one input and write its output: a function of files, run on a worker."""
    # Another client, or a worker that was lost, may have been here before.
    if (known := _result_on_disk(task)) is not None:
        return known
    try:
        return _scored(task)
    except LookupError as error:
        reason = f"{type(error).__name__}: {error}"
    except (ValueError, TypeError, OSError, ImportError) as error:
        reason = str(error) or type(error).__name__
    except MemoryError:
        reason = f"there is not enough memory for it. {ADVICE}"
    _delete_outdated(task)
    return FileResult(task.input, task.output, failed=reason)


def _scored(task: ScoringTask) -> FileResult:
    """Write output and receipt of an input."""
    stamp = task.how.stamp(task.input)
    columns = task.how.columns(_model(task.model, task.model_digest), task.input)
    if task.how.stamp(task.input) != stamp:
        raise ValueError("it changed while it was read; rerun to score it again")
    with replacing(Path(task.output)) as file:
        _write(file, columns, task.output)
    result = FileResult(task.input, task.output, len(next(iter(columns.values()))), stamp)
    write_atomically(Path(task.receipt), json.dumps(asdict(result)).encode())
    if not os.path.exists(task.output):
        raise OSError("its output was deleted by another client; rerun to score it again")
    return result


def _delete_outdated(task: ScoringTask) -> None:
    """Delete an output whose receipt says that it was made from another state of the input."""
    # Without a receipt, another client may be about to write one.
    if not os.path.exists(task.receipt) or _result_on_disk(task) is not None:
        return
    for path in (task.receipt, task.output):
        with suppress(OSError):
            os.unlink(path)


def _write(file: IO[bytes], columns: dict[str, Array], name: str) -> None:
    if name.endswith(".csv"):
        file.write(as_csv(columns).encode())
    else:
        write_table(file, columns)


def is_input(path: Path) -> bool:
    """Return whether a file has the name of one that can be scored."""
    return path.is_file() and (is_shard(path) or is_data_name(path))


def is_shard(path: Path) -> bool:
    """Return whether a file has the name of a shard."""
    return path.name.lower().endswith(SHARD)


@lru_cache(maxsize=2)
def _model(path: str, digest: str) -> Any:
    """Return the model of a file, loaded once per worker; one thread each, since every task has one."""
    if (got := file_digest(path)) != digest:
        raise ValueError(
            f"the model {path!r} is another one on this worker: its digest is {got[:10]}, not {digest[:10]}"
        )
    model = load(path)
    last = last_step(model)
    if hasattr(last, "n_jobs"):
        last.n_jobs = 1
    return model
