"""Ordinary reading of documents: order, text layers and OCR, places of words, the cache, and interruptions."""

import signal
import sqlite3
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from PIL import Image

from hostile_files import (
    HEAD,
    LINES,
    attached,
    encoded,
    image_pdf,
    mail,
    pdf,
    picture,
    scan,
    stream,
    text_pdf,
    typed,
)
from running import is_gone, put_stub_in_front, readers, start, wait_until
from setrbm_mail import Limits, Reading, iter_documents, read_documents
from setrbm_mail.formats.folders import find_documents
from setrbm_mail.formats.image import ImageSource
from setrbm_mail.formats.pdf import PdfSource
from setrbm_mail.reading.cache import PageCache

NO_OCR = Reading(ocr="never")
CRASH_ON_OPENING = """
import pypdfium2
Whole = pypdfium2.PdfDocument

def opened(data, *arguments, **options):
    if b"killer" in data:
        os.abort()
    return Whole(data, *arguments, **options)

pypdfium2.PdfDocument = opened
"""
LETTER = [*LINES, "The monthly statement should be sent to my new address.", "Thank you very much for your help."]


def contents(documents):
    return [(one.id, [page.to_json() for page in one.pages], list(map(str, one.problems))) for one in documents]


def scanned(lines, turned=0):
    """Return a scan of 200 dots per inch as PNG, turned counterclockwise."""
    image = scan(lines, dpi=200).rotate(turned, expand=True)
    return encoded(image, "PNG", dpi=(200, 200))


def counting(**options):
    """Return the documents of a folder, and how many pages were cached."""
    seen = []
    documents = read_documents(on_progress=lambda progress: seen.append(progress.n_pages_cached), **options)
    return documents, seen[-1]


# Order


def test_documents_and_pages_come_in_natural_order(tmp_path):
    for name in ("letter10.pdf", "letter9.pdf", "Letter1.pdf", "letter1.pdf"):
        (tmp_path / name).write_bytes(text_pdf([f"{name} one"], [f"{name} two"]))
    (tmp_path / "scans").mkdir()
    for name in ("p10.png", "p9.png", "p1.tif"):
        (tmp_path / "scans" / name).write_bytes(encoded(picture(), "PNG"))
    documents = read_documents(tmp_path, reading=NO_OCR)
    assert documents.ids.tolist() == ["Letter1.pdf", "letter1.pdf", "letter9.pdf", "letter10.pdf", "scans"]
    assert documents.texts[2] == ["letter9.pdf one", "letter9.pdf two"]
    assert [place.file for place in documents[4].places] == ["scans/p1.tif", "scans/p9.png", "scans/p10.png"]


