"""Input and settings that are refused or warned about, in the user's terms."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from fitting import easy
from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV

RNG = np.random.default_rng(0)


def warned_from(act):
    """Return the file a warning points to."""
    with pytest.warns(UserWarning, match=r".") as record:
        act()
    return {warning.filename for warning in record}


def test_the_class_rbm_refuses_sets_and_names_the_alternatives():
    with pytest.raises(ValueError, match=r"single vectors. Got a set of \d at index \d+. Use ClassSetRBM"):
        ClassRBM().fit(*easy())


def test_persistent_chains_are_refused_where_they_cannot_persist():
    bags, y = easy()
    with pytest.raises(ValueError, match=r"partial_fit sees each set once. Use fit, or persistent=False"):
        ClassSetRBM(5, objective="hybrid", persistent=True).partial_fit(bags, y, classes=[0, 1])


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


@pytest.mark.parametrize("nothing", [[], ()])
def test_empty_input_is_refused(nothing):
    with pytest.raises(ValueError, match="at least one set. Got none"):
        ClassSetRBM().fit(nothing, [])


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


def test_warnings_within_cross_validation_point_to_the_line_of_the_user():
    X, y = np.random.default_rng(0).random((40, 4, 3)), np.arange(40) % 2
    X[3, 2, 1] = 5000.0
    model = ClassSetRBM(5, max_epochs=1, random_state=0)
    assert warned_from(lambda: cross_val_score(model, Bags.from_array(X), y, cv=2)) == {__file__}
