import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from make_model_files import FOLDER
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, QuantileTransformer, StandardScaler

import setrbm
from setrbm import Bags, ClassRBM, ClassSetRBM, load, save
from setrbm.estimators import InputPooling, PerVector, SetSVC, SetSVCCV
from setrbm.persistence import table
from setrbm.persistence.fields import Attributes, Counts, Features, Floats
from setrbm.selective import RejectOption
from setrbm.text import PageWords
from setrbm.text.word_weights import WEIGHTS

NAMES = ["a", "b", "c", "d"]


def some_sets(seed=0, n_sets=24, n_classes=2, kind="dense", names=None):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_sets)
    y = np.arange(n_sets) % n_classes
    X = rng.poisson(1.5, (sizes.sum(), 4)) + rng.random((sizes.sum(), 4)) + np.repeat(y, sizes)[:, np.newaxis]
    X = {"dense": X, "columns": np.asfortranarray(X), "float32": X.astype(np.float32)}.get(kind, X)
    X = sparse.csr_array(np.where(X < 2.0, 0.0, X)) if kind == "sparse" else X
    return Bags(X, np.concatenate([[0], np.cumsum(sizes)]), feature_names=names), np.array(list("uvwxyz"))[y]


def saved_and_loaded(model, tmp_path):
    save(model, tmp_path / "m.safetensors")
    return load(tmp_path / "m.safetensors")


def as_array(output):
    output = output.X if isinstance(output, Bags) else output
    return output.toarray() if sparse.issparse(output) else np.asarray(output)


METHODS = (
    "predict", "decision_function", "predict_proba", "predict_log_proba", "transform", "accepts",
    "get_feature_names_out",
)  # fmt: skip


def assert_same(model, again, X):
    """Compare all that two estimators compute, to the bit; of several sets, and of one."""
    assert type(again) is type(model)
    for name in METHODS:
        assert hasattr(model, name) == hasattr(again, name)
        if hasattr(model, name) and name != "get_feature_names_out":
            for part in (X, X[:1]):
                expected, got = getattr(model, name)(part), getattr(again, name)(part)
                assert type(got) is type(expected)
                np.testing.assert_array_equal(as_array(got), as_array(expected), strict=True)


# --- SetSVC ---