def test_only_chooses_documents_and_their_order(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.pdf").write_bytes(text_pdf([f"letter {name}"]))
    (tmp_path / "link.pdf").symlink_to("/etc/passwd")
    documents = read_documents(tmp_path, ["c.pdf", "link.pdf", "a.pdf"], n_jobs=1, reading=NO_OCR)
    assert documents.texts == [["letter c"], [], ["letter a"]]
    assert [one.document for one in documents.problems] == ["link.pdf"]


def test_a_link_inside_the_folder_is_followed_and_hidden_files_are_not_read(tmp_path):
    (tmp_path / ".hidden.pdf").write_bytes(text_pdf(LINES))
    (tmp_path / "link.pdf").symlink_to(".hidden.pdf")
    assert [one.files for one in find_documents(tmp_path)[0]] == [("link.pdf",)]


def test_nested_mails_are_read_text_first_then_attachments_in_order(tmp_path):
    inner = mail(attached(text_pdf(["inner attachment"])), text=b"inner text").replace(b"=sep", b"=inner")
    forwarded = (
        b"Content-Type: message/rfc822\r\nContent-Disposition: attachment; filename=forwarded.eml\r\n\r\n" + inner
    )
    outer = mail(
        attached(text_pdf(["first page"], ["second page"])), forwarded, attached(text_pdf(["last"])), text=b"outer"
    )
    (tmp_path / "a.eml").write_bytes(
        outer.replace(b"=sep", b"=other").replace(inner.replace(b"=sep", b"=other"), inner)
    )
    (document,) = read_documents(tmp_path, n_jobs=1, reading=NO_OCR)
    assert not document.problems
    assert [page.text for page in document.pages] == [
        "My account outer", "first page", "second page", "My account inner text", "inner attachment", "last",
    ]  # fmt: skip
    assert document.pages[0].method == "mail text"
    assert document.places[4].name == "a.eml, forwarded.eml, a.pdf, page 1"
    assert document.places[4].part == (2, 1)


def test_the_text_of_a_web_page_is_read_without_markup(tmp_path):
    page = b"<head><title>no</title><style>p {}</style></head><p>Close my <b>account</b> &amp; card<script>x</script>"
    (tmp_path / "a.eml").write_bytes(HEAD + b"Content-Type: text/html\r\n\r\n" + page)
    assert read_documents(tmp_path, n_jobs=1).texts == [["My account Close my account & card"]]


def test_an_attached_mail_in_base64_is_read_as_a_mail(tmp_path):
    inner = mail(attached(text_pdf(["inner attachment"])), text=b"inner text").replace(b"=sep", b"=inner")
    (tmp_path / "a.eml").write_bytes(mail(attached(inner, 'filename="old.eml"', "message/rfc822"), text=b"outer"))
    (document,) = read_documents(tmp_path, n_jobs=1, reading=NO_OCR)
    assert [page.text for page in document.pages] == ["My account outer", "My account inner text", "inner attachment"]


def test_an_attachment_that_crashes_when_it_is_opened_costs_only_itself(tmp_path, monkeypatch):
    stub = tmp_path / "stub"
    put_stub_in_front(monkeypatch, stub, "none")
    with (stub / "sitecustomize.py").open("a") as file:
        file.write(CRASH_ON_OPENING)
    folder = tmp_path / "mail"
    folder.mkdir()
    bad = text_pdf(["killer"])
    parts = [attached(text_pdf(["first"])), attached(bad, 'filename="bad.pdf"'), attached(text_pdf(["last"]))]
    (folder / "a.eml").write_bytes(mail(*parts, attached(b"PK\x03\x04" + bytes(99), 'filename="a.zip"')))
    (folder / "b.pdf").write_bytes(bad)
    (folder / "c.eml").write_bytes(
        mail(attached(bad, 'filename="bad.pdf"'), text=b"").replace(b"Subject: My account\r\n", b"")
    )
    documents = read_documents(folder, n_jobs=2, reading=NO_OCR)
    assert documents.texts == [["My account Please find my letter attached.", "first", "last"], [], []]
    where = [problem.where for problem in documents.problems]
    assert where == ["a.eml, a.zip", "a.eml, bad.pdf", "b.pdf", "c.eml, bad.pdf"]
    assert ["crashed" in one.reason for one in documents.problems] == [False, True, True, True]


# Text layers and OCR


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """A folder of pages to be read by OCR, and what was read, by name: OCR is slow."""
    folder = tmp_path_factory.mktemp("scans")
    note = typed(["Scanned by Acme"], size=8)
    jpeg = encoded(scan(LETTER, dpi=150), "JPEG")
    (folder / "note.pdf").write_bytes(image_pdf(jpeg, 1240, 1754, b"/Filter /DCTDecode", note))
    (folder / "layer.pdf").write_bytes(image_pdf(jpeg, 1240, 1754, b"/Filter /DCTDecode", typed(["hidden words"] * 10)))
    for turned in (0, 90, 180, 270):
        (folder / f"turned{turned}.png").write_bytes(scanned(LETTER * 3, turned))
    (folder / "fine.jpg").write_bytes(encoded(scan(LETTER, dpi=600), "JPEG", dpi=(600, 600)))
    cache = folder.parent / "cache" / "pages.sqlite"
    return folder, cache, {one.id: one for one in read_documents(folder, cache=cache)}


def test_a_scan_with_a_short_note_is_read_by_ocr(read):
    (page,) = read[2]["note.pdf"].pages
    assert page.method == "OCR" and "statement" in page.words and page.confidences.mean() > 0.8


def test_a_text_layer_is_used_and_not_read_again(read):
    (page,) = read[2]["layer.pdf"].pages
    assert page.method == "text layer" and set(page.words) == {"hidden", "words"} and (page.confidences == 1.0).all()


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_turned_pages_are_read_upright_with_words_in_their_places(turned, read):
    upright, page = (read[2][f"turned{one}.png"].pages[0] for one in (0, turned))
    assert page.rotation == turned and (page.width, page.height) == (upright.width, upright.height)
    assert page.words[:10] == upright.words[:10]
    np.testing.assert_allclose(page.boxes[:10], upright.boxes[:10], atol=4)
    np.testing.assert_allclose(page.thumbnail.astype(int), upright.thumbnail, atol=40)


def test_fine_scans_are_reduced_to_the_wanted_resolution(read):
    (page,) = read[2]["fine.jpg"].pages
    assert page.dpi == pytest.approx(200.0, rel=0.02) and page.height == pytest.approx(11.69 * 200, rel=0.02)
    assert "statement" in page.words


def test_results_do_not_depend_on_the_number_of_processes(read):
    folder, _, documents = read
    names = ["note.pdf", "turned90.png"]
    alone = read_documents(folder, names, n_jobs=1)
    assert contents(alone) == contents([documents[name] for name in names])


def test_pages_with_the_same_content_are_not_read_again(read, tmp_path, monkeypatch):
    folder, cache, documents = read
    put_stub_in_front(monkeypatch, tmp_path / "stub", "broken")
    copies = tmp_path / "copies"
    copies.mkdir()
    (copies / "other name.bin").write_bytes((folder / "turned90.png").read_bytes())
    (copies / "mail.eml").write_bytes(mail(attached((folder / "note.pdf").read_bytes())))
    found, n_cached = counting(folder=copies, cache=cache)
    assert n_cached == 2 and not found.problems
    assert found[0].pages[1].to_json() == documents["note.pdf"].pages[0].to_json()
    assert found[1].pages[0].to_json() == documents["turned90.png"].pages[0].to_json()
    # Other settings are other pages, and without the cache nothing can be read.
    assert "crashed" in str(read_documents(copies, ["other name.bin"], cache=cache, reading=Reading(dpi=150)).problems)


def test_filled_fields_of_a_form_are_drawn_and_read():
    look = stream(
        b"BT /F 12 Tf 2 4 Td (Margaret) Tj ET",
        b"/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F 5 0 R >> >>",
    )
    field = (
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (n) /V (Margaret) /Rect [150 245 350 265] /F 4 "
        b"/AP << /N 7 0 R >> >>"
    )
    data = pdf(
        b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R] >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 300] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> "
        b"/Annots [6 0 R] >>",
        stream(b"BT /F 12 Tf 20 250 Td (Name:) Tj ET"),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        field,
        look,
    )
    source = PdfSource(data, Limits())
    picture, _ = source.picture(1, 72.0)
    lettering = source.lettering(1, picture.shape)
    assert lettering.words == ("Name:", "Margaret")
    left, top, right, bottom = lettering.boxes[1]
    assert 150 <= left < right <= 350 and 35 <= top < bottom <= 55
    assert (picture[top:bottom, left:right] < 128).any()


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_of_a_born_digital_page_cover_its_ink(rotation):
    source = PdfSource(text_pdf(LETTER, rotation=rotation), Limits())
    picture, _ = source.picture(1, 150.0)
    lettering = source.lettering(1, picture.shape)
    # Lines that run from top to bottom may come in another order.
    assert sorted(lettering.words) == sorted(" ".join(LETTER).split())
    outside = np.ones(picture.shape, bool)
    for left, top, right, bottom in lettering.boxes:
        box = picture[top:bottom, left:right]
        assert box.size and box.min() < 128
        outside[top - 2 : bottom + 2, left - 2 : right + 2] = False
    assert not (picture[outside] < 128).any()


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_pictures_turned_by_their_record_are_upright(kind):
    record = Image.Exif()
    record[0x0112] = 6
    turned = encoded(picture(400, 300).transpose(Image.Transpose.ROTATE_90), kind, exif=record)
    found, dpi = ImageSource(turned, Limits()).picture(1, 100.0)
    expected, expected_dpi = ImageSource(encoded(picture(400, 300), kind), Limits()).picture(1, 100.0)
    assert dpi == pytest.approx(expected_dpi) and found.shape == expected.shape
    np.testing.assert_allclose(found.astype(int), expected, atol=30)


