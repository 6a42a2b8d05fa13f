import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from setrbm import Bags, kernels
from setrbm.kernels import median_distance, set_kernel, vector_weights

KERNELS = ["migraph", "migraph2", "max"]
GAMMA, THRESHOLD = 0.7, 1.1


def definition(X, Y, kernel):
    """The kernel between two sets, from the definitions in the notes."""
    k = np.exp(-GAMMA * cdist(X, Y, "sqeuclidean"))
    if kernel == "max":
        return (k.max(axis=1).mean() + k.max(axis=0).mean()) / 2
    w, v = (weights_by_definition(S, None if kernel == "migraph" else THRESHOLD) for S in (X, Y))
    return w @ k @ v / (w.sum() * v.sum())


def weights_by_definition(X, threshold):
    if len(X) == 1:
        return np.ones(1)
    distances = cdist(X, X)
    sigma = distances.sum() / (len(X) * (len(X) - 1)) if threshold is None else threshold
    return np.array([1 / max(1, (row < sigma * (1 - 1e-12)).sum()) for row in distances])


def some_sets(seed, sizes, n_features=6, density=0.6):
    rng = np.random.default_rng(seed)
    return [rng.random((n, n_features)) * (rng.random((n, n_features)) < density) for n in sizes]


# Sets of one, of equal vectors, of two, and one larger than a block in both directions.
SIZES = [1, 3, 2, 1, 7, 1000, 4]


