"""Pooled activations of packed sets, and their derivatives, as torch operations; mirrors ``setrbm.pooling.pools``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch.nn.functional import logsigmoid

from setrbm._types import Constraint
from setrbm.engines.gpu.store import Batch
from setrbm.pooling import POOLINGS

Value = Callable[[torch.Tensor], torch.Tensor]


def soft_pool(v: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the log-sum-exp of each set and the softmax of each vector within its set."""
    peak = batch.over_sets(v, "max")
    scaled = torch.exp(v - peak[batch.set_of])
    total = batch.over_sets(scaled, "sum")
    return peak + torch.log(total), scaled / total[batch.set_of]


def first_largest(v: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest value of each set, and for each vector whether it is the first to have it."""
    peak = batch.over_sets(v, "max")
    places = torch.arange(len(v), device=v.device, dtype=v.dtype)[:, None]
    candidates = torch.where(v == peak[batch.set_of], places, float(len(v)))
    return peak, places == batch.over_sets(candidates, "min")[batch.set_of]


def _log_sum_exp(a: torch.Tensor, value: Value, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    return soft_pool(value(a), batch)


def _maximum(a: torch.Tensor, value: Value, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    peak, first = first_largest(a, batch)
    return value(peak), first.to(a.dtype)


# From activations, the function that gives their values, and a batch: joined values and shares, as in the table of
# ``setrbm.pooling.pools``.
JOIN_SETS = {"soft": _log_sum_exp, "hard": _maximum, "mean": _log_sum_exp}


def values(a: torch.Tensor, constraint: Constraint) -> torch.Tensor:
    """Return the values of activations: a (xor) or log sigm(a) (or)."""
    return a if constraint == "xor" else logsigmoid(a)


def pool_and_share(
    a: torch.Tensor, batch: Batch, constraint: Constraint, pooling: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the pooled activations of each set and the share of each vector in them."""
    joined, share = JOIN_SETS[pooling](a, partial(values, constraint=constraint), batch)
    size_cost = POOLINGS[pooling].size_cost
    if size_cost:
        joined = joined - size_cost * torch.log(torch.diff(batch.ends).to(joined.dtype))[:, None]
    return joined, share


def set_pool(a: torch.Tensor, batch: Batch, constraint: Constraint, pooling: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the pooled activations and their derivatives with respect to the activations."""
    pool, share = pool_and_share(a, batch, constraint, pooling)
    return pool, share if constraint == "xor" else share * torch.sigmoid(-a)
