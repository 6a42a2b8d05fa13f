"""The CPU engine: Numba kernels that train and predict, for dense and sparse vectors alike.

From the bottom up:

================  ==================================================================================================
compiling         the decorator for kernels, and their cache on disk
layout            how weights and sets are stored, and the records that kernels take
random_numbers    the random numbers of ``setrbm.draws``
scalar_math       exp, log and the logistic function
wide              several neighboring numbers as one value
memory            conversion between the user's arrays and the records
activations       ``a = c + W x``
pools             pooled activations of a set, and their derivatives
scoring           pools to logits, softmax
best_vector       max-out classifiers
gradients         the step of one set, discriminative and generative
candidates        inputs that may be on
reconstruction    inputs drawn given hidden units
chains            Gibbs chains, contrastive divergence
updates           the steps of a mini-batch, applied to the weights
epochs            one pass over the sets: training, prediction
session           ``CpuSession`` and ``CpuEngine``
================  ==================================================================================================

A training step has two halves. First every set of the mini-batch adds its step: one row of coefficients for each of its
vectors, and steps for U, c and d. Then the steps are applied. So mini-batches of any size share the same code, and no
gradient of W is ever stored.

One thread trains one model; several models are trained side by side (decision 0003).

Rules for kernels, each backed by a measurement:

- Comparisons let NaN through: a model that diverged must not look healthy.
- Functions called for every vector or feature take arrays, not records: a record is copied whole at each call.
- Constants are NumPy scalars: Numba recompiles a function for every literal it is passed.
- Rows are copied by loops: slice assignment takes seconds to compile.
- No array is allocated inside a loop over sets.
"""

from __future__ import annotations

from setrbm.engines.cpu.session import CpuEngine, CpuSession

__all__ = ["ENGINE", "CpuSession"]

ENGINE = CpuEngine()
