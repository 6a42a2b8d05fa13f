"""The refits of the chosen settings, and their average."""

from dataclasses import replace

import numpy as np
import pytest

from fitting import easy
from setrbm import ClassSetRBMCV, draws
from setrbm.energy import free_energy, log_posterior
from setrbm.engines import get_engine
from setrbm.engines.protocol import LabeledSets
from setrbm.estimators.search.search import TrainingBatch
from setrbm.estimators.settings import Settings
from setrbm.training import InMemory, Schedule, Training, train


@pytest.mark.parametrize(
    ("n_fits", "pooling", "scale"), [(1, "hard", "auto"), (3, "hard", "auto"), (5, "mixed", "center")]
)
def test_a_refit_that_diverges_leaves_the_model_as_it_was_chosen(monkeypatch, n_fits, pooling, scale):
    bags, y = easy()
    settings = {"learning_rate": (0.05, 0.1), "init_scale": 0.3, "max_epochs": 4, "random_state": 0}
    kept = ClassSetRBMCV(5, pooling="hard", scale=scale, refit=False, **settings).fit(bags, y)

    def train_apart(batch, *args, real=TrainingBatch.train):
        phase = batch.schedule.phase
        monkeypatch.setattr("setrbm.training.loop.DIVERGED", 30.0 if phase == "choosing" else 1e-9)
        return real(batch, *args)

    monkeypatch.setattr(TrainingBatch, "train", train_apart)
    with pytest.warns(UserWarning, match=r"diverged in (\d+) of \1 refits. The best candidate is kept without a refit"):
        model = ClassSetRBMCV(5, pooling=pooling, n_fits=n_fits, **settings).fit(bags, y)
    np.testing.assert_array_equal(model.W_, kept.W_)
    np.testing.assert_array_equal(model.predict_proba(bags), kept.predict_proba(bags))
    assert (model.settings_.pooling, model.temperature_) == ("hard", 1.0)


def test_fits_that_diverge_are_left_out_of_the_average(monkeypatch):
    bags, y = easy()
    settings = {"pooling": "hard", "learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 4, "random_state": 0}
    whole = ClassSetRBMCV(5, n_fits=3, **settings).fit(bags, y)

    def train_apart(*args, real=TrainingBatch.train):
        outcomes = real(*args)
        return outcomes if len(outcomes) < 3 else [outcomes[0], replace(outcomes[1], diverged_in=2), outcomes[2]]

    monkeypatch.setattr(TrainingBatch, "train", train_apart)
    with pytest.warns(UserWarning, match="diverged in 1 of 3 refits. The others are kept. Offer smaller"):
        model = ClassSetRBMCV(5, n_fits=3, **settings).fit(bags, y)
    np.testing.assert_array_equal(model.W_, np.delete(whole.W_, slice(5, 10), axis=0))
    assert model.temperature_ == 2.0


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
