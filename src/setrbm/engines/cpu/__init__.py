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

from setrbm.engines.cpu.session import CpuEngine, CpuSession

__all__ = ["ENGINE", "CpuSession"]

ENGINE = CpuEngine()
