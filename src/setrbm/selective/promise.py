"""The promise of a precision: the threshold that keeps it on unseen sets, found on held-out sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, binom, norm

from setrbm._types import Floats, Integers

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
    return np.append(np.arange(max(math.ceil(first), fewest), n, math.ceil(STEP * n)), n)


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


def promise(scores: Floats, right: Any, precision: float, confidence: float) -> Promise:
    r"""Return the lowest threshold that keeps a precision on unseen sets, with a confidence.

    A sequence of thresholds, from strict to lax, is fixed before any label is looked at: each is one of the scores, so
    that a given number of sets lies above it. Going down the sequence, each threshold is tested with the exact binomial
    test of "the precision is below the target", at level 1 - confidence, until one is not rejected; the last before it
    is taken. Since every hypothesis is tested only after all before it were rejected, the level holds for all of them
    together.

    Parameters
    ----------
    scores : ndarray of shape (n_sets,)
    right : ndarray of bool, of shape (n_sets,)
        Whether the prediction for each held-out set is right.
    """
    n = len(scores)
    order = np.argsort(-scores, kind="stable")
    ranked, n_right = scores[order], np.concatenate([[0], np.cumsum(np.asarray(right)[order])])
    best, threshold = 0, np.inf
    for wanted in accepted_counts(n, precision, confidence).tolist():
        lower = ranked[wanted] if wanted < n else -np.inf
        # Fewer than wanted if there are ties.
        m = int(np.searchsorted(-ranked, -lower, side="left"))
        if m <= best:
            continue
        if binom.sf(n_right[m] - 1, m, precision) > 1.0 - confidence:
            break
        best, threshold = m, float(lower)
    bound = beta.ppf(1.0 - confidence, n_right[best], best - n_right[best] + 1) if n_right[best] else np.nan
    left = 1.0 - best / n
    # How much of the population lies above one of the scores, its rank given, has a beta distribution.
    low, high = beta.ppf([0.025, 0.975], n - best, best + 1) if best < n else (0.0, 0.0)
    if not best:
        return Promise(np.inf, n, 0, 0, np.nan, 1.0, 1.0, 1.0, _more_sets(n_right, precision, confidence))
    return Promise(threshold, n, best, int(n_right[best]), float(bound), left, float(low), float(high))


def _more_sets(n_right: Integers, precision: float, confidence: float) -> int | None:
    """Return about how many held-out sets would show the precision, if those seen are typical; None if no number would.

    A precision p of the accepted sets is above the target t by as many standard errors as the confidence asks for if
    there are z^2 t (1 - t) / (p - t)^2 of them.
    """
    n = len(n_right) - 1
    m = np.arange(1, n + 1)
    ahead = n_right[1:] / m - precision
    # A precision seen on few sets is mostly luck.
    typical = (ahead > 0.0) & (m >= min(fewest_sets(precision, confidence), n))
    if not typical.any():
        return None
    needed = norm.ppf(confidence) ** 2 * precision * (1.0 - precision) / ahead[typical] ** 2
    # Where these sets should have been enough, luck was against it.
    return max(math.ceil(float((needed * n / m[typical]).min())), math.ceil(1.5 * n))
