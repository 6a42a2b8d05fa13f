"""Documents as files: PDF, multi-page TIFF, a folder of JPEG pictures, or an e-mail with attachments."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import numpy as np
from PIL import Image

from setrbm.tools.files import write_atomically
from setrbm_mail.generate import filler
from setrbm_mail.generate.canvas import Canvas
from setrbm_mail.generate.pages import DrawnPage
from setrbm_mail.generate.pdf_files import ScannedPage, pdf_file
from setrbm_mail.generate.rasters import DPI
from setrbm_mail.generate.writing import Writer

FORMATS = ("pdf", "tiff", "jpeg", "eml")
SUFFIXES = {"pdf": ".pdf", "tiff": ".tiff", "jpeg": "", "eml": ".eml"}
# E-mails with more pages have a PDF for the rest.
MOST_PICTURES = 3


def write_document(path: Path, format: str, pages: Sequence[DrawnPage], rng: np.random.Generator) -> None:
    """Write a document that appears under its name only when it is complete.

    Parameters
    ----------
    path : Path
    format : {"pdf", "tiff", "jpeg", "eml"}
    pages : sequence of DrawnPage
    rng : Generator
        For the text and the attachments of e-mails.
    """
    if format == "jpeg":
        _write_folder(path, pages)
        return
    payload: dict[str, Callable[[], bytes]] = {
        "pdf": lambda: _pdf(pages),
        "tiff": lambda: _tiff(pages),
        "eml": lambda: _email(pages, rng),
    }
    write_atomically(path, payload[format]())


def _pdf(pages: Sequence[DrawnPage]) -> bytes:
    content: list[ScannedPage | Canvas] = [page.canvas if page.digital else page.scanned() for page in pages]
    return pdf_file(content)


def _tiff(pages: Sequence[DrawnPage]) -> bytes:
    file = io.BytesIO()
    frames = (Image.fromarray(page.picture()) for page in pages)
    quality = pages[0].noise.jpeg_quality
    next(frames).save(
        file, "TIFF", save_all=True, append_images=frames, compression="jpeg", quality=quality, dpi=(DPI, DPI)
    )
    return file.getvalue()


def _write_folder(path: Path, pages: Sequence[DrawnPage]) -> None:
    """Write one picture per page into a folder that gets its name at the end."""
    temporary = path.with_name(f".{path.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    for n, page in enumerate(pages, start=1):
        (temporary / f"page-{n:03d}.jpg").write_bytes(page.scanned().jpeg)
    temporary.rename(path)


def _email(pages: Sequence[DrawnPage], rng: np.random.Generator) -> bytes:
    """Return an e-mail with a neutral text; its attachments have the pages in their order."""
    writer = Writer("b", rng)
    message = EmailMessage(policy=SMTP)
    sender = writer.sender
    message["From"] = f"{sender} <{sender.replace(' ', '.').lower()}@example.com>"
    message["To"] = "mailroom@example.org"
    message["Subject"] = writer.filled(writer.pick(filler.MAIL_SUBJECTS))
    message["Date"] = (
        f"{writer.integer(1, 28):02d} Mar {writer.integer(2019, 2025)} 09:{writer.integer(10, 59)}:00 +0000"
    )
    message["Message-ID"] = f"<{writer.digits(12)}@example.com>"
    message.set_content(writer.filled(writer.pick(filler.MAIL_BODIES)).replace("{name}", sender))
    # Digital pages stay digital only in a PDF.
    n_pictures = min(int(rng.integers(0, MOST_PICTURES + 1)), len(pages))
    pictures = [] if any(page.digital for page in pages) else pages[:n_pictures]
    for n, page in enumerate(pictures, start=1):
        _attach(message, page.scanned().jpeg, "image", "jpeg", f"page-{n}.jpg")
    if rest := pages[len(pictures) :]:
        _attach(message, _pdf(rest), "application", "pdf", "scan.pdf")
    message.set_boundary(f"=-{writer.digits(18)}")
    return message.as_bytes()


def _attach(message: EmailMessage, payload: bytes, maintype: str, subtype: str, name: str) -> None:
    message.add_attachment(payload, maintype=maintype, subtype=subtype, filename=name)
