"""Files that were changed on purpose, with a checksum that fits, are refused or do no harm."""

import copy
import random
import re
import warnings

import numpy as np
import pytest
from rewriting import contents, rewrite, write
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

from setrbm import Bags, ClassSetRBM, ClassSetRBMCV, load, save
from setrbm.estimators import InputPooling, PerVector, SetSVC, SetSVCCV
from setrbm.persistence.table import names
from setrbm.selective import RejectOption
from setrbm.text import PageWords

RNG = np.random.default_rng(0)
X = RNG.random((40, 4)) + np.repeat(np.arange(20) % 2, 2)[:, np.newaxis]
BAGS, Y = Bags(X, np.arange(0, 41, 2), feature_names=list("abcd")), np.arange(20) % 2
SPARSE = BAGS.with_vectors(sparse.csr_array(np.where(X < 0.6, 0.0, X)))
TEXTS = [["one two", "three four"], ["four three two one"]]
SHORT = {"max_epochs": 1, "random_state": 0}

SVC = SetSVC(probability=True, random_state=0).fit(BAGS, Y)

MODELS = {
    "svc": lambda: SetSVC(probability=True).fit(BAGS, Y),
    "sparse svc": lambda: SetSVC("max").fit(SPARSE, Y),
    "search": lambda: SetSVCCV("migraph2", C=(1.0, 2.0), gamma_factors=(1.0,)).fit(BAGS, Y),
    "pooling": lambda: InputPooling().fit(BAGS),
    "standard": lambda: StandardScaler().fit(X),
    "min-max": lambda: MinMaxScaler().fit(X),
    "imputer": lambda: SimpleImputer(missing_values=X[0, 1], add_indicator=True).fit(X),
    "constant": lambda: SimpleImputer(strategy="constant").fit(X),
    "tf-idf": lambda: TfidfTransformer().fit(X),
    "quantiles": lambda: QuantileTransformer(n_quantiles=5).fit(X),
    "svd": lambda: TruncatedSVD(2).fit(X),
    "pipeline": lambda: make_pipeline(PerVector(StandardScaler()), SetSVC(scale=None)).fit(BAGS, Y),
    "words": lambda: PageWords(weights="tfidf", pairs=False).fit(TEXTS),
    "rbm": lambda: make_pipeline(InputPooling(), StandardScaler(), ClassSetRBM(2, **SHORT)).fit(BAGS, Y),
    "choosing": lambda: ClassSetRBMCV(2, learning_rate=(0.01, 0.1), n_fits=1, **SHORT).fit(BAGS, Y),
    "reject": lambda: RejectOption(FrozenEstimator(SVC), precision=0.5, confidence=0.8).fit(BAGS, Y),
    "reject by class": lambda: RejectOption(
        SVC, precision=0.3, confidence=0.5, held_out=0.5, per_class=True, random_state=0
    ).fit(BAGS, Y),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, fitted in MODELS.items():
        save(fitted(), folder / name)
    return folder


def setting(name, value):
    def change(header, arrays):
        pairs = header["settings"]["pairs"]
        assert name in [key for key, _ in pairs]
        header["settings"]["pairs"] = [[key, value if key == name else old] for key, old in pairs]

    return change


def header(**values):
    return lambda header, arrays: header.update(values)


def inside(*names, **values):
    """Change a description within the description."""

    def change(header, arrays):
        at = header
        for name in names:
            at = at[name]
        at.update(values)

    return change


def array(name, function):
    def change(header, arrays):
        arrays[name] = np.array(function(arrays[name]), order="C")

    return change


def item(name, value):
    def change(header, arrays):
        arrays[name].flat[-1] = value

    return change


def without(name):
    return lambda header, arrays: (arrays.pop(name, None), header.pop(name, None))


def promised(**values):
    """Change the first promise of a reject option."""
    names = ("threshold", "n_held_out", "n_accepted", "n_right", "more_sets")

    def change(header, arrays):
        first = dict(zip(names, header["promises"][0], strict=True)) | values
        header["promises"][0] = [first[name] for name in names]

    return change


def held_out(function):
    """Change what a reject option keeps of the held-out sets."""
    return both(*(array(f"held_out_{name}", function) for name in ("scores", "predicted", "right")))


def both(*changes):
    def change(header, arrays):
        for one in changes:
            one(header, arrays)

    return change


def as_steps(*steps):
    return header(steps=[list(step) for step in steps])


def chosen(name, value):
    def change(header, arrays):
        header["chosen"]["pairs"] = [[key, value if key == name else old] for key, old in header["chosen"]["pairs"]]

    return change


# The description of a transformer without state.
NOTHING = {
    "settings": {"pairs": []}, "n_features": 4, "feature_names": None, "largest_set": None, "none": [], "strides": {}
}  # fmt: skip
HOSTILE = [
    ("svc", setting("kernel", "rbf"), "kernel must be one of"),
    ("svc", setting("C", -1.0), "C must be a positive number"),
    ("svc", setting("spectrum", "flip"), "spectrum must be one of"),
    ("svc", setting("n_jobs", 0), "n_jobs must be"),
    ("svc", setting("memory_mib", "much"), "memory_mib must be a positive number"),
    ("svc", setting("class_weight", {"pairs": [[7, 1.0]]}), "class_weight must name classes"),
    ("svc", header(kind="SVC"), "must hold one of ClassRBM, .* Got 'SVC'"),
    ("svc", header(kind="ClassSetRBM"), "does not fit"),
    ("svc", header(n_features=5, feature_names=None), "scale_low must hold floats of shape"),
    ("svc", header(n_features=True), "n_features must be an integer between 1 and 2147483647. Got True"),
    ("svc", header(largest_set=0), "largest_set must be an integer of 1 or more. Got 0"),
    ("svc", header(feature_names=["a"]), "feature_names must hold 4 strings"),
    ("svc", header(classes={"dtype": "<i8", "values": [0, 1, 2]}), "coef must hold floats of shape"),
    ("svc", inside("fitted", gamma=0.0), "gamma must be a positive number"),
    ("svc", inside("fitted", threshold=-1.0), "threshold must be a positive number"),
    ("svc", inside("fitted", C=None), "C must be a positive number"),
    ("svc", without("coef"), "coef"),
    ("svc", without("calibration_coef"), "calibration_coef"),
    ("svc", array("coef", np.transpose), "coef must hold floats of shape"),
    ("svc", item("coef", np.nan), "coef must be finite"),
    ("svc", item("coef", 1e101), r"coef must hold values of at most 1e\+100 in size. Got 1e\+101"),
    ("svc", item("calibration_intercept", -1e300), "calibration_intercept must hold values of at most"),
    ("svc", array("vectors", np.float32), "half_squares|cast"),
    ("svc", array("vectors", lambda a: (9 * a).astype(int)), "vectors must hold floats of 4 features. Got int64"),
    ("svc", array("vectors", lambda a: a[:, :3]), "vectors must hold floats of 4 features. Got float64 of 3"),
    ("svc", array("vectors", lambda a: 2.0 * a), "half_squares must be half the squared lengths"),
    ("svc", item("vectors", np.inf), "finite"),
    ("svc", item("half_squares", 1e9), "half_squares must be half the squared lengths"),
    ("svc", item("weights", -0.5), "weights must be positive and sum to 1"),
    ("svc", array("weights", np.ones_like), "weights must be positive and sum to 1"),
    ("svc", array("weights", lambda a: np.append(a[:-2], [1.5, -0.5])), "weights must be positive and sum to 1"),
    ("svc", item("offsets", 10**6), "offsets"),
    ("svc", array("offsets", lambda a: a[::-1]), "offsets"),
    ("svc", array("center", lambda a: a[:2]), "center must hold floats of shape"),
    ("svc", item("support", -1), "support must hold indices of 0 or more"),
    ("svc", array("support", lambda a: a[:, np.newaxis]), r"indices of 0 or more. Got int32 of shape \(\d+, 1\)"),
    ("svc", array("support", np.float64), "support must hold indices of 0 or more. Got float64"),
    ("svc", item("scale_low", np.nan), "scale_low must be finite"),
    ("svc", header(scale_floor=0.5), "scale_floor must be 0 or -1"),
    ("sparse svc", item("indices", 4), "column indices of a sparse matrix must lie between 0 and 3"),
    ("sparse svc", item("indices", -1), "column indices of a sparse matrix must lie between 0 and 3|negative"),
    ("sparse svc", item("indptr", 10**6), "index pointer|indptr"),
    ("sparse svc", array("indptr", lambda a: np.where(np.arange(len(a)) == 3, 10**9, a)), "must not decrease"),
    ("sparse svc", array("indptr", lambda a: a[:0]), "does not fit"),
    ("sparse svc", array("data", lambda a: a[:-1]), "does not fit"),
    ("search", chosen("best_index", -1), "best_index must be the position of one of 8 candidates. Got -1"),
    ("search", chosen("best_index", 99), "best_index must be the position of one of 8 candidates. Got 99"),
    ("search", chosen("best_index", True), "best_index must be the position of one of 8 candidates. Got True"),
    ("search", chosen("best_index", 1.0), "best_index must be the position of one of 8 candidates. Got 1.0"),
    ("search", both(chosen("means", [0.5]), chosen("scores", [[0.5]])), "There must be scores of 8 candidates"),
    ("search", chosen("scores", [0.5] * 8), "There must be scores of 8 candidates"),
    ("search", chosen("means", []), "There must be scores of 8 candidates"),
    ("search", chosen("scores", [[1.0]]), "There must be scores of 8 candidates"),
    ("search", chosen("scores", 1.0), "does not fit"),
    ("search", setting("folds", 1), "folds must be an integer of 2 or more"),
    ("choosing", chosen("best_index", -1), "best_index must be the position of a candidate. Got -1"),
    ("choosing", chosen("best_index", 99), "best_index must be the position of a candidate. Got 99"),
    ("pooling", setting("statistics", {"tuple": ["__class__"]}), "statistics must be some of"),
    ("pooling", header(n_features=10**18), "n_features must be an integer between"),
    ("standard", setting("with_mean", "yes"), "with_mean"),
    ("standard", header(settings={"pairs": [["__class__", 1]]}), "__class__"),
    ("standard", without("scale_"), "StandardScaler must have scale_. Got none"),
    ("standard", without("n_samples_seen_"), "StandardScaler must have n_samples_seen_. Got none"),
    ("standard", item("scale_", 0.0), "scale_ must be positive. Got 0"),
    ("standard", item("mean_", np.inf), "mean_ must be finite"),
    (
        "standard",
        array("mean_", lambda a: a[:3]),
        r"mean_ must hold floats of shape \(4,\). Got float64 of shape \(3,\)",
    ),
    ("standard", array("mean_", np.int64), r"mean_ must hold floats of shape \(4,\). Got int64"),
    ("standard", array("n_samples_seen_", lambda a: np.ones(3)), "n_samples_seen_ must hold one number or 4"),
    ("standard", array("n_samples_seen_", np.uint8), "n_samples_seen_ must hold one number or 4. Got uint8"),
    ("standard", array("n_samples_seen_", lambda a: np.inf), "n_samples_seen_ must hold finite numbers of 0 or more"),
    ("standard", array("n_samples_seen_", np.negative), "n_samples_seen_ must hold finite numbers of 0 or more"),
    ("min-max", setting("feature_range", {"tuple": [0]}), "values to unpack"),
    ("min-max", setting("feature_range", {"tuple": [1, 0]}), "feature_range must hold two increasing numbers"),
    ("min-max", setting("feature_range", {"tuple": ["a", "b"]}), "feature_range must hold two increasing numbers"),
    ("imputer", setting("strategy", "exec"), "strategy"),
    ("imputer", setting("missing_values", "?"), "missing_values must be a number. Got '\\?'"),
    ("imputer", setting("fill_value", ["x"]), "fill_value must be a number"),
    ("imputer", setting("add_indicator", False), r"indicator must be a list only if add_indicator is True. Got \[1\]"),
    ("imputer", setting("keep_empty_features", 1), "keep_empty_features"),
    ("imputer", header(indicator=None), "indicator must be a list only if add_indicator is True. Got None"),
    ("imputer", header(indicator="1"), "indicator must hold integers. Got '1'"),
    ("imputer", header(indicator=[True]), "indicator must hold integers. Got .True"),
    ("imputer", header(indicator=[4]), "indicator must hold increasing integers below 4. Got 4"),
    ("imputer", header(indicator=[-1, 2]), "indicator must hold increasing integers below 4. Got -1, 2"),
    ("imputer", header(indicator=[2, 1]), "indicator must hold increasing integers below 4. Got 2, 1"),
    ("imputer", header(indicator=[1, 1]), "indicator must hold increasing integers below 4. Got 1, 1"),
    ("imputer", without("indicator"), "indicator"),
    ("imputer", without("statistics_"), "SimpleImputer must have statistics_. Got none"),
    ("imputer", item("statistics_", np.inf), "statistics_ must be finite"),
    ("imputer", array("statistics_", lambda a: a[:3]), r"statistics_ must hold floats of shape \(4,\). Got float64 of"),
    ("imputer", array("statistics_", np.int64), r"statistics_ must hold floats of shape \(4,\). Got int64"),
    ("imputer", header(n_features=10**9, feature_names=None), "statistics_ must hold floats of shape"),
    ("imputer", without("dtypes"), "dtypes"),
    ("imputer", inside("dtypes", _fill_dtype="|O"), "_fill_dtype must be a type of numbers. Got '|O'"),
    ("imputer", inside("dtypes", _fit_dtype="<U9"), "_fit_dtype must be a type of numbers. Got '<U9'"),
    ("imputer", inside("dtypes", _fit_dtype=["<f8"]), "_fit_dtype must be a type of numbers"),
    ("constant", without("objects"), "objects"),
    ("constant", header(objects=7), "not iterable|does not fit"),
    ("constant", item("statistics_", -np.inf), "statistics_ must be finite"),
    ("tf-idf", setting("norm", "l3"), "norm"),
    ("tf-idf", array("idf_", lambda a: a[:1]), "idf_ must hold floats of shape"),
    ("tf-idf", header(n_features=2), "idf_ must hold floats of shape"),
    ("quantiles", setting("output_distribution", "__builtins__"), "output_distribution"),
    ("quantiles", array("references_", lambda a: a[:2]), "references_ must hold floats of shape"),
    ("quantiles", array("quantiles_", lambda a: a[:0]), "quantiles_ must hold floats of shape"),
    ("svd", array("components_", lambda a: a[0]), r"components_ must hold floats of shape \(1, 4\)"),
    ("svd", header(strides={"components_": [10**12, 1]}), "Strides must leave few gaps. Got .1000000000000, 1"),
    ("svd", header(strides={"components_": [0, 1]}), "There must be 2 strides other than 0. Got .0, 1"),
    ("svd", header(strides={"components_": [1]}), "There must be 2 strides other than 0. Got .1"),
    ("svd", header(strides={"components_": [1.5, 2]}), "There must be 2 strides other than 0"),
    ("pipeline", header(parts=[]), "The number of estimators within Pipeline must be 2. Got 0"),
    ("pipeline", as_steps(("a__b", None)), "names are strings without '__'"),
    ("pipeline", as_steps((1, None)), "names are strings without '__'"),
    ("pipeline", as_steps(("a", "drop")), "Pipeline step 'a' must be an estimator. Got an object of class str"),
    ("pipeline", as_steps(("a", ["part"])), "Pipeline step 'a' must be an estimator"),
    ("pipeline", header(steps=[]), "A Pipeline must have steps"),
    ("pipeline", setting("verbose", "loud"), "verbose"),
    ("pipeline", setting("transform_input", 3), "transform_input"),
    ("pipeline", inside("parts", 0, kind="os.system"), "os.system"),
    ("pipeline", inside("parts", 0, kind=["Pipeline"]), "does not fit"),
    ("pipeline", inside("parts", 0, parts=[]), "does not fit"),
    ("pipeline", inside("parts", 0, parts=7), "does not fit"),
    ("pipeline", without("0.0.mean_"), "StandardScaler must have mean_. Got none"),
    ("svc", header(parts=[{"kind": "Pipeline"}]), "does not fit"),
    ("standard", header(parts=[{"kind": "FrozenEstimator"}]), "within FrozenEstimator must be 1. Got 0"),
    ("standard", header(parts=[{"kind": "InputPooling", **NOTHING}]), "within StandardScaler must be 0. Got 1"),
    ("words", setting("weights", "bm25"), "weights must be one of"),
    ("words", setting("max_words", -1), "max_words must be an integer of 1 or more"),
    ("words", header(words=[]), "words must be a list of at least one word"),
    ("words", header(words="one"), "words must be a list of at least one word"),
    ("words", header(words=["four", "one", "three", 2]), "words must hold lower-case words .* Got 2"),
    ("words", header(words=["four", "one", "three", "a b"]), "words must hold lower-case words .* Got 'a b'"),
    ("words", header(words=["four five six", "one", "three", "two"]), "lower-case words .* Got 'four five six'"),
    ("words", header(pairs="yes"), "pairs must be True or False. Got 'yes'"),
    ("words", header(words=["FOUR", "one", "three", "two"]), "words must hold lower-case words .* Got 'FOUR'"),
    ("words", header(words=["four", "four", "one", "two"]), "words must be distinct and in alphabetical order"),
    ("words", header(words=["four", "three", "one", "two"]), "words must be distinct and in alphabetical order"),
    ("words", header(words=["four", "one"]), r"factors must hold floats of shape \(2,\). Got float64 of shape \(4,\)"),
    ("words", without("factors"), "factors"),
    ("words", item("factors", np.nan), "factors must be finite"),
    ("words", item("factors", -1.0), "factors must not be negative. Got -1"),
    ("rbm", item("2.W", 1e9), r"W must hold values of at most 1e\+08"),
    ("reject", setting("precision", 1.0), "precision must be a number greater than 0 and less than 1. Got 1.0"),
    ("reject", setting("confidence", "high"), "confidence must be a number greater than 0 and less than 1. Got 'high'"),
    ("reject", setting("sureness", "entropy"), "sureness must be 'probability' or 'margin'"),
    ("reject", setting("per_class", 1), "per_class must be True or False. Got 1"),
    ("reject", setting("per_class", True), "The number of promises must be 2. Got 1"),
    ("reject", setting("precision", 0.99), "19 right of 19 accepted sets must show a precision of 0.99"),
    ("reject", promised(threshold={"float": "nan"}), "threshold must be a number, .* Got nan, 19 accepted"),
    ("reject", promised(threshold={"float": "inf"}), "threshold must be a number, .* Got inf, 19 accepted"),
    ("reject", promised(n_accepted=0, n_right=0), "threshold must be a number, .* Got 0.8.*, 0 accepted"),
    ("reject", promised(threshold="low"), "threshold must be a number, .* Got 'low'"),
    ("reject", promised(n_right=21), r"must be integers in increasing order, .* Got .21, 19, 20"),
    ("reject", promised(n_accepted=21), r"must be integers in increasing order, .* Got .19, 21, 20"),
    ("reject", promised(n_right=-1), r"must be integers in increasing order, .* Got .-1, 19, 20"),
    ("reject", promised(n_right=2.5), r"must be integers in increasing order, .* Got .2.5, 19, 20"),
    (
        "reject",
        promised(n_right=5),
        "5 right of 19 accepted sets must show a precision of 0.5 with a confidence of 0.8",
    ),
    ("reject", promised(threshold={"float": "-inf"}), "threshold of -inf must accept all 20 held-out sets. Got 19"),
    ("reject", promised(n_held_out=10**18), "increasing order, at most 9,007,199,254,740,992. Got"),
    ("reject", promised(more_sets=20), "more_sets must be an integer above n_held_out, or None. Got 20"),
    ("reject", header(promises=[]), "The number of promises must be 1. Got 0"),
    ("reject", header(promises=[[0.5, 20, 20, 20]]), "does not fit"),
    ("reject", header(parts=[]), "The number of estimators within RejectOption must be 1. Got 0"),
    ("reject", inside("parts", 0, parts=[]), "The number of estimators within FrozenEstimator must be 1. Got 0"),
    ("reject", promised(more_sets=20.5), "more_sets must be an integer above n_held_out, or None. Got 20.5"),
    ("reject", array("held_out_scores", np.float32), "must be columns of the same length"),
    ("reject", array("held_out_predicted", np.int32), "must be columns of the same length"),
    ("reject", array("held_out_right", np.int64), "must be columns of the same length"),
    ("reject", array("held_out_scores", lambda a: a[:-1]), "must be columns of the same length"),
    ("reject", array("held_out_predicted", lambda a: a[:-1]), "must be columns of the same length"),
    ("reject", array("held_out_right", lambda a: a[:-1]), "must be columns of the same length"),
    ("reject", held_out(lambda a: a[:, np.newaxis]), "must be columns of the same length"),
    ("reject", held_out(lambda a: a[:0]), "scores of held-out sets must be finite, and their classes those of"),
    ("reject", item("held_out_predicted", -1), "and their classes those of the classifier"),
    ("reject", item("held_out_predicted", 2), "and their classes those of the classifier"),
    ("reject", item("held_out_right", 2), "and their classes those of the classifier"),
    ("reject", item("held_out_scores", np.nan), "scores of held-out sets must be finite"),
    ("reject", item("held_out_scores", -np.inf), "scores of held-out sets must be finite"),
    (
        "reject",
        array("held_out_right", np.zeros_like),
        r"be those of the held-out sets, \(20, 19, 0\). Got \(20, 19, 19",
    ),
    (
        "reject",
        array("held_out_scores", np.zeros_like),
        r"be those of the held-out sets, \(20, 0, 0\). Got \(20, 19, 19",
    ),
    ("reject", promised(n_held_out=21), r"be those of the held-out sets, \(20, 19, 19\). Got \(21, 19, 19"),
    ("reject by class", array("held_out_predicted", np.zeros_like), "n_right must be those of the held-out sets"),
    ("reject by class", header(promises=[[0.5, 9, 0, 0, None]]), "threshold must be a number"),
    (
        "reject by class",
        header(promises=[[{"float": "inf"}, 9, 0, 0, None]]),
        "The number of promises must be 2. Got 1",
    ),
    ("reject by class", setting("per_class", False), "The number of promises must be 1. Got 2"),
]


@pytest.mark.parametrize(("name", "change", "message"), HOSTILE)
def test_a_hostile_file_is_refused_and_named(files, tmp_path, name, change, message):
    path = tmp_path / "hostile"
    write(path, *contents(files / name))
    load(path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}.*({message})"):
        load(path)


def test_a_reject_option_of_a_transformer_is_refused(files, tmp_path):
    """Nothing within a file is believed to be a classifier."""
    described, arrays = contents(files / "standard")
    reject, _ = contents(files / "reject")
    for parts in ([described], [{"kind": "FrozenEstimator", "parts": [described]}]):
        prefix = "0." if len(parts[0]) > 2 else "0.0."
        write(tmp_path / "m", {**reject, "parts": parts}, {f"{prefix}{name}": a for name, a in arrays.items()})
        with pytest.raises(
            ValueError, match="must be a classifier with predict_proba. Got an object of class StandardS"
        ):
            load(tmp_path / "m")


def test_a_classifier_for_every_vector_is_refused(files, tmp_path):
    pipeline, _ = contents(files / "pipeline")
    svc, arrays = contents(files / "svc")
    described = {**pipeline["parts"][0], "format": pipeline["format"], "parts": [svc]}
    write(tmp_path / "m", described, {f"0.{name}": array for name, array in arrays.items()})
    with pytest.raises(ValueError, match="A transformer is needed. Got SetSVC, which has no transform"):
        load(tmp_path / "m")


def test_files_nested_deeper_than_allowed_are_refused(files, tmp_path):
    header, arrays = contents(files / "pooling")
    for _ in range(11):
        header = {
            "format": 2,
            "kind": "Pipeline",
            "settings": {"pairs": []},
            "steps": [["a", "part"]],
            "parts": [header],
        }
    write(tmp_path / "deep", header, arrays)
    with pytest.raises(ValueError, match=r"deep.*nested at most 10 deep"):
        load(tmp_path / "deep")


# --- random changes ---

ODD = [
    None, True, 0, 1, -1, 10**18, 10**30, 0.5, 1e308, "", "a", "passthrough", "part", "os.system", [], [[]], {}, [1, 2],
    {"float": "nan"}, {"float": "x"}, {"tuple": [1, 2]}, {"tuple": 3}, {"pairs": [[[], 1]]}, {"pairs": 1}, *names(),
]  # fmt: skip
ITEMS = {
    "f": [np.nan, np.inf, 1e308, -1e308, 0.0, -1.0, 1e-320],
    "i": [0, -1, 1, 1000, 2**31 - 1, -(2**31)],
    "u": [0, 1, 2, 255],
}


def places(value, path=()):
    """Yield the path to every value within a description."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def change_header(rng, header):
    *path, last = rng.choice(list(places(header)))
    at = header
    for key in path:
        at = at[key]
    if rng.random() < 0.25:
        del at[last]
    else:
        at[last] = copy.deepcopy(rng.choice(ODD))


def change_arrays(rng, arrays):
    name = rng.choice(sorted(arrays))
    array = arrays.pop(name)
    changed = [
        array.astype(rng.choice([np.float16, np.float32, np.int32, np.int64, np.uint8])),
        array.reshape(-1), array[..., np.newaxis], array.ravel()[:-1], np.concatenate([array.ravel()] * 2), array.T,
    ]  # fmt: skip
    choice = rng.randrange(10)
    if choice < len(changed):
        arrays[name] = np.array(changed[choice], order="C")
    elif choice < 9 and array.size:
        arrays[name] = array.copy()
        arrays[name].flat[rng.randrange(array.size)] = rng.choice(ITEMS[array.dtype.kind])


@pytest.mark.parametrize("name", MODELS)
def test_random_changes_are_refused_or_do_no_harm(files, tmp_path, name):
    rng, path = random.Random(name), tmp_path / "changed"
    header, arrays = contents(files / name)
    n_refused = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Numbers out of proportion overflow.
        warnings.simplefilter("ignore")
        for _ in range(60):
            changed, changed_arrays = copy.deepcopy(header), dict(arrays)
            if arrays and rng.random() < 0.5:
                change_arrays(rng, changed_arrays)
            else:
                change_header(rng, changed)
            write(path, changed, changed_arrays)
            n_refused += not harmless(path)
    assert n_refused > 20


def harmless(path):
    """Return whether a file was loaded; it and its predictions may only raise ValueError, at first with its name."""
    try:
        model = load(path)
    except ValueError as error:
        if str(path) not in str(error):
            raise
        return False
    for method in ("predict", "predict_proba", "transform", "accepts"):
        try:
            if hasattr(model, method):
                getattr(model, method)(input_of(model))
        except ValueError:
            pass
    return True


def input_of(model):
    """Return what a model takes: texts, sets or vectors."""
    return TEXTS if isinstance(model, PageWords) else BAGS if hasattr(model, "side_") else X
