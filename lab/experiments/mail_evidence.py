"""Does the explanation find the page that shows the class? Compares it with the plan of made-up mail.

ClassSetRBM XOR* learns from 14,593 or 16,808 pieces of mail and explains 3,000 others. Of those of two or more pages
that are classified correctly, how often is the first page of the explanation (the one whose removal costs most) one of
the pages that show the class? Mail that shows its class nowhere counts as missed. Chance is the share of such pages.

    python lab/experiments/mail_evidence.py > lab/results/mail_evidence.csv     (a minute)
"""

from __future__ import annotations

import csv
import sys
from itertools import pairwise

import numpy as np
from scipy.stats import binomtest

from setrbm import ClassSetRBM
from setrbm.datasets import make_mail_like
from setrbm.datasets.mail_like import COLLECTIONS

N_TEST = 3_000
SETTINGS = {"learning_rate": 0.03, "init_scale": 0.1, "max_epochs": 30, "early_stopping": False, "scale": None}


def first_pages(drop: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the position of the page with the largest drop in each piece of mail."""
    return np.array([start + drop[start:stop].argmax() for start, stop in pairwise(offsets.tolist())])


def main() -> None:
    """Write one line per collection."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["collection", "accuracy", "mails", "first_page_is_evidence", "low", "high", "chance"])
    for collection in COLLECTIONS:
        model = ClassSetRBM(random_state=0, **SETTINGS).fit(*make_mail_like(collection=collection, random_state=0))
        bags, y, plan = make_mail_like(N_TEST, collection, random_state=1, return_plan=True)
        right = model.predict(bags) == y
        counted = np.flatnonzero(right & (bags.sizes >= 2))
        found = plan.evidence[first_pages(model.explain(bags).drop, bags.offsets)][counted]
        chance = (np.add.reduceat(plan.evidence, bags.offsets[:-1]) / bags.sizes)[counted].mean()
        interval = binomtest(int(found.sum()), len(found)).proportion_ci()
        shares = (found.mean(), interval.low, interval.high, chance)
        writer.writerow([collection, f"{right.mean():.4f}", len(counted), *(f"{share:.4f}" for share in shares)])


if __name__ == "__main__":
    main()
