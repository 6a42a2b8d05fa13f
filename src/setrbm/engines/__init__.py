"""Engines: interchangeable implementations of the arithmetic of training and prediction."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module

from setrbm.engines.protocol import Engine, LabeledSets, Model, Spec

# Imported on first use: loading numba takes longer than predicting with a model.
_MODULES = {"reference": "setrbm.engines.reference", "cpu": "setrbm.engines.cpu", "gpu": "setrbm.engines.gpu.engine"}
ENGINES = tuple(_MODULES)
# Exists where the driver of a GPU is loaded.
GPU_DRIVER = "/dev/nvidiactl"


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
    # Torch takes seconds to load: not without a driver.
    if name == "auto" and os.path.exists(GPU_DRIVER):
        limits = import_module("setrbm.engines.gpu.limits")
        name = "gpu" if limits.is_faster(spec, models, sets) else name
    return get_engine(name)
