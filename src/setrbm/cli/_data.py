"""Data files as the commands read them: options are checked first, and errors name columns, sets and options."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from setrbm.cli._errors import Refused
from setrbm.cli._output import count

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags


@dataclass(frozen=True)
class Source:
    """A data file, and which of its columns are what.

    Attributes
    ----------
    path : Path
    bag, label : str
        The columns with the set and the label of a row.
    ignore : tuple of str
        Columns that are not features.
    """

    path: Path
    bag: str
    label: str
    ignore: tuple[str, ...]

    @classmethod
    def of(cls, path: Path, bag: str, label: str, ignore: list[str] | None) -> Self:
        """Return the source that the options of a command describe; refuse options that contradict each other."""
        if bag == label:
            raise Refused(f"--bag and --label must name two columns. Got {bag!r} for both.")
        for name in ignore or []:
            if name in (bag, label):
                raise Refused(f"--ignore must not name the {'bag' if name == bag else 'label'} column. Got {name!r}.")
        return cls(path, bag, label, tuple(ignore or ()))

    def labeled(self, model: Any = None) -> tuple[Bags, Array]:
        """Return sets and labels, with the features of a fitted model if one is given."""
        from setrbm.datasets.files import read_sets

        bags, y = read_sets(self.path, self.bag, self.label, ignore=self.ignore, **self._features_of(model))
        self._check_width(bags, model)
        return bags, y

    def sets(self, model: Any) -> Bags:
        """Return sets with the features of a fitted model; labels are not read."""
        from setrbm.datasets.files import read_bags

        bags = read_bags(self.path, self.bag, self.label, ignore=self.ignore, **self._features_of(model))
        self._check_width(bags, model)
        return bags

    def labels_of(self, bags: Bags) -> str:
        """Return what to call the labels in a message; a svmlight file has no columns."""
        what = "The labels" if bags.feature_names is None else f"Column {self.label!r}"
        return f"{what} of {str(self.path)!r}"

    def _features_of(self, model: Any) -> dict[str, Any]:
        """Return which features to read: by name if the model knows names, else how many."""
        if model is None:
            return {}
        names = getattr(model, "feature_names_in_", None)
        if names is not None and (needed := [name for name in self.ignore if name in set(names)]):
            raise Refused(f"--ignore must not name a feature of the model. Got {needed[0]!r}.")
        if names is not None and self.bag in set(names):
            raise Refused(f"--bag must name the column of the sets, not a feature of the model. Got {self.bag!r}.")
        return {"feature_names": names, "n_features": model.n_features_in_}

    def _check_width(self, bags: Bags, model: Any) -> None:
        if model is not None and bags.shape[1] != model.n_features_in_:
            raise ValueError(
                f"{str(self.path)!r} must have {model.n_features_in_} feature columns, as many as the model has "
                f"features. Got {bags.shape[1]}. Use --ignore for columns that are not features."
            )


def check_for_training(source: Source, bags: Bags, y: Array, objective: str | None, scale: str | None) -> None:
    """Raise ValueError for labels or values that nothing can be learned from."""
    _check_labels(source, bags, y)
    if objective not in (None, "discriminative"):
        _check_range(source, bags, str(objective), scaled=scale != "none")


def _check_labels(source: Source, bags: Bags, y: Array) -> None:
    import numpy as np

    labels = source.labels_of(bags)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"{labels} must have at least two classes. Got one: {classes[0]!s} for all {len(y)} sets.")
    measured = [k for k, label in enumerate(y.tolist()) if _is_measurement(str(label))]
    if measured and all(_as_number(str(label)) is not None for label in classes.tolist()):
        raise ValueError(
            f"{labels} must have classes. Got numbers with decimals, the first {y[measured[0]]!s} for set "
            f"{bags.ids[measured[0]]!s}. setrbm classifies; it does not predict numbers."
        )


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_measurement(text: str) -> bool:
    number = _as_number(text)
    return number is not None and math.isfinite(number) and not number.is_integer()


def _check_range(source: Source, bags: Bags, objective: str, scaled: bool) -> None:
    """Refuse values that a generative model, whose inputs are probabilities, cannot have."""
    if scaled and not bags.is_sparse:
        return
    values = bags.X.data if bags.is_sparse else bags.X
    bad = values < 0.0 if scaled else (values < 0.0) | (values > 1.0)
    if bad.any():
        need = "values of 0 or more in a svmlight file" if scaled else "values from 0 to 1 with --scale none"
        got = f"{count(int(bad.sum()), 'other value')} in {str(source.path)!r}"
        cure = "Use --objective discriminative" + ("." if scaled else ", or --scale auto.")
        raise ValueError(
            f"--objective {objective} needs {need}. Got {got}, the first in {_place_of_first(bags, bad)}. {cure}"
        )


def _place_of_first(bags: Bags, bad: Array) -> str:
    """Return the column, or the feature of a svmlight file, and the set of the first bad value."""
    import numpy as np

    if bags.is_sparse:
        at = int(bad.argmax())
        row, feature = int(np.searchsorted(bags.X.indptr, at, side="right")) - 1, int(bags.X.indices[at])
    else:
        row, feature = divmod(int(bad.ravel().argmax()), bags.shape[1])
    name = f"feature {feature}" if bags.feature_names is None else f"column {bags.feature_names[feature]!r}"
    return f"{name}, set {bags.ids[int(np.searchsorted(bags.offsets, row, side='right')) - 1]!s}"
