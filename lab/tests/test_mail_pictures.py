"""Mail from page images: generated and read once, kept whole, and a data set of Table 2."""

import numpy as np
import pytest

from setrbm_lab import mail_data, mail_pictures, results
from setrbm_lab.mail_data import PICTURES, check_collections, load_mail
from setrbm_lab.mail_pictures import load_pictures, make_pictures, pictures_path
from setrbm_mail import read_documents
from test_reproduce import run


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """Few pages, in a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(mail_pictures, "N_QUICK", 40)
    monkeypatch.setattr(mail_pictures, "SETTINGS", {"n_classes": 3, "pages_per_set": 1.0, "born_digital": 1.0})


def test_mail_is_generated_and_read_once_and_kept_as_it_was_read(tmp_path):
    seen = []
    make_pictures(True, on_piece=seen.append)
    assert seen == list(range(1, 41))
    documents, y = load_pictures(True)
    folder = tmp_path / "setrbm" / "mail-pictures"
    (mail_folder,) = folder.glob("40-????????")
    again = read_documents(mail_folder, documents.ids.tolist(), cache=folder / "pages.sqlite")
    assert [[page.to_json() for page in one.pages] for one in documents] == [
        [page.to_json() for page in one.pages] for one in again
    ]
    manifest = (mail_folder / "manifest.csv").read_text(encoding="utf-8")
    assert all(f"{name},{label}," in manifest for name, label in zip(documents.ids, y, strict=True))
    # A second call does nothing.
    make_pictures(True, on_piece=seen.append)
    assert len(seen) == 40
    mail, labels = load_mail(PICTURES, quick=True)
    assert len(mail.texts) == len(mail.words) == 40
    assert labels.tolist() == y.tolist()


@pytest.mark.parametrize(("name", "value"), [("SEED", 5), ("SETTINGS", {"n_classes": 4}), ("VERSION", -1)])
def test_mail_that_was_made_or_read_differently_is_not_used(name, value, monkeypatch):
    before = pictures_path(True)
    monkeypatch.setattr(mail_pictures, name, value)
    assert pictures_path(True) != before


def test_mail_that_was_not_read_is_not_there():
    assert not pictures_path(True).exists()
    with pytest.raises(FileNotFoundError, match="must be read first: scripts/reproduce table2 -d pictures"):
        load_mail(PICTURES, quick=True)


def test_without_the_extra_the_message_says_what_to_install(monkeypatch):
    def missing():
        raise ImportError("Reading documents needs packages that are not installed.")

    monkeypatch.setattr(mail_data, "check_installed", missing)
    with pytest.raises(ValueError, match=r"'pictures' is generated and read\. Reading documents needs packages"):
        check_collections([PICTURES])
    check_collections(["DsUs"])


def test_table2_reads_the_mail_and_classifies_it(tmp_path):
    arguments = ("-d", "pictures", "-m", "tf-idf, linear SVM", "-o", tmp_path / "out", "--jobs", 1)
    found = run("reproduce", "table2", "--quick", *arguments)
    assert found.exit_code == 0, found.stderr
    folds = results.read(tmp_path / "out" / "table2.csv")
    assert {(one.system, one.dataset) for one in folds} == {("tf-idf, linear SVM", PICTURES)}
    # Page texts say the class: chance is a third.
    accuracy = 100 * np.mean([one.accuracy for one in folds])
    assert accuracy > 50
    page = (tmp_path / "out" / "table2.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("| tf-idf, linear SVM | - | "))
    assert f"{accuracy:.1f} ± " in line
