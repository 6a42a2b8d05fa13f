"""The random numbers of ``setrbm.draws`` on torch's devices: the same bits, from signed integers that wrap."""

from __future__ import annotations

import math
from typing import Any

import torch

from setrbm import draws

_LOW32 = 0xFFFFFFFF


def _signed(value: int) -> int:
    """Return the 64-bit signed integer with these bits."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _shifted(z: torch.Tensor, n: int) -> torch.Tensor:
    """Shift right and fill with zeros, as for unsigned integers."""
    return (z >> n) & ((1 << (64 - n)) - 1)


def _mix64(z: torch.Tensor) -> torch.Tensor:
    z = (z ^ _shifted(z, 30)) * _signed(draws.MIX64_A)
    z = (z ^ _shifted(z, 27)) * _signed(draws.MIX64_B)
    return z ^ _shifted(z, 31)


def _mix32(z: torch.Tensor) -> torch.Tensor:
    """Mix the bits of 32-bit integers that are stored in 64 bits."""
    z = ((z ^ (z >> 16)) * draws.MIX32_A) & _LOW32
    z = ((z ^ (z >> 15)) * draws.MIX32_B) & _LOW32
    return z ^ (z >> 16)


def keys(seed: int, *fields: Any, device: Any) -> torch.Tensor:
    """Return the 64-bit keys of ``setrbm.draws.keys``; fields are integers or tensors."""
    k = _mix64(torch.tensor([_signed((seed + draws.GOLDEN64) % (1 << 64))], dtype=torch.int64, device=device))
    for field in fields:
        whole = isinstance(field, int)
        step = _signed(draws.GOLDEN64 * (field + 1) % (1 << 64)) if whole else _signed(draws.GOLDEN64) * (field + 1)
        k = _mix64(k + step)
    return k


def uniform(key: torch.Tensor, n_units: int) -> torch.Tensor:
    """Return uniform numbers in (0, 1) in float32, of shape (n_keys, n_units)."""
    units = torch.arange(n_units, dtype=torch.int64, device=key.device) * draws.GOLDEN32
    low, high = key & _LOW32, _shifted(key, 32)
    bits = _mix32(_mix32((units[None, :] + low[:, None]) & _LOW32) ^ high[:, None])
    return (2.0 * (bits >> 9).to(torch.float32) + 1.0) * 2.0**-24


def normal(key_radius: torch.Tensor, key_angle: torch.Tensor, n_units: int, dtype: Any) -> torch.Tensor:
    """Return standard normal numbers by the Box-Muller transform."""
    radius = torch.sqrt(-2.0 * torch.log(uniform(key_radius, n_units).to(dtype)))
    return radius * torch.cos(2.0 * math.pi * uniform(key_angle, n_units).to(dtype))
