"""Names in messages: the first of many, and the closest to a misspelled one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def listed(names: Iterable[object], most: int = 5) -> str:
    """Return the first names and the number of the others.

    Examples
    --------
    >>> listed("abcdefg", most=3)
    'a, b, c and 4 more'
    """
    words = [str(name) for name in names]
    shown = ", ".join(words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most} more"


def nearest(name: str, known: Sequence[str], most: int = 1) -> list[str]:
    """Return the known names closest to a name, ignoring case; an empty list if none is close.

    Examples
    --------
    >>> nearest("Lable", ["bag", "label"])
    ['label']
    """
    by_lower = {one.lower(): one for one in known}
    return [by_lower[one] for one in get_close_matches(name.lower(), by_lower, n=most, cutoff=0.5)]
