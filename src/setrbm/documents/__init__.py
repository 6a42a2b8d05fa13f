"""Documents: from files (PDF, TIFF, JPEG, PNG, mail) to pages with words and features; generated mail to try it on."""

from typing import TYPE_CHECKING

from setrbm._lazy import lazy_names

if TYPE_CHECKING:
    from setrbm.documents.answers import Answer as Answer
    from setrbm.documents.answers import classify as classify
    from setrbm.documents.answers import document_classifier as document_classifier
    from setrbm.documents.features import DocumentFeatures as DocumentFeatures
    from setrbm.documents.features import PageGrid as PageGrid
    from setrbm.documents.features import PageLayout as PageLayout
    from setrbm.documents.features import PageTypes as PageTypes
    from setrbm.documents.limits import Limits as Limits
    from setrbm.documents.pages import Document as Document
    from setrbm.documents.pages import Documents as Documents
    from setrbm.documents.pages import Page as Page
    from setrbm.documents.pages import Problem as Problem
    from setrbm.documents.pictures import marked_pages as marked_pages
    from setrbm.documents.reading import iter_documents as iter_documents
    from setrbm.documents.reading import read_documents as read_documents
    from setrbm.documents.reading_settings import Reading as Reading

__all__ = [
    "Answer",
    "Document",
    "DocumentFeatures",
    "Documents",
    "Limits",
    "Page",
    "PageGrid",
    "PageLayout",
    "PageTypes",
    "Problem",
    "Reading",
    "classify",
    "document_classifier",
    "iter_documents",
    "marked_pages",
    "read_documents",
]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Answer": "answers",
        "Document": "pages",
        "DocumentFeatures": "features",
        "Documents": "pages",
        "Limits": "limits",
        "Page": "pages",
        "PageGrid": "features",
        "PageLayout": "features",
        "PageTypes": "features",
        "Problem": "pages",
        "Reading": "reading_settings",
        "classify": "answers",
        "document_classifier": "answers",
        "iter_documents": "reading",
        "marked_pages": "pictures",
        "read_documents": "reading",
    },
)
