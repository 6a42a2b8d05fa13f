"""Broken and hostile files are reported with file and reason, and never stop or change the reading of the others."""

import os
import random
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from hostile_files import (
    HOSTILE,
    LIMITS,
    LINES,
    NAMES,
    attached,
    encoded,
    frame,
    image_pdf,
    mail,
    nested,
    one_page,
    picture,
    scan,
    squeezed,
    text_pdf,
    tiff,
)
from running import put_stub_in_front, readers, snapshot
from setrbm_mail import Limits, Reading, iter_documents, read_documents
from setrbm_mail.formats.folders import shown
from setrbm_mail.formats.parts import parts_of
from setrbm_mail.reading.messages import NONSENSE, ItemFailed, PageRead, Request
from setrbm_mail.reading.supervisor import Supervisor
from setrbm_mail.reading.tasks import replies_to

NO_OCR = Reading(ocr="never")
LONGEST_REASON = 200


def contents(documents):
    """Return all that was read, as plain values."""
    return {one.id: ([page.to_json() for page in one.pages], [place.name for place in one.places]) for one in documents}


def assert_fit_for_a_clerk(problems, folder):
    for problem in problems:
        shown_text = f"{problem.where} {problem.reason}"
        assert shown_text.isprintable()
        assert len(problem.reason) < LONGEST_REASON
        assert "Traceback" not in shown_text and "site-packages" not in shown_text and ".py" not in shown_text
        assert str(folder) not in shown_text


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "mail"
    place.mkdir()
    yield place
    # Folders that are nested too deep for Python.
    subprocess.run(["rm", "-rf", place], check=True)


@pytest.mark.parametrize("kind", HOSTILE, ids=lambda kind: kind.name)
def test_a_hostile_file_alone_is_reported_or_read(kind, folder):
    kind.write(folder / kind.file)
    before = snapshot(folder.parent)
    documents = read_documents(folder, n_jobs=1, reading=NO_OCR, limits=LIMITS)
    assert snapshot(folder.parent) == before
    assert not readers()
    assert all(problem.where.startswith(shown(kind.file)) for problem in documents.problems)
    assert_fit_for_a_clerk(documents.problems, folder)
    if kind.reason is None:
        assert documents.n_pages and not documents.problems
    else:
        assert any(kind.reason in problem.reason for problem in documents.problems)


def test_there_are_more_than_35_kinds_of_hostile_files():
    assert len({kind.name for kind in HOSTILE}) == len({kind.file for kind in HOSTILE}) == len(HOSTILE) > 35


def write_good_files(folder):
    (folder / "good letter.pdf").write_bytes(text_pdf(LINES, ["Second page of the letter"]))
    (folder / "good mail.eml").write_bytes(mail(attached(text_pdf(LINES)), attached(encoded(picture(), "PNG"))))
    (folder / "good scan.png").write_bytes(encoded(scan(LINES, dpi=200), "PNG", dpi=(200, 200)))
    (folder / "good pictures").mkdir()
    for k in range(3):
        (folder / "good pictures" / f"{k}.jpg").write_bytes(encoded(picture(600, 100 + k), "JPEG"))


def test_good_files_are_read_as_if_the_hostile_ones_were_not_there(folder, tmp_path):
    alone = tmp_path / "alone"
    alone.mkdir()
    for place in (folder, alone):
        write_good_files(place)
    for kind in HOSTILE:
        kind.write(folder / kind.file)
    before = snapshot(tmp_path)
    expected = contents(read_documents(alone, n_jobs=1, limits=LIMITS))
    documents = read_documents(folder, n_jobs=2, limits=LIMITS)
    assert snapshot(tmp_path) == before
    assert not readers()
    found = contents(documents)
    assert [len(pages) for pages, _ in expected.values()] == [2, 3, 3, 1]
    assert {name: found[name] for name in expected} == expected
    assert "account" in found["good scan.png"][0][0]["words"]
    assert_fit_for_a_clerk(documents.problems, folder)
    for kind in HOSTILE:
        reasons = [str(one) for one in documents.problems if one.document.split("/")[0] == shown(kind.file)]
        assert bool(reasons) == (kind.reason is not None), kind.name
        assert not reasons or any(kind.reason in one for one in reasons)
    assert not [one for one in documents.problems if one.document.startswith("good")]


