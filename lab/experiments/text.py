"""Which inputs and settings suit sets of texts: the figures that `docs/guide/text.md` quotes.

Reads a file of JSON lines with the fields `label`, `pages` (a list of texts) and, optionally, `date`, and trains on the
first 70% by date (without dates: in random order). Words are those of at least 5 training pages. Every combination of
inputs and settings is written to lab/results/text.csv, with the accuracy on the remaining 30%; nothing is chosen by it.

    python lab/experiments/text.py FILE.jsonl.gz     (about ten minutes on two cores)

The recorded run used 7,608 threads of the 20 Newsgroups collection: a set is a thread, a page is a message without its
header, the label is the newsgroup.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from setrbm import Bags, ClassSetRBM, ClassSetRBMCV
from setrbm.estimators import InputPooling, PerVector

LOG = Path(__file__).parents[1] / "results" / "text.csv"
COUNTS, TFIDF = "word counts", "tf-idf"
RATES = (0.1, 0.3, 1.0)
MODELS = [
    (COUNTS, ClassSetRBM, {"weight_decay": 0.001}),
    (COUNTS, ClassSetRBM, {"weight_decay": 0.0}),
    (COUNTS, ClassSetRBMCV, {}),
    (TFIDF, ClassSetRBM, {"weight_decay": 0.001}),
    (TFIDF, ClassSetRBM, {"weight_decay": 0.0}),
    (TFIDF, ClassSetRBM, {"weight_decay": 0.0, "scale": None}),
    (TFIDF, ClassSetRBM, {"weight_decay": 0.0, "scale": None, "learning_rate": 0.5}),
    (TFIDF, ClassSetRBM, {"weight_decay": 0.001, "scale": None, "learning_rate": 0.5}),
    (TFIDF, ClassSetRBM, {"weight_decay": 0.0, "scale": None, "learning_rate": 0.5, "pooling": "soft"}),
    (TFIDF, ClassSetRBMCV, {}),
    (TFIDF, ClassSetRBMCV, {"scale": None, "learning_rate": RATES}),
    (TFIDF, ClassSetRBMCV, {"scale": None, "learning_rate": RATES, "pooling": "soft"}),
]


def systems() -> Iterator[tuple[str, str, Any]]:
    """Yield the inputs, the name and the model of every line."""
    for inputs, kind, settings in MODELS:
        given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        yield inputs, f"{kind.__name__}({given})", kind(random_state=0, **settings)
    for inputs in (COUNTS, TFIDF):
        linear = make_pipeline(InputPooling(["mean"]), LogisticRegression(C=100.0, max_iter=2000))
        yield inputs, "logistic regression on the mean of the pages", linear


def read(path: Path) -> tuple[list[list[str]], np.ndarray, int]:
    """Return pages and labels of all sets, oldest first, and the number of training sets."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    order = np.random.default_rng(0).permutation(len(records))
    if "date" in records[0]:
        order = sorted(range(len(records)), key=lambda k: records[k]["date"])
    records = [records[k] for k in order]
    return [r["pages"] for r in records], np.array([r["label"] for r in records]), int(0.7 * len(records))


def word_counts(pages: list[list[str]], n_train: int) -> Bags:
    """Return the sets as bags of word counts; the words are those of the training pages."""
    vectorizer = CountVectorizer(min_df=5, dtype=np.float32)
    vectorizer.fit([page for pages_of_set in pages[:n_train] for page in pages_of_set])
    return Bags.from_list([vectorizer.transform(pages_of_set) for pages_of_set in pages])


def main() -> None:
    """Train every combination and write its accuracy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--log", type=Path, default=LOG)
    options = parser.parse_args()
    pages, y, n_train = read(options.file)
    bags = word_counts(pages, n_train)
    print(bags, f"{n_train} to train on, {len(np.unique(y))} classes", flush=True)
    with options.log.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["inputs", "model", "accuracy"])
        for inputs, name, model in systems():
            steps = [PerVector(TfidfTransformer(sublinear_tf=True))] if inputs == TFIDF else []
            pipeline = make_pipeline(*steps, model).fit(bags[:n_train], y[:n_train])
            line = [inputs, name, f"{pipeline.score(bags[n_train:], y[n_train:]):.4f}"]
            writer.writerow(line)
            print(*line, flush=True)


if __name__ == "__main__":
    main()
