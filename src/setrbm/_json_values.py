"""Settings and results as JSON, with what JSON itself does not have: tuples, NaN, infinity, keys of any type."""

from __future__ import annotations

from typing import Any

import numpy as np


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
