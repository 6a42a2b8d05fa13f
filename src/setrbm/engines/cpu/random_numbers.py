"""The random numbers of ``setrbm.draws``."""

import numpy as np

from setrbm import draws
from setrbm.engines.cpu.compiling import kernel

HOLDER, HIDDEN = np.int64(draws.HOLDER), np.int64(draws.HIDDEN)
INPUT, INPUT_ANGLE, TARGET = np.int64(draws.INPUT), np.int64(draws.INPUT_ANGLE), np.int64(draws.TARGET)
GOLDEN64, MIX64_A, MIX64_B = np.uint64(draws.GOLDEN64), np.uint64(draws.MIX64_A), np.uint64(draws.MIX64_B)
GOLDEN32, MIX32_A, MIX32_B = np.uint32(draws.GOLDEN32), np.uint32(draws.MIX32_A), np.uint32(draws.MIX32_B)


@kernel
def mix64(z):
    """Mix the bits of a 64-bit integer."""
    z = (z ^ (z >> np.uint64(30))) * MIX64_A
    z = (z ^ (z >> np.uint64(27))) * MIX64_B
    return z ^ (z >> np.uint64(31))


@kernel
def extend_key(key, field):
    """Mix one more field into a key."""
    return mix64(key + GOLDEN64 * (np.uint64(field) + np.uint64(1)))


@kernel
def mix32(z):
    """Mix the bits of a 32-bit integer."""
    z = np.uint32((z ^ (z >> np.uint32(16))) * MIX32_A)
    z = np.uint32((z ^ (z >> np.uint32(15))) * MIX32_B)
    return np.uint32(z ^ (z >> np.uint32(16)))


@kernel
def random_word(key, unit):
    """Return the 32 random bits of a key and a unit."""
    low, high = np.uint32(key), np.uint32(key >> np.uint64(32))
    return mix32(np.uint32(mix32(np.uint32(np.uint32(unit) * GOLDEN32 + low)) ^ high))


@kernel
def uniform(key, unit):
    """Return the number in (0, 1) of a key and a unit."""
    odd = np.int32(random_word(key, unit) >> np.uint32(9)) * np.int32(2) + np.int32(1)
    return np.float32(odd) * np.float32(2.0**-24)


@kernel
def vector_key(set_key, step, stage, vector):
    """Return the key of one vector in one stage of one chain step."""
    return extend_key(extend_key(extend_key(set_key, step), stage), vector)
