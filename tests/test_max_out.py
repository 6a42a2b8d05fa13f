import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from brute import finite_differences, random_params
from setrbm import Bags, ClassRBM, load, max_out
from setrbm.engines import get_engine
from setrbm.engines.protocol import LabeledSets, Model, Spec
from setrbm.estimators import MaxOutClassifier, MaxOutClassifierCV

UNITS = ["rbm", "mlp", "logit"]


def problem(seed=0, n_sets=12, n_features=5):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_sets)
    X = rng.random((sizes.sum(), n_features)) * (rng.random((sizes.sum(), n_features)) < 0.7)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Bags(X, offsets), rng.integers(0, 2, n_sets), rng.random(n_sets) + 0.5


def params_of(unit, seed=1, n_features=5, n_hidden=4):
    return random_params(np.random.default_rng(seed), n_features, 1 if unit == "logit" else n_hidden, 2)


def logits_by_hand(x, params, unit):
    a = params.W @ x + params.c
    if unit == "logit":
        return np.array([0.0, a[0]])
    if unit == "mlp":
        return params.d + params.U.T @ (1 / (1 + np.exp(-a)))
    return params.d + np.log1p(np.exp(a[:, np.newaxis] + params.U)).sum(axis=0)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("unit", UNITS)
def test_the_vector_with_the_strongest_response_decides_for_the_set(unit, engine):
    bags, _, _ = problem()
    params = params_of(unit)
    _, F = get_engine(engine).forward(params, bags, Spec(unit=unit), 1)
    for k, X in enumerate(bags):
        logits = np.array([logits_by_hand(x, params, unit) for x in X])
        best = (logits[:, 1] - logits[:, 0]).argmax()
        np.testing.assert_allclose(-F[k], logits[best], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("unit", UNITS)
def test_the_gradient_equals_finite_differences(unit, is_sparse):
    bags, y, weight = problem()
    params = params_of(unit)
    X = sparse.csr_array(bags.X) if is_sparse else bags.X

    def loss(at):
        _, _, logits = max_out.chosen_activations(bags.X, bags.offsets, at, unit)
        return float((np.logaddexp(logits[:, 0], logits[:, 1]) - logits[np.arange(len(y)), y]) @ weight)

    losses, gradient = max_out.loss_and_gradient(X, bags.offsets, y, weight, params, unit)
    assert losses @ weight == pytest.approx(loss(params), rel=1e-12)
    expected = finite_differences(loss, params)
    for letter in "WUbcd":
        np.testing.assert_allclose(getattr(gradient, letter), getattr(expected, letter), rtol=0, atol=1e-8)


@pytest.mark.parametrize("batch_size", [1, 5])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("unit", UNITS)
def test_cpu_equals_reference_over_whole_training_runs(unit, is_sparse, batch_size):
    bags, y, weight = problem()
    if is_sparse:
        bags = Bags(sparse.csr_array(bags.X), bags.offsets)
    sets, model = LabeledSets(bags, y, weight), Model(params_of(unit, n_hidden=70), 5, 0.1, 0.0, 0.01)
    spec, results = Spec(unit=unit, batch_size=batch_size), []
    for name in ("reference", "cpu"):
        engine = get_engine(name)
        session, placed = engine.begin(spec, [model], 2), [engine.place(sets, spec)]
        losses = [session.run(placed, [np.arange(12)], epoch) for epoch in range(5)]
        results.append([*losses, session.score(placed, [np.arange(12)]), *session.params(False)[0].arrays()])
    for slow, fast in zip(*results, strict=True):
        np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-10)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("unit", UNITS)
def test_of_equal_vectors_the_first_decides(unit, engine):
    rng = np.random.default_rng(0)
    # Zero weights: all vectors respond alike, and only the first may be moved.
    params = params_of(unit)
    params.W[:] = 0.0
    X = rng.random((3, 5))
    sets = LabeledSets(Bags(X, [0, 3]), np.array([1]), np.ones(1))
    engine, spec = get_engine(engine), Spec(unit=unit)
    session = engine.begin(spec, [Model(params, 0, 0.1)], 1)
    session.run([engine.place(sets, spec)], [np.zeros(1, dtype=int)], 0)
    moved = session.params(False)[0].W
    assert np.abs(moved).max() > 0.0
    for row in moved:
        np.testing.assert_allclose(np.outer(row, X[0]), np.outer(X[0], row), rtol=0, atol=1e-12)


def test_logit_on_sets_of_one_is_logistic_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=300) > 0.3).astype(int)
    model = MaxOutClassifier(
        "logit", scale=None, early_stopping=False, max_epochs=4000, batch_size=300, learning_rate=1.0, weight_decay=0.01
    ).fit(X, y)
    # Ours decays the mean loss by 0.01 / 2 |w|^2, scikit-learn's C is one over that for the sum.
    expected = LogisticRegression(C=1 / (0.01 * 300), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.W_, expected.coef_, rtol=0, atol=2e-3)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=2e-3)


def test_rbm_on_sets_of_one_is_the_class_rbm():
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 4)), np.arange(40) % 2
    settings = {"n_hidden": 6, "max_epochs": 5, "random_state": 0}
    np.testing.assert_allclose(
        MaxOutClassifier("rbm", **settings).fit(X, y).predict_proba(X),
        ClassRBM(**settings).fit(X, y).predict_proba(X),
        rtol=1e-9,
    )


def easy(n_sets=80, seed=0):
    """Sets of class 1 hold one vector with a large first feature."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_sets)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X, y, key = rng.random((offsets[-1], 5)) * 0.6, np.arange(n_sets) % 2, rng.integers(0, sizes)
    X[(offsets[:-1] + key)[y == 1], 0] = 1.0
    return Bags(X, offsets), y, key


@pytest.mark.parametrize("unit", UNITS)
def test_it_learns_and_names_the_vector_that_gave_the_class(unit):
    bags, y, _ = easy()
    model = MaxOutClassifierCV(unit, random_state=0).fit(bags, y)
    new, truth, key = easy(seed=1)
    assert model.score(new, truth) > 0.9
    assert (model.strongest_vectors(new)[truth == 1] == key[truth == 1]).mean() > 0.9


@pytest.mark.parametrize("estimator", [MaxOutClassifier("mlp", max_epochs=3), MaxOutClassifierCV("rbm", max_epochs=3)])
def test_it_is_saved_and_loaded(estimator, tmp_path):
    bags, y, _ = easy()
    estimator.fit(bags, y).save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert type(again) is type(estimator)
    np.testing.assert_array_equal(again.predict_proba(bags), estimator.predict_proba(bags))


def test_more_than_two_classes_are_refused_and_the_alternatives_named():
    bags, _, _ = easy()
    for call in (
        lambda: MaxOutClassifier().fit(bags, np.arange(80) % 3),
        lambda: MaxOutClassifierCV().fit(bags, np.arange(80) % 3),
        lambda: MaxOutClassifier().partial_fit(bags, np.arange(80) % 2, classes=[0, 1, 2]),
    ):
        with pytest.raises(ValueError, match=r"must have two classes.*Got 3 classes.*Use ClassSetRBM, SetSVC, or I"):
            call()
    with pytest.raises(ValueError, match="unit must be one of 'rbm', 'mlp', 'logit'. Got 'svm'"):
        MaxOutClassifier("svm").fit(bags, np.arange(80) % 2)
