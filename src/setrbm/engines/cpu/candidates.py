"""Which binary inputs may be on: a bound on each probability rules out most of them before anything is summed.

Eight inputs are looked at in one vector instruction each. As a loop that the compiler vectorizes, this search takes a
third longer, and a hybrid epoch 1.09 to 1.14 times as long (``lab/benchmarks/bench_hybrid.py``).
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from setrbm.engines.cpu.compiling import kernel
from setrbm.engines.cpu.layout import OCTET, ZERO
from setrbm.engines.cpu.random_numbers import GOLDEN32, MIX32_A, MIX32_B
from setrbm.engines.cpu.wide import broadcast, load, zeros

# The bits of a float32, read as an integer, grow by 2^23 when the number doubles; for 2^24 they are (127 + 24) 2^23.
# ORIGIN adds a margin: a bound may be too high, but rounding must not make it too low.
BIT = np.float64(math.log(2.0) * 2.0**-23)
ORIGIN = np.float64((127 + 24) * 2.0**23 + 1000.0)
LOWEST, HIGHEST = 2.0**23, float(np.float32(ORIGIN))
NONE, ONE = np.uint64(0), np.uint64(1)
WORDS, FLOATS = ir.VectorType(ir.IntType(32), int(OCTET)), ir.VectorType(ir.FloatType(), int(OCTET))


def _all(number):
    """Return the same number eight times, an integer or a float."""
    return ir.Constant(WORDS if isinstance(number, int) else FLOATS, [number] * int(OCTET))


def _copies(builder, word):
    """Emit eight copies of a word."""
    undefined = ir.Constant(WORDS, ir.Undefined)
    return builder.shuffle_vector(
        builder.insert_element(undefined, word, ir.Constant(word.type, 0)), undefined, _all(0)
    )


def _mixed(builder, z):
    """Emit ``mix32`` of eight words."""
    z = builder.mul(builder.xor(z, builder.lshr(z, _all(16))), _all(int(MIX32_A)))
    z = builder.mul(builder.xor(z, builder.lshr(z, _all(15))), _all(int(MIX32_B)))
    return builder.xor(z, builder.lshr(z, _all(16)))


def _random_words(builder, low, high, unit):
    """Emit ``random_word`` of a key, given by halves, and eight units from this one on."""
    units = builder.add(_copies(builder, unit), ir.Constant(WORDS, list(range(int(OCTET)))))
    started = builder.add(builder.mul(units, _all(int(GOLDEN32))), _copies(builder, low))
    return _mixed(builder, builder.xor(_mixed(builder, started), _copies(builder, high)))


def _limits(builder, bits):
    """Emit upper bounds of min(exp(drive), 1) as 24-bit integers, given ORIGIN + drive / BIT.

    The exponential is bounded by the chords of 2^x between neighboring powers of two: a float whose bits are a number
    that grows linearly follows just these chords.
    """
    bits = bits if bits.type == FLOATS else builder.fptrunc(bits, FLOATS)
    bits = builder.select(builder.fcmp_ordered("<", bits, _all(HIGHEST)), bits, _all(HIGHEST))
    bits = builder.select(builder.fcmp_ordered(">", bits, _all(LOWEST)), bits, _all(LOWEST))
    return builder.fptosi(builder.bitcast(builder.fptosi(bits, WORDS), FLOATS), WORDS)


@intrinsic
def which_may_be_on(context, low, high, unit, bias, peak, mass, scale, n_active):
    """Return eight bits, one for each input from this one on: whether its random number is at most its bound."""

    def generate(context, builder, signature, args):
        low, high, unit, bias, peak, mass, scale, n_active = args
        several = builder.fmul(n_active, peak)
        least = builder.select(builder.fcmp_ordered("<", several, mass), several, mass)
        bits = builder.fadd(bias, builder.fmul(scale, least, flags=["contract"]), flags=["contract"])
        drawn = builder.lshr(_random_words(builder, low, high, unit), _all(8))
        below = builder.icmp_signed("<=", drawn, _limits(builder, bits))
        return builder.zext(builder.bitcast(below, ir.IntType(int(OCTET))), ir.IntType(64))

    word = types.uint32
    return types.uint64(word, word, word, bias, peak, mass, scale, n_active), generate


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
    n_listed, like = ZERO, zeros(bias, 8)
    low, high = np.uint32(key), np.uint32(key >> np.uint64(32))
    scales, actives = broadcast(scale, like), broadcast(n_active, like)
    for start in range(first, last, 64):
        # One bit per input.
        mask = NONE
        for k in range(8):
            i = start + k * OCTET
            values = load(bias, i, like), load(peak, i, like), load(mass, i, like)
            eight = which_may_be_on(low, high, np.uint32(i), values[0], values[1], values[2], scales, actives)
            mask |= eight << np.uint64(k * OCTET)
        if last - start < 64:
            mask &= (ONE << np.uint64(last - start)) - ONE
        while mask != NONE:
            candidates[n_listed] = start + np.int64(trailing_zeros(mask))
            n_listed += 1
            mask &= mask - ONE
    return n_listed
