import numpy as np
import pytest
from scipy import sparse

from setrbm import Bags, ClassSetRBM
from setrbm.estimators import SetSVC, SetSVCCV
from setrbm.scaling import PIECE, Scaling, feature_range


def bags_of(X):
    return Bags(X, [0, X.shape[0]])


def test_dense_features_go_to_zero_and_one_and_later_values_are_clipped():
    X = np.array([[-2.0, 5.0], [2.0, 5.0], [0.0, 5.0]])
    scaling = Scaling.fit(bags_of(X))
    np.testing.assert_array_equal(scaling.apply(bags_of(X)).X, [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
    # Beyond the range is clipped; a feature that was constant stays silent whatever comes.
    np.testing.assert_array_equal(
        scaling.apply(bags_of(np.array([[9.0, 7.0], [-9.0, 1.0]]))).X, [[1.0, 0.0], [0.0, 0.0]]
    )
    np.testing.assert_array_equal(scaling.undo(np.array([[0.5, 0.0]])), [[0.0, 5.0]])


def test_sparse_features_are_divided_by_their_largest_absolute_value_clipped_and_unseen_ones_dropped():
    X = sparse.csr_array(np.array([[4.0, 0.0, -1.0], [-8.0, 0.0, 0.5]]))
    scaling = Scaling.fit(bags_of(X))
    np.testing.assert_array_equal(scaling.apply(bags_of(X)).X.toarray(), [[0.5, 0.0, -1.0], [-1.0, 0.0, 0.5]])
    later = sparse.csr_array(np.array([[80.0, 3.0, -7.0]]))
    np.testing.assert_array_equal(scaling.apply(bags_of(later)).X.toarray(), [[1.0, 0.0, -1.0]])


def test_sparse_data_already_in_range_are_not_copied():
    X = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]]))
    bags = bags_of(X)
    assert Scaling.fit(bags).apply(bags) is bags


def test_scaling_fitted_on_dense_data_scales_sparse_data_the_same():
    X = np.array([[-2.0, 0.0], [2.0, 4.0]])
    scaling = Scaling.fit(bags_of(X))
    sparse_result = scaling.apply(bags_of(sparse.csr_array(X))).X
    np.testing.assert_array_equal(sparse_result, scaling.apply(bags_of(X)).X)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_predictions_explanations_and_samples_use_the_units_of_the_data(is_sparse):
    rng = np.random.default_rng(0)
    X = rng.random((40, 3)) * (rng.random((40, 3)) < 0.7)
    offsets, y = np.arange(0, 41, 2), np.arange(20) % 2
    wrap = (lambda m: Bags(sparse.csr_array(m), offsets)) if is_sparse else (lambda m: Bags(m, offsets))
    settings = {"n_hidden": 5, "objective": "hybrid", "max_epochs": 3, "random_state": 0}
    raw, scaled = ClassSetRBM(**settings).fit(wrap(50 * X), y), ClassSetRBM(**settings).fit(wrap(X), y)
    np.testing.assert_allclose(raw.predict_proba(wrap(50 * X)), scaled.predict_proba(wrap(X)), rtol=1e-9)
    np.testing.assert_allclose(raw.explain(wrap(50 * X)).drop, scaled.explain(wrap(X)).drop, rtol=0, atol=1e-9)
    drawn = [model.sample([3, 3], random_state=0)[0].X for model in (raw, scaled)]
    np.testing.assert_allclose(drawn[0], 50 * drawn[1], rtol=1e-9)


@pytest.mark.parametrize("at", [0, PIECE - 1, PIECE, 2 * PIECE + 2])
def test_every_stored_value_counts_in_the_range_of_sparse_data(at):
    n = 2 * PIECE + 3
    data = np.ones(n, dtype=np.float32)
    data[at] = -7.0
    X = sparse.csr_array((data, np.arange(n, dtype=np.int32) % 3, np.arange(0, n + 1, 1, dtype=np.int32)), shape=(n, 3))
    low, high = feature_range(bags_of(X))
    assert low.tolist() == [0.0] * 3
    assert high.tolist() == [7.0 if column == at % 3 else 1.0 for column in range(3)]


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "estimator", [ClassSetRBM(3, max_epochs=1, random_state=0), SetSVC(), SetSVCCV(C=1.0)], ids=repr
)
def test_values_outside_the_training_range_and_larger_sets_are_counted(estimator, is_sparse, dtype):
    rng = np.random.default_rng(0)
    X = (rng.random((40, 3, 4)) * 7 + 0.1).astype(dtype)
    X[:, :, 3] = 0.0

    def bags(arrays):
        return Bags.from_list([sparse.csr_array(a) for a in arrays] if is_sparse else arrays)

    model = estimator.fit(bags(list(X)), np.arange(40) % 2)
    seen = model.check_range(bags(list(X)))
    assert (seen.n_sets, seen.n_values_outside, seen.n_sets_outside, seen.n_larger_sets) == (40, 0, 0, 0)
    assert seen.largest_set == 3
    assert "by_feature" not in repr(seen)
    new = [X[0].copy(), np.vstack([X[1], X[2]]), X[3].copy()]
    new[0][0, 0], new[0][2, 1], new[2][1, 3] = 99.0, -99.0, 0.5
    found = model.check_range(bags(new))
    assert (found.n_sets, found.n_values_outside, found.n_sets_outside, found.n_larger_sets) == (3, 3, 2, 1)
    assert found.by_feature.tolist() == [1, 1, 0, 1]
    assert found.n_values == (sum(np.count_nonzero(a) for a in new) if is_sparse else 12 * 4)


def test_sparse_sets_are_checked_by_a_range_of_dense_ones():
    X = np.array([[[1.0, 2.0]], [[2.0, 3.0]]] * 5)
    model = ClassSetRBM(3, max_epochs=1, random_state=0).fit(X, [0, 1] * 5)
    # A zero that is not stored is a value too, here below the range.
    assert model.check_range([sparse.csr_array([[1.5, 0.0]])]).by_feature.tolist() == [0, 1]


@pytest.mark.parametrize(
    "estimator", [ClassSetRBM(3, max_epochs=1, scale=None, random_state=0), SetSVC(scale=None)], ids=repr
)
def test_without_scaling_there_is_no_range(estimator):
    model = estimator.fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="check_range needs scale='auto', which keeps the range of each feature"):
        model.check_range(np.eye(4))


@pytest.mark.parametrize("types", [("float32", "float64"), ("float64", "float32")])
def test_the_training_data_in_another_float_type_are_inside_their_range(types):
    X = 1000.0 + np.random.default_rng(0).random((100, 3, 5))
    model = ClassSetRBM(3, max_epochs=1, random_state=0).fit(X.astype(types[0]), np.arange(100) % 2)
    assert model.check_range(X.astype(types[0]).astype(types[1])).n_values_outside == 0
