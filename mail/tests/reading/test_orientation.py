"""Which way up a page is, from its lines of text: pages of text make it sure, and upright pages are left alone."""

import numpy as np
import pytest

from setrbm_mail.formats.source import Lettering
from setrbm_mail.generate import page_picture
from setrbm_mail.reading import ocr
from setrbm_mail.reading.layout import binarized, zones_of
from setrbm_mail.reading.orientation import Guess, likely_rotation, reaching_out, upright

DPI = 200.0
# Other pages than those on which the thresholds were set: another style, too.
TEXTS = ("printed letter", "notice", "invoice", "contract", "form", "handwritten letter")
ANY = (*TEXTS, "blank page", "bank check", "identity paper", "envelope", "general conditions")


def guessed(picture):
    ink = binarized(picture, DPI)
    return likely_rotation(ink, zones_of(ink))


def pages(kinds, style):
    for kind in kinds:
        yield page_picture(kind, style=style, rng=np.random.default_rng(5))


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_turning_is_undone(rotation):
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    turned = np.rot90(picture, rotation // 90)
    np.testing.assert_array_equal(upright(turned, rotation), picture)


@pytest.mark.parametrize("style", ["a", "b"])
def test_upright_pages_are_left_alone(style):
    assert [guessed(picture).rotation for picture in pages(ANY, style)] == [0] * len(ANY)


@pytest.mark.parametrize("rotation", [90, 180, 270])
@pytest.mark.parametrize("style", ["a", "b"])
def test_a_sure_guess_is_right_and_most_printed_pages_are_sure(rotation, style):
    found = [guessed(np.ascontiguousarray(np.rot90(picture, rotation // 90))) for picture in pages(TEXTS, style)]
    assert {guess.rotation for guess in found if guess.is_sure} == {rotation}
    assert sum(guess.is_sure for guess in found[:4]) >= 3


def test_a_page_upside_down_reaches_below_its_lines():
    (picture,) = pages(["printed letter"], "a")
    above, below = reaching_out(zones_of(binarized(picture, DPI)))
    turned = reaching_out(zones_of(binarized(upright(picture, 180), DPI)))
    assert above > 3 * below
    assert turned[1] > 3 * turned[0]


# OCR with a guess: what is read decides in the end.


def lettering(confidence, n_words=10):
    boxes = np.tile(np.array([[0, 0, 40, 10]], np.int32), (n_words, 1))
    return Lettering(("letter",) * n_words, boxes, np.full(n_words, confidence, np.float32))


@pytest.fixture
def reading(monkeypatch):
    """A picture whose corner tells which way up it is, a stand-in for OCR, and the ways that were read."""
    picture = np.full((300, 300), 255, np.uint8)
    picture[:40, :40] = 0
    read = []

    def read_with(confidences, detected=0):
        def recognized(picture, *_):
            corners = [picture[0, 0], picture[-1, 0], picture[-1, -1], picture[0, -1]]
            way = 90 * (-corners.index(0) % 4)
            read.append(way)
            return lettering(confidences[way])

        monkeypatch.setattr(ocr, "_recognized", recognized)
        monkeypatch.setattr(ocr, "_rotation", lambda *_: detected)
        return lambda guess: (ocr.read(picture, DPI, guess)[1], read)

    return read_with


def test_a_right_guess_is_read_once(reading):
    assert reading({180: 0.9})(Guess(180, True)) == (180, [180])


def test_lines_that_look_upright_need_less_confidence(reading):
    assert reading({0: 0.6})(Guess(0, True)) == (0, [0])


def test_without_sure_lines_the_orientation_is_detected(reading):
    assert reading({0: 0.6, 90: 0.9}, detected=90)(Guess(0)) == (90, [0, 90])


def test_a_wrong_guess_is_corrected_by_what_is_read(reading):
    rotation, read = reading({180: 0.3, 0: 0.4})(Guess(180, True))
    assert rotation == 0 and sorted(read) == [0, 180]
