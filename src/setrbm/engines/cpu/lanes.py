"""Loops over weights written as vector instructions.

The compiler cannot know that W and the rows beside it do not overlap, so it would load and store more than it must,
or use no vectors at all. Here eight numbers are one value, and sums and coefficients stay in registers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from setrbm.engines.cpu.layout import LANES


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


gather_1, gather_2, gather_4 = gather(1), gather(2), gather(4)

scatter_1, scatter_2, scatter_4 = scatter(1), scatter(2), scatter(4)

multiply_1, multiply_2 = multiply(1), multiply(2)

subtract_1, subtract_2 = subtract(1), subtract(2)