LIMITED = {
    "file_bytes": (100, "a.pdf", lambda: text_pdf(LINES)),
    "pages": (2, "a.pdf", lambda: text_pdf(LINES, LINES, LINES)),
    "page_points": (841.0, "a.pdf", lambda: text_pdf(LINES)),
    "pixels": (119_999, "a.png", lambda: encoded(picture(400, 300), "PNG")),
    "attachments": (1, "a.eml", lambda: mail(attached(text_pdf(LINES)), attached(text_pdf(LINES)))),
    "nesting": (1, "a.eml", lambda: nested(2, mail())),
    "words": (9, "a.pdf", lambda: text_pdf(["one two three four five six seven eight nine ten"])),
    "memory": (30_000_000, "a.png", lambda: encoded(picture(8000, 8000), "PNG")),
}


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_can_be_set_and_its_message_names_it(name, folder):
    value, file, make = LIMITED[name]
    (folder / file).write_bytes(make())
    (document,) = read_documents(folder, n_jobs=1, reading=NO_OCR, limits=Limits(**{name: value}))
    assert [one for one in document.problems if f"({name})" in one.reason and f"{value:,.0f} " in one.reason]
    just_enough = {"memory": 10 * value}.get(name, value + 1)
    bytes_enough = len(make()) if name == "file_bytes" else just_enough
    (document,) = read_documents(folder, n_jobs=1, reading=NO_OCR, limits=Limits(**{name: bytes_enough}))
    assert document.pages and not document.problems


