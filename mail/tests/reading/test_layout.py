"""The layout of drawn pages: boxes, lines, print and handwriting are found where they were drawn."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from setrbm_mail.pages import LAYOUT
from setrbm_mail.reading import layout
from setrbm_mail.reading.layout import binarized, layout_of, unevenness, zones_of

DPI = 200


def sheet(draw=lambda pen: None, gray=255):
    image = Image.new("L", (1654, 2339), gray)
    draw(ImageDraw.Draw(image))
    return np.asarray(image)


def values(picture, dpi=DPI):
    return dict(zip(LAYOUT, layout_of(picture, dpi).tolist(), strict=True))


def test_a_blank_page_has_no_zones():
    assert not any(values(sheet()).values())
    assert not any(values(sheet(gray=200)).values())


def test_boxes_are_counted_and_measured():
    corners = [(200, 300, 700, 500), (900, 300, 1400, 500), (200, 800, 700, 1000)]

    def draw(pen):
        for one in corners:
            pen.rectangle(one, outline=0, width=4)

    picture = sheet(draw)
    boxes = sorted(map(tuple, zones_of(binarized(picture, DPI)).boxes * DPI / layout.DPI))
    assert len(boxes) == 3
    for (left, top, width, height), (x0, y0, x1, y1) in zip(boxes, sorted(corners), strict=True):
        np.testing.assert_allclose([left, top, left + width, top + height], [x0, y0, x1, y1], atol=12)
    found = values(picture)
    assert found["boxes number"] == pytest.approx(3 / 13)
    assert found["boxes area"] == pytest.approx(3 * 500 * 200 / (1654 * 2339), rel=0.1)
    assert found["boxes place"] == pytest.approx(((400 + 400 + 900) / 3) / 2339, abs=0.01)


def test_lines_are_counted_whatever_the_direction():
    def draw(pen):
        pen.line((100, 400, 1500, 400), fill=0, width=3)
        pen.line((100, 900, 1500, 900), fill=0, width=3)
        pen.line((800, 1200, 800, 2000), fill=0, width=3)

    found = values(sheet(draw))
    assert found["lines number"] == pytest.approx(3 / 13)
    assert found["boxes number"] == 0.0


def test_printed_lines_of_text_are_print():
    font = ImageFont.load_default(32)

    def draw(pen):
        for k in range(10):
            pen.text((150, 300 + 60 * k), "I would like to cancel my contract from next month on.", fill=0, font=font)

    found = values(sheet(draw))
    assert found["print number"] > 0.25
    assert found["handwriting number"] < 0.1
    assert found["print place"] == pytest.approx((300 + 60 * 4.5) / 2339, abs=0.02)


def test_letters_of_uneven_height_and_foot_are_handwriting():
    rng = np.random.default_rng(0)
    even = np.array([(20 * k, 100, 12, 20) for k in range(12)], np.int32)
    uneven = even.copy()
    uneven[:, 1] += rng.integers(-12, 12, 12)
    uneven[:, 3] = rng.integers(10, 40, 12)
    assert unevenness(even) == 0.0
    assert unevenness(uneven) > unevenness(even) + 0.4


@pytest.mark.parametrize("dpi", [100, 150, 300])
def test_the_layout_does_not_depend_on_the_resolution(dpi):
    font = ImageFont.load_default(32)

    def draw(pen):
        pen.rectangle((200, 300, 1200, 700), outline=0, width=6)
        for k in range(8):
            pen.text((150, 900 + 60 * k), "Please send me the forms to sign.", fill=0, font=font)

    picture = sheet(draw)
    scaled = np.asarray(Image.fromarray(picture).resize((1654 * dpi // DPI, 2339 * dpi // DPI), Image.Resampling.BOX))
    ours, theirs = values(picture), values(scaled, dpi)
    for name in ("boxes number", "boxes area", "print area", "print place", "lines number"):
        assert theirs[name] == pytest.approx(ours[name], abs=0.03), name


def test_uneven_light_is_not_ink():
    shade = np.linspace(255, 150, 2339)[:, None].repeat(1654, axis=1).astype(np.uint8)
    assert values(shade)["ink"] == 0.0


def test_all_statistics_lie_between_0_and_1():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (2339, 1654)).astype(np.uint8)
    found = layout_of(noise, DPI)
    assert ((found >= 0.0) & (found <= 1.0)).all()
