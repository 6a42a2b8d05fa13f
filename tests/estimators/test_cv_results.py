"""What the estimators that choose record, and the ways to choose that scikit-learn's users know."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold

from setrbm import ClassSetRBM, ClassSetRBMCV
from setrbm.estimators import MaxOutClassifierCV
from setrbm.estimators.search import refits
from setrbm.estimators.search.results import cv_results, judged, of_splits, restored
from setrbm.training import Outcome, Schedule
from setrbm.training.early_stopping import Tracker

SETTINGS = {"init_scale": 0.3, "max_epochs": 20, "random_state": 0}


def easy(n=60, seed=0):
    """Return sets in which one vector with a large first feature makes the second class."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, 3, 4)) * 0.8, np.arange(n) % 2
    X[y == 1, 0, 0] += 0.3
    return X, y


def test_scores_are_laid_out_as_scikit_learn_does():
    params = [{"C": 1.0, "kernel": "a"}, {"C": 10.0, "kernel": "b"}, {"C": 100.0, "kernel": "b"}]
    results = cv_results(params, np.array([[0.5, 0.7], [0.8, 1.0], [np.nan, 0.9]]))
    np.testing.assert_allclose(results["mean_test_score"], [0.6, 0.9, np.nan])
    np.testing.assert_allclose(results["std_test_score"], [0.1, 0.1, np.nan])
    assert results["rank_test_score"].tolist() == [2, 1, 3]
    assert results["param_C"].tolist() == [1.0, 10.0, 100.0]
    assert results["param_kernel"].tolist() == ["a", "b", "b"]
    assert pd.DataFrame(results).shape == (3, 8)


def test_texts_and_tuples_of_one_length_stay_as_they_are_in_the_record():
    params = [{"kernel": "a", "range": (0, 1)}, {"kernel": "b", "range": (0, 2)}]
    results = cv_results(params, np.zeros((2, 1)))
    for name in ("kernel", "range"):
        column = results[f"param_{name}"]
        assert (column.shape, column.dtype) == ((2,), object)
        assert column.tolist() == [one[name] for one in params]


@pytest.mark.parametrize("dropped", ["dropped", "left_behind"])
@pytest.mark.parametrize(("criterion", "scores"), [("likelihood", [-0.25, np.nan]), ("error", [0.75, np.nan])])
def test_the_record_of_the_first_format_is_restored_with_scores_instead_of_losses(dropped, criterion, scores):
    params = [{"learning_rate": 0.1}, {"learning_rate": 0.2}]
    facts = {"best_epoch": [7, 2], "diverged": [False, False], dropped: [False, True]}
    kept = {"params": params, "score": [0.25, np.inf], "history": [{"loss": [1.0]}, {"loss": [2.0]}], **facts}
    results, best = restored({"results": kept, "best_params": params[1]}, criterion)
    assert best == 1
    np.testing.assert_array_equal(results["mean_test_score"], scores)
    assert results["rank_test_score"].tolist() == [1, 2]
    assert (results["n_epochs"].tolist(), results["dropped"].tolist()) == ([7, 2], [False, True])
    assert results["split0_history"] == kept["history"]


def test_splits_are_found_again_in_their_order():
    scores = np.arange(24.0).reshape(2, 12)
    np.testing.assert_array_equal(of_splits(cv_results([{"C": 1.0}, {"C": 2.0}], scores)), scores.T)
    fitted = ClassSetRBMCV(5, learning_rate=(0.01, 0.1), cv=3, **SETTINGS | {"max_epochs": 2}).fit(*easy())
    histories = of_splits(fitted.cv_results_, "history")
    assert len(histories) == fitted.n_splits_ == 3
    assert all(histories[k] is fitted.cv_results_[f"split{k}_history"] for k in range(3))


