import json
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline

import setrbm
from setrbm import Bags, ClassSetRBMCV
from setrbm.engines.cpu import CpuSession
from setrbm.estimators import InputPooling, SetSVCCV
from setrbm.evaluation.splits import Split, repeated_folds, system_seed
from setrbm_lab import trials
from setrbm_lab.trials import (
    Trial,
    chosen_settings,
    fit_and_judge,
    fit_and_judge_side_by_side,
    settings_digest,
)


def sets(n_sets=30, seed=0):
    """Sets with one vector that gives the class; every value occurs once, so values identify a set."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_sets)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X, y = rng.random((offsets[-1], 3)), np.arange(n_sets) % 2
    X[offsets[:-1], 0] += 2.0 * y
    return Bags(X, offsets), y


class Memory(ClassifierMixin, BaseEstimator):
    """Remembers everything it is shown, and answers right where it has seen a set before; else it says 0."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.known_ = {vector.tobytes(): label for one, label in zip(X, y, strict=True) for vector in one}
        self.seen_ = {"fit": list(X)}
        return self

    def predict(self, X):
        self.met_ = [one for one in X if any(vector.tobytes() in self.known_ for vector in one)]
        return np.array([self.known_.get(one[0].tobytes(), 0) for one in X])


def trial(bags, y, system="a system"):
    return Trial(system, "a set of sets", bags, y, 7, "digest", "cpu")


def test_a_system_that_remembers_everything_gains_nothing():
    bags, y = sets()
    for split in repeated_folds(y, folds=5, repeats=2):
        memory = Memory()
        row = fit_and_judge(trial(bags, y), memory, split)
        # It never met a vector of a test set, and is right only where it would be without having learned.
        assert memory.met_ == []
        assert row.n_right == (y[split.test] == 0).sum()
        shown = {vector.tobytes() for one in memory.seen_["fit"] for vector in one}
        hidden = {vector.tobytes() for k in split.test for vector in bags[int(k)]}
        assert not shown & hidden
    # It would be caught: shown the test sets, it is always right.
    assert (Memory().fit(bags, y).predict(bags) == y).all()


def test_no_set_is_ever_split():
    bags, y = sets()
    whole = {one.tobytes() for one in bags}
    for split in repeated_folds(y, folds=5, repeats=1):
        memory = Memory()
        fit_and_judge(trial(bags, y), memory, split)
        assert {one.tobytes() for one in memory.seen_["fit"]} <= whole
        assert len(memory.seen_["fit"]) == len(split.train)


def test_labels_of_the_test_part_change_nothing_that_is_fitted():
    bags, y = sets()
    split = repeated_folds(y, folds=5, repeats=1)[0]
    turned = y.copy()
    turned[split.test] = 1 - turned[split.test]
    models = [ClassSetRBMCV(4, learning_rate=(0.1, 0.3), max_epochs=5, random_state=0) for _ in range(2)]
    rows = [fit_and_judge(trial(bags, t), model, split) for t, model in zip((y, turned), models, strict=True)]
    np.testing.assert_array_equal(models[0].W_, models[1].W_)
    assert rows[0].chosen == rows[1].chosen
    assert rows[0].n_right == rows[0].n_test - rows[1].n_right


def test_test_sets_change_nothing_that_is_fitted():
    bags, y = sets()
    split = repeated_folds(y, folds=5, repeats=1)[0]
    X = bags.X.copy()
    for k in split.test:
        X[bags.offsets[k] : bags.offsets[k + 1]] *= 1e6
    models = [ClassSetRBMCV(4, learning_rate=0.1, max_epochs=5, random_state=0) for _ in range(2)]
    for one, model in zip((bags, Bags(X, bags.offsets)), models, strict=True):
        fit_and_judge(trial(one, y), model, split)
    np.testing.assert_array_equal(models[0].W_, models[1].W_)
    np.testing.assert_array_equal(models[0].scale_factor_, models[1].scale_factor_)


@pytest.mark.parametrize("max_epochs", [6, 200])
def test_folds_trained_side_by_side_are_those_trained_alone(max_epochs):
    """With enough epochs that the worse half is dropped, separately in each fold."""
    bags, y = sets()
    splits = repeated_folds(y, folds=5, repeats=1)

    def make(split):
        rates, seed = (0.001, 0.01, 0.1, 0.3), system_seed(3, split)
        return ClassSetRBMCV(4, learning_rate=rates, init_scale=0.3, max_epochs=max_epochs, random_state=seed)

    alone = [fit_and_judge(trial(bags, y), make(split), split) for split in splits]
    together = fit_and_judge_side_by_side(trial(bags, y), [make(split) for split in splits], splits)
    for one, other in zip(alone, together, strict=True):
        assert (one.key, one.n_right, one.log_loss, one.chosen) == (
            other.key, other.n_right, other.log_loss, other.chosen
        )  # fmt: skip


