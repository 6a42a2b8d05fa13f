"""The classes of documents: from folders, from a manifest, and what is wrong with either."""

import os

import pytest
from PIL import Image

from setrbm_mail.labels import labels_of, read_manifest


def write(path, content=b"%PDF-1.4"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_folders_are_classes(tmp_path):
    for name in ("bill/b.pdf", "bill/a.pdf", "claim/deep/c.pdf"):
        write(tmp_path / name)
    found = labels_of(tmp_path)
    assert found.by_folder
    assert list(found.classes.items()) == [
        ("bill/a.pdf", "bill"),
        ("bill/b.pdf", "bill"),
        ("claim/deep/c.pdf", "claim"),
    ]


def test_pictures_directly_in_a_class_are_documents_and_folders_of_pictures_below_it_too(tmp_path):
    (tmp_path / "bill" / "piece").mkdir(parents=True)
    for name in ("bill/one.png", "bill/two.png", "bill/piece/p1.png", "bill/piece/p2.png"):
        Image.new("L", (8, 8)).save(tmp_path / name)
    assert set(labels_of(tmp_path).classes) == {"bill/one.png", "bill/two.png", "bill/piece"}


def test_a_manifest_comes_before_folders(tmp_path):
    write(tmp_path / "bill" / "a.pdf")
    (tmp_path / "manifest.csv").write_text("document,label,other\nbill/a.pdf,claim,x\n")
    found = labels_of(tmp_path)
    assert (found.classes, found.by_folder) == ({"bill/a.pdf": "claim"}, False)
    (tmp_path / "mine.csv").write_text("document,label\nbill/a.pdf,mine\n")
    assert labels_of(tmp_path, tmp_path / "mine.csv").classes == {"bill/a.pdf": "mine"}


def test_entries_that_are_no_documents_are_named(tmp_path):
    write(tmp_path / "bill" / "a.pdf")
    (tmp_path / "bill" / "out.pdf").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "bill" / "pipe.pdf")
    found = labels_of(tmp_path)
    assert found.classes == {"bill/a.pdf": "bill"}
    assert sorted((one.document, one.reason) for one in found.problems) == [
        ("bill/out.pdf", "it is a symbolic link out of the folder; such links are not followed"),
        ("bill/pipe.pdf", "it is neither a file nor a folder"),
    ]


def test_problems_are_told_in_the_order_of_their_paths(tmp_path):
    names = ["bill/2.pdf", "bill/10.pdf", "bill/old/1.pdf", "claim/1.pdf"]
    for name in reversed(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to("/etc/passwd")
    write(tmp_path / "bill" / "a.pdf")
    assert [one.document for one in labels_of(tmp_path).problems] == names


def test_a_manifest_that_is_a_link_out_of_the_folder_is_refused(tmp_path):
    folder, manifest = tmp_path / "mail", tmp_path / "outside.csv"
    write(folder / "bill" / "a.pdf")
    manifest.write_text("document,label\nbill/a.pdf,claim\n")
    (folder / "manifest.csv").symlink_to(manifest)
    with pytest.raises(ValueError, match="must be a file in the folder .* is a symbolic link out of it"):
        labels_of(folder)
    # Of the user's own, it is read.
    assert labels_of(folder, manifest).classes == {"bill/a.pdf": "claim"}
    (folder / "manifest.csv").unlink()
    (folder / "manifest.csv").symlink_to("mine.csv")
    (folder / "mine.csv").write_text("document,label\nbill/a.pdf,mine\n")
    assert labels_of(folder).classes == {"bill/a.pdf": "mine"}


def test_documents_without_a_class_are_refused(tmp_path):
    write(tmp_path / "a.pdf")
    with pytest.raises(ValueError, match="must be in one folder per class, or listed in manifest.csv. Got 1 document"):
        labels_of(tmp_path)
    for number in (10, 9, 2, 1):
        write(tmp_path / f"{number}.pdf")
    with pytest.raises(ValueError, match=r"Got 5 documents directly in .*: '1.pdf', '2.pdf', '9.pdf' and 2 more"):
        labels_of(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="documents with classes: one folder per class, or manifest.csv. .* has none"):
        labels_of(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("document,class\na,b\n", "must have the columns 'document' and 'label'. Got 'document', 'class'"),
        ("Document,label\na,b\n", "The nearest is 'Document'"),
        ("", "Got none"),
        ("document,label\n", "must list at least one document"),
        ("document,label\na,\n", "must have a document and a label. Line 2"),
        (f"document,label\na,b\nc,{'d' * 200_000}\n", r"manifest.csv' must be a CSV file. Line 3: field larger than"),
        (f"{'d' * 200_000},label\n", "must be a CSV file. Line 1: field larger than"),
        ("document,label\na,b\na,c\n", "must be listed once. 'a' is listed twice"),
        ("document,label\na,b\na,c\nd,\n", "must be listed once. 'a' is listed twice"),
        ("document,label\nd,\na,b\na,c\n", "must have a document and a label. Line 2"),
    ],
)
def test_a_bad_manifest_is_refused(tmp_path, text, message):
    (tmp_path / "manifest.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_manifest(tmp_path / "manifest.csv")
