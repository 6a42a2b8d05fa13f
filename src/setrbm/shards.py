"""Shards: sets that live on disk in several files and are read one file at a time.

A shard of ours is an uncompressed ``.npz`` file, so that its arrays can be mapped into memory instead of read: a pass
over a stream touches each page once and keeps none.
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._files import replacing
from setrbm._types import Array
from setrbm.bags import Bags

Reader = Callable[[Path], tuple[Bags, npt.NDArray[Any]]]
NPZ_LOCAL_HEADER = 30
PATTERN = "shard-*.npz"


@dataclass(frozen=True)
class Shard:
    """What is known of one shard without its vectors."""

    path: Path
    first: int
    n_sets: int
    n_vectors: int
    n_features: int
    dtype: np.dtype[Any]
    is_sparse: bool
    label_counts: dict[Any, int]
    # Size and time of the file when it was looked at.
    stamp: tuple[int, int]


class Shards:
    """Labelled sets in several files, read one at a time: data larger than memory.

    Every file is opened once when the stream is made, so that one that is missing, damaged or of another width is
    named before anything is learned from it.

    Parameters
    ----------
    paths : iterable of paths, or the path of a folder
        In the order of the stream; of a folder all that ``write_shards`` wrote there.
    read : callable, optional
        From a path to ``(bags, y)``; the default maps files written by ``write_shards``.

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
        for path in paths:
            self.shards.append(self._look_at(Path(path)))
        if not self.shards:
            raise ValueError(f"There must be at least one shard. Got none (a folder is searched for {PATTERN}).")

    def _look_at(self, path: Path) -> Shard:
        bags, y = self._read(path)
        first = sum(shard.n_sets for shard in self.shards)
        labels, counts = np.unique(y, return_counts=True)
        shard = Shard(
            path, first, len(bags), bags.n_vectors, bags.shape[1], bags.dtype, bags.is_sparse,
            dict(zip(labels.tolist(), counts.tolist(), strict=True)), _stamp(path),
        )  # fmt: skip
        try:
            bags.check_finite()
        except ValueError as error:
            raise ValueError(f"In {str(path)!r}: {error}") from None
        if self.shards and shard.n_features != self.shards[0].n_features:
            raise ValueError(
                f"All shards must have the same number of features. Got {self.shards[0].n_features} in "
                f"{str(self.shards[0].path)!r} and {shard.n_features} in {str(path)!r}."
            )
        if self.shards and (shard.is_sparse, shard.dtype) != (self.shards[0].is_sparse, self.shards[0].dtype):
            raise ValueError(f"All shards must be of one kind (dense or sparse, float type). {str(path)!r} differs.")
        return shard

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
    def dtype(self) -> np.dtype[Any]:
        """The float type of the vectors."""
        return self.shards[0].dtype

    def __len__(self) -> int:
        return sum(shard.n_sets for shard in self.shards)

    def __iter__(self) -> Iterator[tuple[Shard, Bags, npt.NDArray[Any]]]:
        """Read the shards one after the other; each is let go when the next is asked for."""
        for shard in self.shards:
            if not shard.path.is_file() or _stamp(shard.path) != shard.stamp:
                raise ValueError(f"{str(shard.path)!r} is gone, or changed while it was in use. Make the Shards anew.")
            # What was checked once need not be checked in every pass.
            bags, y = map_shard(shard.path, trusted=True) if self._read is read_shard else self._read(shard.path)
            seen = (len(bags), bags.n_vectors, bags.shape[1], bags.dtype, bags.is_sparse)
            if seen != (shard.n_sets, shard.n_vectors, shard.n_features, shard.dtype, shard.is_sparse):
                raise ValueError(f"{str(shard.path)!r} was read otherwise than when the Shards were made.")
            yield shard, bags, y

    def __repr__(self) -> str:
        n_vectors = sum(shard.n_vectors for shard in self.shards)
        kind = "CSR" if self.shards[0].is_sparse else "dense"
        return (
            f"Shards({len(self.shards)} files, {len(self):,} sets, {n_vectors:,} vectors, {self.shape[1]:,} features, "
            f"{kind} {self.dtype})"
        )


def write_shards(
    folder: str | os.PathLike[str], bags: Bags | Sequence[Any], y: npt.ArrayLike, sets_per_shard: int = 10_000
) -> Shards:
    """Write labelled sets as shards into a folder (made if need be, and without shards yet) and return them.

    Write them in random order: training shuffles within a shard, not across. For data that do not fit into memory,
    ``write_shard(path, bags, y)`` writes one part. See ``Shards`` for an example.
    """
    bags = bags if isinstance(bags, Bags) else Bags.from_list(bags)
    labels = np.asarray(y)
    if labels.shape != (len(bags),):
        raise ValueError(f"y must hold one label for each of {len(bags)} sets. Got shape {labels.shape}.")
    if labels.dtype == object:
        labels = labels.astype(str)
    if sets_per_shard < 1:
        raise ValueError(f"sets_per_shard must be at least 1. Got {sets_per_shard}.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if old := sorted(folder.glob(PATTERN)):
        raise FileExistsError(f"{str(folder)!r} must not hold shards yet. Got {len(old)}, the first {old[0].name!r}.")
    paths = []
    for number, start in enumerate(range(0, len(bags), sets_per_shard)):
        paths.append(folder / f"shard-{number:05d}.npz")
        write_shard(paths[-1], bags[start : start + sets_per_shard], labels[start : start + sets_per_shard])
    return Shards(paths)


def write_shard(path: Path, bags: Bags, y: npt.NDArray[Any]) -> None:
    """Write one shard; the file appears under its name only when it is whole."""
    arrays: dict[str, Any] = {"offsets": bags.offsets, "y": y, "n_features": np.array(bags.shape[1])}
    if bags.is_sparse:
        arrays |= {"data": bags.X.data, "indices": bags.X.indices, "indptr": bags.X.indptr}
    else:
        arrays["X"] = bags.X
    with replacing(path) as file:
        np.savez(file, **arrays)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def read_shard(path: Path) -> tuple[Bags, npt.NDArray[Any]]:
    """Map one shard into memory; raise an error that names the file if it is missing or damaged."""
    return map_shard(path, trusted=False)


def map_shard(path: Path, trusted: bool) -> tuple[Bags, npt.NDArray[Any]]:
    """Map one shard into memory, and check (unless trusted) that its parts fit together."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no shard {str(path)!r}.")
    try:
        if not trusted:
            _check_sums(path)
        arrays = map_npz(path)
        offsets, y, n_features = arrays["offsets"], np.array(arrays["y"]), int(arrays["n_features"])
        X: Any = arrays.get("X")
        if X is None:
            X = sparse.csr_array(
                (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(len(arrays["indptr"]) - 1, n_features)
            )
            X.has_canonical_format = True
        if X.dtype not in (np.float32, np.float64):
            raise ValueError(f"its vectors must be float32 or float64, not {X.dtype}")
        bags = Bags._trusted(X, offsets, None, None) if trusted else Bags(X, offsets)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, struct.error) as error:
        raise ValueError(f"{str(path)!r} must be a whole shard written by write_shards. Got: {error}.") from None
    if y.shape != (len(bags),):
        raise ValueError(f"{str(path)!r} must hold one label a set. Got {y.shape} labels for {len(bags)} sets.")
    return bags, y


def _check_sums(path: Path) -> None:
    """Raise ValueError if the file's own checksums say that it is damaged."""
    with zipfile.ZipFile(path) as archive:
        if (bad := archive.testzip()) is not None:
            raise ValueError(f"{bad} is damaged")


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
