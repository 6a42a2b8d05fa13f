"""Generated pages: what is written on them, how they are drawn, and where the scanner puts it."""

from collections import Counter

import numpy as np
import pypdfium2 as pdfium
import pytest

from generated import evidence_in
from setrbm.datasets.mail_plan import EVIDENCE_TYPES, PAGE_TYPES
from setrbm_mail.generate import CLASSES, Canvas, Noise, draw_page, draw_raster, page_picture, scan
from setrbm_mail.generate.fonts import find_fonts
from setrbm_mail.generate.mail import DIGITAL_TYPES
from setrbm_mail.generate.pdf_files import ScannedPage, pdf_file
from setrbm_mail.generate.scanning import ROTATIONS, draw_rotation, jpeg_file


def drawn(page_type, seed=0, subject=None, style="b", **options):
    return draw_page(page_type, subject, style=style, rng=np.random.default_rng(seed), **options)


# --- what is written ---


@pytest.mark.parametrize("style", ["a", "b"])
@pytest.mark.parametrize("page_type", EVIDENCE_TYPES)
def test_a_page_about_a_subject_says_so(page_type, style):
    for subject in range(len(CLASSES)):
        for part in ("train", "test"):
            text = drawn(page_type, [subject, 1], subject, style, phrases=part).text
            assert evidence_in(text, style, subject, part), (CLASSES[subject], text)


@pytest.mark.parametrize("page_type", PAGE_TYPES)
def test_a_page_without_a_subject_says_nothing_about_any(page_type):
    for seed in range(6):
        text = drawn(page_type, seed).text
        for subject in range(len(CLASSES)):
            assert not evidence_in(text, "b", subject, "train") and not evidence_in(text, "b", subject, "test")


@pytest.mark.parametrize("style", ["a", "b"])
@pytest.mark.parametrize("page_type", PAGE_TYPES)
def test_words_are_on_the_paper_and_in_fonts_of_the_style(page_type, style):
    files = set(find_fonts(style).files)
    for seed in range(8):
        canvas = drawn(page_type, seed, subject=seed if page_type in EVIDENCE_TYPES else None, style=style)
        for word in canvas.words:
            left, top, right, bottom = word.box
            assert left >= 0 and top >= 0 and right <= canvas.size[0] + 1 and bottom <= canvas.size[1], word
            assert word.face.path.replace("\\", "/").split("/")[-1] in files


@pytest.mark.parametrize("page_type", PAGE_TYPES)
def test_pages_of_one_type_differ_and_a_seed_repeats_them(page_type):
    pages = [drawn(page_type, seed) for seed in range(12)]
    assert len({repr(page.items) for page in pages}) >= (5 if page_type == "blank page" else 12)
    assert drawn(page_type, 3) == pages[3]


def test_blank_pages_are_nearly_empty_and_general_conditions_are_dense():
    counts = {name: np.mean([len(drawn(name, seed).words) for seed in range(5)]) for name in PAGE_TYPES}
    assert counts["blank page"] < 3
    assert counts["general conditions"] == max(counts.values()) > 400
    assert counts["envelope"] < counts["printed letter"] < counts["contract"]


# --- how it is drawn ---


def test_ink_is_where_the_words_are():
    canvas = drawn("printed letter", 1)
    picture, k = draw_raster(canvas), 200 / 72
    for word in canvas.words:
        left, top, right, bottom = (round(edge * k) for edge in word.box)
        assert picture[top : bottom + 1, left : right + 1].min() < 140, word
        picture[max(top - 2, 0) : bottom + 6, left - 3 : right + 4] = 255
    # The signature, a logo and a few lines are left.
    assert (picture < 128).mean() < 0.004


@pytest.mark.parametrize("page_type", sorted(DIGITAL_TYPES))
def test_the_text_layer_of_a_digital_page_has_its_words_at_their_places(page_type):
    canvas = drawn(page_type, 2, subject=0 if page_type in EVIDENCE_TYPES else None)
    with pdfium.PdfDocument(pdf_file([canvas])) as document:
        page = document[0]
        assert page.get_size() == pytest.approx(canvas.size, abs=0.01)
        text = page.get_textpage()
        assert Counter(text.get_text_range().split()) == Counter(canvas.text.split())
        counts = Counter(word.text for word in canvas.words)
        sampled = [
            word for word in canvas.words if len(word.text) >= 6 and word.text.isalpha() and counts[word.text] == 1
        ]
        for word in sampled[:12]:
            start, n = text.search(word.text, match_case=True, match_whole_word=True).get_next()
            left, bottom, _, _ = text.get_charbox(start)
            _, _, right, top = text.get_charbox(start + n - 1)
            assert (left, right) == pytest.approx((word.x, word.x + word.width), abs=0.12 * word.size)
            assert bottom <= canvas.size[1] - word.y + 0.3 * word.size <= top + word.size
        assert sampled


