"""Limits per document, and pages that several documents wait for: each is read once."""

import sqlite3

import numpy as np
import pytest

from hostile_files import attached, encoded, mail, picture, text_pdf
from made_pages import page
from running import put_stub_in_front
from setrbm_mail import Limits, Reading, read_documents
from setrbm_mail.finding import Found
from setrbm_mail.jobs import Job, Leaf
from setrbm_mail.page_cache import PageCache
from setrbm_mail.page_requests import PageRequests
from setrbm_mail.progress import Progress
from setrbm_mail.workers import Workers

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
    """How many pages were read by OCR; the stub may misbehave as STUB_OCR says."""
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


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_of_a_document_does_not_depend_on_the_order_of_the_answers(seed):
    rng = np.random.default_rng(seed)
    files = ("a", "b", "c")
    job = Job(Found("a", files), 0, {name: [Leaf(name, (), "", "0" * 64, 5)] for name in files})
    order = [(name, number) for name in files for number in range(1, 6)]
    sizes = {one: int(rng.integers(0, 8)) for one in order}
    limits = Limits(words=25)
    failing = order[int(rng.integers(len(order)))]
    for one in rng.permutation(len(order)):
        name, number = order[one]
        leaf = job.leaves[name][0]
        if (name, number) == failing:
            job.report_page("damaged", leaf, number)
        else:
            job.keep(page("word " * sizes[name, number]), leaf, number, limits)
    kept, n_words, expected_problems = [], 0, []
    for one in order:
        if one == failing:
            expected_problems.append(f"{one[0]}, page {one[1]}")
            continue
        n_words += sizes[one]
        if n_words > limits.words:
            expected_problems.append(f"{one[0]}, page {one[1]}")
            break
        kept.append(one)
    found = job.document(limits)
    assert [(place.file, place.number) for place in found.places] == kept
    assert [problem.where for problem in found.problems] == expected_problems
    assert job.n_words <= limits.words


def test_very_long_words_are_cut(folder):
    (folder / "a.pdf").write_bytes(text_pdf(["w" * 1000]))
    (document,) = read_documents(folder, n_jobs=1, reading=NO_OCR)
    assert document.pages[0].words == ("w" * 100,)


# Time per document


def test_a_document_that_takes_too_long_is_left_and_the_others_go_on(folder, n_read, monkeypatch):
    monkeypatch.setenv("STUB_OCR", "slow")
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


def test_if_a_shared_page_cannot_be_read_all_that_wait_get_the_reason(folder, n_read, monkeypatch):
    monkeypatch.setenv("STUB_OCR", "error")
    wide = encoded(picture(400, 300), "PNG")
    (folder / "a.eml").write_bytes(mail(attached(wide), attached(wide, 'filename="again.png"')))
    (document,) = read_documents(folder, n_jobs=1)
    assert [problem.where for problem in document.problems] == ["a.eml, a.pdf, page 1", "a.eml, again.png, page 1"]
    assert len({problem.reason for problem in document.problems}) == 1 and n_read() == 1


def two_jobs_that_share(tmp_path, limits):
    """Return requests of a document with 16 pages of its own and 8 shared ones, and of one with the shared ones."""
    workers = Workers(1, limits, NO_OCR)
    requests = PageRequests(tmp_path, workers, PageCache(None), "key", limits, Progress(2))
    shared, own = "1" * 64, "2" * 64
    first = Job(Found("a", ("a",)), 0, {"a": [Leaf("a", (1,), "", own, 16), Leaf("a", (2,), "", shared, 8)]})
    second = Job(Found("b", ("b",)), 0, {"b": [Leaf("b", (), "", shared, 8)]})
    requests.ask(first)
    requests.ask(second)
    return requests, workers, first, second


def test_pages_that_a_cut_document_does_not_need_are_still_read_for_others(tmp_path):
    requests, workers, first, second = two_jobs_that_share(tmp_path, Limits(words=95))
    tasks = list(workers._waiting)
    assert [task.tag.job for task in tasks] == [first] * 3, "shared pages are asked for once"
    workers._waiting.popleft()
    for number in tasks[0].tag.numbers:
        requests.take(tasks[0].tag, number, {"page": page(TEN + " 11 12").to_json()})
    # Seven pages fit; the others of the first document are taken back.
    assert first.is_done and sorted(first.leaves["a"][0].pages) == list(range(1, 8))
    left = list(workers._waiting)
    assert [(task.tag.job, task.tag.numbers) for task in left] == [(second, (number,)) for number in range(1, 9)]
    for task in left:
        requests.take(task.tag, task.tag.numbers[0], {"page": page(TEN).to_json()})
    assert second.is_done and len(second.document(requests.limits)) == 8
    assert requests.progress.n_pages_done == requests.progress.n_pages_known == 32
    assert not requests._waiting


def test_pages_that_a_stopped_document_does_not_need_are_still_read_for_others(tmp_path):
    requests, workers, first, second = two_jobs_that_share(tmp_path, Limits())
    first.is_stopped = True
    requests.withdraw(first)
    assert first.is_done and not second.is_done
    assert {task.tag.job.found.id for task in workers._waiting} == {"b"}


@pytest.mark.parametrize("seed", range(3))
def test_problems_of_a_document_are_told_in_the_order_of_files_attachments_and_pages(seed):
    job = Job(Found("d", ("a", "b")), 0, {"b": [Leaf("b", (0,), "x", "0" * 64, 12), Leaf("b", (1,), "y", "1" * 64, 1)]})
    x, y = job.leaves["b"]
    expected = ["a", "b", "b, u", "b, v", "b, x, page 2", "b, x, page 10", "b, y, page 1", "d"]
    reports = [
        lambda: job.report("damaged", "a"),
        lambda: job.report("damaged", "b"),
        lambda: job.report("damaged", "b", "u", part=(2,)),
        lambda: job.report("damaged", "b", "v", part=(10,)),
        lambda: job.report_page("damaged", x, 2),
        lambda: job.report_page("damaged", x, 10),
        lambda: job.report_page("damaged", y, 1),
        lambda: job.report_all("damaged"),
    ]
    for k in np.random.default_rng(seed).permutation(len(reports)):
        reports[k]()
    assert [problem.where for problem in job.document(Limits()).problems] == expected
    # After the last page that is kept, only problems of files and attachments are told.
    job.cut = (1, 0, 5)
    kept = [where for where in expected if where not in ("b, x, page 10", "b, y, page 1")]
    assert [problem.where for problem in job.document(Limits()).problems] == [*kept[:-1], "b, x, page 5", "d"]
