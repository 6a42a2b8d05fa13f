"""Train the detectors of page types, and try them on pages whose fonts, templates and phrases they have not seen.

The detectors learn from generated pages of style "a", and are tried on pages of style "b", in which all generated mail
is drawn. Words are not read by OCR for training: some of the true words are dropped or misread at random, more of them
in handwriting. The pages of style "b" are read by OCR.

    python lab/experiments/page_types.py [--jobs N]

Writes mail/src/setrbm_mail/data/page_types.safetensors and lab/results/page_types.csv, one line per type: the area
under the ROC curve of its detector, and the share of its pages for which it has the highest score. The strength of the
penalty was not tuned. What the detectors see was changed twice after a look at this table (confidences of OCR left out,
pages without known words added, handwriting measured along slanted lines), so it is optimistic.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from kinds import RESULTS, write_csv
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from setrbm.datasets.mail_plan import HANDWRITTEN, PAGE_TYPES
from setrbm_mail.features.page_types import Detectors, looks_of
from setrbm_mail.features.words import clean_words
from setrbm_mail.generate import draw_page
from setrbm_mail.generate.rasters import draw_raster
from setrbm_mail.generate.scanning import Noise, scan
from setrbm_mail.pages import Page
from setrbm_mail.reading import ocr
from setrbm_mail.reading.layout import layout_of
from setrbm_mail.reading.page import thumbnail_of

N_TRAIN, N_TEST, N_WORDS, MIN_PAGES = 150, 25, 400, 8
PENALTY = 0.01
DPI = 200.0
FILE = Path(__file__).parents[2] / "mail" / "src" / "setrbm_mail" / "data" / "page_types.safetensors"


def misread(words: list[str], share: float, rng: np.random.Generator) -> list[str]:
    """Return words of which a share is lost or has one other letter, half and half."""
    kept = []
    for word in words:
        drawn = rng.random()
        if drawn < share / 2:
            continue
        if drawn < share:
            place = rng.integers(len(word))
            word = word[:place] + "abcdefghijklmnopqrstuvwxyz"[rng.integers(26)] + word[place + 1 :]
        kept.append(word)
    return kept


def page(page_type: str, style: str, seed: int, by_ocr: bool) -> Page:
    """Return a page as it would be read."""
    rng = np.random.default_rng([seed, style == "b", list(PAGE_TYPES).index(page_type)])
    canvas = draw_page(page_type, None, style=style, rng=rng)
    level = float(rng.random())
    picture = scan(draw_raster(canvas), Noise(level, rotated=0.0), rng).picture
    if by_ocr:
        found, _ = ocr.read(picture, DPI)
        words, confidences = list(found.words), found.confidences
    else:
        share = 0.6 + 0.35 * rng.random() if page_type == HANDWRITTEN else 0.05 + 0.4 * level
        words = misread(canvas.text.split(), share, rng)
        confidences = np.full(len(words), 0.95 - 0.6 * share, np.float32)
    height, width = picture.shape
    return Page(
        tuple(words), np.zeros((len(words), 4), np.int32), confidences, "OCR", width, height, DPI, 0,
        thumbnail_of(picture), layout_of(picture, DPI),
    )  # fmt: skip


def trained(pages: list[Page], types: np.ndarray) -> Detectors:
    """Return detectors, one against the rest each."""
    seen = Counter(word for one in pages for word in set(clean_words(one.words)) if len(word) > 2)
    words = tuple(sorted(word for word, n in seen.most_common(N_WORDS) if n >= MIN_PAGES))
    X = looks_of(pages, words)
    # Pages of others have other words: half of what is learned from has none, so that this says nothing.
    wordless = X.copy()
    wordless[:, X.shape[1] - len(words) :] = 0.0
    X, types = np.concatenate([X, wordless]), np.concatenate([types, types])
    center, scale = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-3)
    fits = [
        LogisticRegression(C=PENALTY, class_weight="balanced", max_iter=2000).fit((X - center) / scale, types == k)
        for k in range(len(PAGE_TYPES))
    ]
    weights, bias = np.column_stack([fit.coef_[0] for fit in fits]), np.array([fit.intercept_[0] for fit in fits])
    return Detectors(words, center, scale, weights, bias)


def judged(detectors: Detectors, pages: list[Page], types: np.ndarray) -> list[dict[str, Any]]:
    """Return a line for each type."""
    scores = detectors.scores(pages)
    best = scores.argmax(axis=1)
    return [
        {
            "type": name,
            "pages": int((types == k).sum()),
            "ROC AUC": round(float(roc_auc_score(types == k, scores[:, k])), 4),
            "highest score": round(float((best[types == k] == k).mean()), 3),
            "mistaken for": Counter(list(PAGE_TYPES)[i] for i in best[types == k] if i != k).most_common(1),
        }
        for k, name in enumerate(PAGE_TYPES)
    ]


def main() -> None:
    """Train, try and write the detectors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    run = Parallel(parser.parse_args().jobs)
    parts = []
    for style, n, by_ocr in (("a", N_TRAIN, False), ("b", N_TEST, True)):
        tasks = list(product(PAGE_TYPES, range(n)))
        pages = run(delayed(page)(name, style, seed, by_ocr) for name, seed in tasks)
        parts.append((pages, np.array([list(PAGE_TYPES).index(name) for name, _ in tasks])))
    detectors = trained(*parts[0])
    lines = judged(detectors, *parts[1])
    arrays = {name: getattr(detectors, name).astype(np.float32) for name in ("center", "scale", "weights", "bias")}
    names = {"words": json.dumps(detectors.words), "types": json.dumps(list(PAGE_TYPES))}
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, str(FILE), names)
    for line in lines:
        line["mistaken for"] = "; ".join(f"{name} ({n})" for name, n in line["mistaken for"])
        print(line)
    write_csv(RESULTS / "page_types.csv", lines)


if __name__ == "__main__":
    main()
