"""Curves of test folds: precision at given recalls, and the file beside the results."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from setrbm.selective import selective_curve
from setrbm_lab import results
from setrbm_lab.curves import RECALLS, Curve, curves_path, measure, precision_at

KEY = ("data", "system", 0, 1)


class Fixed(ClassifierMixin, BaseEstimator):
    """Gives the scores of the classes "a" and "b" that it is asked about, as probabilities or as decisions."""

    classes_ = np.array(["a", "b"])

    def __init__(self, as_probabilities=True):
        if as_probabilities:
            self.predict_proba = lambda X: np.column_stack([1.0 - X, X])
        self.decision_function = lambda X: 2.0 * X - 1.0


P, TRUTH = np.array([0.9, 0.2, 0.6, 0.45]), np.array(["b", "a", "a", "b"])


def test_a_curve_has_the_precision_at_each_recall_until_the_last_one_reached():
    curve = measure(KEY, Fixed(), P, TRUTH)
    # The two surest predictions are right, the others wrong: recall ends at 1/2, with precisions 1, 1, 2/3 and 1/2.
    reached = RECALLS <= 0.5
    np.testing.assert_array_equal(curve.precisions[reached], 1.0)
    assert np.isnan(curve.precisions[~reached]).all()
    assert (curve.key, curve.area, curve.measured) == (KEY, 0.5, "{}")


def test_wrong_predictions_that_are_sure_lower_the_precision_at_every_recall():
    curve = selective_curve([0, 1, 1, 1], [1, 1, 1, 0], [0.9, 0.8, 0.7, 0.6])
    got = precision_at(curve, np.array([0.0, 0.25, 0.26, 0.5, 0.51]))
    np.testing.assert_allclose(got, [0.0, 1 / 2, 2 / 3, 2 / 3, np.nan], rtol=1e-12)


@pytest.mark.parametrize("n", [10, 50, 98])
def test_a_recall_counts_as_reached_whatever_the_rounding(n):
    """Every second prediction is wrong, so that k right ones are reached with 2 k - 1. 3 * (1 / 10) is not 3 / 10."""
    curve = selective_curve([1] * n, [1, 0] * (n // 2), -np.arange(n))
    k = np.arange(1, n // 2 + 1)
    np.testing.assert_allclose(precision_at(curve, k * (1.0 / n)), k / (2 * k - 1), rtol=1e-12)


def test_without_probabilities_the_margin_orders_the_predictions():
    with_p, without = (measure(KEY, Fixed(flag), P, TRUTH) for flag in (True, False))
    assert (with_p.area, with_p.precision) == (without.area, without.precision)


def test_what_a_system_measured_is_recorded():
    model = Fixed()
    model.measured_ = {"seconds": [1.5, 2]}
    assert measure(KEY, model, P, TRUTH).measured == '{"seconds": [1.5, 2]}'


def test_curves_are_read_as_they_were_written_and_refused_if_damaged(tmp_path):
    path = curves_path(tmp_path / "table2.csv")
    assert path.name == "table2-curves.csv"
    curve = measure(KEY, Fixed(), P, TRUTH)
    writer = results.RowWriter(path, Curve)
    writer.add([curve])
    assert results.read_rows(path, Curve) == [curve]
    writer.add([Curve(*KEY, 0.1, 0.5, "1.0 0.5", "{}")])
    with pytest.raises(ValueError, match=r"Line 3 of .* must have a precision at each of 51 recalls. Got 2\."):
        results.read_rows(path, Curve)
    with pytest.raises(ValueError, match=r"must be a results file with the columns format, dataset, .*, seconds. Got"):
        results.read(path)


class ThreeClasses(ClassifierMixin, BaseEstimator):
    """Probabilities of three classes as given; the order by probability differs from that by margin."""

    classes_ = np.array([0, 1, 2])

    def predict_proba(self, X):
        return np.asarray(X)


def test_predictions_are_ranked_by_probability_where_there_is_one():
    # The second is less probable than the first, but further ahead of the next class.
    P = [[0.52, 0.47, 0.01], [0.5, 0.25, 0.25]]
    assert measure(KEY, ThreeClasses(), P, np.array([0, 1])).area == pytest.approx(0.5)
    assert measure(KEY, ThreeClasses(), P, np.array([1, 0])).area == pytest.approx(0.25)
