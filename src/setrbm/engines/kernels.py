"""The numba kernels of the cpu engine: training and prediction over flat vectors, dense and CSR alike.

Layout. Hidden units come in blocks of ``FACTORS``; W is kept as (n_blocks, n_features, stride), so that a block of an
input's weights is one row, whole cache lines, and beside it stand only other weights of the same block. What a set
makes of its hidden units is one row of ``n_blocks * stride`` numbers; loops go through the units rounded up to whole
lanes, and the padding stays zero. A dense matrix is read as CSR whose column numbers repeat from 0: the values of
vector v begin at ``starts[v]``, its columns at ``starts[v] * stride`` with stride 1 (CSR) or 0 (dense). W stands for
``scale[0] * W``: weight decay multiplies that one number instead of every weight.

A step is made in two halves. First every set of the batch leaves its wishes: one row of step coefficients for each of
its vectors, and steps for U, c and d. Then they are granted. So a batch of one and a batch of many are the same code,
and no gradient of W is ever held.

Several threads may make a step together, each for its own blocks of hidden units, ``low`` to ``high``: they read and
write other parts of W, and meet once a set, to add up the logits. Those are always summed block by block, so the sums
are the same to the bit however many threads there are.

House rules. Comparisons are written so that NaN goes through: a model that diverges must not look sound. And, each
measured: What is called for every vector or feature is handed arrays, not records: a record is
copied whole at each call. Constants are numpy scalars: numba compiles a function anew for every literal it is
handed. Rows are copied by loops: slice assignment takes seconds to compile. No array is made inside a loop over sets.

Longer than other modules because only this file may import numba, and numba's cache does not notice a change in
another file that a kernel calls.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import intrinsic, overload

from setrbm import draws
from setrbm._types import Array, Mask

# Not blanket fastmath: its no-NaN and no-infinity flags turn log-sum-exp of -inf into NaN. Not reassoc either: whether
# a sum is then taken in lanes or one by one depends on where the arrays happen to lie, and so would its last bits.
FASTMATH = {"contract", "arcp", "nsz"}
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH}


def source_stamp() -> bytes:
    """Return a digest of the files that are compiled or that kernels take constants from."""
    package = Path(draws.__file__).parent
    # A frozen application has no such files; Numba then takes the digest of the whole executable.
    files = [*package.glob("draws.py"), *package.glob("engines/kernels.py")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).digest()


STAMP = source_stamp()


class KernelCache(FunctionCache):
    """Numba's cache on disk, which goes stale as soon as any compiled file changes.

    Numba itself checks only the file of the cached function, but the code of a kernel also depends on the constants and
    functions it takes from elsewhere. File names have no line numbers, unlike Numba's own: new code replaces the old.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
        name = f"{function.__module__}.{function.__qualname__}.{python}"
        self._cache_file = IndexDataCacheFile(self.cache_path, name, (self._impl.locator.get_source_stamp(), STAMP))


def kernel(function: Any) -> Any:
    """Compile a function when it is first called, and cache the result on disk if a folder is writable."""
    compiled = numba.njit(**OPTIONS)(function)
    # Numba raises RuntimeError if it finds no writable folder.
    with suppress(RuntimeError):
        compiled._cache = KernelCache(function)
    return compiled


HOLDER, HIDDEN = np.int64(draws.HOLDER), np.int64(draws.HIDDEN)
INPUT, INPUT_ANGLE, TARGET = np.int64(draws.INPUT), np.int64(draws.INPUT_ANGLE), np.int64(draws.TARGET)
GOLDEN64, MIX64_A, MIX64_B = np.uint64(draws.GOLDEN64), np.uint64(draws.MIX64_A), np.uint64(draws.MIX64_B)
GOLDEN32, MIX32_A, MIX32_B = np.uint32(draws.GOLDEN32), np.uint32(draws.MIX32_A), np.uint32(draws.MIX32_B)
ZERO = np.int64(0)
# Bounds of hidden units are unsigned: numba would look whether a signed index counts from the end, at every step.
NONE = np.uint64(0)
NOBODY = np.int32(-1)
# The units of max-out classifiers.
RBM, MLP, LOGIT = np.int64(0), np.int64(1), np.int64(2)
# The softplus of so many units are summed as one block: as many factors between 1 and 2 may be multiplied without
# overflow, in float32 too, and they are whole cache lines.
FACTORS = np.int64(64)
# Whoever waits for another thread looks so often before it offers its core to others.
LOOKS = np.int64(2000)
# So many weights are moved at a time; a row is a whole number of them.
LANES = np.int64(8)
# So many inputs are drawn at a time.
BLOCK = np.int64(512)
# Seen as an integer, the bits of a float32 grow by 2^23 when it doubles, and are ORIGIN for 2^24. A little is added: a
# bound may be too high, but rounding must not make it too low.
BIT = np.float64(math.log(2.0) * 2.0**-23)
ORIGIN = np.float64((127 + 24) * 2.0**23 + 1000.0)


# --- what the kernels are handed -------------------------------------------------------------------


class Sets(NamedTuple):
    """Vectors and the sets they belong to; see the head of this file for starts and stride."""

    values: Array
    cols: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    stride: int
    offsets: npt.NDArray[np.int64]


class Weights(NamedTuple):
    """The parameters as the kernels hold them: W (n_blocks, n_features, stride), U (n_classes, width), c (width,)."""

    W: Array
    scale: Array
    U: Array
    b: Array
    c: Array
    d: Array


class Rules(NamedTuple):
    """The choices of a Spec as flags and numbers, and the number of hidden units."""

    is_or: bool
    is_hard: bool
    discriminative: bool
    is_gaussian: bool
    cd_steps: int
    persistent: bool
    n_hidden: int


class Rates(NamedTuple):
    """One model's step sizes, in the float type of its weights."""

    discriminative: Any
    generative: Any
    shrink: Any


class Chain(NamedTuple):
    """Where the persistent chains stand, one row a set (holder) and a vector (h); empty where there are none."""

    known: Mask
    holder: npt.NDArray[np.int32]
    h: Mask


class Team(NamedTuple):
    """One thread's place among those that train a model together: number ``me`` of ``n``, with units low to high.

    ``partial`` holds the logits of every block of units, twice: while one set's are read, the next set's are written.
    ``posts`` says up to which set each thread has written its own, one row each.
    """

    me: int
    n: int
    low: np.uint64
    high: np.uint64
    partial: Array
    posts: npt.NDArray[np.int64]


class Work(NamedTuple):
    """Scratch space for one set.

    ``away`` holds sigm(-a) for or; ``row`` is one row of hidden units for passing use.
    """

    a: Array
    share: Array
    away: Array
    pool: Array
    row: Array
    winner: npt.NDArray[np.int32]
    logits: Array
    p: Array
    slope: Array
    sums: Array
    products: Array
    units: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    holder: npt.NDArray[np.int32]
    h: Mask


class Bounds(NamedTuple):
    """The bias, the largest weight and the sum of positive weights of every input, and room for one block of inputs.

    The first three are in units of ``BIT``, the bias from ``ORIGIN`` on, so that a float with so many bits is the
    exponential of the bias times 2^24; see ``find_lanes``. ``stamp`` is the last step in which an input was measured;
    ``found`` lists inputs, ``drive`` and ``drawn`` hold a number for each of them.
    """

    bias: Array
    peak: Array
    mass: Array
    stamp: npt.NDArray[np.int64]
    found: npt.NDArray[np.int32]
    drive: Array
    drawn: npt.NDArray[np.float32]


