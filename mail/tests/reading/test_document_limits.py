"""Limits per document, and pages of several documents: they take turns, and shared ones are read once."""

import sqlite3
import zlib
from collections import deque

import numpy as np
import pytest

from hostile_files import attached, encoded, mail, picture, text_pdf
from made_pages import page
from running import put_stub_in_front
from setrbm_mail import Limits, Reading, read_documents
from setrbm_mail.formats.folders import DocumentFiles
from setrbm_mail.reading.cache import PageCache
from setrbm_mail.reading.messages import ItemFailed, Listed, Opened, PageRead
from setrbm_mail.reading.partial import PartialDocument
from setrbm_mail.reading.reader import FolderReader
from setrbm_mail.reading.supervisor import Replied

NO_OCR = Reading(ocr="never")
TEN = "one two three four five six seven eight nine ten"
# Appended to the stub: a process may make empty files.
COUNTING = """
import uuid
Recognize = Stub.Recognize

def counted(self, *arguments):
    open(os.path.join(os.path.dirname(__file__), f"{uuid.uuid4()}.read"), "w").close()
    return Recognize(self, *arguments)

Stub.Recognize = counted
"""


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "mail"
    place.mkdir()
    return place


@pytest.fixture
def n_read(tmp_path, monkeypatch):
    """How many pages were read by OCR; the stub may misbehave as its file "mode" says."""
    put_stub_in_front(monkeypatch, tmp_path / "stub", "none")
    with (tmp_path / "stub" / "sitecustomize.py").open("a") as file:
        file.write(COUNTING)
    return lambda: len(list((tmp_path / "stub").glob("*.read")))


# Words per document


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_document_is_cut_where_it_has_too_many_words(n_jobs, folder, tmp_path):
    parts = [attached(text_pdf(*[[TEN]] * 3)), attached(text_pdf(*[[TEN]] * 60), 'filename="b.pdf"')]
    (folder / "a.eml").write_bytes(mail(*parts, text=b"text"))
    (folder / "b.pdf").write_bytes(text_pdf([TEN]))
    options = {"folder": folder, "n_jobs": n_jobs, "reading": NO_OCR, "limits": Limits(words=58)}
    cache = tmp_path / "cache"
    for documents in (read_documents(**options), *(read_documents(**options, cache=cache) for _ in range(2))):
        # "My account text" and five pages of ten words.
        assert [place.name for place in documents[0].places] == [
            "a.eml, text, page 1", *[f"a.eml, a.pdf, page {n}" for n in (1, 2, 3)],
            *[f"a.eml, b.pdf, page {n}" for n in (1, 2)],
        ]  # fmt: skip
        (problem,) = documents[0].problems
        assert problem.where == "a.eml, b.pdf, page 3"
        assert problem.reason == "the document has too many words; the limit is 58 (words), the rest is not read"
        assert len(documents[1]) == 1 and not documents[1].problems
    with sqlite3.connect(cache) as store:
        ((n_cached,),) = store.execute("SELECT COUNT(*) FROM pages")
    store.close()
    assert n_cached < 30, "the rest was read"


def test_exactly_as_many_words_as_the_limit_are_kept(folder):
    (folder / "a.pdf").write_bytes(text_pdf(*[[TEN]] * 3))
    (document,) = read_documents(folder, n_jobs=1, reading=NO_OCR, limits=Limits(words=30))
    assert len(document) == 3 and not document.problems


def opened(files, limits, **parts):
    """Return a document whose files have these parts: pairs of a position and a number of pages."""
    document = PartialDocument(DocumentFiles(files[0], files), limits)
    for file in files:
        document.take(("list", file, ()), Listed([(position, "") for position, _ in parts[file]], []))
        for position, n_pages in parts[file]:
            document.take(("open", file, position), Opened(n_pages, "0" * 64))
    list(document.begin_reading())
    return document


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_of_a_document_does_not_depend_on_the_order_of_the_answers(seed):
    rng = np.random.default_rng(seed)
    files = ("a", "b", "c")
    document = opened(files, Limits(words=25), **{name: [((), 5)] for name in files})
    order = [(name, number) for name in files for number in range(1, 6)]
    sizes = {one: int(rng.integers(0, 8)) for one in order}
    failing = order[int(rng.integers(len(order)))]
    for one in rng.permutation(len(order)):
        name, number = order[one]
        part = document.parts[name][()]
        if (name, number) == failing:
            document.report_page("damaged", part, number)
        else:
            document.keep(page("word " * sizes[name, number]), part, number)
    kept, n_words, expected_problems = [], 0, []
    for one in order:
        if one == failing:
            expected_problems.append(f"{one[0]}, page {one[1]}")
            continue
        n_words += sizes[one]
        if n_words > document.limits.words:
            expected_problems.append(f"{one[0]}, page {one[1]}")
            break
        kept.append(one)
    found = document.document()
    assert [(place.file, place.number) for place in found.places] == kept
    assert [problem.where for problem in found.problems] == expected_problems
    assert document.n_words <= document.limits.words


