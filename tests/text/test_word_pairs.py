import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from setrbm.text import PageWords
from setrbm.text import word_pairs as module
from setrbm.text.word_pairs import compared_sets, pairs_help, parts_of


def in_order(n=60, seed=0):
    """Return documents whose class is the order of two words that all of them have."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    fillers = rng.choice(["kind", "regards", "page", "sir"], (n, 4))
    return [
        [" ".join([*row, "black white" if k else "white black", "end"])] for k, row in zip(y, fillers, strict=True)
    ], y


def by_words(n=60, seed=0):
    """Return documents whose class is shown by a single word."""
    documents, y = in_order(n, seed)
    return [[pages[0], "invoice" if k else "contract"] for (pages, k) in zip(documents, y[::-1], strict=True)], y[::-1]


@pytest.mark.parametrize("weights", ["informative", "tfidf", "binary", "counts"])
def test_pairs_are_used_where_the_order_of_words_decides_and_only_there(weights):
    words = PageWords(weights=weights).fit(*in_order())
    assert words.pairs_
    assert {"black white", "white black"} <= set(words.words_)
    words = PageWords(weights=weights).fit(*by_words())
    assert not words.pairs_
    assert not any(" " in word for word in words.words_)


@pytest.mark.parametrize("make", [in_order, by_words])
def test_the_words_are_those_of_the_choice_made_by_hand(make):
    documents, y = make()
    auto = PageWords().fit(documents, y)
    by_hand = PageWords(pairs=auto.pairs_).fit(documents, y)
    assert auto.words_.tolist() == by_hand.words_.tolist()
    np.testing.assert_array_equal(auto.factors_, by_hand.factors_)
    new = [["black white black", "white"]]
    np.testing.assert_array_equal(auto.transform(new).X.toarray(), by_hand.transform(new).X.toarray())


def test_without_labels_pairs_are_not_used():
    assert not PageWords(weights="tfidf").fit(in_order()[0]).pairs_


@pytest.mark.parametrize("y", [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 1]])
def test_too_few_classes_or_documents_to_compare_mean_no_pairs(y):
    assert not PageWords(min_sets=1).fit([["one two three", "four"]] * 6, y).pairs_


def test_too_few_documents_to_leave_any_out_mean_no_pairs():
    documents = [["alpha beta"], ["alpha gamma"], ["delta"]] * 2
    assert not PageWords(min_sets=4).fit(documents * 2, [0, 0, 1] * 4).pairs_
    assert not PageWords(min_sets=5, weights="binary").fit([["word"]] * 6, [0, 1] * 3).pairs_


def plain(counts, codes, others):
    return counts, others


@pytest.mark.parametrize("seed", range(3))
def test_the_comparison_is_that_of_left_out_documents(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, 90)
    X = rng.random((90, 6)) + np.eye(6)[codes] * rng.choice([0.05, 0.6])
    is_pair, parts = np.arange(6) < 3, parts_of(codes)
    right = []
    for columns in ([3, 4, 5], [0, 1, 2, 3, 4, 5]):
        predicted = np.empty_like(codes)
        for part in range(3):
            svm = LinearSVC(random_state=0).fit(X[parts != part][:, columns], codes[parts != part])
            predicted[parts == part] = svm.predict(X[parts == part][:, columns])
        right.append(predicted == codes)
    gain = right[1].astype(float) - right[0]
    expected = gain.mean() > np.sqrt(gain.var() / 90)
    assert pairs_help(sparse.csr_array(X), is_pair, codes, plain) == expected


def test_a_gain_of_less_than_a_standard_error_is_not_enough(monkeypatch):
    codes = np.repeat([0, 1], 50)
    gains = iter([])
    monkeypatch.setattr(module, "_right", lambda *args: next(gains))
    # 6 documents gained, 3 lost: 0.03 more right, with a standard error of 0.0299; then one fewer gained.
    for n_gained, helps in ((6, True), (5, False)):
        without, with_pairs = np.zeros(100, dtype=bool), np.zeros(100, dtype=bool)
        without[:3], with_pairs[3 : 3 + n_gained] = True, True
        gains = iter([without, with_pairs])
        assert pairs_help(sparse.csr_array(np.ones((100, 2))), np.array([True, False]), codes, plain) is helps


def test_every_part_has_its_share_of_every_class():
    codes = np.random.default_rng(0).integers(0, 4, 200)
    parts = parts_of(codes)
    for code in range(4):
        n = np.bincount(parts[codes == code], minlength=3)
        assert n.max() - n.min() <= 1


def test_large_collections_are_compared_on_evenly_spaced_documents(monkeypatch):
    monkeypatch.setattr(module, "MOST_SETS", 10)
    codes = np.zeros(25, dtype=int)
    assert compared_sets(codes).tolist() == list(range(0, 25, 3))
    codes[:2] = 1
    assert compared_sets(codes).tolist() == list(range(3, 25, 3))


@pytest.mark.parametrize("weights", ["binary", "counts"])
def test_long_documents_are_compared_without_warnings(weights):
    rng = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(400)])
    y = rng.integers(0, 4, 120)
    # The shares of a quarter of the words depend on the class a little; documents have 5 to 5,000 words.
    shares = [np.where(np.arange(400) % 16 == k, 1.5, 1.0) for k in range(4)]
    lengths = np.exp(rng.uniform(np.log(5), np.log(5000), 120)).astype(int)
    documents = [
        [" ".join(rng.choice(words, n, p=shares[k] / shares[k].sum()))] for k, n in zip(y, lengths, strict=True)
    ]
    # Warnings are errors in tests.
    assert PageWords(weights=weights).fit(documents, y).pairs_ in (True, False)
