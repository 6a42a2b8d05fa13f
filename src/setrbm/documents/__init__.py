"""Documents: from files (PDF, TIFF, JPEG, PNG, mail) to pages with words and features; generated mail to try it on."""

from typing import TYPE_CHECKING

from setrbm._lazy import lazy_names

if TYPE_CHECKING:
    from setrbm.documents.limits import Limits as Limits
    from setrbm.documents.pages import Document as Document
    from setrbm.documents.pages import Documents as Documents
    from setrbm.documents.pages import Page as Page
    from setrbm.documents.pages import Problem as Problem
    from setrbm.documents.reading import iter_documents as iter_documents
    from setrbm.documents.reading import read_documents as read_documents
    from setrbm.documents.reading_settings import Reading as Reading

__all__ = ["Document", "Documents", "Limits", "Page", "Problem", "Reading", "iter_documents", "read_documents"]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Document": "pages",
        "Documents": "pages",
        "Limits": "limits",
        "Page": "pages",
        "Problem": "pages",
        "Reading": "reading_settings",
        "iter_documents": "reading",
        "read_documents": "reading",
    },
)
