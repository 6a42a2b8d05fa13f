import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from setrbm import Bags, ClassRBM
from setrbm.estimators import InputPooling

BY_HAND = {
    "max": lambda X: X.max(axis=0),
    "min": lambda X: X.min(axis=0),
    "mean": lambda X: X.mean(axis=0),
    "sum": lambda X: X.sum(axis=0),
    "std": lambda X: X.std(axis=0),
    "logsumexp": lambda X: logsumexp(X, axis=0),
    "size": lambda X: [len(X)],
}


def some_sets(dtype=np.float64, low=-1.0):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, 30)
    X = rng.uniform(low, 2.0, (sizes.sum(), 7)) * (rng.random((sizes.sum(), 7)) < 0.5)
    # A feature that is never stored, and one that always is.
    X[:, 3], X[:, 4] = 0.0, rng.uniform(-3.0, -1.0, len(X))
    return Bags(X.astype(dtype), np.concatenate([[0], np.cumsum(sizes)]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("statistic", BY_HAND)
def test_each_statistic_equals_numpy_s_of_every_set(statistic, is_sparse, dtype):
    bags = some_sets(dtype)
    given = Bags(sparse.csr_array(bags.X), bags.offsets) if is_sparse else bags
    pooled = InputPooling([statistic]).fit_transform(given)
    assert pooled.dtype == dtype
    assert sparse.issparse(pooled) == (is_sparse and statistic != "logsumexp")
    dense = pooled.toarray() if sparse.issparse(pooled) else pooled
    np.testing.assert_allclose(dense, [BY_HAND[statistic](X) for X in bags], rtol=0, atol=1e-6)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_statistics_are_concatenated_in_order_with_their_names(is_sparse):
    bags = some_sets()
    names = list("abcdefg")
    bags = Bags(sparse.csr_array(bags.X) if is_sparse else bags.X, bags.offsets, feature_names=names)
    pooling = InputPooling(["mean", "size", "max"]).fit(bags)
    pooled = pooling.transform(bags)
    pooled = pooled.toarray() if is_sparse else pooled
    columns = list(pooling.get_feature_names_out())
    assert columns == [f"mean_{n}" for n in names] + ["size"] + [f"max_{n}" for n in names]
    X = bags[2].toarray() if is_sparse else bags[2]
    assert pooled[2, columns.index("max_b")] == X[:, 1].max()
    assert pooled[2, columns.index("size")] == len(X)


def test_far_from_the_origin_the_standard_deviation_keeps_its_digits():
    bags = some_sets()
    away = bags.with_vectors(bags.X + 1e6)
    np.testing.assert_allclose(
        InputPooling("std").fit_transform(away), InputPooling("std").fit_transform(bags), rtol=0, atol=1e-9
    )


def test_sets_without_a_stored_value_are_zeros():
    empty = Bags(sparse.csr_array((4, 3)), [0, 1, 4])
    assert InputPooling(["max", "std"]).fit_transform(empty).toarray().tolist() == [[0.0] * 6] * 2


@pytest.mark.parametrize("model", [ClassRBM(random_state=0), SVC()])
def test_classifiers_of_vectors_can_follow(model):
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 4, 3)), np.arange(60) % 2
    X[y == 1, 2, 1] += 1.0
    assert make_pipeline(InputPooling(), model).fit(X, y).score(X, y) > 0.9


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="statistics must be some of 'max', .* Got 'median'"):
        InputPooling(["max", "median"]).fit(some_sets())
    with pytest.raises(ValueError, match="statistics must be some of .* Got none"):
        InputPooling([]).fit(some_sets())
    with pytest.raises(ValueError, match="X has 3 features, but InputPooling is expecting 7"):
        InputPooling().fit(some_sets()).transform(np.ones((2, 3)))


@pytest.mark.parametrize("statistics", [None, list(BY_HAND)])
def test_sparse_sets_give_the_same_matrix_as_dense_ones(statistics):
    rng = np.random.default_rng(0)
    settings = {} if statistics is None else {"statistics": statistics}
    for _ in range(20):
        sizes = rng.integers(1, 5, 8)
        X = np.round(rng.normal(0, 1.2, (sizes.sum(), 5)))
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        dense = InputPooling(**settings).fit_transform(Bags(X, offsets))
        pooled = InputPooling(**settings).fit_transform(Bags(sparse.csr_array(X), offsets))
        pooled = pooled.toarray() if sparse.issparse(pooled) else pooled
        np.testing.assert_allclose(pooled, dense, atol=1e-12)


def test_scikit_learn_s_linear_svm_takes_pooled_sparse_sets():
    bags = Bags.from_list([sparse.random_array((3, 8), density=0.4, random_state=k, format="csr") for k in range(20)])
    pooled = InputPooling(["max", "mean"]).fit_transform(bags)
    assert pooled.indices.dtype == pooled.indptr.dtype == np.int32
    LinearSVC().fit(pooled, np.arange(20) % 2)
