"""Whatever a process answers is a problem of its file or page, never an exception."""

import json
import shlex

import pytest

from hostile_files import LINES, text_pdf
from made_pages import page
from setrbm_mail import Limits, Reading, read_documents
from setrbm_mail.pages import Page
from setrbm_mail.replies import NONSENSE, reply_of
from setrbm_mail.workers import Task, Workers

NO_OCR = Reading(ocr="never")
LEAF = {"part": [], "name": "", "digest": "0" * 64, "pages": 1}
ODD_VALUES = [None, True, -1, 1.5, 10**400, "x", "\x1b[31m", "\ud800", [], [[]], {}, [None], "n" * 3_000]


def answering(monkeypatch, tmp_path, opened, read="{}"):
    """Let processes answer with these lines."""
    program = tmp_path / "python"
    say = f"printf '%s\\n' {shlex.quote(opened)}"
    pages = f"printf '%s\\n' {shlex.quote(read)}"
    program.write_text(
        '#!/bin/sh\nread a; echo "{}"\nwhile read b; do\n'
        f'case "$b" in *\\"pages\\"*) {pages};; *) {say};; esac\ndone\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "a.pdf").write_bytes(text_pdf(LINES))
    return read_documents(tmp_path / "mail", n_jobs=1, reading=NO_OCR, limits=Limits(seconds=5.0))


def odd_leaves():
    for name in LEAF:
        yield f"no {name}", {key: value for key, value in LEAF.items() if key != name}
        fitting = {"part": ([],), "name": ("x",), "digest": (), "pages": ()}[name]
        for value in ODD_VALUES:
            if value not in fitting:
                yield f"{name} {str(value)[:10]!r}", LEAF | {name: value}


ODD_OPENED = {
    "no object": [1],
    "a number": 1,
    "nothing": None,
    "empty": {},
    "no leaves": {"problems": []},
    "no problems": {"leaves": []},
    "leaves that are none": {"leaves": {"a": 1}, "problems": []},
    "problems that are none": {"leaves": [], "problems": [["a"]]},
    "problems without text": {"leaves": [], "problems": [[1, 2]]},
    "a reason that is none": {"failed": 5},
    "a reason for a terminal": {"failed": "\x1b[2J"},
    "a reason without end": {"failed": "a" * 5_000},
    **{name: {"leaves": [leaf], "problems": []} for name, leaf in odd_leaves()},
}


@pytest.mark.parametrize("name", ODD_OPENED)
def test_an_odd_answer_about_a_file_is_a_problem_of_the_file(name, tmp_path, monkeypatch):
    (document,) = answering(monkeypatch, tmp_path, json.dumps(ODD_OPENED[name]))
    assert [str(problem) for problem in document.problems] == [f"a.pdf: {NONSENSE}"]


@pytest.mark.parametrize("line", ["not JSON", "[" * 100_000, '{"a": NaN', "9" * 5_000, '{"died": 1, "failed": "x"}'])
def test_a_line_that_is_no_answer_is_one_that_failed(line):
    assert set(reply_of(line.encode())) == {"failed"}


GOOD_PAGE = page("two words").to_json()
ODD_PAGES = {
    "no page": {},
    "no object": [],
    "a number": {"page": 1},
    "nothing": {"page": None},
    **{f"no {key}": {"page": {k: v for k, v in GOOD_PAGE.items() if k != key}} for key in GOOD_PAGE},
    **{f"{key} is null": {"page": GOOD_PAGE | {key: None}} for key in GOOD_PAGE},
    **{f"{key} is an object": {"page": GOOD_PAGE | {key: {}}} for key in GOOD_PAGE},
}


@pytest.mark.parametrize("name", ODD_PAGES)
def test_an_odd_answer_about_a_page_is_a_problem_of_the_page(name, tmp_path, monkeypatch):
    opened = json.dumps({"leaves": [LEAF], "problems": []})
    (document,) = answering(monkeypatch, tmp_path, opened, json.dumps(ODD_PAGES[name]))
    assert [str(problem) for problem in document.problems] == [f"a.pdf, page 1: {NONSENSE}"]


ODD_VALUES_OF_PAGES = [
    {"words": ["a", "w" * 101]}, {"words": ["a", 5]}, {"words": ["a", "\ud800"]}, {"words": "ab"},
    {"boxes": [0, 0, 1, 1, 5, 0, 1, 1]}, {"boxes": [2**40] * 8}, {"confidences": [0.5, float("nan")]},
    {"width": 0}, {"height": -5}, {"width": float("inf")}, {"dpi": 0}, {"dpi": float("nan")}, {"rotation": 45},
    {"method": "magic"}, {"layout": [float("nan")] * 17}, {"layout": [1e300] * 17}, {"thumbnail": "AAAA"},
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD_VALUES_OF_PAGES, ids=str)
def test_values_that_no_page_has_are_refused(odd):
    Page.from_json(GOOD_PAGE)
    with pytest.raises(ValueError, match="This is not the description of a page"):
        Page.from_json(GOOD_PAGE | odd)


def test_a_process_that_is_never_ready_is_an_error_that_says_so(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    monkeypatch.setattr("setrbm_mail.workers.START", 0.5)
    with Workers(1, Limits(), NO_OCR) as workers:
        workers.add(Task({"what": "open", "path": "a"}))
        with pytest.raises(RuntimeError, match="could not be started: it was not ready in 0.5 seconds"):
            list(workers.answers())


def test_a_line_without_end_names_the_limit_of_words(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text(
        '#!/bin/sh\nread a; echo "{}"\nread b\nwhile true; do echo -n "aaaaaaaaaaaaaaaaaaaaaaaa"; done\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    monkeypatch.setattr("setrbm_mail.workers.LONGEST", 10_000)
    with Workers(1, Limits(words=7), NO_OCR) as workers:
        workers.add(Task({"what": "open", "path": "a"}))
        ((_, _, answer),) = workers.answers()
    assert answer["failed"] == "the page has too many words; the limit is 7 (words)"
