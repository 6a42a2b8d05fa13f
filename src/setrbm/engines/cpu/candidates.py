"""Which binary inputs may be on: a bound on each probability rules out most of them before anything is summed."""

import math

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.layout import ZERO
from setrbm.engines.cpu.random_numbers import random_word
from setrbm.engines.cpu.scalar_math import float_of_bits

# The bits of a float32, read as an integer, grow by 2^23 when the number doubles; for 2^24 they are (127 + 24) 2^23.
# ORIGIN adds a margin: a bound may be too high, but rounding must not make it too low.
BIT = np.float64(math.log(2.0) * 2.0**-23)
ORIGIN = np.float64((127 + 24) * 2.0**23 + 1000.0)
LOWEST, HIGHEST = np.float32(2.0**23), np.float32(ORIGIN)
NONE, ONE, WORD = np.uint64(0), np.uint64(1), np.uint64(64)


@kernel
def word_limit(bits):
    """Return an upper bound of min(exp(drive), 1) as a 24-bit integer, given ORIGIN + drive / BIT.

    The exponential is bounded by the chords of 2^x between neighboring powers of two: a float whose bits are a number
    that grows linearly follows just these chords.
    """
    bits = np.float32(bits)
    bits = bits if bits < HIGHEST else HIGHEST
    bits = bits if bits > LOWEST else LOWEST
    return np.int32(float_of_bits(np.int32(bits)))


@intrinsic
def trailing_zeros(context, word):
    """Return the position of the lowest bit of a word that is not zero."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return word(word), generate


@kernel
def find_candidates(key, first, last, bias, peak, mass, scale, n_active, candidates):
    """List the inputs from first to last whose random number is at most an upper bound of their probability.

    sigm(drive) <= exp(drive), and drive <= bias + scale * min(n_active * largest weight, sum of positive weights).
    Everything is rounded up: an input may be listed that turns out to be off, but none that is on is missed.
    """
    n_listed = ZERO
    for start in range(first, last, 64):
        biases, peaks, masses = bias[start : start + 64], peak[start : start + 64], mass[start : start + 64]
        # One bit per input.
        mask = NONE
        for k in range(WORD):
            several = n_active * peaks[k]
            least = several if several < masses[k] else masses[k]
            word = np.int32(random_word(key, start + np.int64(k)) >> np.uint32(8))
            mask |= np.uint64(word <= word_limit(biases[k] + scale * least)) << k
        if last - start < 64:
            mask &= (ONE << np.uint64(last - start)) - ONE
        while mask != NONE:
            candidates[n_listed] = start + np.int64(trailing_zeros(mask))
            n_listed += 1
            mask &= mask - ONE
    return n_listed
