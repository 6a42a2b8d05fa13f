"""The promise of a precision: the threshold that keeps it on unseen sets, found on held-out sets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import beta, binom, norm
from sklearn.utils.validation import check_consistent_length, column_or_1d

from setrbm._types import Floats, Integers, Mask
from setrbm.selective.curves import as_scores

# The sequence of thresholds begins where this many times the fewest sets that could show the precision are accepted,
# but not below an eighth and not above a quarter of the held-out sets, and goes on in steps of a hundredth of them.
# Of the starts compared in lab/experiments/reject_power.py this one accepts most on average.
TIMES_FEWEST, LOWEST_START, HIGHEST_START, STEP = 4, 1 / 8, 1 / 4, 1 / 100
# How often the number of held-out sets that is advised should be enough.
POWER = 0.8


def fewest_sets(precision: float, confidence: float) -> int:
    """Return how many accepted sets, all of them right, are enough to show a precision with a confidence.

    It takes one more held-out set, whose score is the threshold.

    Examples
    --------
    >>> fewest_sets(0.95, 0.95)
    59
    """
    return math.ceil(math.log(1.0 - confidence) / math.log(precision))


def accepted_counts(n: int, precision: float, confidence: float) -> Integers:
    """Return how many of n held-out sets each threshold of the sequence accepts, in the order they are tested."""
    fewest = fewest_sets(precision, confidence)
    first = min(max(TIMES_FEWEST * fewest, LOWEST_START * n), HIGHEST_START * n)
    return np.append(np.arange(max(math.ceil(first), fewest), n, max(1, math.ceil(STEP * n))), n)


@dataclass(frozen=True)
class Promise:
    """What was found on held-out sets.

    Attributes
    ----------
    threshold : float
        Sets with a score above it are accepted; infinite if no tested threshold keeps the promise.
    n_held_out, n_accepted, n_right : int
        Of the held-out sets: all, those accepted, and those of these whose class is right.
    precision_bound : float
        The lower bound of the precision of the accepted sets; NaN if none is accepted. Like the promise, it holds with
        the stated confidence over all draws of held-out sets, including those in which nothing is promised.
    share_left, share_low, share_high : float
        The share of sets that are left to people, and its 95 % interval.
    more_sets : int or None
        Where nothing can be promised: about how many held-out sets would be enough; None if more would not help.

    Examples
    --------
    >>> from setrbm.selective import promise
    >>> found = promise(np.linspace(1.0, 0.0, 200), np.arange(200) < 20, precision=0.9, confidence=0.95)
    >>> found.n_accepted, found.share_left, found.more_sets
    (0, 1.0, None)
    """

    threshold: float
    n_held_out: int
    n_accepted: int
    n_right: int
    precision_bound: float
    share_left: float
    share_low: float
    share_high: float
    more_sets: int | None = None

    @classmethod
    def of_counts(cls, threshold: float, n_held_out: int, n_accepted: int, n_right: int, confidence: float) -> Promise:
        """Return the promise of a threshold that accepts some of the held-out sets."""
        bound = beta.ppf(1.0 - confidence, n_right, n_accepted - n_right + 1)
        share = share_left(n_held_out, n_accepted)
        return cls(threshold, n_held_out, n_accepted, n_right, float(bound), *share)

    @classmethod
    def refused(cls, n_held_out: int, more_sets: int | None) -> Promise:
        """Return the promise that accepts nothing."""
        return cls(np.inf, n_held_out, 0, 0, np.nan, *share_left(n_held_out, 0), more_sets)


def share_left(n_held_out: int, n_accepted: int) -> tuple[float, float, float]:
    """Return the share of sets that are left to people, and its 95 % interval, from counts of held-out sets.

    How much of the population lies above one of the scores, its rank given, has a beta distribution.

    Examples
    --------
    >>> [round(share, 3) for share in share_left(1000, 700)]
    [0.3, 0.272, 0.328]
    """
    if not n_accepted:
        return 1.0, 1.0, 1.0
    if n_accepted == n_held_out:
        # Only sets below all of these are left.
        return 0.0, 0.0, float(beta.ppf(0.975, 1, n_held_out))
    low, high = beta.ppf([0.025, 0.975], n_held_out - n_accepted, n_accepted + 1).tolist()
    return 1.0 - n_accepted / n_held_out, low, high


def promise(scores: Any, right: Any, precision: float, confidence: float) -> Promise:
    r"""Return the lowest threshold that keeps a precision on unseen sets, with a confidence.

    A sequence of thresholds, from strict to lax, is fixed before any label is looked at: each is one of the scores, so
    that a given number of sets lies above it. Going down the sequence, each threshold is tested with the exact binomial
    test of "the precision is below the target", at level 1 - confidence, until one is not rejected; the last before it
    is taken. Since every hypothesis is tested only after all before it were rejected, the level holds for all of them
    together. Sets with equal scores are accepted together or not at all, and a set with a lower score than all held-out
    sets is never accepted.

    Parameters
    ----------
    scores : array-like of shape (n_sets,)
        How sure each prediction is; see ``sureness``.
    right : array-like of bool, of shape (n_sets,)
        Whether the prediction for each held-out set is right.
    precision, confidence : float
        Between 0 and 1.

    Returns
    -------
    Promise

    Notes
    -----
    The thresholds depend on the scores, and the level holds nevertheless. Cut the scores where the precision of all
    sets above crosses the target. Between two cuts the precision is the target on average. So, given how many of the
    held-out sets lie between the cuts, the number of right ones above the last cut is binomial with the target; from
    there down to the first threshold that is too low, fewer are right. This needs no precision that falls with the
    score, but scores without ties; with ties, it needs a precision that falls from one score to the next.

    Examples
    --------
    Of 200 predictions the surest 150 are right:

    >>> from setrbm.selective import promise
    >>> found = promise(np.linspace(1.0, 0.0, 200), np.arange(200) < 150, precision=0.9, confidence=0.95)
    >>> found.n_accepted, found.n_right, round(found.precision_bound, 2)
    (158, 150, 0.91)
    """
    check_fraction("precision", precision)
    check_fraction("confidence", confidence)
    scores, right = _checked(scores, right)
    order = np.argsort(-scores, kind="stable")
    n_right = np.concatenate([[0], np.cumsum(right[order])])
    n, best, threshold = len(scores), 0, np.inf
    for m, lower in thresholds(scores[order], precision, confidence):
        if not is_shown(m, int(n_right[m]), precision, confidence):
            break
        best, threshold = m, lower
    if not best:
        return Promise.refused(n, _more_sets(scores[order], n_right, precision, confidence))
    return Promise.of_counts(threshold, n, best, int(n_right[best]), confidence)


def thresholds(ranked: Floats, precision: float, confidence: float) -> Iterator[tuple[int, float]]:
    """Yield how many held-out sets each threshold of the sequence accepts, and the threshold.

    Parameters
    ----------
    ranked : ndarray of shape (n_sets,)
        The scores of the held-out sets, in decreasing order.
    precision, confidence : float
    """
    n, last = len(ranked), fewest_sets(precision, confidence) - 1
    for wanted in accepted_counts(n, precision, confidence).tolist() if n else ():
        lower = float(ranked[min(wanted, n - 1)])
        m = _n_above(ranked, lower)
        if wanted == n and m < n - 1:
            # The lowest scores are equal, and so are accepted together.
            m, lower = n, float(np.nextafter(lower, -np.inf))
        if m > last:
            last = m
            yield m, lower


def _n_above(ranked: Floats, score: float) -> int:
    """Return how many scores lie above one of them."""
    return int(np.searchsorted(-ranked, -score, side="left"))


def check_fraction(name: str, value: Any) -> None:
    """Refuse a value that does not lie between 0 and 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < float(value) < 1.0:
        is_percent = isinstance(value, Real) and 50.0 <= float(value) < 100.0
        cure = f" For {float(value):g}%, use {float(value) / 100:g}." if is_percent else ""
        raise ValueError(f"{name} must be a number greater than 0 and less than 1. Got {value!r}.{cure}")