class Room(NamedTuple):
    """Scratch space that grows with the largest set or batch, kept from epoch to epoch: new memory must be cleared."""

    a: Array
    share: Array
    away: Array
    h: Mask
    coef: Array


class Steps(NamedTuple):
    """What a batch wishes: steps for U, c and d, and one row of coefficients for each vector."""

    U: Array
    c: Array
    d: Array
    coef: Array


# --- random numbers: the same as draws.py ----------------------------------------------------------


@kernel
def mix64(z):
    """Scatter the bits of a 64-bit integer."""
    z = (z ^ (z >> np.uint64(30))) * MIX64_A
    z = (z ^ (z >> np.uint64(27))) * MIX64_B
    return z ^ (z >> np.uint64(31))


@kernel
def extend(key, field):
    """Mix one more field into a key."""
    return mix64(key + GOLDEN64 * (np.uint64(field) + np.uint64(1)))


@kernel
def mix32(z):
    """Scatter the bits of a 32-bit integer."""
    z = np.uint32((z ^ (z >> np.uint32(16))) * MIX32_A)
    z = np.uint32((z ^ (z >> np.uint32(15))) * MIX32_B)
    return np.uint32(z ^ (z >> np.uint32(16)))


@kernel
def uniform(key, unit):
    """Return the number in (0, 1) of a key and a unit."""
    low, high = np.uint32(key), np.uint32(key >> np.uint64(32))
    word = mix32(np.uint32(mix32(np.uint32(np.uint32(unit) * GOLDEN32 + low)) ^ high))
    return np.float32(np.int32(word >> np.uint32(9)) * np.int32(2) + np.int32(1)) * np.float32(2.0**-24)


@kernel
def vector_key(set_key, step, stage, vector):
    """Return the key of one stage of one chain step."""
    return extend(extend(extend(set_key, step), stage), vector)


# --- threads that make a step together -------------------------------------------------------------


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


# --- exp and log: polynomials in float32, which vectorise; the library's in float64 ----------------


@intrinsic
def float_of_bits(context, bits):
    """See the bits of an int32 as a float32."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def bits_of_float(context, number):
    """See a float32 as the bits of an int32."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), generate


def exp_down(x):
    """Return exp(x) for x <= 0; in float32 to 2e-7 of the value, and not below exp(-87)."""
    return math.exp(x)


def log_up(x):
    """Return log(x) for finite x > 0; in float32 to 2e-7 of max(1, |log x|)."""
    return math.log(x)


@overload(exp_down, jit_options={"fastmath": {"contract"}})
def _exp_down(x):
    if x != types.float32:
        return lambda x: math.exp(x)
    log2e, ln2_high, ln2_low = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
    lowest, half, one = np.float32(-87.0), np.float32(0.5), np.float32(1.0)
    p0, p1, p2 = np.float32(4.9999993412e-01), np.float32(1.6666520108e-01), np.float32(4.1668394215e-02)
    p3, p4 = np.float32(8.3687804183e-03), np.float32(1.3814466850e-03)

    def polynomial(x):
        # exp(x) = 2^n exp(f), x = n log 2 + f, |f| <= log(2) / 2, exp(f) = 1 + f + f^2 p(f)
        x = lowest if x < lowest else x
        n = np.int32(x * log2e - half)
        whole = np.float32(n)
        f = x - whole * ln2_high - whole * ln2_low
        p = p0 + f * (p1 + f * (p2 + f * (p3 + f * p4)))
        return (one + f + f * f * p) * float_of_bits(np.int32(np.int32(n + np.int32(127)) << np.int32(23)))

    return polynomial


@overload(log_up, jit_options={"fastmath": {"contract"}})
def _log_up(x):
    if x != types.float32:
        return lambda x: math.log(x)
    sqrt_half_bits, mantissa = np.int32(0x3F3504F3), np.int32(0x007FFFFF)
    ln2, one, two = np.float32(0.69314718), np.float32(1.0), np.float32(2.0)
    q0, q1, q2 = np.float32(6.6666777054e-01), np.float32(3.9977449484e-01), np.float32(2.9874420307e-01)

    def polynomial(x):
        # log(x) = n log 2 + log(m), m in [sqrt(1/2), sqrt(2)), log(m) = 2 s + s^3 q(s^2), s = (m - 1) / (m + 1)
        above = np.int32(bits_of_float(x) - sqrt_half_bits)
        n = np.float32(np.int32(above >> np.int32(23)))
        m = float_of_bits(np.int32(np.int32(above & mantissa) + sqrt_half_bits))
        s = (m - one) / (m + one)
        z = s * s
        # x - x is 0, but NaN for NaN: the bits above would hide it.
        return n * ln2 + s * (two + z * (q0 + z * (q1 + z * q2))) + (x - x)

    return polynomial


@kernel
def sigmoid(v):
    """Return 1 / (1 + exp(-v)) without overflow."""
    one = type(v)(1)
    e = exp_down(-abs(v))
    return (one if v >= type(v)(0) else e) / (one + e)


@kernel
def log_sigmoid(v):
    """Return log sigm(v) = min(v, 0) - log(1 + exp(-|v|))."""
    e = exp_down(-abs(v))
    return (v if v < type(v)(0) else type(v)(0)) - log_up(type(v)(1) + e)


# --- lanes: loops over weights written as vector instructions --------------------------------------
#
# The compiler cannot know that W and the rows beside it do not overlap, so it would load and store more than it must,
# or use no vectors at all. Here eight numbers are one value, and sums and coefficients stay in registers.


