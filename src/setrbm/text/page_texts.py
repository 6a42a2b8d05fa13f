"""PageTexts: documents with pages of text, with their labels and ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from setrbm.bags import Labels, as_positions


@dataclass(frozen=True, eq=False, repr=False)
class PageTexts:
    """Documents with pages of text, their labels and ids; a sequence of documents, as PageWords takes them.

    Parameters
    ----------
    documents : list of lists of str
        The pages of each document.
    y : ndarray of shape (n_documents,), or None
        The labels.
    ids : ndarray of shape (n_documents,)

    Examples
    --------
    >>> import numpy as np
    >>> from setrbm.text import PageTexts
    >>> texts = PageTexts([["Dear Sir,", "Amount: 40 euros"], ["Please cancel"]], np.array([1, 0]), np.array([7, 8]))
    >>> texts
    PageTexts(2 documents, 3 pages)
    >>> texts[1]
    ['Please cancel']
    >>> texts[1:].ids
    array([8])
    """

    documents: list[list[str]]
    y: Labels | None
    ids: Labels

    def __repr__(self) -> str:
        counts = ((len(self), "document"), (self.n_pages, "page"))
        return f"PageTexts({', '.join(f'{n:,} {word}' + 's' * (n != 1) for n, word in counts)})"

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.documents)

    def __getitem__(self, key: Any) -> Any:
        """Return the pages of one document or, for a slice, a mask or a list of positions, PageTexts."""
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            return self.documents[key]
        positions = as_positions(key, len(self))
        y = None if self.y is None else self.y[positions]
        return PageTexts([self.documents[k] for k in positions], y, self.ids[positions])

    @property
    def shape(self) -> tuple[int]:
        """The number of documents; with it, scikit-learn splits them into PageTexts and not into lists."""
        return (len(self),)

    @property
    def given_ids(self) -> Labels | None:
        """The ids; None if they are integers, which may be the numbers of lines."""
        return None if self.ids.dtype.kind in "iu" else self.ids

    @property
    def n_pages(self) -> int:
        """The number of pages of all documents."""
        return sum(map(len, self.documents))
