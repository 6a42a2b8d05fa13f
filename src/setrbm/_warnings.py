"""Warnings that point to the user's line, however deep inside the package they are raised."""

from __future__ import annotations

import os
import sys
import warnings

# Their frames are skipped.
PACKAGES = ("setrbm", "sklearn", "joblib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the first line of the call stack that is not in this package, scikit-learn or joblib."""
    loaded = [sys.modules[name] for name in PACKAGES if name in sys.modules]
    inside = tuple(f"{folder}{os.sep}" for module in loaded for folder in module.__path__)
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
