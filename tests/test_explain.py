import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from brute import CONSTRAINTS, DEFINITIONS, POOLINGS, random_params
from setrbm import Bags, ClassSetRBM, ClassSetRBMCV
from setrbm.energy import free_energy, log_posterior
from setrbm.explain import Explanation, explain
from setrbm.pooling.pools import pools_without_each

SIZES = [1, 2, 5, 3]


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def bags(request):
    rng = np.random.default_rng(0)
    X = rng.random((sum(SIZES), 6)) * (rng.random((sum(SIZES), 6)) < 0.7)
    return Bags(sparse.csr_array(X) if request.param else X, np.concatenate([[0], np.cumsum(SIZES)]))


@pytest.fixture
def params():
    return random_params(np.random.default_rng(1), 6, 5, 3)


def posterior(X, params, constraint, pooling):
    return log_posterior(free_energy(X, np.array([0, X.shape[0]]), params, constraint, pooling))[0]


@pytest.mark.parametrize("pooling", [*POOLINGS, "mixed"])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_the_drop_is_the_decrease_when_a_vector_is_left_out(bags, params, constraint, pooling):
    y = np.array([0, 1, 2, 1])
    drop, _, alone, _, _ = explain(bags, y, params, constraint, pooling)
    row = 0
    for X, label in zip(bags, y, strict=True):
        whole = posterior(X, params, constraint, pooling)[label]
        for s in range(X.shape[0]):
            rest = np.delete(np.arange(X.shape[0]), s)
            if len(rest):
                without = posterior(X[rest], params, constraint, pooling)
                assert drop[row] == pytest.approx(whole - without[label], abs=1e-12)
            else:
                assert np.isnan(drop[row])
            np.testing.assert_allclose(np.log(alone[row]), posterior(X[[s]], params, constraint, pooling), rtol=1e-10)
            row += 1


@pytest.mark.parametrize("pooling", [*POOLINGS, "mixed"])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_contributions_are_gradient_of_log_odds_times_input_and_sum_to_the_total(bags, params, constraint, pooling):
    y = np.array([0, 1, 2, 1])
    _, _, _, contributions, total = explain(bags, y, params, constraint, pooling)
    dense = contributions.toarray() if bags.is_sparse else contributions
    X = bags.X.toarray() if bags.is_sparse else bags.X

    def log_odds(rows, label):
        p = np.exp(posterior(rows, params, constraint, pooling))
        return np.log(p[label]) - np.log(1 - p[label])

    step = 1e-6
    for k in range(len(bags)):
        rows = slice(bags.offsets[k], bags.offsets[k + 1])
        expected = np.zeros_like(X[rows])
        for place in np.ndindex(expected.shape):
            up, down = X[rows].copy(), X[rows].copy()
            up[place] += step
            down[place] -= step
            expected[place] = X[rows][place] * (log_odds(up, y[k]) - log_odds(down, y[k])) / (2 * step)
        np.testing.assert_allclose(dense[rows], expected, rtol=0, atol=1e-8)
        assert total[k] == pytest.approx(dense[rows].sum(), abs=1e-12)


def balanced(params, bags, constraint, pooling):
    """Return parameters with which each class is predicted for some of the sets."""
    F = free_energy(bags.X, bags.offsets, params, constraint, pooling)
    return replace(params, d=params.d + F.mean(axis=0))


@pytest.mark.parametrize("temperature", [1.0, 7.0])
@pytest.mark.parametrize("pooling", [*POOLINGS, "mixed"])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_a_vector_decided_exactly_if_another_class_is_predicted_without_it(constraint, pooling, temperature):
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 5, 40)
    bags = Bags(3.0 * rng.standard_normal((sizes.sum(), 6)), np.concatenate([[0], np.cumsum(sizes)]))
    params = balanced(random_params(rng, 6, 5, 3), bags, constraint, pooling)
    expected = []
    for X in bags:
        whole = posterior(X, params, constraint, pooling).argmax()
        for s in range(len(X)):
            rest = np.delete(X, s, axis=0)
            expected.append(len(rest) > 0 and posterior(rest, params, constraint, pooling).argmax() != whole)
    several = np.add.reduceat(expected, bags.offsets[:-1])
    assert (several == 0).any()
    assert (several == 1).any()
    assert (several > 1).any(), "removing either of two vectors may change the class"
    for label in range(3):
        _, decided, _, _, _ = explain(bags, np.full(40, label), params, constraint, pooling, temperature)
        assert decided.tolist() == expected


def test_of_classes_that_are_always_tied_the_first_is_predicted_and_no_vector_decided(params):
    tied = replace(params, U=np.zeros_like(params.U), d=np.zeros_like(params.d))
    X = np.random.default_rng(0).random((60, 6))
    _, decided, _, _, _ = explain(Bags(X, np.arange(0, 61, 3)), np.zeros(20, dtype=int), tied, "or", "mean")
    assert not decided.any()


