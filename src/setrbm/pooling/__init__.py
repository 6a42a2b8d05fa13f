"""Poolings: how the vectors of a set become one value per hidden unit. One record each; all other code reads these.

The functions are in ``pooling.pools`` (NumPy), ``engines.cpu.pools`` and ``engines.gpu.pools``. The records load
nothing, so the command line can list them at once.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pooling:
    """One pooling: the values of a set are joined, and a cost for the size of the set is subtracted.

    Attributes
    ----------
    name : str
    label : str
        What it does, for the help of the command line.
    size_cost : float
        The pool is the joined value minus this times the logarithm of the size of the set.
    joint : str
        The pooling whose joint distribution p(X, y) is learned generatively: its own name if it has one.
    is_monotone : bool
        Whether another vector never lowers the pool.
    """

    name: str
    label: str
    size_cost: float
    joint: str
    is_monotone: bool

    @property
    def has_joint(self) -> bool:
        """Whether the posterior is that of a joint distribution, and not an estimate."""
        return self.joint == self.name


POOLINGS = {
    pooling.name: pooling
    for pooling in (
        Pooling("soft", "log-sum-exp", size_cost=0.0, joint="soft", is_monotone=True),
        Pooling("hard", "maximum", size_cost=0.0, joint="soft", is_monotone=True),
        Pooling("mean", "log-mean-exp", size_cost=1.0, joint="mean", is_monotone=False),
    )
}
# With pooling="mixed", the poolings of equal parts of the hidden units: four fifths are hard, the last fifth is mean.
MIXED = ("hard", "hard", "hard", "hard", "mean")
# The poolings of whole models.
MODEL_POOLINGS = (*POOLINGS, "mixed")
