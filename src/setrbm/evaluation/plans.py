"""What an experiment runs: systems, data sets and splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from setrbm.bags import Bags

Data = Callable[[str], tuple[Bags, Any]]


@dataclass(frozen=True)
class System:
    """One row of a table.

    Attributes
    ----------
    name : str
    make : callable
        Gives an estimator: ``make(seed, quick, engine, n_jobs)``.
    side_by_side : bool
        Whether many folds can be trained at once.
    cost : float
        Roughly how many times as long as ClassSetRBM XOR* it takes, for the first guess of the time left.
    library : str
        What does the arithmetic, where it is not one of our engines.
    needs, extra : tuple of str, str
        Packages that an installation may lack, and the extra that brings them.
    """

    name: str
    make: Callable[[int, bool, str, int], Any]
    side_by_side: bool = False
    cost: float = 1.0
    library: str = ""
    needs: tuple[str, ...] = ()
    extra: str = ""

    def missing(self) -> str:
        """Say what must be installed before this can be run; nothing if all is there."""
        if all(find_spec(package) for package in self.needs):
            return ""
        return f"{self.name} needs {' and '.join(self.needs)}: pip install 'setrbm[{self.extra}]'"


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes
    ----------
    systems : sequence of System
    datasets : sequence of str
    load : callable
        Gives the sets and labels of a data set by its name.
    folds, repeats, seed : int
    quick : bool
        Whether systems choose from little and train shortly.
    engine : str
        What trains the systems that leave it open: "cpu" fold by fold on all cores, "gpu" all folds at once.
    n_jobs : int
        Folds at a time.
    others : sequence of System
        Those that are not run now, whose results may stand in the same file if they were made the same way.
    """

    systems: Sequence[System]
    datasets: Sequence[str]
    load: Data
    folds: int = 10
    repeats: int = 5
    seed: int = 0
    quick: bool = False
    engine: str = "cpu"
    n_jobs: int = 1
    others: Sequence[System] = ()
