"""The systems of Table 2: all rows are there, take both kinds of data, and see no test label."""

import dataclasses
import json

import numpy as np
import pytest

from made_pages import mail as made_mail
from setrbm import Bags, ClassSetRBMCV
from setrbm.datasets import make_mail_like
from setrbm.evaluation.splits import Split
from setrbm.text import PageTexts, PageWords
from setrbm_lab.mail_data import Mail, words_as_texts
from setrbm_lab.mail_estimators import BinaryWords, SampledSetSVC, WholeTexts, drawn
from setrbm_lab.mail_systems import FIRST, MAIL_ROWS, OURS, USUAL
from setrbm_lab.paper import MAIL_SYSTEMS
from setrbm_lab.trials import Trial, fit_and_judge, settings_digest
from setrbm_mail import Documents
from setrbm_mail.features.document_features import texts_of

N = 120


@pytest.fixture(scope="module")
def mail():
    bags, y = make_mail_like(N, n_classes=3, random_state=5)
    return Mail(bags, words_as_texts(bags, y)), y


@pytest.fixture(scope="module")
def letters(mail):
    """The same sets, as a real collection has them: texts only, and labels that are text."""
    made, y = mail
    return Mail(made.texts, made.texts), np.array(["a", "b", "c"], dtype=object)[y]


def test_every_row_of_the_paper_has_a_system_and_rows_on_texts_are_added():
    assert tuple(MAIL_ROWS)[: len(MAIL_SYSTEMS)] == MAIL_SYSTEMS
    assert list(MAIL_ROWS)[len(MAIL_SYSTEMS) :] == [
        USUAL, "tf-idf with pairs, linear SVM", "tf-idf, logistic regression", "PageWords, linear SVM",
        "PageWords with pairs, linear SVM", OURS, FIRST,
    ]  # fmt: skip


def test_rows_are_what_their_names_say():
    def steps(name):
        return [step for _, step in MAIL_ROWS[name].make(0, False, "cpu", 1).steps]

    assert steps(USUAL)[1].ngram_range == (1, 1)
    assert steps("tf-idf with pairs, linear SVM")[1].ngram_range == (1, 2)
    assert list(steps("ClassRBM-poolIn")[1].statistics) == ["max"]
    for name, pairs in (("PageWords, linear SVM", "auto"), ("PageWords with pairs, linear SVM", True)):
        words, pooled, _ = steps(name)
        assert (words.pairs, list(pooled.statistics)) == (pairs, ["mean"])
    assert (steps(OURS)[0].pairs, steps(FIRST)[0].pairs) == ("auto", True)


@pytest.fixture(scope="module")
def pictures():
    """Pages as they were read from pictures."""
    documents, y = made_mail(N)
    found = Documents(documents)
    return Mail(found, PageTexts(texts_of(found), y, found.ids)), y.astype(object)


@pytest.mark.parametrize("name", MAIL_ROWS)
@pytest.mark.parametrize("kind", ["mail", "letters", "pictures"])
def test_every_row_takes_generated_and_real_mail_and_test_labels_change_nothing(name, kind, request):
    data, y = request.getfixturevalue(kind)
    split = Split(0, 0, np.arange(0, 90), np.arange(90, N))
    turned = y.copy()
    turned[split.test] = y[split.test][::-1]
    system, rows, curves = MAIL_ROWS[name], [], []
    for labels in (y, turned):
        model = system.make(3, True, "cpu", 1)
        trial = Trial(name, kind, system.view(data), labels, 7, "digest", "cpu")
        rows.append(fit_and_judge(trial, model, split))
        curves.append((model.predict(system.view(data)[split.test]), trial.measure(model, split)))
    np.testing.assert_array_equal(curves[0][0], curves[1][0])
    assert rows[0].chosen == rows[1].chosen
    assert rows[0].n_right == (curves[0][0] == y[split.test]).sum()
    assert rows[1].n_right == (curves[0][0] == turned[split.test]).sum()
    assert 0.0 <= curves[0][1].area <= 1.0
    assert system.view(data) is (data.words if name in MAIL_SYSTEMS else data.texts)


def test_the_vocabulary_comes_from_the_training_part():
    texts = PageTexts([["red"], ["red blue"], ["blue"], ["green green"]], None, np.arange(4))
    words = BinaryWords(min_sets=1).fit(texts[:3])
    assert words.words_.tolist() == ["blue", "red"]
    assert words.transform(texts[3:]).X.nnz == 0


def test_binary_words_are_those_of_the_paper_and_leave_vectors_alone(mail):
    made, _ = mail
    assert BinaryWords().get_params() == {
        "max_words": 10_000, "min_sets": 2, "pairs": False, "weights": "binary",
    }  # fmt: skip
    assert BinaryWords().fit_transform(made.words) is made.words
    assert BinaryWords().fit(made.words).transform(made.words) is made.words
    expected = PageWords(max_words=10_000, weights="binary", pairs=False).fit_transform(made.texts)
    assert (BinaryWords().fit_transform(made.texts).X != expected.X).nnz == 0


