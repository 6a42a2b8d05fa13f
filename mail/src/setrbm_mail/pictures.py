"""Pictures of pages with the words marked that speak most for the class."""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from setrbm_mail.answers import Answer, boxes_of
from setrbm_mail.formats.source import Gray
from setrbm_mail.limits import Limits
from setrbm_mail.pages import Document, Page, Place
from setrbm_mail.reading.messages import Drawn, Reply, Request
from setrbm_mail.reading.settings import Reading
from setrbm_mail.reading.supervisor import Supervisor, n_children

# Pictures to look at need fewer dots per inch than OCR.
DPI = 110.0
# Small pictures are enlarged, whatever the limit of pixels is: those of 50 inches to 5,500 pixels per side.
ENLARGED = 31_000_000
MARK, EDGE = (255, 214, 0), (200, 120, 0)
LONGEST_NAME = 60


@dataclass(frozen=True)
class ShownPage:
    """A page to draw."""

    place: Place
    page: Page


def pictures_of(
    folder: Path, wanted: Iterable[ShownPage], limits: Limits | None = None, n_jobs: int | None = None
) -> Iterator[tuple[int, Gray | None]]:
    """Yield the pictures of pages, upright, one at a time as they are drawn; no picture is kept.

    Parameters
    ----------
    folder : Path
        The folder that was read.
    wanted : iterable of ShownPage
    limits : Limits, optional
    n_jobs : int, optional
        How many processes draw; by default one per core.

    Yields
    ------
    k : int
        Which of those wanted it is; they come in any order.
    picture : ndarray of uint8 or None
        None if it cannot be drawn any more.
    """
    limits, root = limits or Limits(), str(folder.absolute())
    asked: dict[Request, tuple[int, int]] = {}
    left = enumerate(wanted)

    def next_request() -> Request | None:
        k, shown = next(left, (0, None))
        if shown is None:
            return None
        place = shown.place
        request = Request("draw", root, place.file, (place.number,), place.part, place.digest)
        asked[request] = k, shown.page.rotation
        return request

    with Supervisor(n_children(n_jobs), limits, Reading(dpi=DPI, ocr="never")) as supervisor:
        for request, _, reply, _ in supervisor.replies(next_request):
            k, rotation = asked.pop(request)
            yield k, upright_picture(reply, rotation, limits.pixels + ENLARGED)


def upright_picture(reply: Reply, rotation: int, most_pixels: int) -> Gray | None:
    """Return the picture in a reply, turned; None if it has none, or one that does not match its shape."""
    if not isinstance(reply, Drawn):
        return None
    try:
        height, width = reply.shape
        if type(height) is not int or type(width) is not int or min(height, width) < 1 or height * width > most_pixels:
            return None
        unpacker = zlib.decompressobj()
        # A little longer, to see the end.
        pixels = unpacker.decompress(base64.b64decode(reply.pixels), height * width + 1)
    except (TypeError, ValueError, zlib.error):
        return None
    if len(pixels) != height * width or not unpacker.eof:
        return None
    picture = np.frombuffer(pixels, dtype=np.uint8).reshape(height, width)
    return np.ascontiguousarray(np.rot90(picture, -rotation // 90))


def marked(picture: Gray, page: Page, words: Sequence[str]) -> Image.Image:
    """Return a picture of a page in color, with words marked as with a pen."""
    image = Image.fromarray(picture).convert("RGB")
    factor = picture.shape[0] / page.height
    pen = Image.new("RGB", image.size, (255, 255, 255))
    draw = ImageDraw.Draw(pen)
    boxes = [tuple(side * factor for side in box) for box in boxes_of(page, words)]
    for left, top, right, bottom in boxes:
        draw.rectangle((left - 2, top - 2, right + 2, bottom + 2), fill=MARK)
    both = np.minimum(np.asarray(image), np.asarray(pen))
    framed = Image.fromarray(both)
    frame = ImageDraw.Draw(framed)
    for left, top, right, bottom in boxes:
        frame.rectangle((left - 2, top - 2, right + 2, bottom + 2), outline=EDGE)
    return framed


def marked_pages(
    folder: Path, documents: Sequence[Document], answers: Sequence[Answer], output: Path, limits: Limits | None = None,
    n_jobs: int | None = None,
) -> list[Path | None]:  # fmt: skip
    """Write a picture of the page of each document that matters most for its class, with its telling words marked.

    Parameters
    ----------
    folder : Path
        The folder that was read.
    documents : sequence of Document
    answers : sequence of Answer
        Their answers, in the same order.
    output : Path
        The folder for the pictures; made if it does not exist.
    limits : Limits, optional
    n_jobs : int, optional
        How many processes draw; by default one per core.

    Returns
    -------
    list of Path or None
        One per document; None if there is no page, or it cannot be drawn any more.
    """
    output.mkdir(parents=True, exist_ok=True)
    shown = list(_shown(documents, answers))
    paths: list[Path | None] = [None] * len(documents)
    for position, picture in pictures_of(folder, [wanted for _, wanted in shown], limits, n_jobs):
        k, wanted = shown[position]
        if picture is not None:
            path = output / f"{k + 1:04d}-{safe_name(documents[k].id)}.png"
            marked(picture, wanted.page, answers[k].words).save(path)
            paths[k] = path
    return paths


def _shown(documents: Sequence[Document], answers: Sequence[Answer]) -> Iterator[tuple[int, ShownPage]]:
    for k, (document, answer) in enumerate(zip(documents, answers, strict=True)):
        if answer.page is not None:
            yield k, ShownPage(document.places[answer.page - 1], document.pages[answer.page - 1])


def safe_name(name: str) -> str:
    """Return a name with nothing but letters, digits, points, hyphens and underscores.

    Examples
    --------
    >>> safe_name("inbox/../<b>.pdf")
    'inbox-..-b-.pdf'
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", os.fspath(name))
    return plain[-LONGEST_NAME:].strip("-")
