"""How far reading has come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Progress:
    """How far reading has come."""

    n_documents: int
    n_documents_opened: int = 0
    n_documents_done: int = 0
    n_pages_known: int = 0
    n_pages_done: int = 0
    n_pages_cached: int = 0

    @property
    def n_pages_expected(self) -> float:
        """How many pages there will be, if documents that were not opened have as many as the others."""
        return self.n_pages_known * self.n_documents / max(self.n_documents_opened, 1)
