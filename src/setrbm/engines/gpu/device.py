"""What torch says about the GPU: whether there is one, its name, its free memory, and what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

OUT_OF_MEMORY = (
    "The sets and models must fit in the memory of the GPU, which is full. Train fewer models at once, use dtype "
    "float32, or engine='cpu'."
)


def is_available() -> bool:
    """Return whether torch can use a GPU here."""
    return bool(torch.cuda.is_available())


def device_name() -> str:
    """Return the name of the GPU."""
    return str(torch.cuda.get_device_name()) if is_available() else "no GPU"


def compute_capability() -> tuple[int, int]:
    """Return the compute capability of the GPU, such as (9, 0)."""
    major, minor = torch.cuda.get_device_capability()
    return int(major), int(minor)


def free_bytes(device: Any) -> int:
    """Return how much memory can be allocated: what is free, and what torch holds in reserve."""
    if torch.device(device).type != "cuda":
        return 2**33
    reserve = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + int(reserve)


@contextmanager
def explained_errors() -> Iterator[None]:
    """Raise errors of the device as ones that tell the caller what to do."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise _explained(error, out_of_memory=True) from error
    except RuntimeError as error:
        # Torch writes "CUDA error", Triton "[CUDA]".
        if not any(mark in str(error) for mark in ("CUDA error", "HIP error", "[CUDA]", "[HIP]")):
            raise
        raise _explained(error, "out of memory" in str(error)) from error


def _explained(error: Exception, out_of_memory: bool) -> Exception:
    first_line = str(error).strip().splitlines()[0]
    if out_of_memory:
        return MemoryError(f"{OUT_OF_MEMORY} ({first_line})")
    return RuntimeError(
        "The GPU failed during training; finished work is kept. Start a new process: this one can no longer use the "
        f"GPU. ({first_line})"
    )
