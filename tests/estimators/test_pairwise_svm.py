import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from setrbm.estimators.pairwise_svm import Calibration, PairwiseSVM


def problem(n_classes, seed, n=40):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 3)), np.arange(n) % n_classes
    X[:, 0] += 0.7 * y
    return X, y, rng.normal(size=(25, 3)) * 2.0


def kernel(A, B):
    return np.exp(-0.3 * ((A[:, np.newaxis] - B) ** 2).sum(axis=2))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_decisions_and_classes_equal_those_of_svc(n_classes, seed):
    X, y, new = problem(n_classes, seed)
    svc = SVC(kernel="precomputed", C=3.0).fit(kernel(X, X), y)
    rows, svm = kernel(new, X), PairwiseSVM.of(svc)
    decisions = svm.decisions(rows[:, svc.support_], n_classes)
    np.testing.assert_allclose(decisions, svc.decision_function(rows), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(svm.winners(rows[:, svc.support_], n_classes), svc.predict(rows))
    ovo = svc.set_params(decision_function_shape="ovo").decision_function(rows).reshape(len(new), -1)
    sign = -1.0 if n_classes == 2 else 1.0
    np.testing.assert_allclose(svm.pairwise(rows[:, svc.support_]), sign * ovo, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_projection_is_applied_to_rows_of_all_training_sets(n_classes):
    X, y, new = problem(n_classes, 0)
    values, vectors = np.linalg.eigh(kernel(X, X))
    kept = vectors[:, -10:]
    svc = SVC(kernel="precomputed").fit((kept * values[-10:]) @ kept.T, y)
    rows = kernel(new, X)
    decisions = PairwiseSVM.of(svc, kept @ kept.T).decisions(rows, n_classes)
    np.testing.assert_allclose(decisions, svc.decision_function(rows @ kept @ kept.T), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_undecided_pairs_go_to_the_class_that_svc_takes(n_classes):
    n_pairs = n_classes * (n_classes - 1) // 2
    svm = PairwiseSVM(np.zeros((1, n_pairs)), np.zeros(n_pairs))
    svc = SVC(kernel="precomputed").fit(np.zeros((2 * n_classes, 2 * n_classes)), np.arange(2 * n_classes) % n_classes)
    assert (svc.intercept_ == 0).all()
    rows = np.zeros((1, 2 * n_classes))
    assert svm.winners(rows[:, :1], n_classes) == svc.predict(rows)
    np.testing.assert_array_equal(svm.decisions(rows[:, :1], n_classes), svc.decision_function(rows))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_equal_those_of_logistic_regression(n_classes):
    rng = np.random.default_rng(n_classes)
    y = np.arange(60) % n_classes
    decisions = rng.normal(size=(60, 1 if n_classes == 2 else n_classes)) + y[:, np.newaxis]
    regression = LogisticRegression().fit(decisions, y)
    given = decisions[:, 0] if n_classes == 2 else decisions
    p = Calibration.of(regression).probabilities(given)
    np.testing.assert_allclose(p, regression.predict_proba(decisions), rtol=1e-12)
