"""Wide values: 8, 16 or 32 neighboring numbers of an array as one value, which kernels load, combine and store.

The compiler cannot know that W and the other arrays do not overlap: in plain loops it loads and stores sums again and
again, and it tests every index for counting from the end. Wide values stay in registers, and their indices are not
tested. An epoch with plain loops takes 2.3 to 2.5 times as long on Musk1, 1.6 times on sparse mail, and 3.4 to 13.6
times for hybrids (``lab/experiments/engine_gains_cpu.py``, ``docs/decisions/0011-engines-that-stay.md``).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

INDEX = types.int64


class Wide(types.Type):
    """The type of several numbers as one value."""

    def __init__(self, number: Any, size: int) -> None:
        self.number, self.size = number, size
        super().__init__(name=f"Wide({number}, {size})")


@register_model(Wide)
class WideModel(models.PrimitiveModel):
    """Wide values are vectors of LLVM."""

    def __init__(self, manager: Any, wide: Any) -> None:
        super().__init__(manager, wide, ir.VectorType(manager.lookup(wide.number).get_value_type(), wide.size))


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Return the address of an element of the flattened array."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


@intrinsic
def element(context, array, index):
    """Return an element of the flattened array."""

    def generate(context, builder, signature, args):
        return builder.load(_address(context, builder, signature.args[0], *args))

    return array.dtype(array, INDEX), generate


@intrinsic(prefer_literal=True)
def zeros(context, array, size):
    """Return a wide value of this size, a constant, with zeros of the dtype of an array."""

    def generate(context, builder, signature, args):
        return ir.Constant(context.get_value_type(signature.return_type), [0.0] * size.literal_value)

    return Wide(array.dtype, size.literal_value)(array, size), generate


@intrinsic
def load(context, array, index, like):
    """Return the numbers from an index of the flattened array on, as many as another wide value has."""

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], *args[:2])
        pointer = builder.bitcast(address, args[2].type.as_pointer())
        return builder.load(pointer, align=signature.args[0].dtype.bitwidth // 8)

    return like(array, INDEX, like), generate


@intrinsic
def store(context, array, index, wide):
    """Store a wide value from an index of the flattened array on."""

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], *args[:2])
        pointer = builder.bitcast(address, args[2].type.as_pointer())
        builder.store(args[2], pointer, align=signature.args[0].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, INDEX, wide), generate


@intrinsic
def broadcast(context, number, like):
    """Return copies of a number, as many as another wide value has."""

    def generate(context, builder, signature, args):
        wide, word = args[1].type, ir.IntType(32)
        first = builder.insert_element(ir.Constant(wide, ir.Undefined), args[0], ir.Constant(word, 0))
        pattern = ir.Constant(ir.VectorType(word, wide.count), [0] * wide.count)
        return builder.shuffle_vector(first, ir.Constant(wide, ir.Undefined), pattern)

    return like(like.number, like), generate


@intrinsic
def plus_product(context, wide, a, b):
    """Return wide + a b."""

    def generate(context, builder, signature, args):
        return builder.fadd(args[0], builder.fmul(*args[1:], flags=["contract"]), flags=["contract"])

    return wide(wide, a, b), generate


@intrinsic
def minus_product(context, wide, a, b):
    """Return wide - a b."""

    def generate(context, builder, signature, args):
        return builder.fsub(args[0], builder.fmul(*args[1:], flags=["contract"]), flags=["contract"])

    return wide(wide, a, b), generate


@intrinsic
def plus(context, a, b):
    """Return a + b."""

    def generate(context, builder, signature, args):
        return builder.fadd(*args)

    return a(a, b), generate


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


@intrinsic
def larger(context, a, b):
    """Return the larger number of each pair in two wide values."""

    def generate(context, builder, signature, args):
        return _larger(builder, *args)

    return a(a, b), generate


def _by_halves(builder: Any, wide: Any, join: Any) -> Any:
    """Join the numbers of a wide value to one, by halves."""
    numbers = [builder.extract_element(wide, ir.Constant(ir.IntType(32), i)) for i in range(wide.type.count)]
    while len(numbers) > 1:
        half = len(numbers) // 2
        numbers = [join(a, b) for a, b in zip(numbers[:half], numbers[half:], strict=True)]
    return numbers[0]


@intrinsic
def sum_of(context, wide):
    """Return the sum of the numbers."""

    def generate(context, builder, signature, args):
        return _by_halves(builder, args[0], builder.fadd)

    return wide.number(wide), generate


@intrinsic
def largest_of(context, wide):
    """Return the largest of the numbers."""

    def generate(context, builder, signature, args):
        return _by_halves(builder, args[0], lambda a, b: _larger(builder, a, b))

    return wide.number(wide), generate
