import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from setrbm import Bags
from setrbm.estimators import SetSVC, SetSVCCV
from setrbm.kernels import set_kernel
from setrbm.scaling import Scaling

KERNELS = ["migraph", "migraph2", "max"]


def some_sets(seed=0, n_sets=60, n_classes=2):
    """Sets whose class is the corner that one of their vectors is near."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_sets)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X, y = rng.random((offsets[-1], 3)) * 5.0, np.arange(n_sets) % n_classes
    X[offsets[:-1]] = 20.0 * y[:, np.newaxis] + rng.random((n_sets, 3))
    return Bags(X, offsets), y


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", KERNELS)
def test_it_learns_and_has_probabilities(kernel, n_classes):
    bags, y = some_sets(n_classes=n_classes)
    labels = np.array(["a", "b", "c", "d"])[y]
    model = SetSVC(kernel, C=10.0, probability=True, random_state=0).fit(bags, labels)
    new, truth = some_sets(1, n_classes=n_classes)
    truth = np.array(["a", "b", "c", "d"])[truth]
    assert model.score(new, truth) > 0.9
    p = model.predict_proba(new)
    assert p.shape == (60, n_classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (model.classes_[p.argmax(axis=1)] == truth).mean() > 0.9
    assert model.decision_function(new).shape == ((60,) if n_classes == 2 else (60, n_classes))


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_equals_svc_on_the_kernel_of_the_scaled_sets(kernel):
    bags, y = some_sets()
    new, _ = some_sets(1)
    model = SetSVC(kernel, C=3.0, gamma=0.8, threshold=0.4).fit(bags, y)
    scaling = Scaling.fit(bags)
    scaled, scaled_new = scaling.apply(bags), scaling.apply(new)
    settings = {"kernel": kernel, "gamma": 0.8, "threshold": 0.4}
    machine = SVC(kernel="precomputed", C=3.0).fit(set_kernel(scaled, **settings), y)
    expected = machine.decision_function(set_kernel(scaled_new, scaled, **settings))
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=0, atol=1e-10)
    # Only the sets that carry the decision are kept.
    assert model.side_.n_sets == len(model.support_) < 60


def test_an_indefinite_kernel_can_be_kept_or_clipped():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 30, 60)
    bags, y = Bags(rng.normal(size=(sizes.sum(), 2)), np.concatenate([[0], np.cumsum(sizes)])), np.arange(60) % 2
    settings = {"kernel": "max", "gamma": 0.5, "scale": None, "C": 100.0}
    kept, clipped = (SetSVC(spectrum=spectrum, **settings).fit(bags, y) for spectrum in ("keep", "clip"))
    assert np.isfinite(kept.decision_function(bags)).all()
    K = set_kernel(bags, kernel="max", gamma=0.5)
    values, vectors = np.linalg.eigh(K)
    assert values.min() < 0.0
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    # New sets are treated like those of the training: the same sets give the decisions of the clipped kernel.
    expected = SVC(kernel="precomputed", C=100.0).fit(positive, y).decision_function(positive)
    np.testing.assert_allclose(clipped.decision_function(bags), expected, rtol=0, atol=1e-6)


def test_scikit_learn_s_tools_work_on_it():
    bags, y = some_sets()
    grid = GridSearchCV(SetSVC(), {"C": [0.1, 10.0], "kernel": KERNELS}, cv=3).fit(bags, y)
    assert grid.best_score_ > 0.8
    calibrated = CalibratedClassifierCV(SetSVC(C=10.0), cv=3, ensemble=False).fit(bags, y)
    assert calibrated.predict_proba(bags).shape == (60, 2)
    assert clone(SetSVC("max", C=2.0)).get_params()["kernel"] == "max"


def test_class_weights_are_by_label_and_sample_weights_count():
    bags, y = some_sets()
    labels = np.array(["no", "yes"])[y]
    rng = np.random.default_rng(0)
    noise = bags.with_vectors(rng.random(bags.X.shape))
    plain = SetSVC(C=0.1).fit(noise, labels)
    heavy = SetSVC(C=0.1, class_weight={"yes": 20.0}).fit(noise, labels)
    assert (heavy.predict(noise) == "yes").mean() > (plain.predict(noise) == "yes").mean()
    weighted = SetSVC(C=0.1).fit(noise, labels, sample_weight=np.where(y == 1, 20.0, 1.0))
    np.testing.assert_allclose(weighted.decision_function(noise), heavy.decision_function(noise), atol=1e-6)


def test_bad_input_is_named_at_once():
    bags, y = some_sets()
    for settings, message in (
        ({"C": 0.0}, "C must be a positive number. Got 0.0"),
        ({"gamma": 0.0}, "gamma must be a positive number or 'median'. Got 0.0"),
        ({"kernel": "rbf"}, "kernel must be one of 'migraph', 'migraph2', 'max'. Got 'rbf'"),
        ({"spectrum": "flip"}, "spectrum must be one of 'keep', 'clip'. Got 'flip'"),
        ({"memory_mib": 1.0}, "60 x 60 sets needs 0 MiB, and each thread .* Got memory_mib=1. Raise it"),
    ):
        with pytest.raises(ValueError, match=message):
            SetSVC(**settings).fit(bags, y)
    with pytest.raises(ValueError, match="needs at least two sets of each class. Got 1"):
        SetSVC(probability=True).fit(bags[:5], [0, 0, 0, 0, 1])
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        SetSVC().fit(bags, y).predict_proba(bags)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_selection_equals_that_of_a_grid_search(kernel):
    bags, y = some_sets()
    y = np.where(np.random.default_rng(3).random(60) < 0.2, 1 - y, y)
    model = SetSVCCV(kernel, C=(0.1, 1.0, 100.0), gamma_factors=(0.5, 4.0), threshold_factors=(0.5, 1.0), scale=None)
    model.set_params(random_state=3).fit(bags, y)
    median = SetSVC(kernel, scale=None).fit(bags, y)
    grid = {"C": [0.1, 1.0, 100.0], "gamma": [f * median.gamma_ for f in (0.5, 4.0)]}
    if kernel == "migraph2":
        grid["threshold"] = [f * median.threshold_ for f in (0.5, 1.0)]
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    search = GridSearchCV(SetSVC(kernel, scale=None), grid, cv=folds).fit(bags, y)
    chosen = {"C": model.C_, "gamma": model.gamma_, "threshold": model.threshold_}
    assert {name: chosen[name] for name in grid} == search.best_params_
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], atol=1e-12)
    new, _ = some_sets(1)
    np.testing.assert_array_equal(model.decision_function(new), search.decision_function(new))
    again = SetSVC(kernel, scale=None, **chosen).fit(bags, y)
    np.testing.assert_array_equal(model.decision_function(new), again.decision_function(new))


def test_scores_are_weighted_within_each_split_and_over_all_sets():
    """With folds of different size and weight."""
    bags, y = some_sets(n_sets=47)
    rng = np.random.default_rng(3)
    y, weight = np.where(rng.random(47) < 0.2, 1 - y, y), rng.uniform(0.2, 3.0, 47)
    model = SetSVCCV(C=(0.1, 10.0), gamma_factors=(1.0,), folds=4, scale=None, random_state=3).fit(bags, y, weight)
    splits = list(StratifiedKFold(4, shuffle=True, random_state=3).split(y, y))
    results = model.cv_results_
    assert sum(name.startswith("split") for name in results) == 4
    for k, (train, test) in enumerate(splits):
        apart = [SetSVC(scale=None, **params).fit(bags[train], y[train], weight[train]) for params in results["params"]]
        expected = [one.score(bags[test], y[test], weight[test]) for one in apart]
        np.testing.assert_allclose(results[f"split{k}_test_score"], expected, rtol=1e-12)
    of_split = np.array([weight[test].sum() for _, test in splits])
    scores = np.array([results[f"split{k}_test_score"] for k in range(4)])
    np.testing.assert_allclose(results["mean_test_score"], of_split @ scores / weight.sum(), rtol=1e-12)
    assert (results["std_test_score"] > 0.0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": ()}, "C must offer at least one value to choose from. Got none"),
        ({"C": (1.0, -1.0)}, "C must be a positive number. Got -1.0"),
        ({"gamma_factors": (0.0,)}, "gamma_factors must be a positive number. Got 0.0"),
        ({"folds": 1}, "folds must be an integer of 2 or more. Got 1"),
    ],
)
def test_invalid_candidates_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SetSVCCV(**settings).fit(*some_sets())


def test_selection_refuses_a_class_of_one_set():
    bags, _ = some_sets()
    with pytest.raises(ValueError, match="at least two sets of each class. Got 1 of one. Use SetSVC"):
        SetSVCCV().fit(bags[:11], np.arange(11) == 3)


def test_a_class_of_weight_zero_is_dropped():
    bags, y = some_sets(n_classes=3)
    weight = np.where(y == 2, 0.0, 1.0)
    model = SetSVC(probability=True, random_state=0).fit(bags, y, weight)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict_proba(bags).shape == (60, 2)


def test_weights_enter_the_probabilities():
    bags, y = some_sets()
    y = np.where(np.arange(60) % 7 == 0, 1 - y, y)
    heavy = np.where(y == 1, 5.0, 0.5)
    plain, weighted = (SetSVC(probability=True, random_state=0).fit(bags, y, w) for w in (None, heavy))
    assert weighted.predict_proba(bags)[:, 1].mean() > plain.predict_proba(bags)[:, 1].mean() + 0.01


@pytest.mark.parametrize(
    ("weights", "message"),
    [({"x": 2.0}, "class_weight must name classes of y. Got x"), ({0: -1.0}, r"class_weight\[0\] must be a positive")],
)
def test_invalid_class_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        SetSVC(class_weight=weights).fit(*some_sets())


def test_best_params_are_the_selected_settings():
    model = SetSVCCV("migraph2", C=(1.0, 10.0), gamma_factors=(1.0,), threshold_factors=(1.0,), random_state=0)
    model.fit(*some_sets())
    assert model.best_params_ == {"C": model.C_, "gamma": model.gamma_, "threshold": model.threshold_}


def test_new_sets_are_centered_like_the_training_sets():
    bags, y = some_sets()
    far = bags.with_vectors((bags.X + 1e4).astype(np.float32))
    near = SetSVC(scale=None, gamma=0.01).fit(bags, y)
    moved = SetSVC(scale=None, gamma=0.01).fit(far, y)
    np.testing.assert_allclose(moved.decision_function(far[:9]), near.decision_function(bags[:9]), atol=2e-3)


def test_clipping_counts_toward_the_memory_limit():
    bags = Bags.from_rows(np.random.default_rng(0).random((1200, 2)))
    y = np.arange(1200) % 2
    model = SetSVC("max", memory_mib=40.0).fit(bags[:300], y[:300])
    assert model.predict(bags).shape == (1200,)
    with pytest.raises(ValueError, match="1,200 x 1,200 sets needs 55 MiB"):
        SetSVC("max", memory_mib=40.0, spectrum="clip").fit(bags, y)
