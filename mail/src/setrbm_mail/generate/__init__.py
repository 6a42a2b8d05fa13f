"""Generate mail as page images and files: letters, forms, invoices and other pages, scanned or born digital."""

from setrbm_mail.generate.canvas import Canvas
from setrbm_mail.generate.layouts import draw_page
from setrbm_mail.generate.mail import generate_mail
from setrbm_mail.generate.manifest import Manifest, Piece
from setrbm_mail.generate.pages import page_picture
from setrbm_mail.generate.phrases import CLASSES
from setrbm_mail.generate.rasters import draw_raster
from setrbm_mail.generate.scanning import Noise, Scan, scan

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
