import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

import brute
from brute import JOINTS, finite_differences, random_params
from setrbm import gibbs
from setrbm.draws import ChainDraws
from setrbm.energy import Joint, activations

# Probability of a false alarm of each goodness-of-fit test.
FALSE_ALARM = 1e-6


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_both_hidden_marginals_equal_a_sum_over_every_hidden_state(joint, seed):
    rng = np.random.default_rng(seed)
    params = random_params(rng, 4, 2, 3)
    X = rng.integers(0, 2, size=(3, 4)).astype(float)
    for y in range(3):
        h, g = gibbs.hidden_probabilities(X, np.array([0, 3]), np.array([y]), params, joint)
        expected_h, expected_g = brute.hidden_marginals(X, y, params, joint)
        np.testing.assert_allclose(h, expected_h, rtol=1e-10)
        np.testing.assert_allclose(g, expected_g, rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_input_and_target_conditionals_equal_a_sum_over_every_visible_state(joint, seed):
    rng = np.random.default_rng(seed)
    params = random_params(rng, 2, 2, 3)
    visible = [(X, y) for X in brute.visible_states(2, 2) for y in range(3)]
    for h, g in brute.hidden_states(2, 2, joint.constraint):
        p = np.array([np.exp(-brute.energy(X, y, h, g, params, joint)) for X, y in visible])
        p /= p.sum()
        means = sum(w * X for w, (X, _) in zip(p, visible, strict=True))
        classes = [sum(w for w, (_, y) in zip(p, visible, strict=True) if y == label) for label in range(3)]
        np.testing.assert_allclose(gibbs.input_means(h, params, joint), means, rtol=1e-10)
        target = gibbs.target_probabilities(g.sum(axis=0, keepdims=True), params)[0]
        np.testing.assert_allclose(target, classes, rtol=1e-10)


def fits(counts, probabilities):
    """Whether the counts are consistent with the probabilities; rare outcomes are pooled."""
    expected = probabilities * counts.sum()
    rare = expected < 10
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    return stats.chisquare(counts[keep], expected[keep]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_gibbs_samples_of_a_tiny_model_match_its_exact_joint_distribution(joint, size):
    params = random_params(np.random.default_rng(3), 2, 2, 2)
    states, exact = brute.joint_distribution(size, params, joint)
    n_sets = 20_000
    X, _, y = gibbs.sample_sets(np.full(n_sets, size), params, joint, 60, seed=5)
    codes = X.reshape(n_sets, -1) @ 2.0 ** np.arange(2 * size)[::-1]
    counts = np.zeros((len(states), 2))
    np.add.at(counts, (codes.astype(int), y), 1)
    assert fits(counts.ravel(), exact.ravel())
    # The test has power: the distribution of a slightly different model does not fit.
    params.U += [[0.3, -0.3], [0.0, 0.0]]
    _, other = brute.joint_distribution(size, params, joint)
    assert not fits(counts.ravel(), other.ravel())


def test_gaussian_inputs_have_the_mean_of_their_hidden_units_and_unit_variance():
    params = random_params(np.random.default_rng(0), 3, 2, 2)
    n = 20_000
    state = gibbs.HiddenState(np.zeros((n, 2), dtype=int), np.ones((n, 2)))
    chain = ChainDraws(0, 0, np.arange(n), np.ones(n, dtype=int))
    X, _ = gibbs.sample_visible(state, params, Joint("xor", visible="gaussian"), chain, 1)
    centered = X - (params.b + params.W.sum(axis=0))
    for i in range(3):
        assert stats.kstest(centered[:, i], "norm").pvalue > FALSE_ALARM
    assert np.abs(np.corrcoef(centered.T) - np.eye(3)).max() < 0.05


def expected_statistics(X, y, params, joint):
    """E[-dE/dtheta] over the hidden units given X and y, as derivatives of the log of the sum over hidden states."""
    return finite_differences(lambda at: brute.log_joint(X, at, joint)[y], params)


@pytest.mark.parametrize("visible", ["binary", "gaussian"])
@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_statistics_are_the_derivatives_of_the_log_joint(joint, visible):
    joint = joint._replace(visible=visible)
    rng = np.random.default_rng(2)
    params = random_params(rng, 3, 2, 2)
    X, offsets, y, weight = rng.random((5, 3)), np.array([0, 2, 5]), np.array([1, 0]), np.array([0.7, 2.0])
    got = gibbs.statistics(X, offsets, y, weight, params, joint)
    expected = params.zeros()
    for k in range(2):
        part = expected_statistics(X[offsets[k] : offsets[k + 1]], y[k], params, joint)
        expected.add(weight[k], part)
    for letter in "WUbcd":
        np.testing.assert_allclose(getattr(got, letter), getattr(expected, letter), rtol=0, atol=1e-7)


@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_expected_cd_statistics_equal_exact_enumeration_of_one_gibbs_step(joint):
    params = random_params(np.random.default_rng(1), 2, 2, 2)
    X, y = np.array([[1.0, 0.0], [0.3, 0.8]]), 1
    states = list(brute.hidden_states(2, 2, joint.constraint))
    p_hidden = softmax([-brute.energy(X, y, h, g, params, joint) for h, g in states])
    visible = [(V, label) for V in brute.visible_states(2, 2) for label in range(2)]
    p_visible = sum(
        p * softmax([-brute.energy(V, label, h, g, params, joint) for V, label in visible])
        for p, (h, g) in zip(p_hidden, states, strict=True)
    )
    negatives = [expected_statistics(V, label, params, joint) for V, label in visible]
    positive = expected_statistics(X, y, params, joint)

    n = 20_000
    chain = ChainDraws(2, 0, np.arange(n), np.full(n, 2))
    gradient, _ = gibbs.contrastive_divergence(
        np.tile(X, (n, 1)), np.arange(n + 1) * 2, np.full(n, y), np.full(n, 1.0 / n), params, joint,
        chain,
    )  # fmt: skip
    for letter in "WUbcd":
        outcomes = np.array([getattr(negative, letter) for negative in negatives])
        mean = np.tensordot(p_visible, outcomes, axes=1)
        error = np.sqrt(np.tensordot(p_visible, (outcomes - mean) ** 2, axes=1) / n)
        exact = mean - getattr(positive, letter)
        # An entry deviates by six standard errors about once in ten million runs.
        assert (np.abs(getattr(gradient, letter) - exact) <= 6 * error + 1e-7).all()
        # The test has power: the gradient is much larger than the errors.
        assert np.abs(exact).max() > 20 * error.max()


@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_weight_two_equals_a_duplicated_set_with_the_same_chain(joint):
    params = random_params(np.random.default_rng(1), 3, 2, 2)
    X, y = np.random.default_rng(0).random((2, 3)), np.array([1])
    chain = ChainDraws(2, 0, np.array([4]), np.array([2]))
    once, _ = gibbs.contrastive_divergence(X, np.array([0, 2]), y, np.array([2.0]), params, joint, chain)
    both = ChainDraws(2, 0, np.array([4, 4]), np.array([2, 2]))
    twice, _ = gibbs.contrastive_divergence(
        np.tile(X, (2, 1)), np.array([0, 2, 4]), np.tile(y, 2), np.ones(2), params, joint, both
    )
    for letter in "WUbcd":
        np.testing.assert_allclose(getattr(once, letter), getattr(twice, letter), rtol=0, atol=1e-13)


def test_a_persistent_chain_continues_from_its_last_state():
    rng, joint = np.random.default_rng(4), Joint("or")
    params = random_params(rng, 3, 2, 2)
    X, offsets, y = rng.integers(0, 2, (4, 3)).astype(float), np.array([0, 1, 4]), np.array([0, 1])
    chain = ChainDraws(0, 0, np.arange(2), np.diff(offsets))
    args = (X, offsets, y, np.ones(2), params, joint, chain)
    _, first = gibbs.contrastive_divergence(*args, 1, None, True)
    later = ChainDraws(0, 1, np.arange(2), np.diff(offsets))
    V, labels = gibbs.sample_visible(first, params, joint, later, 1)
    expected = gibbs.statistics(V, offsets, labels, np.ones(2), params, joint)
    expected.add(-1.0, gibbs.statistics(X, offsets, y, np.ones(2), params, joint))
    gradient, _ = gibbs.contrastive_divergence(*args[:-1], later, 1, first, True)
    np.testing.assert_allclose(gradient.W, expected.W, rtol=1e-12)


@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_held_units_are_on_and_at_most_one_vector_holds_each(joint):
    rng = np.random.default_rng(0)
    params = random_params(rng, 3, 6, 2)
    offsets = np.array([0, 1, 5, 8])
    X = rng.random((8, 3))
    state = gibbs.sample_hidden(
        X, offsets, np.array([0, 1, 0]), params, joint, ChainDraws(0, 0, np.arange(3), np.diff(offsets)), 0
    )
    assert activations(X, params).shape == state.h.shape
    for k in range(3):
        for j in range(6):
            rows = state.h[offsets[k] : offsets[k + 1], j]
            if state.holder[k, j] != gibbs.NOBODY:
                assert rows[state.holder[k, j]] == 1.0
            if joint.constraint == "xor":
                assert rows.sum() == (state.holder[k, j] != gibbs.NOBODY)
