"""PageWords: vocabulary, weights, what is refused, and its place in pipelines."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from setrbm import Bags, ClassSetRBMCV, load, save
from setrbm.estimators.class_set_rbm import FOR_TEXT
from setrbm.text import PageWords
from setrbm.text.word_weights import WEIGHTS, information

DOCUMENTS = [
    ["Dear customer, your invoice is attached.", "Amount due: 40 euros. Amount!"],
    ["Please find our INVOICE below.", "Total amount: 99 euros.", "Terms of sale."],
    ["I want to cancel my contract.", "My customer number is 1234."],
    ["Hello, please cancel my subscription."],
]
Y = ["invoice", "invoice", "cancellation", "cancellation"]
PAGES = [page for pages in DOCUMENTS for page in pages]
QUICK = {"n_hidden": 5, "learning_rate": 0.3, "max_epochs": 100, "n_fits": 1, "random_state": 0}


def random_documents(seed, n_documents=40):
    rng = np.random.default_rng(seed)
    words = [f"w{k:02d}" for k in range(30)]
    odds = np.arange(30, 0, -1) / 465
    return [
        [" ".join(rng.choice(words, rng.integers(0, 15), p=odds)) for _ in range(rng.integers(1, 5))]
        for _ in range(n_documents)
    ]


def information_by_hand(documents, y):
    """The number of documents of each word, and how much it says about the class."""
    words_of = [{word for page in pages for word in page.split()} for pages in documents]
    classes = sorted(set(y))
    told = {}
    for word in sorted(set().union(*words_of)):
        with_word = [label for words, label in zip(words_of, y, strict=True) if word in words]
        total = 0.0
        for label in classes:
            p = list(y).count(label) / len(y)
            q = (with_word.count(label) + 2 * p) / (len(with_word) + 2)
            total += q * np.log(q / p)
        told[word] = len(with_word), total
    return told


# --- the vocabulary ---


def test_words_are_lower_cased_sorted_and_in_at_least_two_documents():
    assert PageWords(pairs=False).fit(DOCUMENTS, Y).words_.tolist() == [
        "amount", "cancel", "customer", "euros", "invoice", "is", "my", "please",
    ]  # fmt: skip


def test_pairs_of_consecutive_words_of_a_page_are_words_as_well():
    documents = [["Please cancel my contract", "my word"], ["CANCEL, my! contract my"], ["word please"]]
    words = PageWords(weights="counts", pairs=True).fit(documents)
    assert words.words_.tolist() == ["cancel", "cancel my", "contract", "my", "my contract", "please", "word"]
    assert words.transform([["my contract my contract"]]).X.toarray().tolist() == [[0, 0, 2, 2, 2, 0, 0]]


def test_all_words_are_those_of_scikit_learn():
    words = PageWords(min_sets=1, weights="tfidf", pairs=False).fit(DOCUMENTS)
    assert words.words_.tolist() == CountVectorizer().fit(PAGES).get_feature_names_out().tolist()
    assert words.get_feature_names_out() is words.words_


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_words", [1, 7, 100])
def test_the_words_of_the_most_documents_are_kept(seed, max_words):
    documents = random_documents(seed)
    n_documents = {}
    for pages in documents:
        for word in {word for page in pages for word in page.split()}:
            n_documents[word] = n_documents.get(word, 0) + 1
    frequent = [word for word in sorted(n_documents) if n_documents[word] >= 5]
    expected = sorted(sorted(frequent, key=lambda word: -n_documents[word])[:max_words])
    words = PageWords(max_words=max_words, min_sets=5, weights="tfidf", pairs=False)
    assert words.fit(documents).words_.tolist() == expected


def test_a_word_repeated_within_one_document_counts_once():
    documents = [["rare rare", "rare common"], ["common"], ["common"]]
    for settings in ({"max_words": 1, "min_sets": 1}, {"min_sets": 2}):
        assert PageWords(weights="binary", pairs=False, **settings).fit(documents).words_.tolist() == ["common"]


@pytest.mark.parametrize("seed", range(3))
def test_informative_words_are_those_that_say_most_about_all_classes(seed):
    documents, y = random_documents(seed), np.arange(40) % 3
    told = information_by_hand(documents, y)
    expected = sorted(sorted(told, key=lambda word: -told[word][0] * told[word][1])[:7])
    assert PageWords(max_words=7, min_sets=1, pairs=False).fit(documents, y).words_.tolist() == expected


# --- the vectors ---


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_those_of_scikit_learn(seed):
    documents = random_documents(seed)
    counts = CountVectorizer().fit_transform([page for pages in documents for page in pages]).astype(np.float64)
    whole = CountVectorizer().fit_transform([" ".join(pages) for pages in documents])
    expected = {
        "binary": (counts > 0).astype(float),
        "counts": counts,
        # Documents count for idf, not pages.
        "tfidf": 2.0 * TfidfTransformer(sublinear_tf=True).fit(whole).transform(counts),
    }
    for weights, values in expected.items():
        words = PageWords(min_sets=1, weights=weights, pairs=False)
        bags = words.fit_transform(documents)
        np.testing.assert_allclose(bags.X.toarray(), values.toarray(), rtol=1e-6)
        assert bags.sizes.tolist() == [len(pages) for pages in documents]
        assert bags.dtype == np.float32
        assert bags.X.has_sorted_indices
        assert bags.feature_names.tolist() == words.words_.tolist()
    np.testing.assert_allclose(words.factors_, TfidfTransformer().fit(whole).idf_, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_informative_weights_multiply_tf_idf_by_the_root_of_the_information(seed):
    documents, y = random_documents(seed), np.array(["a", "b", "c", "c"] * 10)
    told = information_by_hand(documents, y)
    words = PageWords(min_sets=1, pairs=False).fit(documents, y)
    plain = PageWords(min_sets=1, pairs=False, weights="tfidf").fit(documents)
    roots = np.sqrt([told[word][1] for word in words.words_])
    np.testing.assert_allclose(words.factors_, plain.factors_ * roots, rtol=1e-12)
    bags = words.transform(documents)
    lengths = np.sqrt(bags.X.power(2).sum(axis=1))
    np.testing.assert_allclose(lengths[lengths > 0], 2.0, rtol=1e-6)


def test_a_word_of_all_documents_counts_for_nothing():
    documents = [["common invoice"], ["common invoice"], ["common cancel"], ["common cancel"]]
    words = PageWords(pairs=False).fit(documents, Y)
    assert words.words_.tolist() == ["cancel", "common", "invoice"]
    np.testing.assert_allclose(words.factors_[1], 0.0, atol=1e-12)
    assert (words.factors_[[0, 2]] > 0.3).all()


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        (None, ValueError, r"needs labels: fit\(X, y\)\. Without labels, use 'tfidf'"),
        (Y[:3], ValueError, r"y must hold one label for each of the 4 sets\. Got 3 labels"),
        (["a", None, None, "b"], ValueError, r"Got 2 missing of 4, the first at index 1\. Leave out sets"),
        ([0.0, 1.0, np.nan, 1.0], ValueError, r"Got 1 missing of 4, the first at index 2"),
        ([0.5, 1.5, 2.5, 1.7], ValueError, "Unknown label type: continuous"),
        ([1, "a", 1, "a"], ValueError, r"All labels must be of one type\. Got int and str"),
        ([["a", "b"]] * 4, ValueError, "y should be a 1d array"),
        ("abab", TypeError, r"y must be an array or a list with one label for each set\. Got the text 'abab'"),
        (["a"] * 4, ValueError, r"y must hold at least two classes\. Got 1 class: a"),
    ],
)
def test_informative_weights_need_a_label_for_each_document(labels, kind, message):
    with pytest.raises(kind, match=message):
        PageWords().fit(DOCUMENTS, labels)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("max_words", [5, 20_000])
def test_transform_gives_what_fit_transform_gave_to_the_bit(weights, max_words):
    documents = random_documents(0)
    words = PageWords(max_words=max_words, weights=weights)
    first, again = words.fit_transform(documents, np.arange(40) % 2), words.transform(documents)
    np.testing.assert_array_equal(first.X.toarray(), again.X.toarray(), strict=True)
    np.testing.assert_array_equal(first.offsets, again.offsets)


def test_a_page_without_a_known_word_is_a_vector_of_zeros():
    bags = PageWords(pairs=False).fit(DOCUMENTS, Y).transform([["", "?!", "nothing known"], ["invoice"]])
    np.testing.assert_array_equal(bags.X[:3].toarray(), 0.0)
    np.testing.assert_array_equal(bags.X[3:].toarray(), [[0, 0, 0, 0, 2, 0, 0, 0]])


def test_documents_may_be_any_sequences():
    expected = PageWords(weights="tfidf", pairs=False).fit_transform(DOCUMENTS).X.toarray()
    columns = np.empty(4, dtype=object)
    columns[:] = DOCUMENTS
    for documents in (tuple(map(tuple, DOCUMENTS)), columns, pd.Series(DOCUMENTS), (list(d) for d in DOCUMENTS)):
        np.testing.assert_array_equal(
            PageWords(weights="tfidf", pairs=False).fit_transform(documents).X.toarray(), expected
        )


# --- what is refused ---


@pytest.mark.parametrize(
    ("documents", "kind", "message"),
    [
        ("Dear customer", TypeError, r"X must be a list of documents.* Got the text 'Dear customer'. One document is"),
        (None, TypeError, "X must be a list of documents, each a list of page texts. Got None."),
        (7, TypeError, "X must be a list of documents.* Got an object of class int."),
        ({"a": ["x"]}, TypeError, "X must be a list of documents.* Got an object of class dict."),
        (Bags([[1.0]], [0, 1]), TypeError, "X must be a list of documents.* Got an object of class Bags."),
        (pd.DataFrame({"page": ["x"]}), TypeError, "X must be a list of documents.* class DataFrame."),
        (sparse.eye_array(2).tocsr(), TypeError, "X must be a list of documents.* Got an object of class csr_array."),
        ([], ValueError, "There must be at least one document. Got none."),
        (
            [["page"], "Dear customer"],
            TypeError,
            r"Each document must be a list of page texts. Got the text 'Dear customer' for the document at index 1. A "
            r"document of one page is \[text\].",
        ),
        ([["page"], None], TypeError, "Each document must be a list .* Got None for the document at index 1."),
        ([["page"], b"page"], TypeError, "Each document must be a list .* Got an object of class bytes"),
        (
            [["page"], [], ["page"], []],
            ValueError,
            "Every document must have at least one page. Got 2 without pages of 4 documents, the first at index 1. "
            "Drop them first.",
        ),
        (
            [["page"], ["page", None]],
            TypeError,
            r"Every page must be text \(str\). Got None for page 1 of the document at index 1. A page without text is",
        ),
        (
            [["page", b"page"]],
            TypeError,
            r"Got an object of class bytes for page 1 .* Decode it first: page.decode\(\).",
        ),
        ([["page", 7.5]], TypeError, "Got an object of class float for page 1 of the document at index 0.$"),
        (np.ones((3, 2)), TypeError, "Every page must be text .* Got an object of class float64 for page 0"),
    ],
)
def test_what_is_not_documents_of_texts_is_refused_with_its_place(documents, kind, message):
    words = PageWords(weights="tfidf", pairs=False).fit(DOCUMENTS)
    with pytest.raises(kind, match=message):
        PageWords(weights="tfidf", pairs=False).fit(documents)
    with pytest.raises(kind, match=message):
        words.transform(documents)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([["", " "], ["? !", "a b c"]], r"At least one training page must have a word.* Got none on 4 pages."),
        (
            [["one two"], ["three"]],
            r"must occur in 2 \(min_sets\) or more documents. Got 3 words in 2 documents, none of them in more "
            "than 1. Use a smaller min_sets",
        ),
    ],
)
def test_documents_without_a_vocabulary_are_refused(documents, message):
    with pytest.raises(ValueError, match=message):
        PageWords(weights="tfidf", pairs=False).fit(documents)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_words": 0}, "max_words must be an integer of 1 or more. Got 0"),
        ({"min_sets": 0.5}, "min_sets must be an integer of 1 or more. Got 0.5"),
        ({"pairs": 2}, "pairs must be True, False or 'auto'. Got 2"),
        ({"weights": "bm25"}, "weights must be one of 'informative', 'tfidf', 'binary', 'counts'. Got 'bm25'"),
    ],
)
def test_settings_are_checked_in_fit(settings, message):
    with pytest.raises(ValueError, match=message):
        PageWords(**settings).fit(DOCUMENTS)


def test_a_failed_fit_changes_nothing():
    words = PageWords(weights="tfidf", pairs=False).fit(DOCUMENTS)
    with pytest.raises(ValueError, match="At least one training page"):
        words.fit([["?"]])
    assert len(words.words_) == 8


def test_words_that_are_not_fitted_say_so():
    with pytest.raises(NotFittedError, match="This PageWords instance is not fitted yet"):
        PageWords(weights="tfidf", pairs=False).transform(DOCUMENTS)
    with pytest.raises(NotFittedError, match="This PageWords instance is not fitted yet"):
        PageWords(weights="tfidf", pairs=False).get_feature_names_out()


# --- in pipelines ---


def test_settings_for_text_can_be_overridden():
    assert ClassSetRBMCV.for_text().get_params() == ClassSetRBMCV(**FOR_TEXT).get_params()
    model = ClassSetRBMCV.for_text(n_hidden=7, scale="auto")
    assert (model.n_hidden, model.scale, model.learning_rate) == (7, "auto", FOR_TEXT["learning_rate"])


def test_a_pipeline_learns_from_documents_and_is_saved_with_its_words(tmp_path):
    model = make_pipeline(PageWords(), ClassSetRBMCV.for_text(**QUICK)).fit(DOCUMENTS * 5, Y * 5)
    new = [["Dear customer,", "our invoice: amount due 12 euros."], ["", "please cancel"]]
    assert model.predict(new).tolist() == ["invoice", "cancellation"]
    save(model, tmp_path / "mail.safetensors")
    again = load(tmp_path / "mail.safetensors")
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))


def test_an_explanation_names_page_and_words():
    model = make_pipeline(PageWords(pairs=False), ClassSetRBMCV.for_text(**QUICK)).fit(DOCUMENTS * 5, Y * 5)
    explained = model[-1].explain(model[:-1].transform([["Terms of sale.", "nothing", "invoice: amount 12 euros"]]))
    assert explained.strongest_vectors().tolist() == [2]
    assert {name for name, _ in explained.top_features(3)[0]} == {"invoice", "amount", "euros"}


def test_cross_validation_makes_the_vocabulary_of_each_training_part(monkeypatch):
    documents, y = DOCUMENTS * 5, Y * 5
    seen = []
    fit_transform = PageWords.fit_transform
    monkeypatch.setattr(PageWords, "fit_transform", lambda *a, **k: (seen.append(len(a[1])), fit_transform(*a, **k))[1])
    model = make_pipeline(PageWords(), ClassSetRBMCV.for_text(**QUICK))
    assert cross_val_score(model, documents, y, cv=5).mean() == 1.0
    assert seen == [16] * 5


def test_the_settings_of_words_can_be_searched():
    model = make_pipeline(PageWords(weights="tfidf", pairs=False), ClassSetRBMCV.for_text(**QUICK))
    search = GridSearchCV(model, {"pagewords__weights": ["binary", "tfidf"]}, cv=2).fit(DOCUMENTS * 3, Y * 3)
    assert len(search.cv_results_["params"]) == 2
    assert clone(PageWords(max_words=5)).max_words == 5


def test_settings_that_became_wrong_are_refused_in_transform():
    words = PageWords(weights="tfidf").fit(DOCUMENTS)
    words.weights = "bm25"
    with pytest.raises(ValueError, match="weights must be one of"):
        words.transform(DOCUMENTS)


def test_a_word_of_all_documents_says_nothing_about_the_class_and_never_less():
    for seed in range(200):
        n_of_class = np.random.default_rng(seed).integers(1, 500, 7)
        told = information(n_of_class[np.newaxis].astype(float), n_of_class)
        assert 0.0 <= told[0] < 1e-12
