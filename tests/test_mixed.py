"""The mixture of hard and mean pooling, the default of ClassSetRBMCV: what it averages, and where it is not used."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import brute
from brute import CONSTRAINTS
from setrbm import ClassSetRBMCV, draws, load
from setrbm.energy import Joint, Params, free_energy, log_posterior
from setrbm.engines import get_engine
from setrbm.engines.protocol import LabeledSets
from setrbm.estimators import MaxOutClassifierCV, many_fits
from setrbm.estimators.one_fit import OneFit, Refit
from setrbm.estimators.settings import Settings
from setrbm.pooling import MIXED
from setrbm.pooling.pools import set_pool
from setrbm.training import Coordinates, InMemory, Schedule, Trainee, train
from test_estimators import EpochCallback, easy

N_HIDDEN = 5
SHORT = {"n_hidden": N_HIDDEN, "learning_rate": (0.03, 0.1), "max_epochs": 10, "random_state": 0}
# The coordinates of the two poolings, by the setting.
TRAINED_IN = {
    "auto": {"hard": "center", "mean": "standardize"},
    "center": {"hard": "center", "mean": "center"},
    "standardize": {"hard": "standardize", "mean": "standardize"},
    None: {"hard": None, "mean": None},
}


def fitted(**settings):
    """Return a model with settings of our own, and the sets it was fitted to."""
    bags, y = easy()
    return ClassSetRBMCV(**SHORT | settings).fit(bags, y), bags, y


def blocks(model, n_hidden=N_HIDDEN):
    """Return the hidden units of each model that is averaged, as the letters W, U and c."""
    n_models = len(model.c_) // n_hidden
    return list(zip(*(np.split(letter, n_models) for letter in (model.W_, model.U_, model.c_)), strict=True))


def interrupt_refit(phase, at):
    """Return a callback that interrupts a phase of the refit, the first or the second, at an epoch."""
    begun = []

    def act(name, number):
        begun.extend([name] * (name == "fitting" and number == 1))
        if len(begun) == phase and number == at:
            raise KeyboardInterrupt

    return EpochCallback(act)


# --- what is averaged ---


def test_the_defaults_are_a_mixture_of_ten_models_with_rate_and_initial_scale_chosen():
    defaults = ClassSetRBMCV()
    assert (defaults.pooling, defaults.scale, defaults.n_fits) == ("mixed", "auto", "auto")
    assert defaults.init_scale == (0.3, 1.0)
    assert len(defaults._offer().candidates) == 2 * len(defaults.learning_rate) == 6
    model, bags, _ = fitted()
    assert model.settings_.pooling == "mixed"
    assert model.temperature_ == 10.0
    assert model.W_.shape == (10 * N_HIDDEN, bags.shape[1])
    assert model.U_.shape == (10 * N_HIDDEN, 2)
    assert model.transform(bags).shape == (len(bags), 10 * N_HIDDEN)
    assert len(model.get_feature_names_out()) == 10 * N_HIDDEN
    assert len({W.tobytes() for W, _, _ in blocks(model)}) == 10


@pytest.mark.parametrize("n_fits", [5, 15])
def test_a_mixture_is_as_many_models_as_asked_for_a_fifth_of_them_with_mean_pooling(n_fits):
    model, bags, _ = fitted(n_fits=n_fits)
    assert (model.settings_.pooling, model.temperature_) == ("mixed", n_fits)
    assert len(model.c_) == n_fits * N_HIDDEN
    a = model._scaled(bags).X @ model.W_.T + model.c_
    n_hard = 4 * len(model.c_) // 5
    for units, pooling in ((slice(n_hard), "hard"), (slice(n_hard, None), "mean")):
        expected, _ = set_pool(a[:, units], bags.offsets, "xor", pooling)
        np.testing.assert_allclose(model.transform(bags)[:, units], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("pooling", ["mixed", ("hard", "mixed")])
@pytest.mark.parametrize("n_fits", [6, 7, 12])
def test_fits_that_cannot_be_parted_are_refused(n_fits, pooling):
    message = f"n_fits must be 'auto', less than 5 or a multiple of 5 with pooling='mixed', .* Got {n_fits}"
    with pytest.raises(ValueError, match=message):
        ClassSetRBMCV(**SHORT, n_fits=n_fits, pooling=pooling).fit(*easy())


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("scale", TRAINED_IN)
def test_the_posterior_is_that_of_the_mean_free_energy_of_ten_models_trained_alone(scale, constraint):
    """Each is trained in its own coordinates, and gives its free energies there: nothing is undone here."""
    raw, y = easy(low=-30.0, high=50.0)
    scale_by_hand = scale is None
    bags = easy()[0] if scale_by_hand else raw
    model = ClassSetRBMCV(**SHORT, scale=scale, constraint=constraint).fit(bags, y)
    chosen = Settings.of(model, **model.best_params_)
    scaled = model._scaled(bags)
    seeds = [model.seed_, *draws.further_seeds(model.seed_, 9)]
    F = []
    for m, pooling in enumerate(MIXED):
        how = TRAINED_IN[scale][pooling]
        moved = scaled if how is None else Coordinates.fit(scaled, how).apply(scaled)
        source = InMemory.of(LabeledSets(moved, y, np.ones(len(y))))
        one = replace(chosen, pooling=pooling)
        for seed in seeds[2 * m : 2 * m + 2]:
            start = one.start([moved], bags.shape[1], 2, seed, moved.dtype)
            trainee = Trainee(one.model(start, seed), source)
            (outcome,) = train(get_engine("reference"), one.spec(moved.dtype), [trainee], Schedule(model.best_epoch_))
            F.append(free_energy(moved.X, moved.offsets, outcome.params, constraint, pooling))
    np.testing.assert_allclose(model.predict_log_proba(bags), log_posterior(np.mean(F, axis=0)), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.free_energy(bags), np.sum(F, axis=0), rtol=1e-9)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_each_block_of_hidden_units_has_its_own_pooling(constraint, engine):
    model, bags, _ = fitted(constraint=constraint, engine=engine)
    X = model._scaled(bags).X
    F, pools = np.tile(-model.d_, (len(bags), 1)), []
    for (W, U, c), pooling in zip(blocks(model), np.repeat(MIXED, 2), strict=True):
        F += free_energy(X, bags.offsets, Params(W, U, model.b_, c, np.zeros(2)), constraint, pooling)
        pools.append(set_pool(X @ W.T + c, bags.offsets, constraint, pooling)[0])
    np.testing.assert_allclose(model.free_energy(bags), F, rtol=1e-10)
    np.testing.assert_allclose(model.transform(bags), np.hstack(pools), rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.predict_log_proba(bags), log_posterior(F / 10.0), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(bags), F.argmin(axis=1))
    # The poolings differ: a mixture is not the average with hard pooling alone.
    assert np.abs(free_energy(X, bags.offsets, model._params(), constraint, "hard") - F).max() > 0.1


def test_settings_are_chosen_with_hard_pooling_in_centered_coordinates():
    mixed, _, _ = fitted(learning_rate=(1e-4, 0.03, 0.1), init_scale=(0.1, 1.0))
    hard, _, _ = fitted(learning_rate=(1e-4, 0.03, 0.1), init_scale=(0.1, 1.0), pooling="hard", scale="center")
    assert mixed.best_params_ == hard.best_params_
    np.testing.assert_array_equal(mixed.cv_results_["mean_test_score"], hard.cv_results_["mean_test_score"])
    assert mixed.cv_results_["split0_history"] == hard.cv_results_["split0_history"]
    # The first models of both learn from all sets, from the same start.
    np.testing.assert_array_equal(mixed.W_[:N_HIDDEN], hard.W_[:N_HIDDEN])


def test_a_mixture_may_be_one_of_several_poolings():
    bags, y = easy()
    for poolings, share in ((("mixed", "soft"), None), (("mixed",), 10), (("soft",), 5)):
        model = ClassSetRBMCV(**SHORT, pooling=poolings).fit(bags, y)
        pooling = model.best_params_["pooling"]
        assert model.settings_.pooling == pooling
        share = share or {"mixed": 10, "soft": 5}[pooling]
        assert len(model.c_) == share * N_HIDDEN
        assert model.temperature_ == share
        expected = free_energy(model._scaled(bags).X, bags.offsets, model._params(), "xor", pooling)
        np.testing.assert_allclose(model.free_energy(bags), expected, rtol=1e-10)


def test_candidates_in_different_coordinates_are_trained_side_by_side():
    bags, y = easy()
    one = {"learning_rate": 0.1, "init_scale": 1.0}
    both = ClassSetRBMCV(**SHORT | one, pooling=("mixed", "hard"), halving=False).fit(bags, y)
    for place, scale in enumerate(("center", "auto")):
        alone, _, _ = fitted(**one, pooling="hard", scale=scale)
        assert both.cv_results_["split0_history"][place] == alone.cv_results_["split0_history"][0]
    first, second = both.cv_results_["mean_test_score"]
    assert first != second


# --- what stays the same ---


def test_the_units_of_the_data_do_not_change_a_mixture():
    bags, y = easy()
    plain = ClassSetRBMCV(**SHORT).fit(bags, y).predict_proba(bags)
    raw = bags.with_vectors(bags.X * np.geomspace(0.01, 1000.0, bags.shape[1]) - 5.0)
    np.testing.assert_allclose(ClassSetRBMCV(**SHORT).fit(raw, y).predict_proba(raw), plain, rtol=1e-7)


def test_one_and_two_threads_give_the_same_mixture():
    one, two = (fitted(n_jobs=n_jobs)[0] for n_jobs in (1, 2))
    for letter in "WUbcd":
        np.testing.assert_array_equal(getattr(one, f"{letter}_"), getattr(two, f"{letter}_"))
    bags, _ = easy()
    np.testing.assert_array_equal(one.predict_log_proba(bags), two.predict_log_proba(bags))


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_both_engines_give_the_same_mixture(constraint):
    (fast, bags, _), (slow, _, _) = (fitted(constraint=constraint, engine=engine) for engine in ("cpu", "reference"))
    for letter in "WUbcd":
        np.testing.assert_allclose(getattr(fast, f"{letter}_"), getattr(slow, f"{letter}_"), rtol=0, atol=1e-9)
    np.testing.assert_allclose(fast.predict_log_proba(bags), slow.predict_log_proba(bags), rtol=0, atol=1e-9)


def test_float32_stays_float32_in_a_mixture():
    bags, y = easy()
    narrow = bags.with_vectors(bags.X.astype(np.float32))
    model, wide = (ClassSetRBMCV(**SHORT).fit(sets, y) for sets in (narrow, bags))
    assert {getattr(model, f"{letter}_").dtype for letter in "WUbcd"} == {np.dtype(np.float32)}
    assert model.transform(narrow).dtype == np.float32
    np.testing.assert_allclose(model.predict_proba(narrow), wide.predict_proba(bags), rtol=0, atol=1e-3)


def test_sets_of_weight_zero_have_no_part_in_the_coordinates():
    bags, y = easy()
    weight = np.ones(len(y))
    weight[::4] = 0.0
    bags.X[bags.offsets[0] : bags.offsets[1]] = 77.0
    given = ClassSetRBMCV(**SHORT).fit(bags, y, sample_weight=weight).predict_proba(bags)
    without = ClassSetRBMCV(**SHORT).fit(bags[weight > 0], y[weight > 0]).predict_proba(bags)
    np.testing.assert_array_equal(given, without)


def test_mixtures_fitted_side_by_side_are_those_fitted_one_by_one():
    several = [easy(seed=seed) for seed in range(3)]
    together = [ClassSetRBMCV(**SHORT) for _ in several]
    assert many_fits.fit_side_by_side(together, [(bags, y, None) for bags, y in several]) == [None] * 3
    for model, (bags, y) in zip(together, several, strict=True):
        alone = ClassSetRBMCV(**SHORT).fit(bags, y)
        assert model.best_params_ == alone.best_params_
        np.testing.assert_allclose(model.predict_log_proba(bags), alone.predict_log_proba(bags), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", TRAINED_IN)
def test_a_saved_mixture_predicts_the_same_to_the_bit(tmp_path, scale):
    model, bags, _ = fitted(scale=scale)
    model.save(tmp_path / "mixture")
    again = load(tmp_path / "mixture")
    assert again.get_params() == model.get_params()
    assert again.settings_ == model.settings_
    assert again.temperature_ == 10.0
    for act in ("predict_log_proba", "decision_function", "predict", "transform"):
        np.testing.assert_array_equal(getattr(again, act)(bags), getattr(model, act)(bags))
    np.testing.assert_array_equal(again.explain(bags).drop, model.explain(bags).drop)


def test_sparse_sets_are_predicted_as_the_dense_ones_a_mixture_was_fitted_to():
    model, bags, _ = fitted()
    same = bags.with_vectors(sparse.csr_array(bags.X))
    np.testing.assert_allclose(model.predict_log_proba(same), model.predict_log_proba(bags), rtol=1e-12)


# --- explanations and hidden units ---


@pytest.mark.parametrize("calibrate", [False, True])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_the_drop_of_every_vector_is_that_of_predictions_without_it(constraint, calibrate):
    model, bags, _ = fitted(constraint=constraint, calibrate=calibrate)
    told = model.explain(bags)
    whole = model.predict_log_proba(bags)
    assert (model.calibration_temperature_ != 1.0) == calibrate
    row = 0
    for k, matrix in enumerate(bags):
        code = int(np.searchsorted(model.classes_, told.classes[k]))
        for s in range(len(matrix)):
            if len(matrix) > 1:
                without = model.predict_log_proba([np.delete(matrix, s, axis=0)])[0, code]
                assert told.drop[row] == pytest.approx(whole[k, code] - without, abs=1e-9)
            else:
                assert np.isnan(told.drop[row])
            row += 1
    assert row == len(told.drop)
    assert np.nanmax(np.abs(told.drop)) > 0.01


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_hidden_probabilities_are_those_of_each_unit_by_a_sum_over_its_states(constraint):
    """Given a set and its class, hidden units are independent, so each is summed over alone."""
    model, bags, y = fitted(constraint=constraint)
    h = model.hidden_probabilities(bags, y)
    assert h.shape == (bags.n_vectors, 10 * N_HIDDEN)
    X, nothing = model._scaled(bags).X, np.zeros(2)
    for k in np.flatnonzero(bags.sizes <= 3)[:4]:
        rows = slice(bags.offsets[k], bags.offsets[k + 1])
        for j in (0, 7, 39, 40, 49):
            unit = Params(model.W_[[j]], model.U_[[j]], np.zeros(bags.shape[1]), model.c_[[j]], nothing)
            # The last two of ten models have mean pooling.
            joint = Joint(constraint, "mean" if j >= 8 * N_HIDDEN else "soft")
            expected, _ = brute.hidden_marginals(X[rows], y[k], unit, joint)
            np.testing.assert_allclose(h[rows, j], expected[:, 0], rtol=1e-9)


def test_a_mixture_has_no_joint_distribution_and_no_samples():
    model, bags, _ = fitted(n_fits=5)
    for act in (lambda: model.log_joint(bags), lambda: model.sample([2])):
        with pytest.raises(
            ValueError, match="average of 5 fits, .* Fit with n_fits=1 and one pooling, such as pooling="
        ):
            act()


# --- where it is hard pooling ---


@pytest.mark.parametrize(
    "settings",
    [{"refit": False}, {"objective": "hybrid"}, {"objective": "generative"}, {"n_fits": 1}, {"n_fits": 4}],
    ids=["no refit", "hybrid", "generative", "one fit", "four fits"],
)
def test_with_fewer_than_five_fits_a_mixture_is_hard_pooling(tmp_path, settings):
    model, bags, _ = fitted(**settings)
    hard, _, _ = fitted(pooling="hard", **settings)
    assert model.settings_ == hard.settings_
    assert (model.settings_.pooling, model.temperature_) == ("hard", settings.get("n_fits", 1.0))
    for letter in "WUbcd":
        np.testing.assert_array_equal(getattr(model, f"{letter}_"), getattr(hard, f"{letter}_"))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(bags), hard.predict_proba(bags))


def sparse_sets():
    bags, y = easy()
    X = np.where(bags.X < 0.3, 0.0, bags.X)
    return bags.with_vectors(sparse.csr_array(X)), y


@pytest.mark.parametrize("pooling", ["mixed", ("mixed", "mean")])
def test_for_sparse_sets_a_mixture_is_hard_pooling_in_plain_coordinates(tmp_path, pooling):
    bags, y = sparse_sets()
    model = ClassSetRBMCV(**SHORT, pooling=pooling).fit(bags, y)
    hard = ClassSetRBMCV(**SHORT, pooling="hard" if pooling == "mixed" else ("hard", "mean")).fit(bags, y)
    assert model.settings_ == hard.settings_
    assert model.best_params_ == hard.best_params_
    assert model.temperature_ == hard.temperature_ == 5.0
    for letter in "WUbcd":
        np.testing.assert_array_equal(getattr(model, f"{letter}_"), getattr(hard, f"{letter}_"))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.settings_ == model.settings_
    np.testing.assert_array_equal(again.predict_proba(bags), hard.predict_proba(bags))


@pytest.mark.parametrize("pooling", ["mixed", "hard"])
@pytest.mark.parametrize("scale", ["center", "standardize"])
def test_sparse_sets_are_not_centered(scale, pooling):
    message = f"scale must be 'auto' or None for sparse sets, which centering would make dense. Got '{scale}'"
    with pytest.raises(ValueError, match=message):
        ClassSetRBMCV(**SHORT, scale=scale, pooling=pooling).fit(*sparse_sets())


@pytest.mark.parametrize("objective", ["generative", "hybrid", ("discriminative", "hybrid")])
@pytest.mark.parametrize("scale", ["center", "standardize"])
def test_a_model_of_the_inputs_themselves_is_not_trained_in_other_coordinates(scale, objective):
    named = objective if isinstance(objective, str) else "hybrid"
    message = (
        f"scale must be 'auto' or None with objective='{named}', which models the inputs themselves. Got '{scale}'"
    )
    with pytest.raises(ValueError, match=message):
        ClassSetRBMCV(**SHORT, scale=scale, objective=objective).fit(*easy())


@pytest.mark.parametrize("pooling", ["Mixed", "max", ("mixed", "max")])
def test_other_poolings_are_refused(pooling):
    with pytest.raises(ValueError, match="pooling must be one of 'soft', 'hard', 'mean', 'mixed'. Got '(Mixed|max)'"):
        ClassSetRBMCV(**SHORT, pooling=pooling).fit(*easy())


# --- refits that fail ---


@pytest.mark.parametrize(("phase", "at"), [(1, 1), (1, 4), (2, 1), (2, 4)])
def test_ctrl_c_in_the_refit_keeps_a_model_with_hard_pooling_that_can_be_saved(tmp_path, phase, at):
    bags, y = easy()
    model = ClassSetRBMCV(**SHORT, calibrate=True).set_callbacks(interrupt_refit(phase, at))
    with pytest.raises(KeyboardInterrupt):
        model.fit(bags, y)
    model.set_callbacks()
    kept, _, _ = fitted(pooling="hard", scale="center", refit=False)
    assert model.settings_.pooling == "hard"
    assert model.temperature_ == model.calibration_temperature_ == 1.0
    np.testing.assert_array_equal(model.W_, kept.W_)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.settings_ == model.settings_
    np.testing.assert_array_equal(again.predict_log_proba(bags), kept.predict_log_proba(bags))
    np.testing.assert_array_equal(again.explain(bags).drop, kept.explain(bags).drop)


@pytest.mark.parametrize("pooling", [("mixed",), ("mixed", "soft"), ("soft", "mixed")])
def test_ctrl_c_keeps_a_model_that_can_be_saved_where_mixed_is_one_of_several_poolings(tmp_path, pooling):
    bags, y = easy()
    model = ClassSetRBMCV(**SHORT, pooling=pooling).set_callbacks(interrupt_refit(1, 1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(bags, y)
    model.set_callbacks()
    chosen = model.best_params_["pooling"]
    assert model.settings_.pooling == {"mixed": "hard", "soft": "soft"}[chosen]
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.best_params_["pooling"] == chosen
    assert again.settings_ == model.settings_
    np.testing.assert_array_equal(again.predict_proba(bags), model.predict_proba(bags))
    # A file may be loaded and saved again.
    again.save(tmp_path / "again")
    assert load(tmp_path / "again").settings_ == model.settings_


def diverge(monkeypatch, diverged):
    """Let refits of these parts and starts diverge; return where the sound outcomes of all refits will be."""
    seen, keep = {}, OneFit.keep

    def changed(self, refitted, interrupted):
        seen.update(refitted)
        wrong = {key: replace(one, params=one.params.zeros(), diverged_in=2) for key, one in refitted.items()}
        keys = {Refit(None, member, start) for member, start in diverged}
        keep(self, {key: (wrong if key in keys else refitted)[key] for key in refitted}, interrupted)

    monkeypatch.setattr(OneFit, "keep", changed)
    return seen


@pytest.mark.parametrize(
    ("diverged", "kept"),
    [
        ({(1, 1)}, [[0, 1], [0, 2], [0, 1], [0, 1], [0, 1]]),
        ({(4, 0)}, [[0, 1], [0, 1], [0, 1], [0, 1], [1, 2]]),
        ({(0, 2), (3, 0), (4, 0)}, [[0, 1], [0, 1], [0, 1], [1, 2], [1, 2]]),
        ({(2, 0), (2, 1), (4, 2)}, [[0], [0], [2], [0], [0]]),
    ],
    ids=["a hard one", "a mean one", "three parts", "two of a part"],
)
def test_every_part_keeps_as_many_refits_as_the_one_where_most_diverged(monkeypatch, diverged, kept):
    whole, bags, _ = fitted(n_fits=15)
    seen = diverge(monkeypatch, diverged)
    message = f"diverged in {len(diverged)} of 15 refits. Of the others, the same number is kept for each part"
    with pytest.warns(UserWarning, match=message):
        model, _, _ = fitted(n_fits=15)
    left = [Refit(None, member, start) for member, starts in enumerate(kept) for start in starts]
    assert (model.settings_.pooling, model.temperature_) == ("mixed", len(left))
    for letter in "WUc":
        every = np.split(getattr(whole, f"{letter}_"), 15)
        expected = np.concatenate([every[3 * key.member + key.start] for key in left])
        np.testing.assert_array_equal(getattr(model, f"{letter}_"), expected)
    np.testing.assert_allclose(model.d_, np.sum([seen[key].params.d for key in left], axis=0), rtol=1e-12)
    expected = free_energy(model._scaled(bags).X, bags.offsets, model._params(), "xor", "mixed") / model.temperature_
    np.testing.assert_allclose(model.predict_log_proba(bags), log_posterior(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("member", [0, 4])
def test_if_all_refits_of_a_part_diverged_the_best_candidate_is_kept(tmp_path, monkeypatch, member):
    diverge(monkeypatch, {(member, 0), (member, 1)})
    with pytest.warns(UserWarning, match="diverged in 2 of 10 refits. The best candidate is kept without a refit"):
        model, bags, _ = fitted()
    monkeypatch.undo()
    kept, _, _ = fitted(pooling="hard", scale="center", refit=False)
    np.testing.assert_array_equal(model.W_, kept.W_)
    assert (model.settings_.pooling, model.temperature_) == ("hard", 1.0)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(bags), kept.predict_proba(bags))


@pytest.mark.parametrize("unit", ["rbm", "mlp", "logit"])
@pytest.mark.parametrize("scale", ["center", "standardize"])
def test_a_max_out_classifier_trained_in_coordinates_predicts_what_was_watched_there(scale, unit):
    bags, y = easy(60)
    settings = {"learning_rate": 0.05, "init_scale": 0.3, "weight_decay": 0.0, "max_epochs": 20, "random_state": 0}
    model = MaxOutClassifierCV(unit, scale=scale, refit=False, early_stopping=False, **settings).fit(bags, y)
    held_out = OneFit.of(model, bags, y, None).sources[0].held_out
    p = model.predict_proba(bags)[held_out, y[held_out]]
    (history,) = model.cv_results_["split0_history"]
    assert -np.log(p).mean() == pytest.approx(history["held_out_loss"][-1], rel=1e-9)


def test_a_mixture_of_which_one_part_is_kept_is_not_calibrated_by_the_mixtures_of_the_folds(monkeypatch):
    diverge(monkeypatch, {(4, 0)})
    bags, y = easy()
    model = ClassSetRBMCV(**SHORT | {"n_fits": 5}, calibrate=True)
    with (
        pytest.warns(UserWarning, match="The best candidate is kept without a refit"),
        pytest.warns(UserWarning, match="The probabilities are not calibrated"),
    ):
        model.fit(bags, y)
    assert model.settings_.pooling == "hard"
    assert model.calibration_temperature_ == 1.0
