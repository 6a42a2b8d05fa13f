"""Phrases of generated mail: enough of them, and none in common between styles, halves and subjects."""

import re
from itertools import combinations
from math import prod

import numpy as np
import pytest

from generated import evidence_in, pattern_of
from setrbm_mail.generate import filler, vocabulary
from setrbm_mail.generate.phrases import CLASSES, EVIDENCE, MENTIONS, PASSING, TITLES, half
from setrbm_mail.generate.writing import SLOTS, Writer, amount_in_words


def all_phrases(style):
    """Return every phrase of a style: about subjects, in passing, and filler."""
    subjects = [phrase for table in (EVIDENCE, TITLES) for phrases in table[style] for phrase in phrases]
    choices = [
        choice
        for kind in filler.KINDS.values()
        for pattern in kind[style]
        for part in pattern
        for choice in part
        if len(choice.split()) >= 4
    ]
    others = [*filler.GREETINGS[style], *filler.CLOSINGS[style], *filler.NEUTRAL_TITLES[style]]
    return [*subjects, *MENTIONS[style], *PASSING[style], *choices, *others]


@pytest.mark.parametrize("subject", range(len(CLASSES)), ids=CLASSES)
def test_every_subject_has_phrases_for_training_and_for_tests(subject):
    phrases = EVIDENCE["b"][subject]
    assert len(set(phrases)) == len(phrases) >= 16
    assert not set(half(phrases, "train")) & set(half(phrases, "test"))
    assert half(phrases, "train") + half(phrases, "test") == phrases
    assert len(EVIDENCE["a"][subject]) >= 4 and len(TITLES["b"][subject]) >= 4


def test_no_phrase_belongs_to_two_subjects():
    for style in "ab":
        for one, other in combinations(EVIDENCE[style], 2):
            assert not set(one) & set(other)


def test_the_styles_share_no_phrase():
    assert not set(all_phrases("a")) & set(all_phrases("b"))


@pytest.mark.parametrize(
    "table", ["FIRST_NAMES", "LAST_NAMES", "STREETS", "CITIES", "COMPANY_FIRST", "GOODS", "INSURERS"]
)
def test_the_styles_share_no_name(table):
    words = getattr(vocabulary, table)
    assert not set(words["a"]) & set(words["b"])


def test_every_slot_can_be_filled():
    used = {slot for style in "ab" for phrase in all_phrases(style) for slot in re.findall(r"\{(\w+)\}", phrase)}
    assert used <= {*SLOTS, "mention"}
    writer = Writer("b", np.random.default_rng(0))
    assert "{" not in writer.filled(" ".join(f"{{{slot}}}" for slot in SLOTS))


@pytest.mark.parametrize("kind", ["letter", "clause"])
def test_filler_has_thousands_of_sentences(kind):
    writer = Writer("b", np.random.default_rng(0))
    assert len({writer.filler(kind) for _ in range(5_000)}) > 2_000
    assert sum(prod(map(len, pattern)) for pattern in filler.KINDS[kind]["b"]) > 400


@pytest.mark.parametrize("part", ["train", "test"])
def test_sentences_about_a_subject_come_from_its_half_and_filler_has_none(part):
    for subject in range(len(CLASSES)):
        about = " ".join(Writer("b", np.random.default_rng(subject), subject, part).sentences(8))
        filler_text = " ".join(Writer("b", np.random.default_rng(subject)).sentences(200))
        other = "train" if part == "test" else "test"
        assert len(evidence_in(about, "b", subject, part)) >= 2
        assert not evidence_in(about, "b", subject, other)
        assert not evidence_in(filler_text, "b", subject, part)


def test_the_share_of_sentences_about_the_subject_is_the_one_asked_for():
    writer = Writer("b", np.random.default_rng(0), subject=3, evidence_share=0.5)
    sentences = writer.sentences(12)
    found = [any(pattern_of(phrase).fullmatch(sentence) for phrase in EVIDENCE["b"][3]) for sentence in sentences]
    assert sum(found) == 6 and len(sentences) == 12


def test_filler_mentions_every_subject_in_passing_alike():
    writer = Writer("b", np.random.default_rng(0), n_subjects=6)
    text = [writer.filler("notice") for _ in range(20_000)]
    counts = [sum(mention in sentence for sentence in text) for mention in MENTIONS["b"]]
    # Binomial(20,000, 0.02 / 6): mean 67, standard deviation 8.
    assert all(30 <= count <= 110 for count in counts[:6]), counts
    assert not any(counts[6:])


@pytest.mark.parametrize(
    ("dollars", "words"),
    [(0, "zero"), (15, "fifteen"), (40, "forty"), (99, "ninety-nine"), (100, "one hundred"), (1001, "one thousand one"),
     (12_345, "twelve thousand three hundred forty-five")],
)  # fmt: skip
def test_amounts_in_words(dollars, words):
    assert amount_in_words(dollars) == words


def test_an_unknown_half_is_refused():
    with pytest.raises(ValueError, match="phrases must be 'train' or 'test'. Got 'both'"):
        half(EVIDENCE["b"][0], "both")
