"""Generate mail as page images and files: letters, forms, invoices and other pages, scanned or born digital."""

from setrbm.documents.generate.canvas import Canvas
from setrbm.documents.generate.layouts import draw_page
from setrbm.documents.generate.mail import generate_mail
from setrbm.documents.generate.manifest import Manifest, Piece
from setrbm.documents.generate.pages import page_picture
from setrbm.documents.generate.phrases import CLASSES
from setrbm.documents.generate.rasters import draw_raster
from setrbm.documents.generate.scanning import Noise, Scan, scan

__all__ = [
    "CLASSES",
    "Canvas",
    "Manifest",
    "Noise",
    "Piece",
    "Scan",
    "draw_page",
    "draw_raster",
    "generate_mail",
    "page_picture",
    "scan",
]
