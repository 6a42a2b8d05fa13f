"""What users pass by mistake: a warning or an error in their terms, never a silent wrong answer."""

import copy
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV, load
from setrbm.estimators import (
    InputPooling,
    MaxOutClassifier,
    MaxOutClassifierCV,
    PerVector,
    SetSVC,
    SetSVCCV,
    set_svc,
)
from setrbm.selective import RejectOption
from setrbm.shards import write_shards
from setrbm.text import PageWords

SETTINGS = {"n_hidden": 3, "max_epochs": 2, "random_state": 0}
ESTIMATORS = [
    ClassSetRBM(**SETTINGS),
    ClassSetRBMCV(**SETTINGS),
    MaxOutClassifier(**SETTINGS),
    SetSVC(),
    InputPooling(),
]


def frame(n=40):
    """Return a frame with a column of labels that nothing else tells."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({"bag": np.arange(n) // 2, "label": rng.integers(0, 2, n // 2).repeat(2), "x": rng.random(n)})


def sets(n=30, size=4):
    return np.random.default_rng(0).random((n, size, 3)), np.arange(n) % 2


def name(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize(
    "backend", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_a_frame_passed_to_an_estimator_of_sets_is_warned_about(estimator, backend):
    data = frame()
    rows = backend(data) if backend is not pl.DataFrame else pl.from_pandas(data)
    message = rf"A data frame was passed to {name(estimator)}: .* Use Bags.from_frame\(frame, bag=..., label=...\)"
    with pytest.warns(UserWarning, match=message) as caught:
        estimator.fit(rows, data["label"].to_numpy())
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_rows_and_sets_are_not_warned_about():
    data = frame()
    bags, y = Bags.from_frame(data, label="label")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ClassRBM(**SETTINGS).fit(data, data["label"]).predict(data)
        ClassSetRBM(**SETTINGS).fit(bags, y).predict(bags)
        ClassSetRBM(**SETTINGS).fit(data[["x"]].to_numpy(), data["label"]).predict(data[["x"]].to_numpy())


@pytest.mark.parametrize("estimator", ESTIMATORS[:4], ids=name)
def test_a_matrix_passed_to_a_model_of_larger_sets_is_warned_about(estimator):
    X, y = sets()
    estimator.fit(X, y)
    with pytest.warns(
        UserWarning, match=r"fitted to sets of up to 4 vectors: each of its 4 rows .* For one set, pass \[X\]"
    ):
        assert estimator.predict(X[0]).shape == (4,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert estimator.predict([X[0]]).shape == (1,)
        # One row is the same set in both readings.
        assert estimator.predict(X[0][:1]).shape == (1,)


def test_the_largest_set_is_known_after_shards_parts_and_files(tmp_path):
    X, y = sets()
    several = Bags.from_list([*X, np.ones((7, 3))])
    shards = write_shards(tmp_path / "shards", several, np.append(y, 1), sets_per_shard=10)
    model = ClassSetRBM(**SETTINGS).fit(shards)
    assert model.largest_set_ == 7
    larger = write_shards(
        tmp_path / "larger", Bags.from_list([np.ones((9, 3)), *X]), np.append(1, y), sets_per_shard=10
    )
    assert ClassSetRBM(**SETTINGS).fit(shards).partial_fit(larger).largest_set_ == 9
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").largest_set_ == 7
    parts = ClassSetRBM(**SETTINGS).partial_fit(X, y, classes=[0, 1])
    assert parts.largest_set_ == 4
    assert parts.partial_fit(several[-2:], [0, 1]).largest_set_ == 7
    assert parts.partial_fit(X, y).largest_set_ == 7


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
@pytest.mark.parametrize(
    ("X", "kind", "message"),
    [
        ({"a": np.ones((2, 3))}, TypeError, r"Got a dict. Use Bags.from_list\(X.values\(\), ids=list\(X\)\)"),
        ({1, 2}, TypeError, "Got a set"),
        ((matrix for matrix in [np.ones((2, 3))]), TypeError, r"Got a generator. Use Bags.from_list\(X\)"),
        (map(np.asarray, [[[1.0]]]), TypeError, "Got a map"),
        (pl.LazyFrame({"x": [1.0]}), TypeError, "A lazy frame holds no data yet. Collect it first"),
        (["first page", "second page"], ValueError, "X must hold numbers. Got text, the first 'first page'"),
        (
            [["page one", "page two"], ["page three"]],
            ValueError,
            r"make_pipeline\(PageWords\(\), ClassSetRBMCV.for",
        ),
        ([["2011", "page two"], ["page three"]], ValueError, "the first 'page two'. Turn documents .* with PageWords"),
        ([[], ["page one"]], ValueError, "with PageWords"),
        (np.array([["page one"], ["one", "two"]], dtype=object), ValueError, "with PageWords"),
        (pl.Series([["page one"], ["one", "two"]]).to_pandas(), ValueError, "with PageWords"),
    ],
)
def test_what_is_no_matrix_is_refused_in_words(estimator, X, kind, message):
    with pytest.raises(kind, match=message):
        estimator.fit(X, [0, 1])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, 2.0], [3.0]], "Got 2 in the first vector and 1 in the vector at index 1"),
        (
            [[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0]]],
            "Got 2 in the first vector of the set at index 1 and 1 in the vector at index 1",
        ),
        (np.array([["cat", "dog"], ["1", "2"]]), "numbers. Got text, the first 'cat'"),
        (np.array([[["1", "cat"]], [["2", "3"]]]), "numbers. Got text, the first 'cat'"),
        ([np.eye(2), np.array([["2", "cat"]])], "numbers. Got text, the first 'cat'"),
        ([np.array([["1", "2"]]), np.eye(2)], r"Got numbers written as text, the first '1'.*: X.astype\(float\)"),
        (np.array([["cat", 1.0], ["dog", 2.0]], dtype=object), "numbers. Got text, the first 'cat'"),
    ],
)
def test_ragged_lists_and_arrays_of_text_are_refused_in_words(estimator, X, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, [0, 1])


def test_texts_in_a_transformer_of_vectors_are_refused_in_words():
    with pytest.raises(ValueError, match="X must hold numbers. Got text, the first 'page one'.* with PageWords"):
        PerVector(TfidfVectorizer()).fit([["page one", "page two"], ["page three"]])


def test_numbers_written_as_text_are_numbers():
    assert ClassSetRBM(**SETTINGS).fit([["1", "2"], ["3", "4"], ["5", "6"]] * 4, [0, 1, 0] * 4).n_features_in_ == 2


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
@pytest.mark.filterwarnings("ignore:A data frame was passed to")
def test_dates_in_a_matrix_are_refused(estimator):
    days = np.array(["2020-01-01", "NaT"] * 4, "M8[ns]")[:, np.newaxis]
    frames = [pd.DataFrame({"day": days[:, 0]}), pl.DataFrame({"day": days[:, 0]})]
    objects = np.array([[1.0]] * 7 + [[np.datetime64("2020-01-01")]], object)
    for X in (days, days - days[0], objects, days[:, np.newaxis], *frames):
        with pytest.raises(ValueError, match="All values must be numbers. Got dates or durations, the first"):
            estimator.fit(X, [0, 1] * 4)


@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=name)
def test_features_that_say_nothing_are_warned_about(estimator):
    with pytest.warns(UserWarning, match="Every feature is constant: only the frequencies of the classes"):
        estimator.fit(np.ones((8, 2, 3)), [0, 1] * 4)


def test_a_squeezed_feature_is_named():
    X = np.random.default_rng(0).random((40, 2, 2))
    X[0, 0, 1] = 1e9
    bags = Bags.from_array(X, feature_names=["size", "price"])
    with pytest.warns(UserWarning, match=r"In 1 of 2 features \(the first: price\) outliers leave nine tenths"):
        ClassSetRBM(**SETTINGS).fit(bags, [0, 1] * 20)


def test_a_frame_must_be_a_frame():
    with pytest.raises(TypeError, match=r"A lazy frame holds no data yet. Collect it first: frame.collect\(\)"):
        Bags.from_frame(pl.LazyFrame({"bag": [1], "x": [1.0]}))
    with pytest.raises(TypeError, match="frame must be a data frame of pandas, polars or pyarrow. Got list"):
        Bags.from_frame([[1.0, 2.0]])


@pytest.mark.parametrize(
    "y", [[0, None] * 15, ["a", None] * 15, ["a", np.nan] * 15, [0.0, np.nan] * 15, [pd.NA, "b"] * 15]
)
@pytest.mark.parametrize("estimator", ESTIMATORS[:4], ids=name)
def test_missing_labels_are_counted_and_placed(estimator, y):
    with pytest.raises(
        ValueError, match=r"Every set must have a label. Got 15 missing of 30, the first at index [01]\."
    ):
        estimator.fit(sets()[0], y)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_lists_and_arrays_take_feature_names(is_sparse):
    matrices = [np.eye(2), np.ones((3, 2))]
    given = [sparse.csr_array(m) for m in matrices] if is_sparse else matrices
    assert list(Bags.from_list(given, feature_names=["a", "b"]).feature_names) == ["a", "b"]
    bags = Bags.from_array(np.ones((2, 3, 2)), ids=["x", "y"], feature_names=["a", "b"])
    assert list(bags.feature_names) == ["a", "b"]
    assert list(bags.ids) == ["x", "y"]
    with pytest.raises(ValueError, match="There must be one name for each of 2 features. Got 1"):
        Bags.from_list(given, feature_names=["a"])


def test_masked_values_are_refused():
    masked = np.ma.masked_equal([[1.0, -999.0], [2.0, 3.0]], -999.0)
    for make in (
        lambda: Bags.from_list([masked]),
        lambda: Bags(masked, [0, 2]),
        lambda: Bags.from_groups(masked, [1, 1]),
    ):
        with pytest.raises(ValueError, match="All values must be given. Got 1 masked"):
            make()
    assert Bags.from_list([np.ma.array([[1.0]])]).X.tolist() == [[1.0]]


def test_columns_of_a_frame_can_be_ignored_and_must_differ():
    data = frame().assign(note="text")
    for ignore in ("note", ["note"]):
        assert list(Bags.from_frame(data, label="label", ignore=ignore)[0].feature_names) == ["x"]
    with pytest.raises(ValueError, match=r"Name columns that are not features in ignore=\[...\]"):
        Bags.from_frame(data, label="label")
    for wrong in ({"label": "bag"}, {"label": "label", "ignore": "label"}, {"ignore": ["bag"]}):
        with pytest.raises(ValueError, match="bag, label and ignore must name different columns"):
            Bags.from_frame(data, **wrong)
    with pytest.raises(ValueError, match="The frame must have a column 'nte'"):
        Bags.from_frame(data, label="label", ignore="nte")


def test_a_frame_with_text_is_warned_about_before_it_is_refused():
    data = frame().assign(bag=lambda rows: rows["bag"].astype(str) + "x")
    with pytest.warns(UserWarning, match="Use Bags.from_frame"), pytest.raises(ValueError, match="could not convert"):
        ClassSetRBM(**SETTINGS).fit(data, data["label"])


@pytest.mark.parametrize("estimator", [*ESTIMATORS[:4], PerVector(StandardScaler())], ids=name)
def test_one_label_per_vector_is_refused_in_words(estimator):
    X, y = sets()
    with pytest.raises(ValueError, match="one label for each of the 30 sets. Got 120, one per vector"):
        estimator.fit(X, np.repeat(y, 4))
    with pytest.raises(ValueError, match="one label for each of the 30 sets. Got 29 labels"):
        estimator.fit(X, y[1:])


@pytest.mark.parametrize("estimator", ESTIMATORS[:4], ids=name)
@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda y: dict(enumerate(y)), TypeError, r"Got a dict. .* use \[y\[name\] for name in bags.ids\]"),
        (lambda y: (label for label in y), TypeError, r"Got a generator. Pass a list: list\(y\)"),
        (lambda y: dict(enumerate(y)).values(), TypeError, r"Got a dict_values. Pass a list: list\(y\)"),
        (lambda y: set(y.tolist()), TypeError, "Got a set. Pass a list, in the order of the sets"),
        (
            lambda y: "label",
            TypeError,
            "y must be an array or a list with one label for each set. Got the text 'label'",
        ),
        (lambda y: y[1:], ValueError, "y must hold one label for each of the 30 sets. Got 29 labels"),
        (lambda y: np.array([0, "one"] * 15, dtype=object), ValueError, "must be of one type. Got int and str in y"),
        (lambda y: [0, "one"] * 15, ValueError, "must be of one type. Got int and str in y"),
        (lambda y: (True, "one", 2.5) * 10, ValueError, "must be of one type. Got bool and float and str in y"),
    ],
)
def test_labels_that_are_no_list_of_labels_are_refused_in_words(estimator, make, kind, message):
    X, y = sets()
    with pytest.raises(kind, match=message):
        estimator.fit(X, make(y))


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_texts_of_two_classes_of_strings_are_of_one_type(kind):
    X, y = sets()
    labels = kind([np.str_("one") if label else "zero" for label in y])
    assert ClassSetRBM(**SETTINGS).fit(X, labels).classes_.tolist() == ["one", "zero"]


def test_scores_take_a_list_of_labels_only():
    X, y = sets()
    with pytest.raises(TypeError, match=r"Got a generator. Pass a list: list\(y\)"):
        ClassSetRBM(**SETTINGS).fit(X, y).score(X, (label for label in y))


@pytest.mark.parametrize("X", [None, "train.csv"])
def test_a_file_name_is_refused_in_words(X):
    with pytest.raises(TypeError, match="Read a file of sets with setrbm.datasets.read_sets"):
        ClassSetRBM(**SETTINGS).fit(X, [0, 1])


def test_four_dimensions_are_too_many():
    with pytest.raises(ValueError, match="X must have at most 3 dimensions: sets, vectors, features. Got 4"):
        ClassSetRBM(**SETTINGS).fit(np.ones((2, 2, 2, 2)), [0, 1])


DIVERGING = {"learning_rate": 1e9, "init_scale": 1.0, "weight_decay": 0.0, "scale": None}
# Estimators, and what makes a fit fail after the estimator has drawn random numbers, if it draws any.
FAILING = [
    (ClassSetRBM(**SETTINGS), DIVERGING),
    (ClassRBM(**SETTINGS), DIVERGING),
    (ClassSetRBMCV(**SETTINGS), DIVERGING),
    (ClassSetRBMCV(**SETTINGS), {"cv": [([0], [1])]}),
    (MaxOutClassifier(**SETTINGS), DIVERGING),
    (MaxOutClassifierCV(**SETTINGS), DIVERGING),
    (SetSVC(probability=True), "calibration"),
    (SetSVCCV(C=(1.0,), gamma_factors=(1.0,), probability=True), "calibration"),
    (PerVector(PCA(2)), {"transformer": PCA(99)}),
    (InputPooling(), "nan"),
    (PageWords(pairs=False), {"min_sets": 99}),
    (RejectOption(GaussianNB(), precision=0.4), {"classifier": GaussianNB(var_smoothing=-1.0)}),
]
IDS = [f"{name(one)}-{spoil if isinstance(spoil, str) else next(iter(spoil))}" for one, spoil in FAILING]


def data_for(estimator):
    X, y = sets()
    if isinstance(estimator, PageWords):
        return [["one two", "three"], ["two four"]] * 15, y
    X[:, 0, 0] += y
    return (X[:, 0] if isinstance(estimator, RejectOption | ClassRBM) else Bags.from_array(X)), y


def state_of(estimator):
    """Return everything that a fit may change: attributes with their contents, and the state of the generator."""
    generator = getattr(estimator, "random_state", None)
    state = generator.get_state(legacy=False) if isinstance(generator, np.random.RandomState) else {}
    return vars(estimator).copy(), copy.deepcopy(getattr(estimator, "history_", None)), str(state)


def assert_unchanged(estimator, before):
    attributes, *others = before
    assert vars(estimator).keys() == attributes.keys()
    assert [key for key, value in vars(estimator).items() if value is not attributes[key]] == []
    assert list(state_of(estimator)[1:]) == others


def fail():
    raise ValueError("no")


@pytest.mark.parametrize("was_fitted", [False, True])
@pytest.mark.parametrize(("estimator", "spoil"), FAILING, ids=IDS)
def test_a_failed_fit_changes_neither_the_estimator_nor_its_generator(monkeypatch, estimator, spoil, was_fitted):
    model, (X, y) = clone(estimator), data_for(estimator)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=np.random.RandomState(0))
    if was_fitted:
        model.fit(X, y)
    if isinstance(spoil, dict):
        model.set_params(**spoil)
    monkeypatch.setattr(set_svc, "LogisticRegression", fail)
    before = state_of(model)
    with pytest.raises(ValueError, match=r"."):
        model.fit(np.full((30, 3), np.nan) if spoil == "nan" else X, y)
    assert_unchanged(model, before)


@pytest.mark.parametrize("was_fitted", [False, True])
def test_a_failed_partial_fit_changes_neither_the_estimator_nor_its_generator(was_fitted):
    X, y = sets()
    model = ClassSetRBM(**SETTINGS | {"random_state": np.random.RandomState(0)})
    if was_fitted:
        model.partial_fit(X, y, classes=[0, 1])
    before = state_of(model.set_params(**DIVERGING))
    with pytest.raises(ValueError, match="Training diverged"):
        model.partial_fit(1e3 * X, y, classes=[0, 1])
    assert_unchanged(model, before)
