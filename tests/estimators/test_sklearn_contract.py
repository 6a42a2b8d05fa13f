"""scikit-learn's own checks on the plain-matrix path, and its tools on bags."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV
from setrbm.datasets import load_musk1
from setrbm.estimators import InputPooling, MaxOutClassifier, MaxOutClassifierCV, PerVector, SetSVC, SetSVCCV
from setrbm.selective import RejectOption

# What a few sets can show.
MODEST = {"precision": 0.3, "confidence": 0.5, "random_state": 0}
STOCHASTIC = "steps are stochastic: a weight changes one step, a repeated set makes two"
LIBSVM = "libsvm ends near the optimum, not at it: scikit-learn expects the same failure of its own SVC"


REFIT = "weights are compared with cv, which needs refit=True: every split has its own model without it"


def expected_failures(estimator):
    reason = STOCHASTIC if hasattr(estimator, "n_hidden") else None
    if isinstance(estimator, SetSVC | SetSVCCV):
        reason = LIBSVM
    if isinstance(estimator, MaxOutClassifierCV):
        reason = REFIT
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(checks, reason) if reason else {}


@parametrize_with_checks(
    [
        ClassSetRBM(n_hidden=20),
        ClassSetRBM(n_hidden=20, constraint="or", pooling="soft", objective="hybrid"),
        ClassSetRBM(n_hidden=20, pooling="mean"),
        ClassRBM(n_hidden=20),
        ClassSetRBMCV(n_hidden=10, learning_rate=(0.03, 0.1), init_scale=0.3, max_epochs=60),
        SetSVC(),
        SetSVC("max", spectrum="clip", probability=True),
        SetSVCCV(C=(1.0, 10.0), gamma_factors=(1.0, 2.0)),
        InputPooling(),
        MaxOutClassifier(n_hidden=10),
        MaxOutClassifier("logit"),
        MaxOutClassifierCV("logit", learning_rate=(0.1, 0.3), init_scale=0.3, weight_decay=0.0, max_epochs=60),
        RejectOption(LogisticRegression(), **MODEST),
        RejectOption(GaussianNB(), sureness="margin", per_class=True, **MODEST),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore:A data frame was passed to", "ignore:No tested threshold keeps")
def test_estimators_keep_the_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def musk():
    return load_musk1()


FAST = ClassSetRBM(n_hidden=20, max_epochs=40, random_state=0)


def test_cross_validation_never_splits_a_set_and_scores_well(musk):
    bags, y = musk
    predicted = cross_val_predict(FAST, bags, y, cv=StratifiedKFold(4, shuffle=True, random_state=0))
    assert (predicted == y).mean() > 0.7


def test_a_grid_over_a_pipeline_on_bags(musk):
    bags, y = musk
    pipeline = make_pipeline(PerVector(StandardScaler()), clone(FAST).set_params(scale=None))
    grid = GridSearchCV(pipeline, {"classsetrbm__learning_rate": [1e-6, 0.03]}, cv=3).fit(bags, y)
    assert grid.best_params_ == {"classsetrbm__learning_rate": 0.03}
    assert grid.predict(bags[:5]).shape == (5,)


def test_grids_give_the_same_in_two_processes(musk):
    bags, y = musk
    scores = [cross_val_score(FAST, bags, y, cv=3, n_jobs=n_jobs) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(scores[0], scores[1])


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_on_bags(musk, method):
    bags, y = musk
    model = CalibratedClassifierCV(FAST, method=method, cv=3).fit(bags, y)
    p = model.predict_proba(bags)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (model.predict(bags) == y).mean() > 0.8


def test_voting_on_bags(musk):
    bags, y = musk
    voters = [("xor", FAST), ("or", clone(FAST).set_params(constraint="or"))]
    model = VotingClassifier(voters, voting="soft").fit(bags, y)
    expected = np.mean([clone(voter).fit(bags, y).predict_proba(bags) for _, voter in voters], axis=0)
    np.testing.assert_allclose(model.predict_proba(bags), expected, rtol=1e-12)


def test_pooled_activations_feed_any_classifier(musk):
    bags, y = musk
    model = make_pipeline(FAST, StandardScaler(), LogisticRegression()).fit(bags, y)
    assert model.score(bags, y) > 0.9
    assert FAST.fit(bags, y).get_feature_names_out()[:2].tolist() == ["classsetrbm0", "classsetrbm1"]


def test_per_vector_is_fitted_on_the_training_vectors_only(musk):
    bags, _ = musk
    lifted = PerVector(StandardScaler()).fit(bags[:40])
    np.testing.assert_array_equal(lifted.transformer_.mean_, bags[:40].X.mean(axis=0))
    np.testing.assert_array_equal(lifted.transform(bags).X, lifted.transformer_.transform(bags.X))
    assert (lifted.transform(bags).offsets == bags.offsets).all()


def test_per_vector_can_fill_in_missing_values():
    X = np.array([[1.0, np.nan], [3.0, 4.0]])
    bags = PerVector(SimpleImputer()).fit_transform(Bags(X, [0, 2]))
    assert bags.X.tolist() == [[1.0, 4.0], [3.0, 4.0]]


def test_per_vector_names_its_features_and_checks_their_number():
    bags = Bags(np.random.default_rng(0).random((4, 2)), [0, 2, 4], feature_names=["left", "right"])
    lifted = PerVector(StandardScaler()).fit(bags)
    assert list(lifted.transform(bags).feature_names) == ["left", "right"]
    assert list(lifted.get_feature_names_out()) == ["left", "right"]
    with pytest.raises(ValueError, match="X has 3 features, but PerVector is expecting 2"):
        lifted.transform(Bags(np.ones((2, 3)), [0, 2]))


def test_clones_and_settings_go_both_ways():
    model = ClassSetRBMCV(learning_rate=[0.1, 0.2], refit=False)
    assert clone(model).get_params() == model.get_params()
    assert ClassSetRBM().set_params(constraint="or").constraint == "or"


def test_per_vector_gives_bags_whatever_output_scikit_learn_is_set_to(musk):
    with config_context(transform_output="pandas"):
        lifted = PerVector(StandardScaler()).fit_transform(musk[0])
    assert isinstance(lifted, Bags)
