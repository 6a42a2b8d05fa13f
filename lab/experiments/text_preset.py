"""Which settings suit text: the comparisons behind PageWords and ClassSetRBMCV.for_text.

Uses the halves of the two text collections that Table 2 never tests: of the threads the earlier half, of the Debian
packages a random half. Within these halves, settings are fitted to a part and judged on another: threads by date
(trained on the first 60, 70 and 80 %, judged on the next 20 %), packages in five folds. Every line of the log is one
setting on one of these parts; nothing else was looked at. Linear SVMs, with the best C of three in hindsight, show what
there is to beat.

    python lab/experiments/text_preset.py ../shared/data/mail     (half an hour; appends to lab/results/text_preset.csv)
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from setrbm import ClassSetRBMCV
from setrbm.estimators import InputPooling
from setrbm.text import PageWords

LOG = Path(__file__).parents[1] / "results" / "text_preset.csv"
FIXED: dict[str, Any] = {
    "scale": None, "learning_rate": 0.25, "init_scale": 0.1, "max_epochs": 15, "early_stopping": False,
}  # fmt: skip
CHOSEN = {"learning_rate": (0.1, 0.25, 0.5), "max_epochs": 200, "early_stopping": True}
# Settings of PageWords that differ from pairs=True, and of ClassSetRBMCV that differ from FIXED.
TRIED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the preset": ({}, {"max_epochs": 20}),
    "the preset, pairs if they help": ({"pairs": "auto"}, {"max_epochs": 20}),
    "15 epochs": ({}, {}),
    "words only": ({"pairs": False}, {}),
    "tf-idf": ({"weights": "tfidf"}, {}),
    "tf-idf, words only": ({"weights": "tfidf", "pairs": False}, {}),
    "binary, words only": ({"weights": "binary", "pairs": False}, {"learning_rate": 0.02}),
    "20,000 words": ({"max_words": 20_000}, {}),
    "100,000 words": ({"max_words": 100_000}, {}),
    "words of 3 sets or more": ({"min_sets": 3}, {}),
    "8 epochs": ({}, {"max_epochs": 8}),
    "25 epochs": ({}, {"max_epochs": 25}),
    "learning rate 0.1": ({}, {"learning_rate": 0.1}),
    "learning rate 0.1, 30 epochs": ({}, {"learning_rate": 0.1, "max_epochs": 30}),
    "learning rate 0.5": ({}, {"learning_rate": 0.5}),
    "init scale 0.3": ({}, {"init_scale": 0.3}),
    "50 hidden units": ({}, {"n_hidden": 50}),
    "200 hidden units": ({}, {"n_hidden": 200}),
    "1 fit": ({}, {"n_fits": 1}),
    "15 fits": ({}, {"n_fits": 15}),
    "10 fits of 50 units, 20 epochs": ({}, {"n_fits": 10, "n_hidden": 50, "max_epochs": 20}),
    "10 fits, 20 epochs": ({}, {"n_fits": 10, "max_epochs": 20}),
    "20 fits of 25 units, 20 epochs": ({}, {"n_fits": 20, "n_hidden": 25, "max_epochs": 20}),
    "soft pooling": ({}, {"pooling": "soft"}),
    "OR*": ({}, {"constraint": "or"}),
    "OR": ({}, {"constraint": "or", "pooling": "soft"}),
    "rate and epochs chosen": ({}, CHOSEN),
    "rate and epochs chosen, tf-idf": ({"weights": "tfidf"}, CHOSEN),
}


class Joined:
    """tf-idf of whole documents."""

    def __init__(self, longest: int) -> None:
        self.vectorizer = TfidfVectorizer(min_df=2, sublinear_tf=True, ngram_range=(1, longest))

    def fit_transform(self, documents: list[list[str]], y: Any) -> Any:
        """Return the vectors of the training documents."""
        return self.vectorizer.fit_transform(["\n".join(pages) for pages in documents])

    def transform(self, documents: list[list[str]]) -> Any:
        """Return the vectors of other documents."""
        return self.vectorizer.transform(["\n".join(pages) for pages in documents])


SVM_INPUTS = {
    "linear SVM, tf-idf of the document": lambda: Joined(1),
    "linear SVM, tf-idf of the document, with pairs": lambda: Joined(2),
    "linear SVM, mean of PageWords": lambda: make_pipeline(PageWords(pairs=True), InputPooling(["mean"])),
}
CS = (0.3, 1.0, 3.0)


def parts(folder: Path) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Yield name, training documents and labels, and other documents and labels, of every part."""
    for name in ("ng20_threads", "debian_packages"):
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        in_order = sorted(range(len(records)), key=lambda k: (records[k].get("date", ""), records[k]["set_id"]))
        shuffled = np.random.default_rng(2011).permutation(len(records)).tolist()
        half = [records[k] for k in (in_order if "date" in records[0] else shuffled)][: len(records) // 2]
        n, numbers = len(half), np.arange(len(half))
        for k in range(3 if "date" in half[0] else 5):
            cut = (6 + k) * n // 10
            test = numbers[cut : cut + n // 5] if "date" in half[0] else numbers[k::5]
            train = numbers[:cut] if "date" in half[0] else np.setdiff1d(numbers, test)
            yield (
                f"{name} {k}",
                *([half[i]["pages"] for i in train], np.array([half[i]["label"] for i in train])),
                *([half[i]["pages"] for i in test], np.array([half[i]["label"] for i in test])),
            )


def accuracies(train: Any, y: Any, test: Any, y_test: Any, wanted: list[str]) -> Iterator[tuple[str, float, float]]:
    """Yield name, accuracy and seconds of every setting."""
    for name, (words, settings) in TRIED.items():
        if wanted and name not in wanted:
            continue
        begin = time.perf_counter()
        vectors = PageWords(**{"pairs": True} | words)
        model = make_pipeline(vectors, ClassSetRBMCV(random_state=0, **FIXED | settings)).fit(train, y)
        yield name, float((model.predict(test) == y_test).mean()), time.perf_counter() - begin
    for name, make in SVM_INPUTS.items():
        if wanted and name not in wanted:
            continue
        begin, inputs = time.perf_counter(), make()
        X, X_test = inputs.fit_transform(train, y), inputs.transform(test)
        scores = [float((LinearSVC(C=C).fit(X, y).predict(X_test) == y_test).mean()) for C in CS]
        yield name, max(scores), time.perf_counter() - begin


def main() -> None:
    """Judge every setting on every part, and append the lines to the log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[], help="only this line; may be repeated")
    parser.add_argument("--part", default="", help="only parts whose names begin like this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    is_new = not LOG.exists()
    with LOG.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(["part", "tried", "accuracy", "seconds"])
        for part, *data in parts(options.folder):
            if not part.startswith(options.part):
                continue
            for name, accuracy, seconds in accuracies(*data, options.only):
                writer.writerow([part, name, f"{accuracy:.4f}", f"{seconds:.1f}"])
                file.flush()


if __name__ == "__main__":
    main()
