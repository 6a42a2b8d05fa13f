import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_expit

import brute
from brute import CONSTRAINTS, JOINTS, POOLINGS, finite_differences, random_params
from setrbm.energy import (
    Params,
    energy,
    free_energy,
    joined,
    log_joint,
    log_posterior,
    loss_and_gradient,
    parted,
    softplus,
)

SEEDS = range(5)
ONE = np.array([0, 3])


@pytest.fixture(params=SEEDS)
def case(request):
    rng = np.random.default_rng(request.param)
    return rng.integers(0, 2, size=(3, 4)).astype(float), random_params(rng, 4, 2, 3)


@pytest.mark.parametrize("visible", ["binary", "gaussian"])
@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_energy_equals_the_definition_and_forbidden_states_are_refused(case, joint, visible):
    X, params = case
    joint = joint._replace(visible=visible)
    for h, g in brute.hidden_states(3, 2, joint.constraint):
        expected = brute.energy(X, 1, h, g, params, joint)
        assert energy(X, 1, h, g, params, joint) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    with pytest.raises(ValueError, match="h and g must satisfy 'x?or': at most one g per unit"):
        energy(X, 1, np.ones((3, 2)), np.ones((3, 2)), params, joint)


@pytest.mark.parametrize("visible", ["binary", "gaussian"])
@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_the_log_joint_equals_a_sum_over_every_hidden_state(case, joint, visible):
    X, params = case
    joint = joint._replace(visible=visible)
    expected = brute.log_joint(X, params, joint)
    np.testing.assert_allclose(log_joint(X, ONE, params, joint)[0], expected, rtol=1e-10)


@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_the_posterior_equals_a_sum_over_every_hidden_state(case, joint):
    X, params = case
    logs = brute.log_joint(X, params, joint)
    expected = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    posterior = np.exp(log_posterior(free_energy(X, ONE, params, joint.constraint, joint.pooling)))[0]
    np.testing.assert_allclose(posterior, expected, rtol=1e-10)


@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_free_energy_is_the_log_joint_without_the_terms_that_do_not_depend_on_y(case, joint):
    X, params = case
    dropped = (X @ params.b).sum()
    if joint.constraint == "or":
        dropped += softplus(X @ params.W.T + params.c).sum()
    F = free_energy(X, ONE, params, joint.constraint, joint.pooling)[0]
    np.testing.assert_allclose(-F + dropped, brute.log_joint(X, params, joint), rtol=1e-10)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_mean_pooling_does_not_see_how_often_a_set_repeats_its_vectors(case, constraint):
    X, params = case
    once = free_energy(X, ONE, params, constraint, "mean")
    np.testing.assert_allclose(free_energy(np.tile(X, (7, 1)), 7 * ONE, params, constraint, "mean"), once, rtol=1e-12)
    soft = free_energy(np.tile(X, (7, 1)), 7 * ONE, params, constraint, "soft")
    assert np.abs(soft - once).max() > 0.1


@pytest.mark.parametrize("pooling", POOLINGS)
def test_for_sets_of_one_vector_xor_is_the_class_rbm_and_or_uses_log_sigm(case, pooling):
    X, params = case
    singles = np.arange(4)
    a = X @ params.W.T + params.c
    for constraint, pool in (("xor", a), ("or", log_expit(a))):
        expected = -params.d - softplus(pool[:, :, np.newaxis] + params.U).sum(axis=1)
        np.testing.assert_allclose(free_energy(X, singles, params, constraint, pooling), expected, rtol=1e-12)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_permuting_a_set_changes_nothing(case, constraint, pooling):
    X, params = case
    F = free_energy(X, ONE, params, constraint, pooling)
    np.testing.assert_allclose(free_energy(X[::-1], ONE, params, constraint, pooling), F, rtol=1e-13)


