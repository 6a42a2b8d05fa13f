"""Texts: documents with pages of text as sets of word vectors, and why a document got its class."""

from typing import TYPE_CHECKING

from setrbm.tools.lazy import lazy_names

if TYPE_CHECKING:
    from setrbm.text.page_texts import PageTexts as PageTexts
    from setrbm.text.page_words import PageWords as PageWords

__all__ = ["PageTexts", "PageWords"]
__getattr__, __dir__ = lazy_names(__name__, {"PageTexts": "page_texts", "PageWords": "page_words"})
