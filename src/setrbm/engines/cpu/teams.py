"""Threads that train one model together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np
from numba import types
from numba.extending import intrinsic

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.layout import LANE_SIZE, UNIT_BLOCK, ZERO, TeamMember, Weights
from setrbm.engines.cpu.memory import SEPARATION, aligned_copy, aligned_zeros, padded

# A waiting thread checks this many times before it yields its core.
SPINS = np.int64(2000)


@intrinsic
def store_release(context, progress, at, count):
    """Store a count; a thread that loads it also sees everything written before."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        builder.store_atomic(args[2], builder.gep(data, [args[1]]), "release", 8)
        return context.get_dummy_value()

    return types.void(progress, types.int64, types.int64), generate


@intrinsic
def load_acquire(context, progress, at):
    """Load a count, and with it everything written before it was stored."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load_atomic(builder.gep(data, [args[1]]), "acquire", 8)

    return types.int64(progress, types.int64), generate


if os.name == "posix":
    sched_yield = types.ExternalFunction("sched_yield", types.int32())
else:

    @kernel
    def sched_yield():
        """Do nothing: there is no portable way to yield."""


@kernel
def wait_for_team(member, count):
    """Wait until every thread of the team has reached this count."""
    stride = member.progress.shape[1]
    store_release(member.progress, member.me * stride, count)
    for other in range(member.n):
        spins = ZERO
        while load_acquire(member.progress, other * stride) < count:
            spins += 1
            if spins > SPINS:
                sched_yield()


def new_team(weights: Weights, n_hidden: int, n_threads: int) -> list[TeamMember]:
    """Return the members of a team of threads, each with whole blocks of hidden units."""
    n_blocks, dtype = len(weights.W), weights.W.dtype
    n = min(n_threads, n_blocks)
    bounds = np.linspace(0, n_blocks, n + 1).round().astype(int) * int(UNIT_BLOCK)
    # The last thread stops at the last lane in use.
    bounds[-1] = -(-n_hidden // int(LANE_SIZE)) * int(LANE_SIZE)
    bounds = bounds.astype(np.uint64)
    block_logits = aligned_zeros((2, n_blocks, padded(len(weights.d), dtype, SEPARATION)), dtype)
    progress = aligned_zeros((n, SEPARATION // 8), np.dtype(np.int64))
    return [TeamMember(me, n, bounds[me], bounds[me + 1], block_logits, progress) for me in range(n)]


def private_copy(weights: Weights) -> Weights:
    """Return the weights with copies of the arrays that every member of a team updates for itself."""
    return weights._replace(scale=aligned_copy(weights.scale), d=aligned_copy(weights.d))


def run_team(threads: ThreadPoolExecutor | None, work: Callable[[int], None], team: Sequence[TeamMember]) -> None:
    """Run work(me) for every member of a team; if one fails, release the threads that wait for it."""
    if threads is None or len(team) == 1:
        work(0)
        return
    futures: list[Future[None]] = []

    try:
        for me in range(1, len(team)):
            futures.append(threads.submit(work, me))
            futures[-1].add_done_callback(lambda future: release(team) if future.exception() else None)
        # The calling thread works too: the scheduler then gives the other threads cores of their own.
        work(0)
        for future in futures:
            future.result()
    except BaseException:
        release(team)
        raise
    finally:
        # After Ctrl-C no thread may still be writing to the parameters.
        wait(futures)


def release(team: Sequence[TeamMember]) -> None:
    """Let no thread of a team wait any longer."""
    team[0].progress[:] = np.iinfo(np.int64).max