@pytest.mark.parametrize("kind", ["dense", "columns", "float32", "sparse"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", ["migraph", "migraph2", "max"])
def test_a_loaded_svc_predicts_the_same_to_the_bit(tmp_path, kernel, n_classes, kind):
    bags, y = some_sets(n_classes=n_classes, kind=kind)
    new, _ = some_sets(1, kind=kind)
    for settings in ({}, {"spectrum": "clip", "probability": True, "scale": None}):
        model = SetSVC(kernel, C=3.0, random_state=0, **settings).fit(bags, y)
        again = saved_and_loaded(model, tmp_path)
        assert_same(model, again, new)
        assert hasattr(again, "predict_proba") == ("probability" in settings)
        np.testing.assert_array_equal(again.support_, model.support_)
        assert again.largest_set_ == model.largest_set_ == 4
        assert (again.C_, again.gamma_, again.threshold_) == (model.C_, model.gamma_, model.threshold_)


def test_a_loaded_search_knows_what_was_tried(tmp_path):
    bags, y = some_sets(names=NAMES)
    settings = {"gamma_factors": (1.0,), "class_weight": {"u": 2.0, "v": 1.0}, "random_state": 0}
    model = SetSVCCV("migraph2", C=(0.1, 10.0), **settings).fit(bags, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert_same(model, again, bags)
    assert again.get_params() == model.get_params()
    assert again.best_params_ == model.best_params_
    assert (again.best_score_, again.best_index_) == (model.best_score_, model.best_index_)
    assert list(again.cv_results_) == list(model.cv_results_)
    for name in set(model.cv_results_) - {"params"}:
        np.testing.assert_array_equal(again.cv_results_[name], model.cv_results_[name])
    assert list(again.feature_names_in_) == NAMES
    assert_same(clone(again).fit(bags, y), model, bags)


def test_probabilities_asked_for_after_fit_cannot_be_saved(tmp_path):
    model = SetSVC().fit(*some_sets()).set_params(probability=True)
    with pytest.raises(ValueError, match="probability=True needs a calibration. It was set after fit: fit again"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


# --- transformers ---

TRANSFORMED = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False, copy=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(feature_range=(-1, 2), clip=True),
    SimpleImputer(),
    SimpleImputer(strategy="constant", fill_value=2, copy=False),
    TfidfTransformer(),
    TfidfTransformer(use_idf=False, norm="l1", sublinear_tf=True),
    QuantileTransformer(n_quantiles=7, output_distribution="normal", subsample=None),
    QuantileTransformer(n_quantiles=3, random_state=np.random.RandomState(0)),
    TruncatedSVD(3, random_state=0, n_iter=2),
    TruncatedSVD(2, algorithm="arpack", tol=0.1),
    InputPooling(),
    InputPooling(["std", "size"]),
    InputPooling("logsumexp"),
]


@pytest.mark.parametrize("kind", ["dense", "float32", "columns", "sparse"])
@pytest.mark.parametrize("transformer", TRANSFORMED, ids=lambda one: type(one).__name__)
def test_a_loaded_transformer_is_the_same_in_every_attribute(tmp_path, transformer, kind):
    X = some_sets(kind=kind)[0].X
    transformer = clone(transformer)
    if kind == "sparse" and isinstance(transformer, MinMaxScaler):
        pytest.skip("MinMaxScaler takes no sparse data.")
    if kind == "sparse" and getattr(transformer, "with_mean", False):
        transformer.set_params(with_mean=False)
    transformer.fit(X)
    again = saved_and_loaded(transformer, tmp_path)
    assert_same(transformer, again, X.copy())
    np.testing.assert_array_equal(again.get_feature_names_out(), transformer.get_feature_names_out())
    assert_same_state(transformer, again)


def assert_same_state(model, again):
    """Compare all attributes of two estimators, and of those within."""
    assert type(again) is type(model)
    assert vars(again).keys() == vars(model).keys()
    for name, value in vars(model).items():
        if hasattr(value, "get_params"):
            assert_same_state(value, getattr(again, name))
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(again, name), value, strict=True)
        elif name != "random_state":
            # NaN is equal to NaN here.
            np.testing.assert_equal(getattr(again, name), value)


def with_gaps(seed, kind):
    """Return vectors with missing values, in the last feature all are missing."""
    X = np.random.default_rng(seed).integers(1, 5, (30, 4)) * 0.3
    X[np.random.default_rng(seed + 1).random(X.shape) < 0.3] = np.nan
    X[:, 3] = np.nan
    return {"float32": X.astype(np.float32), "columns": np.asfortranarray(X), "sparse": sparse.csr_array(X)}.get(
        kind, X
    )


@pytest.mark.parametrize("kind", ["dense", "float32", "columns", "sparse"])
@pytest.mark.parametrize("add_indicator", [False, True])
@pytest.mark.parametrize("keep_empty_features", [False, True])
@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_a_loaded_imputer_fills_in_the_same_to_the_bit(tmp_path, strategy, keep_empty_features, add_indicator, kind):
    imputer = SimpleImputer(
        strategy=strategy, keep_empty_features=keep_empty_features, add_indicator=add_indicator
    ).fit(with_gaps(0, kind))
    again = saved_and_loaded(imputer, tmp_path)
    assert_same(imputer, again, with_gaps(7, kind))
    assert again.get_feature_names_out().tolist() == imputer.get_feature_names_out().tolist()
    assert again.statistics_.dtype == imputer.statistics_.dtype
    np.testing.assert_array_equal(again.statistics_.astype(float), imputer.statistics_.astype(float))
    if strategy != "constant":
        assert_same_state(imputer, again)
    if add_indicator and kind == "dense" and not keep_empty_features:
        filled = imputer.transform(with_gaps(7, kind))
        np.testing.assert_array_equal(again.inverse_transform(filled), imputer.inverse_transform(filled))


def test_an_imputer_of_integers_is_the_same_after_loading(tmp_path):
    X = np.array([[1, -1], [2, 2**53 + 2], [2, 4]])
    for settings in ({"strategy": "most_frequent"}, {"strategy": "constant", "fill_value": 7}):
        imputer = SimpleImputer(missing_values=-1, **settings).fit(X)
        again = saved_and_loaded(imputer, tmp_path)
        assert_same_state(imputer, again)
        assert_same(imputer, again, X)


def test_the_advice_for_missing_values_leads_to_a_model_that_can_be_saved(tmp_path):
    bags, y = some_sets()
    bags.X[::7, 1] = np.nan
    with pytest.raises(ValueError, match=r"Impute them first, for example with PerVector\(SimpleImputer\(\)\)"):
        SetSVC().fit(bags, y)
    model = make_pipeline(PerVector(SimpleImputer()), SetSVC()).fit(bags, y)
    assert_same(model, saved_and_loaded(model, tmp_path), bags)


def test_an_imputer_of_anything_but_numbers_is_not_saved(tmp_path):
    words = np.array([["a", "b"], ["a", np.nan]], dtype=object)
    for imputer, message in [
        (SimpleImputer(strategy="most_frequent").fit(words), "statistics_ must hold numbers that are exact .* Got 'a'"),
        (SimpleImputer().fit(np.eye(2)).set_params(fill_value="none"), "fill_value must be a number. Got 'none'"),
        (
            SimpleImputer(strategy="most_frequent").fit(np.array([[1], [2]], dtype=object)),
            "_fit_dtype must be a type of numbers: fit to an array of floats. Got object",
        ),
        (
            SimpleImputer(strategy="constant", fill_value=2**53 + 1).fit(np.array([[1], [2]])),
            "statistics_ must hold numbers that are exact as float64. Got 9007199254740993",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            save(imputer, tmp_path / "m")
    with pytest.raises(ValueError, match="strategy of SimpleImputer must be a number, .* class function"):
        save(SimpleImputer(strategy=lambda column: column.max()).fit(np.eye(2)), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_missing_values_seen_by_a_scaler_are_counted_as_before(tmp_path):
    X = np.array([[1.0, np.nan], [2.0, 5.0], [4.0, 7.0]])
    scaler = StandardScaler().fit(X)
    again = saved_and_loaded(scaler, tmp_path)
    np.testing.assert_array_equal(again.n_samples_seen_, [3, 2])
    np.testing.assert_array_equal(again.partial_fit(X).mean_, scaler.partial_fit(X).mean_)
    again = saved_and_loaded(StandardScaler().fit(X[1:]), tmp_path)
    np.testing.assert_array_equal(again.partial_fit(X[1:]).var_, StandardScaler().fit(X[1:]).partial_fit(X[1:]).var_)


@pytest.mark.parametrize("transformer", [StandardScaler(), InputPooling("mean")], ids=str)
def test_a_loaded_transformer_of_vectors_can_be_cloned_and_fitted(tmp_path, transformer):
    bags, _ = some_sets(names=NAMES)
    model = PerVector(transformer).fit(bags)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.get_params().keys() == model.get_params().keys()
    assert again.transformer is not again.transformer_
    if isinstance(transformer, StandardScaler):
        assert_same(model, again, bags)
        assert_same(clone(again).fit(bags), model, bags)
        assert list(again.transform(bags).feature_names) == NAMES


@pytest.mark.parametrize("weights", WEIGHTS)
def test_loaded_words_are_the_same_in_every_attribute(tmp_path, weights):
    documents = [["Dear sir, dear madam", "ÄRGER über 40 €"], ["dear über", "40", ""]]
    words = PageWords(max_words=3, weights=weights, pairs=False).fit(documents, [0, 1])
    words.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert_same(words, again, documents)
    assert vars(again).keys() == vars(words).keys()
    assert again.get_params() == words.get_params()
    assert again.words_.tolist() == words.words_.tolist() == ["40", "dear", "über"]
    np.testing.assert_array_equal(again.factors_, words.factors_, strict=True)


# --- pipelines ---


def nested():
    scaled = make_pipeline(StandardScaler(), MinMaxScaler())
    return Pipeline([("vectors", PerVector(scaled)), ("nothing", "passthrough"), ("model", SetSVC(scale=None))])


PIPELINES = {
    "scaled": lambda: make_pipeline(PerVector(StandardScaler()), ClassSetRBM(3, max_epochs=2, random_state=0)),
    "quantiles": lambda: make_pipeline(PerVector(QuantileTransformer(n_quantiles=9)), SetSVC(probability=True)),
    "text": lambda: make_pipeline(PerVector(TfidfTransformer()), PerVector(TruncatedSVD(2, random_state=0)), SetSVC()),
    "pooled": lambda: make_pipeline(InputPooling(), StandardScaler(), ClassRBM(3, max_epochs=2, random_state=0)),
    "stacked": lambda: make_pipeline(
        ClassSetRBM(3, max_epochs=2, random_state=0), ClassRBM(2, max_epochs=2, random_state=0)
    ),
    "nested": lambda: make_pipeline(nested()),
    "features only": lambda: make_pipeline(PerVector(MinMaxScaler()), InputPooling("max")),
    "empty end": lambda: Pipeline([("pool", InputPooling("max")), ("end", None)], verbose=False),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_loaded_pipeline_predicts_the_same_to_the_bit(tmp_path, name):
    bags, y = some_sets(n_classes=3, names=NAMES)
    new, _ = some_sets(1, names=NAMES)
    model = PIPELINES[name]().fit(bags, y)
    again = saved_and_loaded(model, tmp_path)
    assert_same(model, again, new)
    assert str(again.get_params()) == str(model.get_params())
    assert list(again.feature_names_in_) == NAMES
    if hasattr(model, "classes_"):
        assert again.classes_.tolist() == model.classes_.tolist()
        assert clone(again).fit(bags, y).score(bags, y) == model.score(bags, y)


def test_settings_within_a_loaded_pipeline_can_be_changed(tmp_path):
    bags, y = some_sets()
    again = saved_and_loaded(make_pipeline(nested()).fit(bags, y), tmp_path)
    again.set_params(pipeline__model__C=7.0, pipeline__vectors__transformer__minmaxscaler__clip=True)
    assert again.fit(bags, y)[-1]["model"].C_ == 7.0


def test_the_cache_of_a_pipeline_is_not_saved(tmp_path):
    bags, y = some_sets()
    model = Pipeline([("pool", InputPooling()), ("svc", SetSVC())], memory=str(tmp_path / "cache")).fit(bags, y)
    again = saved_and_loaded(model, tmp_path)
    assert again.memory is None
    assert_same(model, again, bags)


# --- the reject option ---

# What a few sets can show.
MODEST = {"precision": 0.4, "confidence": 0.6}
REJECTING = {
    "rbm": lambda: ClassSetRBM(3, max_epochs=60, random_state=0),
    "svc": lambda: make_pipeline(PerVector(StandardScaler()), SetSVC(probability=True, random_state=0)),
    "nested": nested,
}


@pytest.mark.parametrize("settings", [{}, {"per_class": True}, {"sureness": "margin", "held_out": 0.4}], ids=str)
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("name", REJECTING)
def test_a_loaded_reject_option_accepts_the_same(tmp_path, name, frozen, settings):
    bags, y = some_sets(n_sets=60)
    classifier = REJECTING[name]()
    if name == "nested":
        # A support vector machine without probabilities.
        settings = {**settings, "sureness": "margin"}
    if frozen:
        classifier = FrozenEstimator(classifier.fit(*some_sets(1)))
    model = RejectOption(classifier, random_state=0, **MODEST, **settings).fit(bags, y)
    again = saved_and_loaded(model, tmp_path)
    assert_same(model, again, some_sets(2)[0])
    assert model.accepts(bags).any()
    assert again.promise_ == model.promise_
    assert again.share_left_ == model.share_left_
    assert str(again.get_params()) == str(model.get_params())
    assert again.classes_.tolist() == ["u", "v"]
    assert clone(again).fit(bags, y).promise_ == model.promise_
    model.save(tmp_path / "by method")
    assert load(tmp_path / "by method").promise_ == model.promise_
    assert again.with_precision(0.3).promise_ == model.with_precision(0.3).promise_


def test_a_refusal_is_saved_as_such(tmp_path):
    bags, y = some_sets(n_sets=60)
    frozen = FrozenEstimator(SetSVC(probability=True, random_state=0).fit(*some_sets(1)))
    with pytest.warns(UserWarning, match="No tested threshold keeps a precision of 0.9"):
        model = RejectOption(frozen, precision=0.9).fit(bags, y[::-1])
    again = saved_and_loaded(model, tmp_path)
    assert str(again.promise_) == str(model.promise_)
    assert not again.accepts(bags).any()


def test_a_promise_that_no_longer_fits_the_settings_is_not_saved(tmp_path):
    bags, y = some_sets(n_sets=60)
    frozen = FrozenEstimator(SetSVC(probability=True, random_state=0).fit(*some_sets(1)))
    model = RejectOption(frozen, **MODEST).fit(bags, y).set_params(precision=0.999)
    with pytest.raises(ValueError, match="accepted sets must show a precision of 0.999 .* Fit again after changing"):
        save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_promise_that_is_not_that_of_the_held_out_sets_is_refused(tmp_path):
    bags, y = some_sets(n_sets=60)
    frozen = FrozenEstimator(SetSVC(probability=True, random_state=0).fit(*some_sets(1)))
    model = RejectOption(frozen, **MODEST).fit(bags, y)
    model.promise_ = dataclasses.replace(model.promise_, threshold=model.promise_.threshold + 0.05)
    with pytest.raises(ValueError, match="n_held_out, n_accepted and n_right must be those of the held-out sets"):
        save(model, tmp_path / "m")
    # Files of earlier versions know no held-out sets.
    model.held_out_ = None
    assert saved_and_loaded(model, tmp_path).held_out_ is None


def test_another_classifier_within_a_reject_option_is_refused_by_name(tmp_path):
    X = np.arange(100.0)[:, np.newaxis]
    model = RejectOption(LogisticRegression(), precision=0.5).fit(X, X[:, 0] > 50)
    with pytest.raises(TypeError, match="classifier of RejectOption is a LogisticRegression, which cannot be saved"):
        save(model, tmp_path / "m")
    model = RejectOption(FrozenEstimator(model.classifier_), precision=0.5).fit(X, X[:, 0] > 50)
    with pytest.raises(TypeError, match="RejectOption, estimator of FrozenEstimator is a LogisticRegression, which"):
        save(model, tmp_path / "m")


# --- refusals ---


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (PCA(), "The estimator is a PCA, which cannot be saved without pickle. These can be saved: ClassRBM, "),
        (Pipeline([("pca", PCA())]), "Pipeline step 'pca' is a PCA, which cannot be saved"),
        (Pipeline([("p", Pipeline([("pca", PCA())]))]), "Pipeline step 'p', Pipeline step 'pca' is a PCA, which"),
        (Pipeline([("d", {})]), "Pipeline step 'd' is a dict, which"),
        ("model.safetensors", "The estimator is a str, which"),
        (type("StandardScaler", (StandardScaler,), {})(), "The estimator is a StandardScaler, which"),
        (type("OtherScaler", (StandardScaler,), {})(), "The estimator is an OtherScaler, which"),
    ],
)
def test_what_cannot_be_saved_is_refused_by_name(tmp_path, estimator, message):
    with pytest.raises(TypeError, match=message):
        save(estimator, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_other_estimators_within_ours_are_refused_by_name(tmp_path):
    bags, y = some_sets()
    model = make_pipeline(PerVector(PCA(2)), SetSVC()).fit(bags, y)
    with pytest.raises(TypeError, match="Pipeline step 'pervector', transformer of PerVector is a PCA, which cannot"):
        save(model, tmp_path / "m")
    model = make_pipeline(InputPooling(), LogisticRegression(max_iter=1000)).fit(bags, y)
    with pytest.raises(TypeError, match="Pipeline step 'logisticregression' is a LogisticRegression, which cannot"):
        save(model, tmp_path / "m")


@pytest.mark.parametrize(
    "estimator",
    [
        ClassSetRBM(),
        SetSVC(),
        SetSVCCV(),
        InputPooling(),
        PageWords(),
        PerVector(StandardScaler()),
        RejectOption(SetSVC()),
        *TRANSFORMED[::3],
    ],
    ids=str,
)
def test_an_unfitted_estimator_cannot_be_saved(tmp_path, estimator):
    name = type(estimator).__name__
    for unfitted in (estimator, make_pipeline(estimator)):
        with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted yet"):
            save(unfitted, tmp_path / "m")


def test_an_object_as_a_setting_is_refused(tmp_path):
    scaler = StandardScaler().fit(np.eye(3)).set_params(copy=object())
    with pytest.raises(ValueError, match="copy of StandardScaler must be a number, .* Got an object of class object"):
        save(scaler, tmp_path / "m")


def test_a_column_without_values_is_refused(tmp_path):
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        scaler = MinMaxScaler().fit(np.array([[1.0, np.nan], [2.0, np.nan]]))
    with pytest.raises(ValueError, match="min_ must be finite. Got NaN or infinity"):
        save(scaler, tmp_path / "m")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "A Pipeline must have steps"),
        ([("a__b", None)], "names are strings without '__'. Got .'a__b'"),
        ([("a", None), ("a", None)], "Names of steps must be unique"),
        ([("memory", None)], "Names of steps must be unique, and not parameters of Pipeline. Got .'memory'"),
    ],
)
def test_pipelines_that_scikit_learn_would_refuse_are_refused(tmp_path, steps, message):
    with pytest.raises(ValueError, match=message):
        save(Pipeline(steps), tmp_path / "m")


def test_a_classifier_in_the_middle_is_refused(tmp_path):
    model = Pipeline([("svc", SetSVC().fit(*some_sets())), ("end", None)])
    with pytest.raises(ValueError, match="Pipeline step 'svc' must be a transformer. Got an object of class SetSVC"):
        save(model, tmp_path / "m")


def test_endless_nesting_is_refused(tmp_path):
    model = Pipeline([("pool", InputPooling().fit(np.eye(2)))])
    for _ in range(10):
        model = Pipeline([("inside", model)])
    with pytest.raises(ValueError, match="nested at most 10 deep"):
        save(model, tmp_path / "m")
    save(model[-1], tmp_path / "m")
    model.steps[0] = ("inside", model)
    with pytest.raises(ValueError, match="nested at most 10 deep"):
        save(model, tmp_path / "m")


def test_every_transformer_of_the_table_is_tested_here():
    rows = [table.row_of(name) for name in table.names()]
    of_attributes = {row.cls for row in rows if any(isinstance(field, Attributes) for field in row.fields)}
    assert of_attributes - {PerVector} == {type(one) for one in TRANSFORMED}


def test_a_row_is_all_that_a_transformer_of_arrays_needs(tmp_path, monkeypatch):
    kinds = {name: Floats("n") for name in ("scale_", "max_abs_")} | {"n_samples_seen_": Counts()}
    row = table.Row("sklearn.preprocessing.MaxAbsScaler", (Features(), Attributes(kinds)))
    scaler = MaxAbsScaler().fit(some_sets()[0].X)
    with pytest.raises(TypeError, match="The estimator is a MaxAbsScaler, which cannot be saved"):
        save(scaler, tmp_path / "m")
    monkeypatch.setitem(table.ROWS, row.name, row)
    again = saved_and_loaded(scaler, tmp_path)
    assert_same_state(scaler, again)
    scaler.scale_ = scaler.scale_[:-1]
    with pytest.raises(ValueError, match=r"scale_ must hold floats of shape \(4,\). Got float64 of shape \(3,\)"):
        save(scaler, tmp_path / "m")


def test_only_the_class_of_a_row_that_is_used_is_imported():
    code = "import sys, setrbm.persistence; print({'sklearn.decomposition', 'setrbm_mail'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert loaded.strip() == "set()"


def test_a_model_of_a_package_that_is_not_installed_names_the_package(monkeypatch):
    monkeypatch.setattr(table, "find_spec", lambda name: None)
    path = FOLDER / "format2" / "DocumentFeatures.safetensors"
    with pytest.raises(ImportError, match="This model needs the package setrbm-mail. Run: pip install setrbm-mail"):
        load(path)


def test_save_and_load_are_public():
    assert {"save", "load"} <= set(setrbm.__all__)
