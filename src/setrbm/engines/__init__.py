"""Engines: interchangeable ways to do the arithmetic of training and prediction."""

from __future__ import annotations

from importlib import import_module

from setrbm.engines.protocol import Engine

# Engines are imported when first asked for: numba takes longer to load than a model to predict.
_MODULES = {"reference": "setrbm.engines.reference", "cpu": "setrbm.engines.cpu", "gpu": "setrbm.engines.gpu"}


def get_engine(name: str) -> Engine:
    """Return an engine by name; ``"auto"`` is the fastest one that is always there.

    Examples
    --------
    >>> get_engine("reference").name
    'reference'
    """
    name = "cpu" if name == "auto" else name
    if name not in _MODULES:
        raise ValueError(f"engine must be one of 'auto', {', '.join(map(repr, _MODULES))}. Got {name!r}.")
    engine: Engine = import_module(_MODULES[name]).ENGINE
    return engine