def test_two_equal_vectors_each_drop_by_zero_but_have_the_class_alone(params):
    X = np.array([[1.0, 0, 0, 1, 0, 1]] * 2)
    drop, decided, alone, _, _ = explain(Bags(X, [0, 2]), np.array([0]), params, "xor", "hard")
    assert drop.tolist() == [0.0, 0.0]
    assert not decided.any()
    np.testing.assert_allclose(np.log(alone[0]), posterior(X, params, "xor", "hard"), rtol=1e-12)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_pools_of_a_large_set_without_each_vector_stay_exact_where_subtraction_cancels(pooling):
    v = np.zeros((200, 1))
    v[7] = 60.0
    without = pools_without_each(v, np.array([0, 200]), pooling)
    assert without[7, 0] == pytest.approx(DEFINITIONS[pooling](np.zeros(199)), rel=1e-14)


def test_many_sets_in_chunks_are_the_same_as_one_by_one(params, monkeypatch):
    rng = np.random.default_rng(3)
    bags = Bags(rng.random((60, 6)), np.arange(21) * 3)
    y = rng.integers(0, 3, 20)
    whole = explain(bags, y, params, "or", "soft")
    monkeypatch.setattr("setrbm.explain.CHUNK", 7)
    for a, b in zip(whole, explain(bags, y, params, "or", "soft"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_planted_deciding_vector_and_feature_are_found():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 4, 5)) * 0.5, np.arange(60) % 2
    X[y == 1, 2, 3] = 1.0
    model = ClassSetRBM(random_state=0).fit(X, y)
    explained = model.explain(X[y == 1])
    assert (explained.strongest_vectors() == 2).mean() > 0.9
    assert explained.decided.reshape(-1, 4).any(axis=0).tolist() == [False, False, True, False]
    assert [tops[0][0] for tops in explained.top_features(1)].count(3) > 25
    assert len(explained[0]) == 1
    assert explained[-1].drop.shape == (4,)


@pytest.mark.parametrize("model", [ClassSetRBM, ClassSetRBMCV])
def test_leaving_out_the_vectors_that_decided_changes_what_predict_returns(model):
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 3, 5)), np.arange(40) % 2
    X[y == 1, 0, 0] += 0.3
    fitted = model(max_epochs=30, random_state=0).fit(X, y)
    explained = fitted.explain(X)
    left_out = [fitted.predict([np.delete(bag, s, axis=0)])[0] for bag in X for s in range(3)]
    assert explained.predicted.tolist() == fitted.predict(X).tolist()
    assert explained.decided.tolist() == (left_out != np.repeat(explained.predicted, 3)).tolist()
    assert 0 < explained.decided.sum() < 60


def test_a_requested_class_is_explained_and_an_unknown_one_refused():
    X, y = np.random.default_rng(0).random((10, 2, 3)), np.array(["a", "b"] * 5)
    model = ClassSetRBM(max_epochs=2, random_state=0).fit(X, y)
    explained = model.explain(X, y=y)
    assert explained.classes.tolist() == y.tolist()
    assert explained.predicted.tolist() == model.predict(X).tolist() != y.tolist()
    assert explained.decided.tolist() == model.explain(X).decided.tolist()
    with pytest.raises(ValueError, match=r"only the classes \['a', 'b'\]. Got c at index 0"):
        model.explain(X[:1], y=["c"])


@pytest.mark.parametrize("is_sparse", [False, True])
def test_top_features_are_the_largest_in_size_with_their_sign(is_sparse):
    contributions = np.array([[1.0, -4.0, 0.5, 2.0], [1.0, -1.0, 0.5, 1.0], [0.0, 1.0, -3.0, 2.0]])
    explained = Explanation(
        np.array(["a", "b"]), np.array(["a", "b"]), np.zeros(3), np.zeros(3, dtype=bool), np.zeros((3, 2)),
        sparse.csr_array(contributions) if is_sparse else contributions,
        np.zeros(2), np.array([0, 2, 3]), np.arange(2), np.array(["a", "b"]),
        np.array(list("wxyz"), dtype=object),
    )  # fmt: skip
    assert explained.top_features(3) == [[("x", -5.0), ("z", 3.0), ("w", 2.0)], [("y", -3.0), ("z", 2.0), ("x", 1.0)]]
    assert explained.features_for(0, 2) == [("z", 2.0), ("w", 1.0)]
    assert explained.features_for(0, 9) == [("z", 2.0), ("w", 1.0), ("y", 0.5)]
    assert explained[1].features_for(0) == explained.features_for(2) == [("z", 2.0), ("x", 1.0)]
    for too_few in (explained.top_features, lambda n: explained.features_for(0, n)):
        with pytest.raises(ValueError, match="n must be 1 or more. Got 0"):
            too_few(0)


def explained_sets():
    """Two sets of two classes: one vector decided the first, none the second."""
    return Explanation(
        np.array(["b", "a"]), np.array(["b", "a"]), np.array([0.0, 0.7, 0.9, -0.2, 0.0]),
        np.array([False, True, False, False, False]), np.array([[0.9, 0.1], [0.2, 0.8]] * 2 + [[0.5, 0.5]]),
        np.arange(10.0).reshape(5, 2), np.zeros(2), np.array([0, 2, 5]), np.array(["first", "second"]),
        np.array(["a", "b"]), np.array(["x", "y"], dtype=object),
    )  # fmt: skip