def test_the_resolution_that_cameras_and_pillow_say_is_not_believed():
    record = Image.Exif()
    record[0x0112] = 1
    for said in ({}, {"dpi": (72, 72)}, {"dpi": (96, 96)}, {"exif": record}):
        photo, _ = ImageSource(encoded(picture(3000, 2000), "JPEG", **said), Limits()).picture(1, 200.0)
        assert max(photo.shape) == round(11.69 * 200)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_pictures_of_every_mode_have_the_same_gray_values(mode):
    wide = np.asarray(picture(), dtype=np.float32)
    if mode in ("I;16", "I", "F"):
        image = Image.fromarray((wide * 257).astype({"I;16": np.uint16, "I": np.int32, "F": np.float32}[mode]))
    else:
        image = picture(mode=mode)
    found, _ = ImageSource(encoded(image, "TIFF"), Limits()).picture(1, 400 / 11.69)
    np.testing.assert_allclose(found.astype(int), wide, atol=2)


def test_a_picture_can_be_taken_twice():
    source = ImageSource(encoded(scan(LINES, dpi=600), "JPEG", dpi=(600, 600)), Limits())
    first, again = (source.picture(1, 200.0) for _ in range(2))
    assert first[1] == again[1]
    np.testing.assert_array_equal(first[0], again[0])


