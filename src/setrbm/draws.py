r"""Counter-based random numbers: a pure function of their purpose.

A *key* identifies one purpose (seed, epoch, set, chain step, stage, vector). A key and a unit's index determine one
number in (0, 1). There is no state, so every engine draws the same numbers, in any order and on any number of threads.

Keys are mixed in 64 bits, with the finalizer of SplitMix64 after each field. The numbers of one key come from two
rounds of a 32-bit finalizer over ``unit * odd + low word`` and ``high word``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm._types import Floats, Integers

Keys = npt.NDArray[np.uint64]

# Stages: the purpose of a number within a chain step. Engines share these values.
ORDER, INIT_W, INIT_U, SPLIT, HOLDER, HIDDEN, INPUT, INPUT_ANGLE, TARGET, START, FURTHER = range(11)

GOLDEN64 = 0x9E3779B97F4A7C15
MIX64_A, MIX64_B = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
GOLDEN32 = 0x9E3779B9
MIX32_A, MIX32_B = 0x7FEB352D, 0x846CA68B


def _mix64(z: Keys) -> Keys:
    """Mix the bits of 64-bit integers (a bijection)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX64_A)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX64_B)
    return z ^ (z >> np.uint64(31))


def _mix32(z: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Mix the bits of 32-bit integers (a bijection)."""
    z = (z ^ (z >> np.uint32(16))) * np.uint32(MIX32_A)
    z = (z ^ (z >> np.uint32(15))) * np.uint32(MIX32_B)
    return z ^ (z >> np.uint32(16))


def keys(seed: int | Integers, *fields: int | Integers) -> Keys:
    """Return the 64-bit keys of one or more seeds and the fields of their purpose; all are broadcast.

    Examples
    --------
    >>> keys(0, 1, 2) == keys(0, 1, 2), keys(0, 1, 2) == keys(0, 2, 1)
    (array([ True]), array([False]))
    """
    k = _mix64(np.atleast_1d(np.asarray(seed)).astype(np.uint64) + np.uint64(GOLDEN64))
    for field in fields:
        k = _mix64(k + np.uint64(GOLDEN64) * (np.atleast_1d(np.asarray(field)).astype(np.uint64) + np.uint64(1)))
    return k


def bits(key: Keys, units: int | Integers) -> npt.NDArray[np.uint32]:
    """Return 32-bit integers of shape (n_keys, n_units), for ``range(units)`` or for the given unit indices.

    The indices may have one row per key.
    """
    numbers = np.arange(units) if isinstance(units, int) else units
    low = (key & np.uint64(0xFFFFFFFF)).astype(np.uint32)[:, np.newaxis]
    high = (key >> np.uint64(32)).astype(np.uint32)[:, np.newaxis]
    return _mix32(_mix32(numbers.astype(np.uint32) * np.uint32(GOLDEN32) + low) ^ high)


def uniform(key: Keys, units: int | Integers) -> Floats:
    """Return numbers in (0, 1) of shape (n_keys, n_units): odd multiples of 2**-24, exact in float32.

    Examples
    --------
    >>> u = uniform(keys(7), 1000)
    >>> bool((u > 0).all() and (u < 1).all()), round(float(u.mean()), 1)
    (True, 0.5)
    """
    odd = 2.0 * (bits(key, units) >> np.uint32(9)).astype(np.float64) + 1.0
    return odd * 2.0**-24


def normal(key_radius: Keys, key_angle: Keys, units: int | Integers) -> Floats:
    """Return standard normal numbers: the Box-Muller transform of two uniform numbers each."""
    radius = np.sqrt(-2.0 * np.log(uniform(key_radius, units)))
    return radius * np.cos(2.0 * np.pi * uniform(key_angle, units))


def order(seed: int, epoch: int, sets: Integers, first: int = 0) -> Integers:
    """Return the sets in the order in which this epoch visits them.

    Examples
    --------
    >>> sorted(order(0, 1, np.arange(5)).tolist())
    [0, 1, 2, 3, 4]
    """
    return orders([seed], epoch, [sets], [first])[0]


def orders(
    seeds: Sequence[int], epoch: int, sets: Sequence[Integers], firsts: Sequence[int] | None = None
) -> list[Integers]:
    """Return, for each seed, its sets in the order in which this epoch visits them."""
    lengths = np.array([len(one) for one in sets])
    inside = np.arange(lengths.max(initial=0)) < lengths[:, np.newaxis]
    numbers = np.zeros(inside.shape, dtype=np.intp)
    numbers[inside] = np.concatenate(sets)
    in_stream = numbers if firsts is None else numbers + np.asarray(firsts)[:, np.newaxis]
    rank = bits(keys(np.asarray(seeds), epoch, ORDER), in_stream).astype(np.int64)
    # Padding is sorted to the end of each row.
    rank[~inside] = 1 << 32
    sorted_numbers = np.take_along_axis(numbers, np.argsort(rank, axis=1, kind="stable"), axis=1)
    return [row[:n] for row, n in zip(sorted_numbers, lengths, strict=True)]


@dataclass(frozen=True)
class ChainDraws:
    """The random numbers for the Gibbs chains of a batch of sets.

    Attributes
    ----------
    seed, epoch : int
    sets : ndarray of shape (n_sets,)
        Indices of the sets in the whole stream.
    sizes : ndarray of shape (n_sets,)
    """

    seed: int
    epoch: int
    sets: Integers
    sizes: Integers

    def _vector_keys(self, step: int, stage: int) -> Keys:
        within = np.concatenate([np.arange(size) for size in self.sizes])
        return keys(self.seed, self.epoch, np.repeat(self.sets, self.sizes), step, stage, within)

    def per_set(self, step: int, stage: int, units: int) -> Floats:
        """Return uniform numbers of shape (n_sets, units)."""
        return uniform(keys(self.seed, self.epoch, self.sets, step, stage, 0), units)

    def per_vector(self, step: int, stage: int, units: int) -> Floats:
        """Return uniform numbers of shape (n_vectors, units)."""
        return uniform(self._vector_keys(step, stage), units)

    def normal_per_vector(self, step: int, units: int) -> Floats:
        """Return standard normal numbers for Gaussian inputs, of shape (n_vectors, units)."""
        return normal(self._vector_keys(step, INPUT), self._vector_keys(step, INPUT_ANGLE), units)


def new_seed(random_state: Any) -> int:
    """Return a seed drawn from an object with ``randint``, such as NumPy's RandomState."""
    return int(random_state.randint(2**31 - 1))


def further_seeds(seed: int, n: int) -> list[int]:
    """Return n seeds for further fits, derived from this seed.

    Examples
    --------
    >>> further_seeds(0, 3) == further_seeds(0, 4)[:3], len(set(further_seeds(0, 100)))
    (True, 100)
    """
    return [int(key >> np.uint64(33)) for key in keys(seed, FURTHER, np.arange(n))] if n else []
