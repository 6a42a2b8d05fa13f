"""Documents in: the pages of all documents, and the offsets at which each document begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from setrbm._types import Integers
from setrbm.bags import Bags, offsets_of

Page = TypeVar("Page")
# What to write instead of a page that is not text.
CURES: dict[type, str] = {
    bytes: " Decode it first: page.decode().",
    type(None): " A page without text is ''.",
}


def as_pages(documents: Any) -> tuple[list[str], Integers]:
    """Return the pages of all documents and the offsets at which each document begins; refuse what is not text."""
    if isinstance(documents, str | bytes | dict | set | Bags) or not _is_list_like(documents):
        cure = " One document is [pages]." if isinstance(documents, str) else ""
        raise TypeError(f"X must be a list of documents, each a list of page texts. Got {_in_words(documents)}.{cure}")
    return joined_pages([_as_document(document, k) for k, document in enumerate(documents)], "Drop them first.")


def joined_pages(sets: list[list[Page]], cure: str) -> tuple[list[Page], Integers]:
    """Return the pages of all documents and the offsets at which each begins; refuse documents without pages."""
    if not sets:
        raise ValueError("There must be at least one document. Got none.")
    sizes = np.array([len(pages) for pages in sets])
    if (empty := np.flatnonzero(sizes == 0)).size:
        raise ValueError(
            f"Every document must have at least one page. Got {empty.size} without pages of {len(sizes)} documents, "
            f"the first at index {empty[0]}. {cure}"
        )
    return [page for pages in sets for page in pages], offsets_of(sizes)


def _as_document(document: Any, k: int) -> list[str]:
    if isinstance(document, str | bytes | dict | set) or not _is_list_like(document):
        cure = " A document of one page is [text]." if isinstance(document, str) else ""
        raise TypeError(
            f"Each document must be a list of page texts. Got {_in_words(document)} for the document at index {k}."
            f"{cure}"
        )
    pages = list(document)
    for s, page in enumerate(pages):
        if not isinstance(page, str):
            raise TypeError(
                f"Every page must be text (str). Got {_in_words(page)} for page {s} of the document at index {k}."
                + CURES.get(type(page), "")
            )
    return pages


def _is_list_like(value: Any) -> bool:
    """Return whether a value can be read element by element; iterating over a frame or a matrix gives no elements."""
    return isinstance(value, Iterable) and not sparse.issparse(value) and not hasattr(value, "columns")


def _in_words(value: Any) -> str:
    """Return what a value is, for a message."""
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "None" if value is None else f"an object of class {type(value).__name__}"
