"""The page that mattered, its words, and the text around the strongest."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from setrbm import ClassSetRBM
from setrbm.estimators.pipelines import explain
from setrbm.text import PageWords
from setrbm.text.page_reasons import page_reasons, snippet

DOCUMENTS = [
    ["Dear customer", "the terms of sale", "Invoice: amount due 40 euros"],
    ["Dear customer", "please cancel my contract", "the terms of sale"],
] * 10
Y = ["invoice", "cancellation"] * 10


@pytest.fixture(scope="module")
def model():
    settings = {"scale": None, "learning_rate": 0.3, "max_epochs": 60, "random_state": 0}
    return make_pipeline(PageWords(pairs=True), ClassSetRBM(10, **settings)).fit(DOCUMENTS, Y)


@pytest.mark.parametrize("seed", range(3))
def test_the_page_with_the_words_of_the_class_is_given_with_them(model, seed):
    rng = np.random.default_rng(seed)
    pages = ["Dear customer", "the", "Amount due now", "", "nothing known"]
    documents = [[pages[k] for k in rng.permutation(5)] for _ in range(5)]
    explanation = explain(model, documents, ["invoice"] * 5)
    for reason, document, part in zip(page_reasons(explanation, documents), documents, explanation, strict=True):
        assert document[reason.page] == "Amount due now"
        assert {word for word, _ in reason.words} == {"amount", "due", "amount due"}
        assert reason.words == part.features_for(reason.page, 8)
        assert reason.snippet == "Amount due now"


def test_at_most_so_many_words_are_given_and_none_against_the_class(model):
    documents = [["invoice amount due euros 40 cancel contract"]]
    words = page_reasons(explain(model, documents, ["invoice"]), documents, n_words=3)[0].words
    assert len(words) == 3
    weights = [weight for _, weight in words]
    assert weights == sorted(weights, reverse=True)
    every = page_reasons(explain(model, documents, ["invoice"]), documents, n_words=99)[0].words
    assert {word for word, _ in every} & {"cancel", "contract"} == set()
    assert min(weight for _, weight in every) > 0.0


def test_a_document_without_known_words_has_no_words_and_shows_its_beginning(model):
    documents = [["", ""], ["nothing known"]]
    reasons = page_reasons(explain(model, documents), documents)
    assert [(reason.words, reason.snippet) for reason in reasons] == [([], ""), ([], "nothing known")]


def test_a_page_without_a_known_word_is_never_the_strongest_if_another_has_one(model):
    documents = [[""], ["invoice", ""], ["", "invoice"]]
    largest = set()
    for label in ("invoice", "cancellation"):
        explanation = explain(model, documents, [label] * 3)
        reasons = page_reasons(explanation, documents)
        assert [reason.page for reason in reasons] == [0, 0, 1]
        largest |= {(k, int(part.drop.argmax())) for k, part in enumerate(explanation)}
    # By the drop alone, the empty page would have been the strongest for one of the classes.
    assert {(1, 1), (2, 0)} <= largest


LONG = " ".join(f"word{k:03d}" for k in range(100))


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("Dear  Sir,\n\tyour INVOICE", "invoice", "Dear Sir, your INVOICE"),
        ("a \x1b[31mred\x07 \ud83d invoice\u202e", "invoice", "a [31mred invoice"),
        (LONG, "word000", " ".join(f"word{k:03d}" for k in range(11)) + " ..."),
        (LONG, "word099", "... " + " ".join(f"word{k:03d}" for k in range(94, 100))),
        (LONG, "word050", "... " + " ".join(f"word{k:03d}" for k in range(45, 56)) + " ..."),
        (LONG, None, " ".join(f"word{k:03d}" for k in range(11)) + " ..."),
        (LONG, "absent", " ".join(f"word{k:03d}" for k in range(11)) + " ..."),
        ("", "invoice", ""),
        ("invoices, then an invoice", "invoice", "invoices, then an invoice"),
        ("x" * 1000, None, "x" * 80 + " ..."),
    ],
)
def test_a_snippet_is_one_line_around_whole_words(text, word, expected):
    assert snippet(text, word) == expected


def test_a_pair_of_words_is_found_across_punctuation():
    text = "amount " * 50 + "the amount, due now " + "due " * 50
    assert "the amount, due now" in snippet(text, "amount due")


def test_the_word_itself_is_found_and_not_a_longer_one():
    text = "invoices " * 50 + "invoice " + "other " * 50
    assert "invoice other" in snippet(text, "invoice")
