"""The steps of pipelines: which is the last, what it gets, and how it explains."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from setrbm import Bags, ClassRBM, ClassSetRBM
from setrbm.estimators import InputPooling, PerVector
from setrbm.estimators.pipelines import explain, input_of_last_step, last_step
from setrbm.selective import RejectOption
from setrbm.text import PageWords
from setrbm.text.models import takes_texts

SHORT = {"n_hidden": 3, "max_epochs": 5, "random_state": 0}
TEXTS = [["one two", "two three"], ["three one"]] * 4


def some_sets(names=("a", "b")):
    rng = np.random.default_rng(0)
    ids = [f"set{k}" for k in range(10)]
    return Bags(rng.random((20, 2)), np.arange(0, 21, 2), ids, names), np.arange(10) % 2


def test_the_last_step_is_found_in_nested_pipelines():
    model = ClassSetRBM()
    assert last_step(model) is model
    assert last_step(make_pipeline(PerVector(StandardScaler()), make_pipeline("passthrough", model))) is model
    assert last_step(Pipeline([("model", model), ("end", None)])) is None


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (ClassSetRBM(), False),
        (PageWords(), True),
        (make_pipeline(PageWords(), ClassSetRBM()), True),
        (make_pipeline("passthrough", make_pipeline(PageWords(), PerVector(StandardScaler())), ClassSetRBM()), True),
        (make_pipeline("passthrough", make_pipeline(PageWords(), ClassSetRBM())), True),
        (make_pipeline(PerVector(StandardScaler()), ClassSetRBM()), False),
        (Pipeline([("end", None)]), False),
    ],
)
def test_models_of_texts_are_known_by_their_first_step(model, expected):
    assert takes_texts(model) is expected


def test_the_last_step_gets_what_the_others_made():
    bags, y = some_sets()
    inner = make_pipeline(PerVector(MinMaxScaler()), "passthrough", ClassSetRBM(**SHORT))
    model = make_pipeline(PerVector(StandardScaler()), inner).fit(bags, y)
    expected = inner[0].transform(model[0].transform(bags))
    np.testing.assert_array_equal(input_of_last_step(model, bags).X, expected.X)
    assert input_of_last_step(ClassSetRBM(), bags) is bags


def test_a_reject_option_counts_as_the_pipeline_within_it():
    bags, y = some_sets()
    pipeline = make_pipeline(PerVector(StandardScaler()), FrozenEstimator(ClassSetRBM(**SHORT).fit(bags, y))).fit(bags)
    model = RejectOption(FrozenEstimator(pipeline), precision=0.1, confidence=0.1).fit(bags, y)
    assert last_step(model) is pipeline[-1].estimator
    np.testing.assert_array_equal(input_of_last_step(model, bags).X, pipeline[0].transform(bags).X)
    np.testing.assert_array_equal(explain(model, bags).contributions, explain(pipeline, bags).contributions)
    texts = make_pipeline(
        FrozenEstimator(PageWords(weights="tfidf").fit(TEXTS)), ClassSetRBM(3, max_epochs=200, random_state=0)
    )
    model = RejectOption(FrozenEstimator(texts.fit(TEXTS, [0, 1] * 4)), precision=0.1, confidence=0.1)
    assert takes_texts(model.fit(TEXTS, [0, 1] * 4))


@pytest.mark.parametrize("names", [("a", "b"), None])
def test_an_explanation_is_that_of_the_last_step(names):
    bags, y = some_sets(names)
    model = make_pipeline(PerVector(StandardScaler()), ClassSetRBM(**SHORT)).fit(bags, y)
    explained, expected = explain(model, bags, y), model[-1].explain(model[:-1].transform(bags), y)
    np.testing.assert_array_equal(explained.contributions, expected.contributions)
    np.testing.assert_array_equal(explained.classes, y)
    assert explained.feature_names.tolist() == (["a", "b"] if names else ["x0", "x1"])


def test_features_of_pooled_sets_have_the_names_of_the_statistics():
    bags, y = some_sets()
    model = make_pipeline(InputPooling(("max", "size")), StandardScaler(), ClassRBM(**SHORT)).fit(bags, y)
    assert explain(model, bags).feature_names.tolist() == ["max_a", "max_b", "size"]


def test_a_model_without_steps_explains_as_before():
    bags, y = some_sets(None)
    model = ClassSetRBM(**SHORT).fit(bags, y)
    assert explain(model, bags).feature_names is None
    np.testing.assert_array_equal(explain(model, bags).drop, model.explain(bags).drop)


def test_without_names_of_a_step_there_are_none():
    class Doubling(PerVector):
        get_feature_names_out = property()

        def transform(self, X):
            return X.with_vectors(2.0 * X.X)

    bags, y = some_sets(None)
    model = make_pipeline(Doubling(StandardScaler()), ClassSetRBM(**SHORT)).fit(bags, y)
    assert explain(model, bags).feature_names is None


def test_words_are_the_features_of_texts():
    model = make_pipeline(PageWords(pairs=False), ClassSetRBM(scale=None, **SHORT)).fit(TEXTS, [0, 1] * 4)
    assert explain(model, TEXTS).feature_names.tolist() == ["one", "three", "two"]
