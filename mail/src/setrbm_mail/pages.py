"""Pages as they were read: words with their places, thumbnail and layout; documents of pages, and what went wrong.

A page holds no picture, so that many fit into memory; ``setrbm_mail.pictures`` draws it again.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm.bags import as_positions
from setrbm.tools.text import count

# Rows and columns of the thumbnail.
THUMBNAIL = (32, 24)
# Statistics of the layout: four of each kind of zone, and the share of ink.
ZONES = ("boxes", "lines", "print", "handwriting")
LAYOUT = (*(f"{zone} {name}" for zone in ZONES for name in ("number", "area", "height", "place")), "ink")
METHODS = ("text layer", "OCR", "mail text", "none")
# The longest word, in letters, that is kept whole.
LONGEST_WORD = 100


class DocumentError(ValueError):
    """Raised if a file or a page cannot be read. The message gives the reason, not the name of the file."""


@dataclass(frozen=True)
class Place:
    """Where a page comes from.

    Attributes
    ----------
    file : str
        The path of the file below the input folder.
    part : tuple of int
        The positions of nested attachments; empty for a file that is not a mail.
    digest : str
        Of the content of the file or attachment.
    number : int
        The page within it, from 1.
    name : str
        The name to show: the file, the attachment and the page.
    """

    file: str
    part: tuple[int, ...]
    digest: str
    number: int
    name: str


@dataclass(frozen=True, eq=False)
class Page:
    """One page as it was read.

    Attributes
    ----------
    words : tuple of str
        In reading order.
    boxes : ndarray of shape (n_words, 4)
        Left, top, right and bottom of each word, in pixels of the upright page.
    confidences : ndarray of shape (n_words,)
        From 0 to 1; 1 for words of a text layer.
    method : {"text layer", "OCR", "mail text", "none"}
        Where the words come from.
    width, height : int
        The upright page in pixels.
    dpi : float
        Pixels per inch.
    rotation : int
        By how many degrees the stored page was turned clockwise to be upright: 0, 90, 180 or 270.
    thumbnail : ndarray of uint8, of shape (32, 24)
        Mean gray values of the upright page.
    layout : ndarray of shape (17,)
        Statistics of boxes, lines, printed and handwritten zones, from 0 to 1.
    """

    words: tuple[str, ...]
    boxes: npt.NDArray[np.int32]
    confidences: npt.NDArray[np.float32]
    method: str
    width: int
    height: int
    dpi: float
    rotation: int
    thumbnail: npt.NDArray[np.uint8]
    layout: npt.NDArray[np.float32]

    @property
    def text(self) -> str:
        """The words, separated by spaces."""
        return " ".join(self.words)

    def to_json(self) -> dict[str, Any]:
        """Return the page as plain values."""
        return {
            "words": list(self.words), "boxes": self.boxes.ravel().tolist(),
            "confidences": [round(float(confidence), 3) for confidence in self.confidences], "method": self.method,
            "width": self.width, "height": self.height, "dpi": self.dpi, "rotation": self.rotation,
            "thumbnail": base64.b64encode(self.thumbnail.tobytes()).decode(),
            "layout": [round(float(value), 5) for value in self.layout],
        }  # fmt: skip

    @classmethod
    def from_json(cls, plain: Any) -> Page:
        """Return the page that ``to_json`` described; raise ValueError if it is not one."""
        try:
            words = _words(plain["words"])
            page = cls(
                words=words,
                boxes=np.array(plain["boxes"], dtype=np.int32).reshape(len(words), 4),
                confidences=_floats(plain["confidences"]).reshape(len(words)),
                method=str(plain["method"]),
                width=int(plain["width"]),
                height=int(plain["height"]),
                dpi=float(plain["dpi"]),
                rotation=int(plain["rotation"]),
                thumbnail=_thumbnail(plain["thumbnail"]),
                layout=_floats(plain["layout"]).reshape(len(LAYOUT)),
            )
            page._check()
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"This is not the description of a page: {error}.") from None
        return page

    def _check(self) -> None:
        """Raise ValueError if the numbers cannot be those of a page."""
        is_placed = (self.boxes[:, :2] <= self.boxes[:, 2:]).all()
        is_finite = np.isfinite(self.confidences).all() and np.isfinite(self.layout).all() and np.isfinite(self.dpi)
        if min(self.width, self.height) < 1 or self.dpi <= 0.0 or not is_placed or not is_finite:
            raise ValueError("sizes, places or statistics")
        if self.rotation not in (0, 90, 180, 270) or self.method not in METHODS:
            raise ValueError("rotation or method")


def _words(words: Any) -> tuple[str, ...]:
    if not isinstance(words, list) or not all(isinstance(word, str) and len(word) <= LONGEST_WORD for word in words):
        raise ValueError(f"words are texts of at most {LONGEST_WORD} letters")
    # Raises for lone surrogates, which cannot be encoded.
    "".join(words).encode()
    return tuple(words)


def _floats(values: Any) -> npt.NDArray[np.float32]:
    # Numbers that are too large become infinite, which is refused.
    with np.errstate(over="ignore"):
        return np.array(values, dtype=np.float32)


def _thumbnail(text: Any) -> npt.NDArray[np.uint8]:
    return np.frombuffer(base64.b64decode(text), dtype=np.uint8).reshape(THUMBNAIL)


@dataclass(frozen=True)
class Problem:
    """A file, an attachment or a page that was not read.

    Attributes
    ----------
    document : str
        The id of the document.
    where : str
        The file, the attachment and the page.
    reason : str
    is_temporary : bool
        Whether trying again may help: a file was not there, or a process died or took too long.
    """

    document: str
    where: str
    reason: str
    is_temporary: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Document:
    """A piece of mail: its pages, and what could not be read of it.

    Attributes
    ----------
    id : str
        Its path below the input folder.
    pages : list of Page
    places : list of Place
        Where each page comes from.
    problems : list of Problem
    """

    id: str
    pages: list[Page] = field(repr=False)
    places: list[Place] = field(repr=False)
    problems: list[Problem] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.pages)

    def to_json(self) -> dict[str, Any]:
        """Return the document as plain values."""
        return {
            "id": self.id, "pages": [page.to_json() for page in self.pages],
            "places": [asdict(place) for place in self.places],
            "problems": [asdict(problem) for problem in self.problems],
        }  # fmt: skip

    @classmethod
    def from_json(cls, plain: Any) -> Document:
        """Return the document that ``to_json`` described; raise ValueError if it is not one."""
        try:
            return cls(
                str(plain["id"]),
                [Page.from_json(page) for page in plain["pages"]],
                [Place(**{**place, "part": tuple(place["part"])}) for place in plain["places"]],
                [Problem(**problem) for problem in plain["problems"]],
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"This is not the description of a document: {error}.") from None


class Documents(Sequence[Document]):
    """Documents that were read, in the order of their ids.

    Parameters
    ----------
    items : sequence of Document

    Examples
    --------
    >>> from setrbm_mail import Document, Documents
    >>> Documents([Document("a.pdf", [], []), Document("b.pdf", [], [])])
    Documents(2 documents, 0 pages, 0 problems)
    """

    def __init__(self, items: Sequence[Document]) -> None:
        self._items = list(items)

    def __repr__(self) -> str:
        counts = ((len(self), "document"), (self.n_pages, "page"), (len(self.problems), "problem"))
        return f"Documents({', '.join(count(n, word) for n, word in counts)})"

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Document]:
        return iter(self._items)

    def __getitem__(self, key: Any) -> Any:
        """Return one document or, for a slice, a mask or a list of positions, Documents."""
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            return self._items[key]
        return Documents([self._items[k] for k in as_positions(key, len(self))])

    @property
    def ids(self) -> npt.NDArray[np.str_]:
        """The ids of the documents."""
        return np.array([document.id for document in self._items], dtype=str)

    @property
    def shape(self) -> tuple[int]:
        """The number of documents; with it, scikit-learn splits them into Documents and not into lists."""
        return (len(self),)

    @property
    def given_ids(self) -> npt.NDArray[np.str_]:
        """The ids, with which labels that have an index are compared."""
        return self.ids

    @property
    def n_pages(self) -> int:
        """The number of pages of all documents."""
        return sum(map(len, self._items))

    @property
    def problems(self) -> list[Problem]:
        """What could not be read, document by document."""
        return [problem for document in self._items for problem in document.problems]

    @property
    def readable(self) -> Documents:
        """The documents with at least one page."""
        return Documents([document for document in self._items if document.pages])

    @property
    def texts(self) -> list[list[str]]:
        """The text of each page of each document."""
        return [[page.text for page in document.pages] for document in self._items]