def test_an_error_in_one_fold_leaves_the_others(monkeypatch):
    bags, y = sets()
    splits = repeated_folds(y, folds=5, repeats=1)
    models = [ClassSetRBMCV(4, learning_rate=0.1, max_epochs=3, random_state=0) for _ in splits]
    one = trial(bags, y)

    def training_part(self, split):
        return bags[split.train], (y if split.fold else 0 * y)[split.train]

    monkeypatch.setattr(Trial, "training_part", training_part)
    done = fit_and_judge_side_by_side(one, models, splits)
    assert isinstance(done[0], ValueError)
    assert "at least two classes" in str(done[0])
    assert not hasattr(models[0], "W_")
    assert all(row.n_test == 6 for row in done[1:])


def test_the_digest_depends_on_what_changes_a_result_and_on_nothing_else():
    bags, y = sets()

    def digest(model, bags=bags, y=y, folds=5, repeats=2, seed=0):
        return settings_digest(model, bags, y, folds, repeats, seed)

    base = digest(ClassSetRBMCV())
    assert digest(ClassSetRBMCV(random_state=3, n_jobs=2, verbose=1, engine="reference")) == base
    others = [
        digest(ClassSetRBMCV(learning_rate=(0.1,))),
        digest(ClassSetRBMCV(max_epochs=10)),
        digest(SetSVCCV()),
        digest(ClassSetRBMCV(), y=1 - y),
        digest(ClassSetRBMCV(), bags=Bags(bags.X + 1.0, bags.offsets)),
        digest(ClassSetRBMCV(), folds=4),
        digest(ClassSetRBMCV(), repeats=1),
        digest(ClassSetRBMCV(), seed=1),
    ]
    assert len({base, *others}) == 9


def test_a_parameter_added_later_changes_the_digest_only_away_from_its_neutral_default(monkeypatch):
    bags, y = sets()

    class Later(setrbm.ClassSetRBMCV):
        def __init__(self, n_hidden=100, *, shrinkage=None, random_state=None):
            super().__init__(n_hidden, random_state=random_state)
            self.shrinkage = shrinkage

    class Before(setrbm.ClassSetRBMCV):
        def __init__(self, n_hidden=100, *, random_state=None):
            super().__init__(n_hidden, random_state=random_state)

    Before.__name__ = Later.__name__ = "ClassSetRBMCV"

    def digest(model):
        return settings_digest(model, bags, y, 5, 1, 0)

    assert digest(Later()) != digest(Before())
    monkeypatch.setitem(trials.ADDED_PARAMETERS, "ClassSetRBMCV", {"shrinkage": None})
    assert digest(Later()) == digest(Before())
    assert digest(make_pipeline(InputPooling(), Later())) == digest(make_pipeline(InputPooling(), Before()))
    monkeypatch.setitem(trials.ADDED_PARAMETERS, "ClassSetRBMCV", {"shrinkage": 0.0})
    assert digest(Later(shrinkage=0.0)) == digest(Before())
    others = [digest(Later(shrinkage=value)) for value in (0.1, None, False)]
    assert len({digest(Before()), *others}) == 4


def test_the_chosen_settings_are_recorded():
    bags, y = sets()
    model = SetSVCCV(C=(1.0, 2.0), gamma_factors=(1.0,), random_state=0).fit(bags, y)
    chosen = json.loads(chosen_settings(model))
    assert chosen["C"] == model.C_
    assert set(chosen) == {"C", "gamma", "threshold"}


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_an_interrupted_fit_gives_no_result(at_once, refit, monkeypatch):
    bags, y = sets()
    splits = repeated_folds(y, folds=5, repeats=1)
    models = [ClassSetRBMCV(3, learning_rate=0.1, init_scale=0.3, max_epochs=4, random_state=0) for _ in splits]
    run, calls = CpuSession.run, []

    def interrupted(self, placed, orders, epoch):
        calls.append(epoch)
        # The choice takes four epochs; what follows is the training on all sets.
        if len(calls) == (6 if refit else 3):
            raise KeyboardInterrupt
        return run(self, placed, orders, epoch)

    monkeypatch.setattr(CpuSession, "run", interrupted)
    if at_once:
        with pytest.raises(KeyboardInterrupt):
            fit_and_judge_side_by_side(trial(bags, y), models, splits)
    else:
        with pytest.raises(KeyboardInterrupt):
            fit_and_judge(trial(bags, y), models[0], splits[0])


