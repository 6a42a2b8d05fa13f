"""How the time of a fit grows with the number of sets: one exponent for all data sets, with its error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

LEVEL = 0.95


def exponent(n_sets: Sequence[int], seconds: Sequence[float]) -> float:
    r"""Return the exponent with which time grows from one number of sets to another.

    .. math:: p = \log(t_2 / t_1) / \log(n_2 / n_1)
    """
    (n_1, n_2), (t_1, t_2) = n_sets, seconds
    if not (0 < n_1 < n_2 and min(t_1, t_2) > 0.0):
        raise ValueError(
            f"There must be two numbers of sets, the second larger, and positive times. Got {n_sets} and {seconds}."
        )
    return math.log(t_2 / t_1) / math.log(n_2 / n_1)


@dataclass(frozen=True)
class Growth:
    """The exponent of a time, as a mean over data sets.

    Attributes
    ----------
    power, error : float
        The mean and its standard error.
    margin : float
        Half the 95% interval of the exponent on one more data set.
    """

    power: float
    error: float
    margin: float

    def extrapolate(self, n_measured: int, seconds: float, n: int) -> tuple[float, float, float]:
        r"""Return the time that n sets would take, with both ends of its 95% interval.

        .. math:: t(n) = t_2 \, (n / n_2)^p

        Parameters
        ----------
        n_measured : int
            The number of sets, n_2, that took ``seconds``.
        seconds : float
        n : int
            At least ``n_measured``.
        """
        if n < n_measured:
            raise ValueError(f"n must be at least n_measured={n_measured}. Got {n}.")
        powers = (self.power, self.power - self.margin, self.power + self.margin)
        most_likely, low, high = (seconds * (n / n_measured) ** power for power in powers)
        return most_likely, low, high


def fit_growth(exponents: Mapping[str, Sequence[float]]) -> Growth | None:
    """Return the mean of the exponents over the data sets, or None for fewer than two data sets.

    Fits of one data set share its vectors and often its machine, so each data set counts once.

    Parameters
    ----------
    exponents : mapping of str to sequence of float
        All exponents that were measured on each data set.
    """
    k = len(exponents)
    if k < 2:
        return None
    means = [float(np.mean(measured)) for measured in exponents.values()]
    spread = float(np.std(means, ddof=1))
    margin = float(student.ppf(0.5 + LEVEL / 2, k - 1)) * spread * math.sqrt(1 + 1 / k)
    return Growth(float(np.mean(means)), spread / math.sqrt(k), margin)
