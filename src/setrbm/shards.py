"""Shards: labeled sets in several files on disk, read one file at a time.

A shard is an uncompressed ``.npz`` file, so that its arrays can be memory-mapped: a pass over the shards touches each
page once and keeps none.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._types import Array
from setrbm.bags import Bags
from setrbm.label_order import check_order
from setrbm.tools.files import replacing
from setrbm.tools.text import listed

Reader = Callable[[Path], tuple[Bags, npt.NDArray[Any]]]
NPZ_LOCAL_HEADER = 30
PATTERN = "shard-*.npz"
INDEX_ARRAYS = ("offsets", "indices", "indptr", "n_features")
# What zipfile, numpy and scipy raise for a damaged file; zipfile's RuntimeError is for encryption.
ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    KeyError,
    TypeError,
    ValueError,
    EOFError,
    OSError,
    RuntimeError,
)


@dataclass(frozen=True)
class Shard:
    """Description of one shard: everything but its vectors."""

    path: Path
    first: int
    n_sets: int
    n_vectors: int
    largest_set: int
    n_features: int
    dtype: np.dtype[Any]
    is_sparse: bool
    label_counts: dict[Any, int]
    # Size and modification time of the file when it was read.
    stamp: tuple[int, int]


class Shards:
    """Labeled sets in several files, read one at a time: for data larger than memory.

    Every file is read once on creation, so that a missing, damaged or inconsistent one is reported before training
    starts. Every later pass checks that the file has not changed and that its arrays are consistent; only whether all
    values are finite is not checked again.

    Parameters
    ----------
    paths : iterable of paths, or path of a folder
        The files, in order. For a folder, all shards that ``write_shards`` wrote to it.
    read : callable, optional
        Function from a path to ``(bags, y)``. The default memory-maps files written by ``write_shards``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from setrbm import ClassSetRBM
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.shards import Shards, write_shards
    >>> bags, y = load_musk1()
    >>> order = np.random.default_rng(0).permutation(len(bags))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shards = write_shards(folder, bags[order], y[order], sets_per_shard=40)
    ...     shards
    ...     model = ClassSetRBM(max_epochs=20, random_state=0).fit(shards)
    ...     model.predict(shards).shape
    Shards(3 files, 92 sets, 476 vectors, 166 features, dense float64)
    (92,)
    """

    def __init__(
        self, paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str], read: Reader | None = None
    ) -> None:
        if isinstance(paths, str | os.PathLike):
            paths = sorted(Path(paths).glob(PATTERN))
        self._read = read_shard if read is None else read
        self.shards: list[Shard] = []
        for path in map(Path, paths):
            if read is None:
                _verify_checksums(path)
            shard, _, _ = self._load(path, len(self), check_values=True)
            self.shards.append(shard)
            _refuse_different(self.shards[0], shard)
        if not self.shards:
            raise ValueError(f"There must be at least one shard. Got none (a folder is searched for {PATTERN}).")

    def _load(self, path: Path, first: int, check_values: bool = False) -> tuple[Shard, Bags, npt.NDArray[Any]]:
        """Read and check one shard, whose first set is number ``first`` of all."""
        bags, y = self._read(path)
        try:
            if check_values:
                bags.check_finite()
            y = _as_labels(y, len(bags))
        except (TypeError, ValueError) as error:
            raise ValueError(f"In {str(path)!r}: {error}") from None
        labels, counts = np.unique(y, return_counts=True)
        shard = Shard(
            path, first, len(bags), bags.n_vectors, int(bags.sizes.max()), bags.shape[1], bags.dtype, bags.is_sparse,
            dict(zip(labels.tolist(), counts.tolist(), strict=True)), _stamp(path),
        )  # fmt: skip
        return shard, bags, y

    @property
    def classes(self) -> npt.NDArray[Any]:
        """All labels of the stream, sorted."""
        return np.unique([label for shard in self.shards for label in shard.label_counts])

    @property
    def label_counts(self) -> dict[Any, int]:
        """How many sets of the stream carry each label."""
        total: dict[Any, int] = {}
        for shard in self.shards:
            for label, count in shard.label_counts.items():
                total[label] = total.get(label, 0) + count
        return total

    @property
    def shape(self) -> tuple[int, int]:
        """The number of sets and the number of features."""
        return len(self), self.shards[0].n_features

    @property
    def largest_set(self) -> int:
        """The number of vectors in the largest set."""
        return max(shard.largest_set for shard in self.shards)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The float type of the vectors."""
        return self.shards[0].dtype

    def __len__(self) -> int:
        return sum(shard.n_sets for shard in self.shards)

    def __iter__(self) -> Iterator[tuple[Shard, Bags, npt.NDArray[Any]]]:
        """Read the shards one after the other."""
        for known in self.shards:
            shard, bags, y = self._load(known.path, known.first)
            if shard != known:
                raise ValueError(f"{str(known.path)!r} changed after the Shards were created. Create them again.")
            yield shard, bags, y

    def __repr__(self) -> str:
        n_vectors = sum(shard.n_vectors for shard in self.shards)
        kind = "CSR" if self.shards[0].is_sparse else "dense"
        return (
            f"Shards({len(self.shards)} files, {len(self):,} sets, {n_vectors:,} vectors, {self.shape[1]:,} features, "
            f"{kind} {self.dtype})"
        )


def _refuse_different(first: Shard, shard: Shard) -> None:
    if shard.n_features != first.n_features:
        raise ValueError(
            f"All shards must have the same number of features. Got {first.n_features} in {str(first.path)!r} and "
            f"{shard.n_features} in {str(shard.path)!r}."
        )
    if (shard.is_sparse, shard.dtype) != (first.is_sparse, first.dtype):
        raise ValueError(
            f"All shards must be dense or all sparse, with the same float type. {str(shard.path)!r} differs."
        )
    if _has_text(shard) != _has_text(first):
        raise ValueError(f"Labels must be strings in all shards or in none. {str(shard.path)!r} differs.")


