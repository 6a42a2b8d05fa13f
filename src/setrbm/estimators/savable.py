"""The method ``save`` of the estimators of this package."""

from __future__ import annotations

import os


class CanSave:
    """The method ``save`` of the estimators of this package."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one file without pickle, as ``setrbm.save(self, path)`` does."""
        # The one way up from here: saving is the room below that knows every class (tests/test_architecture.py).
        from setrbm import save

        save(self, path)
