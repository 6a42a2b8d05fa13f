"""Engines: interchangeable ways to do the arithmetic of training and prediction."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from setrbm.engines.protocol import Engine, LabelledSets, Model, Spec

# Engines are imported when first asked for: numba takes longer to load than a model to predict.
_MODULES = {"reference": "setrbm.engines.reference", "cpu": "setrbm.engines.cpu", "gpu": "setrbm.engines.gpu.engine"}
ENGINES = tuple(_MODULES)
# From here on a graphics processor is taken: so many dense models at once, or sparse sets with so many entries in
# mini-batches of so many sets. By the epoch an H200 is ahead of 16 cores long before (benchmarks/bench_gpu.py), but its
# first use costs seconds, to load torch and to compile; these save as much within some hundred epochs.
MANY_MODELS = 100
MANY_ENTRIES, LARGE_BATCH = 5_000_000, 64
# More hidden units, or more of them times classes, the registers of a program on a graphics processor do not hold.
MOST_HIDDEN, MOST_OUTER = 256, 2**14
# Batches times features: so many places are kept there for an epoch of a sparse model.
MOST_PLACES = 2**27


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


def suited_engine(name: str, spec: Spec, models: Sequence[Model], sets: Sequence[LabelledSets]) -> Engine:
    """Return the engine by name; ``"auto"`` is the GPU's where one is here and the training is large enough for it."""
    if name == "auto" and pays_on_gpu(spec, models, sets) and _has_gpu():
        name = "gpu"
    return get_engine(name)


def has_kernels(spec: Spec, model: Model) -> bool:
    """Return whether there are kernels for models of this kind and size on a graphics processor."""
    n_hidden, n_classes = model.params.U.shape
    return spec.unit == "set" and n_hidden <= MOST_HIDDEN and n_hidden * n_classes <= MOST_OUTER


def has_room(n_sets: int, batch_size: int, n_features: int) -> bool:
    """Return whether an epoch of sparse sets can be dealt out: a feature has a place in every batch, and one more."""
    return (-(-n_sets // batch_size) + 1) * n_features <= MOST_PLACES


def pays_on_gpu(spec: Spec, models: Sequence[Model], sets: Sequence[LabelledSets]) -> bool:
    """Return whether a graphics processor would be faster for this training."""
    # In float64 its speed was not measured.
    if spec.dtype != "float32" or not has_kernels(spec, models[0]):
        return False
    bags = sets[0].bags
    if bags.is_sparse:
        large = spec.batch_size >= LARGE_BATCH and bags.X.nnz >= MANY_ENTRIES
        return large and not spec.generative and has_room(len(bags), spec.batch_size, bags.shape[1])
    return spec.batch_size == 1 and not spec.persistent and len(models) >= MANY_MODELS


def _has_gpu() -> bool:
    # Torch takes seconds to load: it is asked only where there is a driver.
    if not os.path.exists("/dev/nvidiactl") or not (find_spec("torch") and find_spec("triton")):
        return False
    has: bool = import_module(_MODULES["gpu"]).is_available()
    return has