def _has_text(shard: Shard) -> bool:
    return any(isinstance(label, str) for label in shard.label_counts)


def write_shards(
    folder: str | os.PathLike[str], bags: Bags | Sequence[Any], y: npt.ArrayLike, sets_per_shard: int = 10_000
) -> Shards:
    """Write labeled sets as shards to a folder, which must not contain shards yet, and return them.

    Write the sets in random order: training shuffles within a shard, not across shards. For data that do not fit into
    memory, write each part with ``write_shard(path, bags, y)``. See ``Shards`` for an example.
    """
    bags = bags if isinstance(bags, Bags) else Bags.from_list(bags)
    check_order(bags, y)
    labels = _as_labels(y, len(bags))
    if sets_per_shard < 1:
        raise ValueError(f"sets_per_shard must be at least 1. Got {sets_per_shard}.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if old := sorted(folder.glob(PATTERN)):
        raise FileExistsError(
            f"{str(folder)!r} must not contain shards yet. Got {len(old)}, the first {old[0].name!r}."
        )
    paths = []
    for number, start in enumerate(range(0, len(bags), sets_per_shard)):
        paths.append(folder / f"shard-{number:05d}.npz")
        write_shard(paths[-1], bags[start : start + sets_per_shard], labels[start : start + sets_per_shard])
    return Shards(paths)


def write_shard(path: Path, bags: Bags, y: npt.ArrayLike) -> None:
    """Write one shard atomically."""
    check_order(bags, y)
    labels = _as_labels(y, len(bags))
    arrays: dict[str, Any] = {"offsets": bags.offsets, "y": labels, "n_features": np.array(bags.shape[1])}
    if bags.is_sparse:
        arrays |= {"data": bags.X.data, "indices": bags.X.indices, "indptr": bags.X.indptr}
    else:
        arrays["X"] = bags.X
    with replacing(path) as file:
        np.savez(file, **arrays)


def _as_labels(y: npt.ArrayLike, n_sets: int) -> npt.NDArray[Any]:
    """Return one label per set as an array that is not of object type, with the values unchanged."""
    labels = np.asarray(y)
    if labels.shape != (n_sets,):
        raise ValueError(f"y must hold one label for each of {n_sets} sets. Got shape {labels.shape}.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"Every set must have a label. Got {int(np.isnan(labels).sum())} that are NaN.")
    if labels.dtype.kind not in "OT" and (labels.dtype.kind != "U" or isinstance(y, np.ndarray)):
        return labels
    # numpy turns a list of strings and numbers into strings, so the labels are compared as given.
    given = np.asarray(y, dtype=object)
    values = [label.item() if isinstance(label, np.generic) else label for label in given]
    types = {type(value) for value in values}
    labels = np.array(values) if len(types) == 1 and types <= {int, float, bool, str} else given
    if labels.dtype == object or labels.tolist() != values:
        raise TypeError(
            f"Labels must be all integers, all floats, all booleans or all strings. Got the types "
            f"{listed(sorted(kind.__name__ for kind in types))}."
        )
    return labels


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def read_shard(path: Path) -> tuple[Bags, npt.NDArray[Any]]:
    """Memory-map one shard and check that its arrays are consistent, so that compiled code can rely on them."""
    with _reading(path):
        arrays = map_npz(path)
        if odd := [name for name in INDEX_ARRAYS if name in arrays and arrays[name].dtype.kind not in "iu"]:
            raise ValueError(f"{odd[0]} must hold integers, not {arrays[odd[0]].dtype}")
        X: Any = arrays.get("X")
        if X is None:
            shape = len(arrays["indptr"]) - 1, int(arrays["n_features"])
            X = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        if X.dtype not in (np.float32, np.float64):
            raise ValueError(f"its vectors must be float32 or float64, not {X.dtype}")
        bags = Bags(X, arrays["offsets"])
        return bags, _as_labels(np.array(arrays["y"]), len(bags))


def _verify_checksums(path: Path) -> None:
    with _reading(path), zipfile.ZipFile(path) as archive:
        if (damaged := archive.testzip()) is not None:
            raise ValueError(f"{damaged} is damaged")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise errors that name the file."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no shard {str(path)!r}.")
    try:
        yield
    except ERRORS as error:
        raise ValueError(f"{str(path)!r} must be an undamaged shard written by write_shards. Got: {error}") from None


def map_npz(path: Path) -> dict[str, Array]:
    """Return the arrays of an uncompressed npz file, mapped copy-on-write: nothing is read until it is used."""
    arrays = {}
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{member.filename} is compressed and cannot be mapped")
            file.seek(member.header_offset)
            header = file.read(NPZ_LOCAL_HEADER)
            name_length, extra_length = struct.unpack("<HH", header[26:30])
            file.seek(member.header_offset + NPZ_LOCAL_HEADER + name_length + extra_length)
            version = np.lib.format.read_magic(file)
            read_header = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read_header(file)
            if dtype.hasobject:
                raise ValueError(f"{member.filename} holds objects, which are never loaded")
            arrays[member.filename.removesuffix(".npy")] = _map_one(path, file.tell(), shape, fortran, dtype)
    return arrays


def _map_one(path: Path, at: int, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any]) -> Array:
    if 0 in shape or shape == ():
        return np.fromfile(path, dtype=dtype, count=int(np.prod(shape)), offset=at).reshape(shape)
    mapped = np.memmap(path, dtype=dtype, mode="c", offset=at, shape=shape, order="F" if fortran else "C")
    return np.asarray(mapped)
