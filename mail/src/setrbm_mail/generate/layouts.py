"""One layout per type of page."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from setrbm.datasets.mail_plan import EVIDENCE_TYPES, PAGE_TYPES
from setrbm_mail.generate import backs, clauses, forms, letters, papers, statements
from setrbm_mail.generate.canvas import A4, LETTER, Canvas
from setrbm_mail.generate.fonts import find_fonts
from setrbm_mail.generate.phrases import CLASSES, Part
from setrbm_mail.generate.sheet import Sheet
from setrbm_mail.generate.writing import Writer

LAYOUTS: dict[str, Callable[[Sheet], None]] = {
    "printed letter": letters.printed_letter,
    "handwritten letter": letters.handwritten_letter,
    "form": forms.form,
    "invoice": forms.invoice,
    "contract": clauses.contract,
    "bank check": papers.bank_check,
    "bank slip": papers.bank_slip,
    "identity paper": papers.identity_paper,
    "medical certificate": papers.medical_certificate,
    "tax notice": statements.tax_notice,
    "payslip": statements.payslip,
    "receipt": forms.receipt,
    "questionnaire": forms.questionnaire,
    "notice": letters.notice,
    "advertisement": letters.advertisement,
    "general conditions": clauses.general_conditions,
    "envelope": backs.envelope,
    "blank page": backs.blank_page,
}
# The share of pages on US letter paper; the others are A4.
LETTER_SHARE = 0.3


def draw_page(
    page_type: str, subject: int | None = None, *, style: str, rng: np.random.Generator, phrases: Part = "train",
    evidence_share: float = 0.3, n_subjects: int = len(CLASSES),
) -> Canvas:  # fmt: skip
    """Draw a random page.

    Parameters
    ----------
    page_type : str
        One of ``setrbm.datasets.mail_plan.PAGE_TYPES``.
    subject : int or None
        What the page is about, a position in ``phrases.CLASSES``; only pages of ``EVIDENCE_TYPES`` can have one.
    style : {"a", "b"}
        Fonts, templates and phrases; the two styles share none.
    rng : Generator
    phrases : {"train", "test"}
        Which half of the phrases about the subject to use.
    evidence_share : float
        The share of sentences about the subject.
    n_subjects : int
        How many subjects filler may mention in passing.

    Returns
    -------
    canvas : Canvas
    """
    if page_type not in LAYOUTS:
        raise ValueError(f"page_type must be one of {', '.join(map(repr, PAGE_TYPES))}. Got {page_type!r}.")
    _check_subject(page_type, subject)
    writer = Writer(style, rng, subject, phrases, evidence_share, n_subjects)
    fonts = find_fonts(style).choose(rng)
    size = LETTER if rng.random() < LETTER_SHARE else A4
    sheet = Sheet(Canvas(page_type, size, int(rng.integers(246, 256))), fonts, writer)
    LAYOUTS[page_type](sheet)
    return sheet.canvas


def _check_subject(page_type: str, subject: int | None) -> None:
    if subject is None:
        return
    if not 0 <= subject < len(CLASSES):
        raise ValueError(f"subject must lie between 0 and {len(CLASSES) - 1}, or be None. Got {subject!r}.")
    if page_type not in EVIDENCE_TYPES:
        known = ", ".join(map(repr, EVIDENCE_TYPES))
        raise ValueError(f"Only pages of these types can have a subject: {known}. Got {page_type!r}.")