def is_shown(n_accepted: int, n_right: int, precision: float, confidence: float) -> bool:
    """Return whether this number of right sets among the accepted shows the precision: the exact binomial test."""
    return bool(binom.sf(n_right - 1, n_accepted, precision) <= 1.0 - confidence)


def _checked(scores: Any, right: Any) -> tuple[Floats, Mask]:
    """Return scores and whether predictions are right as arrays, checked."""
    scores, right = column_or_1d(scores), column_or_1d(right)
    check_consistent_length(scores, right)
    if right.dtype != np.bool_:
        raise TypeError(f"right must hold booleans: predicted == y. Got {right.dtype}.")
    scores = as_scores(scores)
    if (infinite := np.flatnonzero(np.isinf(scores))).size:
        raise ValueError(
            f"Scores must be finite. Got {infinite.size} infinite of {len(scores)}, the first at index {infinite[0]}."
        )
    return scores, right


def _more_sets(ranked: Floats, n_right: Integers, precision: float, confidence: float) -> int | None:
    """Return about how many held-out sets would show the precision, if those seen are typical; None if no number would.

    The precision must be shown where a sequence can begin, from an eighth to a quarter of the sets. A precision p of
    the accepted sets is shown to be above the target t in 80 % of the cases if there are
    (z + z_80)^2 t (1 - t) / (p - t)^2 of them. For p, the median over the possible beginnings is taken; the
    best of them would mostly be luck.
    """
    n, fewest = len(ranked), fewest_sets(precision, confidence)
    if n <= fewest:
        # That too few of them are right is luck, unless it is very improbable.
        is_luck = binom.cdf(n_right[n], n, precision) > 0.001
        return max(fewest + 1, math.ceil(1.5 * n)) if is_luck else None
    first = max(math.ceil(LOWEST_START * n), fewest)
    last = max(math.ceil(HIGHEST_START * n), first)
    m = np.unique([_n_above(ranked, ranked[k]) if k < n else n for k in range(first, last + 1)])
    # A precision seen on fewer sets than the fewest says little.
    m = m[m >= fewest] if (m >= fewest).any() else np.array([n])
    margin = float(np.median(n_right[m] / m)) - precision
    if margin <= 0.0:
        return None
    z = norm.ppf(confidence) + norm.ppf(POWER)
    needed = float(z**2 * precision * (1.0 - precision) / margin**2 * n / np.median(m))
    # Where these sets should have been enough, luck was against it.
    return max(math.ceil(needed), math.ceil(1.5 * n))
