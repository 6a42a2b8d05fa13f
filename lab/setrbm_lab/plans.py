"""What an experiment runs: systems, data sets and splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from setrbm.evaluation.splits import Split, repeated_folds

# Sets are Bags, PageTexts, Documents, or whatever the systems' ``view`` takes.
Loader = Callable[[str], tuple[Any, Any]]
Splitter = Callable[[str, Any], list[Split]]
# Makes an estimator from a seed, whether the run is quick, the engine and the number of threads.
Maker = Callable[[int, bool, str, int], Any]


def as_loaded(sets: Any) -> Any:
    """Return the sets of a data set as they are."""
    return sets


@dataclass(frozen=True)
class System:
    """A classifier to evaluate: one row of a table.

    Attributes
    ----------
    name : str
    make : callable
        Returns an unfitted estimator: ``make(seed, quick, engine, n_jobs)``.
    side_by_side : bool
        Whether many folds can be trained at once.
    cost : float
        Training time relative to ClassSetRBM XOR*, roughly; used for the first estimate of the time left.
    library : str
        The library that trains it, if it is not one of our engines.
    needs, extra : tuple of str, str
        Optional packages it imports, and the extra that installs them.
    view : callable
        Takes the sets of a data set as loaded, and returns the input of the system: Bags or PageTexts.
    """

    name: str
    make: Maker
    side_by_side: bool = False
    cost: float = 1.0
    library: str = ""
    needs: tuple[str, ...] = ()
    extra: str = ""
    view: Callable[[Any], Any] = as_loaded

    def missing(self) -> str:
        """Return a message about packages that must be installed first; empty if none is missing."""
        if all(find_spec(package) for package in self.needs):
            return ""
        return f"{self.name} needs {' and '.join(self.needs)}: pip install 'setrbm[{self.extra}]'"


@dataclass(frozen=True)
class Plan:
    """Every system on every fold of every data set.

    Attributes
    ----------
    systems : sequence of System
    datasets : sequence of str
    load : callable
        Returns the sets and labels of a data set, given its name.
    folds, repeats, seed : int
        Of the cross-validation.
    quick : bool
        Whether systems use few candidates and short training.
    engine : {"cpu", "gpu"}
        For systems that do not fix it: "cpu" trains fold by fold on all cores, "gpu" all folds at once.
    n_jobs : int
        Number of folds trained at a time on the CPU.
    others : sequence of System
        Systems that are not run, but may have results in the same file if these were made the same way.
    splits : callable, optional
        Returns the splits of a data set, given its name and labels: ``folds`` in each of ``repeats``. By default those
        of a repeated stratified cross-validation.
    curves : bool
        Whether to record precision against recall too, in a file beside the results.
    """

    systems: Sequence[System]
    datasets: Sequence[str]
    load: Loader
    folds: int = 10
    repeats: int = 5
    seed: int = 0
    quick: bool = False
    engine: str = "cpu"
    n_jobs: int = 1
    others: Sequence[System] = ()
    splits: Splitter | None = None
    curves: bool = False

    def splits_of(self, dataset: str, y: Any) -> list[Split]:
        """Return the splits of a data set, given its labels."""
        if self.splits is not None:
            return self.splits(dataset, y)
        return repeated_folds(y, self.folds, self.repeats, self.seed)
