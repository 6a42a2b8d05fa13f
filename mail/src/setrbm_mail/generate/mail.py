"""Generate a folder of mail: documents whose pages show their class, or do not, as a plan says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from setrbm.datasets.mail_like import COLLECTIONS
from setrbm.datasets.mail_plan import PAGE_TYPES, MailPlan, MailSettings, plan_mail
from setrbm.tools.files import check_folder, replacing, write_atomically
from setrbm.tools.text import listed
from setrbm_mail.generate.containers import FORMATS, SUFFIXES, write_document
from setrbm_mail.generate.fonts import find_fonts
from setrbm_mail.generate.layouts import draw_page
from setrbm_mail.generate.manifest import MANIFEST, Manifest, Piece
from setrbm_mail.generate.pages import DrawnPage
from setrbm_mail.generate.phrases import CLASSES, Part
from setrbm_mail.generate.scanning import Noise

TRUTH, ARGUMENTS = "truth.jsonl", "generator.json"
# Types of pages that can be born digital; the others are written by hand, or are paper of another size.
DIGITAL_TYPES = frozenset({
    "printed letter", "form", "invoice", "contract", "tax notice", "payslip", "questionnaire", "notice",
    "general conditions",
})  # fmt: skip
# The share of documents with digital pages in which some pages are scanned all the same.
MIXED_SHARE = 0.5
# Settings of the feature-level generator that say nothing about pages.
NOT_FOR_PAGES = ("n_words", "words_per_page", "word_errors")
# The purposes of random numbers.
PLAN, DRAWING, SCANNER, DOCUMENT = range(4)


@dataclass(frozen=True)
class Order:
    """What to generate; see ``generate_mail``."""

    n_sets: int
    settings: MailSettings
    style: str
    formats: tuple[str, ...]
    noise: tuple[float, float]
    born_digital: float
    held_out_phrases: bool
    seed: int

    def __post_init__(self) -> None:
        if not self.settings.n_classes <= len(CLASSES):
            raise ValueError(f"n_classes must be at most {len(CLASSES)}. Got {self.settings.n_classes!r}.")
        if self.n_sets < self.settings.n_classes:
            raise ValueError(
                f"n_sets must be at least the number of classes, {self.settings.n_classes}. Got {self.n_sets!r}."
            )
        if not self.formats or (unknown := [name for name in self.formats if name not in FORMATS]):
            got = listed(map(repr, unknown)) if self.formats else "none"
            raise ValueError(f"formats must be among {', '.join(map(repr, FORMATS))}, at least one. Got {got}.")
        if len(self.noise) != 2 or not 0.0 <= self.noise[0] <= self.noise[1] <= 1.0:
            raise ValueError(f"noise must be two levels from 0 to 1 in increasing order. Got {self.noise!r}.")
        if not 0.0 <= self.born_digital <= 1.0:
            raise ValueError(f"born_digital must lie between 0 and 1. Got {self.born_digital!r}.")

    @property
    def part(self) -> Part:
        """Which half of the phrases to use."""
        return "test" if self.held_out_phrases else "train"

    def rng(self, purpose: int, *numbers: int) -> np.random.Generator:
        """Return the random numbers for one purpose, whatever was drawn before."""
        return np.random.default_rng((self.seed, purpose, *numbers))


def generate_mail(
    folder: Path | str, n_sets: int = 100, *, collection: str = "DsDe", style: str = "b",
    formats: Sequence[str] = FORMATS, noise: tuple[float, float] = (0.0, 1.0), born_digital: float = 0.15,
    held_out_phrases: bool = False, random_state: int = 0, on_piece: Callable[[int], None] | None = None,
    **changes: Any,
) -> Manifest:  # fmt: skip
    """Generate mail as files, with a manifest and the true words of every page.

    The same arguments, with the same fonts installed, give the same bytes. Rerun the same call to resume: documents
    that are complete are not written again.

    Parameters
    ----------
    folder : path-like
        Gets one file per piece of mail (or a folder of JPEG pictures), ``manifest.csv`` and ``truth.jsonl``.
    n_sets : int
        The number of documents.
    collection : {"DsDe", "DsUs"}
        Which of the paper's collections the mail resembles: 11 classes, or 6.
    style : {"a", "b"}
        Fonts, templates and phrases; the two styles share none.
    formats : sequence of {"pdf", "tiff", "jpeg", "eml"}
        Taken in turn.
    noise : tuple of float
        The range from which each page draws its noise level; see ``Noise``.
    born_digital : float
        The share of PDF files and e-mails with pages that are text instead of scans.
    held_out_phrases : bool
        Use phrases about the subjects that do not occur in mail generated without this option.
    random_state : int
    on_piece : callable, optional
        Called after each piece of mail with the number of pieces done so far.
    **changes
        Settings of ``MailSettings`` to replace, such as ``pages_per_set=3.0``.

    Returns
    -------
    manifest : Manifest
    """
    folder = Path(folder)
    order = _order(
        n_sets, collection, changes, style=style, formats=tuple(formats), noise=tuple(noise), born_digital=born_digital,
        held_out_phrases=held_out_phrases, seed=random_state,
    )  # fmt: skip
    _open_folder(folder, order)
    plan = _plan(order)
    pieces = []
    with replacing(folder / TRUTH) as truth:
        for k in range(n_sets):
            piece, pages = _piece(order, plan, k), _pages(order, plan, k)
            if not (folder / piece.document).exists():
                write_document(folder / piece.document, _format(order, k), pages, order.rng(DOCUMENT, k, 1))
            line = {"document": piece.document, "pages": [page.truth() for page in pages]}
            truth.write(f"{json.dumps(line)}\n".encode())
            pieces.append(piece)
            if on_piece is not None:
                on_piece(k + 1)
    manifest = Manifest(tuple(pieces))
    manifest.write(folder / MANIFEST)
    return manifest


def _order(n_sets: int, collection: str, changes: dict[str, Any], **arguments: Any) -> Order:
    """Return checked arguments."""
    if collection not in COLLECTIONS:
        raise ValueError(f"collection must be one of {', '.join(map(repr, COLLECTIONS))}. Got {collection!r}.")
    if useless := [name for name in NOT_FOR_PAGES if name in changes]:
        raise ValueError(f"{useless[0]} has no effect on pages. Use noise for misread words, and leave out the others.")
    return Order(n_sets, COLLECTIONS[collection][2].changed(**changes), **arguments)


def _open_folder(folder: Path, order: Order) -> None:
    """Create the folder, or check that the mail in it was generated with the same arguments and fonts."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arguments = json.dumps(asdict(order) | {"fonts": find_fonts(order.style).files}, indent=1) + "\n"
    path = folder / ARGUMENTS
    if not path.exists():
        if (folder / MANIFEST).exists() or any(folder.glob("piece-*")):
            raise FileExistsError(f"{str(folder)!r} must be an empty folder, or one to resume. Got other mail in it.")
        write_atomically(path, arguments.encode())
    elif path.read_text(encoding="utf-8") != arguments:
        raise FileExistsError(
            f"{str(folder)!r} must be generated with the arguments and fonts in {ARGUMENTS}. Got others. "
            "Use another folder."
        )


