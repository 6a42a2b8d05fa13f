"""Folders of generated mail: same bytes for the same arguments, files that open, a manifest that tells the truth."""

import email
import email.policy
import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pytest
from PIL import Image

from generated import evidence_in
from setrbm.datasets.mail_plan import EVIDENCE_TYPES, PAGE_TYPES
from setrbm_mail.generate import CLASSES, Manifest, generate_mail
from setrbm_mail.generate.manifest import COLUMNS
from setrbm_mail.generate.phrases import EVIDENCE

N_SETS = 20
OPTIONS = {"n_classes": 6, "pages_per_set": 2.0, "born_digital": 0.5, "wrong_labels": 0.3, "random_state": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mail")
    generate_mail(folder, N_SETS, **OPTIONS)
    return folder


@pytest.fixture(scope="module")
def truth(folder):
    lines = (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["document"]: line["pages"] for line in map(json.loads, lines)}


def contents(folder):
    """Return the bytes of every file."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def texts_of_pdf(payload):
    with pdfium.PdfDocument(payload) as document:
        return [page.get_textpage().get_text_range() for page in document]


def attachments(path):
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    return message, list(message.iter_attachments())


# --- same arguments, same bytes ---


def test_the_same_arguments_give_the_same_bytes_and_others_do_not(folder, tmp_path):
    generate_mail(tmp_path / "again", N_SETS, **OPTIONS)
    assert contents(tmp_path / "again") == contents(folder)
    generate_mail(tmp_path / "other", N_SETS, **OPTIONS | {"random_state": 4})
    same = [name for name, payload in contents(tmp_path / "other").items() if contents(folder).get(name) == payload]
    assert same == []


def test_after_a_kill_only_missing_documents_are_written(folder, tmp_path):
    copy = tmp_path / "mail"
    shutil.copytree(folder, copy)
    for name in ("piece-00000.pdf", "piece-00003.eml", "manifest.csv", "truth.jsonl"):
        (copy / name).unlink()
    # A kill in the middle of a folder of pictures leaves this.
    (copy / "piece-00002").rename(copy / ".piece-00002.tmp")
    (copy / ".piece-00002.tmp" / "page-001.jpg").write_bytes(b"half a picture")
    before = {path.name: path.stat().st_mtime_ns for path in copy.glob("piece-*")}
    done = []
    generate_mail(copy, N_SETS, on_piece=done.append, **OPTIONS)
    assert contents(copy) == contents(folder)
    after = {path.name: path.stat().st_mtime_ns for path in copy.glob("piece-*")}
    assert {name for name in after if after[name] != before.get(name)} == {
        "piece-00000.pdf", "piece-00002", "piece-00003.eml"
    }  # fmt: skip
    assert done == list(range(1, N_SETS + 1))


def test_a_failed_document_leaves_nothing_under_its_name(tmp_path, monkeypatch):
    from setrbm_mail.generate import containers

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(containers, "pdf_file", fail)
    with pytest.raises(OSError, match="disk full"):
        generate_mail(tmp_path, 6, formats=("pdf",), **OPTIONS)
    assert sorted(os.listdir(tmp_path)) == ["generator.json"]


def test_other_arguments_in_the_same_folder_are_refused(folder):
    with pytest.raises(FileExistsError, match=r"arguments and fonts in generator.json. Got others. Use another folder"):
        generate_mail(folder, N_SETS, **OPTIONS | {"noise": (0.0, 0.5)})


def test_a_folder_with_other_mail_is_refused(tmp_path):
    (tmp_path / "manifest.csv").touch()
    with pytest.raises(FileExistsError, match="must be an empty folder, or one to resume. Got other mail in it"):
        generate_mail(tmp_path, N_SETS)


# --- files ---


def test_every_format_is_used_and_no_name_tells_the_class(folder):
    manifest = Manifest.read(folder)
    suffixes = [Path(name).suffix for name in manifest.documents]
    assert {suffix: suffixes.count(suffix) for suffix in suffixes} == {".pdf": 5, ".tiff": 5, "": 5, ".eml": 5}
    assert [Path(name).stem for name in manifest.documents] == [f"piece-{k:05d}" for k in range(N_SETS)]


def test_pdf_files_have_their_pages_and_text_only_where_born_digital(folder, truth):
    kinds = set()
    for path in folder.glob("*.pdf"):
        texts, pages = texts_of_pdf(path.read_bytes()), truth[path.name]
        assert len(texts) == len(pages)
        for text, page in zip(texts, pages, strict=True):
            assert text.split() == (page["text"].split() if page["digital"] else [])
            kinds.add(page["digital"])
    assert kinds == {True, False}


def test_tiff_files_and_folders_have_one_picture_per_page(folder, truth):
    for name, pages in truth.items():
        path = folder / name
        if path.suffix == ".tiff":
            with Image.open(path) as file:
                assert file.n_frames == len(pages)
                sizes = [seek_size(file, n) for n in range(file.n_frames)]
                assert file.info["dpi"] == (200, 200)
        elif path.is_dir():
            assert sorted(os.listdir(path)) == [f"page-{n:03d}.jpg" for n in range(1, len(pages) + 1)]
            sizes = [Image.open(io.BytesIO((path / one).read_bytes())).size for one in sorted(os.listdir(path))]
        else:
            continue
        assert [width > height for width, height in sizes] == [page["rotation"] in (90, 270) for page in pages]


def seek_size(file, n):
    file.seek(n)
    return file.size


def test_emails_parse_and_their_attachments_have_the_pages(folder, truth):
    for path in folder.glob("*.eml"):
        message, parts = attachments(path)
        texts = []
        for part in parts:
            payload = part.get_payload(decode=True)
            if part.get_content_type() == "application/pdf":
                texts += texts_of_pdf(payload)
            else:
                assert part.get_content_type() == "image/jpeg"
                assert min(Image.open(io.BytesIO(payload)).size) > 1_000
                texts.append("")
        pages = truth[path.name]
        assert [text.split() for text in texts] == [page["text"].split() if page["digital"] else [] for page in pages]
        body = message.get_body().get_content()
        assert 3 <= len(body.split()) <= 30 and "{" not in body
        assert not any(evidence_in(body, "b", k) for k in range(len(CLASSES)))


def test_without_digital_pages_no_file_has_text(tmp_path):
    generate_mail(tmp_path, 6, **OPTIONS | {"born_digital": 0.0, "formats": ("pdf",), "pages_per_set": 1.0})
    for path in tmp_path.glob("*.pdf"):
        assert not any(texts_of_pdf(path.read_bytes()))


# --- what the manifest says ---


@pytest.mark.parametrize("held_out", [False, True])
def test_evidence_is_on_the_pages_that_the_manifest_names_and_on_no_other(tmp_path, held_out):
    part, other = ("test", "train") if held_out else ("train", "test")
    # Plans and words only: no page is drawn as a picture.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setrbm_mail.generate.mail.write_document", lambda *_: None)
        manifest = generate_mail(tmp_path, 150, held_out_phrases=held_out, pages_per_set=4.0)
    truth = [json.loads(line)["pages"] for line in (tmp_path / "truth.jsonl").read_text().splitlines()]
    assert {piece.kind for piece in manifest.pieces} == {0, 1, 2}
    for piece, pages in zip(manifest.pieces, truth, strict=True):
        assert len(piece.evidence_pages) == piece.kind
        true_class = CLASSES.index(piece.true_class)
        shown = {true_class} if piece.kind == 1 else {true_class - 1, true_class - 2}
        found = set()
        for n, page in enumerate(pages, start=1):
            assert page["type"] == piece.page_types[n - 1]
            subjects = {k for k in range(len(CLASSES)) if evidence_in(page["text"], "b", k, part)}
            assert not any(evidence_in(page["text"], "b", k, other) for k in range(len(CLASSES)))
            assert subjects == ({CLASSES.index(page["subject"])} if n in piece.evidence_pages else set())
            assert (page["subject"] is not None) == (n in piece.evidence_pages)
            found |= subjects
        assert found == (shown if piece.kind else set())


def test_levels_of_noise_span_their_range(tmp_path, monkeypatch):
    monkeypatch.setattr("setrbm_mail.generate.mail.write_document", lambda *_: None)
    generate_mail(tmp_path, 100, noise=(0.2, 0.6), born_digital=0.0, pages_per_set=2.0)
    truth = [json.loads(line)["pages"] for line in (tmp_path / "truth.jsonl").read_text().splitlines()]
    levels = [page["noise"] for pages in truth for page in pages]
    assert 0.2 <= min(levels) < 0.22 and 0.58 < max(levels) <= 0.6
    assert np.mean(levels) == pytest.approx(0.4, abs=0.03)


def test_the_manifest_can_be_read_back(folder, tmp_path):
    manifest = Manifest.read(folder / "manifest.csv")
    assert len(manifest.pieces) == N_SETS and manifest.n_pages == 2 * N_SETS
    assert set(manifest.true_classes) == set(CLASSES[:6])
    assert manifest.labels != manifest.true_classes
    for piece in manifest.pieces:
        assert all(piece.page_types[page - 1] in EVIDENCE_TYPES for page in piece.evidence_pages)
        types = {piece.page_types[page - 1] for page in piece.evidence_pages}
        assert piece.evidence_is_handwritten == ("handwritten letter" in types)
    manifest.write(tmp_path / "copy.csv")
    assert Manifest.read(tmp_path / "copy.csv") == manifest
    assert (tmp_path / "copy.csv").read_bytes() == (folder / "manifest.csv").read_bytes()


ROW = {
    "document": "piece-00000.pdf", "label": "complaint", "true_class": "complaint", "kind": "1", "evidence_pages": "2",
    "page_types": "envelope;form", "evidence_is_handwritten": "no", "n_pages": "2",
}  # fmt: skip


def written(folder, *rows, header=COLUMNS):
    path = folder / "manifest.csv"
    path.write_text("\n".join([",".join(header), *(",".join(row.values()) for row in rows)]) + "\n")
    return path


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"document": "../x.pdf"}, r"document must be the name of a file or folder .* Got '../x.pdf' in .*line 2"),
        ({"document": ""}, "document must be the name of a file .* Got ''"),
        ({"kind": "3"}, "kind must be 0, 1 or 2. Got '3' in .*line 2"),
        ({"kind": "one"}, "kind must be a whole number. Got 'one'"),
        ({"n_pages": "3"}, "page_types must name one type per page. Got 2 for 3 pages"),
        ({"page_types": "envelope;postcard"}, "page_types must be among printed letter, .* Got postcard"),
        ({"evidence_pages": "2;7"}, "evidence_pages must lie between 1 and 2. Got 7"),
        ({"evidence_is_handwritten": "yes"}, "evidence_is_handwritten must agree with page_types. Got 'yes'"),
        ({"n_pages": "2,5"}, "A row must have 8 fields. Got 9 in .*line 2"),
    ],
)
def test_a_fault_in_a_row_is_named_with_its_line(tmp_path, changed, message):
    with pytest.raises(ValueError, match=message):
        Manifest.read(written(tmp_path, ROW | changed))


def test_a_manifest_without_its_columns_or_with_a_document_twice_is_refused(tmp_path):
    assert Manifest.read(written(tmp_path, ROW)).pieces[0].evidence_pages == (2,)
    with pytest.raises(ValueError, match="must have the columns document, label, .* Got file, class"):
        Manifest.read(written(tmp_path, header=("file", "class")))
    with pytest.raises(ValueError, match=r"must name every document once. Got piece-00000.pdf more than once"):
        Manifest.read(written(tmp_path, ROW, ROW))


# --- messages ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"collection": "DsXx"}, "collection must be one of 'DsDe', 'DsUs'. Got 'DsXx'"),
        ({"style": "c"}, "style must be 'a' or 'b'. Got 'c'"),
        ({"formats": ("pdf", "docx")}, "formats must be among 'pdf', .*, at least one. Got 'docx'"),
        ({"formats": ()}, "formats must be among .*, at least one. Got none"),
        ({"noise": (0.5, 0.2)}, r"noise must be two levels from 0 to 1 in increasing order. Got \(0.5, 0.2\)"),
        ({"born_digital": 2.0}, "born_digital must lie between 0 and 1. Got 2.0"),
        ({"n_classes": 12}, "n_classes must be at most 11. Got 12"),
        ({"n_sets": 5}, "n_sets must be at least the number of classes, 11. Got 5"),
        ({"n_words": 10}, "n_words has no effect on pages. Use noise"),
    ],
)
def test_impossible_mail_is_refused_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        generate_mail(tmp_path / "mail", **options)
    assert not list(tmp_path.rglob("*.*"))


def test_the_six_classes_of_the_second_collection_are_the_first_six(tmp_path, monkeypatch):
    monkeypatch.setattr("setrbm_mail.generate.mail.write_document", lambda *_: None)
    manifest = generate_mail(tmp_path, 60, collection="DsUs", pages_per_set=1.0)
    assert set(manifest.true_classes) == set(CLASSES[:6])
    assert set(manifest.labels) <= set(CLASSES[:6])
    assert len(EVIDENCE["b"]) == len(CLASSES) == 11 and len(PAGE_TYPES) == 18
