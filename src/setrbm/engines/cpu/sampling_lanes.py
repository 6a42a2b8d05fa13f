"""Random numbers and the search for active inputs, written as vector instructions."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from setrbm.engines.cpu.lanes import Lanes, broadcast
from setrbm.engines.cpu.layout import LANE_SIZE
from setrbm.engines.cpu.random_numbers import GOLDEN32, MIX32_A, MIX32_B

# The bits of a float32, read as an integer, grow by 2^23 when the number doubles; for 2^24 they are (127 + 24) 2^23.
# ORIGIN adds a margin: a bound may be too high, but rounding must not make it too low.
BIT = np.float64(math.log(2.0) * 2.0**-23)
ORIGIN = np.float64((127 + 24) * 2.0**23 + 1000.0)


class RandomWords:
    """Emits instructions for lanes of 32-bit words: the random numbers of ``setrbm.draws``, eight at a time."""

    def __init__(self, builder: Any, low: Any, high: Any) -> None:
        self.builder, self.word = builder, ir.IntType(32)
        self.type, self.floats = ir.VectorType(self.word, int(LANE_SIZE)), ir.VectorType(ir.FloatType(), int(LANE_SIZE))
        self.low, self.high = self.broadcast(low), self.broadcast(high)

    def broadcast(self, word: Any) -> Any:
        """Return a lane of copies of one word."""
        return broadcast(self.builder, self.type, word)

    def constant(self, word: int) -> Any:
        """Return a lane of copies of a constant."""
        return ir.Constant(self.type, [word] * int(LANE_SIZE))

    def float_constant(self, number: float) -> Any:
        """Return a lane of copies of a float32 constant."""
        return ir.Constant(self.floats, [number] * int(LANE_SIZE))

    def shifted(self, vector: Any, bits: int) -> Any:
        """Return every word shifted right."""
        return self.builder.lshr(vector, self.constant(bits))

    def mixed(self, z: Any) -> Any:
        """Return the words with mixed bits, as ``mix32`` does."""
        z = self.builder.mul(self.builder.xor(z, self.shifted(z, 16)), self.constant(int(MIX32_A)))
        z = self.builder.mul(self.builder.xor(z, self.shifted(z, 15)), self.constant(int(MIX32_B)))
        return self.builder.xor(z, self.shifted(z, 16))

    def drawn(self, units: Any) -> Any:
        """Return the random words of eight units."""
        start = self.builder.add(self.builder.mul(units, self.constant(int(GOLDEN32))), self.low)
        return self.mixed(self.builder.xor(self.mixed(start), self.high))

    def uniform(self, units: Any) -> Any:
        """Return the numbers in (0, 1) of eight units."""
        odd = self.builder.or_(self.builder.shl(self.shifted(self.drawn(units), 9), self.constant(1)), self.constant(1))
        return self.builder.fmul(self.builder.sitofp(odd, self.floats), self.float_constant(2.0**-24))


@intrinsic
def uniform_lanes(context, low, high, units, n, out):
    """Write the numbers in (0, 1) of the listed units. It writes whole lanes, so both arrays must extend beyond n."""

    def generate(context, builder, signature, args):
        low, high, _, n, _ = args
        words, single = RandomWords(builder, low, high), Lanes(context, builder, types.float32)
        units, out = single.data(signature.args[2], args[2]), single.data(signature.args[4], args[4])
        eight = ir.Constant(n.type, int(LANE_SIZE))
        with single.loop(builder.sdiv(builder.add(n, ir.Constant(n.type, int(LANE_SIZE) - 1)), eight)) as loop:
            at = builder.mul(loop.index, eight)
            listed = builder.bitcast(builder.gep(units, [at]), words.type.as_pointer())
            single.store(words.uniform(builder.load(listed, align=4)), single.pointer(out, at))
        return context.get_dummy_value()

    return types.void(types.uint32, types.uint32, units, types.int64, out), generate


@intrinsic
def find_candidates(context, low, high, first, last, bias, peak, mass, scale, n_active, candidates):
    """List the inputs from first to last whose random number is at most an upper bound of their probability.

    sigm(drive) <= exp(drive), and drive <= bias + scale * min(n_active * largest weight, sum of positive weights). The
    exponential is bounded by the chords of 2^x between neighboring powers of two: a float whose bits are a number that
    grows linearly follows just these chords. Everything is rounded up: an input may be listed that turns out to be off,
    but none that is on is missed.
    """

    def generate(context, builder, signature, args):
        low, high, first, last, _, _, _, scale, n_active, _ = args
        words, lanes = RandomWords(builder, low, high), Lanes(context, builder, signature.args[4].dtype)
        bias, peak, mass, candidates = (lanes.data(signature.args[i], args[i]) for i in (4, 5, 6, 9))
        scale, n_active = lanes.broadcast(scale), lanes.broadcast(n_active)
        steps = ir.Constant(words.type, list(range(int(LANE_SIZE))))
        i64, a_word = first.type, ir.Constant(first.type, 64)
        count = cgutils.alloca_once_value(builder, ir.Constant(i64, 0))
        builder.store(ir.Constant(i64, 0), count)
        n_words = builder.sdiv(builder.add(builder.sub(last, first), ir.Constant(i64, 63)), a_word)
        with lanes.loop(n_words) as loop:
            at = builder.add(first, builder.mul(loop.index, a_word))
            start = builder.add(words.broadcast(builder.trunc(at, words.word)), steps)
            hits = ir.Constant(i64, 0)
            for lane in range(64 // int(LANE_SIZE)):
                several = builder.fmul(n_active, lanes.load(lanes.pointer(peak, at, lane)))
                high = lanes.load(lanes.pointer(mass, at, lane))
                least = builder.select(builder.fcmp_ordered("<", several, high), several, high)
                drive = lanes.plus_product(lanes.load(lanes.pointer(bias, at, lane)), scale, least)
                drawn = words.drawn(builder.add(start, words.constant(lane * int(LANE_SIZE))))
                below = builder.icmp_signed("<=", words.shifted(drawn, 8), _word_limit(builder, words, drive))
                eight = builder.zext(builder.bitcast(below, ir.IntType(int(LANE_SIZE))), i64)
                hits = builder.or_(hits, builder.shl(eight, ir.Constant(i64, lane * int(LANE_SIZE))))
            _list_bits(builder, _within(builder, hits, builder.sub(last, at)), at, candidates, count)
        return builder.load(count)

    i, f = types.int64, bias.dtype
    return types.int64(types.uint32, types.uint32, i, i, bias, peak, mass, f, f, candidates), generate


def _word_limit(builder, words, bits):
    """Emit an upper bound of min(exp(drive), 1) as a 24-bit integer, given ORIGIN + drive / BIT."""
    if bits.type != words.floats:
        bits = builder.fptrunc(bits, words.floats)
    lowest, highest = words.float_constant(2.0**23), words.float_constant(float(ORIGIN))
    bits = builder.select(builder.fcmp_ordered("<", bits, highest), bits, highest)
    bits = builder.select(builder.fcmp_ordered(">", bits, lowest), bits, lowest)
    return builder.fptosi(builder.bitcast(builder.fptosi(bits, words.type), words.floats), words.type)


def _within(builder, bits, n):
    """Emit code that clears all but the first n of 64 bits."""
    high, a_word = ir.Constant(bits.type, -1), ir.Constant(n.type, 64)
    is_short = builder.icmp_signed("<", n, a_word)
    # A shift by 64 bits is undefined.
    shift = builder.select(is_short, builder.sub(a_word, n), ir.Constant(n.type, 0))
    return builder.and_(bits, builder.lshr(high, shift))


@contextmanager
def _while_any(builder, variable):
    """Emit a loop that runs while a variable is not zero."""
    test, body, end = (builder.append_basic_block(name) for name in ("test", "body", "end"))
    builder.branch(test)
    builder.position_at_end(test)
    value = builder.load(variable)
    builder.cbranch(builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0)), body, end)
    builder.position_at_end(body)
    yield
    builder.branch(test)
    builder.position_at_end(end)


def _list_bits(builder, hits, first, candidates, count):
    """Emit code that appends first + the position of every set bit."""
    left = cgutils.alloca_once_value(builder, hits)
    builder.store(hits, left)
    with _while_any(builder, left):
        bits, n = builder.load(left), builder.load(count)
        bit = builder.cttz(bits, ir.Constant(ir.IntType(1), 1))
        input_number = builder.trunc(builder.add(first, bit), ir.IntType(32))
        builder.store(input_number, builder.gep(candidates, [n]))
        builder.store(builder.add(n, ir.Constant(n.type, 1)), count)
        builder.store(builder.and_(bits, builder.sub(bits, ir.Constant(bits.type, 1))), left)