@pytest.fixture(scope="module")
def sets():
    made = some_sets(0, SIZES)
    made[1][:] = made[1][0]
    return made


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_each_kernel_equals_its_definition(sets, kernel, is_sparse):
    other = some_sets(1, [2, 1, 5])
    bags, others = (
        Bags(sparse.csr_array(b.X), b.offsets) if is_sparse else b for b in map(Bags.from_list, (sets, other))
    )
    expected = np.array([[definition(X, Y, kernel) for Y in sets] for X in sets])
    K = set_kernel(bags, kernel=kernel, gamma=GAMMA, threshold=THRESHOLD)
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(K, K.T)
    expected = np.array([[definition(X, Y, kernel) for Y in sets] for X in other])
    K = set_kernel(others, bags, kernel=kernel, gamma=GAMMA, threshold=THRESHOLD)
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS)
def test_small_blocks_and_several_threads_change_nothing(sets, kernel, monkeypatch):
    bags = Bags.from_list(sets)
    settings = {"kernel": kernel, "gamma": GAMMA, "threshold": THRESHOLD}
    whole = set_kernel(bags, n_jobs=1, **settings)
    monkeypatch.setattr(kernels, "ROWS", 3)
    monkeypatch.setattr(kernels, "COLUMNS", 5)
    np.testing.assert_allclose(set_kernel(bags, n_jobs=3, **settings), whole, rtol=0, atol=1e-12)
    np.testing.assert_allclose(set_kernel(bags, bags[:], n_jobs=2, **settings), whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_float32_is_near_float64_even_far_from_the_origin(kernel):
    sets = some_sets(2, [3, 1, 6, 2])
    double = Bags.from_list(sets)
    single = Bags.from_list([s.astype(np.float32) for s in sets])
    settings = {"kernel": kernel, "gamma": GAMMA, "threshold": THRESHOLD}
    expected = set_kernel(double, **settings)
    np.testing.assert_allclose(set_kernel(single, **settings), expected, rtol=0, atol=1e-5)
    away = double.with_vectors(double.X + 1000.0)
    np.testing.assert_allclose(set_kernel(away, **settings), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", ["migraph", "migraph2"])
def test_migraph_kernels_are_positive_semi_definite(kernel):
    K = set_kernel(some_sets(3, np.random.default_rng(0).integers(1, 8, 40)), kernel=kernel, gamma=5.0, threshold=0.5)
    assert np.linalg.eigvalsh(K).min() > -1e-10


def test_the_local_kernel_of_a_set_with_itself_is_one_and_need_not_be_positive_semi_definite():
    rng = np.random.default_rng(1)
    K = set_kernel([rng.normal(size=(n, 2)) for n in rng.integers(1, 30, 60)], kernel="max", gamma=0.5)
    np.testing.assert_allclose(np.diag(K), 1.0, rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() < -1e-3


def test_weights_count_the_neighbors_closer_than_the_mean_distance():
    # Two near each other and one far: mean distance 2/3 of the far one, so the two share a neighborhood.
    bags = Bags.from_list([[[0.0], [0.1], [9.0]], [[5.0]], [[1.0], [1.0]], [[0.0], [4.0]]])
    np.testing.assert_allclose(vector_weights(bags), [0.25, 0.25, 0.5, 1.0, 0.5, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(vector_weights(bags, threshold=20.0)[:3], [1 / 3] * 3)


def test_equal_distances_are_not_distinguished_by_rounding():
    corners = Bags(np.concatenate([np.eye(7), np.eye(7)[:3]]), [0, 7, 10])
    np.testing.assert_allclose(vector_weights(corners), np.repeat([1 / 7, 1 / 3], [7, 3]))


def test_the_median_distance_is_that_of_the_vectors():
    X = np.random.default_rng(0).normal(size=(400, 5))
    expected = np.median(cdist(X, X)[np.triu_indices(400, 1)])
    for data in (X, sparse.csr_array(X)):
        assert median_distance(Bags.from_rows(data)) == pytest.approx(expected, rel=0.03)
    assert median_distance(Bags.from_rows(np.ones((5, 2)))) == 0.0
    assert set_kernel(Bags.from_rows(np.ones((5, 2)))).tolist() == np.ones((5, 5)).tolist()


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf, "mean", None])
def test_an_invalid_gamma_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma must be a positive number or 'median'. Got"):
        set_kernel(some_sets(0, [1, 2]), gamma=gamma)


def test_other_bad_input_is_refused():
    with pytest.raises(ValueError, match="kernel must be one of 'migraph', 'migraph2', 'max'. Got 'rbf'"):
        set_kernel(some_sets(0, [1, 2]), kernel="rbf")
    with pytest.raises(ValueError, match="threshold must be a positive number or 'median'. Got -1"):
        set_kernel(some_sets(0, [1, 2]), kernel="migraph2", threshold=-1)
    with pytest.raises(ValueError, match="the first NaN in the set at index 1, vector 0, feature 0"):
        set_kernel([[[1.0]], [[np.nan]]])
    with pytest.raises(ValueError, match="leave the squares of all values finite"):
        set_kernel([[[1e200]], [[1.0]]], gamma=1.0)


def test_a_kernel_beyond_the_memory_limit_is_refused_before_it_is_computed():
    many = Bags.from_rows(np.zeros((50_000, 1)))
    with pytest.raises(ValueError, match=r"50,000 x 50,000 sets needs 19,074 MiB.*Got memory_mib=1024. Raise it"):
        set_kernel(many, gamma=1.0)


@pytest.mark.parametrize("memory", [0.0, -1.0, np.nan, "much"])
def test_an_invalid_memory_limit_is_refused(memory):
    with pytest.raises(ValueError, match="memory_mib must be a positive number. Got"):
        set_kernel(some_sets(0, [1, 2]), gamma=1.0, memory_mib=memory)


def test_the_memory_limit_includes_copies_and_is_checked_before_the_weights(monkeypatch):
    one_large = Bags(np.random.default_rng(0).random((3000, 4)), [0, 1500, 3000])
    monkeypatch.setattr(kernels, "vector_weights", lambda *_: pytest.fail("weights were made before the budget"))
    with pytest.raises(ValueError, match="Got memory_mib=1"):
        set_kernel(one_large, gamma=1.0, memory_mib=1.0)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("offset", "dtype"), [(1e3, np.float32), (1e5, np.float32), (1e8, np.float64)])
def test_sets_far_from_the_origin_have_the_kernel_of_sets_near_it(kernel, offset, dtype):
    near, other = (Bags.from_list(some_sets(*which)) for which in ((0, [3, 1, 5, 20]), (1, [2, 4])))
    # Steps that are exact in the type, so that only the kernel itself can lose digits.
    step = 2.0 ** np.ceil(np.log2(offset * np.finfo(dtype).eps) + 1)
    near, other = (bags.with_vectors(np.round(bags.X / step) * step) for bags in (near, other))
    far, other_far = (bags.with_vectors((bags.X + offset).astype(dtype)) for bags in (near, other))
    for bags, further in (((near, None), (far, None)), ((other, near), (other_far, far))):
        expected = set_kernel(*bags, kernel=kernel, gamma=0.3, threshold=1.0)
        np.testing.assert_allclose(set_kernel(*further, kernel=kernel, gamma=0.3, threshold=1.0), expected, atol=1e-4)


def test_one_far_vector_neither_overflows_nor_blurs_the_others():
    X = np.random.default_rng(0).random((40, 3)).astype(np.float32)
    X[7] = 1e6
    bags = Bags(X, np.arange(0, 41, 4))
    expected = set_kernel(bags.with_vectors(X.astype(np.float64)), kernel="max", gamma=1.0)
    got = set_kernel(bags, kernel="max", gamma=1.0)
    assert got.max() <= 1.0 + 1e-6
    np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("left_sparse", "right_sparse"), [(True, False), (False, True)])
def test_dense_sets_can_be_compared_with_sparse_ones(kernel, left_sparse, right_sparse):
    def given(bags, is_sparse):
        return Bags(sparse.csr_array(bags.X), bags.offsets) if is_sparse else bags

    A, B = (Bags.from_list(some_sets(*which)) for which in ((0, [3, 1, 5]), (1, [2, 4])))
    settings = {"kernel": kernel, "gamma": GAMMA, "threshold": THRESHOLD}
    mixed = set_kernel(given(A, left_sparse), given(B, right_sparse), **settings)
    np.testing.assert_allclose(mixed, set_kernel(A, B, **settings), rtol=0, atol=1e-12)