def test_the_strongest_vector_has_the_largest_drop_even_if_it_did_not_decide():
    explained = explained_sets()
    assert explained.strongest_vectors().tolist() == [1, 0]
    assert explained[1].decided.tolist() == [False] * 3
    assert repr(explained) == "Explanation(2 sets, 5 vectors, 2 features)"
    assert repr(explained[0][0]) == "Explanation(1 set, 2 vectors, 2 features)"


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_a_row_for_each_vector(backend):
    frame = explained_sets().to_frame(backend)
    columns = {
        name: np.asarray(frame[name]).tolist() for name in ("set", "vector", "class", "drop", "alone", "decided")
    }
    assert columns["set"] == ["first"] * 2 + ["second"] * 3
    assert columns["vector"] == [0, 1, 0, 1, 2]
    assert columns["class"] == ["b"] * 2 + ["a"] * 3
    assert columns["drop"] == [0.0, 0.7, 0.9, -0.2, 0.0]
    assert columns["alone"] == [0.1, 0.8, 0.9, 0.2, 0.5]
    assert columns["decided"] == [False, True, False, False, False]


def test_a_frame_of_an_explanation_needs_pandas():
    # A new process, since narwhals keeps a package that it has once found.
    code = (
        "import sys\nsys.modules['pandas'] = None\nimport numpy as np\nfrom setrbm.explain import Explanation\n"
        "one = np.ones(1)\n"
        "Explanation(one, one, one, one, np.ones((1, 1)), np.ones((1, 1)), one, np.array([0, 1]), one, one).to_frame()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: to_frame needs pandas, which is not installed. Run: pip install pandas. Or pass backend='polars' "
        "or 'pyarrow'."
    )


def test_a_plot_marks_the_vectors_that_decided_and_only_those():
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib.figure import Figure

    first, second = (explained[0] for explained in explained_sets())
    axes = first.plot(figure=Figure())
    assert [bar.get_width() for bar in axes[0].patches] == [0.0, 0.7]
    assert [bar.get_width() for bar in axes[1].patches] == [0.1, 0.8]
    assert axes[0].patches[0].get_facecolor() != axes[0].patches[1].get_facecolor()
    assert [label.get_text() for label in axes[2].get_yticklabels()] == ["y", "x"]
    assert axes[0].figure.get_suptitle() == "Set first: b (vector 1 decided)"
    axes = second.plot(n_features=1)
    assert len({bar.get_facecolor() for bar in axes[0].patches}) == 1
    assert len(axes[2].patches) == 1
    assert axes[0].figure.get_suptitle() == "Set second: a (no single vector decided; the largest drop is +0.9)"
    other = replace(second, predicted=np.array(["b"]), decided=np.array([True, False, True]))
    axes = other.plot(figure=Figure())
    marked, plain, also_marked = (bar.get_facecolor() for bar in axes[0].patches)
    assert marked == also_marked != plain
    assert axes[0].figure.get_suptitle() == "Set second: a (predicted b; each of vectors 0, 2 decided)"
    with pytest.raises(ValueError, match=r"plot shows one set. Got 2. Select one first: explanation\[0\].plot\(\)"):
        explained_sets().plot()


def test_the_only_vector_of_a_set_has_neither_a_drop_nor_a_verdict(params):
    bags = Bags(np.random.default_rng(0).random((30, 6)), np.arange(31))
    params = balanced(params, bags, "xor", "soft")
    drop, decided, alone, _, _ = explain(bags, np.zeros(30, dtype=int), params, "xor", "soft")
    assert np.isnan(drop).all()
    assert not decided.any()
    assert (alone.argmax(axis=1) != params.d.argmax()).any(), "the class biases would give another class"
    first = replace(explained_sets()[0][:1], offsets=np.array([0, 1]), drop=drop[:1], decided=decided[:1])
    one = replace(first, alone=first.alone[:1], contributions=first.contributions[:1])
    axes = one.plot()
    assert axes[0].figure.get_suptitle() == "Set first: b (it has only one vector)"
    assert one.strongest_vectors().tolist() == [0]


@pytest.mark.parametrize("key", [slice(1, 2), [1], np.array([False, True])])
def test_several_sets_of_an_explanation_can_be_selected(key):
    part, whole = explained_sets()[key], explained_sets()
    assert part.ids.tolist() == ["second"]
    assert part.drop.tolist() == [0.9, -0.2, 0.0]
    assert whole[[1, 0]].drop.tolist() == [0.9, -0.2, 0.0, 0.0, 0.7]
    assert whole[[1, 0]].decided.tolist() == [False] * 4 + [True]
    assert part.predicted.tolist() == ["a"]
    assert whole[[1, 0]].offsets.tolist() == [0, 3, 5]
    with pytest.raises(IndexError, match="Set 9 is out of range for 2 sets"):
        whole[9]
