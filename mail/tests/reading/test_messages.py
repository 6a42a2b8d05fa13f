"""Whatever a process answers is a problem of its file or page, never an exception."""

import json
import shlex

import pytest

from hostile_files import LINES, text_pdf
from made_pages import page
from setrbm_mail import Limits, Reading, read_documents
from setrbm_mail.pages import Page
from setrbm_mail.reading.messages import (
    NONSENSE,
    Drawn,
    ItemFailed,
    Listed,
    Opened,
    PageRead,
    Request,
    line_of,
    reply_of,
    settings_line,
    settings_of,
)
from setrbm_mail.reading.supervisor import Supervisor

NO_OCR = Reading(ocr="never")
LISTED = {"parts": [[[], ""]], "problems": []}
OPENED = {"n_pages": 1, "digest": "0" * 64}
ODD_VALUES = [None, True, -1, 1.5, 10**400, "x", "\x1b[31m", "\ud800", [], [[]], {}, [None], "n" * 3_000]


def child_that_says(monkeypatch, tmp_path, script):
    """Let children be a program that reads the settings, is ready, and goes on with this script."""
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nread settings; echo "{{}}"\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))


def answering(monkeypatch, tmp_path, listed=LISTED, opened=OPENED, read=None):
    """Let children answer like this."""
    lines = {"list": listed, "open": opened, "read": read}
    cases = (f"*'\"{verb}\"'*) printf '%s\\n' {shlex.quote(json.dumps(said))};;" for verb, said in lines.items())
    child_that_says(monkeypatch, tmp_path, f'while read b; do case "$b" in {" ".join(cases)} esac; done')
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "a.pdf").write_bytes(text_pdf(LINES))
    return read_documents(tmp_path / "mail", n_jobs=1, reading=NO_OCR, limits=Limits(seconds=5.0))


ODD = {
    "no object": [1],
    "a number": 1,
    "nothing": None,
    "empty": {},
    "a reason that is none": {"reason": 5},
    "a reason for a terminal": {"reason": "\x1b[2J"},
    "a reason without end": {"reason": "a" * 5_000},
}
ODD_LISTED = ODD | {
    "no parts": {"problems": []},
    "no problems": {"parts": []},
    "parts that are none": {"parts": {"a": 1}, "problems": []},
    "problems that are none": {"parts": [], "problems": [["a"]]},
    "problems without text": {"parts": [], "problems": [[1, 2]]},
    "a text for parts": {"parts": "ab", "problems": []},
    **{f"position {str(one)[:10]!r}": {"parts": [[one, ""]], "problems": []} for one in ODD_VALUES if one != []},
    **{f"name {str(one)[:10]!r}": {"parts": [[[], one]], "problems": []} for one in ODD_VALUES if one != "x"},
}
ODD_OPENED = ODD | {
    **{f"no {name}": {key: one for key, one in OPENED.items() if key != name} for name in OPENED},
    **{f"{name} {str(one)[:10]!r}": OPENED | {name: one} for name in OPENED for one in ODD_VALUES},
}


@pytest.mark.parametrize("name", ODD_LISTED)
def test_an_odd_answer_about_the_parts_of_a_file_is_a_problem_of_the_file(name, tmp_path, monkeypatch):
    (document,) = answering(monkeypatch, tmp_path, listed=ODD_LISTED[name])
    assert [str(problem) for problem in document.problems] == [f"a.pdf: {NONSENSE}"]


@pytest.mark.parametrize("name", ODD_OPENED)
def test_an_odd_answer_about_a_part_is_a_problem_of_the_part(name, tmp_path, monkeypatch):
    (document,) = answering(monkeypatch, tmp_path, opened=ODD_OPENED[name])
    assert [str(problem) for problem in document.problems] == [f"a.pdf: {NONSENSE}"]


@pytest.mark.parametrize("line", ["not JSON", "[" * 100_000, '{"a": NaN', "9" * 5_000, '"reason"', "{}"])
@pytest.mark.parametrize("verb", ["list", "open", "read", "draw"])
def test_a_line_that_is_no_reply_is_one_that_failed(verb, line):
    assert reply_of(verb, line.encode()) == ItemFailed(NONSENSE)


def test_only_a_child_that_says_so_itself_or_has_died_may_be_tried_again():
    assert reply_of("read", b'{"reason": "gone", "is_temporary": true}') == ItemFailed("gone", is_temporary=True)
    assert reply_of("read", b'{"reason": "gone", "is_temporary": 1, "died": true}') == ItemFailed("gone")


def test_what_is_sent_is_what_is_received():
    request = Request("read", "/r", "a", (3, 4, 5), (1, 2), "0" * 64)
    again = Request.of(request.line(done=1))
    assert vars(again) == vars(request) | {"items": (4, 5)}
    opening = Request("open", "/r", "a", ((1,), (2, 1)))
    assert vars(Request.of(opening.line())) == vars(opening)
    for verb, reply in {
        "list": Listed([((1, 2), "a")], [("b", "no")]), "open": Opened(3, "0" * 64), "draw": Drawn([1, 2], "x"),
        "read": ItemFailed("no", is_temporary=True),
    }.items():  # fmt: skip
        assert reply_of(verb, line_of(reply)) == reply
    assert reply_of("read", line_of(PageRead(page("two words")))).page.to_json() == GOOD_PAGE
    limits, reading = Limits(pages=3), Reading(dpi=100.0)
    assert settings_of(settings_line(limits, reading)) == (limits, reading)


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
    (document,) = answering(monkeypatch, tmp_path, read=ODD_PAGES[name])
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


def replies_of_a_child(limits=Limits()):  # noqa: B008
    """Return what a supervisor replies to a request."""
    requests = iter([Request("list", "/", "a")])
    with Supervisor(1, limits, NO_OCR) as supervisor:
        return [replied.reply for replied in supervisor.replies(lambda: next(requests, None))]


def test_a_process_that_is_never_ready_is_an_error_that_says_so(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    monkeypatch.setattr("setrbm_mail.reading.supervisor.START", 0.5)
    with pytest.raises(RuntimeError, match="could not be started: it was not ready in 0.5 seconds"):
        replies_of_a_child()


def test_a_line_without_end_names_the_limit_of_words(tmp_path, monkeypatch):
    child_that_says(monkeypatch, tmp_path, 'read b\nwhile true; do echo -n "aaaaaaaaaaaaaaaaaaaaaaaa"; done')
    monkeypatch.setattr("setrbm_mail.reading.supervisor.LONGEST", 10_000)
    (failed,) = replies_of_a_child(Limits(words=7))
    assert failed.reason == "the page has too many words; the limit is 7 (words)"
