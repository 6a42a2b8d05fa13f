"""Pictures of pages: drawn and saved one at a time, and nothing odd from a process is drawn."""

import base64
import json
import zlib

import numpy as np
import pytest

from hostile_files import encoded, picture, text_pdf
from made_pages import page
from running import readers
from setrbm_mail import Limits, Reading, pictures, read_documents
from setrbm_mail.answers import Answer
from setrbm_mail.pictures import ShownPage, marked_pages, pictures_of, upright_picture
from setrbm_mail.reading.messages import reply_of

N = 5


@pytest.fixture
def mail(tmp_path):
    """A folder of documents, and what was read."""
    folder = tmp_path / "mail"
    folder.mkdir()
    for k in range(N):
        (folder / f"{k}.pdf").write_bytes(text_pdf([f"letter {k}"] * (k + 1)))
    return folder, read_documents(folder, n_jobs=1, reading=Reading(ocr="never"))


def wanted(documents):
    return [ShownPage(one.places[0], one.pages[0]) for one in documents]


def answers(documents):
    return [Answer(one.id, "a", 0.9, "", 1, "", ["letter"]) for one in documents]


def test_pictures_come_one_at_a_time_and_the_processes_end_with_the_caller(mail):
    folder, documents = mail
    found = pictures_of(folder, wanted(documents), n_jobs=1)
    k, first = next(found)
    assert k == 0 and first.ndim == 2 and readers()
    found.close()
    assert not readers()


def test_pictures_do_not_depend_on_the_number_of_processes(mail):
    folder, documents = mail
    alone, both = (dict(pictures_of(folder, wanted(documents), n_jobs=n)) for n in (1, 2))
    assert set(alone) == set(both) == set(range(N))
    for k in range(N):
        np.testing.assert_array_equal(alone[k], both[k])


def test_a_picture_that_cannot_be_drawn_any_more_is_none(mail):
    folder, documents = mail
    (folder / "2.pdf").unlink()
    found = dict(pictures_of(folder, wanted(documents), n_jobs=1))
    assert [found[k] is None for k in range(N)] == [False, False, True, False, False]


def test_limits_are_kept_by_pictures_and_small_pictures_are_drawn_under_small_limits(mail):
    folder, documents = mail
    tight = dict(pictures_of(folder, wanted(documents), Limits(file_bytes=100), n_jobs=1))
    assert set(tight.values()) == {None}
    (folder / "small.png").write_bytes(encoded(picture(), "PNG"))
    limits = Limits(pixels=120_000)
    small = read_documents(folder, ["small.png"], n_jobs=1, reading=Reading(ocr="never"), limits=limits)
    ((_, drawn),) = pictures_of(folder, wanted(small), limits, n_jobs=1)
    assert drawn is not None


def test_pictures_are_saved_as_soon_as_they_are_drawn(mail, tmp_path, monkeypatch):
    folder, documents = mail
    seen, draw = [], pictures.marked
    monkeypatch.setattr(
        pictures, "marked", lambda *about: seen.append(len(list((tmp_path / "out").iterdir()))) or draw(*about)
    )
    paths = marked_pages(folder, documents, answers(documents), tmp_path / "out", Limits(), n_jobs=2)
    assert seen == list(range(N))
    assert all(path.is_file() for path in paths)
    assert [path.name for path in paths] == [f"{k + 1:04d}-{k}.pdf.png" for k in range(N)]


def packed(pixels):
    return base64.b64encode(zlib.compress(pixels)).decode()


GOOD = {"shape": [3, 4], "pixels": packed(bytes(range(12)))}
ODD = {
    "no picture": {"reason": "gone"},
    "no shape": {"pixels": GOOD["pixels"]},
    "a bomb": {"shape": [3, 4], "pixels": packed(bytes(50_000_000))},
    "too short": {"shape": [3, 5], "pixels": GOOD["pixels"]},
    "too large": {"shape": [1000, 1001], "pixels": packed(bytes(1_001_000))},
    "negative": {"shape": [-3, -4], "pixels": GOOD["pixels"]},
    "no numbers": {"shape": ["3", "4"], "pixels": GOOD["pixels"]},
    "flags": {"shape": [True, True], "pixels": packed(b"a")},
    "fractions": {"shape": [3.0, 4.0], "pixels": GOOD["pixels"]},
    "three sides": {"shape": [3, 2, 2], "pixels": GOOD["pixels"]},
    "no sides": {"shape": 12, "pixels": GOOD["pixels"]},
    "no base64": {"shape": [3, 4], "pixels": "a"},
    "no text": {"shape": [3, 4], "pixels": 12},
    "no zlib": {"shape": [3, 4], "pixels": base64.b64encode(b"abc").decode()},
    "cut": {"shape": [3, 4], "pixels": base64.b64encode(zlib.compress(bytes(12))[:-1]).decode()},
}


def drawn(values):
    return reply_of("draw", json.dumps(values).encode())


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_a_picture_that_cannot_be_drawn(name):
    assert upright_picture(drawn(ODD[name]), 0, 1_000_000) is None


def test_a_picture_is_turned_upright():
    upright = upright_picture(drawn(GOOD), 0, 12)
    np.testing.assert_array_equal(upright, np.arange(12).reshape(3, 4))
    np.testing.assert_array_equal(upright_picture(drawn(GOOD), 90, 12), np.rot90(upright, -1))
    assert pictures.marked(upright, page("letter"), ["letter"]).size == (4, 3)
