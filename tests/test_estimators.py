import re
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from brute import CONSTRAINTS, POOLINGS, visible_states
from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV, draws
from setrbm.datasets import load_musk1
from setrbm.energy import free_energy, log_posterior
from setrbm.engines import get_engine
from setrbm.engines.protocol import LabeledSets
from setrbm.estimators import MaxOutClassifier
from setrbm.estimators.search import refits
from setrbm.estimators.search.search import Batch
from setrbm.estimators.settings import Settings
from setrbm.shards import write_shards
from setrbm.training import InMemory, Schedule, Training, train

RNG = np.random.default_rng(0)
OBJECTIVES = ["discriminative", "generative", "hybrid"]


def easy(n_sets=40, n_features=6, seed=0, low=0.0, high=1.0):
    """Sets of 1 to 5 vectors; those of class 1 hold one vector with a large first feature."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_sets)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = rng.random((offsets[-1], n_features)) * 0.6
    y = np.arange(n_sets) % 2
    X[offsets[:-1][y == 1], 0] = 1.0
    return Bags(low + (high - low) * X, offsets), y


class EpochCallback:
    """A scikit-learn callback that does something after every epoch, given its phase and its number."""

    def __init__(self, act):
        self.act = act

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "epoch":
            return self.act(context.parent.task_name, context.task_id + 1)


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


def test_the_class_rbm_refuses_sets_and_names_the_alternatives():
    with pytest.raises(ValueError, match=r"single vectors. Got a set of \d at index \d+. Use ClassSetRBM"):
        ClassRBM().fit(*easy())


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


def test_assigned_letters_change_predictions():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=2, scale=None, pooling="soft", random_state=0).fit(bags, y)
    model.W_ = model.W_ * 0.0
    model.U_ = np.zeros((5, 2))
    model.d_ = np.array([0.0, np.log(3.0)])
    np.testing.assert_allclose(model.predict_proba(bags), np.tile([0.25, 0.75], (40, 1)), rtol=1e-12)
    model.U_[0, 0] = 5.0
    expected = free_energy(bags.X, bags.offsets, model._params(), "xor", "soft")
    np.testing.assert_allclose(model.free_energy(bags), expected, rtol=1e-12)
    model.d_ = np.zeros(3)
    with pytest.raises(ValueError, match=r"d_ must have shape \(2,\). Got \(3,\)"):
        model.predict(bags)


def test_several_calls_of_partial_fit_equal_a_fit_of_as_many_epochs():
    bags, y = easy()
    settings = {"n_hidden": 5, "random_state": 0}
    whole = ClassSetRBM(**settings, max_epochs=3, early_stopping=False).fit(bags, y)
    parts = ClassSetRBM(**settings)
    for _ in range(3):
        assert parts.partial_fit(bags, y, classes=[0, 1]) is parts
    np.testing.assert_allclose(parts.W_, whole.W_, rtol=0, atol=1e-14)
    assert parts.n_epochs_ == 3
    assert parts.history_["loss"] == pytest.approx(whole.history_["loss"])


def test_partial_fit_says_what_is_wrong_with_classes():
    bags, y = easy()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        ClassSetRBM().partial_fit(bags, y)
    model = ClassSetRBM(5).partial_fit(bags, y, classes=[0, 1, 2])
    assert model.predict_proba(bags).shape == (40, 3)
    with pytest.raises(ValueError, match=r"must be those of the first call, \[0, 1, 2\]"):
        model.partial_fit(bags, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"only the classes \[0, 1, 2\]. Got 7 at index 0"):
        model.partial_fit(bags, np.full(40, 7))


def test_a_warm_start_continues_from_the_fitted_parameters():
    bags, y = easy()
    settings = {"n_hidden": 5, "random_state": 0, "early_stopping": False}
    whole = ClassSetRBM(**settings, max_epochs=5).fit(bags, y)
    warm = ClassSetRBM(**settings, max_epochs=2, warm_start=True).fit(bags, y)
    warm.set_params(max_epochs=3).fit(bags, y)
    np.testing.assert_allclose(warm.W_, whole.W_, rtol=0, atol=1e-14)
    assert warm.n_epochs_ == warm.best_epoch_ == 5
    assert warm.history_["loss"] == pytest.approx(whole.history_["loss"])


def test_a_warm_start_keeps_its_held_out_sets_and_never_returns_a_worse_model():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=30, warm_start=True, random_state=None).fit(bags, y)
    seed, best = model.seed_, min(model.history_["held_out_loss"])
    before, best_epoch = model.predict_proba(bags), model.best_epoch_
    # A rate this large only spoils the model.
    model.set_params(learning_rate=3.0, max_epochs=4).fit(bags, y)
    assert model.seed_ == seed
    assert min(model.history_["held_out_loss"][30:]) > best
    np.testing.assert_array_equal(model.predict_proba(bags), before)
    assert (model.best_epoch_, model.n_epochs_, len(model.history_["loss"])) == (best_epoch, 34, 34)


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


def test_partial_fit_ignores_sets_of_weight_zero():
    bags, y = easy()
    weight = np.ones(40)
    weight[::4] = 0.0
    bags.X[bags.offsets[0] : bags.offsets[1]] = 77.0
    settings = {"n_hidden": 5, "random_state": 0}
    given = ClassSetRBM(**settings).partial_fit(bags, y, classes=[0, 1], sample_weight=weight)
    without = ClassSetRBM(**settings).partial_fit(bags[weight > 0], y[weight > 0], classes=[0, 1])
    np.testing.assert_array_equal(given.W_, without.W_)
    assert (given.partial_fit(bags, y, sample_weight=np.full(40, 2.0)).W_ != without.partial_fit(bags, y).W_).any()
    with pytest.raises(
        ValueError, match="must contain at least one non-zero|must have a weight above zero. Got zero for all 40"
    ):
        given.partial_fit(bags, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="At least one set must have a weight above zero. Got zero for all 40"):
        given.set_params(class_weight={0: 0.0, 1: 0.0}).partial_fit(bags, y)


def test_persistent_chains_are_refused_where_they_cannot_persist():
    bags, y = easy()
    with pytest.raises(ValueError, match=r"partial_fit sees each set once. Use fit, or persistent=False"):
        ClassSetRBM(5, objective="hybrid", persistent=True).partial_fit(bags, y, classes=[0, 1])


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


def test_cv_chooses_the_best_held_out_score_and_refits_on_all_sets():
    bags, y = easy(60)
    settings = {"init_scale": 0.3, "max_epochs": 30, "early_stopping": True, "n_fits": 1, "random_state": 0}
    model = ClassSetRBMCV(5, pooling="hard", learning_rate=(1e-5, 0.1), **settings).fit(bags, y)
    assert model.best_params_ == {"learning_rate": 0.1}
    assert model.best_score_ == max(model.cv_results_["mean_test_score"])
    assert model.cv_results_["rank_test_score"][model.best_index_] == 1
    chosen = model.cv_results_["n_epochs"][model.best_index_]
    assert model.n_epochs_ == chosen
    again = ClassSetRBM(
        5, learning_rate=0.1, init_scale=0.3, weight_decay=model.weight_decay, max_epochs=chosen,
        early_stopping=False, random_state=0,
    ).fit(bags, y)  # fmt: skip
    np.testing.assert_array_equal(model.W_, again.W_)


def test_cv_without_refit_is_the_procedure_of_the_paper():
    bags, y = easy(60)
    settings = {"max_epochs": 30, "patience": 5, "init_scale": 0.3, "learning_rate": 0.1, "weight_decay": 0.0}
    kept = ClassSetRBMCV(5, refit=False, early_stopping=True, random_state=0, **settings).fit(bags, y)
    alone = ClassSetRBM(5, random_state=0, **settings).fit(bags, y)
    np.testing.assert_array_equal(kept.W_, alone.W_)


def test_cv_chooses_among_models_of_different_shape():
    bags, y = easy()
    model = ClassSetRBMCV(
        (3, 5), constraint=("xor", "or"), pooling=("soft", "hard"), learning_rate=0.05, init_scale=0.3, max_epochs=3
    ).fit(bags, y)
    assert set(model.best_params_) == {"n_hidden", "constraint", "pooling"}
    assert len(model.cv_results_["params"]) == 8
    assert model.W_.shape[0] == 5 * model.best_params_["n_hidden"]
    expected = free_energy(
        model._scaled(bags).X, bags.offsets, model._params(), model.best_params_["constraint"],
        model.best_params_["pooling"],
    )  # fmt: skip
    np.testing.assert_allclose(model.free_energy(bags), expected, rtol=1e-10)


def test_cv_survives_candidates_that_diverge_and_says_which():
    bags, y = easy()
    settings = {"init_scale": 0.3, "max_epochs": 5, "weight_decay": 0.0, "random_state": 0}
    model = ClassSetRBMCV(5, learning_rate=(0.1, 1e9), **settings).fit(bags, y)
    assert model.cv_results_["diverged"].tolist() == [False, True]
    assert [len(history["loss"]) for history in model.cv_results_["split0_history"]] == [5, 1]
    with pytest.raises(ValueError, match="Training diverged"):
        ClassSetRBMCV(5, learning_rate=(1e9, 1e10), **settings).fit(bags, y)
    overturned = ClassSetRBMCV(5, learning_rate=0.1, **settings | {"weight_decay": (0.0, 20.0)}).fit(bags, y)
    assert overturned.cv_results_["diverged"].tolist() == [False, True]


def test_ctrl_c_ends_the_whole_choice_and_keeps_the_best_candidate_so_far():
    bags, y = easy()
    epochs = []

    def interrupt(phase, number):
        epochs.append(number)
        if len(epochs) == 6:
            raise KeyboardInterrupt

    # Three shapes, so three groups; Ctrl-C comes in the second.
    model = ClassSetRBMCV((3, 4, 5), learning_rate=(0.05, 0.1), init_scale=0.3, max_epochs=4, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(EpochCallback(interrupt)).fit(bags, y)
    assert epochs == [1, 2, 3, 4, 1, 2]
    assert np.isfinite(model.cv_results_["mean_test_score"]).tolist() == [True] * 4 + [False] * 2
    assert model.best_score_ == np.nanmax(model.cv_results_["mean_test_score"])
    assert len(model.c_) == model.best_params_["n_hidden"]


def test_every_initial_size_begins_at_its_own_size():
    bags, y = easy()
    settings = {"learning_rate": 0.05, "max_epochs": 3, "n_fits": 1, "refit": False, "random_state": 0}
    both = ClassSetRBMCV(4, init_scale=(0.01, 2.0), **settings).fit(bags, y)
    for place, size in enumerate((0.01, 2.0)):
        alone = ClassSetRBMCV(4, init_scale=size, **settings).fit(bags, y)
        assert both.cv_results_["split0_history"][place] == alone.cv_results_["split0_history"][0]
    assert both.cv_results_["split0_history"][0] != both.cv_results_["split0_history"][1]


def test_samples_have_the_asked_sizes_the_units_of_the_data_and_known_labels():
    bags, y = easy(60, low=-5.0, high=3.0)
    labels = np.array(["no", "yes"])[y]
    model = ClassSetRBM(20, objective="generative", generative_learning_rate=0.01, random_state=0).fit(bags, labels)
    drawn, classes = model.sample([1, 4, 2] * 20, n_steps=50, random_state=0)
    assert drawn.sizes.tolist() == [1, 4, 2] * 20
    assert set(classes) <= {"no", "yes"}
    assert drawn.X.min() >= bags.X.min()
    assert drawn.X.max() <= bags.X.max()
    again, _ = model.sample([1, 4, 2] * 20, n_steps=50, random_state=0)
    np.testing.assert_array_equal(drawn.X, again.X)
    with pytest.raises(ValueError, match="sizes must be positive integers"):
        model.sample([0, 2])


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


def test_hidden_probabilities_have_one_row_per_vector():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=2, random_state=0).fit(bags, y)
    h = model.hidden_probabilities(bags, y)
    assert h.shape == (bags.n_vectors, 5)
    # Under xor at most one copy of a unit is on.
    assert (np.add.reduceat(h, bags.offsets[:-1]) <= 1 + 1e-12).all()


def test_only_soft_pooling_has_a_joint_distribution():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=2).fit(bags, y)
    with pytest.raises(ValueError, match="log_joint needs pooling='soft' or 'mean'"):
        model.log_joint(bags)
    soft = ClassSetRBM(5, pooling="soft", max_epochs=2).fit(bags, y)
    joint = soft.log_joint(bags)
    np.testing.assert_allclose(
        joint - joint[:, [0]], -(soft.free_energy(bags) - soft.free_energy(bags)[:, [0]]), rtol=0, atol=1e-9
    )


def test_progress_is_shown_when_asked(capsys):
    bags, y = easy()
    ClassSetRBM(5, max_epochs=3, verbose=2).fit(bags, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert re.match(
        r"\[ClassSetRBM\] fitting, epoch 3/3: loss \d\.\d+, held-out loss \d\.\d+ \(.* s, at most 0.0 s left\)",
        lines[-1],
    )
    ClassSetRBM(5, max_epochs=3).fit(bags, y)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("warm_start", [False, True])
def test_ctrl_c_stores_the_best_parameters_so_far_and_is_raised(warm_start):
    bags, y = easy(200)

    def interrupt(phase, number):
        if number == 30:
            raise KeyboardInterrupt

    model = ClassSetRBM(20, max_epochs=100_000, patience=None, warm_start=warm_start, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(EpochCallback(interrupt)).fit(bags, y)
    whole = ClassSetRBM(20, max_epochs=30, patience=None, random_state=0).fit(bags, y)
    np.testing.assert_array_equal(model.W_, whole.W_)
    np.testing.assert_array_equal(model.predict_proba(bags), whole.predict_proba(bags))


def test_ctrl_c_after_the_pass_of_partial_fit_leaves_the_model_unchanged():
    bags, y = easy()

    def interrupt(phase, number):
        raise KeyboardInterrupt

    model = ClassSetRBM(5, random_state=0).partial_fit(bags, y, classes=[0, 1])
    before = {name: np.copy(value) for name, value in vars(model).items() if name != "history_"}
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(EpochCallback(interrupt)).partial_fit(bags, y)
    model.set_callbacks()
    assert {name for name in vars(model) if name != "history_"} == set(before)
    np.testing.assert_array_equal(model.W_, before["W_"])
    assert model.n_epochs_ == 1


@pytest.mark.parametrize("estimator", [ClassSetRBM(5, max_epochs=50), ClassSetRBMCV(5, max_epochs=50)])
def test_ctrl_c_stops_cross_validation(estimator):
    bags, y = easy()
    begun = []

    def interrupt(phase, number):
        begun.append(number)
        if number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_val_score(clone(estimator).set_callbacks(EpochCallback(interrupt)), bags, y, cv=5)
    assert begun == [1, 2, 3]


def test_a_callback_may_end_training():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=50, early_stopping=False, random_state=0)
    model.set_callbacks(EpochCallback(lambda phase, number: number == 4)).fit(bags, y)
    assert model.n_epochs_ == 4
    np.testing.assert_array_equal(
        model.W_, ClassSetRBM(5, max_epochs=4, early_stopping=False, random_state=0).fit(bags, y).W_
    )


@pytest.mark.parametrize(("pooling", "n_poolings"), [("hard", 1), ("mixed", 2)])
def test_callbacks_see_every_phase_and_epoch(pooling, n_poolings):
    bags, y = easy()
    seen = []
    settings = {"pooling": pooling, "learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 3, "random_state": 0}
    model = ClassSetRBMCV((3, 4), **settings)
    model.set_callbacks(EpochCallback(lambda phase, number: seen.append((phase, number)))).fit(bags, y)
    phases = ["choosing", "choosing"] + ["fitting"] * n_poolings
    assert seen == [(phase, n) for phase in phases for n in (1, 2, 3)]


class TaskCallback(EpochCallback):
    """A scikit-learn callback that records the tasks that begin: name, name of the parent, subtasks announced, done."""

    def __init__(self):
        self.tasks = {}

    def on_fit_task_begin(self, estimator, context):
        parent = context.parent
        self.tasks[id(context)] = [context, context.task_name, context.max_subtasks, 0]
        if parent is not None:
            self.tasks[id(parent)][3] += 1

    def on_fit_task_end(self, estimator, context):
        pass

    def found(self):
        """Return name, announced and done of every task but epochs."""
        return [(name, announced, done) for _, name, announced, done in self.tasks.values() if name != "epoch"]


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    ("settings", "n_choosing"),
    [
        ({}, 1),
        ({"pooling": ("mixed", "hard", "soft")}, 2),
        ({"n_hidden": (2, 3)}, 2),
        ({"constraint": ("xor", "or"), "pooling": "mean"}, 2),
        ({"refit": False}, 1),
        ({"n_hidden": (2, 3), "refit": False}, 2),
        ({"calibrate": True}, 1),
    ],
)
def test_as_many_tasks_are_announced_to_callbacks_as_are_run(settings, n_choosing, is_sparse):
    bags, y = easy()
    bags = bags.with_vectors(sparse.csr_array(bags.X)) if is_sparse else bags
    common = {"n_hidden": 3, "learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 3, "random_state": 0}
    callback = TaskCallback()
    model = ClassSetRBMCV(**common | settings).set_callbacks(callback).fit(bags, y)
    found = callback.found()
    assert all(announced == done for _, announced, done in found)
    assert found[:2] == [("fit", 1 + model.refit, 1 + model.refit), ("choosing", n_choosing, n_choosing)]
    # One training per kind of candidate, and one per pooling that is refitted.
    refitted = [("fitting", n := len(set(model.settings_.poolings)), n)] + n * [("fitting", 3, 3)]
    assert found[2:] == n_choosing * [("choosing", 3, 3)] + refitted * model.refit


def test_a_fit_that_needs_no_refit_has_a_phase_without_trainings():
    bags, y = easy(4)
    callback = TaskCallback()
    settings = {"n_fits": 1, "learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 3, "random_state": 0}
    with pytest.warns(UserWarning, match="No set can be held out"):
        ClassSetRBMCV(3, **settings).set_callbacks(callback).fit(bags[:2], y[:2])
    assert callback.found() == [("fit", 2, 2), ("choosing", 1, 1), ("choosing", 3, 3), ("fitting", 0, 0)]


def test_a_fit_that_chooses_nothing_has_one_training():
    bags, y = easy()
    callback = TaskCallback()
    ClassSetRBM(3, early_stopping=False, max_epochs=4, random_state=0).set_callbacks(callback).fit(bags, y)
    assert callback.found() == [("fit", 1, 1), ("fitting", 4, 4)]


@pytest.mark.parametrize("fails", [False, True])
def test_callbacks_are_torn_down_whether_fit_fails_or_not(fails):
    bags, y = easy()
    down = []
    callback = EpochCallback(lambda phase, number: None)
    callback.teardown = lambda estimator, context: down.append(context.task_name)
    model = ClassSetRBM(5, max_epochs=2).set_callbacks(callback)
    with pytest.raises(ValueError, match="finite") if fails else nullcontext():
        model.fit(bags.with_vectors(np.full(bags.X.shape, np.nan)) if fails else bags, y)
    assert down == ["fit"]
    assert not any("callback" in name for name in vars(model) if name != "_skl_callbacks")


def test_scikit_learns_progress_bar_shows_our_fits(capsys):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")
    bags, y = easy()
    model = ClassSetRBMCV(3, learning_rate=0.1, init_scale=0.3, max_epochs=3, random_state=0)
    model.set_callbacks(callback.ProgressBar()).fit(bags, y)
    shown = capsys.readouterr().out
    assert "ClassSetRBMCV" in shown and "choosing" in shown and "fitting" in shown and "100%" in shown


# --- bad input ---


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused_in_fit_and_predict(value):
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=1).fit(bags, y)
    X = bags.X.copy()
    X[3, 2] = value
    bad = Bags(X, bags.offsets)
    for call in (lambda: ClassSetRBM().fit(bad, y), lambda: model.predict(bad)):
        with pytest.raises(ValueError, match=r"must be finite. Got 1 .* set at index \d, vector \d, feature 2"):
            call()


def test_values_that_are_not_finite_are_named_in_a_plain_matrix_too():
    X = np.ones((5, 3))
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="the first NaN in the set at index 4, vector 0, feature 1"):
        ClassSetRBM().fit(X, [0, 1, 0, 1, 0])


def test_one_class_only_is_refused():
    bags, _ = easy()
    with pytest.raises(ValueError, match="at least two classes. Got 1 class: 7"):
        ClassSetRBM().fit(bags, np.full(40, 7))
    weight = np.zeros(40)
    weight[::2] = 1.0
    with pytest.raises(ValueError, match="whose weight is not zero"):
        ClassSetRBM().fit(bags, np.arange(40) % 2, sample_weight=weight)


def test_another_number_of_features_is_refused():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=1).fit(bags, y)
    with pytest.raises(ValueError, match="X has 3 features, but ClassSetRBM is expecting 6"):
        model.predict(Bags(np.ones((2, 3)), [0, 2]))


def test_other_feature_names_are_refused():
    X, y = RNG.random((4, 2)), [0, 1]
    model = ClassSetRBM(5, max_epochs=1).fit(Bags(X, [0, 2, 4], feature_names=["a", "b"]), y)
    with pytest.raises(ValueError, match="Got 'b' at position 0 where fit had 'a'"):
        model.predict(Bags(X, [0, 2, 4], feature_names=["b", "a"]))


def test_lengths_that_differ_are_refused():
    bags, y = easy()
    with pytest.raises(ValueError, match=r"one label for each of the 40 sets\. Got 39 labels"):
        ClassSetRBM().fit(bags, y[:-1])


@pytest.mark.parametrize("objective", ["generative", "hybrid"])
def test_values_outside_zero_and_one_are_refused_for_binary_units_without_scaling(objective):
    bags, y = easy(low=-1.0, high=2.0)
    with pytest.raises(
        ValueError, match=r"in \[0, 1\].*Got \d+ outside, from -0.99.* to 2, the first in the set at index 0"
    ):
        ClassSetRBM(objective=objective, scale=None).fit(bags, y)
    model = ClassSetRBM(5, objective=objective, scale=None, visible="gaussian", max_epochs=2)
    assert np.isfinite(model.fit(bags, y).W_).all()
    with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
        ClassSetRBMCV(objective=("discriminative", objective), scale=None).fit(bags, y)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_divergence_is_reported_at_once(engine):
    bags, y = easy()
    model = ClassSetRBM(learning_rate=1e6, weight_decay=0.0, max_epochs=10_000, patience=None, engine=engine)
    with pytest.raises(ValueError, match=r"Training diverged. Got .* in epoch 1 .*Lower the learning"):
        model.fit(bags, y)


def test_divergence_of_the_generative_part_is_reported_even_if_the_loss_stays_low():
    bags, y = easy(low=-50.0, high=50.0)
    model = ClassSetRBM(
        objective="hybrid", visible="gaussian", scale=None, learning_rate=1e-9, generative_learning_rate=10.0,
        weight_decay=0.0, max_epochs=100, patience=None, init_scale=1e-9, random_state=0,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"Training diverged. Got .* in epoch \d+ .*generative_learning_rate=10.0"):
        model.fit(bags, y)


def test_weight_decay_that_flips_the_sign_of_weights_is_refused():
    with pytest.raises(
        ValueError, match=r"rate times weight_decay must be below 1. Got weight_decay=30.0.*Lower the r"
    ):
        ClassSetRBM(weight_decay=30.0).fit(*easy())


@pytest.mark.parametrize(
    "break_it",
    [
        lambda m, bags, y: m.fit(bags, np.zeros(40)),
        lambda m, bags, y: m.fit(bags.with_vectors(np.full((bags.n_vectors, 3), np.nan)), y),
        lambda m, bags, y: m.set_params(learning_rate=1e9, weight_decay=0).fit(bags.with_vectors(bags.X[:, :3]), y),
        lambda m, bags, y: m.fit(np.ones((4, 2)), ["a", "b", "a"]),
        lambda m, bags, y: m.partial_fit(bags, np.full(40, 9)),
    ],
    ids=["one class", "nan", "divergence", "length", "partial_fit"],
)
def test_a_failed_fit_leaves_a_fitted_estimator_usable(break_it):
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=2, random_state=0).fit(bags, y)
    before = model.predict_proba(bags)
    with pytest.raises(ValueError, match=r"."):
        break_it(model, bags, y)
    np.testing.assert_array_equal(model.predict_proba(bags), before)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"constraint": "and"}, "constraint must be one of 'xor', 'or'. Got 'and'"),
        ({"pooling": "max"}, "pooling must be one of 'soft', 'hard', 'mean'. Got 'max'"),
        ({"pooling": "mixed"}, "pooling must be one of 'soft', 'hard', 'mean'. Got 'mixed'"),
        ({"objective": "both"}, "objective must be one of"),
        ({"visible": "poisson"}, "visible must be one of"),
        ({"scale": "standard"}, "scale must be one of 'auto', None. Got 'standard'"),
        ({"scale": "center"}, "scale must be one of 'auto', None. Got 'center'"),
        ({"scale": "standardize"}, "scale must be one of 'auto', None. Got 'standardize'"),
        ({"n_hidden": 0}, "n_hidden must be an integer of 1 or more. Got 0"),
        ({"n_hidden": 2.5}, "n_hidden must be an integer"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number. Got 0.0"),
        ({"learning_rate": (0.1, 0.2)}, "learning_rate must be a positive number. Got"),
        ({"weight_decay": -1.0}, "weight_decay must be a number of 0 or more. Got -1.0"),
        ({"init_scale": np.nan}, "init_scale must be a number of 0 or more"),
        ({"validation_fraction": 1.0}, "validation_fraction must lie between 0 and 1"),
        ({"patience": 0}, "patience must be None or an integer of 1 or more"),
        ({"engine": "tpu"}, "engine must be one of"),
        ({"engine": {}}, "engine must be one of"),
        ({"n_jobs": 0}, "n_jobs must be a positive number of threads"),
        ({"n_jobs": True}, "n_jobs must be a positive number of threads"),
        ({"learning_rate": True}, "learning_rate must be a positive number. Got True"),
        ({"weight_decay": False}, "weight_decay must be a number of 0 or more. Got False"),
        ({"patience": True}, "patience must be None or an integer of 1 or more. Got True"),
        ({"persistent": "no"}, "persistent must be True or False. Got 'no'"),
        ({"warm_start": "no"}, "warm_start must be True or False. Got 'no'"),
        ({"early_stopping": "auto"}, "early_stopping must be True or False. Got 'auto'"),
        ({"class_weight": "equal"}, "class_weight must be None, 'balanced' or a dict"),
        ({"verbose": "no"}, "verbose must be an integer. Got 'no'"),
    ],
)
def test_invalid_settings_are_refused_by_name(settings, message):
    bags, y = easy()
    with pytest.raises(ValueError, match=message):
        ClassSetRBM(**settings).fit(bags, y)


def test_cv_checks_every_choice():
    bags, y = easy()
    with pytest.raises(ValueError, match="learning_rate must be a positive number. Got -0.1"):
        ClassSetRBMCV(learning_rate=(0.1, -0.1)).fit(bags, y)


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


def test_outliers_that_squeeze_a_feature_cause_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4, 3)), np.arange(40) % 2
    ClassSetRBM(5, max_epochs=1).fit(X, y)
    X[3, 2, 1] = 5000.0
    with pytest.warns(UserWarning, match=r"In 1 of 3 features \(the first: 1\) outliers leave"):
        ClassSetRBM(5, max_epochs=1).fit(X, y)
    rare = (rng.random((40, 4, 3)) < 0.01).astype(float)
    ClassSetRBM(5, max_epochs=1).fit(rare, y)


def test_a_model_worse_than_guessing_causes_a_warning():
    bags, _ = easy()
    y = np.random.default_rng(0).integers(0, 2, len(bags))
    model = ClassSetRBM(learning_rate=3.0, early_stopping=False, max_epochs=3, random_state=0)
    with pytest.warns(UserWarning, match="worse than guessing: its mean loss is .* that of guessing 0.693"):
        model.fit(bags, y)


@pytest.mark.parametrize("weights", [{0: -1.0, 1: 1.0}, {0: np.nan, 1: 1.0}])
def test_invalid_class_weights_are_refused(weights):
    with pytest.raises(ValueError, match="class_weight must hold finite numbers of 0 or more"):
        ClassSetRBM(class_weight=weights).fit(*easy())


def test_warm_start_refuses_another_number_of_hidden_units():
    model = ClassSetRBM(5, max_epochs=1, warm_start=True).fit(*easy())
    with pytest.raises(ValueError, match="continues with the 5 hidden units fitted. Got n_hidden=7"):
        model.set_params(n_hidden=7).fit(*easy())


def test_a_first_part_without_any_range_is_refused():
    with pytest.raises(ValueError, match="must show the range of the features. Every feature is constant"):
        ClassSetRBM().partial_fit([np.ones((1, 3))], [0], classes=[0, 1])


@pytest.mark.parametrize("nothing", [[], ()])
def test_empty_input_is_refused(nothing):
    with pytest.raises(ValueError, match="at least one set. Got none"):
        ClassSetRBM().fit(nothing, [])


def test_an_object_array_of_matrices_is_sets():
    bags, y = easy()
    sets = np.empty(len(bags), dtype=object)
    for k, matrix in enumerate(bags):
        sets[k] = matrix
    model = ClassSetRBM(5, max_epochs=2, random_state=0)
    np.testing.assert_array_equal(model.fit(sets, y).W_, model.fit(bags, y).W_)


def test_empty_and_impossible_choices_are_refused():
    with pytest.raises(ValueError, match="learning_rate must offer at least one value"):
        ClassSetRBMCV(learning_rate=()).fit(*easy())
    with pytest.raises(ValueError, match=r"visible must be one of 'binary', 'gaussian'. Got \['binary'\]"):
        ClassSetRBMCV(visible=["binary"]).fit(*easy())


@pytest.mark.parametrize(
    ("n_fits", "pooling", "scale"), [(1, "hard", "auto"), (3, "hard", "auto"), (5, "mixed", "center")]
)
def test_a_refit_that_diverges_leaves_the_model_as_it_was_chosen(monkeypatch, n_fits, pooling, scale):
    bags, y = easy()
    settings = {"learning_rate": (0.05, 0.1), "init_scale": 0.3, "max_epochs": 4, "random_state": 0}
    kept = ClassSetRBMCV(5, pooling="hard", scale=scale, refit=False, **settings).fit(bags, y)

    def train_apart(batch, *args, real=Batch.train):
        phase = batch.schedule.phase
        monkeypatch.setattr("setrbm.training.loop.DIVERGED", 30.0 if phase == "choosing" else 1e-9)
        return real(batch, *args)

    monkeypatch.setattr(Batch, "train", train_apart)
    with pytest.warns(UserWarning, match=r"diverged in (\d+) of \1 refits. The best candidate is kept without a refit"):
        model = ClassSetRBMCV(5, pooling=pooling, n_fits=n_fits, **settings).fit(bags, y)
    np.testing.assert_array_equal(model.W_, kept.W_)
    np.testing.assert_array_equal(model.predict_proba(bags), kept.predict_proba(bags))
    assert (model.settings_.pooling, model.temperature_) == ("hard", 1.0)


def test_fits_that_diverge_are_left_out_of_the_average(monkeypatch):
    bags, y = easy()
    settings = {"pooling": "hard", "learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 4, "random_state": 0}
    whole = ClassSetRBMCV(5, n_fits=3, **settings).fit(bags, y)

    def train_apart(*args, real=Batch.train):
        outcomes = real(*args)
        return outcomes if len(outcomes) < 3 else [outcomes[0], replace(outcomes[1], diverged_in=2), outcomes[2]]

    monkeypatch.setattr(Batch, "train", train_apart)
    with pytest.warns(UserWarning, match="diverged in 1 of 3 refits. The others are kept. Offer smaller"):
        model = ClassSetRBMCV(5, n_fits=3, **settings).fit(bags, y)
    np.testing.assert_array_equal(model.W_, np.delete(whole.W_, slice(5, 10), axis=0))
    assert model.temperature_ == 2.0


@pytest.mark.parametrize("estimator", [ClassSetRBM(5), ClassSetRBM(5, early_stopping=False), ClassSetRBMCV(5)])
def test_ctrl_c_before_the_first_epoch_leaves_the_estimator_unchanged(monkeypatch, estimator):
    def interrupt(self, placed, orders, epoch):
        raise KeyboardInterrupt

    bags, y = easy()
    parts = ClassSetRBM(5, random_state=0).partial_fit(bags, y, classes=[0, 1])
    before = parts.W_.copy()
    monkeypatch.setattr("setrbm.engines.cpu.CpuSession.run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(bags, y)
    assert not hasattr(estimator, "W_")
    with pytest.raises(KeyboardInterrupt):
        parts.partial_fit(bags, y)
    np.testing.assert_array_equal(parts.W_, before)


# The coordinates in which the settings of a pooling are chosen, always with hard pooling.
CHOSEN_IN = [("hard", "auto"), ("mixed", "center")]


@pytest.mark.parametrize(("pooling", "scale"), CHOSEN_IN)
@pytest.mark.parametrize("epoch", [1, 3])
def test_ctrl_c_in_the_refit_keeps_the_best_candidate(epoch, pooling, scale):
    bags, y = easy()
    settings = {"learning_rate": (0.05, 0.1), "init_scale": 0.3, "max_epochs": 20, "random_state": 0}
    kept = ClassSetRBMCV(5, pooling="hard", scale=scale, refit=False, **settings).fit(bags, y)

    def interrupt(phase, number):
        if phase == "fitting" and number == epoch:
            raise KeyboardInterrupt

    model = ClassSetRBMCV(5, pooling=pooling, **settings).set_callbacks(EpochCallback(interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(bags, y)
    np.testing.assert_array_equal(model.W_, kept.W_)
    np.testing.assert_array_equal(model.predict_proba(bags), kept.predict_proba(bags))
    assert (model.settings_.pooling, model.temperature_) == ("hard", 1.0)


def test_partial_fit_refuses_another_number_of_hidden_units():
    bags, y = easy()
    model = ClassSetRBM(5).partial_fit(bags, y, classes=[0, 1])
    with pytest.raises(ValueError, match="continues with the 5 hidden units fitted. Got n_hidden=7"):
        model.set_params(n_hidden=7).partial_fit(bags, y)


def test_several_fits_are_averaged():
    bags, y = easy()
    settings = {"learning_rate": (0.05, 0.1), "init_scale": (0.3, 1.0), "max_epochs": 16, "random_state": 0}
    model = ClassSetRBMCV(5, pooling="hard", n_fits=3, **settings).fit(bags, y)
    assert model.temperature_ == 3.0
    assert model.W_.shape == (15, bags.shape[1])
    # Each fit is that of the chosen settings, from a seed of its own, to the chosen end.
    chosen = Settings.of(model, **model.best_params_)
    assert chosen == model.settings_
    scaled = model._scaled(bags)
    sets = LabeledSets(scaled, np.searchsorted(model.classes_, y), np.ones(len(y)))
    seeds = [model.seed_, *draws.further_seeds(model.seed_, 2)]
    starts = [chosen.start([scaled], bags.shape[1], 2, seed, scaled.dtype) for seed in seeds]
    fits = [Training(chosen.model(start, seed), InMemory.of(sets)) for start, seed in zip(starts, seeds, strict=True)]
    engine, spec, schedule = get_engine("cpu"), chosen.spec(scaled.dtype), Schedule(model.best_epoch_)
    alone = [train(engine, spec, [fit], schedule)[0].params for fit in fits]
    energies = [free_energy(scaled.X, scaled.offsets, params, "xor", "hard") for params in alone]
    np.testing.assert_allclose(model.free_energy(bags), np.sum(energies, axis=0), rtol=1e-10)
    np.testing.assert_allclose(model.predict_log_proba(bags), log_posterior(np.mean(energies, axis=0)), rtol=1e-9)
    assert model.transform(bags).shape == (len(bags), 15)


@pytest.mark.parametrize(("pooling", "n_fits"), [("hard", 3), ("mixed", 5)])
def test_the_explanation_of_an_average_matches_its_predictions(pooling, n_fits):
    bags, y = easy()
    settings = {"learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 20, "random_state": 0}
    model = ClassSetRBMCV(5, pooling=pooling, n_fits=n_fits, **settings).fit(bags, y)
    assert model.temperature_ == n_fits
    k = int(np.flatnonzero(bags.sizes > 1)[0])
    matrix = np.asarray(bags[k])
    told = model.explain(bags[[k]])
    code = int(np.searchsorted(model.classes_, told.classes[0]))
    without = [model.predict_log_proba([np.delete(matrix, s, axis=0)])[0, code] for s in range(len(matrix))]
    np.testing.assert_allclose(told.drop, model.predict_log_proba([matrix])[0, code] - without, atol=1e-9)
    np.testing.assert_allclose(told.alone, model.predict_proba([row[np.newaxis] for row in matrix]), atol=1e-9)

    def odds(x):
        p = model.predict_proba([x])[0]
        return np.log(p[code]) - np.log(p[1 - code])

    scaling = model._scaling()
    s, f = divmod(int(np.abs(told.contributions).argmax()), matrix.shape[1])
    step = 1e-6 / scaling.factor[f]
    up, down = matrix.copy(), matrix.copy()
    up[s, f] += step
    down[s, f] -= step
    value = (matrix[s, f] - scaling.low[f]) * scaling.factor[f]
    assert told.contributions[s, f] == pytest.approx(value * (odds(up) - odds(down)) / 2e-6, rel=1e-4)


@pytest.mark.parametrize("objective", ["hybrid", "generative"])
def test_a_model_of_the_sets_is_never_an_average(objective):
    bags, y = easy()
    settings = {"objective": objective, "pooling": "soft", "learning_rate": 0.05, "init_scale": 0.3, "max_epochs": 4}
    model = ClassSetRBMCV(5, random_state=0, **settings).fit(bags, y)
    assert model.temperature_ == 1.0
    assert model.log_joint(bags).shape == (len(bags), 2)
    with pytest.raises(ValueError, match=f"n_fits must be 1 or 'auto' with objective='{objective}'"):
        ClassSetRBMCV(5, n_fits=3, **settings).fit(bags, y)


def test_an_average_has_no_joint_distribution_and_no_samples():
    bags, y = easy()
    settings = {"pooling": "soft", "learning_rate": 0.05, "init_scale": 0.3, "max_epochs": 4, "random_state": 0}
    model = ClassSetRBMCV(5, n_fits=2, **settings).fit(bags, y)
    for act in (lambda: model.log_joint(bags), lambda: model.sample([2])):
        with pytest.raises(ValueError, match="average of 2 fits, which defines only a posterior. Fit with n_fits=1"):
            act()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_fits": 0}, "n_fits must be 'auto' or an integer of 1 or more. Got 0"),
        ({"n_fits": "many"}, "n_fits must be 'auto' or an integer of 1 or more. Got 'many'"),
        ({"n_fits": 2, "refit": False}, r"n_fits must be 1 or 'auto' if nothing is refitted \(refit=False\)"),
        ({"refit": "no"}, "refit must be True or False. Got 'no'"),
        ({"halving": "no"}, "halving must be True or False. Got 'no'"),
        ({"early_stopping": "never"}, "early_stopping must be True, False or 'auto'. Got 'never'"),
        ({"max_epochs": (10, 0)}, "max_epochs must be an integer of 1 or more. Got 0"),
        ({"max_epochs": ()}, "max_epochs must offer at least one value"),
    ],
)
def test_invalid_settings_of_choosing_are_refused_by_name(setting, message):
    with pytest.raises(ValueError, match=message):
        ClassSetRBMCV(5, **setting).fit(*easy())


def test_auto_early_stopping_depends_on_the_number_of_held_out_sets():
    rng = np.random.default_rng(0)
    settings = {"learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 12, "patience": 2, "random_state": 0}

    def lengths(n_sets):
        X, y = rng.random((n_sets, 3)), np.arange(n_sets) % 2
        model = ClassSetRBMCV(3, **settings).fit(X, y)
        return len(model.cv_results_["split0_history"][0]["loss"])

    # Labels that cannot be learned: the best epoch comes early, where it may.
    assert lengths(995) == 12
    assert lengths(1000) < 12


def test_a_dropped_candidate_is_not_chosen_even_if_it_looked_better(early_rungs):
    # Labels that cannot be learned: the held-out loss grows with training, so what ended early has the least.
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), rng.integers(0, 2, 60)
    settings = {"learning_rate": (0.5, 0.6), "init_scale": 1.0, "max_epochs": 80, "n_fits": 1, "random_state": 0}
    model = ClassSetRBMCV(20, **settings).fit(X, y)
    left = model.cv_results_["dropped"].tolist().index(True)
    at_its_end = model.cv_results_["split0_history"][left]["held_out_loss"][-1]
    assert -at_its_end > model.best_score_ == np.nanmax(model.cv_results_["mean_test_score"])
    assert np.isnan(model.cv_results_["mean_test_score"][left])
    assert model.best_params_["learning_rate"] == (0.5, 0.6)[1 - left]


def test_where_training_only_harms_the_shortest_end_is_chosen():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), rng.integers(0, 2, 60)
    settings = {"learning_rate": 0.5, "init_scale": 1.0, "n_fits": 1, "random_state": 0}
    assert ClassSetRBMCV(20, max_epochs=(80, 10, 40), **settings).fit(X, y).best_epoch_ == 10


def test_a_candidate_that_reached_an_end_is_not_dropped():
    assert ClassSetRBMCV(max_epochs=(200, 400))._choices().schedule(10).rungs == (50, 100)
    assert ClassSetRBMCV(max_epochs=(80, 400))._choices().schedule(10).rungs == (50,)
    assert ClassSetRBMCV(max_epochs=(100, 400))._choices().schedule(10).rungs == (50,)
    assert ClassSetRBMCV(max_epochs=(50, 400))._choices().schedule(10).rungs == ()
    assert ClassSetRBMCV(max_epochs=(10, 400))._choices().schedule(10).rungs == ()
    assert ClassSetRBMCV(max_epochs=150)._choices().schedule(10).rungs == (37,)
    assert ClassSetRBMCV(max_epochs=100)._choices().schedule(10).rungs == (25,)
    assert ClassSetRBMCV(max_epochs=99)._choices().schedule(10).rungs == ()
    assert ClassSetRBMCV(halving=False)._choices().schedule(10).rungs == ()


@pytest.mark.parametrize("max_epochs", [16, (8, 16)])
def test_if_all_others_diverged_the_best_dropped_candidate_is_trained_to_the_end(early_rungs, monkeypatch, max_epochs):
    def train_apart(*args, real=Batch.train):
        outcomes = real(*args)
        return [
            o if o.dropped or not o.history["held_out_loss"][0] > 0 else replace(o, diverged_in=9) for o in outcomes
        ]

    monkeypatch.setattr(Batch, "train", train_apart)
    bags, y = easy()
    settings = {"init_scale": 0.3, "max_epochs": max_epochs, "n_fits": 1, "random_state": 0}
    with pytest.warns(UserWarning, match="The best of the dropped ones is used; offer smaller learning rates"):
        model = ClassSetRBMCV(5, learning_rate=(1e-7, 0.04, 0.05, 0.1), **settings).fit(bags, y)
    assert model.cv_results_["dropped"][model.best_index_]
    assert model.best_params_["learning_rate"] > 1e-7
    assert model.n_epochs_ == model.best_params_.get("max_epochs", 16) == 16


def test_the_number_of_epochs_can_be_one_of_several():
    bags, y = easy()
    settings = {"learning_rate": (0.05, 0.1), "init_scale": 0.3, "n_fits": 1, "random_state": 0, "halving": False}
    model = ClassSetRBMCV(5, max_epochs=(16, 4, 8), early_stopping=False, **settings).fit(bags, y)
    assert model.best_params_["max_epochs"] == model.best_epoch_ == model.n_epochs_
    assert model.best_epoch_ in (4, 8, 16)
    scores = [
        ClassSetRBMCV(5, max_epochs=n, early_stopping=False, **settings).fit(bags, y).best_score_ for n in (4, 8, 16)
    ]
    assert model.best_score_ == pytest.approx(max(scores), rel=1e-12)


@pytest.fixture
def early_rungs(monkeypatch):
    monkeypatch.setattr("setrbm.training.early_stopping.FEWEST_BEFORE_RUNG", 1)


def test_dropped_candidates_are_recorded_and_never_chosen(early_rungs):
    bags, y = easy()
    rates = (1e-7, 1e-6, 0.05, 0.1)
    model = ClassSetRBMCV(5, learning_rate=rates, init_scale=0.3, max_epochs=16, random_state=0).fit(bags, y)
    assert model.cv_results_["dropped"][:2].tolist() == [True, True]
    assert sum(model.cv_results_["dropped"]) == 3
    assert [len(history["loss"]) for history in model.cv_results_["split0_history"]][:2] == [2, 2]
    assert not model.cv_results_["dropped"][rates.index(model.best_params_["learning_rate"])]


def warned_from(act):
    """Return the file a warning points to."""
    with pytest.warns(UserWarning, match=r".") as record:
        act()
    return {warning.filename for warning in record}


def test_warnings_point_to_the_line_of_the_user_however_deep_they_are_raised():
    X, y = np.random.default_rng(0).random((40, 4, 3)), np.arange(40) % 2
    X[3, 2, 1] = 5000.0
    fast = {"learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 2, "random_state": 0}
    for model in (ClassSetRBM(5, **fast), ClassSetRBMCV(5, **fast), make_pipeline(ClassSetRBMCV(5, **fast))):
        assert warned_from(lambda model=model: model.fit(X, y)) == {__file__}
    one_each = np.arange(2.0).reshape(2, 1, 1)
    assert warned_from(lambda: ClassSetRBMCV(5, **fast).fit(one_each, [0, 1])) == {__file__}
    fitted = ClassSetRBM(5, **fast).fit(np.delete(X, 3, axis=0), np.delete(y, 3))
    assert warned_from(lambda: fitted.sample([2])) == {__file__}


def test_settings_changed_after_a_fit_do_not_change_its_predictions():
    bags, y = easy()
    model = ClassSetRBM(5, constraint="xor", max_epochs=3, random_state=0).fit(bags, y)
    before = model.predict_proba(bags)
    model.set_params(constraint="or", pooling="soft")
    np.testing.assert_array_equal(model.predict_proba(bags), before)
    assert (model.settings_.constraint, model.settings_.pooling) == ("xor", "hard")


def test_ctrl_c_in_an_epoch_that_diverged_is_raised_and_changes_nothing():
    bags, y = easy()
    begun = []

    def interrupt(phase, number):
        begun.append(number)
        raise KeyboardInterrupt

    model = ClassSetRBM(5, learning_rate=1e6, weight_decay=0.0, max_epochs=5, random_state=0)
    model.set_callbacks(EpochCallback(interrupt))
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(model, bags, y, cv=4)
    assert begun == [1]
    with pytest.raises(KeyboardInterrupt):
        model.fit(bags, y)
    assert not hasattr(model, "W_")


def test_ctrl_c_is_not_hidden_by_a_warning():
    bags, _ = easy()
    y = np.random.default_rng(0).integers(0, 2, len(bags))

    def interrupt(phase, number):
        raise KeyboardInterrupt

    # Warnings are errors in these tests; without Ctrl-C this model is warned about.
    model = ClassSetRBM(learning_rate=3.0, early_stopping=False, max_epochs=3, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(EpochCallback(interrupt)).fit(bags, y)


def test_ctrl_c_after_all_begun_candidates_diverged_leaves_the_estimator_unchanged(monkeypatch):
    bags, y = easy()
    calls = []

    def second_is_interrupted(*args, real=train):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr("setrbm.estimators.search.search.train", second_is_interrupted)
    model = ClassSetRBMCV((5, 7), learning_rate=1e6, init_scale=0.3, max_epochs=5, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(bags, y)
    assert len(calls) == 2
    assert not hasattr(model, "W_")


@pytest.mark.parametrize(("pooling", "scale"), CHOSEN_IN)
def test_ctrl_c_while_the_refit_is_prepared_keeps_the_best_candidate(monkeypatch, pooling, scale):
    bags, y = easy()
    settings = {"learning_rate": (0.05, 0.1), "init_scale": 0.3, "max_epochs": 4, "random_state": 0}

    def interrupt(search):
        raise KeyboardInterrupt

    monkeypatch.setattr(refits, "to_refit", interrupt)
    model = ClassSetRBMCV(5, pooling=pooling, **settings)
    with pytest.raises(KeyboardInterrupt):
        model.fit(bags, y)
    monkeypatch.undo()
    kept = ClassSetRBMCV(5, pooling="hard", scale=scale, refit=False, **settings).fit(bags, y)
    np.testing.assert_array_equal(model.W_, kept.W_)


def test_partial_fit_takes_no_classes_beside_shards(tmp_path):
    bags, y = easy()
    shards = write_shards(tmp_path, bags, y, sets_per_shard=20)
    with pytest.raises(ValueError, match="Shards bring their own classes. Got classes beside them"):
        ClassSetRBM(5).partial_fit(shards, classes=[0, 1, 2])


def test_warnings_within_cross_validation_point_to_the_line_of_the_user():
    X, y = np.random.default_rng(0).random((40, 4, 3)), np.arange(40) % 2
    X[3, 2, 1] = 5000.0
    model = ClassSetRBM(5, max_epochs=1, random_state=0)
    assert warned_from(lambda: cross_val_score(model, Bags.from_array(X), y, cv=2)) == {__file__}


@pytest.mark.parametrize("estimator", [ClassSetRBM(5, max_epochs=3), ClassSetRBMCV(5, max_epochs=3)], ids=["one", "cv"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_log_odds_or_minus_the_free_energies(estimator, n_classes):
    bags, _ = easy(30)
    model = estimator.set_params(random_state=0).fit(bags, np.arange(30) % n_classes)
    decisions, log_p = model.decision_function(bags), model.predict_log_proba(bags)
    if n_classes == 2:
        np.testing.assert_allclose(decisions, log_p[:, 1] - log_p[:, 0], rtol=1e-9, atol=1e-12)
        assert ((decisions > 0) == (model.predict(bags) == 1)).all()
    else:
        np.testing.assert_allclose(decisions, -model.free_energy(bags) / model.temperature_, rtol=1e-12)
        np.testing.assert_allclose(decisions - logsumexp(decisions, axis=1, keepdims=True), log_p, rtol=1e-9)


@pytest.mark.parametrize("unit", ["rbm", "mlp", "logit"])
def test_decisions_of_max_out_classifiers_are_log_odds(unit):
    bags, y = easy(30)
    model = MaxOutClassifier(unit, n_hidden=5, max_epochs=3, random_state=0).fit(bags, y)
    log_p = model.predict_log_proba(bags)
    np.testing.assert_allclose(model.decision_function(bags), log_p[:, 1] - log_p[:, 0], rtol=1e-9, atol=1e-12)
