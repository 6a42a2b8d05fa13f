"""Fits of many estimators at once: the same as one by one, whatever happens to one of them."""

import os
import warnings
import weakref
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone

from setrbm import Bags, ClassSetRBMCV
from setrbm.engines.protocol import DeviceMemoryWarning
from setrbm.evaluation.splits import repeated_folds
from setrbm_lab import side_by_side
from setrbm_lab.side_by_side import fit_side_by_side
from test_trials import sets

HAS_CUDA = find_spec("torch") is not None and import_module("torch").cuda.is_available()
if not HAS_CUDA:
    # Triton reads this when it is imported: its kernels are then interpreted.
    os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture
def gpu(monkeypatch):
    """The module of the GPU engine, whose engine runs on torch's CPU build where there is no GPU."""
    pytest.importorskip("triton", reason="the GPU engine's kernels need triton")
    from setrbm.engines.gpu import engine

    monkeypatch.setattr(engine, "ENGINE", engine.GpuEngine("cuda" if HAS_CUDA else "cpu"))
    return engine


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("call", [1, 2])
def test_ctrl_c_leaves_all_fits_unchanged(monkeypatch, call, error):
    """In the training of the candidates and in the refits; so does a memory that is always full."""
    bags, y = sets()
    calls, real = [], side_by_side.train_together

    def train_batches(batches, fits):
        calls.append(1)
        if len(calls) >= call:
            raise error
        return real(batches, fits)

    monkeypatch.setattr(side_by_side, "train_together", train_batches)
    models = [ClassSetRBMCV(4, learning_rate=0.1, max_epochs=3, random_state=0)]
    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            fit_side_by_side(models, [(bags, y, None)])
    else:
        assert isinstance(fit_side_by_side(models, [(bags, y, None)])[0], MemoryError)
    assert vars(models[0]) == vars(clone(models[0]))


def test_the_worse_half_is_dropped_within_each_fold():
    """Beside a fold that is easy all candidates of a hard one are worse."""
    bags, y = sets()
    data_of = [(bags, y, None), (bags, np.random.default_rng(0).permutation(y), None)]
    rates = (0.001, 0.01, 0.1, 0.3)
    together, alone = (
        [ClassSetRBMCV(4, learning_rate=rates, init_scale=0.3, max_epochs=200, random_state=0) for _ in data_of]
        for _ in range(2)
    )
    assert fit_side_by_side(together, data_of) == [None, None]
    for one, other, data in zip(together, alone, data_of, strict=True):
        assert (one.cv_results_["dropped"] == other.fit(*data).cv_results_["dropped"]).all()
        assert sum(one.cv_results_["dropped"]) == 3


def test_fits_side_by_side_are_refitted_for_as_many_epochs_as_each_chose():
    bags, y = sets()
    data_of = [(bags, np.random.default_rng(0).permutation(y), None), (bags, y, None)]
    settings = {"learning_rate": 0.3, "init_scale": 1.0, "max_epochs": (3, 60), "random_state": 0}
    together, alone = ([ClassSetRBMCV(4, **settings) for _ in data_of] for _ in range(2))
    assert fit_side_by_side(together, data_of) == [None, None]
    assert [model.n_epochs_ for model in together] == [3, 60]
    for one, other, data in zip(together, alone, data_of, strict=True):
        np.testing.assert_array_equal(one.W_, other.fit(*data).W_)


def test_a_fold_that_does_not_fit_into_memory_leaves_the_others(monkeypatch):
    """A memory that holds two folds at once, but one of them never."""
    bags, y = sets()
    data_of = [(bags[split.train], y[split.train], None) for split in repeated_folds(y, folds=5, repeats=1)]
    models = [ClassSetRBMCV(4, learning_rate=0.1, max_epochs=3, random_state=k) for k in range(5)]

    def train_batches(batches, fits, real=side_by_side.train_together):
        if len(fits) > 2 or any(search.estimator is models[2] for search in fits.values()):
            raise MemoryError("It is full.")
        return real(batches, fits)

    monkeypatch.setattr(side_by_side, "train_together", train_batches)
    with pytest.warns(DeviceMemoryWarning, match="in two halves"):
        faults = fit_side_by_side(models, data_of)
    assert [fault if fault is None else str(fault) for fault in faults] == [None, None, "It is full.", None, None]
    assert [hasattr(model, "W_") for model in models] == [True, True, False, True, True]
    assert vars(models[2]) == vars(clone(models[2]))


def test_halves_use_the_seeds_of_all_folds_at_once(monkeypatch):
    bags, y = sets()
    data_of = [(bags[split.train], y[split.train], None) for split in repeated_folds(y, folds=5, repeats=1)]

    def fitted():
        generator = np.random.RandomState(0)
        models = [ClassSetRBMCV(4, learning_rate=0.1, max_epochs=3, random_state=generator) for _ in data_of]
        assert fit_side_by_side(models, data_of) == [None] * 5
        return [model.W_ for model in models]

    together = fitted()

    def train_batches(batches, fits, real=side_by_side.train_together):
        if len(fits) > 3:
            raise MemoryError
        return real(batches, fits)

    monkeypatch.setattr(side_by_side, "train_together", train_batches)
    with pytest.warns(DeviceMemoryWarning, match="5 fits do not fit into memory together"):
        halves = fitted()
    np.testing.assert_array_equal(together, halves)


