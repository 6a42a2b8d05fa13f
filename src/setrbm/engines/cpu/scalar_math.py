"""exp, log and the logistic function: vectorizable polynomials in float32, the library's functions in float64."""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from setrbm.engines.cpu.compiling import kernel


def make_bitcast(source, target, llvm_type):
    """Make a function that reinterprets the bits of one type as another."""

    @intrinsic
    def bitcast(context, value):
        def generate(context, builder, signature, args):
            return builder.bitcast(args[0], llvm_type)

        return target(source), generate

    return bitcast


float_of_bits = make_bitcast(types.int32, types.float32, ir.FloatType())
bits_of_float = make_bitcast(types.float32, types.int32, ir.IntType(32))


def exp_nonpositive(x):
    """Return exp(x) for x <= 0. In float32 the relative error is below 2e-7 and the result at least exp(-87)."""
    return math.exp(x)


def log_positive(x):
    """Return log(x) for finite x > 0. In float32 the error is below 2e-7 max(1, |log x|)."""
    return math.log(x)


@overload(exp_nonpositive, jit_options={"fastmath": {"contract"}})
def _exp_nonpositive(x):
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


@overload(log_positive, jit_options={"fastmath": {"contract"}})
def _log_positive(x):
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
        # The bit operations above would hide a NaN; x - x is NaN for NaN, else 0.
        return n * ln2 + s * (two + z * (q0 + z * (q1 + z * q2))) + (x - x)

    return polynomial


@kernel
def sigmoid(v):
    """Return 1 / (1 + exp(-v)) without overflow."""
    one = type(v)(1)
    e = exp_nonpositive(-abs(v))
    return (one if v >= type(v)(0) else e) / (one + e)


@kernel
def log_sigmoid(v):
    """Return log sigm(v) = min(v, 0) - log(1 + exp(-|v|))."""
    e = exp_nonpositive(-abs(v))
    return (v if v < type(v)(0) else type(v)(0)) - log_positive(type(v)(1) + e)
