"""Sets of handwritten digits, made from the images that scikit-learn includes: one digit decides the class."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.utils import check_random_state

from setrbm._types import Mask
from setrbm.bags import Bags

Part = Literal["train", "test"]
CLASSES = ("neither", "two", "seven")
DIGITS = {"two": 2, "seven": 7}
# The digits that every set may hold.
OTHERS = (0, 1, 4, 5, 6, 9)
FEWEST, MOST = 3, 7


@overload
def make_digit_sets(
    n_sets: int = 300, part: Part = "train", *, random_state: Any = None, return_evidence: Literal[False] = False
) -> tuple[Bags, npt.NDArray[np.str_]]: ...


@overload
def make_digit_sets(
    n_sets: int = 300, part: Part = "train", *, random_state: Any = None, return_evidence: Literal[True]
) -> tuple[Bags, npt.NDArray[np.str_], Mask]: ...


def make_digit_sets(
    n_sets: int = 300, part: Part = "train", *, random_state: Any = None, return_evidence: bool = False
) -> tuple[Bags, npt.NDArray[np.str_]] | tuple[Bags, npt.NDArray[np.str_], Mask]:
    """Make sets of 3 to 7 handwritten digits, each "two" or "seven" if one of its digits is, else "neither".

    The other digits are 0, 1, 4, 5, 6 and 9. A third of the sets belongs to each class.

    Parameters
    ----------
    n_sets : int
    part : {"train", "test"}
        Which half of the 1,797 images to draw from; sets of different parts share no image.
    random_state : int, RandomState or None
    return_evidence : bool
        Whether to return as well which vectors are the digit that gives the class.

    Returns
    -------
    bags : Bags
        Vectors of 64 pixels, from 0 to 16.
    y : ndarray of shape (n_sets,)
    evidence : ndarray of bool, of shape (n_vectors,)
        Only with ``return_evidence``.

    Examples
    --------
    >>> from setrbm.datasets import make_digit_sets
    >>> bags, y, evidence = make_digit_sets(90, random_state=0, return_evidence=True)
    >>> bags
    Bags(90 sets, 440 vectors, 64 features, dense float64)
    >>> y[:3].tolist(), int(evidence.sum())
    (['neither', 'two', 'seven'], 60)
    """
    if part not in ("train", "test"):
        raise ValueError(f"part must be 'train' or 'test'. Got {part!r}.")
    images, digits = load_digits(return_X_y=True)
    rng = check_random_state(random_state)
    rows = np.flatnonzero(np.arange(len(images)) % 2 == (part == "test"))
    pools = {name: rows[digits[rows] == digit] for name, digit in DIGITS.items()}
    others = rows[np.isin(digits[rows], OTHERS)]
    y = np.array(CLASSES)[np.arange(n_sets) % len(CLASSES)]
    chosen, evidence = [], []
    for label in y:
        members = rng.choice(others, rng.randint(FEWEST, MOST + 1), replace=False)
        decisive = np.zeros(len(members), dtype=bool)
        if label in pools:
            place = rng.randint(len(members))
            members[place], decisive[place] = rng.choice(pools[label]), True
        chosen.append(members)
        evidence.append(decisive)
    names = [f"pixel {row},{column}" for row in range(8) for column in range(8)]
    bags = Bags.from_list([images[members] for members in chosen], feature_names=names)
    return (bags, y, np.concatenate(evidence)) if return_evidence else (bags, y)
