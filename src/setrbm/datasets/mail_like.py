"""Made-up mail with the features of the paper's scanned mail, which is not public."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._types import Array, Integers
from setrbm.bags import Bags
from setrbm.datasets.mail_plan import HANDWRITTEN, PAGE_TYPES, MailPlan, MailSettings, plan_mail

# The two collections of the paper: number of pieces of mail, number of pages, and our settings for mail of this shape.
# The shares of evidence give a pooled logistic regression about the accuracy of the paper's pooled baseline
# (lab/experiments/mail_difficulty.py, lab/results/mail_difficulty.csv).
COLLECTIONS = {
    "DsDe": (14_593, 102_071, MailSettings(evidence_share=0.24)),
    "DsUs": (
        16_808,
        160_372,
        MailSettings(n_classes=6, pages_per_set=160_372 / 16_808, evidence_share=0.4, problem=1),
    ),
}
GRID, N_LAYOUT = (6, 8), 17
N_VALUES = GRID[0] * GRID[1] + N_LAYOUT + len(PAGE_TYPES)
# Words that belong to a subject, and to a type of page; the share of a page's words that come from its type, and from
# any subject in passing.
WORDS_PER_SUBJECT, WORDS_PER_TYPE = 40, 60
TYPE_SHARE, PASSING_SHARE = 0.2, 0.02
# Of the misread words, this share is lost; the others are read as some other word.
LOST = 0.5
# Values below this are taken as 0, so that most detectors are silent.
SMALLEST = 0.05


@overload
def make_mail_like(
    n_sets: int | None = ..., collection: str = ..., *, random_state: Any = ..., return_plan: Literal[False] = ...,
    **changes: Any,
) -> tuple[Bags, npt.NDArray[np.int64]]: ...  # fmt: skip
@overload
def make_mail_like(
    n_sets: int | None = ..., collection: str = ..., *, random_state: Any = ..., return_plan: Literal[True],
    **changes: Any,
) -> tuple[Bags, npt.NDArray[np.int64], MailPlan]: ...  # fmt: skip
def make_mail_like(
    n_sets: int | None = None, collection: str = "DsDe", *, random_state: Any = None, return_plan: bool = False,
    **changes: Any,
) -> Any:  # fmt: skip
    """Generate sets with the features of the paper's mail: 10,000 binary words and 83 values in [0, 1] per page.

    Most pieces of mail have a page that shows their class, some have two that show it only together, and some have
    none. All other pages are of types that occur in every class. Words are misread, as by OCR, and a few labels are
    wrong. The values are a grid of 6 x 8 mean gray values, 17 numbers on the layout, and the scores of 18 detectors of
    page types.

    Parameters
    ----------
    n_sets : int, optional
        By default as many as in the paper's collection.
    collection : {"DsDe", "DsUs"}
        Which of the paper's two collections the mail resembles: 14,593 sets of 11 classes, or 16,808 sets of 6.
    random_state : int, Generator or None
    return_plan : bool
        Whether to return the plan too: true classes, types of the pages, and which pages show the class.
    **changes
        Settings of ``setrbm.datasets.mail_plan.MailSettings`` to replace, such as ``n_classes=5``.

    Returns
    -------
    bags : Bags
        CSR, float32, with feature names.
    y : ndarray of shape (n_sets,)
    plan : MailPlan
        Only with ``return_plan``.

    Examples
    --------
    >>> from setrbm.datasets import make_mail_like
    >>> bags, y, plan = make_mail_like(100, random_state=0, return_plan=True)
    >>> bags
    Bags(100 sets, 699 vectors, 10,083 features, CSR float32)
    >>> plan.evidence[bags.offsets[3] : bags.offsets[4]]
    array([False, False,  True,  True])
    """
    if collection not in COLLECTIONS:
        raise ValueError(f"collection must be one of {', '.join(map(repr, COLLECTIONS))}. Got {collection!r}.")
    whole, n_pages, settings = COLLECTIONS[collection]
    settings = settings.changed(**changes)
    n_sets = whole if n_sets is None else n_sets
    if n_sets < settings.n_classes:
        raise ValueError(
            f"There must be at least one set of each class. Got {n_sets} sets, {settings.n_classes} classes."
        )
    if n_sets != whole or changes:
        n_pages = max(n_sets, round(n_sets * settings.pages_per_set))
    rng = np.random.default_rng(random_state)
    plan = plan_mail(settings, n_sets, n_pages, rng)
    X = sparse.hstack([_words(rng, plan, settings), _values(rng, plan, settings)], format="csr", dtype=np.float32)
    bags = Bags(X, plan.offsets, feature_names=feature_names(settings.n_words))
    return (bags, plan.y, plan) if return_plan else (bags, plan.y)


def feature_names(n_words: int) -> list[str]:
    """Return the names of all features."""
    rows, columns = GRID
    grid = [f"gray {row},{column}" for row in range(rows) for column in range(columns)]
    layout = [f"layout {k}" for k in range(N_LAYOUT)]
    return [f"word{k}" for k in range(n_words)] + grid + layout + [f"detector: {name}" for name in PAGE_TYPES]


# --- words ---


def _words(rng: np.random.Generator, plan: MailPlan, settings: MailSettings) -> sparse.csr_array:
    """Return one binary row of words per page, as they were read."""
    n_words, n_pages = settings.n_words, len(plan.types)
    lengths = np.array([length for length, _ in PAGE_TYPES.values()])[plan.types] * settings.words_per_page
    # Pages of one type differ in length as well.
    page = np.repeat(np.arange(n_pages), rng.poisson(lengths * rng.lognormal(-0.08, 0.4, n_pages)))
    words = _read(rng, _written(rng, page, plan, settings), page, plan, settings)
    kept = words >= 0
    # Pages and words are sorted as one number to drop duplicates; np.unique takes fifteen times as long.
    pairs = np.sort(page[kept].astype(np.int64) * n_words + words[kept])
    pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])] if len(pairs) else pairs
    rows, columns = np.divmod(pairs, n_words)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_pages))])
    ones = np.ones(len(pairs), dtype=np.float32)
    return sparse.csr_array((ones, columns.astype(np.int32), starts.astype(np.int32)), shape=(n_pages, n_words))


def _written(rng: np.random.Generator, page: Integers, plan: MailPlan, settings: MailSettings) -> Integers:
    """Return the words that were written: of the language, of the type of page, of its subject, or of any subject."""
    of_type, of_subject = _vocabularies(settings)
    zipf = np.cumsum(1.0 / (np.arange(settings.n_words) + 10.0))
    words = np.searchsorted(zipf / zipf[-1], rng.random(len(page))).clip(0, settings.n_words - 1)
    drawn = rng.random(len(page))
    subject = plan.subjects[page]
    from_subject = (drawn < settings.evidence_share) & (subject >= 0)
    in_passing = ~from_subject & (drawn < settings.evidence_share + PASSING_SHARE)
    in_passing &= drawn >= settings.evidence_share
    from_type = drawn > 1.0 - TYPE_SHARE
    subject = np.where(in_passing, rng.integers(0, settings.n_classes, len(page)), subject)
    chosen = rng.random(len(page))
    special = from_subject | in_passing
    words[special] = of_subject[subject[special], (chosen[special] * of_subject.shape[1]).astype(int)]
    words[from_type] = of_type[plan.types[page[from_type]], (chosen[from_type] * of_type.shape[1]).astype(int)]
    return np.asarray(words)


def _vocabularies(settings: MailSettings) -> tuple[Integers, Integers]:
    """Return the words of each type of page and of each subject: neither the most frequent words nor the rarest."""
    rng = np.random.default_rng([settings.problem, 2])
    first, last = settings.n_words // 100, settings.n_words // 2
    of_type = rng.integers(first, last, (len(PAGE_TYPES), WORDS_PER_TYPE))
    return of_type, rng.integers(first, last, (settings.n_classes, WORDS_PER_SUBJECT))


def _read(
    rng: np.random.Generator, words: Integers, page: Integers, plan: MailPlan, settings: MailSettings
) -> Integers:
    """Return the words that are read: some are lost (-1), some are read as others."""
    low, high = settings.word_errors
    is_handwritten = plan.types == list(PAGE_TYPES).index(HANDWRITTEN)
    errors = low + (high - low) * np.where(is_handwritten, 0.5, 0.0) + rng.random(len(plan.types)) * (high - low) / 2
    misread = rng.random(len(page)) < errors[page]
    lost = rng.random(len(page)) < LOST
    other = rng.integers(0, settings.n_words, len(page))
    return np.where(misread, np.where(lost, -1, other), words)


# --- values ---


def _values(rng: np.random.Generator, plan: MailPlan, settings: MailSettings) -> sparse.csr_array:
    """Return the values of each page: those typical of its type, and noise."""
    values = _templates(settings)[plan.types]
    values += rng.normal(0.0, 0.1, values.shape)
    np.clip(values, 0.0, 1.0, out=values)
    values[values < SMALLEST] = 0.0
    return sparse.csr_array(values, dtype=np.float32)


def _templates(settings: MailSettings) -> Array:
    """Return the typical values of each type of page; shape (n_types, n_values)."""
    rng = np.random.default_rng([settings.problem, 3])
    n_types = len(PAGE_TYPES)
    rest = rng.beta(1.0, 3.0, (n_types, N_VALUES - n_types))
    # A detector answers to its own type, and a little to the types that look like it.
    detectors = np.where(rng.random((n_types, n_types)) < 0.1, 0.3, 0.0)
    np.fill_diagonal(detectors, 0.7)
    return np.column_stack([rest, detectors])
