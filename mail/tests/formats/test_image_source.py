"""Pages of picture files: faxes, whose dots are not square."""

import numpy as np
import pytest
from PIL import Image

from hostile_files import LINES, encoded, picture, scan
from setrbm_mail import Limits
from setrbm_mail.formats.image import ImageSource


def fax(across, down, **options):
    """Return a page of 8.27 x 11.69 inches with this resolution in each direction, and the page itself at 200 dpi."""
    page = scan(LINES, dpi=200)
    squeezed = page.resize((round(8.27 * across), round(11.69 * down)), Image.Resampling.BICUBIC)
    return encoded(squeezed, options.pop("kind", "TIFF"), dpi=(across, down), **options), np.asarray(page)


@pytest.mark.parametrize(("across", "down"), [(204, 98), (204, 196), (204, 391), (98, 204)])
@pytest.mark.parametrize("kind", ["TIFF", "PNG", "JPEG"])
def test_faxes_are_stretched_to_square_dots(across, down, kind):
    data, page = fax(across, down, kind=kind)
    found, dpi = ImageSource(data, Limits()).picture(1, 200.0)
    assert dpi == pytest.approx(200.0, rel=0.01)
    np.testing.assert_allclose(found.shape, page.shape, rtol=0.005)
    dark = [np.argwhere(one < 128) for one in (found, page)]
    np.testing.assert_allclose(dark[0].max(axis=0), dark[1].max(axis=0), atol=8)
    np.testing.assert_allclose(dark[0].min(axis=0), dark[1].min(axis=0), atol=8)


def test_a_fax_of_standard_resolution_is_a_page():
    data = encoded(Image.new("1", (1728, 1078), 1), "TIFF", dpi=(204, 98), compression="group4")
    found, dpi = ImageSource(data, Limits()).picture(1, 200.0)
    assert dpi == 200.0 and found.shape == (round(1078 / 98 * 200), round(1728 / 204 * 200))


@pytest.mark.parametrize("kind", ["TIFF", "JPEG"])
def test_a_fax_turned_by_its_record_is_stretched_in_the_right_direction(kind):
    record = Image.Exif()
    record[0x0112] = 6
    turned = picture(980, 2040).transpose(Image.Transpose.ROTATE_90)
    # Stored lying, 2040 dots across and 980 down: a square of ten inches.
    data = encoded(turned, kind, dpi=(204, 98), exif=record)
    found, _ = ImageSource(data, Limits()).picture(1, 200.0)
    assert found.shape == (2000, 2000)


@pytest.mark.parametrize("said", [(204, 1), (204, 1e6), (1e-3, 1e6), (90, 40), (300, 2000)])
def test_resolutions_that_cannot_be_believed_stretch_nothing(said):
    found, _ = ImageSource(encoded(picture(1200, 900), "PNG", dpi=said), Limits()).picture(1, 200.0)
    assert found.shape[1] / found.shape[0] == pytest.approx(4 / 3, rel=0.01)
