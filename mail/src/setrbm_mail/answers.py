"""Answers: the class of each document or why a person must look at it, and the page and words that matter most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from setrbm.estimators import ClassSetRBMCV
from setrbm.estimators.pipelines import explain, first_step
from setrbm.explain import Explanation
from setrbm.selective import RejectOption
from setrbm.text.models import without_known_words
from setrbm.tools.text import listed
from setrbm_mail._types import Mask
from setrbm_mail.features.blocks import NUMBERS
from setrbm_mail.features.document_features import DEFAULT_BLOCKS, DocumentFeatures, texts_of
from setrbm_mail.features.words import tokens_of
from setrbm_mail.pages import Document, Page

# How many documents are classified at a time.
BATCH = 64
# How many telling words are shown.
N_WORDS = 8
# The features that are not words.
NO_WORDS = {name for block in NUMBERS.values() for name in block.names}


def document_classifier(
    precision: float | None = 0.95,
    *,
    blocks: Sequence[str] = DEFAULT_BLOCKS,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Any:
    """Return an unfitted classifier of documents.

    Parameters
    ----------
    precision : float or None
        The part of the accepted answers that must be right, with 95 % confidence; see ``RejectOption``. None accepts
        every answer.
    blocks : sequence of {"words", "grid", "layout", "types"}
        What the model sees of a page; see ``DocumentFeatures``.
    n_jobs : int, optional
    random_state : int, RandomState or None
    """
    model = ClassSetRBMCV.for_text(n_jobs=n_jobs, random_state=random_state)
    pipeline = make_pipeline(DocumentFeatures(blocks=tuple(blocks)), model)
    return pipeline if precision is None else RejectOption(pipeline, precision=precision, random_state=random_state)


@dataclass(frozen=True)
class Answer:
    """The answer for a document: its class, or why a person must look at it.

    Attributes
    ----------
    document : str
        Its id.
    label : object
        The most probable class; None if nothing of the document could be read.
    probability : float or None
    why_a_person : str
        Why a person must look at it; "" if the answer is accepted.
    page : int or None
        The page that matters most for the class, from 1: without it, the probability of the class falls most.
    place : str
        That page, in words: file, attachment and page.
    words : list of str
        The words on it that spoke most for the class.
    """

    document: str
    label: Any
    probability: float | None
    why_a_person: str
    page: int | None
    place: str
    words: list[str]

    @property
    def is_accepted(self) -> bool:
        """Whether no person needs to look at it."""
        return not self.why_a_person

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        return {
            "document": self.document, "label": self.label, "probability": self.probability,
            "accepted": self.is_accepted, "why_a_person": self.why_a_person, "page": self.page, "place": self.place,
            "words": self.words,
        }  # fmt: skip


def classify(model: Any, documents: Iterable[Document]) -> list[Answer]:
    """Return the answer for each document.

    Parameters
    ----------
    model : classifier
        Of documents, such as ``document_classifier`` makes. Without a reject option all answers are accepted, except
        for documents that could not be read, or only in part.
    documents : iterable of Document
        From a generator such as ``iter_documents``, at most 64 documents are in memory at a time.
    """
    return [answer for batch in _batches(documents) for answer in _answers(model, batch)]


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    left = iter(documents)
    while batch := list(islice(left, BATCH)):
        yield batch


def _answers(model: Any, documents: list[Document]) -> list[Answer]:
    """Return the answer for each document of a batch."""
    readable = [document for document in documents if document.pages]
    answers = iter(_answers_to_readable(model, readable) if readable else [])
    return [next(answers) if document.pages else _unread(document) for document in documents]


def _unread(document: Document) -> Answer:
    reasons = listed(map(str, document.problems), most=2)
    return Answer(document.id, None, None, f"nothing could be read: {reasons}", None, "", [])


def _answers_to_readable(model: Any, documents: list[Document]) -> list[Answer]:
    p = model.predict_proba(documents)
    best = p.argmax(axis=1)
    accepted = model.accepts(documents) if hasattr(model, "accepts") else np.ones(len(documents), dtype=bool)
    explanation, is_known = explain(model, documents), _has_known_words(model, documents)
    answers = []
    for k, (document, part) in enumerate(zip(documents, explanation, strict=True)):
        page, words = reason_of(document, part)
        why = _why_a_person(document, bool(accepted[k]), bool(is_known[k]))
        label = model.classes_[best[k]].item() if hasattr(model.classes_[best[k]], "item") else model.classes_[best[k]]
        probability = float(p[k, best[k]])
        answers.append(Answer(document.id, label, probability, why, page + 1, document.places[page].name, words))
    return answers


def _has_known_words(model: Any, documents: list[Document]) -> Mask:
    """Return which documents have a word of the vocabulary; all, if the model has none."""
    words = getattr(first_step(model), "words_", None)
    if words is None:
        return np.ones(len(documents), dtype=bool)
    return ~without_known_words(words, texts_of(documents))


def _why_a_person(document: Document, accepted: bool, has_known_words: bool) -> str:
    if document.problems:
        return f"not all of it could be read: {listed(map(str, document.problems), most=2)}"
    if not any(page.words for page in document.pages):
        return "no word could be read"
    if not has_known_words:
        return "no word on it is known to the model"
    return "" if accepted else "the model is not sure enough"


def reason_of(document: Document, part: Explanation) -> tuple[int, list[str]]:
    """Return the page of a document that mattered most for its class, from 0, and its words that spoke for the class.

    Parameters
    ----------
    document : Document
    part : Explanation
        Of this document alone.
    """
    has_words = np.array([bool(page.words) for page in document.pages])
    drop = np.where(has_words, part.drop, -np.inf) if has_words.any() else part.drop
    page = int(drop.argmax())
    features = (str(name) for name, _ in part.features_for(page, N_WORDS + len(NO_WORDS)))
    return page, [name for name in features if name not in NO_WORDS][:N_WORDS]


def boxes_of(page: Page, words: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return where telling words, or pairs of words, are on a page: left, top, right and bottom.

    Parameters
    ----------
    page : Page
    words : sequence of str
        As the features name them.
    """
    wanted, tokens, marked = set(words), tokens_of(page.words), set[int]()
    for token, places in tokens:
        if token in wanted:
            marked.update(places)
    for (first, places), (second, more) in pairwise(tokens):
        if f"{first} {second}" in wanted:
            marked.update(places, more)
    return [tuple(int(side) for side in page.boxes[i]) for i in sorted(marked)]  # type: ignore[misc]
