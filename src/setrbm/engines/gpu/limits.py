"""What the GPU engine can train, and from which size on ``engine="auto"`` takes it; imports no torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from setrbm.engines.protocol import LabeledSets, Model, Spec

# From here on "auto" takes a GPU: this many dense models at once, or sparse sets with this many entries in mini-batches
# of this size. Per epoch an H200 overtakes 16 cores much earlier (lab/benchmarks/bench_gpu.py), but its first use costs
# seconds to load torch and compile; these sizes save as much within some hundred epochs.
MANY_MODELS = 100
MANY_ENTRIES, LARGE_BATCH = 5_000_000, 64
# The registers of a program hold at most this many hidden units, and this many hidden units times classes.
MOST_HIDDEN, MOST_OUTER = 256, 2**14
# The poolings that the kernels know; others are left to torch operations.
KERNEL_POOLINGS = {"soft", "hard", "mean"}
# An epoch of a sparse model keeps batches times features numbers on the device: at most this many.
MOST_PLACES = 2**27
# Compute capabilities of data-center GPUs, which do float64 at half the rate of float32; others at 1/32 or less.
FAST_FLOAT64 = {(6, 0), (7, 0), (8, 0), (9, 0), (10, 0)}
# Exists where the driver of a GPU is loaded.
DRIVER = "/dev/nvidiactl"


def has_kernels(spec: Spec, model: Model) -> bool:
    """Return whether there are kernels for models of this kind and size."""
    n_hidden, n_classes = model.params.U.shape
    known = spec.unit == "set" and spec.pooling in KERNEL_POOLINGS
    return known and n_hidden <= MOST_HIDDEN and n_hidden * n_classes <= MOST_OUTER


def has_room(n_sets: int, batch_size: int, n_features: int) -> bool:
    """Return whether an epoch of sparse sets fits: it keeps a number per feature for every batch, and for one more."""
    return (-(-n_sets // batch_size) + 1) * n_features <= MOST_PLACES


def is_faster(spec: Spec, models: Sequence[Model], sets: Sequence[LabeledSets]) -> bool:
    """Return whether a GPU is available, and faster than the CPU for this training."""
    return _is_large(spec, models, sets) and _is_available(spec.dtype)


def _is_large(spec: Spec, models: Sequence[Model], sets: Sequence[LabeledSets]) -> bool:
    """Return whether the kernels can do this training and it is large enough for them."""
    if not has_kernels(spec, models[0]):
        return False
    bags = sets[0].bags
    if bags.is_sparse:
        large = spec.batch_size >= LARGE_BATCH and bags.X.nnz >= MANY_ENTRIES
        return large and not spec.generative and has_room(len(bags), spec.batch_size, bags.shape[1])
    return spec.batch_size == 1 and not spec.persistent and len(models) >= MANY_MODELS


def _is_available(dtype: str) -> bool:
    """Return whether there is a GPU that is fast at this dtype."""
    # Torch takes seconds to load: not without a driver.
    if not os.path.exists(DRIVER) or not (find_spec("torch") and find_spec("triton")):
        return False
    device = import_module("setrbm.engines.gpu.device")
    return device.is_available() and (dtype == "float32" or device.compute_capability() in FAST_FLOAT64)
