"""Repeated launches: recorded once as a CUDA graph, so that the host does not make each of them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

# Recording is faster from this many repetitions on.
WORTH_RECORDING = 8


def repeat(work: Callable[[], None], times: int, device: Any) -> None:
    """Call work that always makes the same launches, and nothing else, this many times."""
    if torch.device(device).type != "cuda" or times < WORTH_RECORDING:
        for _ in range(times):
            work()
        return
    # The first call may load and compile kernels, which cannot be recorded.
    work()
    graph = torch.cuda.CUDAGraph()
    # The default stream cannot be recorded. Sets may be copied meanwhile, by a thread and on streams of low priority.
    with torch.cuda.stream(torch.cuda.Stream(device, priority=-1)):  # type: ignore[no-untyped-call]
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            work()
        finally:
            graph.capture_end()
    for _ in range(times - 1):
        graph.replay()
    # The graph must outlive what it started.
    torch.cuda.current_stream(device).synchronize()
