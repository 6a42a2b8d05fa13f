"""Loops over weights, written as vector instructions.

The compiler cannot know that W and the other arrays do not overlap. It would emit redundant loads and stores, or not
vectorize at all. Here a lane is one value, and sums and coefficients stay in registers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from setrbm.engines.cpu.layout import LANE_SIZE


def broadcast(builder: Any, lane_type: Any, value: Any) -> Any:
    """Return a lane of copies of one value."""
    undefined, first = ir.Constant(lane_type, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    pattern = ir.Constant(ir.VectorType(ir.IntType(32), int(LANE_SIZE)), [0] * int(LANE_SIZE))
    return builder.shuffle_vector(builder.insert_element(undefined, value, first), undefined, pattern)


class Lanes:
    """Emits instructions for lanes of one number type."""

    def __init__(self, context: Any, builder: Any, number: Any) -> None:
        self.context, self.builder = context, builder
        self.type = ir.VectorType(context.get_value_type(number), int(LANE_SIZE))
        self.align = number.bitwidth // 8

    def data(self, array_type: Any, array: Any) -> Any:
        """Return the pointer to the first number of an array."""
        return self.context.make_array(array_type)(self.context, self.builder, array).data

    def number(self, data: Any, at: Any) -> Any:
        """Load one number."""
        return self.builder.load(self.builder.gep(data, [at]))

    def broadcast(self, number: Any) -> Any:
        """Return a lane of copies of one number."""
        return broadcast(self.builder, self.type, number)

    def pointer(self, data: Any, at: Any, lane: int = 0) -> Any:
        """Return the pointer to the lane that starts at an index, or that many lanes after it."""
        place = self.builder.gep(data, [self.builder.add(at, ir.Constant(at.type, lane * int(LANE_SIZE)))])
        return self.builder.bitcast(place, self.type.as_pointer())

    def load(self, pointer: Any) -> Any:
        """Load a lane."""
        return self.builder.load(pointer, align=self.align)

    def store(self, vector: Any, pointer: Any) -> None:
        """Store a lane."""
        self.builder.store(vector, pointer, align=self.align)

    def plus_product(self, vector: Any, a: Any, b: Any) -> Any:
        """Return vector + a b."""
        return self.builder.fadd(vector, self.builder.fmul(a, b, flags=["contract"]), flags=["contract"])

    def minus_product(self, vector: Any, a: Any, b: Any) -> Any:
        """Return vector - a b."""
        return self.builder.fsub(vector, self.builder.fmul(a, b, flags=["contract"]), flags=["contract"])

    def zero_sums(self, n: int) -> list[Any]:
        """Allocate n lanes of running sums."""
        zero = ir.Constant(self.type, [0.0] * int(LANE_SIZE))
        sums = [cgutils.alloca_once(self.builder, self.type) for _ in range(n)]
        for total in sums:
            self.builder.store(zero, total)
        return sums

    def loop(self, n: Any) -> Any:
        """Return a context manager for a loop from 0 to n."""
        return cgutils.for_range(self.builder, n, intp=n.type)

    def store_activations(self, sums: list[Any], scale: Any, c: Any, unit: Any, a: Any, place: Any) -> None:
        """Store c + scale * sum, one lane per sum: c is read from a unit on, a is written from a place on."""
        for lane, total in enumerate(sums):
            bias = self.load(self.pointer(c, unit, lane))
            activation = self.plus_product(bias, self.broadcast(scale), self.builder.load(total))
            self.store(activation, self.pointer(a, place, lane))

    def reduce(self, vector: Any, join: Any) -> Any:
        """Reduce a lane to one number, by halves."""
        numbers = [self.builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(int(LANE_SIZE))]
        while len(numbers) > 1:
            half = len(numbers) // 2
            numbers = [join(a, b) for a, b in zip(numbers[:half], numbers[half:], strict=True)]
        return numbers[0]

    def maximum(self, a: Any, b: Any) -> Any:
        """Return the larger of two numbers, or of each pair of numbers in two lanes."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)