class Lanes:
    """Writes instructions for vectors of eight numbers of one type."""

    def __init__(self, context: Any, builder: Any, number: Any) -> None:
        self.context, self.builder = context, builder
        self.type = ir.VectorType(context.get_value_type(number), int(LANES))
        self.align = number.bitwidth // 8

    def data(self, array_type: Any, array: Any) -> Any:
        """Return the pointer to an array's first number."""
        return self.context.make_array(array_type)(self.context, self.builder, array).data

    def number(self, data: Any, at: Any) -> Any:
        """Load one number."""
        return self.builder.load(self.builder.gep(data, [at]))

    def everywhere(self, number: Any) -> Any:
        """Return a vector with the same number in every lane."""
        nothing, first = ir.Constant(self.type, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        pattern = ir.Constant(ir.VectorType(ir.IntType(32), int(LANES)), [0] * int(LANES))
        return self.builder.shuffle_vector(self.builder.insert_element(nothing, number, first), nothing, pattern)

    def pointer(self, data: Any, at: Any, lane: int = 0) -> Any:
        """Return the pointer to the eight numbers at a place, or so many lanes after it."""
        place = self.builder.gep(data, [self.builder.add(at, ir.Constant(at.type, lane * int(LANES)))])
        return self.builder.bitcast(place, self.type.as_pointer())

    def load(self, pointer: Any) -> Any:
        """Load eight numbers."""
        return self.builder.load(pointer, align=self.align)

    def store(self, vector: Any, pointer: Any) -> None:
        """Store eight numbers."""
        self.builder.store(vector, pointer, align=self.align)

    def plus_product(self, vector: Any, a: Any, b: Any) -> Any:
        """Return vector + a b."""
        return self.builder.fadd(vector, self.builder.fmul(a, b, flags=["contract"]), flags=["contract"])

    def less_product(self, vector: Any, a: Any, b: Any) -> Any:
        """Return vector - a b."""
        return self.builder.fsub(vector, self.builder.fmul(a, b, flags=["contract"]), flags=["contract"])

    def zero_sums(self, n: int) -> list[Any]:
        """Return so many running sums."""
        zero = ir.Constant(self.type, [0.0] * int(LANES))
        sums = [cgutils.alloca_once(self.builder, self.type) for _ in range(n)]
        for total in sums:
            self.builder.store(zero, total)
        return sums

    def loop(self, n: Any) -> Any:
        """Return a loop from 0 to n, as a context."""
        return cgutils.for_range(self.builder, n, intp=n.type)

    def store_activations(self, sums: list[Any], scale: Any, c: Any, unit: Any, a: Any, place: Any) -> None:
        """Store c + scale * sum for as many lanes as there are sums: of c from a unit on, of a from a place on."""
        for lane, total in enumerate(sums):
            bias = self.load(self.pointer(c, unit, lane))
            activation = self.plus_product(bias, self.everywhere(scale), self.builder.load(total))
            self.store(activation, self.pointer(a, place, lane))

    def reduce(self, vector: Any, join: Any) -> Any:
        """Return the eight numbers of a vector joined to one, by halves."""
        numbers = [self.builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(int(LANES))]
        while len(numbers) > 1:
            half = len(numbers) // 2
            numbers = [join(a, b) for a, b in zip(numbers[:half], numbers[half:], strict=True)]
        return numbers[0]

    def larger(self, a: Any, b: Any) -> Any:
        """Return the larger of two numbers, or of the numbers of two vectors."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)


def gather(n_lanes: int) -> Any:
    """Make a function: a = c + scale * sum over a vector's features of x_i W_i, for so many lanes of units."""

    @intrinsic
    def sum_rows(context, W, at, stride, cols, at_col, values, at_value, n, scale, c, a, unit):
        def generate(context, builder, signature, args):
            W, at, stride, cols, at_col, values, at_value, n, scale, c, a, unit = args
            lanes = Lanes(context, builder, signature.args[0].dtype)
            W, cols, values = (lanes.data(signature.args[i], args[i]) for i in (0, 3, 5))
            c, a = (lanes.data(signature.args[i], args[i]) for i in (9, 10))
            sums = lanes.zero_sums(n_lanes)
            with lanes.loop(n) as loop:
                col = builder.sext(lanes.number(cols, builder.add(at_col, loop.index)), at.type)
                x = lanes.everywhere(lanes.number(values, builder.add(at_value, loop.index)))
                row = builder.add(at, builder.mul(col, stride))
                for lane, total in enumerate(sums):
                    weights = lanes.load(lanes.pointer(W, row, lane))
                    builder.store(lanes.plus_product(builder.load(total), x, weights), total)
            lanes.store_activations(sums, scale, c, unit, a, unit)
            return context.get_dummy_value()

        i = types.int64
        return types.void(W, i, i, cols, i, values, i, i, W.dtype, c, a, i), generate

    return sum_rows


def multiply(n_lanes: int) -> Any:
    """Make a function: a = c + scale * W x for four dense vectors at once, for so many lanes of units."""

    @intrinsic
    def product(context, W, at, stride, values, x0, x1, x2, x3, n, scale, c, a, s0, s1, s2, s3, unit):
        def generate(context, builder, signature, args):
            _, at, stride, _, *xs, n, scale, _, _, s0, s1, s2, s3, unit = args
            lanes = Lanes(context, builder, signature.args[0].dtype)
            W, values, c = (lanes.data(signature.args[i], args[i]) for i in (0, 3, 10))
            array = context.make_array(signature.args[11])(context, builder, args[11])
            width = builder.extract_value(array.shape, 1)
            sums = [lanes.zero_sums(n_lanes) for _ in xs]
            with lanes.loop(n) as loop:
                row = builder.add(at, builder.mul(loop.index, stride))
                weights = [lanes.load(lanes.pointer(W, row, lane)) for lane in range(n_lanes)]
                for x, totals in zip(xs, sums, strict=True):
                    value = lanes.everywhere(lanes.number(values, builder.add(x, loop.index)))
                    for weight, total in zip(weights, totals, strict=True):
                        builder.store(lanes.plus_product(builder.load(total), value, weight), total)
            for s, totals in zip((s0, s1, s2, s3), sums, strict=True):
                place = builder.add(builder.mul(s, width), unit)
                lanes.store_activations(totals, scale, c, unit, array.data, place)
            return context.get_dummy_value()

        i = types.int64
        return types.void(W, i, i, values, i, i, i, i, i, W.dtype, c, a, i, i, i, i, i), generate

    return product


def scatter(n_lanes: int) -> Any:
    """Make a function: W_i -= x_i coef for a vector's features, for so many of the lanes listed."""

    @intrinsic
    def take_rows(context, W, stride, cols, at_col, values, at_value, n, factor, coef, units, places, first):
        def generate(context, builder, signature, args):
            _, stride, _, at_col, _, at_value, n, factor, _, _, _, first = args
            lanes = Lanes(context, builder, signature.args[0].dtype)
            W, cols, values = (lanes.data(signature.args[i], args[i]) for i in (0, 2, 4))
            coef, units, places = (lanes.data(signature.args[i], args[i]) for i in (8, 9, 10))
            listed = [builder.add(first, ir.Constant(first.type, i)) for i in range(n_lanes)]
            coefs = [lanes.load(lanes.pointer(coef, lanes.number(units, i))) for i in listed]
            starts = [lanes.number(places, i) for i in listed]
            with lanes.loop(n) as loop:
                col = builder.sext(lanes.number(cols, builder.add(at_col, loop.index)), first.type)
                value = lanes.number(values, builder.add(at_value, loop.index))
                x = lanes.everywhere(builder.fmul(factor, value, flags=["contract"]))
                row = builder.mul(col, stride)
                for start, wish in zip(starts, coefs, strict=True):
                    target = lanes.pointer(W, builder.add(start, row))
                    lanes.store(lanes.less_product(lanes.load(target), x, wish), target)
            return context.get_dummy_value()

        i = types.int64
        return types.void(W, i, cols, i, values, i, i, W.dtype, coef, units, places, i), generate

    return take_rows


def subtract(n_lanes: int) -> Any:
    """Make a function: W -= sum of x coef over four dense vectors at once, for so many lanes of units."""

    @intrinsic
    def take_product(context, W, at, stride, values, x0, x1, x2, x3, n, f0, f1, f2, f3, coef, r0, r1, r2, r3, unit):
        def generate(context, builder, signature, args):
            _, at, stride, _, x0, x1, x2, x3, n, f0, f1, f2, f3, _, r0, r1, r2, r3, unit = args
            lanes = Lanes(context, builder, signature.args[0].dtype)
            W, values = (lanes.data(signature.args[i], args[i]) for i in (0, 3))
            array = context.make_array(signature.args[13])(context, builder, args[13])
            width = builder.extract_value(array.shape, 1)
            rows = [builder.add(builder.mul(r, width), unit) for r in (r0, r1, r2, r3)]
            wishes = [[lanes.load(lanes.pointer(array.data, row, k)) for k in range(n_lanes)] for row in rows]
            with lanes.loop(n) as loop:
                row = builder.add(at, builder.mul(loop.index, stride))
                targets = [lanes.pointer(W, row, lane) for lane in range(n_lanes)]
                weights = [lanes.load(target) for target in targets]
                for x, factor, wish in zip((x0, x1, x2, x3), (f0, f1, f2, f3), wishes, strict=True):
                    value = lanes.number(values, builder.add(x, loop.index))
                    step = lanes.everywhere(builder.fmul(factor, value, flags=["contract"]))
                    weights = [lanes.less_product(w, step, one) for w, one in zip(weights, wish, strict=True)]
                for weight, target in zip(weights, targets, strict=True):
                    lanes.store(weight, target)
            return context.get_dummy_value()

        i, f = types.int64, W.dtype
        return types.void(W, i, i, values, i, i, i, i, i, f, f, f, f, coef, i, i, i, i, i), generate

    return take_product


@intrinsic
def dot_lanes(context, W, at, row, unit, n):
    """Return the product of n lanes of W, from a place on, with those of a row, from a unit on."""

    def generate(context, builder, signature, args):
        _, at, _, unit, n = args
        lanes = Lanes(context, builder, signature.args[0].dtype)
        W, row = (lanes.data(signature.args[i], args[i]) for i in (0, 2))
        (total,) = lanes.zero_sums(1)
        with lanes.loop(n) as loop:
            shift = builder.mul(loop.index, ir.Constant(n.type, int(LANES)))
            weights = lanes.load(lanes.pointer(W, builder.add(at, shift)))
            others = lanes.load(lanes.pointer(row, builder.add(unit, shift)))
            builder.store(lanes.plus_product(builder.load(total), weights, others), total)
        return lanes.reduce(builder.load(total), builder.fadd)

    return W.dtype(W, types.int64, row, types.int64, types.int64), generate


@intrinsic
def measure_lanes(context, W, at, n, peak, mass, i):
    """Raise peak[i] to the largest of n lanes of W, and add the sum of the positive ones to mass[i]."""

    def generate(context, builder, signature, args):
        _, at, n, _, _, i = args
        lanes = Lanes(context, builder, signature.args[0].dtype)
        W, peak, mass = (lanes.data(signature.args[k], args[k]) for k in (0, 3, 4))
        largest, total = lanes.zero_sums(2)
        zero = ir.Constant(lanes.type, [0.0] * int(LANES))
        with lanes.loop(n) as loop:
            shift = builder.mul(loop.index, ir.Constant(n.type, int(LANES)))
            positive = lanes.larger(lanes.load(lanes.pointer(W, builder.add(at, shift))), zero)
            builder.store(lanes.larger(positive, builder.load(largest)), largest)
            builder.store(builder.fadd(builder.load(total), positive), total)
        highest = lanes.reduce(builder.load(largest), lanes.larger)
        at_peak, at_mass = builder.gep(peak, [i]), builder.gep(mass, [i])
        builder.store(lanes.larger(highest, builder.load(at_peak)), at_peak)
        sum_of_lanes = lanes.reduce(builder.load(total), builder.fadd)
        builder.store(builder.fadd(builder.load(at_mass), sum_of_lanes), at_mass)
        return context.get_dummy_value()

    return types.void(W, types.int64, types.int64, peak, mass, types.int64), generate


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


gather_1, gather_2, gather_4 = gather(1), gather(2), gather(4)
scatter_1, scatter_2, scatter_4 = scatter(1), scatter(2), scatter(4)
multiply_1, multiply_2 = multiply(1), multiply(2)
subtract_1, subtract_2 = subtract(1), subtract(2)


# --- one set: activations, pools, outer layer ------------------------------------------------------


@kernel
def new_work(room, width, n_classes, like):
    """Return scratch space for the sets there is room for."""
    dtype = like.dtype
    return Work(
        room.a,
        room.share,
        room.away,
        np.zeros(width, dtype),
        np.zeros(width, dtype),
        np.zeros(width, np.int32),
        np.zeros(n_classes, dtype),
        np.zeros(n_classes, dtype),
        np.zeros((n_classes, width), dtype),
        np.zeros(FACTORS, dtype),
        np.zeros(FACTORS, dtype),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int32),
        room.h,
    )