def test_a_digital_page_looks_like_its_raster():
    canvas = drawn("invoice", 4)
    with pdfium.PdfDocument(pdf_file([canvas])) as document:
        shown = document[0].render(scale=50 / 72, grayscale=True).to_numpy().squeeze().astype(float)
    ours = draw_raster(canvas, 50).astype(float)
    rows, columns = min(shown.shape[0], ours.shape[0]), min(shown.shape[1], ours.shape[1])
    assert np.corrcoef(shown[:rows, :columns].ravel(), ours[:rows, :columns].ravel())[0, 1] > 0.75


def test_a_scanned_page_of_a_pdf_is_its_picture():
    picture = page_picture("notice", style="b", rng=np.random.default_rng(0))
    height, width = picture.shape
    with pdfium.PdfDocument(pdf_file([ScannedPage(jpeg_file(picture, 95), (width, height), 200)])) as document:
        shown = document[0].render(scale=200 / 72, grayscale=True).to_numpy().squeeze()
        assert not document[0].get_textpage().get_text_range()
    assert np.abs(shown[:height, :width].astype(float) - picture[: shown.shape[0], : shown.shape[1]]).mean() < 4


def test_brackets_and_backslashes_survive_in_the_text_layer():
    canvas = Canvas()
    canvas.write(50, 50, r"f(x) \alpha (((", find_fonts("b").printed[0][0], 12)
    with pdfium.PdfDocument(pdf_file([canvas])) as document:
        assert document[0].get_textpage().get_text_range().split() == ["f(x)", "\\alpha", "((("]


def test_a_pdf_needs_a_page():
    with pytest.raises(ValueError, match="A PDF file must have at least one page. Got none"):
        pdf_file([])


# --- the scanner ---


@pytest.mark.parametrize("rotation", [0, *ROTATIONS])
def test_the_matrix_of_a_scan_leads_to_the_ink(rotation):
    canvas = Canvas()
    canvas.fill(100, 60, 130, 80, 0)
    canvas.fill(480, 700, 520, 740, 0)
    noise = Noise(0.0, rotated=float(rotation > 0), stamped=0.0, bordered=0.0)
    seed = next(s for s in range(200) if draw_rotation(noise, np.random.default_rng(s)) == rotation)
    result = scan(draw_raster(canvas), noise, np.random.default_rng(seed))
    assert result.rotation == rotation
    assert (result.picture.shape[0] > result.picture.shape[1]) == (rotation in (0, 180))
    gray = {point: result.picture[tuple(np.round(result.pixels([point])[0])[::-1].astype(int))] for point in (
        (115, 70), (500, 720), (103, 63), (127, 77), (94, 54), (136, 86), (300, 400)
    )}  # fmt: skip
    assert max(gray[115, 70], gray[500, 720], gray[103, 63], gray[127, 77]) < 120
    assert min(gray[94, 54], gray[136, 86], gray[300, 400]) > 180


def test_about_three_pages_in_a_hundred_are_rotated():
    counts = Counter(draw_rotation(Noise(), np.random.default_rng(seed)) for seed in range(3_000))
    assert 50 <= sum(counts[rotation] for rotation in ROTATIONS) <= 135
    assert all(counts[rotation] >= 10 for rotation in ROTATIONS)


def test_a_higher_level_leaves_less_contrast():
    picture = draw_raster(drawn("printed letter", 1))
    contrast = []
    for level in (0.0, 0.5, 1.0):
        page = scan(picture, Noise(level, rotated=0, stamped=0, bordered=0), np.random.default_rng(0)).picture
        contrast.append(float(np.median(page) - np.percentile(page, 0.5)))
    assert contrast[0] > contrast[1] + 10 > contrast[2] + 20


def test_stamps_and_borders_come_only_when_asked_for():
    white = np.full((2339, 1654), 255, dtype=np.uint8)
    dark = {
        name: (scan(white, Noise(0.0, rotated=0, **shares), np.random.default_rng(3)).picture < 120).sum()
        for name, shares in {
            "none": {"stamped": 0, "bordered": 0}, "stamp": {"stamped": 1, "bordered": 0},
            "border": {"stamped": 0, "bordered": 1},
        }.items()
    }  # fmt: skip
    assert dark["none"] < 600 and dark["stamp"] > 3_000 and dark["border"] > 3_000


def test_a_page_picture_is_repeatable_and_has_the_asked_resolution():
    pictures = [page_picture("form", 3, style="a", rng=np.random.default_rng(5), dpi=100) for _ in range(2)]
    assert np.array_equal(*pictures)
    assert pictures[0].dtype == np.uint8 and 1090 <= pictures[0].shape[0] <= 1180


# --- messages ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("postcard", None), "page_type must be one of 'printed letter', .* Got 'postcard'"),
        (("form", 11), "subject must lie between 0 and 10, or be None. Got 11"),
        (("envelope", 0), "Only pages of these types can have a subject: 'printed letter', .* Got 'envelope'"),
    ],
)
def test_impossible_pages_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        draw_page(*arguments, style="b", rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": 1.5}, "level must lie between 0 and 1. Got 1.5"),
        ({"rotated": -0.1}, "rotated must lie between 0 and 1. Got -0.1"),
        ({"skew": 90.0}, "skew must lie between 0 and 45 degrees. Got 90.0"),
    ],
)
def test_impossible_noise_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Noise(**arguments)