def test_the_record_has_the_names_of_scikit_learn_s_search():
    X, y = easy()
    ours = ClassSetRBMCV(5, learning_rate=(0.01, 0.1), cv=3, **SETTINGS).fit(X, y)
    grid = GridSearchCV(ClassSetRBM(5, **SETTINGS), {"learning_rate": (0.01, 0.1)}, cv=3).fit(X, y)
    theirs = {name for name in grid.cv_results_ if not name.endswith("_time")}
    assert theirs <= set(ours.cv_results_)
    for name in ("best_index_", "best_params_", "best_score_", "n_splits_"):
        assert type(getattr(ours, name)) is type(getattr(grid, name)) or name in ("best_index_", "best_score_")
    assert ours.n_splits_ == grid.n_splits_ == 3
    assert ours.cv_results_["params"] == grid.cv_results_["params"]
    assert len(pd.DataFrame(ours.cv_results_)) == 2


@pytest.mark.parametrize("stopping", ["likelihood", "error"])
def test_the_score_of_a_split_is_the_mean_over_the_last_tenth_of_its_curve(stopping):
    X, y = easy()
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    settings = SETTINGS | {"learning_rate": 0.1, "stopping": stopping, "early_stopping": False}
    model = ClassSetRBMCV(5, cv=folds, scale=None, **settings).fit(X, y)
    for k in range(3):
        history = model.cv_results_[f"split{k}_history"][0]
        curve = np.array(history["held_out_loss" if stopping == "likelihood" else "held_out_error"])
        late = curve[18:].mean()
        expected = -late if stopping == "likelihood" else 1.0 - late
        assert model.cv_results_[f"split{k}_test_score"][0] == pytest.approx(expected, rel=1e-12)
    assert model.best_score_ == pytest.approx(model.cv_results_["mean_test_score"].max())
    assert model.n_epochs_ == 20


def test_a_set_that_only_a_held_out_part_shows_changes_that_part_s_score_only():
    X, y = easy()
    splits = [(np.arange(0, 40), np.arange(40, 60)), (np.arange(20, 60), np.arange(0, 20))]
    settings = SETTINGS | {"learning_rate": 0.1, "scale": None, "refit": True}
    plain = ClassSetRBMCV(5, cv=splits, **settings).fit(X, y)
    flipped = y.copy()
    flipped[40:] = 1 - flipped[40:]
    other = ClassSetRBMCV(5, cv=splits, **settings).fit(X, flipped)
    scores = [model.cv_results_["split0_history"][0]["loss"] for model in (plain, other)]
    assert scores[0] == scores[1]
    assert plain.cv_results_["split0_test_score"][0] > other.cv_results_["split0_test_score"][0]


def test_without_cv_one_set_of_every_class_of_two_is_held_out():
    X, y = easy(12)
    y = np.where(np.arange(12) < 2, 2, y)
    seen = []

    def scorer(estimator, sets, labels):
        seen.append(np.bincount(labels, minlength=3).tolist())
        return 1.0

    ClassSetRBMCV(3, learning_rate=0.1, scoring=scorer, **SETTINGS | {"max_epochs": 1}).fit(X, y)
    assert seen == [[1, 1, 1]]


def test_without_cv_the_held_out_part_is_as_before():
    X, y = easy()
    model = ClassSetRBMCV(5, learning_rate=(0.01, 0.1), **SETTINGS).fit(X, y)
    assert model.n_splits_ == 1
    best = model.cv_results_["split0_history"][model.best_index_]
    assert model.best_score_ == pytest.approx(-np.mean(best["held_out_loss"][18:]), rel=1e-12)


def test_the_number_of_epochs_is_that_of_the_best_mean_over_the_splits():
    # Labels that cannot be learned: training only harms.
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), rng.integers(0, 2, 60)
    settings = {"learning_rate": 0.5, "init_scale": 1.0, "n_fits": 1, "random_state": 0, "cv": 3}
    ends = ClassSetRBMCV(20, max_epochs=(80, 10, 40), **settings).fit(X, y)
    assert ends.n_epochs_ == ends.best_params_["max_epochs"] == 10
    stopped = ClassSetRBMCV(20, max_epochs=30, patience=None, early_stopping=True, **settings).fit(X, y)
    curves = [stopped.cv_results_[f"split{k}_history"][0]["held_out_loss"] for k in range(3)]
    assert stopped.n_epochs_ == np.mean(curves, axis=0).argmin() + 1
    assert stopped.best_score_ == pytest.approx(-np.mean(curves, axis=0).min(), rel=1e-12)


