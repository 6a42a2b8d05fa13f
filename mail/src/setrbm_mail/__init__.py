"""Documents: from files (PDF, TIFF, JPEG, PNG, mail) to pages with words and features; generated mail to try it on."""

from typing import TYPE_CHECKING

from setrbm.tools.lazy import lazy_names
from setrbm_mail._version import __version__

if TYPE_CHECKING:
    from setrbm_mail.answers import Answer as Answer
    from setrbm_mail.answers import classify as classify
    from setrbm_mail.answers import document_classifier as document_classifier
    from setrbm_mail.features.blocks import PageGrid as PageGrid
    from setrbm_mail.features.blocks import PageLayout as PageLayout
    from setrbm_mail.features.blocks import PageTypes as PageTypes
    from setrbm_mail.features.document_features import DocumentFeatures as DocumentFeatures
    from setrbm_mail.limits import Limits as Limits
    from setrbm_mail.pages import Document as Document
    from setrbm_mail.pages import Documents as Documents
    from setrbm_mail.pages import Page as Page
    from setrbm_mail.pages import Problem as Problem
    from setrbm_mail.pictures import marked_pages as marked_pages
    from setrbm_mail.reading.documents import iter_documents as iter_documents
    from setrbm_mail.reading.documents import read_documents as read_documents
    from setrbm_mail.reading.settings import Reading as Reading

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
    "__version__",
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
        "DocumentFeatures": "features.document_features",
        "Documents": "pages",
        "Limits": "limits",
        "Page": "pages",
        "PageGrid": "features.blocks",
        "PageLayout": "features.blocks",
        "PageTypes": "features.blocks",
        "Problem": "pages",
        "Reading": "reading.settings",
        "classify": "answers",
        "document_classifier": "answers",
        "iter_documents": "reading.documents",
        "marked_pages": "pictures",
        "read_documents": "reading.documents",
    },
)
