"""The reject option: curves against their definition, and a promise that is kept."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest, norm
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from setrbm import ClassSetRBMCV
from setrbm.datasets import make_digit_sets
from setrbm.estimators import MaxOutClassifier
from setrbm.selective import (
    PrecisionCoverageDisplay,
    RejectOption,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    SelectivePrecisionRecallDisplay,
    promise,
    selective_curve,
    sureness,
)
from setrbm.selective.promise import accepted_counts, fewest_sets, is_shown


class Known:
    """A fitted classifier whose probabilities are its input."""

    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, X):
        return np.asarray(X)


P = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4]])


def test_sureness_is_the_probability_of_the_class_or_its_lead():
    predicted, scores = sureness(Known(), P)
    assert predicted.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(scores, [0.7, 0.5, 0.4])
    np.testing.assert_allclose(sureness(Known(), P, "margin")[1], [0.5, 0.1, 0.1])
    with pytest.raises(ValueError, match="sureness must be 'probability' or 'margin'. Got 'entropy'"):
        sureness(Known(), P, "entropy")


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_classifier_without_probabilities_has_margins_of_decisions(n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    model = LinearSVC().fit(X[:200], y[:200])
    predicted, scores = sureness(model, X[200:], "margin")
    assert (predicted == model.predict(X[200:])).all()
    decisions = model.decision_function(X[200:])
    expected = np.abs(decisions) if n_classes == 2 else np.diff(np.sort(decisions, axis=1)[:, -2:], axis=1).ravel()
    np.testing.assert_allclose(scores, expected)
    with pytest.raises(ValueError, match="needs a classifier with predict_proba. LinearSVC has none. Use 'margin'"):
        sureness(model, X)


@pytest.mark.parametrize("seed", range(3))
def test_a_curve_is_its_definition_at_every_threshold(seed):
    rng = np.random.default_rng(seed)
    # Few values, so that there are ties.
    scores, y_true, y_pred = rng.integers(0, 8, 60) / 8, rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    curve = selective_curve(y_true, y_pred, scores)
    assert len(curve.thresholds) == len(np.unique(scores))
    assert (np.diff(curve.thresholds) < 0).all()
    for t, coverage, precision, recall in zip(
        curve.thresholds, curve.coverage, curve.precision, curve.recall, strict=True
    ):
        accepted = scores > t
        right = (y_true == y_pred) & accepted
        assert coverage == accepted.mean()
        assert precision == right.sum() / accepted.sum()
        assert recall == right.mean()
    assert curve.coverage[-1] == 1.0
    np.testing.assert_array_equal(curve.risk, 1 - curve.precision)


def test_areas_of_perfect_and_of_useless_scores():
    right = np.repeat([True, False], [60, 40])
    y = np.zeros(100, dtype=int)
    best = selective_curve(y, np.where(right, 0, 1), right + np.linspace(0, 0.5, 100))
    assert best.area == pytest.approx(0.6)
    assert best.risk_area == pytest.approx(np.mean([max(0, 1 - 60 / m) for m in range(1, 101)]))
    constant = selective_curve(y, np.where(right, 0, 1), np.ones(100))
    assert constant.area == pytest.approx(0.36)
    assert constant.risk_area == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("y_true", "y_pred", "scores", "error", "message"),
    [
        ([], [], [], ValueError, "There must be at least one set. Got none"),
        (
            [0, 1],
            [0, 1],
            [0.5, np.nan],
            ValueError,
            "Scores must be numbers. Got NaN for 1 of 2 sets, the first at index 1",
        ),
        ([0, 1], [0, 1], ["high", "low"], TypeError, "Scores must be numbers. Got <U4"),
        ([0, 1], [0, 1], [True, False], TypeError, "Scores must be numbers. Got bool"),
        ([0, 1, 1], [0, 1], [0.5, 0.6], ValueError, "one .* for each set. Got 3 labels, 2 predictions and 2 scores"),
    ],
)
def test_curves_and_displays_need_a_label_and_a_score_of_every_set(y_true, y_pred, scores, error, message):
    for made in (selective_curve, RiskCoverageDisplay.from_predictions, ReliabilityDisplay.from_predictions):
        with pytest.raises(error, match=message):
            made(y_true, y_pred, scores)


def test_a_display_of_a_model_needs_a_label_of_every_set():
    for display in (PrecisionCoverageDisplay, ReliabilityDisplay):
        with pytest.raises(ValueError, match="Got 2 labels, 3 predictions and 3 scores"):
            display.from_estimator(Known(), P, ["a", "b"])


def test_unsigned_scores_are_ordered_as_numbers():
    curve = selective_curve([0, 1], [0, 0], np.array([1, 0], dtype=np.uint8))
    assert curve.precision.tolist() == [1.0, 0.5]


# --- the promise ---


def test_the_fewest_sets_are_those_that_an_exact_test_accepts():
    for precision, confidence in ((0.9, 0.95), (0.95, 0.95), (0.98, 0.9)):
        n = fewest_sets(precision, confidence)
        assert binom.sf(n - 1, n, precision) <= 1 - confidence < binom.sf(n - 2, n - 1, precision)


@pytest.mark.parametrize("n", [59, 60, 200, 1500, 50_000])
def test_the_sequence_is_known_before_any_label_and_ends_with_all_sets(n):
    counts = accepted_counts(n, 0.95, 0.95)
    assert counts[0] >= 59
    assert counts[-1] == n
    assert (np.diff(counts) > 0).all()
    assert counts[0] <= max(59, np.ceil(n / 4))


def population(noise, n=200_000, seed=0):
    """Return scores, sorted from the highest, whether each prediction is right, and the precision from there up.

    Without noise a score is the probability of being right. With "flat" all are right equally often, slightly less than
    in 95 % of the cases, whatever their score. With "waves" the precision goes up and down around 95 %. With "ties"
    there are only 20 scores.
    """
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-np.abs(rng.normal(2.0, 2.0, n))))
    scores = np.sort(p)[::-1]
    waves = 0.95 + 0.05 * np.sin(np.arange(n) * 20 / n)
    p = {"flat": 0.9495, "waves": waves, "ties": scores}[noise] if isinstance(noise, str) else scores * (1 - noise)
    right = rng.random(n) < p
    scores = np.round(scores * 40) / 40 if noise == "ties" else scores
    return scores, right, np.cumsum(right) / np.arange(1, n + 1)


CASES = [
    (0.9, 0.0, 300), (0.95, 0.0, 1000), (0.95, 0.03, 1000), (0.95, "flat", 1000), (0.95, "waves", 500),
    (0.95, "ties", 1000),
]  # fmt: skip


@pytest.mark.parametrize(("precision", "noise", "n"), CASES)
def test_the_promise_is_broken_at_most_as_often_as_it_says(precision, noise, n):
    scores, right, precisions = population(noise)
    rng = np.random.default_rng(1)
    broken, runs = 0, 400
    for _ in range(runs):
        drawn = rng.integers(0, len(scores), n)
        threshold = promise(scores[drawn], right[drawn], precision, 0.95).threshold
        accepted = int(np.searchsorted(-scores, -threshold, side="left"))
        broken += accepted > 0 and precisions[accepted - 1] < precision
    # Significantly more often than 5 % would be a broken guarantee.
    assert binomtest(broken, runs, 0.05, alternative="greater").pvalue > 0.01


def test_choosing_the_best_threshold_by_a_pointwise_bound_would_break_the_promise():
    """The mistake that the sequence avoids; it shows that the test above can fail."""
    scores, right, precisions = population("flat")
    rng = np.random.default_rng(1)
    broken = 0
    for _ in range(200):
        drawn = np.sort(rng.integers(0, len(scores), 1000))
        m = np.arange(1, 1001)
        passed = np.flatnonzero(binom.sf(np.cumsum(right[drawn]) - 1, m, 0.95) <= 0.05)
        broken += len(passed) > 0 and precisions[drawn[passed[-1]]] < 0.95
    assert binomtest(int(broken), 200, 0.05, alternative="greater").pvalue < 0.01


def test_the_share_left_to_people_lies_in_its_interval():
    scores, right, _ = population(0.0)
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(200):
        drawn = rng.integers(0, len(scores), 800)
        found = promise(scores[drawn], right[drawn], 0.9, 0.95)
        share = (scores <= found.threshold).mean()
        inside += found.share_low <= share <= found.share_high
        assert found.share_left == pytest.approx(1 - found.n_accepted / 800)
    # Choosing the threshold by the labels of the same sets costs little.
    assert inside >= 180


def test_where_all_are_right_all_are_accepted():
    found = promise(np.linspace(0, 1, 100), np.ones(100, dtype=bool), 0.95, 0.95)
    # But not what is below all of them.
    assert (found.threshold, found.n_accepted, found.share_left) == (0.0, 99, pytest.approx(0.01))
    assert found.precision_bound == pytest.approx(0.05 ** (1 / 99))


def test_equal_scores_are_accepted_together_or_not_at_all():
    scores = np.repeat([0.9, 0.6], [150, 150])
    right = np.concatenate([np.ones(150, dtype=bool), np.arange(150) % 2 == 0])
    found = promise(scores, right, 0.95, 0.95)
    assert (found.threshold, found.n_accepted) == (0.6, 150)
    constant = promise(np.ones(300), right, 0.95, 0.95)
    assert (constant.threshold, constant.n_accepted) == (np.inf, 0)
    # Constant probabilities that are right often enough are accepted, and lower ones are not.
    found = promise(np.ones(300), np.ones(300, dtype=bool), 0.95, 0.95)
    assert (found.threshold, found.n_accepted) == (np.nextafter(1.0, 0.0), 300)
    # With 97.5 % probability, at most this share lies below 300 values.
    assert (found.share_left, found.share_low) == (0.0, 0.0)
    assert (1 - found.share_high) ** 300 == pytest.approx(0.025)


def test_the_test_is_exact_at_its_boundary():
    # Of 100 sets at precision 0.9, 95 right ones have probability 0.0576 and 96 have 0.0237.
    assert not is_shown(100, 95, 0.9, 0.95)
    assert is_shown(100, 96, 0.9, 0.95)
    assert is_shown(100, 95, 0.9, 1.0 - 1.000001 * binom.sf(94, 100, 0.9))


@pytest.mark.parametrize(("n", "first"), [(300, 75), (1000, 236), (1500, 236), (3000, 375), (50_000, 6250)])
def test_the_sequence_begins_at_four_times_the_fewest_between_an_eighth_and_a_quarter(n, first):
    counts = accepted_counts(n, 0.95, 0.95)
    assert (counts[0], counts[1] - counts[0], counts[-1]) == (first, np.ceil(n / 100), n)


@pytest.mark.parametrize("n", [2000, 20_000])
def test_where_only_a_few_percent_are_sure_more_sets_would_not_help(n):
    # No sequence begins within the top 6 %, so no number of sets would show their precision.
    right = np.arange(n) % 2 == 0
    right[: int(0.06 * n)] = True
    assert promise(-np.arange(n), right, 0.95, 0.95).more_sets is None


@pytest.mark.parametrize("seed", range(5))
def test_about_as_many_sets_as_advised_are_enough(seed):
    rng = np.random.default_rng(seed)

    def drawn(n):
        scores = rng.random(n)
        # The top quarter is right in 96.5 % of the cases, the rest less often.
        return promise(scores, rng.random(n) < np.where(scores > 0.75, 0.965, 0.8), 0.95, 0.95)

    refused = [found for found in (drawn(600) for _ in range(40)) if found.more_sets]
    assert len(refused) >= 5
    enough = [drawn(found.more_sets).n_accepted > 0 for found in refused]
    few = [drawn(found.more_sets // 8).n_accepted > 0 for found in refused if found.more_sets > 800]
    assert np.mean(enough) >= 0.5 > np.mean(few)


def test_the_number_advised_follows_from_the_precision_seen():
    right = np.ones(500, dtype=bool)
    right[[10, 30, 50, 70]] = False
    right[125:] = np.arange(375) % 2 == 0
    found = promise(-np.arange(500), right, 0.95, 0.95)
    # 63 to 125 sets may begin a sequence: 94 in the middle, 0.9585 of them right in the median.
    ahead = np.median([right[:m].mean() for m in range(63, 126)]) - 0.95
    n_accepted = (norm.ppf(0.95) + norm.ppf(0.8)) ** 2 * 0.95 * 0.05 / ahead**2
    assert found.more_sets == np.ceil(n_accepted * 500 / 94) > 1.5 * 500


def test_equal_scores_that_are_not_right_often_enough_get_no_false_hope():
    hopeful = 0
    for seed in range(100):
        right = np.random.default_rng(seed).random(600) < 0.9
        hopeful += promise(np.ones(600), right, 0.95, 0.95).more_sets is not None
    assert hopeful == 0


def test_infinite_scores_are_refused():
    with pytest.raises(ValueError, match=r"Scores must be finite\. Got 2 infinite of 3, the first at index 0"):
        promise([np.inf, 0.0, -np.inf], [True] * 3, 0.95, 0.95)


def test_settings_changed_after_fit_do_not_change_what_is_accepted(digits):
    X, y = digits
    model = RejectOption(LOGISTIC, precision=0.9, sureness="margin", random_state=0).fit(X, y)
    before = model.accepts(X)
    model.set_params(sureness="probability", precision=0.5)
    assert model.sureness_ == "margin"
    np.testing.assert_array_equal(model.accepts(X), before)


@pytest.mark.parametrize("seed", range(20))
def test_the_counts_are_those_of_the_sets_above_the_threshold(seed):
    rng = np.random.default_rng(seed)
    # Few values, so that there are many ties.
    scores = rng.integers(0, rng.integers(2, 40), 400) / 8
    right = rng.random(400) < 0.8 + scores / scores.max() / 5
    found = promise(scores, right, 0.9, 0.9)
    accepted = scores > found.threshold
    assert (found.n_accepted, found.n_right) == (accepted.sum(), right[accepted].sum())
    assert (found.threshold == np.inf) == (found.n_accepted == 0)


def test_a_few_equal_scores_at_the_top_do_not_end_the_sequence():
    # The first threshold of the sequence accepts only 30 sets, which could not show anything.
    scores = np.repeat([1.0, 0.9, 0.1], [30, 270, 100])
    found = promise(scores, scores > 0.5, 0.95, 0.95)
    assert (found.threshold, found.n_accepted) == (0.1, 300)


def test_too_few_sets_promise_nothing_and_say_how_many_it_takes():
    # 60 sets could show the precision, if all of them were right: 59 above the threshold and the one that sets it.
    for n in (0, 1, 59):
        found = promise(np.arange(n) / 60, np.ones(n, dtype=bool), 0.95, 0.95)
        assert (found.threshold, found.n_held_out, found.n_accepted, found.share_left) == (np.inf, n, 0, 1.0)
        assert found.more_sets == max(60, np.ceil(1.5 * n))
    assert promise(np.arange(60) / 60, np.ones(60, dtype=bool), 0.95, 0.95).n_accepted == 59
    assert promise(np.zeros(1), np.zeros(1, dtype=bool), 0.95, 0.95).more_sets == 60
    assert promise(np.zeros(20), np.zeros(20, dtype=bool), 0.95, 0.95).more_sets is None


@pytest.mark.parametrize(
    ("scores", "right", "precision", "error", "message"),
    [
        ([0.5, np.nan, np.nan], [True] * 3, 0.9, ValueError, "Got NaN for 2 of 3 sets, the first at index 1"),
        ([0.5, 0.6], ["a", "b"], 0.9, TypeError, "right must hold booleans: predicted == y. Got <U1"),
        ([0.5, 0.6], [True], 0.9, ValueError, "inconsistent numbers of samples"),
        ([0.5], [True], 1.0, ValueError, "precision must be a number greater than 0 and less than 1. Got 1.0"),
        ([0.5], [True], np.nan, ValueError, "precision must be a number greater than 0 and less than 1. Got nan"),
    ],
)
def test_a_promise_needs_scores_and_truths(scores, right, precision, error, message):
    with pytest.raises(error, match=message):
        promise(scores, right, precision, 0.95)


# --- the meta-estimator ---


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order] / 16, np.array([f"digit {d}" for d in y])[order]


LOGISTIC = LogisticRegression(C=0.25)


@pytest.mark.parametrize("kind", ["probability", "margin"])
def test_accepted_predictions_keep_the_precision(digits, kind):
    X, y = digits
    model = RejectOption(LOGISTIC, precision=0.97, sureness=kind, random_state=0).fit(X[:1200], y[:1200])
    accepted = model.accepts(X[1200:])
    answers = model.predict_or_reject(X[1200:])
    assert answers.dtype == object
    assert (model.predict(X[1200:]) == model.classifier_.predict(X[1200:])).all()
    assert [answer is None for answer in answers] == (~accepted).tolist()
    assert (answers[accepted] == model.predict(X[1200:])[accepted]).all()
    assert (answers[accepted] == y[1200:][accepted]).mean() > 0.97
    assert 0.3 < accepted.mean() < 1.0
    assert model.promise_.n_held_out == 360
    assert (model.predict_or_reject(X[:5], rejected="ask")[~model.accepts(X[:5])] == "ask").all()
    np.testing.assert_array_equal(model.predict_proba(X), model.classifier_.predict_proba(X))
    np.testing.assert_array_equal(model.predict_log_proba(X), model.classifier_.predict_log_proba(X))
    np.testing.assert_array_equal(model.decision_function(X), model.classifier_.decision_function(X))


def test_a_frozen_classifier_is_not_fitted_and_all_sets_set_the_threshold(digits):
    X, y = digits
    frozen = FrozenEstimator(LOGISTIC.fit(X[:600], y[:600]))
    before = frozen.estimator.coef_.copy()
    model = RejectOption(frozen, precision=0.9).fit(X[600:], y[600:])
    np.testing.assert_array_equal(frozen.estimator.coef_, before)
    assert model.promise_.n_held_out == len(y) - 600
    predicted, scores = sureness(frozen, X[600:])
    assert model.promise_ == promise(scores, predicted == y[600:], 0.9, 0.95)


def test_the_held_out_sets_are_not_learned_from(digits):
    X, y = digits
    seen = []

    class Recording(LogisticRegression):
        def fit(self, X, y):
            seen.append(X)
            return super().fit(X, y)

    model = RejectOption(Recording(C=0.25), precision=0.9, held_out=0.5, random_state=0).fit(X, y)
    assert [len(part) for part in seen] == [898]
    assert model.promise_.n_held_out == 899


def test_the_classifier_that_was_passed_is_not_fitted(digits):
    classifier = LogisticRegression(C=0.25)
    before = vars(classifier).copy()
    model = RejectOption(classifier, precision=0.9, random_state=0).fit(*digits)
    assert model.classifier is classifier
    assert vars(classifier) == before
    assert model.classifier_ is not classifier


def test_every_class_can_have_its_own_promise(digits):
    X, y = digits
    frozen = FrozenEstimator(LOGISTIC.fit(X[:400], y[:400]))
    with pytest.warns(UserWarning, match=r"for 'digit \d'.* \(\d+ of 10 classes\): sets predicted as such are left"):
        model = RejectOption(frozen, precision=0.9, per_class=True).fit(X[400:1400], y[400:1400])
    predicted, scores = sureness(frozen, X[1400:])
    thresholds = np.array([model.promise_[label].threshold for label in predicted])
    np.testing.assert_array_equal(model.accepts(X[1400:]), scores > thresholds)
    refused = [label for label, kept in model.promise_.items() if not kept.n_accepted]
    assert not model.accepts(X[1400:])[np.isin(predicted, refused)].any()
    # Together: each may fail with a tenth of the probability.
    label = next(label for label, kept in model.promise_.items() if kept.n_accepted)
    predicted, scores = sureness(frozen, X[400:1400])
    of_class = predicted == label
    assert model.promise_[label] == promise(scores[of_class], (predicted == y[400:1400])[of_class], 0.9, 0.995)


def test_the_share_left_counts_all_classes_together(digits):
    X, y = digits
    frozen = FrozenEstimator(LOGISTIC.fit(X[:400], y[:400]))
    one = RejectOption(frozen, precision=0.9).fit(X[400:], y[400:])
    assert one.share_left_ == (one.promise_.share_left, one.promise_.share_low, one.promise_.share_high)
    each = RejectOption(frozen, precision=0.9, per_class=True).fit(X[400:], y[400:])
    share, low, high = each.share_left_
    assert share == pytest.approx(1 - each.accepts(X[400:]).mean())
    assert low < share < high


def test_a_class_that_is_never_predicted_is_left_to_people():
    rng = np.random.default_rng(0)
    P = np.column_stack([rng.dirichlet(np.ones(2), 300), np.zeros(300)])
    y = Known.classes_[P.argmax(axis=1)]
    y[0] = "c"
    never = r"for 'c' \(1 of 3 classes\): .* About 100 held-out sets predicted as 'c' would be enough \(now 0\)"
    with pytest.warns(UserWarning, match=never):
        model = RejectOption(FrozenEstimator(Known()), precision=0.9, per_class=True).fit(P, y)
    assert (model.promise_["c"].n_held_out, model.promise_["c"].threshold) == (0, np.inf)
    assert model.accepts(P).any()
    assert not model.accepts([[0.0, 0.0, 1.0]]).any()


def test_labels_that_the_classifier_has_not_learned_count_as_wrong():
    P = np.eye(3)[np.arange(300) % 3]
    y = Known.classes_[P.argmax(axis=1)].astype(object)
    y[:6] = "new"
    model = RejectOption(FrozenEstimator(Known()), precision=0.9).fit(P, y)
    assert (model.promise_.n_accepted, model.promise_.n_right) == (300, 294)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b"], "Every class .* must occur among .* Got none of 'c' \\(1 of 3 classes\\). Add labeled sets"),
        (
            [7, 8],
            "Labels must be classes that the classifier has learned: 'a', 'b', 'c'. Got none of these, the first label "
            "is 7. The classes are of type str, the labels of type int.$",
        ),
        (["x", "y"], "Got none of these, the first label is 'x'.$"),
    ],
)
def test_a_class_missing_among_the_held_out_sets_is_refused(labels, message):
    y = np.resize(labels, 300)
    with pytest.raises(ValueError, match=message):
        RejectOption(FrozenEstimator(Known()), precision=0.9).fit(np.eye(3)[np.arange(300) % 3], y)


@pytest.mark.parametrize("n_labels", [1, 299])
def test_every_held_out_set_needs_a_label(n_labels):
    y = Known.classes_[np.arange(n_labels) % 3]
    with pytest.raises(ValueError, match=f"one label for each of the 300 sets. Got {n_labels} label"):
        RejectOption(FrozenEstimator(Known())).fit(np.eye(3)[np.arange(300) % 3], y)


def test_a_set_without_a_score_is_left_to_people():
    P = np.eye(3)[np.arange(300) % 3]
    model = RejectOption(FrozenEstimator(Known()), precision=0.9).fit(P, Known.classes_[np.arange(300) % 3])
    assert model.promise_.threshold == np.nextafter(1.0, 0.0)
    assert model.accepts([[1.0, 0.0, 0.0], [np.nan, np.nan, np.nan]]).tolist() == [True, False]
    with pytest.raises(ValueError, match="Scores must be numbers. Got NaN for 1 of 300 sets, the first at index 0"):
        model.fit(np.vstack([np.full(3, np.nan), P[1:]]), Known.classes_[np.arange(300) % 3])


@pytest.mark.parametrize(
    ("per_class", "message"),
    [(False, "needs at least 60 held-out sets, even"), (True, "at least 105 held-out sets predicted as a class, even")],
)
def test_too_few_held_out_sets_are_refused_before_a_long_fit(digits, per_class, message):
    class Slow(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError("fitted")

    with pytest.raises(
        ValueError, match=f"{message} if all of them are right. Got 45. Use more sets, a larger held_out"
    ):
        RejectOption(Slow(), per_class=per_class).fit(digits[0][:150], digits[1][:150])
    rare = np.where(np.arange(1797) < 3, "rare", digits[1])
    with pytest.raises(ValueError, match="Got none of 'rare' \\(1 of 11 classes\\). Add labeled sets"):
        RejectOption(Slow(), per_class=per_class, held_out=0.1, precision=0.9).fit(digits[0], rare)


def test_a_frozen_classifier_with_too_few_sets_is_told_a_cure_that_helps():
    with pytest.raises(ValueError, match="needs at least 60 held-out .* Got 30. Use more sets, or a lower precision"):
        RejectOption(FrozenEstimator(Known())).fit(np.eye(3)[np.arange(30) % 3], Known.classes_[np.arange(30) % 3])


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (lambda y: None, ValueError, "requires y to be passed"),
        (lambda y: [*y[:-1], None], ValueError, "Got 1 missing of 1797, the first at index 1796"),
        (lambda y: y[:-1], ValueError, "one label for each of the 1,797 sets. Got 1,796 labels"),
        (lambda y: np.linspace(0.1, 0.9, len(y)), ValueError, "Unknown label type: continuous.{,200}$"),
        (lambda y: np.full(len(y), "a"), ValueError, "y must hold at least two classes. Got 1 class: a"),
        (
            lambda y: np.where(np.arange(len(y)) < 1, "once", y),
            ValueError,
            "Every class must have several sets.* Got only one of 'once' \\(1 of 11 classes\\)",
        ),
    ],
)
def test_labels_that_cannot_be_split_are_refused(digits, spoil, error, message):
    with pytest.raises(error, match=message):
        RejectOption(LOGISTIC, precision=0.9).fit(digits[0], spoil(digits[1]))


def test_labels_of_vectors_are_refused_for_sets():
    bags, _ = make_digit_sets(100, random_state=0)
    with pytest.raises(ValueError, match=f"each of the 100 sets. Got {bags.n_vectors}, one per vector"):
        RejectOption(ClassSetRBMCV()).fit(bags, np.arange(bags.n_vectors) % 2)


@pytest.mark.parametrize(
    ("classifier", "error", "message"),
    [
        ("logistic", TypeError, "classifier must be a scikit-learn classifier. Got 'logistic'"),
        (None, TypeError, "classifier must be a scikit-learn classifier. Got None"),
        (LogisticRegression, TypeError, r"Got the class LogisticRegression. Use LogisticRegression\(\)"),
        (
            LinearRegression(),
            TypeError,
            "classifier must be a classifier. Got a LinearRegression, which has no classes_",
        ),
        (FrozenEstimator(LogisticRegression()), NotFittedError, "The LogisticRegression in it is not fitted. Fit it"),
        (
            FrozenEstimator(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])),
            TypeError,
            "must hold a fitted classifier. The LinearRegression in it has no classes_",
        ),
    ],
)
def test_what_is_no_classifier_is_refused(digits, classifier, error, message):
    y = np.array([int(label[-1]) for label in digits[1]])
    with pytest.raises(error, match=message):
        RejectOption(classifier, precision=0.9).fit(digits[0], y)


@pytest.fixture(scope="module")
def known():
    """A reject option that accepts sets with a score."""
    return RejectOption(FrozenEstimator(Known()), precision=0.9).fit(
        np.eye(3)[np.arange(300) % 3], Known.classes_[np.arange(300) % 3]
    )


@pytest.mark.parametrize(
    ("rejected", "error", "message"),
    [
        (
            ["ask"],
            TypeError,
            "rejected must be a single value, which all sets left to people get. Got an object of class list",
        ),
        (("ask", 2), TypeError, "Got an object of class tuple"),
        (np.array(["ask"]), TypeError, "Got an object of class ndarray"),
        ("b", ValueError, "rejected must differ from every class, .* Got 'b', which is a class"),
    ],
)
def test_the_answer_for_sets_left_to_people_is_one_value_and_no_class(known, rejected, error, message):
    with pytest.raises(error, match=message):
        known.predict_or_reject(P, rejected=rejected)


@pytest.mark.parametrize("rejected", [None, "ask a clerk", -1, float("nan"), {"to": "clerk"}, pd.NA, np.str_("d")])
def test_any_other_value_is_the_answer_for_sets_left_to_people(known, rejected):
    answers = known.predict_or_reject([[1.0, 0.0, 0.0], [np.nan, np.nan, np.nan]], rejected=rejected)
    assert answers[0] == "a"
    assert answers[1] is rejected


def test_sets_of_vectors_are_taken_too():
    bags, y = make_digit_sets(400, random_state=0)
    model = RejectOption(ClassSetRBMCV(20, max_epochs=60, random_state=0), precision=0.8, random_state=0).fit(bags, y)
    test, labels = make_digit_sets(200, "test", random_state=1)
    accepted = model.accepts(test)
    assert accepted.any()
    assert (model.predict(test)[accepted] == labels[accepted]).mean() > 0.8


def test_a_promise_that_cannot_be_kept_is_refused_honestly():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 2000)
    guessed = Known.classes_[rng.integers(0, 3, 2000)]
    hopeless = pytest.warns(UserWarning, match="all sets are left to people. More held-out sets would not help")
    with hopeless:
        model = RejectOption(FrozenEstimator(Known()), precision=0.9).fit(P, guessed)
    assert not model.accepts(P).any()
    assert (model.predict_or_reject(P, rejected="ask") == "ask").all()
    right = np.where(rng.random(300) < 0.97, Known.classes_[P[:300].argmax(axis=1)], "none")
    with pytest.warns(UserWarning, match=r"About [\d,]+00 held-out sets would be enough \(now 300\)"):
        RejectOption(FrozenEstimator(Known()), precision=0.96).fit(P[:300], right)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"precision": 1.0}, "precision must be a number greater than 0 and less than 1. Got 1.0"),
        ({"precision": 95}, "precision must be a number greater than 0 and less than 1. Got 95. For 95%, use 0.95."),
        ({"precision": "high"}, "precision must be a number greater than 0 and less than 1. Got 'high'"),
        ({"confidence": 0}, "confidence must be a number greater than 0 and less than 1. Got 0"),
        ({"held_out": True}, "held_out must be a number greater than 0 and less than 1. Got True"),
        ({"per_class": "all"}, "per_class must be True or False. Got 'all'"),
        ({"sureness": "entropy"}, "sureness must be 'probability' or 'margin'"),
        ({"random_state": "zero"}, "random_state must be an integer from 0 to .*, a RandomState or None. Got 'zero'"),
        ({"random_state": -1}, "random_state must be an integer from 0 to .* Got -1"),
        ({"random_state": True}, "random_state must be an integer from 0 to .* Got True"),
        ({"random_state": 2**32}, "random_state must be an integer from 0 to .* Got 4294967296"),
        (
            {"held_out": 0.005},
            "as there are classes, 10. Got 1,788 sets to fit .* and 9 held out. Use a larger held_out",
        ),
        ({"held_out": 0.999}, "as there are classes, 10. Got 1 set to fit .* 1,796 held out. Use a smaller held_out"),
        ({"precision": 0.999}, "needs at least 2996 held-out sets, even if all of them are right. Got 540"),
    ],
)
def test_what_cannot_be_promised_is_refused(digits, setting, message):
    with pytest.raises(ValueError, match=message):
        RejectOption(LOGISTIC, **setting).fit(*digits)


def test_it_works_where_scikit_learn_expects_a_classifier(digits):
    X, y = digits
    scores = cross_val_score(RejectOption(LOGISTIC, precision=0.9, random_state=0), X[:900], y[:900], cv=3)
    assert scores.min() > 0.8


def test_features_and_tags_are_those_of_the_classifier(digits):
    X, y = digits
    model = RejectOption(LOGISTIC, precision=0.9, random_state=0)
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    assert model.n_features_in_ == X.shape[1] == 64
    names = [f"pixel{k}" for k in range(64)]
    assert model.fit(pd.DataFrame(X, columns=names), y).feature_names_in_.tolist() == names
    assert get_tags(model).input_tags.sparse
    assert not get_tags(RejectOption(GaussianNB())).input_tags.sparse
    assert get_tags(RejectOption(HistGradientBoostingClassifier())).input_tags.allow_nan
    assert not get_tags(RejectOption(MaxOutClassifier())).classifier_tags.multi_class
    # Labels are one per set, whatever the classifier takes.
    assert not get_tags(RejectOption(KNeighborsClassifier())).classifier_tags.multi_label
    for no_estimator in ("logistic", None, GaussianNB, FrozenEstimator(Known())):
        assert get_tags(RejectOption(no_estimator)).estimator_type == "classifier"


def test_no_sets_are_refused():
    with pytest.raises(ValueError, match="There must be at least one set. Got none"):
        RejectOption(LOGISTIC).fit(np.empty((0, 3)), [])


# --- displays ---


@pytest.fixture(autouse=True)
def _no_screen():
    import matplotlib as mpl

    mpl.use("agg")


@pytest.mark.parametrize(
    ("display", "x", "y", "area"),
    [
        (PrecisionCoverageDisplay, "coverage", "precision", "precision_area"),
        (RiskCoverageDisplay, "coverage", "risk", "risk_area"),
        (SelectivePrecisionRecallDisplay, "recall", "precision", "area"),
    ],
)
def test_a_display_draws_the_curve_and_names_its_area(digits, display, x, y, area):
    X, labels = digits
    model = LOGISTIC.fit(X[:300], labels[:300])
    curve = selective_curve(labels[300:], *sureness(model, X[300:], "margin"))
    shown = display.from_estimator(model, X[300:], labels[300:], kind="margin", color="red")
    np.testing.assert_array_equal(shown.line_.get_xdata(), getattr(curve, x))
    np.testing.assert_array_equal(shown.line_.get_ydata(), getattr(curve, y))
    # Up to each point, the value is that of the point itself, not of the one before.
    assert shown.line_.get_drawstyle() == "steps-pre"
    assert shown.line_.get_color() == "red"
    assert shown.line_.get_label() == f"LogisticRegression (area {getattr(curve, area):.3f})"
    assert x in shown.ax_.get_xlabel()
    assert y in shown.ax_.get_ylabel()
    again = display.from_predictions(labels[:2], labels[:2], [0.5, 0.6], name="all right", ax=shown.ax_)
    assert again.ax_ is shown.ax_
    assert len(shown.ax_.lines) == 2


def test_reliability_compares_probabilities_with_what_is_right(digits):
    X, y = digits
    model = LOGISTIC.fit(X[:300], y[:300])
    shown = ReliabilityDisplay.from_estimator(model, X[300:], y[300:], n_bins=5)
    predicted, p = sureness(model, X[300:])
    assert shown.counts.sum() == len(p)
    top = p >= 0.8
    assert shown.confidence[-1] == pytest.approx(p[top].mean())
    assert shown.accuracy[-1] == pytest.approx((predicted == y[300:])[top].mean())
    np.testing.assert_allclose(shown.points_.get_offsets(), np.column_stack([shown.confidence, shown.accuracy]))


# --- another precision ---


@pytest.mark.parametrize("settings", [{}, {"per_class": True}, {"sureness": "margin"}], ids=str)
def test_another_precision_is_promised_as_by_a_new_fit(settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 1))
    y = (X[:, 0] + 0.7 * rng.normal(size=3000) > 0).astype(int)
    first = RejectOption(LOGISTIC, precision=0.8, random_state=0, **settings).fit(X, y)
    other = first.with_precision(0.9)
    again = RejectOption(LOGISTIC, precision=0.9, random_state=0, **settings).fit(X, y)
    assert other.promise_ == again.promise_ != first.promise_
    assert other.share_left_ == again.share_left_
    assert (other.accepts(X) == again.accepts(X)).all()
    assert (first.precision, other.precision) == (0.8, 0.9)
    # Nothing is fitted again, and the first is what it was.
    assert other.classifier_ is first.classifier_
    assert other.with_precision(0.8).promise_ == first.promise_


def test_another_precision_must_be_one_that_the_held_out_sets_can_show():
    X, y = load_digits(n_class=2, return_X_y=True)
    model = RejectOption(LOGISTIC, precision=0.6, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"A precision of 0.999 .* needs at least .* Got .* fit with more sets"):
        model.with_precision(0.999)
    with pytest.raises(ValueError, match="precision must be a number greater than 0 and less than 1. Got 95"):
        model.with_precision(95)
    with pytest.raises(NotFittedError):
        RejectOption(LOGISTIC).with_precision(0.9)
    for changed in ({"sureness": "margin"}, {"per_class": True}):
        with pytest.raises(ValueError, match="sureness and per_class must be those of fit. Fit again"):
            copy.copy(model).set_params(**changed).with_precision(0.7)
    model.held_out_ = None
    with pytest.raises(ValueError, match="saved by an earlier version: fit it again"):
        model.with_precision(0.7)