def test_the_largest_number_of_epochs_can_be_the_best_over_the_splits():
    model = ClassSetRBMCV(5, learning_rate=0.1, cv=2, **SETTINGS | {"max_epochs": (4, 20)}).fit(*easy())
    curves = np.array([model.cv_results_[f"split{k}_history"][0]["held_out_loss"] for k in range(2)])
    assert curves[:, 18:].mean() < curves[:, 3].mean()
    assert model.n_epochs_ == model.best_params_["max_epochs"] == 20
    assert model.best_score_ == pytest.approx(-curves[:, 18:].mean(), rel=1e-12)


@pytest.mark.parametrize("ends", [(), (3, 9)])
def test_a_candidate_is_dropped_or_diverged_if_it_is_in_one_split(ends):
    def outcome(n, **changes):
        curve = [1.0 / (k + 1) for k in range(n)]
        history = {"loss": curve, "held_out_loss": curve, "held_out_error": curve}
        return replace(Outcome(None, history, n, curve[-1] if n else np.inf, None, False), **changes)

    choices = ClassSetRBMCV(3, max_epochs=9)._choices()
    schedule = Schedule(9, ends=ends)

    def judge(*outcomes):
        one = judged(choices, choices.candidates[0], list(outcomes), schedule)
        return one.begun, one.diverged, one.dropped, one.is_finished, one.n_epochs, np.isfinite(one.scores).all()

    whole = outcome(9)
    assert judge(whole, whole) == (True, False, False, True, 9, True)
    assert judge(whole, outcome(9, diverged_in=9)) == (True, True, False, False, 9, False)
    assert judge(whole, outcome(2, dropped=True)) == (True, False, True, False, 2, False)
    assert judge(whole, outcome(0)) == (False, False, False, False, 0, False)


def test_candidates_are_dropped_by_their_mean_over_the_splits(monkeypatch):
    monkeypatch.setattr("setrbm.training.early_stopping.FEWEST_BEFORE_RUNG", 1)
    X, y = easy()
    model = ClassSetRBMCV(5, learning_rate=(1e-7, 1e-6, 0.05, 0.1), cv=3, **SETTINGS | {"max_epochs": 16}).fit(X, y)
    dropped = model.cv_results_["dropped"]
    assert dropped[:2].tolist() == [True, True]
    assert dropped.sum() == 3
    for k in range(3):
        lengths = [len(history["loss"]) for history in model.cv_results_[f"split{k}_history"]]
        assert lengths[:2] == [2, 2]
        assert sorted(lengths) == [2, 2, 4, 16]
    assert np.isnan(model.cv_results_["mean_test_score"][dropped]).all()


def test_every_split_has_its_own_patience_and_all_have_one_number_of_epochs():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), rng.integers(0, 2, 60)
    settings = {"learning_rate": 0.05, "init_scale": 1.0, "n_fits": 1, "random_state": 0}
    settings |= {"pooling": "hard", "early_stopping": True, "patience": 4}
    model = ClassSetRBMCV(20, cv=4, max_epochs=60, **settings).fit(X, y)
    curves = [model.cv_results_[f"split{k}_history"][0]["held_out_loss"] for k in range(4)]
    lengths = [len(curve) for curve in curves]
    assert lengths == [int(np.argmin(curve)) + 1 + 4 for curve in curves]
    assert len(set(lengths)) > 1
    # Only the epochs that every split has reached can be compared.
    mean = np.mean([curve[: min(lengths)] for curve in curves], axis=0)
    assert model.n_epochs_ == model.cv_results_["n_epochs"][0] == mean.argmin() + 1
    assert model.best_score_ == pytest.approx(-mean.min(), rel=1e-12)


