"""Why is the SVM on pooled features so good on the newsgroups? Because a word it never saw gives the class away.

Counts, for each newsgroups data set, the features that occur in one set only and the class of that set, and how many
test sets of each class have a feature that no training set has, over ten folds. The accuracy of the SVM is measured on
the same folds, with these features and with zeros instead of them in the test sets.

    python lab/experiments/rare_words.py --data-home FOLDER

Writes lab/results/rare_words.csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from kinds import RESULTS, load, write_csv
from recipe import SEED

from setrbm import Bags
from setrbm.evaluation.splits import repeated_folds
from setrbm_lab.systems import ROWS

DATASETS = ("newsgroups1", "newsgroups2", "newsgroups3")


def counted(name: str, data_home: Path | None) -> dict[str, Any]:
    """Return the counts of one data set."""
    bags, y = load(name, data_home)
    occurs = np.logical_or.reduceat(bags.X != 0.0, bags.offsets[:-1])
    rare = occurs.sum(axis=0) == 1
    unseen, accuracies = np.zeros(len(y), dtype=bool), []
    for split in repeated_folds(y, 10, 1, SEED):
        seen = occurs[split.train].any(axis=0)
        unseen[split.test] = occurs[split.test][:, ~seen].any(axis=1)
        model = ROWS["Pooled SVM"].make(split.fold, False, "cpu", 1).fit(bags[split.train], y[split.train])
        without = Bags(np.where(seen, bags.X, 0.0), bags.offsets)
        accuracies.append([model.score(sets[split.test], y[split.test]) for sets in (bags, without)])
    accuracy, accuracy_without = 100.0 * np.mean(accuracies, axis=0)
    return {
        "dataset": name,
        "features": len(rare),
        "features in one set only": int(rare.sum()),
        "of these in a positive set": int(occurs[y == 1][:, rare].sum()),
        "positive test sets with an unseen feature": int(unseen[y == 1].sum()),
        "negative test sets with an unseen feature": int(unseen[y == 0].sum()),
        "accuracy of the pooled SVM": round(float(accuracy), 1),
        "without unseen features": round(float(accuracy_without), 1),
    }


def main() -> None:
    """Count in every data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", type=Path)
    options = parser.parse_args()
    write_csv(RESULTS / "rare_words.csv", [counted(name, options.data_home) for name in DATASETS])


if __name__ == "__main__":
    main()
