"""Mail from page images: generated mail as scanned files, read by OCR once and kept in the user's cache.

Reading a thousand pieces takes a quarter of an hour on two cores. After a kill, only the other pages are read.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from setrbm.bags import Labels
from setrbm.datasets.benchmarks import cache_folder
from setrbm.tools.files import replacing
from setrbm_mail.pages import Document, Documents, Page
from setrbm_mail.reading.settings import VERSION

# The seed of the generated mail.
SEED = 2011
# The size that two cores can read in a quarter of an hour: 3,000 pages.
N_SETS, N_QUICK = 1_000, 60
# Six classes, as in the paper's DsUs, and the whole range of noise.
SETTINGS: dict[str, Any] = {"collection": "DsUs", "pages_per_set": 3.0, "noise": (0.0, 1.0)}


def pictures_path(quick: bool) -> Path:
    """Return the file with the pages that were read; its name identifies the mail and how it was read."""
    about = hashlib.sha256(json.dumps([SEED, SETTINGS, VERSION]).encode()).hexdigest()[:8]
    return cache_folder() / "mail-pictures" / f"{n_sets_of(quick)}-{about}-read.jsonl.gz"


def n_sets_of(quick: bool) -> int:
    """Return the number of documents."""
    return N_QUICK if quick else N_SETS


def make_pictures(
    quick: bool, on_piece: Callable[[int], None] | None = None, on_progress: Callable[[Any], None] | None = None
) -> None:
    """Generate the mail and read it, unless that was done before.

    Parameters
    ----------
    quick : bool
    on_piece, on_progress : callable, optional
        As for ``generate_mail`` and ``read_documents``.
    """
    path = pictures_path(quick)
    if path.exists():
        return
    from setrbm_mail import read_documents
    from setrbm_mail.generate import generate_mail

    mail = path.with_name(path.name.removesuffix("-read.jsonl.gz"))
    manifest = generate_mail(mail, n_sets_of(quick), random_state=SEED, on_piece=on_piece, **SETTINGS)
    documents = read_documents(mail, manifest.documents, cache=path.parent / "pages.sqlite", on_progress=on_progress)
    with replacing(path) as file, gzip.open(file, "wt", encoding="utf-8", compresslevel=1) as lines:
        for document, label in zip(documents, manifest.labels, strict=True):
            pages = [page.to_json() for page in document.pages]
            lines.write(json.dumps({"id": document.id, "label": label, "pages": pages}) + "\n")


def load_pictures(quick: bool) -> tuple[Documents, Labels]:
    """Return the documents as they were read, and their labels; raise FileNotFoundError if they were not."""
    path = pictures_path(quick)
    if not path.exists():
        raise FileNotFoundError(
            f"The mail from page images must be read first: scripts/reproduce table2 -d pictures. There is no "
            f"{str(path)!r}."
        )
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    documents = [Document(record["id"], [Page.from_json(page) for page in record["pages"]], []) for record in records]
    return Documents(documents), np.array([record["label"] for record in records], dtype=object)