def make_gather(n_lanes: int) -> Any:
    """Make a function for n lanes of units: a = c + scale * sum of x_i W_i over the features of one vector."""

    @intrinsic
    def sum_rows(context, W, at, stride, cols, values, start, n, scale, c, a, unit):
        def generate(context, builder, signature, args):
            _, at, stride, _, _, start, n, scale, _, _, unit = args
            lanes = Lanes(context, builder, signature.args[0].dtype)
            W, cols, values, c, a = (lanes.data(signature.args[i], args[i]) for i in (0, 3, 4, 8, 9))
            sums = lanes.zero_sums(n_lanes)
            with lanes.loop(n) as loop:
                k = builder.add(start, loop.index)
                col, x = builder.sext(lanes.number(cols, k), at.type), lanes.broadcast(lanes.number(values, k))
                row = builder.add(at, builder.mul(col, stride))
                for lane, total in enumerate(sums):
                    weights = lanes.load(lanes.pointer(W, row, lane))
                    builder.store(lanes.plus_product(builder.load(total), x, weights), total)
            lanes.store_activations(sums, scale, c, unit, a, unit)
            return context.get_dummy_value()

        i = types.int64
        return types.void(W, i, i, cols, values, i, i, W.dtype, c, a, i), generate

    return sum_rows


def make_multiply(n_lanes: int) -> Any:
    """Make a function for n lanes of units: a = c + scale * W x for four dense vectors at once."""

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
                    value = lanes.broadcast(lanes.number(values, builder.add(x, loop.index)))
                    for weight, total in zip(weights, totals, strict=True):
                        builder.store(lanes.plus_product(builder.load(total), value, weight), total)
            for s, totals in zip((s0, s1, s2, s3), sums, strict=True):
                place = builder.add(builder.mul(s, width), unit)
                lanes.store_activations(totals, scale, c, unit, array.data, place)
            return context.get_dummy_value()

        i = types.int64
        return types.void(W, i, i, values, i, i, i, i, i, W.dtype, c, a, i, i, i, i, i), generate

    return product


def make_scatter(n_lanes: int) -> Any:
    """Make a function for n of the listed lanes: W_i -= x_i coef for the features of one vector."""

    @intrinsic
    def take_rows(context, W, stride, cols, values, start, n, factor, coef, units, indices, first):
        def generate(context, builder, signature, args):
            _, stride, _, _, start, n, factor, _, _, _, first = args
            lanes = Lanes(context, builder, signature.args[0].dtype)
            W, cols, values = (lanes.data(signature.args[i], args[i]) for i in (0, 2, 3))
            coef, units, indices = (lanes.data(signature.args[i], args[i]) for i in (7, 8, 9))
            listed = [builder.add(first, ir.Constant(first.type, i)) for i in range(n_lanes)]
            coefs = [lanes.load(lanes.pointer(coef, lanes.number(units, i))) for i in listed]
            rows = [lanes.number(indices, i) for i in listed]
            with lanes.loop(n) as loop:
                k = builder.add(start, loop.index)
                col, value = builder.sext(lanes.number(cols, k), first.type), lanes.number(values, k)
                x = lanes.broadcast(builder.fmul(factor, value, flags=["contract"]))
                row = builder.mul(col, stride)
                for lane, one in zip(rows, coefs, strict=True):
                    target = lanes.pointer(W, builder.add(lane, row))
                    lanes.store(lanes.minus_product(lanes.load(target), x, one), target)
            return context.get_dummy_value()

        i = types.int64
        return types.void(W, i, cols, values, i, i, W.dtype, coef, units, indices, i), generate

    return take_rows


