"""How well is mail classified from page pictures: generated, scanned, read by OCR, and classified?

For each of three seeds, mail is generated (the settings below were fixed before any model was fitted), read as
``setrbm-mail`` reads it, and classified by the model of ``setrbm-mail fit`` with all blocks of features and without a
reject option, by the same with single blocks left out or with words only, which is the default, and by two baselines on
the same OCR text: a linear SVM on tf-idf of all words of a piece, and a logistic regression that sees each page alone,
of which the surest decides.

    python lab/experiments/mail_pictures.py FOLDER [--seeds 0 1 2]

The mail and its pages stay in FOLDER; after a kill, run the same command again. Writes lab/results/mail_pictures.csv,
one line per seed, system and test mail, and lab/results/mail_pictures_words.csv, the shares of lost words by noise
level.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from kinds import RESULTS, write_csv
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from setrbm.estimators.pipelines import explain
from setrbm_mail import Document, read_documents
from setrbm_mail.answers import document_classifier, reason_of
from setrbm_mail.features.document_features import BLOCKS, texts_of
from setrbm_mail.generate import Piece, generate_mail

# Fixed before anything was fitted: six classes as in the paper's smaller problem, three pages per piece, and the whole
# range of noise.
N_TRAIN, N_TEST = 400, 300
SETTINGS: dict[str, Any] = {"collection": "DsUs", "pages_per_set": 3.0, "noise": (0.0, 1.0)}
OURS = "ClassSetRBM"
# The baselines choose among these.
COSTS = (0.1, 1.0, 10.0, 100.0)
MAIL_TEXT = "mail text"
LEVELS = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01))


@dataclass(frozen=True)
class Mail:
    """Generated mail as it was read, in two parts."""

    train: list[Document]
    test: list[Document]
    pieces: dict[str, Piece]

    def labels(self, documents: Sequence[Document]) -> np.ndarray:
        """Return the labels to learn from; a few of them are wrong."""
        return np.array([self.pieces[one.id].label for one in documents])


def mail_of(folder: Path, seed: int) -> Mail:
    """Generate and read the mail of one seed."""
    place = folder / f"mail-{seed}"
    manifest = generate_mail(place, N_TRAIN + N_TEST, random_state=seed, **SETTINGS)
    pieces = {piece.document: piece for piece in manifest.pieces}
    documents = read_documents(place, list(pieces), cache=folder / "pages.sqlite", on_progress=_show)
    # Nothing is dropped: every document has pages.
    assert all(document.pages for document in documents)
    return Mail(list(documents[:N_TRAIN]), list(documents[N_TRAIN:]), pieces)


def _show(progress: Any) -> None:
    if progress.n_pages_done % 100 == 0:
        print(f"{progress.n_pages_done} of about {progress.n_pages_expected:.0f} pages", flush=True)


def set_model(blocks: Sequence[str]) -> Callable[[Mail, int], list[dict[str, Any]]]:
    """Return a function that classifies the test mail by our model with some blocks of features."""

    def run(mail: Mail, seed: int) -> list[dict[str, Any]]:
        model = document_classifier(None, blocks=blocks, random_state=seed).fit(mail.train, mail.labels(mail.train))
        pages = [
            reason_of(document, part)[0] + 1
            for document, part in zip(mail.test, explain(model, mail.test), strict=True)
        ]
        predicted = model.predict(mail.test)
        return [{"predicted": label, "page": page} for label, page in zip(predicted, pages, strict=True)]

    return run


def whole_text(mail: Mail, seed: int) -> list[dict[str, Any]]:
    """Classify by a linear SVM on tf-idf of all words of a piece."""
    train, test = ([" ".join(pages) for pages in texts_of(part)] for part in (mail.train, mail.test))
    svm = GridSearchCV(LinearSVC(random_state=seed), {"C": COSTS})
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=2), svm)
    predicted = model.fit(train, mail.labels(mail.train)).predict(test)
    return [{"predicted": label} for label in predicted]


def page_alone(mail: Mail, seed: int) -> list[dict[str, Any]]:
    """Classify every page by itself, with the label of its piece; the surest page decides."""
    train, test = (texts_of(part) for part in (mail.train, mail.test))
    y = np.repeat(mail.labels(mail.train), [len(pages) for pages in train])
    logit = GridSearchCV(LogisticRegression(max_iter=2000), {"C": COSTS})
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=2), logit)
    model.fit([page for pages in train for page in pages], y)
    found = []
    for pages in test:
        p = model.predict_proba(pages)
        page, label = np.unravel_index(p.argmax(), p.shape)
        found.append({"predicted": model.classes_[label], "page": int(page) + 1})
    return found


SYSTEMS: dict[str, Callable[[Mail, int], list[dict[str, Any]]]] = {
    OURS: set_model(BLOCKS),
    **{f"{OURS} without {block}": set_model([one for one in BLOCKS if one != block]) for block in BLOCKS},
    f"{OURS}, words only": set_model(["words"]),
    "tf-idf of the whole text, linear SVM": whole_text,
    "each page alone, logistic regression": page_alone,
}


def drawn_page(document: Document, page: int) -> int:
    """Return the number of a page without counting the text of the mail itself; 0 for such a text."""
    if not page or document.pages[page - 1].method == MAIL_TEXT:
        return 0
    return sum(one.method != MAIL_TEXT for one in document.pages[:page])


def lines_of(mail: Mail, seed: int) -> list[dict[str, Any]]:
    """Return a line per system and test mail."""
    lines = []
    for system, run in SYSTEMS.items():
        answers = run(mail, seed)
        for document, answer in zip(mail.test, answers, strict=True):
            piece = mail.pieces[document.id]
            lines.append({
                "seed": seed, "system": system, "document": document.id, "true_class": piece.true_class,
                "kind": piece.kind, "handwritten": piece.evidence_is_handwritten, "pages": piece.n_pages,
                "predicted": answer["predicted"], "right": int(answer["predicted"] == piece.true_class),
                "evidence_first": int(drawn_page(document, answer.get("page", 0)) in piece.evidence_pages),
            })  # fmt: skip
        rows = [line for line in lines if line["system"] == system and line["kind"] and not line["handwritten"]]
        print(seed, system, f"{100 * np.mean([row['right'] for row in rows]):.1f}", flush=True)
    return lines


def word_errors(folder: Path, seed: int, mail: Mail) -> list[dict[str, Any]]:
    """Return the share of the true words of scanned pages that OCR did not find, by noise level."""
    lost: dict[tuple[str, str], list[float]] = {}
    truth = {
        line["document"]: line["pages"]
        for line in map(json.loads, (folder / f"mail-{seed}" / "truth.jsonl").read_text().splitlines())
    }
    for document in mail.test:
        pages = [page for page in document.pages if page.method != MAIL_TEXT]
        for page, true in zip(pages, truth[document.id], strict=True):
            words = Counter(true["text"].split())
            if true["digital"] or sum(words.values()) < 10:
                continue
            level = next(f"{low:.1f} to {min(high, 1.0):.1f}" for low, high in LEVELS if low <= true["noise"] < high)
            hand = "handwritten" if true["type"] == "handwritten letter" else "printed"
            rate = 1.0 - sum((words & Counter(page.words)).values()) / sum(words.values())
            lost.setdefault((hand, level), []).append(rate)
    return [
        {
            "seed": seed, "text": hand, "noise": level, "pages": len(rates),
            "share_lost": round(float(np.mean(rates)), 4),
        }
        for (hand, level), rates in sorted(lost.items())
    ]  # fmt: skip


def main() -> None:
    """Generate, read, classify and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    lines, words = [], []
    for seed in options.seeds:
        mail = mail_of(options.folder, seed)
        words += word_errors(options.folder, seed, mail)
        lines += lines_of(mail, seed)
        write_csv(RESULTS / "mail_pictures.csv", lines)
        write_csv(RESULTS / "mail_pictures_words.csv", words)


if __name__ == "__main__":
    main()
