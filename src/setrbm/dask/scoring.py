"""score_files: one output file per input file, on a cluster, again and again until all are there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from setrbm._files import check_folder, delete_abandoned, replacing, write_atomically
from setrbm._text import listed
from setrbm._types import Array
from setrbm.dask.cluster import Cluster, Lost
from setrbm.datasets.files import is_data_name
from setrbm.datasets.for_models import Columns, read_for
from setrbm.datasets.predicted import as_csv, predicted, write_table
from setrbm.estimators import load
from setrbm.estimators.pipelines import first_step, last_step
from setrbm.shards import read_shard

FORMATS = ("parquet", "csv")
RECEIPTS = "receipts"
SHARD = ".npz"
# Characters of the name of an input in that of its output.
LONGEST = 50
ADVICE = "Use smaller shards (50 to 100 MB), or give the workers more memory."
# What a damaged or unfit input raises; it is reported, and the others go on.
FAULTS = (ValueError, TypeError, OSError, ImportError, LookupError)


@dataclass(frozen=True)
class Receipt:
    """What became of one input.

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
        Whether this run made the output, or it was there before.
    """

    input: str
    output: str
    n_sets: int = 0
    stamp: str = ""
    failed: str = ""
    is_new: bool = True


@dataclass(frozen=True)
class Job:
    """One input to score: everything its output depends on."""

    input: str
    output: str
    receipt: str
    model: str
    model_digest: str
    columns: Columns
    probabilities: bool


def score_files(
    model: str | os.PathLike[str], paths: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str], *,
    client: Any = None, columns: Columns | None = None, probabilities: bool = False, format: str = "parquet",
    on_receipt: Callable[[Receipt], None] | None = None,
) -> list[Receipt]:  # fmt: skip
    """Score files on a cluster: one output file per input, whatever happens to the workers.

    An output appears under its name only when it is whole. Outputs that are there already are kept, so running the same
    call again resumes; an input that has changed is scored again. A task may run more than once, on several workers or
    for several clients: the bytes are the same, and one whole output remains.

    Parameters
    ----------
    model : path
        Of a model file; every worker must see it under this path, and the inputs and the output folder too.
    paths : iterable of path
        CSV, Parquet and svmlight files, shards (``.npz``), JSON lines of page texts, and folders of documents.
    output : path
        The folder for the outputs, made if it does not exist. Their names are those of the inputs, with a digest of
        the path of the input and one of the model and the options. ``receipts/`` in it has one small file for each.
    client : distributed.Client, optional
        The default client if it is not given.
    columns : Columns, optional
        The columns of the set and the label, if they are not named "bag" and "label".
    probabilities : bool
        Whether to write the probability of every class.
    format : {"parquet", "csv"}
    on_receipt : callable, optional
        Called with each receipt as it comes.

    Returns
    -------
    list of Receipt
        In the order of the inputs. Inputs that could not be scored say why in ``failed``.
    """
    jobs = _jobs(Path(model), list(paths), Path(output), columns or Columns(), probabilities, format)
    cluster = Cluster(client)
    found = {k: receipt for k, job in enumerate(jobs) if (receipt := _receipt_of(job)) is not None}
    missing = [k for k in range(len(jobs)) if k not in found]
    tell = on_receipt or (lambda receipt: None)
    for receipt in found.values():
        tell(receipt)
    # Without work, no cluster is waited for.
    results = cluster.run(score_file, [(jobs[k],) for k in missing]) if missing else []
    for place, result in results:
        job = jobs[missing[place]]
        if isinstance(result, Lost):
            result = Receipt(job.input, job.output, failed=f"{result.reason}. {ADVICE}")
        found[missing[place]] = result
        tell(result)
    return [found[k] for k in range(len(jobs))]


def _jobs(model: Path, paths: list[Any], output: Path, columns: Columns, probabilities: bool, format: str) -> list[Job]:
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}. Got {format!r}.")
    inputs = [os.path.abspath(path) for path in paths]
    if len(set(inputs)) < len(inputs):
        twice = sorted({path for path in inputs if inputs.count(path) > 1})
        raise ValueError(f"Every input must be named once. Got several times: {listed(twice)}.")
    digest = file_digest(str(model))
    check_folder(output)
    (output / RECEIPTS).mkdir(parents=True, exist_ok=True)
    delete_abandoned(output)
    folder = os.path.abspath(output)
    asked = _short(f"{digest} {columns} {probabilities}")
    jobs = []
    for path in inputs:
        name = f"{os.path.basename(path)[:LONGEST]}-{_short(path)}-{asked}"
        jobs.append(Job(
            path, os.path.join(folder, f"{name}.{format}"), os.path.join(folder, RECEIPTS, f"{name}.{format}.json"),
            os.path.abspath(model), digest, columns, probabilities,
        ))  # fmt: skip
    return jobs


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", errors="surrogateescape")).hexdigest()[:10]


def file_digest(path: str) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp_of(path: str) -> str:
    """Return what changes if a file, or a folder of documents, does: sizes and times of modification."""
    if not os.path.isdir(path):
        found = os.stat(path)
        return f"{found.st_size} {found.st_mtime_ns}"
    from setrbm.documents.finding import find_documents

    documents, _ = find_documents(Path(path))
    files = [file for one in documents for file in one.files]
    return _short("\n".join(f"{file} {stamp_of(os.path.join(path, file))}" for file in files))


def _receipt_of(job: Job) -> Receipt | None:
    """Return the receipt of an output that is there, made from the input as it is now; None without one."""
    try:
        found = Receipt(**json.loads(Path(job.receipt).read_bytes()))
        is_there = os.path.isfile(job.output) and found.stamp == stamp_of(job.input)
    except (OSError, ValueError, TypeError):
        return None
    return replace(found, input=job.input, output=job.output, is_new=False) if is_there else None


def score_file(job: Job) -> Receipt:
    """Score one input and write its output: a function of files, run on a worker."""
    # Another client, or a worker that was lost, may have been here before.
    if (found := _receipt_of(job)) is not None:
        return found
    try:
        stamp = stamp_of(job.input)
        columns = _scored(job)
        if stamp_of(job.input) != stamp:
            raise ValueError("it changed while it was read; run this again")
        n_sets = len(next(iter(columns.values())))
        with replacing(Path(job.output)) as file:
            _write(file, columns, job.output)
    except FAULTS as error:
        return Receipt(job.input, job.output, failed=str(error) or type(error).__name__)
    except MemoryError:
        return Receipt(job.input, job.output, failed=f"there is not enough memory for it. {ADVICE}")
    receipt = Receipt(job.input, job.output, n_sets, stamp)
    write_atomically(Path(job.receipt), json.dumps(asdict(receipt)).encode())
    return receipt


def _write(file: IO[bytes], columns: dict[str, Array], name: str) -> None:
    if name.endswith(".csv"):
        file.write(as_csv(columns).encode())
    else:
        write_table(file, columns)


def is_input(path: Path) -> bool:
    """Return whether a file has the name of one that can be scored."""
    return path.is_file() and (path.suffix == SHARD or is_data_name(path))


def _scored(job: Job) -> dict[str, Array]:
    """Return the columns of the output."""
    model = _model(job.model, job.model_digest)
    if os.path.isdir(job.input):
        return _answers(model, job.input)
    sets = _sets(model, Path(job.input), job.columns)
    return predicted(model, sets).columns(job.columns.bag, job.columns.label, job.probabilities)


def _sets(model: Any, path: Path, columns: Columns) -> Any:
    if path.suffix == SHARD:
        sets, _ = read_shard(path)
        return sets
    return read_for(model, path, columns)


def _answers(model: Any, folder: str) -> dict[str, Array]:
    """Return the answers to the documents of a folder as columns."""
    import numpy as np

    from setrbm.documents import DocumentFeatures, classify, read_documents

    if not isinstance(first_step(model), DocumentFeatures):
        raise ValueError(f"A folder of documents needs a model of documents. {folder!r} is a folder.")
    answers = [one.to_json() for one in classify(model, read_documents(folder, n_jobs=1))]
    if not answers:
        raise ValueError("it has no documents")
    columns: dict[str, Array] = {}
    for name in answers[0]:
        values = np.empty(len(answers), dtype=object)
        values[:] = ["; ".join(one[name]) if name == "words" else one[name] for one in answers]
        columns[name] = values
    return columns


@lru_cache(maxsize=2)
def _model(path: str, digest: str) -> Any:
    """Return the model of a file, loaded once per worker; one thread each, since every task has one."""
    if (found := file_digest(path)) != digest:
        raise ValueError(
            f"the model {path!r} is another one on this worker: its digest is {found[:10]}, not {digest[:10]}"
        )
    model = load(path)
    last = last_step(model)
    if hasattr(last, "n_jobs"):
        last.n_jobs = 1
    return model