@kernel
def place_of(W, unit):
    """Return where, counted as a flat array, the weight of the first input and a unit stands."""
    return unit // FACTORS * (W.shape[1] * W.shape[2]) + unit % FACTORS


@kernel
def lanes_left(unit, high):
    """Return how many numbers there are from a unit to the end of its block, or to high."""
    return min(high, (unit // FACTORS + 1) * FACTORS) - unit


@kernel
def activate(W, scale, c, values, cols, at_value, at_col, n, a, low, high):
    """Write a = c + W x for one vector, with the sums of up to four lanes held in registers."""
    stride, j, last = W.shape[2], np.int64(low), np.int64(high)
    while j < last:
        at, left = place_of(W, j), lanes_left(j, last)
        if left >= 4 * LANES:
            gather_4(W, at, stride, cols, at_col, values, at_value, n, scale, c, a, j)
            j += 4 * LANES
        elif left >= 2 * LANES:
            gather_2(W, at, stride, cols, at_col, values, at_value, n, scale, c, a, j)
            j += 2 * LANES
        else:
            gather_1(W, at, stride, cols, at_col, values, at_value, n, scale, c, a, j)
            j += LANES


@kernel
def activate_dense(W, scale, c, values, at, size, a, low, high):
    """Write a = c + W x for the dense vectors of a set, four at a time: W is read once for them together."""
    last, n_features = np.int64(high), W.shape[1]
    for s in range(0, size, 4):
        # Beyond the last vector stands the last one again.
        s1, s2, s3 = min(s + 1, size - 1), min(s + 2, size - 1), min(s + 3, size - 1)
        x0, x1, x2, x3 = at + s * n_features, at + s1 * n_features, at + s2 * n_features, at + s3 * n_features
        j = np.int64(low)
        while j < last:
            place = place_of(W, j)
            if lanes_left(j, last) >= 2 * LANES:
                multiply_2(W, place, W.shape[2], values, x0, x1, x2, x3, n_features, scale, c, a, s, s1, s2, s3, j)
                j += 2 * LANES
            else:
                multiply_1(W, place, W.shape[2], values, x0, x1, x2, x3, n_features, scale, c, a, s, s1, s2, s3, j)
                j += LANES


@kernel
def activate_set(weights, sets, first, last, a, low, high):
    """Write the activations of vectors first to last into the rows of a."""
    W, scale, c = weights.W, weights.scale[0], weights.c
    if sets.stride == 0:
        activate_dense(W, scale, c, sets.values, sets.starts[first], last - first, a, low, high)
        return
    for v in range(first, last):
        at = sets.starts[v]
        n = sets.starts[v + 1] - at
        activate(W, scale, c, sets.values, sets.cols, at, at, n, a[v - first], low, high)


@kernel
def pool_hard(a, size, is_or, pool, winner, low, high):
    """Write the maximum over a set and the first vector that has it."""
    for j in range(low, high):
        pool[j] = a[0, j]
        winner[j] = 0
    for s in range(1, size):
        now = np.int32(s)
        for j in range(low, high):
            higher = a[s, j] > pool[j]
            winner[j] = now if higher else winner[j]
            pool[j] = a[s, j] if higher else pool[j]
    if is_or:
        for j in range(low, high):
            pool[j] = log_sigmoid(pool[j])


@kernel
def start_pool(a, size, pool, total, low, high):
    """Write the maximum over a set, and zero totals."""
    for j in range(low, high):
        pool[j] = a[0, j]
        total[j] = 0
    for s in range(1, size):
        for j in range(low, high):
            pool[j] = a[s, j] if a[s, j] > pool[j] else pool[j]


@kernel
def pool_xor(work, size, pool, low, high):
    """Write log sum_s exp(a_s) and each vector's share of the sum."""
    a, share, total = work.a, work.share, work.row
    start_pool(a, size, pool, total, low, high)
    for s in range(size):
        for j in range(low, high):
            share[s, j] = exp_down(a[s, j] - pool[j])
            total[j] += share[s, j]
    finish_shares(share, size, total, pool, low, high)


@kernel
def pool_or(work, size, pool, low, high):
    """Write log sum_s sigm(a_s), each vector's share of the sum, and sigm(-a).

    sigm(a) = exp(min(a, 0)) / (1 + exp(-|a|)): with the largest min(a, 0) taken out, nothing underflows.
    """
    a, share, away, total = work.a, work.share, work.away, work.row
    zero, one = pool.dtype.type(0), pool.dtype.type(1)
    start_pool(a, size, pool, total, low, high)
    for j in range(low, high):
        pool[j] = pool[j] if pool[j] < zero else zero
    for s in range(size):
        for j in range(low, high):
            v = a[s, j]
            e = exp_down(-abs(v))
            part = one / (one + e)
            away[s, j] = (e if v >= zero else one) * part
            share[s, j] = exp_down((v if v < zero else zero) - pool[j]) * part
            total[j] += share[s, j]
    finish_shares(share, size, total, pool, low, high)


@kernel
def finish_shares(share, size, total, pool, low, high):
    """Divide the shares by their total and add its log to the pool."""
    one = total.dtype.type(1)
    for j in range(low, high):
        pool[j] += log_up(total[j])
        total[j] = one / total[j]
    for s in range(size):
        for j in range(low, high):
            share[s, j] *= total[j]


@kernel
def pool_soft(work, size, is_or, pool, low, high):
    """Write the soft pool of the activations in the scratch space."""
    if is_or:
        pool_or(work, size, pool, low, high)
    else:
        pool_xor(work, size, pool, low, high)


@kernel
def fold(sums, products, n):
    """Return the sum of n numbers and the log of the product of n others, halving both until one is left.

    Each halving is a loop without a carried sum: it vectorises, and gives the same bits however it is compiled.
    """
    while n > 1:
        half = (n + 1) // 2
        for j in range(n - half):
            sums[j] += sums[half + j]
            products[j] *= products[half + j]
        n = half
    return sums[0] + log_up(products[0])


@kernel
def outer(pool, U, n_hidden, slope, sums, products, partial, low, high):
    """Write for each block of units and each class sum_j softplus(pool_j + U_yj), and the slopes sigm(pool_j + U_yj).

    softplus(v) = max(v, 0) + log(1 + exp(-|v|)), and the logs of a block of units are one log of their product.
    """
    zero, one = U.dtype.type(0), U.dtype.type(1)
    for start in range(np.int64(low), min(np.int64(high), n_hidden), FACTORS):
        n = min(FACTORS, n_hidden - start)
        block = pool[start : start + n]
        for y in range(len(U)):
            U_y, slope_y = U[y, start : start + n], slope[y, start : start + n]
            for j in range(n):
                v = block[j] + U_y[j]
                e = exp_down(-abs(v))
                sums[j] = zero if v < zero else v
                products[j] = one + e
                slope_y[j] = (one if v >= zero else e) / (one + e)
            partial[start // FACTORS, y] = fold(sums, products, n)


@kernel
def add_logits(d, partial, logits):
    """Write logits_y = d_y + the sum of what the blocks of units say."""
    for y in range(len(logits)):
        logits[y] = d[y]
        for block in range(len(partial)):
            logits[y] += partial[block, y]


@kernel
def normalise(logits, p):
    """Write the softmax of the logits and return their log-sum-exp."""
    peak = logits[0]
    for y in range(1, len(logits)):
        peak = max(peak, logits[y])
    total = logits.dtype.type(0)
    for y in range(len(logits)):
        p[y] = math.exp(logits[y] - peak)
        total += p[y]
    for y in range(len(logits)):
        p[y] /= total
    return peak + math.log(total)


# --- max-out classifiers: one vector judges its set ------------------------------------------------


@kernel
def respond(unit, a, weights, rules, work, partial, high):
    """Write the logits of one vector and the slopes of its hidden units; return the second logit less the first."""
    logits, slope, one = work.logits, work.slope, work.logits.dtype.type(1)
    if unit == RBM:
        outer(a, weights.U, rules.n_hidden, slope, work.sums, work.products, partial, NONE, high)
        add_logits(weights.d, partial, logits)
    elif unit == MLP:
        for y in range(len(logits)):
            logits[y] = weights.d[y]
        for j in range(rules.n_hidden):
            on = sigmoid(a[j])
            for y in range(len(logits)):
                logits[y] += on * weights.U[y, j]
                slope[y, j] = on * (one - on) * weights.U[y, j]
    else:
        logits[0], logits[1] = 0, a[0]
        slope[0, 0], slope[1, 0] = 0, 1
    return logits[1] - logits[0]


@kernel
def choose(unit, weights, rules, work, size, partial, high):
    """Find the vector with the highest response, the first of equal ones; leave its activations, logits and slopes."""
    best, highest = ZERO, respond(unit, work.a[0], weights, rules, work, partial, high)
    for s in range(1, size):
        response = respond(unit, work.a[s], weights, rules, work, partial, high)
        if response > highest:
            best, highest = s, response
    respond(unit, work.a[best], weights, rules, work, partial, high)
    for j in range(rules.n_hidden):
        work.pool[j] = work.a[best, j]
        work.winner[j] = np.int32(best)


@kernel
def wish_max_out(unit, rate, rules, work, label, steps, first_row):
    """Add the step of the vector that judges the set."""
    best = work.winner[0]
    for y in range(len(work.p)):
        delta = rate * (work.p[y] - work.p.dtype.type(y == label))
        steps.d[y] += delta if unit != LOGIT else delta * 0
        for j in range(rules.n_hidden):
            part = delta * work.slope[y, j]
            steps.coef[first_row + best, j] += part
            steps.c[j] += part
            if unit == RBM:
                steps.U[y, j] += part
            elif unit == MLP:
                steps.U[y, j] += delta * sigmoid(work.pool[j])


# --- first half of a step: what one set wishes -----------------------------------------------------


@kernel
def wish_discriminative(rate, rules, work, size, label, steps, first_row, low, high):
    """Add the step down -log p(y | X), given the pool and class probabilities in the scratch space."""
    g, coef, last = work.row, steps.coef, min(high, np.uint64(rules.n_hidden))
    for j in range(low, high):
        g[j] = 0
    for y in range(len(work.p)):
        delta = rate * (work.p[y] - work.p.dtype.type(y == label))
        steps.d[y] += delta
        for j in range(low, last):
            part = delta * work.slope[y, j]
            steps.U[y, j] += part
            g[j] += part
    if rules.is_hard:
        for j in range(low, last):
            s = work.winner[j]
            part = g[j] * sigmoid(-work.a[s, j]) if rules.is_or else g[j]
            coef[first_row + s, j] += part
            steps.c[j] += part
        return
    for s in range(size):
        if rules.is_or:
            for j in range(low, high):
                coef[first_row + s, j] += g[j] * work.share[s, j] * work.away[s, j]
        else:
            for j in range(low, high):
                coef[first_row + s, j] += g[j] * work.share[s, j]
        for j in range(low, high):
            steps.c[j] += coef[first_row + s, j]


@kernel
def wish_statistics(rate, rules, weights, work, size, label, steps, coef, first_row):
    """Add rate times the expected statistics of the hidden units, given vectors and label."""
    on, one = work.row, work.row.dtype.type(1)
    steps.d[label] += rate
    for j in range(len(on)):
        on[j] = 0
    for j in range(rules.n_hidden):
        on[j] = sigmoid(work.pool[j] + weights.U[label, j])
        steps.U[label, j] += rate * on[j]
    for s in range(size):
        for j in range(rules.n_hidden):
            g = work.share[s, j] * on[j]
            h = one - (one - g) * work.away[s, j] if rules.is_or else g
            coef[first_row + s, j] += rate * h
            steps.c[j] += rate * h


@kernel
def draw_hidden(set_key, step, rules, weights, work, size, label):
    """Draw which vector holds each unit, and for or which other units are on."""
    key = vector_key(set_key, step, HOLDER, ZERO)
    for j in range(rules.n_hidden):
        on = sigmoid(work.pool[j] + weights.U[label, j])
        u, reached = uniform(key, j), work.pool.dtype.type(0)
        work.holder[j] = NOBODY
        for s in range(size):
            reached += work.share[s, j] * on
            if u < reached:
                work.holder[j] = np.int32(s)
                break
    one = work.pool.dtype.type(1)
    for s in range(size):
        key = vector_key(set_key, step, HIDDEN, s)
        for j in range(rules.n_hidden):
            work.h[s, j] = rules.is_or and uniform(key, j) < one - work.away[s, j]
    turn_on_held(rules, work)


@kernel
def turn_on_held(rules, work):
    """Turn on every unit of h that is held: h >= g."""
    for j in range(rules.n_hidden):
        if work.holder[j] != NOBODY:
            work.h[work.holder[j], j] = True


@kernel
def draw_label(set_key, step, rules, weights, work):
    """Draw the label given the units that are held."""
    for y in range(len(work.p)):
        work.logits[y] = weights.d[y]
        for j in range(rules.n_hidden):
            if work.holder[j] != NOBODY:
                work.logits[y] += weights.U[y, j]
    normalise(work.logits, work.p)
    u, reached = uniform(vector_key(set_key, step, TARGET, ZERO), ZERO), work.p.dtype.type(0)
    for y in range(len(work.p) - 1):
        reached += work.p[y]
        if u < reached:
            return y
    return len(work.p) - 1


@kernel
def used(rules):
    """Return the number of hidden units rounded up to whole lanes."""
    return np.uint64(-(-rules.n_hidden // LANES) * LANES)


@kernel
def list_units_on(W, rules, work, s):
    """List where the units that are on in vector s stand in W, and write them as zeros and ones; return how many."""
    n_units = ZERO
    for j in range(rules.n_hidden):
        work.row[j] = work.h[s, j]
        if work.h[s, j]:
            work.places[n_units] = place_of(W, j)
            n_units += 1
    return n_units


@kernel
def drives_by_list(W, stride, found, n_found, places, n_units, drive):
    """Write the sum of W_ij over the listed units for every input found; W and the places are counted flat."""
    for k in range(n_found):
        row, total = np.int64(found[k]) * stride, W.dtype.type(0)
        for u in range(n_units):
            total += W[places[u] + row]
        drive[k] = total


@kernel
def drives_by_row(W, found, n_found, row, high, drive):
    """Write the product of W_i with a row of zeros and ones for every input found."""
    stride = W.shape[2]
    for k in range(n_found):
        total, unit = W.dtype.type(0), ZERO
        while unit < high:
            n_lanes = lanes_left(unit, high) // LANES
            total += dot_lanes(W, place_of(W, unit) + found[k] * stride, row, unit, n_lanes)
            unit += FACTORS
        drive[k] = total


@kernel
def find_drives(weights, rules, work, n_units, found, n_found, drive):
    """Write b_i + scale * sum of W_ij over the units that are on, for every input found."""
    if n_units <= LANES:
        flat = weights.W.reshape(weights.W.size)
        drives_by_list(flat, weights.W.shape[2], found, n_found, work.places, n_units, drive)
    else:
        drives_by_row(weights.W, found, n_found, work.row, np.int64(used(rules)), drive)
    scale = weights.scale[0]
    for k in range(n_found):
        drive[k] = weights.b[found[k]] + scale * drive[k]


@kernel
def draw_gaussian(key, angle, weights, rules, work, bounds, n_units, values, cols, at):
    """Draw every input around its drive with unit variance; return where the vector ends."""
    n_features, found, drive = len(weights.b), bounds.found, bounds.drive
    for first in range(0, n_features, BLOCK):
        n_found = min(BLOCK, n_features - first)
        for k in range(n_found):
            found[k] = first + k
        find_drives(weights, rules, work, n_units, found, n_found, drive)
        for k in range(n_found):
            radius = math.sqrt(-2.0 * math.log(np.float64(uniform(key, first + k))))
            values[at] = drive[k] + radius * math.cos(2.0 * math.pi * np.float64(uniform(angle, first + k)))
            cols[at] = first + k
            at += 1
    return at


@kernel
def draw_binary(key, weights, rules, work, bounds, n_units, values, cols, at):
    """Draw every input; write those that are on and return where the vector ends."""
    n_features, found, drive, drawn = len(weights.b), bounds.found, bounds.drive, bounds.drawn
    low, high, most = np.uint32(key), np.uint32(key >> np.uint64(32)), weights.b.dtype.type(n_units)
    for first in range(0, n_features, BLOCK):
        last = min(first + BLOCK, n_features)
        n_found = find_lanes(
            low, high, first, last, bounds.bias, bounds.peak, bounds.mass, weights.scale[0], most, found
        )
        find_drives(weights, rules, work, n_units, found, n_found, drive)
        uniform_lanes(low, high, found, n_found, drawn)
        for k in range(n_found):
            drive[k] = sigmoid(drive[k])
        for k in range(n_found):
            values[at] = 1
            cols[at] = found[k]
            at += drawn[k] < drive[k]
    return at


@kernel
def draw_set(set_key, step, rules, weights, work, bounds, model, row, size):
    """Draw the vectors of a set as rows ``row`` onwards of the model's sets, and their activations and pool."""
    for s in range(size):
        at, n_units = model.starts[row + s], list_units_on(weights.W, rules, work, s)
        key = vector_key(set_key, step, INPUT, s)
        if rules.is_gaussian:
            angle = vector_key(set_key, step, INPUT_ANGLE, s)
            end = draw_gaussian(key, angle, weights, rules, work, bounds, n_units, model.values, model.cols, at)
        else:
            end = draw_binary(key, weights, rules, work, bounds, n_units, model.values, model.cols, at)
        model.starts[row + s + 1] = end
    activate_set(weights, model, row, row + size, work.a, NONE, used(rules))
    pool_soft(work, size, rules.is_or, work.pool, NONE, used(rules))


@kernel
def start_chain(set_key, rules, weights, work, sets, t, label, chain):
    """Put the hidden sample where the set's persistent chain stands, or draw it from the data."""
    first, size = sets.offsets[t], sets.offsets[t + 1] - sets.offsets[t]
    if not (rules.persistent and chain.known[t]):
        draw_hidden(set_key, ZERO, rules, weights, work, size, label)
        return
    for j in range(rules.n_hidden):
        work.holder[j] = chain.holder[t, j]
    for s in range(size):
        for j in range(rules.n_hidden):
            work.h[s, j] = rules.is_or and chain.h[first + s, j]
    turn_on_held(rules, work)


@kernel
def keep_chain(rules, work, sets, t, chain):
    """Store the hidden sample for the set's next visit."""
    first, size = sets.offsets[t], sets.offsets[t + 1] - sets.offsets[t]
    chain.known[t] = True
    for j in range(rules.n_hidden):
        chain.holder[t, j] = work.holder[j]
    if rules.is_or:
        for s in range(size):
            for j in range(rules.n_hidden):
                chain.h[first + s, j] = work.h[s, j]


@kernel
def wish_generative(rate, rules, weights, work, bounds, sets, t, label, set_key, chain, steps, row, model, model_coef):
    """Add the contrastive-divergence step, given the activations in the scratch space."""
    size = sets.offsets[t + 1] - sets.offsets[t]
    pool_soft(work, size, rules.is_or, work.pool, NONE, used(rules))
    wish_statistics(-rate, rules, weights, work, size, label, steps, steps.coef, row)
    start_chain(set_key, rules, weights, work, sets, t, label, chain)
    for step in range(1, rules.cd_steps + 1):
        label = draw_label(set_key, step, rules, weights, work)
        draw_set(set_key, step, rules, weights, work, bounds, model, row, size)
        if step < rules.cd_steps or rules.persistent:
            draw_hidden(set_key, step, rules, weights, work, size, label)
    wish_statistics(rate, rules, weights, work, size, label, steps, model_coef, row)
    if rules.persistent:
        keep_chain(rules, work, sets, t, chain)


# --- second half of a step: the wishes granted -----------------------------------------------------


@kernel
def list_lanes(W, coef, low, high, units, places):
    """List the lanes in which a vector has a wish, and where they stand in W; return how many."""
    n_lanes = ZERO
    for unit in range(np.int64(low), np.int64(high), LANES):
        lane, size = coef[unit : unit + LANES], coef.dtype.type(0)
        for j in range(LANES):
            size += abs(lane[j])
        if size != 0:
            units[n_lanes], places[n_lanes] = unit, place_of(W, unit)
            n_lanes += 1
    return n_lanes


@kernel
def apply_vector(W, factor, coef, values, cols, at_value, at_col, n, units, places, low, high):
    """Take one vector's step, W_i -= x_i coef, and clear its coefficients; lanes without a wish are left alone."""
    stride, n_lanes, k = W.shape[2], list_lanes(W, coef, low, high, units, places), ZERO
    while k + 4 <= n_lanes:
        scatter_4(W, stride, cols, at_col, values, at_value, n, factor, coef, units, places, k)
        k += 4
    if k + 2 <= n_lanes:
        scatter_2(W, stride, cols, at_col, values, at_value, n, factor, coef, units, places, k)
        k += 2
    if k < n_lanes:
        scatter_1(W, stride, cols, at_col, values, at_value, n, factor, coef, units, places, k)
    for j in range(low, high):
        coef[j] = 0


@kernel
def apply_dense(W, factor, coef, row, values, at, size, low, high):
    """Take the steps of a set of dense vectors, four a pass: W is read and written once for them together."""
    n_features, none, last = W.shape[1], W.dtype.type(0), np.int64(high)
    for s in range(0, size, 4):
        # Beyond the last vector stands the last one again, with nothing to wish.
        s1, s2, s3 = min(s + 1, size - 1), min(s + 2, size - 1), min(s + 3, size - 1)
        x0, x1, x2, x3 = at + s * n_features, at + s1 * n_features, at + s2 * n_features, at + s3 * n_features
        f1, f2 = factor if s + 1 < size else none, factor if s + 2 < size else none
        f3 = factor if s + 3 < size else none
        r0, r1, r2, r3, j = row + s, row + s1, row + s2, row + s3, np.int64(low)
        while j < last:
            place, stride = place_of(W, j), W.shape[2]
            if lanes_left(j, last) >= 2 * LANES:
                subtract_2(
                    W, place, stride, values, x0, x1, x2, x3, n_features, factor, f1, f2, f3, coef, r0, r1, r2, r3, j
                )
                j += 2 * LANES
            else:
                subtract_1(
                    W, place, stride, values, x0, x1, x2, x3, n_features, factor, f1, f2, f3, coef, r0, r1, r2, r3, j
                )
                j += LANES
    for s in range(size):
        for j in range(low, high):
            coef[row + s, j] = 0


@kernel
def move_bias(b, rate, values, cols, at_value, at_col, n):
    """Add rate times one vector to the input biases."""
    for k in range(n):
        b[cols[at_col + k]] += rate * values[at_value + k]


@kernel
def decay(weights, shrink, low, high):
    """Shrink W and U; W by its scale alone, folded in before it gets too small to divide by."""
    for y in range(weights.U.shape[0]):
        for j in range(low, high):
            weights.U[y, j] *= shrink
    weights.scale[0] *= shrink
    if abs(weights.scale[0]) < 1e-3:
        for block in range(np.int64(low) // FACTORS, -(-np.int64(high) // FACTORS)):
            for i in range(weights.W.shape[1]):
                row = weights.W[block, i]
                for j in range(len(row)):
                    row[j] *= weights.scale[0]
        weights.scale[0] = 1


@kernel
def apply_small(weights, steps, low, high):
    """Take the steps of U, c and d, and clear them."""
    for y in range(len(steps.d)):
        weights.d[y] -= steps.d[y]
        steps.d[y] = 0
        for j in range(low, high):
            weights.U[y, j] -= steps.U[y, j]
            steps.U[y, j] = 0
    for j in range(low, high):
        weights.c[j] -= steps.c[j]
        steps.c[j] = 0


@kernel
def apply_data(sets, batch, weights, steps, work, low, high):
    """Take the steps of W that the vectors of a batch wish for."""
    inverse_scale = weights.W.dtype.type(1) / weights.scale[0]
    row = ZERO
    for t in batch:
        if sets.stride == 0:
            size = sets.offsets[t + 1] - sets.offsets[t]
            at = sets.starts[sets.offsets[t]]
            apply_dense(weights.W, inverse_scale, steps.coef, row, sets.values, at, size, low, high)
            row += size
            continue
        for v in range(sets.offsets[t], sets.offsets[t + 1]):
            at = sets.starts[v]
            n = sets.starts[v + 1] - at
            apply_vector(
                weights.W, inverse_scale, steps.coef[row], sets.values, sets.cols, at, at, n, work.units, work.places,
                low, high,
            )  # fmt: skip
            row += 1


@kernel
def apply_model(sets, set_weights, batch, weights, rate, model, model_coef, work, bounds, every, now):
    """Take the steps of W that the drawn vectors wish for, those of b for both, and look at the bounds again."""
    dtype = weights.W.dtype
    inverse_scale = dtype.type(1) / weights.scale[0]
    row = ZERO
    for t in batch:
        b_rate = rate * set_weights[t] / dtype.type(len(batch))
        for v in range(sets.offsets[t], sets.offsets[t + 1]):
            at = sets.starts[v]
            n = sets.starts[v + 1] - at
            move_bias(weights.b, b_rate, sets.values, sets.cols, at, at * sets.stride, n)
            at = model.starts[row]
            n = model.starts[row + 1] - at
            move_bias(weights.b, -b_rate, model.values, model.cols, at, at, n)
            apply_vector(
                weights.W, inverse_scale, model_coef[row], model.values, model.cols, at, at, n, work.units, work.places,
                NONE, every,
            )  # fmt: skip
            row += 1
    if sets.stride == 0:
        renew_bounds(weights, bounds, sets.cols, ZERO, len(weights.b), every, now)
        return
    for t in batch:
        first, last = sets.starts[sets.offsets[t]], sets.starts[sets.offsets[t + 1]]
        renew_bounds(weights, bounds, sets.cols, first, last - first, every, now)
    renew_bounds(weights, bounds, model.cols, ZERO, model.starts[row], every, now)


# --- whole passes ----------------------------------------------------------------------------------


@kernel
def largest_batch(offsets, order, batch_size):
    """Return the most vectors any batch of this order holds, and the most any set holds."""
    most, largest = ZERO, np.int64(1)
    for start in range(0, len(order), batch_size):
        total = ZERO
        for place in range(start, min(start + batch_size, len(order))):
            size = offsets[order[place] + 1] - offsets[order[place]]
            total += size
            largest = max(largest, size)
        most = max(most, total)
    return most, largest


@kernel
def new_bounds(weights, high):
    """Return the bounds of every input's weights."""
    n_features, dtype = len(weights.b), weights.W.dtype
    # Read 64 at a time, which may end beyond the last input.
    whole = n_features + 64
    bounds = Bounds(
        np.zeros(whole, dtype), np.zeros(whole, dtype), np.zeros(whole, dtype), np.full(whole, -1),
        np.zeros(BLOCK, np.int32), np.zeros(BLOCK, dtype), np.zeros(BLOCK, np.float32),
    )  # fmt: skip
    renew_bounds(weights, bounds, np.arange(n_features).astype(np.int32), ZERO, n_features, high, ZERO)
    return bounds


@kernel
def renew_bounds(weights, bounds, cols, at, n, high, now):
    """Measure the largest weight and the sum of positive weights of the inputs listed, each once a step."""
    W, last = weights.W, np.int64(high)
    dtype = W.dtype.type
    bits, origin = dtype(1.0 / BIT), dtype(ORIGIN)
    for k in range(at, at + n):
        i = np.int64(cols[k])
        if bounds.stamp[i] == now:
            continue
        bounds.stamp[i] = now
        bounds.peak[i], bounds.mass[i] = 0, 0
        unit = ZERO
        while unit < last:
            n_lanes = lanes_left(unit, last) // LANES
            measure_lanes(W, place_of(W, unit) + i * W.shape[2], n_lanes, bounds.peak, bounds.mass, i)
            unit += FACTORS
        bounds.bias[i] = origin + bits * weights.b[i]
        bounds.peak[i] *= bits
        bounds.mass[i] *= bits


@kernel
def new_model(n_vectors, n_features, offsets, like):
    """Return room for drawn vectors: every feature of each. What is not written is never touched: no memory."""
    # One more: an input found not to be on is written all the same, and the next one over it.
    n_values = n_vectors * n_features + 1
    starts = np.zeros(n_vectors + 1, np.int64)
    return Sets(np.empty(n_values, like.dtype), np.empty(n_values, np.int32), starts, 1, offsets)


@kernel
def train(
    sets, labels, set_weights, order, batch_size, weights, rules, rates, set_keys, chain, losses, team, unit, room
):  # fmt: skip
    """Make one pass over the sets in this order, a step every ``batch_size`` sets; write each set's loss.

    ``chain`` is None where nothing is learned generatively, ``unit`` where it is not a max-out classifier; the branches
    on them are then not even compiled. Otherwise the team must be one thread. Each thread of a team has its own
    ``scale`` and ``d``, and writes its own losses.
    """
    n_features, width = weights.W.shape[1], len(weights.c)
    low, high = team.low, team.high
    n_classes, dtype = len(weights.d), weights.W.dtype
    work = new_work(room, width, n_classes, weights.W)
    steps = Steps(np.zeros((n_classes, width), dtype), np.zeros(width, dtype), np.zeros(n_classes, dtype), room.coef)
    if chain is not None:
        most, _ = largest_batch(sets.offsets, order, batch_size)
        model, model_coef = new_model(most, n_features, sets.offsets, weights.W), np.zeros((most, width), dtype)
        bounds = new_bounds(weights, high)
    for start in range(0, len(order), batch_size):
        stop = min(start + batch_size, len(order))
        row = ZERO
        for place in range(start, stop):
            t = order[place]
            size, label = sets.offsets[t + 1] - sets.offsets[t], labels[t]
            part = set_weights[t] / dtype.type(stop - start)
            activate_set(weights, sets, sets.offsets[t], sets.offsets[t + 1], work.a, low, high)
            partial = team.partial[place % 2]
            if unit is not None:
                choose(unit, weights, rules, work, size, partial, high)
            else:
                if rules.is_hard:
                    pool_hard(work.a, size, rules.is_or, work.pool, work.winner, low, high)
                else:
                    pool_soft(work, size, rules.is_or, work.pool, low, high)
                outer(work.pool, weights.U, rules.n_hidden, work.slope, work.sums, work.products, partial, low, high)
                if team.n > 1:
                    meet(team, place + 1)
                add_logits(weights.d, partial, work.logits)
            losses[place] = normalise(work.logits, work.p) - work.logits[label]
            if unit is not None:
                wish_max_out(unit, rates.discriminative * part, rules, work, label, steps, row)
            elif rules.discriminative:
                wish_discriminative(rates.discriminative * part, rules, work, size, label, steps, row, low, high)
            if chain is not None:
                wish_generative(
                    rates.generative * part, rules, weights, work, bounds, sets, t, label, set_keys[t], chain, steps,
                    row, model, model_coef,
                )  # fmt: skip
            row += size
        decay(weights, rates.shrink, low, high)
        apply_data(sets, order[start:stop], weights, steps, work, low, high)
        if chain is not None:
            apply_model(
                sets, set_weights, order[start:stop], weights, rates.generative, model, model_coef, work, bounds, high,
                stop,
            )  # fmt: skip
        apply_small(weights, steps, low, high)


@kernel
def forward_sets(sets, which, weights, rules, pools, F, unit, room):
    """Write the pooled activations and free energies of the chosen sets, one row each."""
    width, n_classes = len(weights.c), len(weights.d)
    every = used(rules)
    work = new_work(room, width, n_classes, weights.W)
    partial = np.zeros((-(-rules.n_hidden // FACTORS), n_classes), weights.W.dtype)
    for row in range(len(which)):
        first, last = sets.offsets[which[row]], sets.offsets[which[row] + 1]
        activate_set(weights, sets, first, last, work.a, NONE, every)
        if unit is not None:
            choose(unit, weights, rules, work, last - first, partial, every)
        else:
            if rules.is_hard:
                pool_hard(work.a, last - first, rules.is_or, work.pool, work.winner, NONE, every)
            else:
                pool_soft(work, last - first, rules.is_or, work.pool, NONE, every)
            outer(work.pool, weights.U, rules.n_hidden, work.slope, work.sums, work.products, partial, NONE, every)
            add_logits(weights.d, partial, work.logits)
        for j in range(rules.n_hidden):
            pools[row, j] = work.pool[j]
        for y in range(len(work.logits)):
            F[row, y] = -work.logits[y]