def problem(seed, n_sets=6):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=n_sets)
    X = rng.random((sizes.sum(), 5)) * (rng.random((sizes.sum(), 5)) < 0.6)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return X, offsets, rng.integers(0, 3, size=n_sets), rng.random(n_sets) + 0.5, random_params(rng, 5, 4, 3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_the_gradient_equals_finite_differences(constraint, pooling, is_sparse, seed):
    X, offsets, y, weight, params = problem(seed)
    data = sparse.csr_array(X) if is_sparse else X

    def loss(at: Params) -> float:
        F = free_energy(X, offsets, at, constraint, pooling)
        return float(-log_posterior(F)[np.arange(len(y)), y] @ weight)

    losses, gradient = loss_and_gradient(data, offsets, y, weight, params, constraint, pooling)
    assert losses @ weight == pytest.approx(loss(params), rel=1e-12)
    expected = finite_differences(loss, params)
    for letter in "WUbcd":
        np.testing.assert_allclose(getattr(gradient, letter), getattr(expected, letter), rtol=0, atol=1e-8)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_the_gradient_of_mixed_pooling_equals_finite_differences(constraint):
    X, offsets, y, weight, _ = problem(0)
    params = random_params(np.random.default_rng(0), 5, 10, 3)

    def loss(at: Params) -> float:
        return float(-log_posterior(free_energy(X, offsets, at, constraint, "mixed"))[np.arange(len(y)), y] @ weight)

    _, gradient = loss_and_gradient(X, offsets, y, weight, params, constraint, "mixed")
    expected = finite_differences(loss, params)
    for letter in "WUbcd":
        np.testing.assert_allclose(getattr(gradient, letter), getattr(expected, letter), rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_parts_joined_again_are_the_whole(n, seed):
    params = random_params(np.random.default_rng(seed), 5, 10, 3)
    parts = parted(params, n)
    assert [part.W.shape for part in parts] == [(10 // n, 5)] * n
    for letter in "WUbcd":
        np.testing.assert_array_equal(getattr(joined(parts), letter), getattr(params, letter))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_free_energies_of_joined_models_and_of_parts_sum_to_that_of_the_whole(constraint, pooling, seed):
    X, offsets, _, _, _ = problem(seed)
    rng = np.random.default_rng(seed)
    models = [random_params(rng, 5, 3, 3) for _ in range(4)]
    whole = free_energy(X, offsets, joined(models), constraint, pooling)
    for several in (models, parted(joined(models), 4), parted(joined(models), 2)):
        each = [free_energy(X, offsets, params, constraint, pooling) for params in several]
        np.testing.assert_allclose(np.sum(each, axis=0), whole, rtol=1e-12)


def test_parts_must_be_equal():
    with pytest.raises(ValueError, match="The number of hidden units must be a multiple of 5. Got 4"):
        parted(random_params(np.random.default_rng(0), 5, 4, 3), 5)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_the_free_energy_with_mixed_pooling_is_the_sum_of_those_of_its_parts(constraint):
    X, offsets, _, _, _ = problem(1)
    params = random_params(np.random.default_rng(1), 5, 10, 3)
    poolings = ["hard"] * 4 + ["mean"]
    each = [
        free_energy(X, offsets, part, constraint, pooling)
        for part, pooling in zip(parted(params, 5), poolings, strict=True)
    ]
    np.testing.assert_allclose(free_energy(X, offsets, params, constraint, "mixed"), np.sum(each, axis=0), rtol=1e-12)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_weight_two_equals_a_duplicated_set(constraint, pooling):
    X, offsets, y, _, params = problem(0, n_sets=2)
    twice = np.concatenate([X, X[offsets[1] :]])
    offsets_twice = np.concatenate([offsets, [len(twice)]])
    losses, gradient = loss_and_gradient(X, offsets, y, np.array([1.0, 2.0]), params, constraint, pooling)
    losses_twice, again = loss_and_gradient(
        twice, offsets_twice, np.append(y, y[1]), np.ones(3), params, constraint, pooling
    )
    assert losses @ [1.0, 2.0] == pytest.approx(losses_twice.sum(), rel=1e-13)
    for letter in "WUcd":
        np.testing.assert_allclose(getattr(gradient, letter), getattr(again, letter), rtol=1e-10, atol=1e-14)
