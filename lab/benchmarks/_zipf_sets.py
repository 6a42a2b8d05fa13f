"""Sets of sparse words with the shape of the paper's mail, to time engines on: recorded figures refer to these sets.

The mail of ``setrbm.datasets.make_mail_like`` has more to learn and takes longer to generate.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._types import Array, Integers
from setrbm.bags import Bags, offsets_of

# Pieces of mail, pages and classes of the two collections, and their number of features.
SHAPES = {"DsDe": (14_593, 102_071, 11), "DsUs": (16_808, 160_372, 6)}
N_FEATURES = 10_083
# Words specific to each class, their share on pages that use them, and the share of such pages.
CLASS_WORDS = 60
CLASS_SHARE = 0.1
INFORMATIVE_PAGES = 0.25


def make_zipf_sets(
    n_sets: int = SHAPES["DsDe"][0],
    n_vectors: int | None = None,
    n_classes: int = SHAPES["DsDe"][2],
    n_features: int = N_FEATURES,
    words_per_vector: float = 80.0,
    random_state: int | None = None,
    problem: int = 0,
) -> tuple[Bags, npt.NDArray[np.int64]]:
    """Generate sets of sparse binary vectors: pieces of mail with pages of words.

    Set sizes are log-normal and words follow Zipf's law. Some pages of each set use words of its class more often, so
    that the class can be learned although most pages are not informative.

    Parameters
    ----------
    n_sets : int
    n_vectors : int, optional
        Total number of pages; by default as in the smaller collection of the paper (about 7 per set).
    n_classes, n_features : int
    words_per_vector : float
        The mean number of distinct words per page.
    random_state : int, optional
    problem : int
        Selects the words of the classes. Sets generated with different random states but the same problem come from the
        same distribution.

    Returns
    -------
    bags : Bags
        CSR, float32.
    y : ndarray of shape (n_sets,)
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
        raise ValueError(
            f"There must be at least 2 classes and one set of each. Got {n_sets} sets, {n_classes} classes."
        )
    if n_vectors < n_sets:
        raise ValueError(f"Every set must hold at least one vector. Got {n_vectors} vectors for {n_sets} sets.")
    if not 1.0 <= words_per_vector <= n_features / 2:
        raise ValueError(
            f"words_per_vector must lie between 1 and half the {n_features} features. Got {words_per_vector}."
        )


def _set_sizes(rng: np.random.Generator, n_sets: int, n_vectors: int) -> Integers:
    """Return log-normal set sizes, each at least 1, that sum to ``n_vectors``."""
    raw = rng.lognormal(mean=0.0, sigma=0.8, size=n_sets)
    sizes = 1 + np.floor(raw * (n_vectors - n_sets) / raw.sum()).astype(np.intp)
    np.add.at(sizes, rng.integers(0, n_sets, n_vectors - sizes.sum()), 1)
    return np.asarray(sizes, dtype=np.intp)


def _pages(
    rng: np.random.Generator, labels: Integers, own: Integers, n_features: int, words_per_vector: float
) -> sparse.csr_array:
    """Return one binary row of words per page; ``own`` holds the words of each class."""
    zipf = 1.0 / (np.arange(n_features) + 10.0)
    zipf /= zipf.sum()
    lengths = rng.poisson(_draws_for(zipf, words_per_vector), len(labels)).clip(1)
    page = np.repeat(np.arange(len(labels)), lengths)
    words = np.searchsorted(np.cumsum(zipf), rng.random(len(page))).clip(0, n_features - 1)
    informative = rng.random(len(labels)) < INFORMATIVE_PAGES
    from_class = informative[page] & (rng.random(len(page)) < CLASS_SHARE)
    chosen = rng.integers(0, own.shape[1], int(from_class.sum()))
    words[from_class] = own[labels[page[from_class]], chosen]
    # Pages and words are sorted as one number to drop duplicates; np.unique takes fifteen times as long.
    pairs = np.sort(page.astype(np.int64) * n_features + words)
    pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])]
    rows, cols = np.divmod(pairs, n_features)
    starts = offsets_of(np.bincount(rows, minlength=len(labels)))
    ones = np.ones(len(pairs), dtype=np.float32)
    return sparse.csr_array((ones, cols.astype(np.int32), starts.astype(np.int32)), shape=(len(labels), n_features))


def _draws_for(p: Array, wanted: float) -> float:
    """Return the number of words to draw for a wanted mean number of distinct words."""
    low, high = wanted, 1e7
    for _ in range(60):
        middle = (low + high) / 2
        different = -np.expm1(-middle * p).sum()
        low, high = (middle, high) if different < wanted else (low, middle)
    return low
