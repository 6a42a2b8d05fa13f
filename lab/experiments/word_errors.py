"""How many words does OCR misread, by kind of page and noise of the scan?

Generated mail is scanned at five levels of noise and read. The word error rate of a page is the edit distance between
the true words and those that were read, in their order, divided by the number of true words: words that are missing,
wrong or added all count. Parts of a page that are read in another order than they were written in count as errors too,
so the share of the true words that were not read, whatever their order, is reported as well. Pages with fewer than 20
words are left out.

    python lab/experiments/word_errors.py [--sets 60]

Writes lab/results/word_errors.csv, one line per page.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from kinds import RESULTS, write_csv

from setrbm_mail import read_documents
from setrbm_mail.generate import generate_mail

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
FEWEST_WORDS = 20


def edit_distance(true: Sequence[str], read: Sequence[str]) -> int:
    """Return the smallest number of words to insert, delete or replace."""
    codes = {word: code for code, word in enumerate({*true, *read})}
    target = np.array([codes[word] for word in read], dtype=np.int64)
    steps = np.arange(len(read) + 1)
    row = steps.copy()
    for k, word in enumerate(true, start=1):
        best = np.concatenate([[k], np.minimum(row[:-1] + (target != codes[word]), row[1:] + 1)])
        # Insertions: the smallest of all entries to the left, plus the distance to them.
        row = np.minimum.accumulate(best - steps) + steps
    return int(row[-1])


def pages_of(level: float, n_sets: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Generate and read mail with one level of noise; yield the error rate of each page."""
    generate_mail(
        folder, n_sets, collection="DsUs", pages_per_set=3.0, formats=("tiff",), noise=(level, level), random_state=7
    )
    truth = {line["document"]: line["pages"] for line in map(json.loads, (folder / "truth.jsonl").open())}
    for document in read_documents(folder, list(truth)):
        for page, true in zip(document.pages, truth[document.id], strict=True):
            words = true["text"].split()
            if len(words) >= FEWEST_WORDS:
                n_lost = (Counter(words) - Counter(page.words)).total()
                yield {
                    "noise": level, "type": true["type"], "words": len(words),
                    "word_error_rate": round(edit_distance(words, page.words) / len(words), 4),
                    "share_lost": round(n_lost / len(words), 4),
                }  # fmt: skip


def main() -> None:
    """Generate, read and write the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=60)
    options = parser.parse_args()
    lines: list[dict[str, Any]] = []
    for level in LEVELS:
        with tempfile.TemporaryDirectory() as folder:
            lines += pages_of(level, options.sets, Path(folder))
        print(level, len(lines), flush=True)
    write_csv(RESULTS / "word_errors.csv", lines)


if __name__ == "__main__":
    main()
