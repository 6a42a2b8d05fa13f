"""Which columns of a file, or fields of its JSON lines, are what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Columns:
    """Which columns of a file, or fields of its JSON lines, are what.

    Attributes
    ----------
    bag, label : str
        The columns with the set and the label of a row.
    ignore : tuple of str
        Columns that are not features.
    pages : str
        The field with the page texts.
    """

    bag: str = "bag"
    label: str = "label"
    ignore: tuple[str, ...] = ()
    pages: str = "pages"
