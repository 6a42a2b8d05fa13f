"""Coordinates of training: what they even out, and that a model trained in them is one of the original vectors."""

import numpy as np
import pytest

from brute import random_params
from setrbm import Bags, ClassSetRBM, ClassSetRBMCV
from setrbm.energy import activations
from setrbm.scaling import Coordinates

HOWS = ["center", "standardize"]
SEEDS = range(3)
SIZES = [1, 2, 5, 3, 9]
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])


def sets(seed=0, dtype=np.float64):
    """Return sets whose features have means and variances of very different sizes."""
    rng = np.random.default_rng(seed)
    spread = 10.0 ** rng.uniform(-3, 0, 6)
    X = rng.random(6) + spread * rng.normal(size=(OFFSETS[-1], 6))
    return Bags(X.astype(dtype), OFFSETS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("how", HOWS)
def test_vectors_have_zero_mean_and_a_total_variance_of_five(how, seed):
    bags = sets(seed)
    X = Coordinates.fit(bags, how).apply(bags).X
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    assert X.var(axis=0).sum() == pytest.approx(5.0, rel=1e-12)
    assert bags.X.var(axis=0).sum() != pytest.approx(5.0, rel=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_standardized_features_have_equal_variances_and_centered_ones_keep_their_ratios(seed):
    bags = sets(seed)
    center, standardize = (Coordinates.fit(bags, how).apply(bags) for how in HOWS)
    np.testing.assert_allclose(standardize.X.var(axis=0), np.full(6, 5 / 6), rtol=1e-12)
    before, after = bags.X.var(axis=0), center.X.var(axis=0)
    np.testing.assert_allclose(after / after.sum(), before / before.sum(), rtol=1e-12)
    assert before.max() / before.min() > 10.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [1, 4, 19])
def test_moments_taken_piece_by_piece_are_those_of_all_vectors(rows, dtype, monkeypatch):
    monkeypatch.setattr("setrbm.scaling.ROWS", rows)
    bags = sets(dtype=dtype)
    coordinates, wide = Coordinates.fit(bags, "standardize"), bags.X.astype(np.float64)
    np.testing.assert_allclose(coordinates.mean, wide.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(coordinates.factor, np.sqrt(5 / 6) / wide.std(axis=0), rtol=1e-9)


@pytest.mark.parametrize("how", HOWS)
def test_the_units_of_the_data_do_not_matter(how):
    bags = sets()
    shift = np.linspace(-3.0, 7.0, 6)
    # Only standardized features may each have units of their own.
    unit = np.geomspace(0.01, 100.0, 6) if how == "standardize" else 40.0
    other = bags.with_vectors(unit * bags.X + shift)
    expected = Coordinates.fit(bags, how).apply(bags).X
    np.testing.assert_allclose(Coordinates.fit(other, how).apply(other).X, expected, atol=1e-10)


@pytest.mark.parametrize("how", HOWS)
def test_offsets_names_and_ids_of_the_sets_stay_and_their_vectors_are_not_changed_in_place(how):
    bags = Bags(sets().X, OFFSETS, ids=list("abcde"), feature_names=list("uvwxyz"))
    before = bags.X.copy()
    moved = Coordinates.fit(bags, how).apply(bags)
    np.testing.assert_array_equal(bags.X, before)
    np.testing.assert_array_equal(moved.offsets, bags.offsets)
    assert moved.ids.tolist() == list("abcde")
    assert moved.feature_names.tolist() == list("uvwxyz")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("how", HOWS)
def test_a_model_in_the_coordinates_has_the_same_activations_on_the_original_vectors(how, seed):
    bags = sets(seed)
    coordinates = Coordinates.fit(bags, how)
    params = random_params(np.random.default_rng(seed), 6, 4, 3)
    undone = coordinates.undo(params)
    expected = activations(coordinates.apply(bags).X, params)
    np.testing.assert_allclose(activations(bags.X, undone), expected, rtol=1e-10, atol=1e-10)
    assert np.abs(undone.W - params.W).max() > 0.1
    for letter in "Ubd":
        np.testing.assert_array_equal(getattr(undone, letter), getattr(params, letter))


@pytest.mark.parametrize("how", HOWS)
def test_new_vectors_outside_of_the_range_seen_have_the_same_activations_too(how):
    coordinates, params = Coordinates.fit(sets(), how), random_params(np.random.default_rng(1), 6, 4, 3)
    new = Bags(np.random.default_rng(2).normal(scale=10.0, size=(19, 6)), [0, 19])
    expected = activations(coordinates.apply(new).X, params)
    np.testing.assert_allclose(activations(new.X, coordinates.undo(params)), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("how", HOWS)
def test_float32_stays_float32_and_agrees_with_float64(how):
    bags, params = sets(dtype=np.float32), random_params(np.random.default_rng(1), 6, 4, 3)
    coordinates = Coordinates.fit(bags, how)
    moved, undone = coordinates.apply(bags), coordinates.undo(params.astype(np.float32))
    assert moved.X.dtype == np.float32
    assert {array.dtype for array in undone.arrays()} == {np.dtype(np.float32)}
    wide = bags.with_vectors(bags.X.astype(np.float64))
    # Features that hardly vary lose digits when their mean is taken off.
    np.testing.assert_allclose(moved.X, coordinates.apply(wide).X, rtol=0, atol=1e-3)
    expected = coordinates.undo(params)
    for letter in "WUbcd":
        np.testing.assert_allclose(getattr(undone, letter), getattr(expected, letter), rtol=1e-5, atol=1e-5)


def with_constants(value):
    """Return sets whose features 1 and 4 have the same value in all vectors."""
    X = sets().X.copy()
    X[:, [1, 4]] = value
    return Bags(X, OFFSETS)


@pytest.mark.parametrize("how", HOWS)
def test_constant_features_are_zero_and_leave_the_others_their_share(how):
    # The scaling, which comes first, sets constant features to 0.
    bags = with_constants(0.0)
    coordinates = Coordinates.fit(bags, how)
    X = coordinates.apply(bags).X
    assert np.isfinite(coordinates.factor).all()
    assert (X[:, [1, 4]] == 0.0).all()
    assert X.var(axis=0).sum() == pytest.approx(5.0, rel=1e-12)
    if how == "standardize":
        assert (coordinates.factor[[1, 4]] == 0.0).all()
        np.testing.assert_allclose(X.var(axis=0)[[0, 2, 3, 5]], 5 / 4, rtol=1e-12)


@pytest.mark.parametrize("value", [0.1, 0.7])
def test_a_constant_feature_that_is_not_zero_does_not_count_as_one_that_varies(value):
    assert (Coordinates.fit(with_constants(value), "standardize").factor[[1, 4]] == 0.0).all()


@pytest.mark.parametrize("how", HOWS)
def test_sets_of_equal_vectors_give_finite_coordinates(how):
    bags = Bags(np.zeros((4, 3)), [0, 1, 4])
    coordinates, params = Coordinates.fit(bags, how), random_params(np.random.default_rng(0), 3, 2, 2)
    np.testing.assert_array_equal(coordinates.apply(bags).X, bags.X)
    assert all(np.isfinite(array).all() for array in coordinates.undo(params).arrays())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("how", HOWS)
def test_a_fit_in_coordinates_is_a_fit_on_the_vectors_in_them(how, dtype):
    rng = np.random.default_rng(0)
    X, y = (100.0 * rng.random((30, 3, 6)) - 40.0).astype(dtype), np.arange(30) % 2
    X[y == 1, 0, 0] += 50.0
    X[:, :, 5] = 3.0
    bags = Bags.from_array(X)
    settings = {"learning_rate": 0.05, "init_scale": 0.5, "max_epochs": 10, "random_state": 0}
    model = ClassSetRBMCV(4, pooling="hard", scale=how, n_fits=1, **settings).fit(bags, y)
    scaled = model._scaled(bags)
    moved = Coordinates.fit(scaled, how).apply(scaled)
    alone = ClassSetRBM(4, scale=None, early_stopping=False, weight_decay=0.0, **settings).fit(moved, y)
    tolerance = 1e-10 if dtype is np.float64 else 1e-4
    expected = Coordinates.fit(scaled, how).undo(alone._params())
    for letter in "WUbcd":
        fitted = getattr(model, f"{letter}_")
        assert fitted.dtype == dtype
        np.testing.assert_allclose(fitted, getattr(expected, letter), rtol=0, atol=tolerance)
    np.testing.assert_allclose(model.predict_proba(bags), alone.predict_proba(moved), rtol=0, atol=tolerance)
