"""What a fit learns, from any kind of input."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logsumexp

from brute import CONSTRAINTS, POOLINGS, visible_states
from fitting import easy
from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV
from setrbm.datasets import load_musk1

RNG = np.random.default_rng(0)
OBJECTIVES = ["discriminative", "generative", "hybrid"]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_dense_csr_frame_list_and_rows_give_the_same_model(constraint, pooling, objective):
    bags, y = easy(20)
    model = ClassSetRBM(5, constraint=constraint, pooling=pooling, objective=objective, max_epochs=4, random_state=0)
    # Sparse data are scaled by their largest absolute value, so take data where both scalings agree.
    X = bags.X.copy()
    X[0], X[1] = 0.0, 1.0
    bags = Bags(X, bags.offsets)
    names = [f"f{i}" for i in range(6)]
    frame = pd.DataFrame(X, columns=names).assign(bag=np.repeat(np.arange(20), bags.sizes))
    expected = model.fit(bags, y).predict_proba(bags)
    for other in (Bags(sparse.csr_array(X), bags.offsets), Bags.from_frame(frame), bags.to_list()):
        np.testing.assert_allclose(model.fit(other, y).predict_proba(other), expected, rtol=0, atol=1e-12)


def test_an_array_of_three_dimensions_and_its_bags_are_the_same():
    X, y = RNG.random((10, 3, 4)), np.arange(10) % 2
    model = ClassSetRBM(5, max_epochs=3, random_state=0)
    np.testing.assert_array_equal(model.fit(X, y).W_, model.fit(Bags.from_array(X), y).W_)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_xor_on_sets_of_one_is_the_class_rbm(pooling):
    X, y = RNG.random((30, 4)), np.arange(30) % 3
    settings = {"n_hidden": 5, "max_epochs": 5, "random_state": 0}
    sets = ClassSetRBM(pooling=pooling, **settings).fit(X, y)
    vectors = ClassRBM(**settings).fit(X, y)
    np.testing.assert_allclose(sets.predict_proba(X), vectors.predict_proba(X), rtol=1e-10)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_same_seed_gives_the_same_model_and_another_seed_another(objective, engine):
    bags, y = easy()
    make = lambda seed, n_jobs: (  # noqa: E731
        ClassSetRBM(5, objective=objective, max_epochs=3, random_state=seed, engine=engine, n_jobs=n_jobs)
        .fit(bags, y)
        .W_
    )
    np.testing.assert_array_equal(make(0, 1), make(0, 2))
    assert (make(0, 1) != make(1, 1)).any()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_both_engines_give_the_same_model(objective):
    bags, y = easy()
    fast, slow = (
        ClassSetRBM(5, objective=objective, max_epochs=6, random_state=0, engine=engine).fit(bags, y)
        for engine in ("cpu", "reference")
    )
    np.testing.assert_allclose(fast.W_, slow.W_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fast.predict_proba(bags), slow.predict_proba(bags), rtol=0, atol=1e-10)


@pytest.mark.parametrize("span", [(0.0, 1.0), (-1e6, 1e6), (0.0, 1e-7), (1e9, 1e9 + 1)])
@pytest.mark.parametrize("objective", ["discriminative", "hybrid"])
def test_defaults_learn_from_raw_data_of_any_range(span, objective):
    bags, y = easy(100, low=span[0], high=span[1])
    new, truth = easy(100, seed=9, low=span[0], high=span[1])
    assert ClassSetRBM(objective=objective, random_state=0).fit(bags, y).score(new, truth) > 0.9


@pytest.mark.parametrize("model", [ClassSetRBM(random_state=0), ClassSetRBMCV(random_state=0)])
def test_a_fit_of_four_tiny_sets_works(model):
    X, y = [np.eye(2), np.eye(2)[:1], 1 - np.eye(2), np.ones((1, 2))], [0, 0, 1, 1]
    assert model.fit(X, y).score(X, y) >= 0.5
    assert model.predict_proba(X).shape == (4, 2)
    with nullcontext() if isinstance(model, ClassSetRBM) else pytest.warns(UserWarning, match="No set can be held out"):
        assert model.fit(X[1:3], y[1:3]).predict(X[1:3]).shape == (2,)


def test_float32_stays_float32():
    bags, y = easy()
    bags = bags.with_vectors(bags.X.astype(np.float32))
    model = ClassSetRBM(5, max_epochs=2, objective="hybrid").fit(bags, y)
    assert {getattr(model, f"{letter}_").dtype for letter in "WUbcd"} == {np.dtype(np.float32)}
    assert model.transform(bags).dtype == np.float32


@pytest.mark.parametrize("estimator", [ClassSetRBM, ClassSetRBMCV])
def test_sets_of_weight_zero_are_ignored(estimator):
    bags, y = easy()
    weight = np.ones(40)
    weight[::4] = 0.0
    # Were they looked at, these would change the scaling, the start of b and the held-out part.
    bags.X[bags.offsets[0] : bags.offsets[1]] = 77.0
    model = estimator(5, objective="hybrid", learning_rate=0.05, init_scale=0.3, max_epochs=4, random_state=0)
    given = model.fit(bags, y, sample_weight=weight).predict_proba(bags)
    without = model.fit(bags[weight > 0], y[weight > 0]).predict_proba(bags)
    np.testing.assert_array_equal(given, without)


def test_balanced_class_weights_raise_the_rare_class():
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 2, 3)), np.repeat([0, 1], [180, 20])
    plain = ClassSetRBM(10, random_state=0).fit(X, y).predict_proba(X)[:, 1].mean()
    balanced = ClassSetRBM(10, random_state=0, class_weight="balanced").fit(X, y).predict_proba(X)[:, 1].mean()
    assert balanced > plain + 0.2


def test_weight_decay_shrinks_the_weights():
    bags, y = easy()
    norms = [
        np.linalg.norm(ClassSetRBM(5, weight_decay=decay, random_state=0, early_stopping=False).fit(bags, y).W_)
        for decay in (0.0, 0.01, 0.1)
    ]
    assert norms[0] > norms[1] > norms[2]


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_generative_learning_raises_the_exact_likelihood_of_the_data(constraint, persistent):
    rng = np.random.default_rng(0)
    # Two kinds of vectors, one per class, with one input in twenty flipped.
    y = np.arange(200) % 2
    X = np.repeat(np.where(y[:, np.newaxis] == 1, [1, 1, 0, 0], [0, 0, 1, 1]), 2, axis=0)
    bags = Bags(np.where(rng.random(X.shape) < 0.05, 1 - X, X).astype(float), np.arange(201) * 2)
    every_set = Bags.from_array(list(visible_states(2, 4)))
    model = ClassSetRBM(
        8, constraint=constraint, pooling="soft", objective="generative", generative_learning_rate=0.05,
        weight_decay=0.001, persistent=persistent, max_epochs=150, early_stopping=False, random_state=0,
    ).fit(bags, y)  # fmt: skip
    log_z = logsumexp(model.log_joint(every_set))
    likelihood = (model.log_joint(bags)[np.arange(200), y] - log_z).mean()
    independent, exact = 9 * np.log(0.5), np.log(0.5) + 8 * (0.05 * np.log(0.05) + 0.95 * np.log(0.95))
    # From guessing every bit (-6.2) more than half of the way to the truth (-2.3).
    assert likelihood > (independent + exact) / 2
    assert likelihood < exact + 0.5
    drawn, labels = model.sample(np.full(300, 2), n_steps=100, random_state=0)
    kind = drawn.X.reshape(300, 2, 4)[:, :, :2].mean(axis=(1, 2)) > 0.5
    assert (kind == labels).mean() > 0.8


def test_musk1_has_the_documented_shape():
    bags, y = load_musk1()
    assert bags.shape == (92, 166)
    assert bags.n_vectors == 476
    assert (bags.sizes.min(), bags.sizes.max()) == (2, 40)
    assert np.bincount(y).tolist() == [45, 47]
    assert (bags.X.min(), bags.X.max()) == (-348, 336)
    assert (bags.X.round() == bags.X).all()


def test_a_fit_repeated_among_other_allocations_gives_the_same_bits():
    bags, y = easy()
    rng = np.random.default_rng(0)
    kept, models = [], set()
    for _ in range(25):
        kept.append(np.empty(rng.integers(1, 50_000)))
        model = ClassSetRBM(20, objective="hybrid", max_epochs=4, random_state=0).fit(bags, y)
        models.add(model.W_.tobytes() + model.predict_proba(bags).tobytes())
    assert len(models) == 1


def test_an_object_array_of_matrices_is_sets():
    bags, y = easy()
    sets = np.empty(len(bags), dtype=object)
    for k, matrix in enumerate(bags):
        sets[k] = matrix
    model = ClassSetRBM(5, max_epochs=2, random_state=0)
    np.testing.assert_array_equal(model.fit(sets, y).W_, model.fit(bags, y).W_)
