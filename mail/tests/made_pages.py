"""Pages and documents made by hand, without files or OCR."""

import numpy as np

from setrbm_mail.pages import LAYOUT, THUMBNAIL, Document, Page, Place, Problem


def page(text="", dark=0.0, layout=None, method="OCR", seed=0):
    """Return a page with these words, each 40 pixels wide on one line."""
    words = tuple(text.split())
    boxes = np.array([(50 * k, 100, 50 * k + 40, 120) for k in range(len(words))], np.int32).reshape(-1, 4)
    thumbnail = np.full(THUMBNAIL, 255 - round(255 * dark), np.uint8)
    layout = np.zeros(len(LAYOUT)) if layout is None else layout
    return Page(
        words, boxes, np.full(len(words), 0.9, np.float32), method, 1654, 2339, 200.0, 0, thumbnail,
        np.asarray(layout, np.float32),
    )  # fmt: skip


def document(name, *pages, problems=()):
    """Return a document of these pages."""
    places = [Place(name, (), "0" * 64, k + 1, f"{name}, page {k + 1}") for k in range(len(pages))]
    return Document(name, list(pages), places, [Problem(name, name, reason) for reason in problems])


TOPICS = {
    "cancellation": "please cancel my contract termination notice ends",
    "damage": "water damage broken pipe flooded cellar repair",
    "address": "moved new address street city since",
}
FILLER = "dear sir madam regards sincerely yours thank reading general conditions apply page number office open monday"


def mail(n, seed=0):
    """Return documents of three classes, one page of each of which shows the class, and the classes."""
    rng = np.random.default_rng(seed)
    labels = [list(TOPICS)[k % len(TOPICS)] for k in range(n)]
    documents = []
    for k, label in enumerate(labels):
        pages = [
            page(" ".join(rng.choice(FILLER.split(), 12)), dark=rng.random() / 10) for _ in range(rng.integers(1, 4))
        ]
        told = " ".join([*rng.choice(TOPICS[label].split(), 4), *rng.choice(FILLER.split(), 6)])
        pages[rng.integers(len(pages))] = page(told, dark=rng.random() / 10)
        documents.append(document(f"piece-{k:03d}.pdf", *pages))
    return documents, np.array(labels)