def test_of_page_pictures_the_rows_of_the_paper_get_words_and_the_other_features(pictures):
    (data, _), documents = pictures, pictures[0].words
    sets = BinaryWords().fit_transform(documents)
    n_words = BinaryWords().fit_transform(data.texts).shape[1]
    assert sets.shape[1] == n_words + 48 + 17 + 18
    assert set(sets.X[:, :n_words].data) == {1.0}
    # The vocabulary is that of the training part.
    few = BinaryWords().fit(documents[:30])
    assert few.transform(documents).shape[1] == BinaryWords().fit_transform(documents[:30]).shape[1]


def test_the_digest_covers_every_page_that_was_read(pictures):
    documents, y = pictures[0].words, pictures[1]
    model = MAIL_ROWS["ClassSetRBM XOR"].make(0, False, "cpu", 1)
    first = documents[0]
    darker = [dataclasses.replace(first.pages[0], thumbnail=first.pages[0].thumbnail // 2), *first.pages[1:]]
    changed = Documents([dataclasses.replace(first, pages=darker), *list(documents)[1:]])
    assert settings_digest(model, documents, y, 5, 1, 0) == settings_digest(
        model, Documents(list(documents)), y, 5, 1, 0
    )
    assert settings_digest(model, documents, y, 5, 1, 0) != settings_digest(model, changed, y, 5, 1, 0)


def test_whole_texts_join_the_pages_of_a_document():
    assert WholeTexts().fit_transform([["one", "two"], ["three"]]) == ["one\ntwo", "three"]


def test_the_digest_covers_texts_labels_and_settings(mail):
    made, y = mail
    make = MAIL_ROWS[USUAL].make

    def digest(model=None, texts=made.texts, y=y):
        return settings_digest(model or make(0, False, "cpu", 1), texts, y, 5, 1, 2011)

    first, *others = made.texts[0]
    moved = PageTexts([[first + " more", *others], *made.texts.documents[1:]], None, made.texts.ids)
    joined = PageTexts([[*made.texts[0], *made.texts[1]], *made.texts.documents[2:]], None, made.texts.ids[1:])
    others = [
        digest(texts=moved), digest(texts=joined), digest(y=y[::-1]), digest(MAIL_ROWS[OURS].make(0, False, "cpu", 1))
    ]  # fmt: skip
    assert digest() == digest()
    assert len({digest(), *others}) == 5


@pytest.mark.parametrize("name", MAIL_ROWS)
def test_no_address_in_memory_is_part_of_a_digest(name):
    """A digest must be the same in every process."""
    model = MAIL_ROWS[name].make(0, False, "cpu", 1)
    assert not [value for value in map(repr, model.get_params(deep=True).values()) if " at 0x" in value]


def test_our_row_is_the_preset_for_text():
    words, model = (step for _, step in MAIL_ROWS[OURS].make(3, False, "cpu", 1).steps)
    assert words.get_params() == PageWords().get_params()
    expected = ClassSetRBMCV.for_text(engine="cpu", n_jobs=1, random_state=3)
    assert model.get_params() == expected.get_params()


# --- kernel machines on a sample ---


def test_a_kernel_machine_learns_from_a_sample_in_proportion(mail):
    made, y = mail
    model = SampledSetSVC("migraph", scale=None, C=(1.0,), gamma_factors=(1.0,), n_sample=60, random_state=0)
    model.fit(made.words, y)
    sample = drawn(np.arange(N), y, 60, 0)
    assert model.measured_["n_train"] == N
    assert model.measured_["n_sets"] == [30, 60]
    assert min(model.measured_["seconds"]) > 0.0
    json.dumps(model.measured_)
    # It is the same as without the sample, on its sets alone.
    alone = SampledSetSVC("migraph", scale=None, C=(1.0,), gamma_factors=(1.0,), n_sample=60, random_state=0)
    alone.fit(made.words[sample], y[sample])
    np.testing.assert_array_equal(model.decision_function(made.words), alone.decision_function(made.words))
    assert model.support_.max() < 60


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_has_every_class_in_proportion_and_depends_on_the_seed(seed):
    y = np.repeat([0, 1, 2], [100, 60, 40])
    sample = drawn(np.arange(200), y, 50, seed)
    assert np.bincount(y[sample]).tolist() == [25, 15, 10]
    assert sample.tolist() == sorted(set(sample.tolist()))
    assert sample.tolist() == drawn(np.arange(200), y, 50, seed).tolist()
    assert sample.tolist() != drawn(np.arange(200), y, 50, seed + 1).tolist()
    assert drawn(np.arange(200), y, 200, seed).tolist() == list(range(200))


def test_bags_are_what_the_rows_of_the_paper_get(mail):
    made, _ = mail
    assert isinstance(MAIL_ROWS["ClassSetRBM XOR*"].view(made), Bags)
