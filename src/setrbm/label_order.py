"""Whether labels or weights with an index are in the order of the sets."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt


def check_order(sets: Any, values: Any, name: str = "y") -> None:
    """Refuse one value per set whose index holds the ids of the sets in another order, or other ids.

    Values without an index, and sets whose ids were not given, are taken in their order. So are values whose index
    counts rows: without a name, from 0 or by the positions that the sets had before they were selected; or any integers
    if the ids are no numbers.

    Parameters
    ----------
    sets : Bags, or anything with ``given_ids``
    values : array-like
        Labels or weights, perhaps a pandas Series.
    name : str
        What to call them in messages.
    """
    given_ids, index = getattr(sets, "given_ids", None), getattr(values, "index", None)
    # Lists have a method of that name.
    if given_ids is None or index is None or callable(index):
        return
    given, ids = _comparable(_as_array(index), given_ids)
    if given == ids:
        return
    positions = getattr(sets, "positions", None)
    if index.name is None and given in (list(range(len(ids))), [] if positions is None else positions.tolist()):
        return
    if len(given) == len(ids) and _are_integers(given) and not any(isinstance(id_, int | float) for id_ in ids):
        return
    in_order = f"{name}.loc[{'bags' if hasattr(sets, 'X') else 'X'}.ids]"
    cure = f"If the values are in the order of the sets, and their index is not, use {name}.to_numpy()."
    if Counter(given) == Counter(ids):
        differ = [k for k, (value, id_) in enumerate(zip(given, ids, strict=True)) if value != id_]
        raise ValueError(
            f"{name} must be in the order of the sets. Its index holds the same ids in another order: {len(differ):,} "
            f"of {len(ids):,} differ, the first {given[differ[0]]!s} at index {differ[0]}, where the set is "
            f"{ids[differ[0]]!s}. Use {in_order}. {cure}"
        )
    known = set(given)
    missing = [k for k, id_ in enumerate(ids) if id_ not in known]
    if not missing:
        raise ValueError(
            f"{name} must hold one value per set, in their order. Its index holds the ids of all {len(ids):,} sets and "
            f"more: {len(given):,}. Use {in_order}."
        )
    raise ValueError(
        f"The index of {name} must hold the ids of the sets. It lacks {len(missing):,} of {len(ids):,}, the first "
        f"{ids[missing[0]]!r} at index {missing[0]}, where it has {_at(given, missing[0])}. {cure} If sets were split, "
        f"put the values in the order of all sets first: {in_order}."
    )


def _as_array(index: Any) -> npt.NDArray[Any]:
    """Return the values of an index; times without their zone, in UTC, as Bags keeps them."""
    if getattr(index, "tz", None) is not None:
        index = index.tz_convert("UTC").tz_localize(None)
    return np.asarray(index)


def _comparable(given: npt.NDArray[Any], ids: npt.NDArray[Any]) -> tuple[list[Any], list[Any]]:
    """Return both as lists of values that are equal if they mean the same, such as 1 and "1"."""
    if given.dtype.kind == ids.dtype.kind == "M":
        # Times of different units.
        common = np.promote_types(given.dtype, ids.dtype)
        given, ids = given.astype(common), ids.astype(common)
    given_values, id_values = given.tolist(), ids.tolist()
    if not set(given_values) & set(id_values) and set(map(_as_text, given_values)) & set(map(_as_text, id_values)):
        return list(map(_as_text, given_values)), list(map(_as_text, id_values))
    return given_values, id_values


def _as_text(value: Any) -> str:
    """Return a value as text; numbers, and texts of numbers, without zeros before them."""
    text = str(value).strip()
    return str(int(text)) if text.isdecimal() else text


def _are_integers(values: list[Any]) -> bool:
    return all(isinstance(value, int) for value in values)


def _at(given: list[Any], k: int) -> str:
    return repr(given[k]) if k < len(given) else "none"