@pytest.mark.parametrize("name", [*LIMITED, "seconds", "document_seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), "5", True, None])
def test_limits_must_be_positive_numbers(name, value):
    with pytest.raises(ValueError, match=rf"{name} must be a (whole )?number above 0. Got {value!r}"):
        Limits(**{name: value})


def test_limits_of_numbers_of_things_must_be_whole():
    with pytest.raises(ValueError, match="pages must be a whole number above 0. Got 2.5."):
        Limits(pages=2.5)
    assert Limits(seconds=2.5).seconds == 2.5


def test_infinite_limits_are_allowed_where_they_are_not_whole(folder):
    (folder / "a.pdf").write_bytes(text_pdf(LINES))
    limits = Limits(seconds=float("inf"), page_points=float("inf"), memory=10**30)
    assert read_documents(folder, n_jobs=1, reading=NO_OCR, limits=limits).n_pages == 1


def test_a_page_that_needs_too_much_memory_costs_no_other_page(folder):
    large, small = picture(6000, 8000), picture()
    large.save(folder / "a.tif", save_all=True, append_images=[small, large, small], compression="tiff_lzw")
    (folder / "b.pdf").write_bytes(text_pdf(LINES))
    documents = read_documents(folder, n_jobs=1, reading=NO_OCR, limits=Limits(memory=60_000_000))
    assert [one.where for one in documents.problems] == ["a.tif, page 1", "a.tif, page 3"]
    assert all("60,000,000 bytes of memory (memory)" in one.reason for one in documents.problems)
    assert [place.number for place in documents[0].places] == [2, 4]
    assert documents[1].pages


MISBEHAVIOR = {
    "hang": "reading took more than 2 seconds (seconds)",
    "spin": "reading took more than 2 seconds (seconds)",
    "crash": "reading it crashed",
    "exit": "reading it crashed",
    "error": "it cannot be read (RuntimeError)",
    "memory": "it needs more than 300,000,000 bytes of memory (memory)",
}


@pytest.mark.parametrize("mode", MISBEHAVIOR)
def test_ocr_that_misbehaves_costs_one_page(mode, folder, tmp_path, monkeypatch):
    put_stub_in_front(monkeypatch, tmp_path / "stub", mode)
    upright, wide = picture(300, 400), picture(400, 300)
    upright.save(folder / "a.tif", save_all=True, append_images=[wide, upright])
    limits = Limits(seconds=2.0, memory=300_000_000)
    (document,) = read_documents(folder, n_jobs=1, limits=limits)
    (problem,) = document.problems
    assert problem.where == "a.tif, page 2" and problem.reason.startswith(MISBEHAVIOR[mode])
    assert [place.number for place in document.places] == [1, 3]
    assert_fit_for_a_clerk(document.problems, folder)
    assert not readers()


def test_a_page_is_not_blamed_for_what_an_earlier_one_did_to_the_process(folder, tmp_path, monkeypatch):
    put_stub_in_front(monkeypatch, tmp_path / "stub", "second")
    page = picture(300, 400)
    page.save(folder / "a.tif", save_all=True, append_images=[page, page])
    (document,) = read_documents(folder, n_jobs=1)
    assert len(document) == 3 and not document.problems


def test_the_time_that_the_caller_takes_is_not_charged_to_a_page(folder):
    (folder / "0.pdf").write_bytes(text_pdf(LINES))
    # More words than fit into a pipe, so that the process must wait for its parent.
    crowded = one_page(b"BT /F1 1 Tf 1 TL 60 780 Td " + b"(lorem ipsum dolor sit amet) ' " * 3000 + b" ET")
    (folder / "1.pdf").write_bytes(crowded)
    documents = iter_documents(folder, n_jobs=2, reading=NO_OCR, limits=Limits(seconds=2.0))
    next(documents)
    time.sleep(2.5)
    (document,) = documents
    assert not document.problems and len(document.pages[0].words) == 15_000


def test_a_process_that_answers_nonsense_is_survived(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\nread a; echo "{}"\nwhile read b; do echo "not JSON"; done\n')
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    requests = iter([Request("list", "/", "a")])
    with Supervisor(1, Limits(), Reading()) as supervisor:
        found = [replied.reply for replied in supervisor.replies(lambda: next(requests, None))]
    assert found == [ItemFailed(NONSENSE)]


def test_a_process_that_cannot_be_started_is_an_error_not_a_problem_of_a_file(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    (tmp_path / "a.pdf").write_bytes(text_pdf(LINES))
    with pytest.raises(RuntimeError, match="A process that reads documents could not be started"):
        read_documents(tmp_path)


def test_modules_in_the_current_folder_are_not_imported(folder, monkeypatch):
    mark = folder / "mark"
    for name in ("cv2", "numpy", "json", "sitecustomize"):
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')")
    (folder / "a.pdf").write_bytes(text_pdf(LINES))
    monkeypatch.chdir(folder)
    documents = read_documents(".", ["a.pdf"], n_jobs=1, reading=NO_OCR)
    assert documents.n_pages == 1 and not mark.exists()


def page_request(path, limits=LIMITS):
    (opened,) = replies_to(Request("open", str(path.parent), path.name), limits, NO_OCR)
    return Request("read", str(path.parent), path.name, (1, 2), (), opened.digest)


def kinds(replies):
    return list(map(type, replies))


def removed(path):
    path.unlink()


def replaced(path):
    path.write_bytes(text_pdf(["Another letter"], ["with two pages"]))


def replaced_by_a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def replaced_by_a_folder(path):
    path.unlink()
    path.mkdir()


def replaced_by_a_link_out(path):
    outside = path.parent.with_name("outside.pdf")
    path.rename(outside)
    path.symlink_to(outside)


def grown(path):
    with path.open("ab") as file:
        file.truncate(10**12)


CHANGES = {
    removed: "the file cannot be read: No such file or directory",
    replaced: "the file changed while it was being read",
    replaced_by_a_pipe: "it is not a file",
    replaced_by_a_folder: "the file cannot be read: Is a directory",
    replaced_by_a_link_out: "it is a symbolic link out of the folder; such links are not followed",
    grown: "it has 1,000,000,000,000 bytes; the limit is 20,000,000 (file_bytes)",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_file_that_changes_while_it_is_read_is_reported(change, tmp_path):
    (tmp_path / "mail").mkdir()
    path = tmp_path / "mail" / "a.pdf"
    path.write_bytes(text_pdf(LINES, LINES))
    request = page_request(path)
    assert kinds(replies_to(request, LIMITS, NO_OCR)) == [PageRead, PageRead]
    change(path)
    # What the system refuses may be there again later.
    is_temporary = CHANGES[change].startswith("the file cannot be read")
    assert list(replies_to(request, LIMITS, NO_OCR)) == [ItemFailed(CHANGES[change], is_temporary)] * 2


def test_a_folder_that_becomes_a_link_out_while_it_is_read_is_reported(tmp_path):
    path = tmp_path / "mail" / "below" / "a.pdf"
    path.parent.mkdir(parents=True)
    path.write_bytes(text_pdf(LINES, LINES))
    request = replace(page_request(path), root=str(tmp_path / "mail"), file="below/a.pdf")
    path.parent.rename(tmp_path / "outside")
    path.parent.symlink_to(tmp_path / "outside")
    reason = "it is a symbolic link out of the folder; such links are not followed"
    assert list(replies_to(request, LIMITS, NO_OCR)) == [ItemFailed(reason)] * 2


def test_a_file_replaced_by_a_link_inside_the_folder_is_read(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(text_pdf(LINES, LINES))
    request = page_request(path)
    path.rename(tmp_path / "b.pdf")
    path.symlink_to("b.pdf")
    assert kinds(replies_to(request, LIMITS, NO_OCR)) == [PageRead, PageRead]


def test_a_process_cannot_lift_its_limits():
    code = (
        "import resource; from setrbm_mail.reading.isolation import limit_memory; limit_memory(10**9)\n"
        "for one in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):\n"
        "    print(*resource.getrlimit(one))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    memory, *others = (line.split() for line in found.splitlines())
    assert others == [["0", "0"]] * 2 and memory[0] == memory[1] and int(memory[0]) > 10**9


def test_an_empty_folder_has_no_documents(folder):
    assert len(read_documents(folder)) == 0


def test_names_of_attachments_are_shown_without_anything_harmful():
    content = mail(*[attached(b"nothing", one) for one in NAMES.values()])
    names = [name for name, _ in parts_of(content, LIMITS).problems]
    assert len(names) == len(NAMES)
    for name in names:
        assert name.isprintable() and len(name) <= 80 and "/" not in name and "\\" not in name and name.strip(".")
    assert names[0] == "evil.bin"


def test_names_of_files_are_shown_without_control_characters_and_stay_different():
    names = ["a\nb", "a\\nb", os.fsdecode(b"a\xff"), "a\\udcff", "plain.pdf", "\u202e", "\u0645\u200c\u0646"]
    assert [shown(name) for name in names[:1]] == [r"a\nb"]
    assert len({shown(name) for name in names}) == len(names)
    assert shown("plain.pdf") == "plain.pdf" and shown(names[-1]) == names[-1]
    assert all(shown(name).encode("utf-8") for name in names)


def test_a_picture_inside_a_pdf_is_refused_not_left_out(folder):
    (folder / "a.pdf").write_bytes(image_pdf(squeezed(9_000_000, times=1), 3000, 3000, b"/Filter /FlateDecode"))
    limits = Limits(pixels=8_999_999)
    (document,) = read_documents(folder, n_jobs=1, reading=NO_OCR, limits=limits)
    assert str(document.problems[0]) == (
        "a.pdf, page 1: a picture on the page has 3,000 x 3,000 pixels; the limit is 8,999,999 (pixels)"
    )
    (document,) = read_documents(folder, n_jobs=1, reading=NO_OCR, limits=replace(limits, pixels=9_000_000))
    assert document.pages[0].thumbnail.max() < 10


def test_which_pages_are_over_the_limit_does_not_depend_on_chance(folder):
    (folder / "set").mkdir()
    for k in range(6):
        (folder / "set" / f"{k}.tif").write_bytes(tiff(frame(), frame()))
    (document,) = read_documents(folder, n_jobs=2, reading=NO_OCR, limits=Limits(pages=3))
    assert [place.name for place in document.places] == ["set/0.tif, page 1", "set/0.tif, page 2", "set/1.tif, page 1"]
    (problem,) = document.problems
    assert str(problem) == "set: it has 12 pages; the limit is 3 (pages), the rest is not read"


def test_problems_come_in_the_order_of_files_not_of_answers(folder):
    (folder / "set").mkdir()
    (folder / "set" / "1.png").write_bytes(encoded(scan(LINES), "PNG")[:2000])
    (folder / "set" / "2.png").write_bytes(b"")
    (document,) = read_documents(folder, n_jobs=2, reading=NO_OCR)
    assert [problem.where for problem in document.problems] == ["set/1.png, page 1", "set/2.png"]


def mutated(data, rng):
    """Return bytes with some changed, left out, repeated, or the end cut."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 12)):
        at = rng.randrange(len(data))
        what = rng.randrange(4)
        if what == 0:
            data[at] = rng.randrange(256)
        elif what == 1:
            del data[at : at + rng.randint(1, 40)]
        elif what == 2:
            data[at:at] = data[at : at + rng.randint(1, 40)] * rng.randint(1, 5)
        else:
            data[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"9999", b"-1 0"])
        data = data or bytearray(b"x")
    return bytes(data[: rng.randint(len(data) // 2, len(data))] if rng.random() < 0.2 else data)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_never_stop_the_reading(seed, folder):
    rng = random.Random(seed)
    originals = [
        text_pdf(LINES, LINES),
        image_pdf(encoded(scan(LINES), "JPEG"), 827, 1169, b"/Filter /DCTDecode"),
        encoded(scan(LINES).convert("1"), "TIFF", compression="group4" if seed % 2 else "tiff_lzw"),
        encoded(picture(), "PNG"),
        encoded(picture(), "JPEG"),
        mail(attached(text_pdf(LINES)), attached(encoded(picture(), "PNG")), attached(mail(), kind="message/rfc822")),
    ]
    for k in range(500):
        (folder / f"{k}.bin").write_bytes(mutated(originals[k % len(originals)], rng))
    documents = read_documents(folder, reading=NO_OCR, limits=replace(LIMITS, seconds=10.0))
    assert len(documents) == 500
    assert all(document.pages or document.problems for document in documents)
    assert_fit_for_a_clerk(documents.problems, folder)
    assert not readers()