def test_very_long_words_are_cut(folder):
    (folder / "a.pdf").write_bytes(text_pdf(["w" * 1000]))
    (document,) = read_documents(folder, n_jobs=1, reading=NO_OCR)
    assert document.pages[0].words == ("w" * 100,)


# Time per document


def test_a_document_that_takes_too_long_is_left_and_the_others_go_on(folder, n_read, tmp_path):
    (tmp_path / "stub" / "mode").write_text("slow")
    frames = [picture(300, 400 + k) for k in range(40)]
    frames[0].save(folder / "a.tif", save_all=True, append_images=frames[1:])
    (folder / "b.pdf").write_bytes(text_pdf([TEN]))
    documents = read_documents(folder, n_jobs=1, limits=Limits(document_seconds=1.5))
    assert 0 < len(documents[0]) < 30 and n_read() < 30
    (problem,) = documents[0].problems
    assert str(problem) == "a.tif: reading took more than 1.5 seconds (document_seconds), the rest is not read"
    assert len(documents[1]) == 1 and not documents[1].problems


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_files_of_a_document_that_takes_too_long_are_not_opened(n_jobs, folder):
    (folder / "set").mkdir()
    for k in range(40):
        (folder / "set" / f"{k}.png").write_bytes(encoded(picture(), "PNG"))
    (document,) = read_documents(folder, n_jobs=n_jobs, reading=NO_OCR, limits=Limits(document_seconds=1e-9))
    (problem,) = document.problems
    assert not document.pages
    assert str(problem) == "set: reading took more than 1e-09 seconds (document_seconds), the rest is not read"


def test_the_start_of_a_process_is_not_the_time_of_a_document(folder):
    (folder / "a.pdf").write_bytes(text_pdf([TEN], [TEN]))
    # Starting takes longer than this, reading does not.
    (document,) = read_documents(folder, n_jobs=1, reading=NO_OCR, limits=Limits(document_seconds=0.25))
    assert len(document) == 2 and not document.problems


# Pages that several wait for


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kept", [False, True])
def test_the_same_attachment_in_neighboring_mails_is_read_once(n_jobs, kept, folder, tmp_path, n_read):
    scan = encoded(picture(300, 400), "PNG")
    for name in ("a.eml", "b.eml", "c.eml"):
        (folder / name).write_bytes(mail(attached(scan), attached(scan, 'filename="again.png"'), text=name.encode()))
    documents = read_documents(folder, n_jobs=n_jobs, cache=tmp_path / "cache" if kept else None)
    assert not documents.problems
    assert [len(document) for document in documents] == [3, 3, 3]
    assert len({str(page.to_json()) for document in documents for page in document.pages[1:]}) == 1
    assert n_read() == 1 or (not kept and n_read() <= 3)


def test_if_a_shared_page_cannot_be_read_all_that_wait_get_the_reason(folder, n_read, tmp_path):
    (tmp_path / "stub" / "mode").write_text("error")
    wide = encoded(picture(400, 300), "PNG")
    (folder / "a.eml").write_bytes(mail(attached(wide), attached(wide, 'filename="again.png"')))
    (document,) = read_documents(folder, n_jobs=1)
    assert [problem.where for problem in document.problems] == ["a.eml, a.pdf, page 1", "a.eml, again.png, page 1"]
    assert len({problem.reason for problem in document.problems}) == 1 and n_read() == 1


def test_a_long_document_does_not_hold_up_the_others(folder, tmp_path):
    (folder / "a.pdf").write_bytes(text_pdf(*[[f"long {n}"] for n in range(100)]))
    for name in "bcd":
        (folder / f"{name}.pdf").write_bytes(text_pdf([f"short {name}"]))
    documents = read_documents(folder, n_jobs=1, reading=NO_OCR, cache=tmp_path / "cache")
    assert [len(document) for document in documents] == [100, 1, 1, 1]
    with sqlite3.connect(tmp_path / "cache") as store:
        pages = [zlib.decompress(page) for (page,) in store.execute("SELECT page FROM pages ORDER BY rowid")]
    store.close()
    assert max(k for k, page in enumerate(pages) if b"short" in page) < 40


SHARED, OWN = "1" * 64, "2" * 64


class Nobody:
    """Stands for a supervisor: the test replies to what its children are busy with."""

    def __init__(self):
        self.n_done = {}

    @property
    def busy(self):
        return {item for request, n in self.n_done.items() for item in request.items_after(n)}

    def ask(self, reader):
        """Give a child the next request."""
        request = reader.next_request()
        if request is not None:
            self.n_done[request] = 0
        return request

    def reply(self, reader, request, make):
        """Reply to all of a request, as a child does: item by item."""
        for item in request.items_after():
            self.n_done[request] += 1
            reader.take(Replied(request, item, make(item), 0.0))


