"""Compile the kernels of the GPU engine for a GPU, on a machine without one.

Run by test_gpu.py in a process of its own, where kernels are not interpreted. Training runs as usual, except that
kernels are only compiled, down to machine code, and not launched.
"""

import itertools
import warnings
from types import SimpleNamespace

import numpy as np
from test_engines import N_CLASSES, N_FEATURES, make_sets
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from brute import CONSTRAINTS, POOLINGS
from setrbm.energy import initial_params
from setrbm.engines.gpu.engine import GpuEngine
from setrbm.engines.protocol import Model, Spec

N_HIDDEN = 20
compiled = []


def compile_only(kernel, *args, grid, warmup, run=JITFunction.run, **kwargs):
    compiled.append((kernel.__name__, run(kernel, *args, grid=grid, warmup=True, **kwargs)))


def train(spec, is_sparse):
    engine = GpuEngine("cpu")
    sets = make_sets(0, is_sparse)
    placed = engine.place(sets, spec)
    params = initial_params(N_FEATURES, N_HIDDEN, N_CLASSES, 0.3, 0, np.dtype(spec.dtype))
    session = engine.begin(spec, [Model(params, 3, 0.1, 0.01 * spec.generative)], 1)
    session.run([placed], [np.arange(len(sets.y))], 0)
    session.score([placed], [np.arange(len(sets.y))])


def main():
    target = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 90, 32),
        get_current_device=lambda: 0,
        get_current_stream=lambda device: 0,
    )
    driver.set_active(target)
    JITFunction.run = compile_only
    warnings.simplefilter("ignore", RuntimeWarning)
    for dtype, constraint, pooling in itertools.product(("float32", "float64"), CONSTRAINTS, POOLINGS):
        train(Spec(constraint, pooling, dtype=dtype), False)
        train(Spec(constraint, pooling, dtype=dtype, generative=True), False)
        train(Spec(constraint, pooling, dtype=dtype, batch_size=4), True)
    for further in ({"visible": "gaussian"}, {"cd_steps": 3}, {"discriminative": False}):
        train(Spec(generative=True, dtype="float32", **further), False)
    print(*{name for name, kernel in compiled if kernel.asm["cubin"]})


if __name__ == "__main__":
    main()