# The cache


def test_a_smaller_limit_of_pixels_draws_large_pages_differently_and_has_its_own_pages(tmp_path):
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "a.pdf").write_bytes(text_pdf(LINES))
    options = {"folder": tmp_path / "mail", "cache": tmp_path / "cache", "n_jobs": 1, "reading": NO_OCR}
    small, _ = counting(**options, limits=Limits(pixels=1_000_000))
    assert small[0].pages[0].dpi == pytest.approx(72 * (1_000_000 / (595 * 842)) ** 0.5)
    large, n_cached = counting(**options)
    assert n_cached == 0 and large[0].pages[0].dpi == pytest.approx(200.0)
    assert counting(**options)[1] == 1


def test_pages_are_read_again_with_other_language_data(tmp_path):
    (tmp_path / "mail").mkdir()
    # A blank page needs the settings of OCR, but not OCR.
    (tmp_path / "mail" / "a.png").write_bytes(encoded(Image.new("L", (100, 100), 255), "PNG"))
    data = tmp_path / "data" / "eng.traineddata"
    data.parent.mkdir()
    data.write_bytes(b"some data")
    reading = Reading(language_folder=str(data.parent))
    options = {"folder": tmp_path / "mail", "cache": tmp_path / "cache", "n_jobs": 1, "reading": reading}
    assert [counting(**options)[1] for _ in range(2)] == [0, 1]
    data.write_bytes(b"other data")
    assert counting(**options)[1] == 0


