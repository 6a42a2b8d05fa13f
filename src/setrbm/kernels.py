r"""Kernels between sets, based on Gaussian kernels between their vectors.

With :math:`k(x, x') = e^{-\gamma |x - x'|^2}`:

=========  ==============================================================================================
name       value
=========  ==============================================================================================
migraph    :math:`\sum_{ss'} w_s w'_{s'} k(x_s, x'_{s'}) / (\sum_s w_s \sum_{s'} w'_{s'})`
migraph2   the same, with one distance threshold for all sets
max        :math:`\frac12 (\mathrm{mean}_s \max_{s'} k(x_s, x'_{s'}) + \mathrm{mean}_{s'} \max_s k(x_s, x'_{s'}))`
=========  ==============================================================================================

The weight of a vector is one over the number of vectors of its set, including itself, that are closer to it than the
threshold: the mean distance between two vectors of the set (migraph), or one number for all sets (migraph2).

The kernel matrix of all vectors is never stored. It is computed in blocks by matrix products, and each block is reduced
to sets at once. Longer than other modules, since weights, memory limit and reductions share these blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from setrbm._types import Array, Floats, Integers
from setrbm.bags import Bags, rows_of
from setrbm.tools.threads import as_threads

SetKernel = Literal["migraph", "migraph2", "max"]
KERNELS = ("migraph", "migraph2", "max")
# Vectors of the right and the left side in one block, which fits into the cache.
ROWS, COLUMNS = 512, 256
# Pairs of vectors from which the median distance is estimated.
PAIRS = 10_000
# Distances that differ by fewer units in the last place count as equal, since rounding depends on the block.
ROUNDINGS = 64
# Distances within a set stored at once.
DISTANCES = 2**22
# Largest acceptable rounding error of an exponent.
DIGITS_LOST = 1e-4
MIB = 2**20


def set_kernel(
    A: Bags | Sequence[Any],
    B: Bags | Sequence[Any] | None = None,
    kernel: SetKernel = "migraph",
    gamma: float | Literal["median"] = "median",
    threshold: float | Literal["median"] = "median",
    memory_mib: float = 1024.0,
    n_jobs: int | None = None,
) -> Floats:
    """Return the kernel between each set of A and each set of B.

    Parameters
    ----------
    A, B : Bags, or list of matrices
        By default B is A, and the symmetry of the kernel is used.
    kernel : {"migraph", "migraph2", "max"}
        The local kernel ("max") is not positive semi-definite in general.
    gamma : float or "median"
        Parameter of the Gaussian kernel. "median" is one over the squared median distance between vectors of B (of A if
        B is not given), so that B can be training sets and A new sets.
    threshold : float or "median"
        For migraph2: vectors of a set closer than this are neighbors. "median" is the same median distance.
    memory_mib : float
        Memory limit, not counting the inputs. A kernel that needs more is refused before it is computed.
    n_jobs : int, optional
        Number of threads; by default all cores, but one inside a parallel worker.

    Returns
    -------
    ndarray of shape (n_sets_A, n_sets_B)

    Examples
    --------
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.kernels import set_kernel
    >>> bags, y = load_musk1()
    >>> K = set_kernel(bags[:80], gamma=1e-6)
    >>> K.shape, bool((K == K.T).all())
    ((80, 80), True)
    >>> set_kernel(bags[80:], bags[:80], gamma=1e-6).shape
    (12, 80)
    """
    A = A if isinstance(A, Bags) else Bags.from_list(A)
    B = B if isinstance(B, Bags | None) else Bags.from_list(B)
    if B is not None and A.shape[1] != B.shape[1]:
        raise ValueError(f"A and B must have the same features. Got {A.shape[1]} and {B.shape[1]}.")
    reference = A if B is None else B
    gamma, threshold = resolve(reference, kernel, gamma, threshold)
    n_jobs = min(as_threads(n_jobs), check_memory(A, reference, kernel, memory_mib))
    right = prepare(reference, kernel, gamma, threshold, n_jobs=n_jobs)
    left = right if B is None else prepare(A, kernel, gamma, threshold, right.center, n_jobs)
    return between(left, right, kernel, memory_mib, n_jobs)


def check_kernel(kernel: Any) -> None:
    """Raise ValueError if the kernel is unknown."""
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(map(repr, KERNELS))}. Got {kernel!r}.")


def resolve(
    bags: Bags, kernel: SetKernel, gamma: float | Literal["median"], threshold: float | Literal["median"]
) -> tuple[float, float]:
    """Check gamma and threshold and return them as numbers, with "median" estimated on these sets."""
    check_kernel(kernel)
    bags.check_finite()
    needed = gamma == "median" or (kernel == "migraph2" and threshold == "median")
    median = median_distance(bags) if needed else 0.0
    if gamma == "median":
        gamma = 1.0 / median**2 if median else 1.0
    if threshold == "median":
        threshold = median
    elif not _is_positive(threshold):
        raise ValueError(f"threshold must be a positive number or 'median'. Got {threshold!r}.")
    if not _is_positive(gamma):
        raise ValueError(f"gamma must be a positive number or 'median'. Got {gamma!r}.")
    return float(gamma), float(threshold)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value) and value > 0)


def median_distance(bags: Bags) -> float:
    """Return the median distance of a fixed sample of pairs of vectors; 0 if all vectors are equal."""
    n = bags.n_vectors
    if n < 2:
        return 0.0
    rng = np.random.default_rng(0)
    first = rng.integers(0, n, PAIRS)
    second = (first + rng.integers(1, n, PAIRS)) % n
    difference = bags.X[first] - bags.X[second]
    squares = difference.multiply(difference) if bags.is_sparse else difference * difference
    distances = np.sqrt(np.asarray(squares.sum(axis=1, dtype=np.float64)).ravel())
    return float(np.median(distances)) or float(distances.mean())


@dataclass(frozen=True)
class Side:
    """One side of a kernel: vectors scaled so that the Gaussian kernel is exp(x.y - |x|^2 / 2 - |y|^2 / 2).

    ``weights`` are the weights of the vectors and sum to 1 in each set. ``center`` was subtracted from the vectors and
    must be the same on both sides; it is zero for sparse vectors.
    """

    X: Any
    half_squares: Array
    weights: Array
    offsets: Integers
    center: Array

    @property
    def n_sets(self) -> int:
        """The number of sets."""
        return len(self.offsets) - 1

    def chosen(self, sets: Integers) -> Side:
        """Return the side for some of the sets."""
        rows, offsets = rows_of(self.offsets, sets)
        return Side(self.X[rows], self.half_squares[rows], self.weights[rows], offsets, self.center)


def prepare(
    bags: Bags, kernel: SetKernel, gamma: float, threshold: float, center: Array | None = None,
    n_jobs: int | None = None,
) -> Side:  # fmt: skip
    """Return sets as one side of a kernel, centered at the center of the other side or (None) at their own.

    Centering keeps the distances and loses fewer digits for vectors far from the origin. If float32 would still lose
    too many, float64 is used.
    """
    bags.check_finite()
    if center is None:
        center = np.zeros(bags.shape[1], np.float32) if bags.is_sparse else _center(bags)
    X, half_squares = _centered_and_scaled(bags, gamma, center, bags.dtype)
    if bags.dtype == np.float32 and not half_squares.max() <= DIGITS_LOST / np.finfo(np.float32).eps:
        X, half_squares = _centered_and_scaled(bags, gamma, center, np.dtype(np.float64))
    if not np.isfinite(half_squares).all():
        raise ValueError(f"gamma must leave the squares of all values finite. Got {gamma!r}: scale the inputs.")
    sizes = np.repeat(bags.sizes, bags.sizes)
    common = threshold if kernel == "migraph2" else None
    weights = 1.0 / sizes if kernel == "max" else vector_weights(bags, common, n_jobs)
    return Side(X, half_squares, weights.astype(X.dtype), bags.offsets, center)


def _center(bags: Bags) -> Array:
    """Return the mean of dense vectors rounded to float32, so that sides of different types can share it."""
    with np.errstate(over="ignore"):
        # Values beyond float32 are refused later, since their squares are not finite.
        return np.asarray(np.nan_to_num(bags.X.mean(axis=0, dtype=np.float64).astype(np.float32)))


def _centered_and_scaled(bags: Bags, gamma: float, center: Array, dtype: np.dtype[Any]) -> tuple[Any, Array]:
    """Return the centered and scaled vectors and half their squared lengths."""
    factor = dtype.type(np.sqrt(2.0 * gamma))
    with np.errstate(over="ignore", invalid="ignore"):
        if bags.is_sparse and not center.any():
            X = bags.X.astype(dtype) * factor
            return X, np.asarray(X.multiply(X).sum(axis=1)).ravel() / 2
        X = (bags.X.toarray() if bags.is_sparse else bags.X).astype(dtype)
        X -= center.astype(dtype)
        X *= factor
        return X, np.einsum("ij,ij->i", X, X) / 2


def vector_weights(bags: Bags, threshold: float | None = None, n_jobs: int | None = None) -> Floats:
    """Return the weight of each vector, one over its number of neighbors, normalized to sum 1 in each set.

    Parameters
    ----------
    threshold : float, optional
        The distance below which vectors are neighbors; by default the mean distance within each set.
    n_jobs : int, optional
        Number of threads; by default all cores, but one inside a parallel worker.
    """
    weights = np.ones(bags.n_vectors)

    def weigh(k: int) -> None:
        start, stop = bags.offsets[k], bags.offsets[k + 1]
        raw = 1.0 / _count_neighbors(bags.X[start:stop], threshold)
        weights[start:stop] = raw / raw.sum()

    _run_parallel(weigh, np.flatnonzero(bags.sizes > 1), as_threads(n_jobs))
    return weights


@cache
def _blas() -> ThreadpoolController:
    """Return the controller of BLAS threads, cached since creating it takes milliseconds."""
    return ThreadpoolController()


def _run_parallel(job: Callable[[Any], None], tasks: Iterable[Any], n_threads: int) -> None:
    """Run all tasks on a number of threads, with BLAS on one thread each."""
    with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(job, tasks))


def _count_neighbors(X: Any, threshold: float | None) -> Floats:
    """Return for each vector of a set how many vectors, including itself, are closer than the threshold."""
    n, is_sparse = X.shape[0], sparse.issparse(X)
    # Centering keeps the distances, and the products below lose fewer digits.
    X = X if is_sparse else X - X.mean(axis=0)
    squares = np.asarray((X * X).sum(axis=1)).ravel()
    rows = max(1, DISTANCES // n)

    def distances(start: int) -> Array:
        product = X[start : start + rows] @ X.T
        block = (product.toarray() if is_sparse else product) * X.dtype.type(-2.0)
        block += squares
        block += squares[start : start + rows, np.newaxis]
        np.maximum(block, 0.0, out=block)
        block[np.arange(len(block)), np.arange(start, start + len(block))] = 0.0
        return np.asarray(np.sqrt(block, out=block))

    starts = range(0, n, rows)
    # The distances of a set that fits into one block are computed once.
    blocks = [distances(0)] if len(starts) == 1 else None
    if threshold is None:
        threshold = sum(b.sum(dtype=np.float64) for b in blocks or map(distances, starts)) / (n * (n - 1))
    limit = threshold * (1.0 - ROUNDINGS * np.finfo(X.dtype).eps)
    counts = [(b < limit).sum(axis=1) for b in blocks or map(distances, starts)]
    # A vector always counts itself, even if all vectors are equal and no distance is below 0.
    return np.asarray(np.maximum(np.concatenate(counts), 1), dtype=np.float64)


def between(left: Side, right: Side, kernel: SetKernel, memory_mib: float, n_jobs: int | None) -> Floats:
    """Return the kernel between the sets of two sides; a symmetric matrix if both are the same object."""
    n_threads = min(as_threads(n_jobs), check_memory(left, right, kernel, memory_mib))
    K = np.zeros((left.n_sets, right.n_sets))
    reduce = _mean_best_matches if kernel == "max" else _weighted_sums
    symmetric = left is right

    def job(run: tuple[int, int]) -> None:
        first_set = run[0] if symmetric else 0
        K[run[0] : run[1], first_set:] = reduce(left, right, run, first_set)

    _run_parallel(job, _runs(left.offsets), n_threads)
    if symmetric:
        above = np.triu_indices(left.n_sets, 1)
        K.T[above] = K[above]
    return K


def check_memory(
    left: Bags | Side, right: Bags | Side, kernel: SetKernel, memory_mib: float, copies_of_result: int = 1
) -> int:
    """Return the number of threads that fit into this memory; raise ValueError if not even one does.

    ``copies_of_result`` is the number of matrices of the size of the result that the caller needs.
    """
    check_kernel(kernel)
    if not _is_positive(memory_mib):
        raise ValueError(f"memory_mib must be a positive number. Got {memory_mib!r}.")
    n_left, n_right = len(left.offsets) - 1, len(right.offsets) - 1
    item, n_features = left.X.dtype.itemsize, left.X.shape[1]
    # The result and the scaled copies of both sides.
    needed = 8 * n_left * n_right * copies_of_result + _bytes_of(left.X) + (0 if right is left else _bytes_of(right.X))
    # A block and its copies, a dense chunk of the left side, and the results of a run of sets.
    per_thread = item * (3 * ROWS * COLUMNS + (2 * COLUMNS * n_features if sparse.issparse(left.X) else 0))
    sets_of_run = min(COLUMNS, n_left)
    per_thread += 8 * sets_of_run * n_right
    if kernel == "max":
        per_thread += item * (sets_of_run * right.X.shape[0] + COLUMNS * n_right)
    else:
        per_thread = max(per_thread, bytes_of_distances(left))
    most = int((memory_mib * MIB - needed) // per_thread)
    if most < 1:
        raise ValueError(
            f"The kernel of {n_left:,} x {n_right:,} sets needs {needed / MIB:,.0f} MiB, and each thread "
            f"{per_thread / MIB:,.0f} MiB. Got memory_mib={memory_mib:g}. Raise it, or use fewer sets."
        )
    return most


def bytes_of_distances(sets: Bags | Side) -> int:
    """Return the memory a thread needs for one block of distances within a set."""
    return int(4 * sets.X.dtype.itemsize * min(DISTANCES, int(np.diff(sets.offsets).max()) ** 2))


def _bytes_of(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if sparse.issparse(X) else int(X.nbytes)


def _runs(offsets: Integers) -> Iterator[tuple[int, int]]:
    """Split sets into runs of about ``COLUMNS`` vectors; a larger set is a run of its own."""
    start = 0
    for stop in range(1, len(offsets)):
        if stop == len(offsets) - 1 or offsets[stop + 1] - offsets[start] > COLUMNS:
            yield start, stop
            start = stop


def _chunks(first: int, last: int, size: int) -> list[tuple[int, int]]:
    return list(pairwise([*range(first, last, size), last]))


def _blocks(
    left: Side, right: Side, columns: tuple[int, int], first: int, weigh: bool
) -> Iterator[tuple[tuple[int, int], Array]]:
    """Yield blocks of the Gaussian kernel between the right side, from its first vector on, and columns of the left.

    With ``weigh``, rows are multiplied by the weights of the vectors of the right side.
    """
    X = left.X[columns[0] : columns[1]]
    other = np.ascontiguousarray(X.toarray().T) if sparse.issparse(X) else X.T
    half_squares = left.half_squares[columns[0] : columns[1]]
    # A factor outside the exponential is a term inside it, where it costs nothing.
    shift = right.half_squares - np.log(right.weights) if weigh else right.half_squares
    largest = max(float(half_squares.max()), float(right.half_squares.max()))
    rounded = largest > DIGITS_LOST / np.finfo(right.half_squares.dtype).eps
    for rows in _chunks(first, len(right.half_squares), ROWS):
        block = np.asarray(right.X[rows[0] : rows[1]] @ other)
        block -= shift[rows[0] : rows[1], np.newaxis]
        block -= half_squares
        if rounded:
            # A squared distance cannot be negative.
            np.minimum(block, (right.half_squares - shift)[rows[0] : rows[1], np.newaxis], out=block)
        yield rows, np.asarray(np.exp(block, out=block))


def _sets_within(offsets: Integers, span: tuple[int, int], first_set: int) -> tuple[slice, Integers]:
    """Return the sets with vectors in a span, counted from the first set, and the offset of each in the span."""
    low = int(np.searchsorted(offsets, span[0], side="right")) - 1
    high = int(np.searchsorted(offsets, span[1], side="left"))
    return slice(low - first_set, high - first_set), np.maximum(offsets[low:high] - span[0], 0)


def _weighted_sums(left: Side, right: Side, run: tuple[int, int], first_set: int) -> Floats:
    """Return the weighted sums of the Gaussian kernel between a run of sets and those of the right side."""
    result = np.zeros((right.n_sets - first_set, run[1] - run[0]))
    for columns in _chunks(left.offsets[run[0]], left.offsets[run[1]], COLUMNS):
        sets_a, starts_a = _sets_within(left.offsets, columns, run[0])
        for rows, block in _blocks(left, right, columns, right.offsets[first_set], weigh=True):
            sets_b, starts_b = _sets_within(right.offsets, rows, first_set)
            sums = np.add.reduceat(block, starts_b, axis=0)
            sums *= left.weights[columns[0] : columns[1]]
            result[sets_b, sets_a] += np.add.reduceat(sums, starts_a, axis=1)
    return result.T


def _mean_best_matches(left: Side, right: Side, run: tuple[int, int], first_set: int) -> Floats:
    """Return the mean best match, over both directions, between a run of sets and those of the right side."""
    n_right, n_run, begin = right.n_sets - first_set, run[1] - run[0], right.offsets[first_set]
    # The best match of each vector of the right side in each set of the run.
    best_of_right = np.zeros((len(right.half_squares) - begin, n_run), left.X.dtype)
    result = np.zeros((n_right, n_run))
    for columns in _chunks(left.offsets[run[0]], left.offsets[run[1]], COLUMNS):
        sets_a, starts_a = _sets_within(left.offsets, columns, run[0])
        best_of_left = np.zeros((n_right, columns[1] - columns[0]), left.X.dtype)
        for rows, block in _blocks(left, right, columns, begin, weigh=False):
            sets_b, starts_b = _sets_within(right.offsets, rows, first_set)
            best = best_of_left[sets_b]
            np.maximum(best, np.maximum.reduceat(block, starts_b, axis=0), out=best)
            best = best_of_right[rows[0] - begin : rows[1] - begin, sets_a]
            np.maximum(best, np.maximum.reduceat(block, starts_a, axis=1), out=best)
        best_of_left *= left.weights[columns[0] : columns[1]]
        result[:, sets_a] += np.add.reduceat(best_of_left, starts_a, axis=1)
    best_of_right *= right.weights[begin:, np.newaxis]
    result += np.add.reduceat(best_of_right, right.offsets[first_set:-1] - begin, axis=0)
    return result.T / 2
