"""Why a document got its class: the page, its most telling words, and a snippet around the strongest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from setrbm.explain import Explanation
from setrbm.text.page_words import WORD

# A snippet has about this many characters; it ends between words unless a word is longer than SLACK.
WIDTH, SLACK = 80, 20


@dataclass(frozen=True)
class PageReason:
    """The page of a document with the largest drop among those with a known word; among all if none has one.

    Attributes
    ----------
    page : int
        Its position, counted from 0.
    words : list of (str, float)
        The words of the page with the largest contributions for the class; those against it are left out.
    snippet : str
        The text around the first occurrence of the strongest word; the beginning of the page if there is none.
    """

    page: int
    words: list[tuple[str, float]]
    snippet: str


def page_reasons(explanation: Explanation, documents: Iterable[list[str]], n_words: int = 8) -> list[PageReason]:
    """Return the page that mattered most for the class of each document.

    Parameters
    ----------
    explanation : Explanation
        Of the sets that PageWords made of the documents.
    documents : iterable of lists of str
    n_words : int
        How many words to return at most.
    """
    reasons = []
    for part, pages in zip(explanation, documents, strict=True):
        page = _strongest(part)
        words = part.features_for(page, n_words)
        reasons.append(PageReason(page, words, snippet(pages[page], words[0][0] if words else None)))
    return reasons


def _strongest(part: Explanation) -> int:
    """Return the page of a document that mattered most."""
    # The drop of a page without words comes from the biases and from the size of the set, not from what it says.
    has_words = np.diff(sparse.csr_array(part.contributions).indptr) > 0
    drop = np.where(has_words, part.drop, -np.inf) if has_words.any() else part.drop
    return int(drop.argmax())


def _place(text: str, wanted: list[str]) -> tuple[int, int]:
    """Return where these consecutive words first begin and end in a text; the beginning if they are not there."""
    words = [(match.group().lower(), *match.span()) for match in WORD.finditer(text)] if wanted else []
    for k in range(len(words) - len(wanted) + 1):
        part = words[k : k + len(wanted)]
        if part and [word for word, _, _ in part] == wanted:
            return part[0][1], part[-1][2]
    return 0, 0


def snippet(text: str, word: str | None) -> str:
    """Return the text around a word or a pair of words on one line, without control characters.

    It is the beginning of the text if the word is not there.

    Examples
    --------
    >>> snippet("Dear customer,\\n\\nyour invoice is attached.", "invoice")
    'Dear customer, your invoice is attached.'
    """
    first, last = _place(text, [] if word is None else word.split())
    start, stop = max(0, first - WIDTH // 2), min(len(text), max(last + WIDTH // 2, WIDTH))
    start -= next((k for k in range(min(SLACK, start)) if text[start - k - 1].isspace()), 0)
    stop += next((k for k in range(min(SLACK, len(text) - stop)) if text[stop + k].isspace()), 0)
    shown = "".join(letter if letter.isprintable() else " " for letter in text[start:stop])
    return ("... " if start > 0 else "") + " ".join(shown.split()) + (" ..." if stop < len(text) else "")