def two_documents_that_share(limits):
    """Return a reader of a document with 16 pages of its own and 8 shared ones, and of one with the shared ones."""
    files = [DocumentFiles(name, (name,)) for name in "ab"]
    documents = [PartialDocument(one, limits) for one in files]
    nobody = Nobody()
    reader = FolderReader("/", deque(documents), 2, nobody, PageCache(None), "key")
    reader._begin_some()
    parts = {"a": {(1,): Opened(16, OWN), (2,): Opened(8, SHARED)}, "b": {(): Opened(8, SHARED)}}

    def reply_to(item):
        verb, file, position = item
        return Listed([(one, "") for one in parts[file]], []) if verb == "list" else parts[file][position]

    while any(document.is_opening for document in documents):
        nobody.reply(reader, nobody.ask(reader), reply_to)
    return reader, nobody, *documents


def test_pages_of_documents_take_turns_and_shared_pages_are_asked_for_once():
    reader, nobody, _, _ = two_documents_that_share(Limits())
    requests = [nobody.ask(reader) for _ in range(3)]
    asked = sorted((one.file, one.items) for one in requests)
    first, second = tuple(range(1, 9)), tuple(range(9, 17))
    assert asked == [("a", first), ("a", second), ("b", first)]
    assert reader.next_request() is None


def test_pages_that_a_cut_document_does_not_need_are_still_read_for_others():
    reader, nobody, first, second = two_documents_that_share(Limits(words=95))
    requests = [nobody.ask(reader) for _ in range(2)]
    (own,) = [one for one in requests if one.file == "a"]
    (shared,) = [one for one in requests if one.file == "b"]
    nobody.reply(reader, own, lambda item: PageRead(page(TEN + " 11 12")))
    # Seven pages fit; the others of the first document are not asked for, but for those that a child has begun.
    assert sorted(first.parts["a"][1,].pages) == list(range(1, 8))
    assert first.to_do.keys() == second.to_do.keys() == {("read", SHARED, n) for n in range(1, 9)}
    assert reader.next_request() is None
    nobody.reply(reader, shared, lambda item: PageRead(page(TEN)))
    assert first.is_done and second.is_done
    assert len(first.document().pages) == 7 and len(second.document().pages) == 8
    assert reader.progress.n_pages_done == reader.progress.n_pages_known == 32


@pytest.mark.parametrize("stopped", [0, 1])
def test_pages_that_a_stopped_document_does_not_need_are_still_read_for_others(stopped):
    reader, nobody, *documents = two_documents_that_share(Limits())
    documents[stopped].seconds = float("inf")
    reader._read_on(documents[stopped])
    assert documents[stopped].is_done and not documents[1 - stopped].is_done
    assert nobody.ask(reader).file == "ba"[stopped]


def test_pages_left_by_a_child_that_died_are_read_for_others_if_the_document_that_asked_is_stopped():
    reader, nobody, *documents = two_documents_that_share(Limits())
    requests = list(iter(lambda: nobody.ask(reader), None))
    (shared,) = [one for one in requests if one.digest == SHARED]
    asked, other = documents if shared.file == "a" else documents[::-1]
    del nobody.n_done[shared]
    reader.take(Replied(shared, shared.items_after()[0], ItemFailed("it crashed", True), 0.0))
    asked.seconds = float("inf")
    reader._read_on(asked)
    again = nobody.ask(reader)
    assert (again.file, again.digest, again.items) == (other.files.id, SHARED, tuple(range(2, 9)))


@pytest.mark.parametrize("seed", range(3))
def test_problems_of_a_document_are_told_in_the_order_of_files_attachments_and_pages(seed):
    document = opened(("a", "b"), Limits(), a=[], b=[((0,), 12), ((1,), 1)])
    document.files = DocumentFiles("d", ("a", "b"))
    (x, y) = document.all_parts
    x.name, y.name = "x", "y"
    expected = ["a", "b", "b, u", "b, v", "b, x, page 2", "b, x, page 10", "b, y, page 1", "d"]
    reports = [
        lambda: document.report("damaged", "a"),
        lambda: document.report("damaged", "b"),
        lambda: document.report("damaged", "b", "u", (2,)),
        lambda: document.report("damaged", "b", "v", (10,)),
        lambda: document.report_page("damaged", x, 2),
        lambda: document.report_page("damaged", x, 10),
        lambda: document.report_page("damaged", y, 1),
        lambda: document.report_all("damaged"),
    ]
    for k in np.random.default_rng(seed).permutation(len(reports)):
        reports[k]()
    assert [problem.where for problem in document.document().problems] == expected
    # After the last page that is kept, only problems of files and attachments are told.
    document.cut = (1, True, (0,), 5)
    kept = [where for where in expected if where not in ("b, x, page 10", "b, y, page 1")]
    assert [problem.where for problem in document.document().problems] == [*kept[:-1], "b, x, page 5", "d"]