def test_mixtures_fitted_side_by_side_are_those_fitted_one_by_one():
    several = [sets(seed=seed) for seed in range(3)]
    together = [ClassSetRBMCV(5, max_epochs=3, random_state=0) for _ in several]
    assert fit_side_by_side(together, [(bags, y, None) for bags, y in several]) == [None] * 3
    for model, (bags, y) in zip(together, several, strict=True):
        alone = ClassSetRBMCV(5, max_epochs=3, random_state=0).fit(bags, y)
        assert model.best_params_ == alone.best_params_
        np.testing.assert_allclose(model.predict_log_proba(bags), alone.predict_log_proba(bags), rtol=1e-9, atol=1e-12)


def test_of_fits_that_share_a_generator_a_failed_one_takes_no_seed():
    bags, y = sets()

    def fitted(*data):
        generator = np.random.RandomState(0)
        models = [ClassSetRBMCV(cv=2, n_hidden=3, max_epochs=2, random_state=generator) for _ in data]
        faults = fit_side_by_side(models, data)
        return faults, [getattr(model, "seed_", None) for model in models], generator.randint(1000)

    good, bad = (bags, y, None), (bags, y, np.arange(len(y)))
    _, (first, second), after = fitted(good, good)
    faults, seeds, drawn = fitted(good, bad, good)
    assert (seeds, drawn) == ([first, None, second], after)
    assert [str(fault)[:40] for fault in faults] == ["None", "cv needs sets with a weight above zero. ", "None"]


def test_choosing_over_folds_equals_the_cpu_engine(gpu, monkeypatch):
    rng = np.random.default_rng(0)
    parts = [(bags, rng.permutation(y), None) for bags, y in map(sets, (16, 16), (0, 1))]
    fitted = {}
    for name in ("gpu", "cpu"):
        fitted[name] = [
            ClassSetRBMCV(5, learning_rate=(0.1, 0.3), init_scale=0.3, max_epochs=3, engine=name, random_state=seed)
            for seed in (0, 1)
        ]
        assert fit_side_by_side(fitted[name], parts) == [None, None]
    for one, other, part in zip(fitted["gpu"], fitted["cpu"], parts, strict=True):
        assert one.best_params_ == other.best_params_
        np.testing.assert_allclose(one.W_, other.W_, rtol=0, atol=1e-9)
        np.testing.assert_allclose(one.predict_proba(part[0]), other.predict_proba(part[0]), rtol=0, atol=1e-9)


def test_folds_that_do_not_fit_together_are_trained_in_halves_with_the_same_results(gpu, monkeypatch):
    """The device has room for the sets of one fold only."""
    on_device = []

    def place(*args, place=gpu.place):
        store = place(*args)
        on_device.append(weakref.ref(store))
        return store

    monkeypatch.setattr(gpu, "place", place)
    monkeypatch.setattr(gpu, "free_bytes", lambda device: 0 if any(store() for store in on_device) else 2**33)
    rng = np.random.default_rng(0)
    parts = [(bags, rng.permutation(y), None) for bags, y in map(sets, (16,) * 3, range(3))]
    settings = {"learning_rate": (0.1, 0.3), "init_scale": 0.3, "max_epochs": 3, "n_fits": 1}
    together, alone = (
        [ClassSetRBMCV(5, **settings, engine=engine, random_state=seed) for seed in range(3)]
        for engine in ("gpu", "cpu")
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert fit_side_by_side(together, parts) == [None] * 3
    halved = [str(one.message) for one in said if "in two halves" in str(one.message)]
    assert [text.split(" do not")[0] for text in halved] == ["3 fits", "2 fits"]
    assert all(issubclass(one.category, DeviceMemoryWarning) for one in said)
    for one, other, part in zip(together, alone, parts, strict=True):
        np.testing.assert_allclose(one.W_, other.fit(*part).W_, rtol=0, atol=1e-9)


def test_fits_of_different_widths_are_those_fitted_one_by_one():
    wide, y = sets()
    narrow = Bags(wide.X[:, :2], wide.offsets)
    data_of = [(wide, y, None), (narrow, y, None)]
    together, alone = (
        [ClassSetRBMCV(4, learning_rate=0.1, max_epochs=3, random_state=0) for _ in data_of] for _ in "ab"
    )
    assert fit_side_by_side(together, data_of) == [None, None]
    for model, other, data in zip(together, alone, data_of, strict=True):
        np.testing.assert_array_equal(model.W_, other.fit(*data).W_)
