"""Pages of PDF files: when the words of a text layer are those of the page."""

import pytest

from hostile_files import CATALOG, FONT, pdf, stream, typed
from setrbm_mail import Limits
from setrbm_mail.formats.pdf import PdfSource, picture_share

NOTE = typed(["Scanned by Acme"], size=8)
IMAGE = b"/Type /XObject /Subtype /Image /Width 8 /Height 8 /BitsPerComponent 8 /ColorSpace /DeviceGray"


def placed(left, bottom, width, height):
    """Return page content that draws the picture at a place."""
    return b"q %d 0 0 %d %d %d cm /X Do Q " % (width, height, left, bottom)


def scanned_pdf(content, more=b"/MediaBox [0 0 600 800]", form=b""):
    """Return a PDF of one page; /X is a picture and /F a form."""
    resources = b"/Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R /F 7 0 R >> >>"
    return pdf(
        CATALOG,
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R %s %s >>" % (more, resources),
        stream(content + NOTE),
        FONT,
        stream(bytes(64), IMAGE),
        stream(form, b"/Type /XObject /Subtype /Form /BBox [0 0 600 800] " + resources),
    )


STRIPS = b"".join(placed(0, 10 * k, 600, 10) for k in range(80))
TILES = b"".join(placed(100 * i, 100 * k, 100, 100) for i in range(6) for k in range(8))
PAGES = {
    "one picture": (placed(0, 0, 600, 800), 1.0),
    "strips": (STRIPS, 1.0),
    "tiles": (TILES, 1.0),
    "a logo": (placed(100, 600, 300, 200), 1 / 8),
    "the same place many times": (placed(0, 0, 300, 400) * 9, 1 / 4),
    "mostly beside the page": (placed(300, -3200, 6000, 4000), 1 / 2),
    "no picture": (b"", 0.0),
}


def share_of(data):
    with PdfSource(data, Limits())._page(1) as page:
        return picture_share(page)


@pytest.mark.parametrize("name", PAGES)
def test_the_share_of_pictures_is_that_of_all_of_them_together(name):
    content, share = PAGES[name]
    assert share_of(scanned_pdf(content)) == pytest.approx(share, abs=0.02)


def test_pictures_are_placed_on_turned_pages_on_cut_ones_and_in_forms():
    half = placed(0, 0, 600, 400)
    assert share_of(scanned_pdf(half, b"/MediaBox [0 0 600 800] /Rotate 90")) == pytest.approx(0.5, abs=0.02)
    cut = b"/MediaBox [0 0 600 800] /CropBox [0 200 600 800]"
    assert share_of(scanned_pdf(half, cut)) == pytest.approx(1 / 3, abs=0.02)
    shrunk = scanned_pdf(b"q 0.5 0 0 0.5 0 0 cm /F Do Q ", form=STRIPS)
    assert share_of(shrunk) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("name", PAGES)
def test_a_short_note_is_not_the_text_of_a_page_covered_by_pictures(name):
    content, share = PAGES[name]
    lettering = PdfSource(scanned_pdf(content), Limits()).lettering(1, (800, 600))
    assert (lettering is None) == (share > 0.5)
