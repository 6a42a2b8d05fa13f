"""Words in messages: counts, the first of many names, numbers, and the closest to a misspelled name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def count(n: int, word: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count(1, "set"), count(1200, "class")
    ('1 set', '1,200 classes')
    """
    many = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{n:,} {word if n == 1 else many}"


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


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def nearest(name: str, known: Sequence[str], most: int = 1) -> list[str]:
    """Return the known names closest to a name, ignoring case; an empty list if none is close.

    Examples
    --------
    >>> nearest("Lable", ["bag", "label"])
    ['label']
    >>> nearest("molecule", ["bag", "label"])
    []
    """
    by_lower = {candidate.lower(): candidate for candidate in known}
    return [by_lower[candidate] for candidate in get_close_matches(name.lower(), by_lower, n=most, cutoff=0.65)]
