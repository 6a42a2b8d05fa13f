"""Engines: interchangeable implementations of the arithmetic of training and prediction."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from setrbm.engines.gpu import limits
from setrbm.engines.protocol import Engine, LabeledSets, Model, Spec

# Imported on first use: loading numba takes longer than predicting with a model.
_MODULES = {"reference": "setrbm.engines.reference", "cpu": "setrbm.engines.cpu", "gpu": "setrbm.engines.gpu.engine"}
ENGINES = tuple(_MODULES)


def get_engine(name: str) -> Engine:
    """Return an engine by name; ``"auto"`` is the fastest one that is always available.

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


def suited_engine(name: str, spec: Spec, models: Sequence[Model], sets: Sequence[LabeledSets]) -> Engine:
    """Return the engine by name; ``"auto"`` is the GPU engine where a GPU is available and faster for this training."""
    return get_engine("gpu" if name == "auto" and limits.is_faster(spec, models, sets) else name)
