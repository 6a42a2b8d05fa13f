"""Sources of labeled sets: all in memory, or a stream that is read part by part in every epoch.

To the training loop both are the same: something to iterate over once per epoch, which gives parts. They differ in how
sets are held out. In memory the same fraction of each class is drawn; in a stream the number of a set decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from setrbm import draws
from setrbm._types import Integers, Mask
from setrbm.engines.protocol import LabeledSets


@dataclass(frozen=True)
class Part:
    """Some labeled sets: the numbers of those to learn from, and of those to watch."""

    sets: LabeledSets
    training: Integers
    held_out: Integers


@dataclass(frozen=True)
class InMemory:
    """Labeled sets in memory: one part, which stays the same from epoch to epoch and can be kept on a device."""

    sets: LabeledSets
    training: Integers
    held_out: Integers

    @classmethod
    def of(cls, sets: LabeledSets, held_out: Integers | None = None) -> InMemory:
        """Return a source that holds out these sets and learns from all others; without any it learns from all."""
        held_out = np.empty(0, dtype=np.intp) if held_out is None else held_out
        return cls(sets, np.setdiff1d(np.arange(len(sets.y)), held_out), held_out)

    @property
    def watches(self) -> bool:
        """Whether sets are held out."""
        return len(self.held_out) > 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """The float type of the vectors."""
        return self.sets.bags.dtype

    def hold_out(self, fraction: float, seed: int) -> InMemory:
        """Hold out this fraction of each class."""
        return self.of(self.sets, hold_out(self.sets.y, fraction, seed))

    def __iter__(self) -> Iterator[Part]:
        yield Part(self.sets, self.training, self.held_out)


@dataclass(frozen=True)
class Streamed:
    """Labeled sets that are read in every epoch.

    Attributes
    ----------
    read : callable
        Begins a pass over the stream; every pass must give the same sets.
    dtype : dtype
        The float type of the vectors.
    fraction : float
        The part of the sets to hold out; 0 for none.
    """

    read: Callable[[], Iterable[LabeledSets]]
    dtype: np.dtype[Any]
    fraction: float = 0.0
    seed: int = 0

    @property
    def watches(self) -> bool:
        """Whether sets are held out."""
        return self.fraction > 0.0

    def hold_out(self, fraction: float, seed: int) -> Streamed:
        """Hold out this fraction of the stream, chosen by the sets' numbers."""
        return Streamed(self.read, self.dtype, fraction, seed)

    def __iter__(self) -> Iterator[Part]:
        for sets in self.read():
            held_out, weighs = _held_out_of(sets, self.fraction, self.seed), sets.weight > 0
            yield Part(sets, np.flatnonzero(~held_out & weighs), np.flatnonzero(held_out & weighs))


Source = InMemory | Streamed


def hold_out(y: Integers, fraction: float, seed: int, at_least_one: bool = False) -> Integers:
    """Return the sets to hold out: this fraction of each class, and never a whole class.

    Parameters
    ----------
    at_least_one : bool
        Whether a class of two or more sets must give one even if the fraction asks for less.
    """
    kept = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        wanted = round(fraction * len(members))
        wanted = min(max(wanted, int(at_least_one)), len(members) - 1)
        rank = draws.bits(draws.keys(seed, draws.SPLIT), members)[0]
        kept.append(members[np.argsort(rank, kind="stable")[:wanted]])
    return np.sort(np.concatenate(kept))


def folds(y: Integers, n_folds: int, seed: int) -> list[Integers]:
    """Return the sets to hold out in each fold: every set once, but never the only set of its class.

    The sets of each class are spread evenly over the folds; folds that would be empty are left out.
    """
    fold = np.full(len(y), -1)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        rank = draws.bits(draws.keys(seed, draws.SPLIT), members)[0]
        if len(members) > 1:
            fold[members[np.argsort(rank, kind="stable")]] = np.arange(len(members)) % n_folds
    return [held_out for number in range(n_folds) if len(held_out := np.flatnonzero(fold == number))]


def _held_out_of(sets: LabeledSets, fraction: float, seed: int) -> Mask:
    """Return which sets of a stream are held out; only their numbers in the stream matter."""
    numbers = np.arange(len(sets.y)) + sets.first
    return np.asarray(draws.uniform(draws.keys(seed, draws.SPLIT), numbers)[0] < fraction)