def _plan(order: Order) -> MailPlan:
    n_pages = max(order.n_sets, round(order.n_sets * order.settings.pages_per_set))
    return plan_mail(order.settings, order.n_sets, n_pages, order.rng(PLAN))


def _format(order: Order, k: int) -> str:
    return order.formats[k % len(order.formats)]


def _piece(order: Order, plan: MailPlan, k: int) -> Piece:
    """Return the row of the manifest for piece k; the name says nothing about the class."""
    here = slice(plan.offsets[k], plan.offsets[k + 1])
    types = list(PAGE_TYPES)
    return Piece(
        document=f"piece-{k:05d}{SUFFIXES[_format(order, k)]}",
        label=CLASSES[plan.y[k]],
        true_class=CLASSES[plan.true_classes[k]],
        kind=int(plan.kinds[k]),
        evidence_pages=tuple(int(page) + 1 for page in np.flatnonzero(plan.evidence[here])),
        page_types=tuple(types[n] for n in plan.types[here]),
    )


def _pages(order: Order, plan: MailPlan, k: int) -> list[DrawnPage]:
    """Return the pages of piece k, drawn but not yet scanned."""
    rng = order.rng(DOCUMENT, k, 0)
    is_pdf = _format(order, k) in ("pdf", "eml")
    digital = is_pdf and rng.random() < order.born_digital
    digital_share = 1.0 - MIXED_SHARE if rng.random() < MIXED_SHARE else 1.0
    pages = []
    for n, (page_type, subject) in enumerate(_content(plan, k)):
        canvas = draw_page(
            page_type, subject, style=order.style, rng=order.rng(DRAWING, k, n), phrases=order.part,
            evidence_share=order.settings.evidence_share, n_subjects=order.settings.n_classes,
        )  # fmt: skip
        noise = Noise(float(rng.uniform(*order.noise)))
        is_digital = bool(digital and page_type in DIGITAL_TYPES and rng.random() < digital_share)
        pages.append(DrawnPage(canvas, subject, noise, (order.seed, SCANNER, k, n), is_digital))
    return pages


def _content(plan: MailPlan, k: int) -> Iterator[tuple[str, int | None]]:
    """Yield type and subject of each page of piece k."""
    types = list(PAGE_TYPES)
    for page in range(plan.offsets[k], plan.offsets[k + 1]):
        subject = int(plan.subjects[page])
        yield types[plan.types[page]], subject if subject >= 0 else None
