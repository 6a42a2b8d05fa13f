"""Model files: safetensors for the arrays and JSON for the rest, in one file. Nothing in it is ever executed."""

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
from setrbm.engines.protocol import LARGEST
from setrbm.tools.files import write_atomically
from setrbm.tools.text import listed

# Files of this format are written; files of all formats from 1 on are read (docs/guide/saving.md).
FORMAT = 2
FIELD = "setrbm"


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
        found = []
        for k, part in enumerate(self.description.get("parts", [])):
            described = dict(part)
            prefix = f"{k}."
            arrays = {name[len(prefix) :]: self.arrays[name] for name in self.arrays if name.startswith(prefix)}
            found.append(ModelFile(described.pop("kind"), described, arrays))
        return found


def write(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model file atomically."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"{os.fspath(path)!r} must be the path of a file. It is a folder.")
    versions = {"version": __version__, "numpy": np.__version__, "scikit_learn": sklearn.__version__}
    header = {"format": FORMAT, "kind": model.kind, **versions, **model.description}
    arrays = {name: np.asarray(array, order="C") for name, array in model.arrays.items()}
    header["digest"] = digest(header, arrays)
    payload = to_safetensors(arrays, metadata={FIELD: json.dumps(header, allow_nan=False)})
    write_atomically(Path(path), payload)


def digest(header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> str:
    """Return a checksum of everything in a file except the checksum itself."""
    known = {name: value for name, value in header.items() if name != "digest"}
    total = hashlib.sha256(json.dumps(known, sort_keys=True).encode())
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
        found = digest(header, arrays)
    except (SafetensorError, OverflowError, TypeError, AttributeError, RecursionError) as error:
        # safetensors also raises other errors, for types that numpy lacks and for sizes beyond the file.
        raise ValueError(
            f"{os.fspath(path)!r} must be a model file written by save(). It is truncated, damaged or of another type: "
            f"{error}."
        ) from None
    if header.get("digest") != found:
        raise ValueError(f"Checksum mismatch: {os.fspath(path)!r} is damaged.")
    return ModelFile(header.pop("kind"), header, arrays)


def _header(path: str | os.PathLike[str], metadata: dict[str, str]) -> dict[str, Any]:
    name = os.fspath(path)
    try:
        header = json.loads(metadata[FIELD])
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


def to_json(value: Any) -> Any:
    """Convert a setting or result to JSON; tuples, dicts, NaN and infinity are tagged, other objects become None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, tuple | np.ndarray):
        return {"tuple": [to_json(item) for item in value]}
    if isinstance(value, dict):
        return {"pairs": [[to_json(key), to_json(item)] for key, item in value.items()]}
    return value if isinstance(value, str | int | float | bool | None) else None


def from_json(value: Any) -> Any:
    """Invert ``to_json``."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "tuple" in value:
        return tuple(from_json(item) for item in value["tuple"])
    return {from_json(key): from_json(item) for key, item in value["pairs"]}


def encode_labels(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Convert class labels to JSON: their numpy type and their values."""
    kind = classes.dtype.str if classes.dtype != object else "object"
    values = classes.tolist()
    if any(not isinstance(value, str | int | float | bool) for value in values):
        raise ValueError("Only labels that are strings, numbers or booleans can be saved.")
    return {"dtype": kind, "values": values}


def decode_labels(encoded: dict[str, Any]) -> npt.NDArray[Any]:
    """Invert ``encode_labels``."""
    dtype, values = np.dtype(encoded["dtype"]), encoded["values"]
    if dtype.kind not in "OUbiuf":
        raise ValueError(f"Labels of type {dtype} are not supported.")
    if not isinstance(values, list) or not all(isinstance(value, str | int | float | bool) for value in values):
        raise ValueError("Labels must be a list of strings, numbers or booleans.")
    if dtype.kind == "U" and dtype.itemsize > 4 * max(map(len, map(str, values)), default=0) + 4:
        raise ValueError(f"Labels of type {dtype} are longer than any label.")
    labels = np.array(values, dtype=dtype)
    if len(values) < 2 or len(np.unique(labels)) != len(values) or (np.unique(labels) != labels).any():
        raise ValueError(f"There must be two or more labels, sorted and distinct. Got {listed(map(repr, values))}.")
    return labels


def check_letters(arrays: dict[str, npt.NDArray[Any]], shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse parameters that do not have these shapes, are not floats or not finite, or that no training can return."""
    for name, shape in shapes.items():
        array = arrays[name]
        check_floats(name, array, shape)
        largest = array.flat[np.abs(array).argmax()]
        if np.abs(largest) > LARGEST:
            raise ValueError(f"{name} must hold values of at most {LARGEST:g} in size. Got {largest:g}.")


def check_floats(name: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuse an array that does not have this shape, or does not hold finite floats."""
    if array.dtype not in (np.float32, np.float64) or array.shape != shape:
        raise ValueError(f"{name} must hold floats of shape {shape}. Got {array.dtype} of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite. Got NaN or infinity.")