def test_a_scorer_judges_finished_candidates_on_held_out_sets():
    X, y = easy()
    seen = []

    def scorer(estimator, sets, labels):
        seen.append((len(labels), estimator.predict_proba(sets), labels))
        return float(estimator.settings_.learning_rate)

    model = ClassSetRBMCV(5, learning_rate=(0.2, 0.1, 1e9), scoring=scorer, **SETTINGS).fit(X, y)
    assert model.best_params_["learning_rate"] == 0.2
    assert model.cv_results_["mean_test_score"][:2].tolist() == [0.2, 0.1]
    assert np.isnan(model.cv_results_["mean_test_score"][2])
    # A fifth of each class, and as sure as the loss that was watched.
    assert [n for n, _, _ in seen] == [12, 12]
    p, labels = seen[0][1:]
    watched = model.cv_results_["split0_history"][0]["held_out_loss"]
    assert -np.log(p[np.arange(12), labels]).mean() == pytest.approx(watched[-1], rel=1e-9)


@pytest.mark.parametrize("cv", [None, 2])
def test_a_candidate_without_a_score_in_one_split_is_not_chosen(cv):
    scores = {0.1: [np.nan, 9.0], 0.05: [0.5, 0.1], 0.02: [0.7, 0.2]}

    def scorer(estimator, sets, labels):
        return scores[estimator.settings_.learning_rate].pop(0)

    model = ClassSetRBMCV(5, learning_rate=(0.1, 0.05, 0.02), scoring=scorer, cv=cv, **SETTINGS).fit(*easy())
    assert model.best_params_ == {"learning_rate": 0.02}
    assert model.best_score_ == pytest.approx(0.7 if cv is None else 0.45)
    assert model.cv_results_["rank_test_score"].tolist() == [3, 2, 1]
    assert np.isnan(model.cv_results_["mean_test_score"]).tolist() == [True, False, False]


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy", "neg_log_loss", make_scorer(roc_auc_score)])
@pytest.mark.parametrize("cv", [None, 3, ShuffleSplit(2, random_state=0)])
def test_scikit_learn_s_scorers_and_splitters_are_taken(scoring, cv):
    X, y = easy()
    labels = np.array(["no", "yes"])[y]
    if callable(scoring):
        labels = y
    model = ClassSetRBMCV(5, learning_rate=(0.01, 0.1), scoring=scoring, cv=cv, **SETTINGS).fit(X, labels)
    scores = model.cv_results_["mean_test_score"]
    assert model.best_score_ == scores.max()
    assert model.n_splits_ == {None: 1, 3: 3}.get(cv if cv is None or isinstance(cv, int) else 2, 2)
    assert model.cv_results_["rank_test_score"][model.best_index_] == 1


def test_a_scorer_uses_weights_of_the_fitted_scale():
    X, y = easy()
    raw = 1000.0 * X - 5.0
    scores = [
        ClassSetRBMCV(5, learning_rate=(0.01, 0.1), scoring="neg_log_loss", **SETTINGS).fit(sets, y).best_score_
        for sets in (X, raw)
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-6)


@pytest.mark.parametrize("cv", [None, 2])
def test_scoring_changes_nothing_of_a_model_that_has_no_rival(cv):
    X, y = easy()
    plain, scored = (
        ClassSetRBMCV(5, learning_rate=0.1, scoring=scoring, cv=cv, **SETTINGS).fit(1000.0 * X - 5.0, y)
        for scoring in (None, "accuracy")
    )
    np.testing.assert_array_equal(scored.scale_factor_, plain.scale_factor_)
    np.testing.assert_array_equal(scored.predict_proba(1000.0 * X - 5.0), plain.predict_proba(1000.0 * X - 5.0))


@pytest.mark.parametrize("settings", [{"max_epochs": (4, 8)}, {"early_stopping": True}])
def test_without_cv_a_scorer_may_judge_models_of_different_epochs(settings):
    model = ClassSetRBMCV(5, learning_rate=(0.01, 0.1), scoring="neg_log_loss", **SETTINGS | settings).fit(*easy())
    assert model.best_score_ == model.cv_results_["mean_test_score"].max()


@pytest.mark.parametrize("scale", ["auto", None])
def test_a_scorer_sees_the_sets_as_the_model_does_and_no_weights(scale):
    X, y = easy()
    raw, weight = 10.0 * X - 5.0, np.linspace(0.1, 2.0, 60)
    seen = []

    def scorer(estimator, sets, labels, sample_weight=None):
        seen.append((sets.X, sample_weight))
        return 0.0

    settings = SETTINGS | {"learning_rate": 1e-4, "class_weight": {0: 3.0}}
    ClassSetRBMCV(5, scoring=scorer, scale=scale, **settings).fit(raw, y, weight)
    ((vectors, weights),) = seen
    assert weights is None
    assert (vectors.min() < -4.0) == (scale is None)
    assert (0.0 <= vectors.min() <= vectors.max() <= 1.0) == (scale == "auto")


