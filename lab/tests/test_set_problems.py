import numpy as np
import pytest

from setrbm_lab.set_problems import SET_PROBLEMS, make_set_problem

RULES = {
    "one": lambda clues: (clues == 1).sum() == 1,
    "two": lambda clues: {1, 2} <= set(clues.tolist()),
    "share": lambda clues: (clues == 1).mean() > 0.5,
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SET_PROBLEMS)
def test_the_label_follows_from_the_clues_by_the_rule(name, seed):
    problem = SET_PROBLEMS[name]
    bags, y, clues = make_set_problem(name, random_state=seed, return_clues=True)
    parts = np.split(clues, bags.offsets[1:-1])
    assert y.tolist() == [int(RULES[problem.rule](part)) for part in parts]
    assert (len(bags), bags.shape[1]) == (problem.n_sets, problem.n_features)
    assert y.sum() == round(problem.positive * problem.n_sets)
    assert bags.sizes.min() >= problem.sizes[0]
    assert bags.sizes.max() <= problem.sizes[1]


@pytest.mark.parametrize("seed", range(3))
def test_with_two_clues_no_single_vector_tells_the_class(seed):
    _, y, clues = make_set_problem("two_vectors", 2000, random_state=seed, return_clues=True)
    bags, *_ = make_set_problem("two_vectors", 2000, random_state=seed)
    has_first = np.array([(part == 1).any() for part in np.split(clues, bags.offsets[1:-1])])
    # All sets have two clues; about half of the negative ones have the first.
    assert (clues > 0).sum() == 2 * len(y)
    assert 0.45 < has_first[y == 0].mean() < 0.55
    assert has_first[y == 1].all()


def test_only_the_informative_features_of_a_clue_are_shifted():
    bags, _, clues = make_set_problem("two_vectors", 2000, random_state=0, return_clues=True)
    expected = np.zeros((3, 20))
    expected[1, :3] = expected[2, 3:6] = 2.5
    for clue in range(3):
        mean = bags.X[clues == clue].mean(axis=0)
        np.testing.assert_allclose(mean, expected[clue], rtol=0, atol=5 / np.sqrt((clues == clue).sum()))


def test_the_same_seed_gives_the_same_sets_and_another_gives_others():
    one, again, other = (make_set_problem("few_sets", random_state=seed)[0].X for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one[:10], other[:10])


@pytest.mark.parametrize("n_sets", [2, 3])
def test_both_classes_occur_in_the_smallest_problems(n_sets):
    for name in SET_PROBLEMS:
        assert set(make_set_problem(name, n_sets, random_state=0)[1]) == {0, 1}


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="name must be one of .* Got 'one_vectors'; the nearest is 'one_vector'"):
        make_set_problem("one_vectors")
    with pytest.raises(ValueError, match="n_sets must be 2 or more. Got 1"):
        make_set_problem("one_vector", 1)