@pytest.mark.parametrize("at_once", [False, True])
def test_an_interrupt_before_all_candidates_have_started_gives_no_result(at_once, monkeypatch):
    bags, y = sets()
    splits = repeated_folds(y, folds=5, repeats=1)
    models = [ClassSetRBMCV((3, 5), learning_rate=0.1, init_scale=0.3, max_epochs=4, random_state=0) for _ in splits]
    run, calls = CpuSession.run, []

    def interrupted(self, placed, orders, epoch):
        calls.append(epoch)
        # In the first epoch of the candidates with five units.
        if len(calls) == 5:
            raise KeyboardInterrupt
        return run(self, placed, orders, epoch)

    monkeypatch.setattr(CpuSession, "run", interrupted)
    one = partial(fit_and_judge, trial(bags, y), models[0], splits[0])
    with pytest.raises(KeyboardInterrupt):
        (partial(fit_and_judge_side_by_side, trial(bags, y), models, splits) if at_once else one)()
    if at_once:
        assert not any(hasattr(model, "W_") for model in models)
    else:
        assert models[0].best_params_["n_hidden"] == 3


def test_the_digest_covers_sparse_data_and_object_labels():
    bags, y = sets()
    digest = partial(settings_digest, ClassSetRBMCV(3), folds=5, repeats=1, seed=0)
    rows = sparse.random(bags.n_vectors, 30, 0.2, "csr", random_state=0)
    moved = sparse.csr_matrix((rows.data, (rows.indices + 1) % 30, rows.indptr), rows.shape)
    assert digest(Bags(rows, bags.offsets), y) != digest(Bags(moved, bags.offsets), y)
    names = np.array(["a", "b"], dtype=object)[y]
    assert digest(bags, names) == digest(bags, np.array(["a", "b"], dtype=object)[y])
    assert digest(bags, names) != digest(bags, names[::-1])


def test_a_system_that_fails_to_predict_one_fold_loses_only_that_fold(monkeypatch):
    bags, y = sets()
    splits = repeated_folds(y, folds=5, repeats=1)
    models = [ClassSetRBMCV(3, learning_rate=0.1, init_scale=0.3, max_epochs=2, random_state=0) for _ in splits]
    judge = Trial.judge

    def judged(self, fitted, split, seconds):
        if split.fold == 2:
            raise ValueError("no answer")
        return judge(self, fitted, split, seconds)

    monkeypatch.setattr(Trial, "judge", judged)
    done = fit_and_judge_side_by_side(trial(bags, y), models, splits)
    assert [isinstance(one, ValueError) for one in done] == [False, False, True, False, False]


class Fixed(ClassifierMixin, BaseEstimator):
    """Predicts given probabilities of the classes "a" and "b", whatever the sets are."""

    def __init__(self, p=()):
        self.p = p

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.asarray(self.p)
        return np.column_stack([1.0 - p, p])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_log_loss_is_the_mean_of_minus_log_p_of_the_true_class():
    bags, y = sets(n_sets=6)
    labels = np.array(["b", "a"])[y]
    split = Split(0, 0, np.arange(2), np.arange(2, 6))
    p_of_b = np.array([0.9, 0.2, 1e-6, 0.5])
    # The true classes are b, a, b, a: the third prediction is wrong and almost certain.
    expected = -np.log([0.9, 1.0 - 0.2, 1e-6, 1.0 - 0.5]).mean()
    assert fit_and_judge(trial(bags, labels), Fixed(p_of_b), split).log_loss == pytest.approx(expected, abs=1e-6)
    certain = fit_and_judge(trial(bags, labels), Fixed([1.0, 0.0, 0.0, 0.0]), split).log_loss
    assert certain == pytest.approx(-np.log(1e-15) / 4, abs=1e-6)
    assert np.isnan(fit_and_judge(trial(bags, y), Memory(), split).log_loss)


def test_the_digest_depends_on_the_text_of_labels_not_on_their_objects():
    bags, _ = sets()
    digest = partial(settings_digest, ClassSetRBMCV(3), bags, folds=5, repeats=1, seed=0)
    names = ["one", "two"]
    y = np.array([names[k % 2] for k in range(len(bags))], dtype=object)
    other = np.array(["".join(list(name)) for name in y], dtype=object)
    assert other[0] is not y[0]
    assert digest(y=y) == digest(y=other) != digest(y=y[::-1])
