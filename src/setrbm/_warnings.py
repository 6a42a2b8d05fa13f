"""Warnings that point to the user's line, however deep inside the package they are raised."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parent)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the first line of the call stack that belongs neither to this package nor to scikit-learn."""
    sklearn = sys.modules.get("sklearn")
    inside = (PACKAGE, *(map(str, sklearn.__path__) if sklearn else ()))
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