def test_max_out_classifiers_take_cv_and_scoring_too():
    X, y = easy()
    settings = {"learning_rate": (0.01, 0.1), "weight_decay": 0.0, "refit": True} | SETTINGS
    model = MaxOutClassifierCV("mlp", n_hidden=5, cv=3, scoring="accuracy", early_stopping=False, **settings).fit(X, y)
    assert model.n_splits_ == 3
    assert 0.5 <= model.best_score_ == max(model.cv_results_["mean_test_score"]) <= 1.0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"scoring": 3}, "scoring must be None, the name of a scorer, or a callable. Got 3"),
        ({"scoring": ["accuracy"]}, r"scoring must be None, the name of a scorer, or a callable. Got \['accuracy'\]"),
        (
            {"scoring": "nonsense"},
            r"name of a scorer of scikit-learn. Got 'nonsense'. sklearn.metrics.get_scorer_names",
        ),
        ({"scoring": "rocauc"}, "Got 'rocauc'; the nearest: roc_auc"),
        ({"cv": "nonsense"}, "Expected `?cv`? as an integer"),
        ({"cv": 3, "refit": False}, "cv must be None if nothing is refitted"),
        ({"cv": []}, "cv must give at least one split. Got none"),
        ({"cv": [(np.arange(0, 60, 2), np.arange(1, 60, 2))]}, "leave sets of at least two classes. Split 0 does not"),
        ({"cv": [(np.arange(60), np.arange(0))]}, "hold out at least one set"),
        ({"cv": 40}, "n_splits=40 cannot be greater than"),
        ({"scoring": lambda *_: np.nan}, "scoring must give a number for at least one candidate. Got NaN for all"),
    ],
)
def test_what_cannot_be_chosen_by_is_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        ClassSetRBMCV(5, learning_rate=0.1, **SETTINGS, **setting).fit(*easy())


@pytest.mark.parametrize(
    ("scoring", "labels", "message"),
    [
        ("roc_auc", [0, 1, 2], "scoring='roc_auc' needs two classes. Got 3. Use scoring='roc_auc_ovr'"),
        ("f1", [0, 1, 2], "scoring='f1' needs two classes. Got 3. Use scoring='f1_macro'"),
        ("f1", ["no", "yes"], r"needs a class named 1. Got the classes no, yes. .*make_scorer\(f1_score, pos_label="),
    ],
)
def test_a_scorer_for_other_classes_is_refused(scoring, labels, message):
    X, _ = easy()
    with pytest.raises(ValueError, match=message):
        ClassSetRBMCV(5, learning_rate=0.1, scoring=scoring, **SETTINGS).fit(X, np.resize(labels, len(X)))


def test_scorers_for_the_classes_at_hand_are_taken():
    X, y = easy()
    for scoring, labels in (("roc_auc_ovr", np.arange(len(X)) % 3), ("f1", y), ("roc_auc", np.array(["a", "b"])[y])):
        model = ClassSetRBMCV(5, learning_rate=(0.01, 0.1), scoring=scoring, **SETTINGS).fit(X, labels)
        assert 0.0 <= model.best_score_ <= 1.0


def test_max_out_classifiers_check_their_scorer_too():
    X, y = easy()
    with pytest.raises(ValueError, match="scoring='recall' needs a class named 1"):
        MaxOutClassifierCV("mlp", scoring="recall").fit(X, np.array(["a", "b"])[y])


def test_ctrl_c_in_the_refit_keeps_a_model_of_the_best_candidate(monkeypatch):
    def interrupt(search):
        raise KeyboardInterrupt

    monkeypatch.setattr(refits, "to_refit", interrupt)
    model = ClassSetRBMCV(5, learning_rate=(0.01, 0.1), cv=3, calibrate=True, **SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*easy())
    assert model.cv_results_["rank_test_score"][model.best_index_] == 1
    assert model.temperature_ == model.calibration_temperature_ == 1.0
    assert model.predict(easy()[0]).shape == (60,)


