"""The promise of a precision: the threshold that keeps it on unseen sets, found on held-out sets."""

from __future__ import annotations

import math
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
# Of the starts compared in experiments/reject_power.py this one accepts most on average.
TIMES_FEWEST, LOWEST_START, HIGHEST_START, STEP = 4, 1 / 8, 1 / 4, 1 / 100


def fewest_sets(precision: float, confidence: float) -> int:
    """Return how many sets, all of them right, are enough to show a precision with a confidence.

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
        Sets with a score above it are accepted; infinite if no threshold keeps the promise.
    n_held_out, n_accepted, n_right : int
        Of the held-out sets: all, those accepted, and those of these whose class is right.
    precision_bound : float
        The lower bound of the precision, at the stated confidence, of the accepted sets; NaN if none is accepted.
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
    if n_accepted in (0, n_held_out):
        # The threshold is infinite.
        return (0.0, 0.0, 0.0) if n_accepted else (1.0, 1.0, 1.0)
    low, high = beta.ppf([0.025, 0.975], n_held_out - n_accepted, n_accepted + 1).tolist()
    return 1.0 - n_accepted / n_held_out, low, high


def promise(scores: Any, right: Any, precision: float, confidence: float) -> Promise:
    r"""Return the lowest threshold that keeps a precision on unseen sets, with a confidence.

    A sequence of thresholds, from strict to lax, is fixed before any label is looked at: each is one of the scores, so
    that a given number of sets lies above it. Going down the sequence, each threshold is tested with the exact binomial
    test of "the precision is below the target", at level 1 - confidence, until one is not rejected; the last before it
    is taken. Since every hypothesis is tested only after all before it were rejected, the level holds for all of them
    together. Sets with equal scores are accepted together or not at all.

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
    ranked, n_right = scores[order], np.concatenate([[0], np.cumsum(right[order])])
    n, fewest, best, threshold = len(scores), fewest_sets(precision, confidence), 0, np.inf
    for wanted in accepted_counts(n, precision, confidence).tolist():
        lower = ranked[wanted] if wanted < n else -np.inf
        # Fewer than wanted if there are ties.
        m = int(np.searchsorted(-ranked, -lower, side="left"))
        if m <= best or m < fewest:
            continue
        if not is_shown(m, int(n_right[m]), precision, confidence):
            break
        best, threshold = m, float(lower)
    if not best:
        return Promise.refused(n, _more_sets(n_right, precision, confidence))
    return Promise.of_counts(threshold, n, best, int(n_right[best]), confidence)


def check_fraction(name: str, value: Any) -> None:
    """Refuse a value that does not lie between 0 and 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < float(value) < 1.0:
        is_percent = isinstance(value, Real) and 1.0 < float(value) < 100.0
        cure = f" For {float(value):g}%, use {float(value) / 100:g}." if is_percent else ""
        raise ValueError(f"{name} must lie between 0 and 1. Got {value!r}.{cure}")


def is_shown(n_accepted: int, n_right: int, precision: float, confidence: float) -> bool:
    """Return whether so many right ones of the accepted show the precision with the confidence: the binomial test."""
    return bool(binom.sf(n_right - 1, n_accepted, precision) <= 1.0 - confidence)


def _checked(scores: Any, right: Any) -> tuple[Floats, Mask]:
    """Return scores and whether predictions are right as arrays, checked."""
    scores, right = column_or_1d(scores), column_or_1d(right)
    check_consistent_length(scores, right)
    if right.dtype != np.bool_:
        raise TypeError(f"right must hold booleans: predicted == y. Got {right.dtype}.")
    return as_scores(scores), right


def _more_sets(n_right: Integers, precision: float, confidence: float) -> int | None:
    """Return about how many held-out sets would show the precision, if those seen are typical; None if no number would.

    A precision p of the accepted sets is above the target t by as many standard errors as the confidence asks for if
    there are z^2 t (1 - t) / (p - t)^2 of them.
    """
    n, fewest = len(n_right) - 1, fewest_sets(precision, confidence)
    m = np.arange(1, n + 1)
    ahead = n_right[1:] / m - precision
    # A precision seen on few sets is mostly luck.
    typical = (ahead > 0.0) & (m >= min(fewest, n))
    if not typical.any():
        # So is a lack of it, unless that is very improbable.
        by_luck = n < fewest and binom.cdf(n_right[n], n, precision) > 0.001
        return fewest if by_luck else None
    needed = norm.ppf(confidence) ** 2 * precision * (1.0 - precision) / ahead[typical] ** 2
    # Where these sets should have been enough, luck was against it.
    return max(math.ceil(float((needed * n / m[typical]).min())), math.ceil(1.5 * n), fewest)