def test_a_damaged_cache_file_is_refused(tmp_path):
    (tmp_path / "cache").write_bytes(b"no database" * 1000)
    (tmp_path / "mail").mkdir()
    with pytest.raises(ValueError, match="must be a file of cached pages. file is not a database. Delete it"):
        read_documents(tmp_path / "mail", cache=tmp_path / "cache")
    with pytest.raises(OSError, match="The page cache .* must be writable"):
        read_documents(tmp_path / "mail", cache=tmp_path / "mail")


@pytest.mark.parametrize("entry", [b"nonsense", zlib.compress(b"[]"), "text"])
def test_a_damaged_entry_of_the_cache_is_read_again(entry, tmp_path):
    cache = tmp_path / "cache"
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "a.pdf").write_bytes(text_pdf(["one"], ["two"]))
    expected = contents(read_documents(tmp_path / "mail", cache=cache, n_jobs=1, reading=NO_OCR))
    with sqlite3.connect(cache) as store:
        store.execute("UPDATE pages SET page = ? WHERE rowid = 1", (entry,))
    store.close()
    found, n_cached = counting(folder=tmp_path / "mail", cache=cache, n_jobs=1, reading=NO_OCR)
    assert n_cached == 1 and contents(found) == expected


def test_a_cache_that_is_damaged_in_the_middle_is_an_error_that_says_what_to_do(tmp_path):
    with PageCache(tmp_path / "cache") as cache:
        for k in range(200):
            cache.put(f"key {k}", {"words": [str(k)] * 500, "noise": list(range(k, k + 500))})
    data = bytearray((tmp_path / "cache").read_bytes())
    data[4096:] = b"\xab" * (len(data) - 4096)
    (tmp_path / "cache").write_bytes(data)
    with PageCache(tmp_path / "cache") as cache:
        assert cache.get("key 3") is None
        with pytest.raises(ValueError, match="must be a file of cached pages. .*malformed. Delete it, or use another."):
            cache.put("another", {})


def test_a_cache_can_be_made_by_several_at_once(tmp_path):
    def make(path, barrier):
        barrier.wait()
        with PageCache(path) as cache:
            cache.put("key", {})

    for k in range(100):
        barrier = Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            for made in [pool.submit(make, tmp_path / str(k), barrier) for _ in range(4)]:
                made.result()


# Interruptions

READ = """
import os, signal, sys
from setrbm_mail import Reading, read_documents
folder, cache, n_pages = sys.argv[1], sys.argv[2], int(sys.argv[3])

def stop(progress):
    if progress.n_pages_done == n_pages:
        os.kill(os.getpid(), signal.SIGKILL)

documents = read_documents(folder, cache=cache, n_jobs=2, reading=Reading(ocr="never"), on_progress=stop)
print(documents.texts)
"""


@pytest.fixture
def many_pages(tmp_path):
    folder = tmp_path / "mail"
    folder.mkdir()
    for k in range(3):
        (folder / f"{k}.pdf").write_bytes(text_pdf(*[[f"page {n} of document {k}"] for n in range(10)]))
    return folder


def check_that_a_kill_loses_nothing(folder, cache, n_pages):
    killed = start(READ, folder, cache, n_pages)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    found, n_cached = counting(folder=folder, cache=cache, n_jobs=1, reading=NO_OCR)
    assert n_cached == n_pages
    assert found.texts == [[f"page {n} of document {k}" for n in range(10)] for k in range(3)]


def test_after_a_kill_only_the_missing_pages_are_read(many_pages, tmp_path):
    check_that_a_kill_loses_nothing(many_pages, tmp_path / "cache", 13)


@pytest.mark.long
def test_after_each_of_many_kills_only_the_missing_pages_are_read(many_pages, tmp_path):
    for n_pages in [*range(1, 30)] * 4:
        check_that_a_kill_loses_nothing(many_pages, tmp_path / f"cache{n_pages}", n_pages)
        (tmp_path / f"cache{n_pages}").unlink()


