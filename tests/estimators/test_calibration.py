from dataclasses import replace

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss

from setrbm import Bags, ClassSetRBM, ClassSetRBMCV
from setrbm.calibration import HIGHEST, LOWEST, fit_temperature
from setrbm.datasets import load_musk1
from setrbm.energy import Params, free_energy, log_posterior
from setrbm.estimators.search import refits
from setrbm.estimators.search.refits import Refit
from setrbm.pooling import MIXED
from setrbm.training import folds


def drawn(temperature, n=20_000, n_classes=3, seed=0):
    """Return free energies, and labels drawn from the posterior at a temperature."""
    rng = np.random.default_rng(seed)
    F = 3.0 * rng.standard_normal((n, n_classes))
    p = np.exp(log_posterior(F / temperature))
    return F, (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_the_temperature_that_labels_were_drawn_with_is_found(temperature, n_classes):
    F, y = drawn(temperature, n_classes=n_classes)
    assert fit_temperature(F, y, np.ones(len(y))) == pytest.approx(temperature, rel=0.05)


def test_a_weight_counts_as_repetition():
    F, y = drawn(2.0, n=300)
    # Wrong predictions weigh more, so that weights matter.
    weight = np.where((-F).argmax(axis=1) == y, 1, 4)
    assert fit_temperature(F, y, np.ones(300)) < 0.5 * fit_temperature(F, y, weight.astype(float))
    weighted = fit_temperature(F, y, weight.astype(float))
    repeated = fit_temperature(np.repeat(F, weight, axis=0), np.repeat(y, weight), np.ones(weight.sum()))
    # The smoothing depends on the number of sets, not on their weight.
    assert weighted == pytest.approx(repeated, rel=0.03)


def test_few_sets_that_are_all_right_do_not_make_a_model_certain():
    F = np.array([[-1.0, 0.0]] * 10 + [[0.0, -1.0]] * 10)
    y = np.repeat([0, 1], 10)
    p = np.exp(log_posterior(F / fit_temperature(F, y, np.ones(20))))
    # The target is 21 / 22.
    assert p[np.arange(20), y] == pytest.approx(21 / 22, abs=1e-4)
    assert LOWEST < fit_temperature(-F, y, np.ones(20)) <= HIGHEST


@pytest.mark.parametrize(("size", "temperature"), [(1e-4, 0.05), (-1.0, 100.0)])
def test_the_temperature_stays_within_its_bounds(size, temperature):
    """Predictions that are all right, but hardly sure, would be divided by almost 0; wrong ones by infinity."""
    y = np.arange(1000) % 2
    F = -size * np.eye(2)[y]
    assert fit_temperature(F, y, np.ones(1000)) == pytest.approx(temperature, rel=1e-3)


def overconfident():
    """Return sets whose labels are wrong in a third of the cases."""
    rng = np.random.default_rng(0)
    X = rng.random((120, 3, 5))
    return X, ((X[:, :, 0].max(axis=1) > 0.8) ^ (rng.random(120) < 0.3)).astype(int)


SETTINGS = {"learning_rate": (0.05, 0.1), "init_scale": 0.3, "max_epochs": 60, "random_state": 0}


@pytest.mark.parametrize(("pooling", "n_models"), [("hard", 5.0), ("mixed", 10.0)])
def test_calibration_changes_probabilities_and_nothing_else(pooling, n_models):
    X, y = overconfident()
    plain = ClassSetRBMCV(10, pooling=pooling, **SETTINGS).fit(X, y)
    calibrated = ClassSetRBMCV(10, pooling=pooling, calibrate=True, **SETTINGS).fit(X, y)
    np.testing.assert_array_equal(calibrated.W_, plain.W_)
    np.testing.assert_array_equal(calibrated.predict(X), plain.predict(X))
    np.testing.assert_array_equal(calibrated.free_energy(X), plain.free_energy(X))
    assert calibrated.temperature_ == plain.temperature_ == n_models
    assert calibrated.calibration_temperature_ > 1.2
    assert plain.calibration_temperature_ == 1.0
    # A decision is the difference of two free energies, so small ones are rounded at the size of those.
    expected = plain.decision_function(X) / calibrated.calibration_temperature_
    np.testing.assert_allclose(calibrated.decision_function(X), expected, rtol=1e-12, atol=1e-14)
    rng = np.random.default_rng(1)
    new = rng.random((2000, 3, 5))
    labels = (new[:, :, 0].max(axis=1) > 0.8) ^ (rng.random(2000) < 0.3)
    assert log_loss(labels, calibrated.predict_proba(new)) < log_loss(labels, plain.predict_proba(new))


def test_the_temperature_is_that_of_predictions_for_sets_not_learned_from():
    pytest.importorskip("sklearn", minversion="1.8", reason="scikit-learn has temperature scaling since 1.8")
    X, y = overconfident()
    settings = SETTINGS | {"pooling": "hard", "learning_rate": 0.1}
    model = ClassSetRBMCV(10, n_fits=1, calibrate=True, **settings).fit(X, y)
    apart = ClassSetRBM(10, early_stopping=False, weight_decay=0.0, **settings)
    # scikit-learn, with folds of its own, finds about the same. Its logits of two classes are plus and minus the
    # decision, so they are twice as far apart.
    theirs = CalibratedClassifierCV(apart, method="temperature", ensemble=False, cv=5).fit(X, y)
    beta = theirs.calibrated_classifiers_[0].calibrators[0].beta_
    assert model.calibration_temperature_ == pytest.approx(0.5 / beta, rel=0.25)


def diverge(monkeypatch, diverged):
    """Let the refits diverge whose key, a Refit, is wanted; return where all outcomes will be."""
    outcomes, keep = {}, refits.keep

    def changed(search, refitted):
        for key, outcome in refitted.items():
            wrong = Params(*(-9.0 * array for array in outcome.params.arrays()))
            outcomes[key] = replace(outcome, params=wrong, diverged_in=3) if diverged(key) else outcome
        keep(search, outcomes)

    monkeypatch.setattr(refits, "keep", changed)
    return outcomes


@pytest.mark.parametrize("poolings", [("hard",), MIXED], ids=["hard", "mixed"])
@pytest.mark.parametrize(
    "diverged", [set(), {(0, 1), (3, 0)}, {(1, 0), (1, 1), (4, 1)}], ids=["none", "one fit", "a whole fold"]
)
def test_the_temperature_fits_weighted_mean_free_energies_of_sound_models(diverged, poolings, monkeypatch):
    """If a fit of a mixture diverged, here in its last part, every part has one less: its first ones are taken."""
    X, y = overconfident()
    weight = np.where(np.arange(len(y)) % 3 == 0, 5.0, 0.5)
    members = range(len(poolings))
    outcomes = diverge(monkeypatch, {Refit(fold, members[-1], start) for fold, start in diverged}.__contains__)
    pooling = "mixed" if poolings == MIXED else "hard"
    settings = SETTINGS | {"pooling": pooling, "n_fits": 2 * len(poolings), "scale": None}
    model = ClassSetRBMCV(10, calibrate=True, **settings).fit(X, y, weight)
    F, rows = [], []
    for fold, held_out in enumerate(folds(y, 5, model.seed_)):
        starts = [start for start in range(2) if (fold, start) not in diverged]
        sound = [Refit(fold, m, start) for m in members[:-1] for start in range(len(starts))]
        sound += [Refit(fold, members[-1], start) for start in starts]
        if sound:
            bags = Bags.from_array(X[held_out])
            models = [(outcomes[key].params, poolings[key.member]) for key in sound]
            each = [free_energy(bags.X, bags.offsets, params, "xor", pooling) for params, pooling in models]
            F.append(np.mean(each, axis=0))
            rows.append(held_out)
    F, rows = np.concatenate(F), np.concatenate(rows)
    expected, unweighted = (fit_temperature(F, y[rows], w[rows]) for w in (weight, np.ones(len(y))))
    assert model.calibration_temperature_ == pytest.approx(expected, rel=1e-6)
    assert unweighted != pytest.approx(expected, rel=0.01)


def test_probabilities_are_not_calibrated_if_the_refits_of_all_folds_diverged(monkeypatch):
    diverge(monkeypatch, lambda key: key.fold is not None)
    with pytest.warns(UserWarning, match="The probabilities are not calibrated: .* or all refits diverged"):
        model = ClassSetRBMCV(10, n_fits=1, calibrate=True, **SETTINGS).fit(*overconfident())
    assert model.calibration_temperature_ == 1.0


def test_without_a_refit_the_held_out_sets_are_used():
    X, y = overconfident()
    settings = SETTINGS | {"refit": False, "early_stopping": True}
    plain = ClassSetRBMCV(10, **settings).fit(X, y)
    calibrated = ClassSetRBMCV(10, calibrate=True, **settings).fit(X, y)
    np.testing.assert_array_equal(calibrated.W_, plain.W_)
    assert calibrated.calibration_temperature_ != 1.0


def test_sets_that_cannot_be_held_out_leave_the_probabilities_as_they_are():
    X = np.random.default_rng(0).random((3, 2, 4))
    chosen = pytest.warns(UserWarning, match="No set can be held out: every class has only one")
    with chosen, pytest.warns(UserWarning, match="The probabilities are not calibrated: no set could be held out"):
        model = ClassSetRBMCV(3, calibrate=True, **SETTINGS).fit(X, [0, 1, 2])
    assert model.calibration_temperature_ == 1.0


def test_explanations_follow_the_calibrated_probabilities():
    bags, y = load_musk1()
    model = ClassSetRBMCV(10, calibrate=True, **SETTINGS).fit(bags, y)
    X = bags[0]
    k = list(model.classes_).index(model.predict([X])[0])
    with_it, without_it = model.predict_log_proba([X, X[1:]])[:, k]
    assert model.explain([X]).drop[0] == pytest.approx(with_it - without_it, abs=1e-9)


def test_a_flag_must_be_a_flag():
    with pytest.raises(ValueError, match="calibrate must be True or False. Got 'yes'"):
        ClassSetRBMCV(calibrate="yes").fit(*overconfident())
