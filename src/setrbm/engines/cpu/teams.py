"""Threads that make a step together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np
from numba import types
from numba.extending import intrinsic

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.layout import FACTORS, LANES, ZERO, Team, Weights
from setrbm.engines.cpu.memory import APART, aligned, aligned_zeros, padded

# Whoever waits for another thread looks so often before it offers its core to others.
LOOKS = np.int64(2000)


@intrinsic
def post(context, posts, at, count):
    """Store a count so that whoever sees it also sees everything written before."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        builder.store_atomic(args[2], builder.gep(data, [args[1]]), "release", 8)
        return context.get_dummy_value()

    return types.void(posts, types.int64, types.int64), generate


@intrinsic
def look(context, posts, at):
    """Load a count, and with it everything written before it was stored."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load_atomic(builder.gep(data, [args[1]]), "acquire", 8)

    return types.int64(posts, types.int64), generate


if os.name == "posix":
    sched_yield = types.ExternalFunction("sched_yield", types.int32())
else:

    @kernel
    def sched_yield():
        """Do nothing: where there is no way to offer the core, it is kept."""


@kernel
def meet(team, count):
    """Wait until every thread of the team has come as far as this one."""
    apart = team.posts.shape[1]
    post(team.posts, team.me * apart, count)
    for other in range(team.n):
        looks = ZERO
        while look(team.posts, other * apart) < count:
            looks += 1
            if looks > LOOKS:
                sched_yield()


def new_teams(weights: Weights, n_hidden: int, n_threads: int) -> list[Team]:
    """Return the places of the threads that train one model together: whole blocks of hidden units for each."""
    n_blocks = len(weights.W)
    n = min(n_threads, n_blocks)
    bounds = np.linspace(0, n_blocks, n + 1).round().astype(int) * int(FACTORS)
    # The last thread ends with the last lane in use.
    bounds[-1] = -(-n_hidden // int(LANES)) * int(LANES)
    partial = aligned_zeros((2, n_blocks, padded(len(weights.d), weights.W.dtype, APART)), weights.W.dtype)
    posts = aligned_zeros((n, APART // 8), np.dtype(np.int64))
    return [Team(me, n, np.uint64(bounds[me]), np.uint64(bounds[me + 1]), partial, posts) for me in range(n)]


def own_copies(weights: Weights) -> Weights:
    """Return the weights with a copy of what every thread of a team changes for itself."""
    return weights._replace(scale=aligned(weights.scale), d=aligned(weights.d))


def together(threads: ThreadPoolExecutor | None, work: Callable[[int], None], teams: Sequence[Team]) -> None:
    """Let every thread of a team do its work; whatever goes wrong, nobody is kept waiting for one that never comes."""
    if threads is None or len(teams) == 1:
        work(0)
        return
    futures: list[Future[None]] = []

    def guarded(me: int) -> None:
        try:
            work(me)
        except BaseException:
            dismiss(teams)
            raise

    try:
        for me in range(1, len(teams)):
            futures.append(threads.submit(guarded, me))
        # The caller works too: helpers woken by a thread that goes on running are given cores of their own.
        work(0)
        for future in futures:
            future.result()
    except BaseException:
        dismiss(teams)
        raise
    finally:
        # After Ctrl-C nothing may still be writing to the parameters.
        wait(futures)


def dismiss(teams: Sequence[Team]) -> None:
    """Let no thread of a team wait any more."""
    teams[0].posts[:] = np.iinfo(np.int64).max
