"""The same launches again and again: recorded once as a CUDA graph, so that the host need not make each anew."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import torch

# From so many times on recording pays.
WORTH_RECORDING = 8
# Torch takes one recording at a time.
RECORDING = Lock()


def repeat(work: Callable[[], None], times: int, device: Any) -> None:
    """Do work that only launches, always the same, so many times; on a GPU, on a stream nobody else uses."""
    if torch.device(device).type != "cuda" or times < WORTH_RECORDING:
        for _ in range(times):
            work()
        return
    # What is done for the first time may load and compile, which cannot be recorded.
    work()
    graph = torch.cuda.CUDAGraph()
    with RECORDING:
        # Other threads may copy and allocate meanwhile.
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            work()
        finally:
            graph.capture_end()
    for _ in range(times - 1):
        graph.replay()
    # The graph must outlive what it started.
    torch.cuda.current_stream(device).synchronize()
