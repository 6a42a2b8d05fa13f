"""Made-up problems of set classification that isolate one property each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from setrbm._types import Integers
from setrbm.bags import Bags, offsets_of
from setrbm.tools.text import nearest

# The kind of each vector: plain, or with one of two clues.
PLAIN, FIRST, SECOND = 0, 1, 2
# How far the features of a clue lie from those of plain vectors, in standard deviations.
SHIFT = 2.5


@dataclass(frozen=True)
class SetProblem:
    """The settings of a problem.

    Attributes
    ----------
    rule : {"one", "two", "share"}
        A set is positive if one vector has the first clue; if two vectors have different clues, and not the same one
        twice; or if most vectors have the first clue.
    n_sets : int
    sizes : tuple of int
        The smallest and the largest number of vectors of a set.
    n_features : int
    n_informative : int
        How many features each clue changes.
    positive : float
        The share of positive sets.
    """

    rule: Literal["one", "two", "share"]
    n_sets: int = 200
    sizes: tuple[int, int] = (4, 12)
    n_features: int = 20
    n_informative: int = 3
    positive: float = 0.5


SET_PROBLEMS: Mapping[str, SetProblem] = MappingProxyType(
    {
        "one_vector": SetProblem("one"),
        "two_vectors": SetProblem("two"),
        "proportion": SetProblem("share", sizes=(4, 40)),
        "large_sets": SetProblem("one", n_sets=100, sizes=(200, 400)),
        "few_sets": SetProblem("one", n_sets=40),
        "many_features": SetProblem("one", n_features=500),
        "unbalanced": SetProblem("one", n_sets=300, positive=0.1),
    }
)


def make_set_problem(
    name: str, n_sets: int | None = None, *, random_state: Any = None, return_clues: bool = False
) -> tuple[Any, ...]:
    """Generate sets of a problem that isolates one property.

    Features are standard normal. Some vectors have a clue: a few of their features are shifted by 2.5. Sets and labels
    of one problem come from one distribution, whatever the random state.

    Parameters
    ----------
    name : str
        One of ``SET_PROBLEMS``: "one_vector" (one vector decides), "two_vectors" (two must meet), "proportion" (the
        share of vectors decides), and the first with "large_sets", "few_sets", "many_features" or "unbalanced" classes.
    n_sets : int, optional
        By default that of the problem.
    random_state : int, Generator or None
    return_clues : bool
        Whether to return the clue of each vector too: 0 for none, 1 or 2.

    Returns
    -------
    bags : Bags
    y : ndarray of shape (n_sets,)
        1 or 0; both occur.
    clues : ndarray of shape (n_vectors,)
        Only with ``return_clues``.

    Examples
    --------
    >>> from setrbm_lab.set_problems import make_set_problem
    >>> bags, y = make_set_problem("two_vectors", random_state=0)
    >>> bags
    Bags(200 sets, 1,643 vectors, 20 features, dense float64)
    """
    if name not in SET_PROBLEMS:
        close = nearest(str(name), list(SET_PROBLEMS))
        hint = f"; the nearest is {close[0]!r}" if close else ""
        raise ValueError(f"name must be one of {', '.join(map(repr, SET_PROBLEMS))}. Got {name!r}{hint}.")
    problem = SET_PROBLEMS[name]
    n_sets = problem.n_sets if n_sets is None else n_sets
    if n_sets < 2:
        raise ValueError(f"n_sets must be 2 or more. Got {n_sets!r}.")
    rng = np.random.default_rng(random_state)
    y = (rng.permutation(n_sets) < max(1, round(problem.positive * n_sets))).astype(np.int64)
    sizes = rng.integers(problem.sizes[0], problem.sizes[1] + 1, n_sets)
    clues = np.concatenate([_clues(rng, problem.rule, size, label) for size, label in zip(sizes, y, strict=True)])
    bags = Bags(_vectors(rng, problem, clues), offsets_of(sizes))
    return (bags, y, clues) if return_clues else (bags, y)


def _clues(rng: np.random.Generator, rule: str, size: int, label: int) -> Integers:
    """Return the clue of each vector of a set."""
    clues = np.full(size, PLAIN)
    if rule == "one":
        clues[:label] = FIRST
    elif rule == "two":
        clues[:2] = (FIRST, SECOND) if label else rng.choice([FIRST, SECOND])
    else:
        share = rng.uniform(0.6, 0.9) if label else rng.uniform(0.1, 0.4)
        clues[: round(share * size)] = FIRST
    return np.asarray(rng.permutation(clues), dtype=np.intp)


def _vectors(rng: np.random.Generator, problem: SetProblem, clues: Integers) -> npt.NDArray[np.float64]:
    X = rng.standard_normal((len(clues), problem.n_features))
    for k, clue in enumerate((FIRST, SECOND)):
        changed = slice(k * problem.n_informative, (k + 1) * problem.n_informative)
        X[clues == clue, changed] += SHIFT
    return X