def test_a_scorer_sees_models_of_the_number_of_epochs_that_is_refitted():
    X, y = easy()
    for several in ({"early_stopping": True}, {"max_epochs": (10, 20)}):
        settings = SETTINGS | {"learning_rate": 0.1} | several
        with pytest.raises(ValueError, match="scoring with cv needs one number of epochs for all splits"):
            ClassSetRBMCV(5, cv=3, scoring="neg_log_loss", **settings).fit(X, y)


def test_every_split_is_scored_with_its_own_model():
    X, y = easy()
    seen = []

    def scorer(estimator, sets, labels):
        seen.append((estimator.W_.copy(), len(labels)))
        return 0.0

    splits = [(np.arange(0, 40), np.arange(40, 60)), (np.arange(30, 60), np.arange(0, 30))]
    ClassSetRBMCV(5, learning_rate=0.1, cv=splits, scoring=scorer, **SETTINGS).fit(X, y)
    assert [n for _, n in seen] == [20, 30]
    assert (seen[0][0] != seen[1][0]).any()


def test_splits_may_be_masks_and_sets_without_weight_are_refused():
    X, y = easy()
    mask = np.arange(60) < 15
    settings = SETTINGS | {"learning_rate": 0.1}
    masks = ClassSetRBMCV(5, cv=[(~mask, mask)], **settings).fit(X, y)
    numbers = ClassSetRBMCV(5, cv=[(np.arange(15, 60), np.arange(15))], **settings).fit(X, y)
    assert masks.best_score_ == numbers.best_score_
    with pytest.raises(IndexError, match="Set 99 is out of range for 60 sets"):
        ClassSetRBMCV(5, cv=[(np.arange(15, 60), [99])], **settings).fit(X, y)
    with pytest.raises(ValueError, match="cv needs sets with a weight above zero"):
        ClassSetRBMCV(5, cv=3, **settings).fit(X, y, sample_weight=np.where(mask, 0.0, 1.0))


def test_ctrl_c_in_a_scorer_or_in_calibration_keeps_a_model(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("setrbm.estimators.search.refits.fit_temperature", interrupt)
    for extra, pooling, fits in (({"scoring": interrupt}, "hard", 1.0), ({"calibrate": True}, "mixed", 10.0)):
        model = ClassSetRBMCV(5, learning_rate=(0.05, 0.1), **SETTINGS, **extra)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*easy())
        assert (model.settings_.pooling, model.temperature_) == (pooling, fits)
        assert model.calibration_temperature_ == 1.0


@pytest.mark.parametrize(
    ("losses", "dropped"),
    [((0.1, 0.1, 1.3), "first"), ((0.6, 0.4, 0.1), "second"), ((0.0, 0.5, 0.5), "second")],
    ids=["worse only in its last split", "worse in its first", "worse in most"],
)
def test_a_rung_compares_means_over_splits(losses, dropped):
    """The rival of the candidate with these losses has a loss of 0.4 in every split."""
    tracker = Tracker(Schedule(8, rungs=(1,), ends=(8,)), [8] * 6, [0] * 6, [0, 1] * 3, 100.0)
    held_out = np.ravel(np.column_stack([losses, np.full(3, 0.4)]))
    tracker.note(np.ones(6), np.column_stack([held_out, np.zeros(6)]), tracker.running())
    assert tracker.dropped.tolist() == [dropped == "first", dropped == "second"] * 3


def test_a_candidate_that_diverged_in_one_split_drops_no_other():
    tracker = Tracker(Schedule(8, rungs=(2,), ends=(8,)), [8] * 4, [0] * 4, [0, 0, 1, 1], 100.0)
    for losses in ([1.0, np.inf, 1.0, 1.0], [1.0, np.inf, 1.0, 1.0]):
        scores = np.array([[0.1, 0.1], [0.1, 0.1], [0.5, 0.5], [0.5, 0.5]])
        tracker.note(np.array(losses), scores, tracker.running())
    assert tracker.dropped.tolist() == [True, False, False, False]
