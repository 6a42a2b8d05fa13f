"""What a GPU can do at best: the time of a copy and of a matrix product, by the device's own clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def copy_seconds(n_bytes: int, rounds: int) -> list[float]:
    """Return how long the device takes to copy this many bytes."""
    source = torch.rand(n_bytes // 4, device="cuda")
    target = torch.empty_like(source)
    return _device_seconds(lambda: target.copy_(source), rounds)


def product_seconds(n: int, rounds: int) -> list[float]:
    """Return how long the device takes for a product of two n x n matrices in full float32."""
    left, right = torch.rand(n, n, device="cuda"), torch.rand(n, n, device="cuda")
    return _device_seconds(lambda: torch.mm(left, right), rounds)


def _device_seconds(work: Callable[[], Any], rounds: int, times: int = 20) -> list[float]:
    """Return the mean time of some work in each round."""
    seconds = []
    for _ in range(rounds + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(times):
            work()
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) / 1e3 / times)
    return seconds[1:]
