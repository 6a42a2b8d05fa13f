"""Synthetic sets with the shape of the paper's mail collections, which cannot be had."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._types import Array, Integers
from setrbm.bags import Bags, offsets_of

# Pieces of mail, pages and classes of the two collections, and their number of features.
SHAPES = {"DsDe": (14_593, 102_071, 11), "DsUs": (16_808, 160_372, 6)}
N_FEATURES = 10_083
# Every class has so many words of its own, and one page in four of a piece of mail uses them.
CLASS_WORDS = 60
CLASS_SHARE = 0.1
TELLING_PAGES = 0.25


def make_mail_like(
    n_sets: int = SHAPES["DsDe"][0],
    n_vectors: int | None = None,
    n_classes: int = SHAPES["DsDe"][2],
    n_features: int = N_FEATURES,
    words_per_vector: float = 80.0,
    random_state: int | None = None,
    problem: int = 0,
) -> tuple[Bags, npt.NDArray[np.int64]]:
    """Make sets of sparse binary vectors: pieces of mail with pages of words.

    Set sizes are log-normal, words follow Zipf's law, and some pages of each set use words of the set's class more
    often, so that the class can be learned but most pages say little.

    Parameters
    ----------
    n_sets : int
    n_vectors : int, optional
        Pages in all; by default in proportion to the paper's smaller collection (about 7 a set).
    n_classes, n_features : int
    words_per_vector : float
        The mean number of different words a page.
    random_state : int, optional
    problem : int
        Which words the classes use. Sets made with other random states, but the same problem, are more of the same.

    Returns
    -------
    bags : Bags
        CSR, float32.
    y : ndarray of shape (n_sets,)

    Examples
    --------
    >>> bags, y = make_mail_like(100, n_classes=3, random_state=0)
    >>> bags
    Bags(100 sets, 699 vectors, 10,083 features, CSR float32)
    """
    shape_sets, shape_vectors, _ = SHAPES["DsDe"]
    n_vectors = round(n_sets * shape_vectors / shape_sets) if n_vectors is None else n_vectors
    _check(n_sets, n_vectors, n_classes, n_features, words_per_vector)
    rng = np.random.default_rng(random_state)
    y = rng.permutation(np.arange(n_sets) % n_classes)
    sizes = _set_sizes(rng, n_sets, n_vectors)
    own = np.random.default_rng(problem).integers(
        n_features // 20, n_features, (n_classes, min(CLASS_WORDS, n_features))
    )
    X = _pages(rng, np.repeat(y, sizes), own, n_features, words_per_vector)
    return Bags(X, offsets_of(sizes)), y


def _check(n_sets: int, n_vectors: int, n_classes: int, n_features: int, words_per_vector: float) -> None:
    if n_classes < 2 or n_sets < n_classes:
        raise ValueError(f"There must be at least 2 classes and a set of each. Got {n_sets} sets, {n_classes} classes.")
    if n_vectors < n_sets:
        raise ValueError(f"Every set must hold at least one vector. Got {n_vectors} vectors for {n_sets} sets.")
    if not 1.0 <= words_per_vector <= n_features / 2:
        raise ValueError(
            f"words_per_vector must lie between 1 and half the {n_features} features. Got {words_per_vector}."
        )


def _set_sizes(rng: np.random.Generator, n_sets: int, n_vectors: int) -> Integers:
    """Return log-normal set sizes, each at least 1, with the wanted sum."""
    raw = rng.lognormal(mean=0.0, sigma=0.8, size=n_sets)
    sizes = 1 + np.floor(raw * (n_vectors - n_sets) / raw.sum()).astype(np.intp)
    np.add.at(sizes, rng.integers(0, n_sets, n_vectors - sizes.sum()), 1)
    return np.asarray(sizes, dtype=np.intp)


def _pages(
    rng: np.random.Generator, labels: Integers, own: Integers, n_features: int, words_per_vector: float
) -> sparse.csr_array:
    """Return one row of binary words a page; ``own`` holds the words of each class."""
    zipf = 1.0 / (np.arange(n_features) + 10.0)
    zipf /= zipf.sum()
    lengths = rng.poisson(_draws_for(zipf, words_per_vector), len(labels)).clip(1)
    page = np.repeat(np.arange(len(labels)), lengths)
    words = np.searchsorted(np.cumsum(zipf), rng.random(len(page))).clip(0, n_features - 1)
    telling = rng.random(len(labels)) < TELLING_PAGES
    from_class = telling[page] & (rng.random(len(page)) < CLASS_SHARE)
    chosen = rng.integers(0, own.shape[1], int(from_class.sum()))
    words[from_class] = own[labels[page[from_class]], chosen]
    # Sorting page and word as one number brings equal pairs together; each is kept once.
    # np.unique would hash them and take fifteen times as long.
    pairs = np.sort(page.astype(np.int64) * n_features + words)
    pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])]
    rows, cols = np.divmod(pairs, n_features)
    starts = offsets_of(np.bincount(rows, minlength=len(labels)))
    ones = np.ones(len(pairs), dtype=np.float32)
    return sparse.csr_array((ones, cols.astype(np.int32), starts.astype(np.int32)), shape=(len(labels), n_features))


def _draws_for(p: Array, wanted: float) -> float:
    """Return how many words to draw so that the mean number of different ones is as wanted."""
    low, high = wanted, 1e7
    for _ in range(60):
        middle = (low + high) / 2
        different = -np.expm1(-middle * p).sum()
        low, high = (middle, high) if different < wanted else (low, middle)
    return low
