"""What becomes of documents: accepted, or left to a person and why; the page and the words that matter most."""

import numpy as np
import pytest

from made_pages import document, mail, page
from setrbm.text import PageWords
from setrbm_mail import classify, document_classifier
from setrbm_mail.answers import boxes_of
from setrbm_mail.features.document_features import texts_of


@pytest.fixture(scope="module")
def model():
    documents, y = mail(150)
    return document_classifier(0.8, random_state=0).fit(documents, y)


def test_every_document_gets_one_answer_in_order(model):
    documents, _ = mail(40, seed=1)
    documents.insert(7, document("broken.pdf", problems=["the PDF is damaged"]))
    answers = classify(model, documents)
    assert [one.document for one in answers] == [one.id for one in documents]


def test_documents_are_answered_in_batches_as_all_at_once(model, monkeypatch):
    documents, _ = mail(40, seed=1)
    documents.insert(7, document("broken.pdf", problems=["the PDF is damaged"]))
    whole = classify(model, documents)
    sizes = []
    predict_proba = type(model).predict_proba
    monkeypatch.setattr(type(model), "predict_proba", lambda self, X: sizes.append(len(X)) or predict_proba(self, X))
    monkeypatch.setattr("setrbm_mail.answers.BATCH", 8)
    parts = classify(model, (one for one in documents))
    assert max(sizes) == 8
    for part, one in zip(parts, whole, strict=True):
        assert {**part.to_json(), "probability": None} == {**one.to_json(), "probability": None}
        assert part.probability == (one.probability and pytest.approx(one.probability, rel=1e-5))


def test_documents_with_the_same_id_keep_their_own_answers(model):
    documents, _ = mail(6, seed=1)
    same = [document("same.pdf", *one.pages) for one in documents]
    assert [one.label for one in classify(model, same)] == [one.label for one in classify(model, documents)]


def test_no_documents_have_no_answers(model):
    assert classify(model, []) == []


def test_a_document_that_cannot_be_read_is_for_a_person(model):
    (answer,) = classify(model, [document("broken.pdf", problems=["the PDF is damaged"])])
    assert (answer.label, answer.probability, answer.page, answer.is_accepted) == (None, None, None, False)
    assert answer.why_a_person == "nothing could be read: broken.pdf: the PDF is damaged"


def test_a_document_read_in_part_is_for_a_person_however_sure_the_model_is(model):
    documents, _ = mail(1, seed=3)
    whole = classify(model, documents)[0]
    partly = document(documents[0].id, *documents[0].pages, problems=["page 9 is damaged"])
    (answer,) = classify(model, [partly])
    assert answer.label == whole.label
    assert not answer.is_accepted
    assert answer.why_a_person.startswith("not all of it could be read: ")


def test_a_document_without_words_is_for_a_person(model):
    (answer,) = classify(model, [document("blank.pdf", page(), page())])
    assert answer.why_a_person == "no word could be read"


def test_accepted_answers_are_those_of_the_reject_option(model):
    documents, y = mail(90, seed=2)
    answers = classify(model, documents)
    np.testing.assert_array_equal([one.is_accepted for one in answers], model.accepts(documents))
    np.testing.assert_array_equal([one.label for one in answers], model.predict(documents))
    assert all(one.why_a_person == "the model is not sure enough" for one in answers if not one.is_accepted)
    right = [one.label == truth for one, truth in zip(answers, y, strict=True) if one.is_accepted]
    assert np.mean(right) >= 0.8


def test_without_a_reject_option_all_answers_are_accepted():
    documents, y = mail(60)
    model = document_classifier(None, random_state=0).fit(documents, y)
    assert all(one.is_accepted for one in classify(model, documents))


def test_the_page_that_shows_the_class_matters_most(model):
    topic = page("please cancel my contract termination notice ends")
    documents = [
        document(f"{k}.pdf", *[page("dear sir madam regards")] * k, topic, page("thank office")) for k in range(3)
    ]
    answers = classify(model, documents)
    assert [one.page for one in answers] == [1, 2, 3]
    assert [one.place for one in answers] == ["0.pdf, page 1", "1.pdf, page 2", "2.pdf, page 3"]
    assert all(one.label == "cancellation" for one in answers)
    assert all({"cancel", "contract", "termination"} & set(one.words) for one in answers)
    assert all(set(one.words) <= set(topic.words) for one in answers), "features that are no words"


def test_telling_words_and_pairs_are_found_on_the_page():
    one = page("Dear Sir, please CANCEL. my c0ntract now")
    assert boxes_of(one, ["cancel", "gray 1,1", "missing"]) == [(150, 100, 190, 120)]
    assert boxes_of(one, ["cancel my"]) == [(150, 100, 190, 120), (200, 100, 240, 120)]
    assert boxes_of(one, ["contract"]) == [(250, 100, 290, 120)]
    assert boxes_of(one, []) == []


def box(k):
    return (50 * k, 100, 50 * k + 40, 120)


@pytest.mark.parametrize(
    ("text", "word", "places"),
    [
        ("my reim- bursement please", "reimbursement", [1, 2]),
        ("my re- im- bursement please", "reimbursement", [1, 2, 3]),
        ("the reim- bursement please", "the reimbursement", [0, 1, 2]),
        ("the last end-", "end", [2]),
        ("account 12345 closed", "account closed", [0, 2]),
        ("account I closed", "account closed", [0, 2]),
        ("my bank/account today", "account", [1]),
        ("my bank/account today", "bank account", [1]),
        ("my bank/account today", "account today", [1, 2]),
        ("account closed Account", "account", [0, 2]),
        ("account closed", "closed account", []),
    ],
)
def test_telling_words_are_marked_wherever_the_features_have_them_from(text, word, places):
    assert boxes_of(page(text), [word]) == [box(k) for k in places]


@pytest.mark.parametrize("seed", range(3))
def test_every_feature_of_a_page_is_found_on_it(seed):
    rng = np.random.default_rng(seed)
    pieces = [
        "a", "12345", "reim-", "bursement", "bank/account", "c1aim", "e-mail", "don't", "(Dear)", "\ufb01le", "-", "I",
        "well-known", "end-", "x_y",
    ]  # fmt: skip
    documents = [document(f"{k}.pdf", page(" ".join(rng.choice(pieces, 30)))) for k in range(20)]
    words = PageWords(weights="counts", pairs=True, min_sets=1).fit(texts_of(documents))
    for one, bag in zip(documents, words.transform(texts_of(documents)), strict=True):
        for column in np.unique(bag.nonzero()[1]):
            assert boxes_of(one.pages[0], [words.words_[column]]), words.words_[column]


def test_an_answer_is_plain_json(model):
    import json

    documents, _ = mail(2)
    found = json.loads(json.dumps([one.to_json() for one in classify(model, documents)]))
    assert set(found[0]) == {
        "document", "label", "probability", "accepted", "why_a_person", "page", "place", "words"
    }  # fmt: skip
