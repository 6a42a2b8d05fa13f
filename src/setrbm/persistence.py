"""Save and load: safetensors for the arrays, JSON for the rest, in one file. Nothing in it can be executed."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from setrbm._files import write_atomically
from setrbm.engines.protocol import LARGEST

FORMAT = 1
FIELD = "setrbm"


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds: the estimator's kind, its description, and its arrays."""

    kind: str
    description: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def write(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model file; the old file stays whole until the new one is."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"{os.fspath(path)!r} must name a file to write. It is a folder.")
    header = {"format": FORMAT, "kind": model.kind, **model.description}
    arrays = {name: np.ascontiguousarray(array) for name, array in model.arrays.items()}
    header["digest"] = digest(header, arrays)
    payload = to_safetensors(arrays, metadata={FIELD: json.dumps(header, allow_nan=False)})
    write_atomically(Path(path), payload)


def digest(header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> str:
    """Return a checksum of all that a file holds, but the checksum itself."""
    known = {name: value for name, value in header.items() if name != "digest"}
    total = hashlib.sha256(json.dumps(known, sort_keys=True).encode())
    for name in sorted(arrays):
        total.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        total.update(np.ascontiguousarray(arrays[name]).tobytes())
    return total.hexdigest()


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file, or raise ValueError saying why it is none."""
    if os.path.isdir(path):
        raise ValueError(f"{os.fspath(path)!r} must be a model file written by save(). It is a folder.")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"There is no model file {os.fspath(path)!r}.")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            header = _header(path, metadata)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OverflowError, TypeError, AttributeError) as error:
        # Beside its own error, safetensors lets others out for types numpy lacks and for sizes beyond the file.
        raise ValueError(
            f"{os.fspath(path)!r} must be a model file written by save(). It is truncated, damaged or of another kind: "
            f"{error}."
        ) from None
    if header.get("digest") != digest(header, arrays):
        raise ValueError(f"{os.fspath(path)!r} is damaged: what it holds is not what was written.")
    return ModelFile(header.pop("kind"), header, arrays)


def _header(path: str | os.PathLike[str], metadata: dict[str, str]) -> dict[str, Any]:
    name = os.fspath(path)
    try:
        header = json.loads(metadata[FIELD])
        version = int(header["format"])
        if not isinstance(header["kind"], str):
            raise TypeError("kind must be a string")
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        raise ValueError(
            f"{name!r} must be a model file written by save(). It is a safetensors file without setrbm's description."
        ) from None
    if version > FORMAT:
        raise ValueError(
            f"{name!r} was written by a newer setrbm (version {header.get('version', 'unknown')}, format {version}); "
            f"this one reads formats up to {FORMAT}. Upgrade setrbm to load it."
        )
    return dict(header)


def to_json(value: Any) -> Any:
    """Return a setting or a result as JSON: tuples, dicts and odd numbers are marked; what JSON cannot hold is None."""
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
    """Return what ``to_json`` was given."""
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
    """Return class labels as JSON: their numpy type and their values."""
    kind = classes.dtype.str if classes.dtype != object else "object"
    values = classes.tolist()
    if any(not isinstance(value, str | int | float | bool) for value in values):
        raise ValueError("Only labels that are strings, numbers or booleans can be saved.")
    return {"dtype": kind, "values": values}


def decode_labels(encoded: dict[str, Any]) -> npt.NDArray[Any]:
    """Return class labels from JSON."""
    dtype, values = np.dtype(encoded["dtype"]), encoded["values"]
    if dtype.kind not in "OUbiuf":
        raise ValueError(f"Labels of type {dtype} are not known.")
    if not isinstance(values, list) or not all(isinstance(value, str | int | float | bool) for value in values):
        raise ValueError("Labels must be a list of strings, numbers or booleans.")
    if dtype.kind == "U" and dtype.itemsize > 4 * max(map(len, map(str, values)), default=0) + 4:
        raise ValueError(f"Labels of type {dtype} are longer than any of them.")
    labels = np.array(values, dtype=dtype)
    if len(values) < 2 or len(np.unique(labels)) != len(values) or (np.unique(labels) != labels).any():
        raise ValueError(f"There must be two or more labels, sorted, each once. Got {_some(values)}.")
    return labels


def _some(values: list[Any]) -> str:
    return str(values[:5]) if len(values) <= 5 else f"{len(values)} values"


def check_arrays(arrays: dict[str, npt.NDArray[Any]], shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse arrays that do not have these shapes, are not floats or not finite, or that no training can return."""
    for name, shape in shapes.items():
        array = arrays[name]
        if array.dtype not in (np.float32, np.float64) or array.shape != shape:
            raise ValueError(f"{name} must hold floats of shape {shape}. Got {array.dtype} of shape {array.shape}.")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite. Got NaN or infinity.")
        # Scaling is in the units of the data, which may be of any size.
        largest = array.flat[np.abs(array).argmax()]
        if not name.startswith("scale_") and np.abs(largest) > LARGEST:
            raise ValueError(f"{name} must hold values of at most {LARGEST:g} in size. Got {largest:g}.")
