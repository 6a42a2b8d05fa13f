"""Write PDF files whose pages are scans (JPEG) or born digital (operators and text); same pages, same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from setrbm_mail.generate.canvas import Canvas
from setrbm_mail.generate.pdf_pages import FONT_NAMES, pdf_operators
from setrbm_mail.generate.rasters import POINTS_PER_INCH

HEADER = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
# Objects: 1 is the catalog, 2 the list of pages, then the fonts, then two or three per page.
CATALOG, PAGES, FIRST_FONT = 1, 2, 3
FIRST_PAGE = FIRST_FONT + len(FONT_NAMES)


@dataclass(frozen=True)
class ScannedPage:
    """A page that is one gray JPEG picture.

    Attributes
    ----------
    jpeg : bytes
    pixels : tuple of int
        Width and height.
    dpi : float
    """

    jpeg: bytes
    pixels: tuple[int, int]
    dpi: float

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in points."""
        width, height = self.pixels
        return width * POINTS_PER_INCH / self.dpi, height * POINTS_PER_INCH / self.dpi


def pdf_file(pages: Sequence[ScannedPage | Canvas]) -> bytes:
    """Return a PDF file with these pages.

    Parameters
    ----------
    pages : sequence of ScannedPage or Canvas
        A canvas becomes a born-digital page with a text layer.
    """
    if not pages:
        raise ValueError("A PDF file must have at least one page. Got none.")
    fonts = [
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()
        for name in FONT_NAMES
    ]
    numbers: list[int] = []
    objects: list[bytes] = []
    for page in pages:
        number = FIRST_PAGE + len(objects)
        numbers.append(number)
        objects += _digital(page, number) if isinstance(page, Canvas) else _scanned(page, number)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    catalog = f"<< /Type /Catalog /Pages {PAGES} 0 R >>".encode()
    tree = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode()
    return _with_index([catalog, tree, *fonts, *objects])


def _digital(canvas: Canvas, number: int) -> list[bytes]:
    """Return the page object, which gets this number, and its content."""
    fonts = " ".join(f"/F{k} {FIRST_FONT + k} 0 R" for k in range(len(FONT_NAMES)))
    return [_page(canvas.size, f"/Font << {fonts} >>", number + 1), _stream("", pdf_operators(canvas))]


def _scanned(page: ScannedPage, number: int) -> list[bytes]:
    """Return the page object, which gets this number, its content and its picture."""
    width, height = page.size
    content = f"q {width:.2f} 0 0 {height:.2f} 0 0 cm /Im Do Q\n".encode()
    picture = (
        f"/Type /XObject /Subtype /Image /Width {page.pixels[0]} /Height {page.pixels[1]} "
        "/ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode "
    )
    return [
        _page(page.size, f"/XObject << /Im {number + 2} 0 R >>", number + 1),
        _stream("", content),
        _stream(picture, page.jpeg),
    ]


def _page(size: tuple[float, float], resources: str, content: int) -> bytes:
    return (
        f"<< /Type /Page /Parent {PAGES} 0 R /MediaBox [0 0 {size[0]:.2f} {size[1]:.2f}] "
        f"/Resources << {resources} >> /Contents {content} 0 R >>"
    ).encode()


def _stream(entries: str, payload: bytes) -> bytes:
    return f"<< {entries}/Length {len(payload)} >>\nstream\n".encode() + payload + b"\nendstream"


def _with_index(objects: list[bytes]) -> bytes:
    """Return a file of numbered objects, with the table of their positions that readers need."""
    parts = [HEADER]
    position = len(HEADER)
    positions = []
    for number, payload in enumerate(objects, start=1):
        part = f"{number} 0 obj\n".encode() + payload + b"\nendobj\n"
        positions.append(position)
        position += len(part)
        parts.append(part)
    rows = "".join(f"{place:010d} 00000 n \n" for place in positions)
    parts.append(
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}"
        f"trailer\n<< /Size {len(objects) + 1} /Root {CATALOG} 0 R >>\nstartxref\n{position}\n%%EOF\n".encode()
    )
    return b"".join(parts)