def test_two_runs_at_once_share_a_cache(many_pages, tmp_path):
    both = [start(READ, many_pages, tmp_path / "cache", -1) for _ in range(2)]
    outputs = [one.communicate() for one in both]
    assert [one.returncode for one in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0] and "page 9 of document 2" in outputs[0][0]


OCR = """
import sys
from setrbm_mail import read_documents
try:
    read_documents(sys.argv[1], n_jobs=2)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_its_parent(how, tmp_path, monkeypatch):
    put_stub_in_front(monkeypatch, tmp_path / "stub", "hang")
    (tmp_path / "mail").mkdir()
    for k in range(2):
        (tmp_path / "mail" / f"{k}.png").write_bytes(encoded(picture(400 + k, 300), "PNG"))
    parent = start(OCR, tmp_path / "mail")
    wait_until(lambda: len(list((tmp_path / "stub").glob("*.hangs"))) == 2)
    pids = readers(parent.pid)
    assert len(pids) == 2
    parent.send_signal(how)
    output, _ = parent.communicate(timeout=20)
    assert ("interrupted" in output) == (how == signal.SIGINT)
    wait_until(lambda: all(is_gone(pid) for pid in pids))


def test_documents_can_be_left_half_read(many_pages):
    documents = iter_documents(many_pages, n_jobs=2, reading=NO_OCR)
    assert next(documents).id == "0.pdf" and readers()
    documents.close()
    assert not readers()


@pytest.mark.long
def test_memory_of_a_process_stays_flat_over_2000_pages(tmp_path):
    for k in range(4):
        (tmp_path / f"{k}.pdf").write_bytes(text_pdf(*[LETTER] * 500))
    sizes = []

    def measure(progress):
        if progress.n_pages_done % 100 == 0 and (pids := readers()):
            status = Path(f"/proc/{pids[0]}/status").read_text()
            sizes.append(int(status.split("VmRSS:")[1].split()[0]))

    assert read_documents(tmp_path, n_jobs=1, reading=NO_OCR, on_progress=measure).n_pages == 2000
    assert max(sizes[5:]) < 1.1 * sizes[4]


# Messages


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(NotADirectoryError, match="must be a folder of documents. There is none"):
        read_documents(tmp_path / "nowhere")
    (tmp_path / "a.pdf").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match="must be a folder of documents. It is a file"):
        read_documents(tmp_path / "a.pdf")


def test_an_unknown_document_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="must exist. Got 2 unknown documents, the first 'a.pdf'"):
        read_documents(tmp_path, ["a.pdf", "b.pdf"])


def test_a_missing_extra_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tesserocr", None)
    monkeypatch.setattr("setrbm_mail.reading.documents.find_spec", lambda name: None if name == "tesserocr" else name)
    with pytest.raises(ImportError, match=r"packages that are not installed: tesserocr. Run: pip install setrbm-mail"):
        read_documents(tmp_path)


def test_a_missing_language_is_an_error_before_anything_is_read(tmp_path):
    with pytest.raises(ValueError, match="There must be data for the language 'xyz'. Found .*eng.*apt-get install"):
        read_documents(tmp_path, reading=Reading(language="xyz"))
    assert len(read_documents(tmp_path, reading=Reading(language="xyz", ocr="never"))) == 0


def test_a_number_of_processes_must_not_be_zero(tmp_path):
    with pytest.raises(ValueError, match="n_jobs must be a positive number of threads, -1 for all cores, or None"):
        read_documents(tmp_path, n_jobs=0)
    (tmp_path / "a.pdf").write_bytes(text_pdf(LINES))
    assert read_documents(tmp_path, n_jobs=-1, reading=NO_OCR).n_pages == 1


def test_a_relative_folder_is_found_though_the_current_one_changes(many_pages, monkeypatch):
    monkeypatch.chdir(many_pages.parent)
    documents = iter_documents("mail", n_jobs=1, reading=NO_OCR)
    next(documents)
    monkeypatch.chdir("/")
    assert [len(document) for document in documents] == [10, 10]