def make_subtract(n_lanes: int) -> Any:
    """Make a function for n lanes of units: W -= sum of x coef over four dense vectors at once."""

    @intrinsic
    def take_product(context, W, at, stride, values, x0, x1, x2, x3, n, f0, f1, f2, f3, coef, r0, r1, r2, r3, unit):
        def generate(context, builder, signature, args):
            _, at, stride, _, x0, x1, x2, x3, n, f0, f1, f2, f3, _, r0, r1, r2, r3, unit = args
            lanes = Lanes(context, builder, signature.args[0].dtype)
            W, values = (lanes.data(signature.args[i], args[i]) for i in (0, 3))
            array = context.make_array(signature.args[13])(context, builder, args[13])
            width = builder.extract_value(array.shape, 1)
            rows = [builder.add(builder.mul(r, width), unit) for r in (r0, r1, r2, r3)]
            coefs = [[lanes.load(lanes.pointer(array.data, row, k)) for k in range(n_lanes)] for row in rows]
            with lanes.loop(n) as loop:
                row = builder.add(at, builder.mul(loop.index, stride))
                targets = [lanes.pointer(W, row, lane) for lane in range(n_lanes)]
                weights = [lanes.load(target) for target in targets]
                for x, factor, row_coefs in zip((x0, x1, x2, x3), (f0, f1, f2, f3), coefs, strict=True):
                    value = lanes.number(values, builder.add(x, loop.index))
                    step = lanes.broadcast(builder.fmul(factor, value, flags=["contract"]))
                    weights = [lanes.minus_product(w, step, one) for w, one in zip(weights, row_coefs, strict=True)]
                for weight, target in zip(weights, targets, strict=True):
                    lanes.store(weight, target)
            return context.get_dummy_value()

        i, f = types.int64, W.dtype
        return types.void(W, i, i, values, i, i, i, i, i, f, f, f, f, coef, i, i, i, i, i), generate

    return take_product


@intrinsic
def dot_lanes(context, W, at, row, unit, n):
    """Return the dot product of n lanes of W, from an index on, and n lanes of a row, from a unit on."""

    def generate(context, builder, signature, args):
        _, at, _, unit, n = args
        lanes = Lanes(context, builder, signature.args[0].dtype)
        W, row = (lanes.data(signature.args[i], args[i]) for i in (0, 2))
        (total,) = lanes.zero_sums(1)
        with lanes.loop(n) as loop:
            shift = builder.mul(loop.index, ir.Constant(n.type, int(LANE_SIZE)))
            weights = lanes.load(lanes.pointer(W, builder.add(at, shift)))
            others = lanes.load(lanes.pointer(row, builder.add(unit, shift)))
            builder.store(lanes.plus_product(builder.load(total), weights, others), total)
        return lanes.reduce(builder.load(total), builder.fadd)

    return W.dtype(W, types.int64, row, types.int64, types.int64), generate


@intrinsic
def measure_lanes(context, W, at, n, peak, mass, i):
    """Raise peak[i] to the largest weight in n lanes of W, and add the sum of the positive ones to mass[i]."""

    def generate(context, builder, signature, args):
        _, at, n, _, _, i = args
        lanes = Lanes(context, builder, signature.args[0].dtype)
        W, peak, mass = (lanes.data(signature.args[k], args[k]) for k in (0, 3, 4))
        largest, total = lanes.zero_sums(2)
        zero = ir.Constant(lanes.type, [0.0] * int(LANE_SIZE))
        with lanes.loop(n) as loop:
            shift = builder.mul(loop.index, ir.Constant(n.type, int(LANE_SIZE)))
            positive = lanes.maximum(lanes.load(lanes.pointer(W, builder.add(at, shift))), zero)
            builder.store(lanes.maximum(positive, builder.load(largest)), largest)
            builder.store(builder.fadd(builder.load(total), positive), total)
        highest = lanes.reduce(builder.load(largest), lanes.maximum)
        at_peak, at_mass = builder.gep(peak, [i]), builder.gep(mass, [i])
        builder.store(lanes.maximum(highest, builder.load(at_peak)), at_peak)
        sum_of_lanes = lanes.reduce(builder.load(total), builder.fadd)
        builder.store(builder.fadd(builder.load(at_mass), sum_of_lanes), at_mass)
        return context.get_dummy_value()

    return types.void(W, types.int64, types.int64, peak, mass, types.int64), generate


gather_1, gather_2, gather_4 = make_gather(1), make_gather(2), make_gather(4)

scatter_1, scatter_2, scatter_4 = make_scatter(1), make_scatter(2), make_scatter(4)

multiply_1, multiply_2 = make_multiply(1), make_multiply(2)

subtract_1, subtract_2 = make_subtract(1), make_subtract(2)
