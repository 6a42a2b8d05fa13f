"""The file format: safetensors for the arrays and JSON for the rest, in one file. Nothing in it is ever executed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from setrbm._version import __version__
from setrbm.tools.files import write_atomically

# Files of this format are written; files of all formats from 1 on are read (docs/guide/saving.md).
FORMAT = 2
METADATA = "setrbm"


@dataclass(frozen=True)
class ModelFile:
    """Contents of a model file: class name, description and arrays of the estimator.

    The parts of an estimator that contains others, such as the steps of a Pipeline, are model files within it: their
    descriptions are a list in the description, and the names of their arrays begin with their position.
    """

    kind: str
    description: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]

    def with_parts(self, parts: Sequence[ModelFile]) -> ModelFile:
        """Return this file with other files in it."""
        arrays = {f"{k}.{name}": array for k, part in enumerate(parts) for name, array in part.arrays.items()}
        described = [{"kind": part.kind, **part.description} for part in parts]
        return ModelFile(self.kind, self.description | {"parts": described}, self.arrays | arrays)

    def parts(self) -> list[ModelFile]:
        """Return the files within this file."""
        parts = []
        for k, part in enumerate(self.description.get("parts", [])):
            described = dict(part)
            prefix = f"{k}."
            arrays = {name[len(prefix) :]: self.arrays[name] for name in self.arrays if name.startswith(prefix)}
            parts.append(ModelFile(described.pop("kind"), described, arrays))
        return parts


def write(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model file atomically."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"{os.fspath(path)!r} must be the path of a file. It is a folder.")
    versions = {"version": __version__, "numpy": np.__version__, "scikit_learn": sklearn.__version__}
    header = {"format": FORMAT, "kind": model.kind, **versions, **model.description}
    arrays = {name: np.asarray(array, order="C") for name, array in model.arrays.items()}
    header["digest"] = digest(header, arrays)
    payload = to_safetensors(arrays, metadata={METADATA: json.dumps(header, allow_nan=False)})
    write_atomically(Path(path), payload)


def digest(header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> str:
    """Return a checksum of everything in a file except the checksum itself."""
    described = {name: value for name, value in header.items() if name != "digest"}
    total = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for name in sorted(arrays):
        total.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        total.update(arrays[name].tobytes())
    return total.hexdigest()


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file; raise ValueError if it is not one or is damaged."""
    if os.path.isdir(path):
        raise ValueError(f"{os.fspath(path)!r} must be a model file written by save(). It is a folder.")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"There is no model file {os.fspath(path)!r}.")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            header = _header(path, metadata)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        checksum = digest(header, arrays)
    except (SafetensorError, OverflowError, TypeError, AttributeError, RecursionError) as error:
        # safetensors also raises other errors, for types that numpy lacks and for sizes beyond the file.
        raise ValueError(
            f"{os.fspath(path)!r} must be a model file written by save(). It is truncated, damaged or of another type: "
            f"{error}."
        ) from None
    if header.get("digest") != checksum:
        raise ValueError(f"Checksum mismatch: {os.fspath(path)!r} is damaged.")
    return ModelFile(header.pop("kind"), header, arrays)


def _header(path: str | os.PathLike[str], metadata: dict[str, str]) -> dict[str, Any]:
    name = os.fspath(path)
    try:
        header = json.loads(metadata[METADATA])
        version = header["format"]
        if type(version) is not int or version < 1 or not isinstance(header["kind"], str):
            raise TypeError("format must be a positive integer and kind a string")
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        raise ValueError(
            f"{name!r} must be a model file written by save(). It is a safetensors file without a description of a "
            "model."
        ) from None
    if version > FORMAT:
        raise ValueError(
            f"{name!r} was written by a newer version of setrbm ({header.get('version', 'unknown')}, file format "
            f"{version}). This version reads formats up to {FORMAT}. Upgrade setrbm to load it."
        )
    return dict(header)
