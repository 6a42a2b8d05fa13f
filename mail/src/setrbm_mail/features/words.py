"""The text of a page for the word features: errors of OCR are undone where that is safe."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from setrbm.text.page_words import WORD
from setrbm_mail.pages import Page

# Digits that OCR takes for letters, inside words.
LETTERS = str.maketrans("01568|", "olsbbl")
# A word of letters with at most this share of digits is one with misread letters.
MISREAD = 1 / 3
EDGES = re.compile(r"^[\W_]+|[\W_]+$")


def page_text(page: Page) -> str:
    """Return the words of a page in a form that varies less with OCR.

    1. Compatibility characters (ligatures, full width) become plain ones, and letters lowercase.
    2. Punctuation around a word is dropped. A word that ends a line with a hyphen is joined to the next.
    3. Digits inside words of letters become the letters that they look like: ``c1aim`` is ``claim``.
    4. Words that are mostly digits are dropped: amounts, dates and numbers tell little about the class
       and are often misread.

    Examples
    --------
    >>> from setrbm_mail.features.words import clean_words
    >>> clean_words(["Re:", "c1aim", "No.", "12-345", "reim-", "bursement"])
    ['re', 'claim', 'no', 'reimbursement']
    """
    return " ".join(clean_words(page.words))


def clean_words(words: Sequence[str]) -> list[str]:
    """Return words in a form that varies less with OCR."""
    return [word for word, _ in _cleaned(words)]


def tokens_of(words: Sequence[str]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the words that the features see in the text of a page, and the positions of the words they come from.

    Examples
    --------
    >>> tokens_of(["bank/account", "4711", "reim-", "bursement"])
    [('bank', (0,)), ('account', (0,)), ('reimbursement', (2, 3))]
    """
    return [(token, places) for word, places in _cleaned(words) for token in WORD.findall(word.lower())]


def _cleaned(words: Sequence[str]) -> list[tuple[str, tuple[int, ...]]]:
    """Return clean words, each with the positions of the words it was made of."""
    cleaned: list[tuple[str, tuple[int, ...]]] = []
    joined, places = "", []
    for place, word in enumerate(words):
        plain = unicodedata.normalize("NFKC", word).lower()
        places.append(place)
        if plain.endswith("-") and plain[:-1].isalpha() and len(plain) > 2:
            joined += plain[:-1]
            continue
        cleaned.append((_clean(joined + plain), tuple(places)))
        joined, places = "", []
    cleaned.append((_clean(joined), tuple(places)))
    return [(word, places) for word, places in cleaned if word]


def _clean(word: str) -> str:
    word = EDGES.sub("", word)
    n_digits = sum(character.isdigit() or character == "|" for character in word)
    if not n_digits:
        return word
    return word.translate(LETTERS) if n_digits <= MISREAD * len(word) else ""
