"""The data sets of Table 2: generated mail as words and as texts, and real collections that are verified."""

import gzip
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from setrbm.datasets import make_mail_like
from setrbm.text import PageWords
from setrbm_lab import mail_data
from setrbm_lab.mail_data import (
    COLLECTIONS,
    N_QUICK,
    check_collections,
    find_dataset,
    load_mail,
    words_as_texts,
)

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("SETRBM_DATA") or ROOT.parent / "shared" / "data")
RECORDS = [
    {"set_id": "b", "label": "x", "date": "1993-05-01", "pages": ["late"]},
    {"set_id": "c", "label": "y", "date": "1993-04-01", "pages": ["one", "two"]},
    {"set_id": "a", "label": "x", "date": "1993-05-01", "pages": ["later"]},
]


@pytest.fixture
def threads(tmp_path, monkeypatch):
    """A small collection in a data folder."""
    content = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
    known = replace(COLLECTIONS["threads"], digest=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(mail_data.COLLECTIONS, "threads", known)
    (tmp_path / "mail").mkdir()
    path = tmp_path / "mail" / known.file
    path.write_bytes(gzip.compress(content))
    return path


def test_threads_are_in_the_order_of_dates_then_of_ids(threads, tmp_path):
    mail, y = load_mail("threads", data_home=tmp_path)
    assert mail.texts.ids.tolist() == ["c", "a", "b"]
    assert y.tolist() == ["y", "x", "x"]
    assert mail.texts.documents[0] == ["one", "two"]
    assert mail.words is mail.texts


def test_a_file_directly_in_the_data_folder_is_found_too(threads, tmp_path):
    threads.rename(tmp_path / threads.name)
    assert len(load_mail("threads", data_home=tmp_path)[1]) == 3


def test_another_file_is_refused(threads, tmp_path):
    threads.write_bytes(gzip.compress(b'{"set_id": 1}\n'))
    with pytest.raises(ValueError, match=r"'threads' must have the digest .*Got .*: it is another version of the file"):
        load_mail("threads", data_home=tmp_path)
    threads.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="must be a gzipped file. Got something else"):
        load_mail("threads", data_home=tmp_path)


def test_missing_files_are_named_with_where_they_are_looked_for(threads, tmp_path):
    check_collections(["DsUs", "threads"], tmp_path)
    with pytest.raises(ValueError, match=r"must be in the data folder '.*'\. There is no file of debian: ") as error:
        check_collections(["DsUs", "threads", "debian"], tmp_path)
    assert str(tmp_path) in str(error.value)
    assert f"debian_packages.jsonl.gz or {os.path.join('mail', 'debian_packages.jsonl.gz')}." in str(error.value)
    assert "Or run without them: -d DsUs -d threads." in str(error.value)
    with pytest.raises(FileNotFoundError, match="'debian' must be in the data folder. There is none of"):
        load_mail("debian", data_home=tmp_path)


def test_names_are_found_in_any_case():
    assert [find_dataset(name) for name in ("dsus", "DSDE", "Threads")] == ["DsUs", "DsDe", "threads"]
    with pytest.raises(ValueError, match="must be one of DsUs, DsDe, threads, debian, pictures. Got 'musk1'"):
        find_dataset("musk1")


def test_the_texts_of_generated_mail_have_its_words_and_nothing_else():
    bags, y = make_mail_like(40, random_state=0)
    texts = words_as_texts(bags, y)
    assert (len(texts), texts.n_pages) == (40, bags.n_vectors)
    # Turned back to binary words, they are the words of the sets.
    words = PageWords(max_words=10_000, min_sets=1, weights="binary", pairs=False)
    back = words.fit_transform(texts)
    columns = [int(name.removeprefix("word")) for name in words.words_]
    assert (back.offsets == bags.offsets).all()
    assert (bags.X[:, columns] != back.X).nnz == 0
    assert bags.X[:, :10_000].nnz == back.X.nnz


def test_quick_data_are_small_and_generated_with_the_same_seed():
    mail, y = load_mail("DsDe", quick=True)
    assert len(mail.words) == len(mail.texts) == len(y) == N_QUICK
    again, _ = make_mail_like(N_QUICK, "DsDe", random_state=2011)
    assert (mail.words.X != again.X).nnz == 0


@pytest.mark.parametrize("name", COLLECTIONS)
def test_the_collections_have_the_digests_on_record(name):
    if COLLECTIONS[name].path(DATA) is None:
        pytest.skip(f"{name} is not here; set SETRBM_DATA to its folder")
    mail, y = load_mail(name, data_home=DATA)
    quick, _ = load_mail(name, quick=True, data_home=DATA)
    assert len(mail.texts) == len(y) == {"threads": 7608, "debian": 3440}[name]
    assert len(quick.texts) == N_QUICK
    ids = mail.texts.ids.tolist()
    places = [ids.index(one) for one in quick.texts.ids]
    assert places == sorted(places)
    assert len(np.unique(quick.texts.y)) == len(np.unique(y))
