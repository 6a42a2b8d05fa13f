"""Random numbers and the search for inputs that may be on, as vector instructions."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from setrbm.engines.cpu.lanes import Lanes
from setrbm.engines.cpu.layout import LANES
from setrbm.engines.cpu.random_numbers import GOLDEN32, MIX32_A, MIX32_B

# Seen as an integer, the bits of a float32 grow by 2^23 when it doubles, and are ORIGIN for 2^24. A little is added: a
# bound may be too high, but rounding must not make it too low.
BIT = np.float64(math.log(2.0) * 2.0**-23)

ORIGIN = np.float64((127 + 24) * 2.0**23 + 1000.0)


class Words:
    """Writes instructions for vectors of eight 32-bit words: the random numbers of ``draws.py``, eight at a time."""

    def __init__(self, builder: Any, low: Any, high: Any) -> None:
        self.builder, self.word = builder, ir.IntType(32)
        self.type, self.floats = ir.VectorType(self.word, int(LANES)), ir.VectorType(ir.FloatType(), int(LANES))
        self.low, self.high = self.everywhere(low), self.everywhere(high)

    def everywhere(self, word: Any) -> Any:
        """Return a vector with the same word in every lane."""
        nothing, pattern = ir.Constant(self.type, ir.Undefined), ir.Constant(self.type, [0] * int(LANES))
        first = self.builder.insert_element(nothing, word, ir.Constant(self.word, 0))
        return self.builder.shuffle_vector(first, nothing, pattern)

    def words(self, word: int) -> Any:
        """Return a constant vector."""
        return ir.Constant(self.type, [word] * int(LANES))

    def numbers(self, number: float) -> Any:
        """Return a constant vector of float32."""
        return ir.Constant(self.floats, [number] * int(LANES))

    def shifted(self, vector: Any, bits: int) -> Any:
        """Return every word shifted right."""
        return self.builder.lshr(vector, self.words(bits))

    def mixed(self, z: Any) -> Any:
        """Return the words with their bits scattered, as ``mix32`` does."""
        z = self.builder.mul(self.builder.xor(z, self.shifted(z, 16)), self.words(int(MIX32_A)))
        z = self.builder.mul(self.builder.xor(z, self.shifted(z, 15)), self.words(int(MIX32_B)))
        return self.builder.xor(z, self.shifted(z, 16))

    def drawn(self, units: Any) -> Any:
        """Return the random words of eight units."""
        start = self.builder.add(self.builder.mul(units, self.words(int(GOLDEN32))), self.low)
        return self.mixed(self.builder.xor(self.mixed(start), self.high))

    def uniform(self, units: Any) -> Any:
        """Return the numbers in (0, 1) of eight units."""
        odd = self.builder.or_(self.builder.shl(self.shifted(self.drawn(units), 9), self.words(1)), self.words(1))
        return self.builder.fmul(self.builder.sitofp(odd, self.floats), self.numbers(2.0**-24))


@intrinsic
def uniform_lanes(context, low, high, units, n, out):
    """Write the numbers in (0, 1) of the units listed, in whole lanes: both arrays go on beyond n."""

    def generate(context, builder, signature, args):
        low, high, _, n, _ = args
        words, single = Words(builder, low, high), Lanes(context, builder, types.float32)
        units, out = single.data(signature.args[2], args[2]), single.data(signature.args[4], args[4])
        eight = ir.Constant(n.type, int(LANES))
        with single.loop(builder.sdiv(builder.add(n, ir.Constant(n.type, int(LANES) - 1)), eight)) as loop:
            at = builder.mul(loop.index, eight)
            listed = builder.bitcast(builder.gep(units, [at]), words.type.as_pointer())
            single.store(words.uniform(builder.load(listed, align=4)), single.pointer(out, at))
        return context.get_dummy_value()

    return types.void(types.uint32, types.uint32, units, types.int64, out), generate


@intrinsic
def find_lanes(context, low, high, first, last, bias, peak, mass, scale, most, found):
    """List the inputs from first to last whose random number is not above what bounds their probability.

    sigm(drive) <= exp(drive), and drive <= bias + scale * the lesser of ``most`` times the largest weight and the sum
    of the positive weights. The exponential is bounded by the chords of 2^x from one power of two to the next, which
    are the bits of a float read as a number. All is rounded up: an input may be listed in vain, but none is lost.
    """

    def generate(context, builder, signature, args):
        low, high, first, last, _, _, _, scale, most, _ = args
        words, lanes = Words(builder, low, high), Lanes(context, builder, signature.args[4].dtype)
        bias, peak, mass, found = (lanes.data(signature.args[i], args[i]) for i in (4, 5, 6, 9))
        scale, most = lanes.everywhere(scale), lanes.everywhere(most)
        steps = ir.Constant(words.type, list(range(int(LANES))))
        i64, a_word = first.type, ir.Constant(first.type, 64)
        count = cgutils.alloca_once_value(builder, ir.Constant(i64, 0))
        builder.store(ir.Constant(i64, 0), count)
        n_words = builder.sdiv(builder.add(builder.sub(last, first), ir.Constant(i64, 63)), a_word)
        with lanes.loop(n_words) as loop:
            at = builder.add(first, builder.mul(loop.index, a_word))
            start = builder.add(words.everywhere(builder.trunc(at, words.word)), steps)
            hits = ir.Constant(i64, 0)
            for lane in range(64 // int(LANES)):
                several = builder.fmul(most, lanes.load(lanes.pointer(peak, at, lane)))
                every = lanes.load(lanes.pointer(mass, at, lane))
                least = builder.select(builder.fcmp_ordered("<", several, every), several, every)
                drive = lanes.plus_product(lanes.load(lanes.pointer(bias, at, lane)), scale, least)
                drawn = words.drawn(builder.add(start, words.words(lane * int(LANES))))
                below = builder.icmp_signed("<=", words.shifted(drawn, 8), _word_limit(builder, words, drive))
                eight = builder.zext(builder.bitcast(below, ir.IntType(int(LANES))), i64)
                hits = builder.or_(hits, builder.shl(eight, ir.Constant(i64, lane * int(LANES))))
            _list_bits(builder, _within(builder, hits, builder.sub(last, at)), at, found, count)
        return builder.load(count)

    i, f = types.int64, bias.dtype
    return types.int64(types.uint32, types.uint32, i, i, bias, peak, mass, f, f, found), generate


def _word_limit(builder, words, bits):
    """Write code for a bound of exp(drive), at most 1, as 24 bits, given the drive in units of BIT from ORIGIN on."""
    if bits.type != words.floats:
        bits = builder.fptrunc(bits, words.floats)
    lowest, highest = words.numbers(2.0**23), words.numbers(float(ORIGIN))
    bits = builder.select(builder.fcmp_ordered("<", bits, highest), bits, highest)
    bits = builder.select(builder.fcmp_ordered(">", bits, lowest), bits, lowest)
    return builder.fptosi(builder.bitcast(builder.fptosi(bits, words.type), words.floats), words.type)


def _within(builder, bits, n):
    """Write code that clears all but the first n of 64 bits."""
    every, a_word = ir.Constant(bits.type, -1), ir.Constant(n.type, 64)
    is_short = builder.icmp_signed("<", n, a_word)
    # A shift by all 64 bits is not defined.
    shift = builder.select(is_short, builder.sub(a_word, n), ir.Constant(n.type, 0))
    return builder.and_(bits, builder.lshr(every, shift))


@contextmanager
def _while_any(builder, variable):
    """Write a loop that runs as long as a variable is not zero."""
    test, body, end = (builder.append_basic_block(name) for name in ("test", "body", "end"))
    builder.branch(test)
    builder.position_at_end(test)
    value = builder.load(variable)
    builder.cbranch(builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0)), body, end)
    builder.position_at_end(body)
    yield
    builder.branch(test)
    builder.position_at_end(end)


def _list_bits(builder, hits, first, found, count):
    """Write code that appends first + the number of every bit that is set."""
    left = cgutils.alloca_once_value(builder, hits)
    builder.store(hits, left)
    with _while_any(builder, left):
        bits, n = builder.load(left), builder.load(count)
        bit = builder.cttz(bits, ir.Constant(ir.IntType(1), 1))
        input_number = builder.trunc(builder.add(first, bit), ir.IntType(32))
        builder.store(input_number, builder.gep(found, [n]))
        builder.store(builder.add(n, ir.Constant(n.type, 1)), count)
        builder.store(builder.and_(bits, builder.sub(bits, ir.Constant(bits.type, 1))), left)
