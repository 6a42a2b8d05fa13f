"""The data sets of Table 2: generated collections with the shape of the paper's mail, real ones, and page images.

The real collections are read from the data folder and verified by a digest; the paper's own mail is not public.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from setrbm.bags import Bags, Labels
from setrbm.datasets import make_mail_like
from setrbm.datasets.benchmarks import data_folder
from setrbm.text import PageTexts
from setrbm_lab.mail_pictures import SEED, load_pictures
from setrbm_lab.paper import MAIL_DATASETS
from setrbm_mail.features.document_features import texts_of
from setrbm_mail.pages import Documents
from setrbm_mail.reading.documents import check_installed

# The number of sets of each data set in a quick run.
N_QUICK = 600
FOLDERS = ("", "mail")


@dataclass(frozen=True)
class TextCollection:
    """A real collection of documents with pages of text.

    Attributes
    ----------
    name, title : str
    file : str
        JSON lines with the fields set_id, label, pages and, optionally, date.
    digest : str
        SHA-256 of the lines, uncompressed.
    """

    name: str
    title: str
    file: str
    digest: str

    def path(self, data_home: str | os.PathLike[str] | None = None) -> Path | None:
        """Return the file in the data folder; None if it is not there."""
        folder = data_folder(data_home)
        return next((folder / name for name in self.places if (folder / name).is_file()), None)

    @property
    def places(self) -> list[str]:
        """Where the file may be in the data folder."""
        return [os.path.join(folder, self.file) for folder in FOLDERS]


COLLECTIONS = {
    collection.name: collection
    for collection in (
        TextCollection(
            "threads", "20 Newsgroups threads", "ng20_threads.jsonl.gz",
            "6e9df0805c34e3028bc2537d92dd3e491445c2e023655e8ab9a3123c18e0d034",
        ),
        TextCollection(
            "debian", "Debian packages", "debian_packages.jsonl.gz",
            "84bf04a3ec0b1e0bbdf409c9c2191d6d72b2513489b38ef5ff0aecba9e3d74ed",
        ),
    )
}  # fmt: skip
PICTURES = "pictures"
ALL = (*MAIL_DATASETS, *COLLECTIONS, PICTURES)
# Names of the data sets, short as heads of columns, and in full.
HEADS = {name: name for name in MAIL_DATASETS} | {"threads": "threads", "debian": "packages", PICTURES: "page images"}
TITLES = {
    **{name: f"{name} (generated)" for name in MAIL_DATASETS},
    **{collection.name: collection.title for collection in COLLECTIONS.values()},
    PICTURES: "Page images (generated)",
}


@dataclass(frozen=True)
class Mail:
    """A data set in the two forms that systems take.

    Attributes
    ----------
    words : Bags, PageTexts or Documents
        For the paper's rows: the pages as vectors, where these are given, else as texts or as they were read.
    texts : PageTexts
        For rows that take texts. Of generated mail these are the words of each page, separated by spaces.
    """

    words: Bags | PageTexts | Documents
    texts: PageTexts


def find_dataset(name: str) -> str:
    """Return the name of a data set, ignoring case; raise ValueError if it is unknown."""
    known = {dataset.lower(): dataset for dataset in ALL}
    if name.lower() not in known:
        raise ValueError(f"The data set of table2 must be one of {', '.join(ALL)}. Got {name!r}.")
    return known[name.lower()]


def check_collections(names: Sequence[str], data_home: str | os.PathLike[str] | None = None) -> None:
    """Raise ValueError if one of these data sets is not in the data folder, or cannot be made."""
    if PICTURES in names:
        try:
            check_installed()
        except ImportError as error:
            raise ValueError(f"The data set {PICTURES!r} is generated and read. {error}") from None
    absent = [COLLECTIONS[name] for name in names if name in COLLECTIONS and COLLECTIONS[name].path(data_home) is None]
    if absent:
        here = [name for name in names if name not in {collection.name for collection in absent}]
        without = f" Or run without them: {' '.join(f'-d {name}' for name in here)}." if here else ""
        files = "; ".join(f"{collection.name}: {' or '.join(collection.places)}" for collection in absent)
        raise ValueError(
            f"These data sets must be in the data folder {str(data_folder(data_home))!r}. There is no file of {files}. "
            f"Put them there, or name another folder with --data-home.{without}"
        )


def load_mail(name: str, quick: bool = False, data_home: str | os.PathLike[str] | None = None) -> tuple[Mail, Labels]:
    """Return a data set of Table 2 and its labels.

    Parameters
    ----------
    name : {"DsUs", "DsDe", "threads", "debian", "pictures"}
        The sets of "threads" are in the order of their dates, the others in the order of their file. "pictures" must
        have been read: see ``mail_pictures.make_pictures``.
    quick : bool
        Whether to return only ``N_QUICK`` sets, and fewer of "pictures".
    data_home : path, optional
        The data folder, as for ``setrbm.datasets.load_benchmark``.
    """
    if name in COLLECTIONS:
        texts = _read(COLLECTIONS[name], data_home)
        # Evenly spaced sets, so that every class has some early and some late.
        texts = texts[np.arange(N_QUICK) * len(texts) // N_QUICK] if quick and len(texts) > N_QUICK else texts
        return Mail(texts, texts), np.asarray(texts.y)
    if name == PICTURES:
        documents, y = load_pictures(quick)
        return Mail(documents, PageTexts(texts_of(documents), y, documents.ids)), y
    bags, y = make_mail_like(N_QUICK if quick else None, name, random_state=SEED)
    return Mail(bags, words_as_texts(bags, y)), y


def words_as_texts(bags: Bags, y: Labels) -> PageTexts:
    """Return the words of each page of generated mail, separated by spaces; other features are left out."""
    names = np.asarray(bags.feature_names, dtype=object)
    n_words = sum(name.startswith("word") for name in names)
    names[n_words:] = ""
    pages = [
        " ".join(names[bags.X.indices[first:last]]).strip()
        for first, last in zip(bags.X.indptr[:-1], bags.X.indptr[1:], strict=True)
    ]
    documents = [pages[first:last] for first, last in zip(bags.offsets[:-1], bags.offsets[1:], strict=True)]
    return PageTexts(documents, y, np.arange(len(bags)))


def _read(collection: TextCollection, data_home: str | os.PathLike[str] | None) -> PageTexts:
    """Return a real collection, in the order of dates if it has them."""
    if (path := collection.path(data_home)) is None:
        raise FileNotFoundError(
            f"The data set {collection.name!r} must be in the data folder. There is none of "
            f"{', '.join(collection.places)} in {str(data_folder(data_home))!r}."
        )
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise ValueError(f"{str(path)!r} must be a gzipped file. Got something else: {error}.") from None
    if (digest := hashlib.sha256(content).hexdigest()) != collection.digest:
        raise ValueError(
            f"The data set {collection.name!r} must have the digest {collection.digest}. Got {digest} for "
            f"{str(path)!r}: it is another version of the file."
        )
    records: list[dict[str, Any]] = [json.loads(line) for line in content.splitlines()]
    if "date" in records[0]:
        records.sort(key=lambda record: (record["date"], record["set_id"]))
    y, ids = (np.array([record[field] for record in records], dtype=object) for field in ("label", "set_id"))
    return PageTexts([record["pages"] for record in records], y, ids)
