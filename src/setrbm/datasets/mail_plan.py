"""What a made-up piece of mail consists of: its class, its pages, and which of them show the class.

A plan says nothing of words or pixels. ``mail_like`` draws features from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm._types import Integers, Mask
from setrbm.bags import offsets_of

# One detector per type, as in the paper. The numbers are the mean number of words on a page of the type, relative to a
# printed letter, and how often pages without evidence are of the type.
PAGE_TYPES = {
    "printed letter": (1.0, 10.0),
    "handwritten letter": (0.6, 5.0),
    "form": (1.2, 8.0),
    "invoice": (0.9, 6.0),
    "contract": (2.0, 3.0),
    "bank check": (0.25, 4.0),
    "bank slip": (0.4, 5.0),
    "identity paper": (0.4, 6.0),
    "medical certificate": (0.6, 3.0),
    "tax notice": (1.5, 3.0),
    "payslip": (1.2, 3.0),
    "receipt": (0.3, 4.0),
    "questionnaire": (1.3, 2.0),
    "notice": (0.9, 3.0),
    "advertisement": (0.8, 5.0),
    "general conditions": (3.0, 8.0),
    "envelope": (0.15, 12.0),
    "blank page": (0.03, 10.0),
}
# Evidence is written on pages of these types.
EVIDENCE_TYPES = ("printed letter", "handwritten letter", "form", "invoice", "medical certificate", "notice")
TYPES_PER_SUBJECT = 2
HANDWRITTEN = "handwritten letter"

NOWHERE, ONE_PAGE, TWO_PAGES = 0, 1, 2
# Every third class is a compound: pages about the two classes before it, together in one piece of mail, show it.
COMPOUND = 3


@dataclass(frozen=True)
class MailSettings:
    """What kind of mail to generate.

    Attributes
    ----------
    n_classes : int
    pages_per_set : float
        The mean number of pages.
    n_words : int
        The size of the vocabulary.
    words_per_page : float
        The mean number of words on a printed letter. Other types of pages have more or fewer.
    evidence_share : float
        The share of a page's words that come from its subject, on pages that show the class.
    two_pages : float
        The share of the mail of compound classes (every third class) whose class only two pages show together.
    nowhere : float
        The share of mail that does not show its class. The class of the rest is shown by one page.
    skew : float
        Class k has a share proportional to (k + 1) to the power of minus this.
    word_errors : tuple of float
        The lowest and the highest share of misread words on a page; handwriting is in the upper half.
    wrong_labels : float
        The share of mail with the label of another class.
    problem : int
        Selects subjects and words. Mail of one problem comes from one distribution, whatever the random state.
    """

    n_classes: int = 11
    pages_per_set: float = 102_071 / 14_593
    n_words: int = 10_000
    words_per_page: float = 110.0
    evidence_share: float = 0.1
    two_pages: float = 0.7
    nowhere: float = 0.06
    skew: float = 0.7
    word_errors: tuple[float, float] = (0.05, 0.5)
    wrong_labels: float = 0.02
    problem: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("pages_per_set", 1.0, np.inf), ("words_per_page", 1.0, self.n_words / 2), ("evidence_share", 0.0, 1.0),
            ("two_pages", 0.0, 1.0), ("nowhere", 0.0, 1.0 - self.two_pages), ("skew", 0.0, 10.0),
            ("wrong_labels", 0.0, 1.0),
        ):  # fmt: skip
            if not low <= (value := getattr(self, name)) <= high:
                raise ValueError(f"{name} must lie between {low:g} and {high:g}. Got {value!r}.")
        if self.n_classes < COMPOUND:
            raise ValueError(f"n_classes must be at least 3, one of them a compound. Got {self.n_classes!r}.")
        low, high = self.word_errors
        if not 0.0 <= low <= high <= 1.0:
            raise ValueError(f"word_errors must be two shares in increasing order. Got {self.word_errors!r}.")

    def changed(self, **changes: Any) -> MailSettings:
        """Return these settings with some of them replaced."""
        unknown = [name for name in changes if name not in self.__dataclass_fields__]
        if unknown:
            known = ", ".join(self.__dataclass_fields__)
            raise TypeError(f"Settings of mail are {known}. Got {unknown[0]!r}.")
        return replace(self, **changes)


@dataclass(frozen=True)
class MailPlan:
    """Pieces of mail, page by page.

    One page about subject k shows class k. Pages about the subjects 0 and 1 together show class 2, though each alone
    shows its own class; likewise 3 and 4 together show class 5, and so on.

    Attributes
    ----------
    y : ndarray of shape (n_sets,)
        The labels, some of them wrong.
    true_classes : ndarray of shape (n_sets,)
    kinds : ndarray of shape (n_sets,)
        How many pages it takes to show the class: 1, 2, or 0 if nothing does.
    offsets : ndarray of shape (n_sets + 1,)
        Piece k has the pages ``offsets[k]:offsets[k + 1]``.
    types : ndarray of shape (n_pages,)
        Positions in ``PAGE_TYPES``.
    subjects : ndarray of shape (n_pages,)
        The subject of each page that shows the class, -1 for other pages.
    """

    y: npt.NDArray[np.int64]
    true_classes: npt.NDArray[np.int64]
    kinds: Integers
    offsets: Integers
    types: Integers
    subjects: Integers

    @property
    def evidence(self) -> Mask:
        """Which pages show the class, alone or together with another."""
        return self.subjects >= 0


def plan_mail(settings: MailSettings, n_sets: int, n_pages: int, rng: np.random.Generator) -> MailPlan:
    """Return a random plan for this many pieces of mail and pages."""
    y = rng.choice(settings.n_classes, n_sets, p=class_shares(settings))
    # Every class occurs.
    y[: settings.n_classes] = np.arange(settings.n_classes)
    y = rng.permutation(y)
    sizes = _set_sizes(rng, n_sets, n_pages)
    offsets = offsets_of(sizes)
    drawn = rng.random(n_sets)
    kinds = np.where(drawn < settings.nowhere, NOWHERE, ONE_PAGE)
    kinds[(drawn >= 1.0 - settings.two_pages) & (sizes >= 2) & (y % COMPOUND == COMPOUND - 1)] = TWO_PAGES
    subjects = _subjects(rng, y, kinds, offsets)
    types = _types(rng, subjects, settings)
    wrong = rng.random(n_sets) < settings.wrong_labels
    labels = np.where(wrong, (y + rng.integers(1, settings.n_classes, n_sets)) % settings.n_classes, y)
    return MailPlan(labels, y, kinds, offsets, types, subjects)


def class_shares(settings: MailSettings) -> npt.NDArray[np.float64]:
    """Return the share of each class, the most frequent first."""
    shares = np.arange(1, settings.n_classes + 1) ** -settings.skew
    return np.asarray(shares / shares.sum())


def _set_sizes(rng: np.random.Generator, n_sets: int, n_pages: int) -> Integers:
    """Return log-normal set sizes, each at least 1, that sum to ``n_pages``."""
    raw = rng.lognormal(mean=0.0, sigma=0.8, size=n_sets)
    sizes = 1 + np.floor(raw * (n_pages - n_sets) / raw.sum()).astype(np.intp)
    np.add.at(sizes, rng.integers(0, n_sets, n_pages - sizes.sum()), 1)
    return np.asarray(sizes, dtype=np.intp)


def _subjects(rng: np.random.Generator, y: Integers, kinds: Integers, offsets: Integers) -> Integers:
    """Return the subject of each page; -1 for pages that show nothing."""
    subjects = np.full(offsets[-1], -1)
    sizes = np.diff(offsets)
    first = offsets[:-1] + rng.integers(0, sizes)
    # Another page of the same piece: the first one moved on in a circle.
    second = offsets[:-1] + (first - offsets[:-1] + rng.integers(1, np.maximum(sizes, 2))) % sizes
    one, two = kinds == ONE_PAGE, kinds == TWO_PAGES
    subjects[first[one]] = y[one]
    subjects[first[two]] = y[two] - 1
    subjects[second[two]] = y[two] - 2
    return subjects


def _types(rng: np.random.Generator, subjects: Integers, settings: MailSettings) -> Integers:
    """Return the type of each page: one of its subject's types, or any."""
    names = list(PAGE_TYPES)
    shares = np.array([share for _, share in PAGE_TYPES.values()])
    types = rng.choice(len(names), len(subjects), p=shares / shares.sum())
    evidence = np.flatnonzero(subjects >= 0)
    of_subject = subject_types(settings)[subjects[evidence]]
    types[evidence] = of_subject[np.arange(len(evidence)), rng.integers(0, TYPES_PER_SUBJECT, len(evidence))]
    return types


def subject_types(settings: MailSettings) -> Integers:
    """Return the types of page that each subject is written on; shape (n_classes, 2)."""
    rng = np.random.default_rng([settings.problem, 1])
    possible = np.array([list(PAGE_TYPES).index(name) for name in EVIDENCE_TYPES])
    return np.array([rng.choice(possible, TYPES_PER_SUBJECT, replace=False) for _ in range(settings.n_classes)])
