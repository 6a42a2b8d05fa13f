"""How hard should made-up mail be? Measures pooled baselines for several shares of evidence.

Only baselines that pool each set into one vector are trained here, so that no model of sets had a part in setting the
difficulty. The wanted accuracy is that of the paper's pooled baseline (ClassRBM-poolIn: 82.54 on DsDe, 87.97 on DsUs).
Words and values of a set are pooled by their maximum; four fifths of the mail are for training.

    python lab/experiments/mail_difficulty.py > lab/results/mail_difficulty.csv     (ten minutes on two cores)
"""

from __future__ import annotations

import csv
import sys

from joblib import Parallel, delayed
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from setrbm.datasets import make_mail_like
from setrbm.datasets.mail_plan import ONE_PAGE, TWO_PAGES
from setrbm.estimators import InputPooling

# The mail of the tables has other random states.
SEED = 1000
SHARES = {"DsDe": (0.12, 0.16, 0.2, 0.25, 0.3), "DsUs": (0.12, 0.16, 0.25, 0.35, 0.5)}
BASELINES = {
    "logistic regression on maxima": (["max"], LogisticRegression(C=0.003, max_iter=100)),
    "linear SVM on maxima": (["max"], LinearSVC(C=0.001)),
    "linear SVM on tf-idf of sums": (["sum"], make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(C=0.1))),
}


def accuracies(collection: str, share: float) -> list[list[object]]:
    """Return the accuracy of each baseline on all test mail, and on mail with one and with two pages of evidence."""
    bags, y, plan = make_mail_like(collection=collection, random_state=SEED, return_plan=True, evidence_share=share)
    train, test = slice(0, len(y) * 4 // 5), slice(len(y) * 4 // 5, None)
    lines = []
    for name, (statistics, classifier) in BASELINES.items():
        baseline = make_pipeline(InputPooling(statistics), classifier)
        right = baseline.fit(bags[train], y[train]).predict(bags[test]) == y[test]
        parts = [right, *(right[plan.kinds[test] == kind] for kind in (ONE_PAGE, TWO_PAGES))]
        lines.append([collection, share, name, *(f"{part.mean():.4f}" for part in parts)])
    return lines


def main() -> None:
    """Write the accuracies for each share of evidence."""
    cases = [(collection, share) for collection, shares in SHARES.items() for share in shares]
    found = Parallel(n_jobs=2)(delayed(accuracies)(*case) for case in cases)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["collection", "evidence_share", "baseline", "accuracy", "accuracy_one_page", "accuracy_two_pages"])
    writer.writerows(line for lines in found for line in lines)


if __name__ == "__main__":
    main()
