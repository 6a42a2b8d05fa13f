"""Data files as the commands read them: options are checked first, and errors name columns, sets and options."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from setrbm.tools.commands import Refused
from setrbm.tools.text import count

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.datasets.for_models import Columns


@dataclass(frozen=True)
class Source:
    """A data file, and which of its columns, or fields of its JSON lines, are what.

    Attributes
    ----------
    path : Path
    bag, label : str
        The columns with the set and the label of a row.
    ignore : tuple of str
        Columns that are not features.
    pages : str
        The field with the page texts.
    """

    path: Path
    bag: str
    label: str
    ignore: tuple[str, ...]
    pages: str

    @classmethod
    def of(cls, path: Path, bag: str, label: str, ignore: list[str] | None, pages: str) -> Self:
        """Return the source that the options of a command describe; refuse options that contradict each other."""
        if bag == label:
            raise Refused(f"--bag and --label must name two columns. Got {bag!r} for both.")
        for name in ignore or []:
            if name in (bag, label):
                raise Refused(f"--ignore must not name the {'bag' if name == bag else 'label'} column. Got {name!r}.")
        source = cls(path, bag, label, tuple(ignore or ()), pages)
        if source.holds_texts and ignore:
            raise Refused(
                f"--ignore is for columns of CSV and Parquet files. Got {ignore[0]!r} for {str(path)!r}, whose other "
                "fields are ignored anyway. Leave it out."
            )
        if source.holds_texts and pages in (bag, label):
            raise Refused(f"--pages must name another field than --bag and --label. Got {pages!r}.")
        return source

    @property
    def holds_texts(self) -> bool:
        """Whether the file has page texts instead of vectors."""
        from setrbm.datasets.page_texts import holds_page_texts

        return holds_page_texts(self.path)

    def labeled(self, model: Any = None) -> tuple[Any, Array]:
        """Return sets (Bags or PageTexts) and labels, with the features of a fitted model if one is given."""
        import numpy as np

        from setrbm.datasets.for_models import read_for

        sets, y = read_for(model, self.path, self.columns, labeled=True)
        return sets, np.asarray(y)

    def sets(self, model: Any) -> Any:
        """Return sets (Bags or PageTexts) with the features of a fitted model; labels are not read."""
        from setrbm.datasets.for_models import read_for

        return read_for(model, self.path, self.columns)

    @property
    def columns(self) -> Columns:
        """Which columns are what, for the readers."""
        from setrbm.datasets.for_models import Columns

        return Columns(self.bag, self.label, self.ignore, self.pages)

    def labels_of(self, bags: Any) -> str:
        """Return what to call the labels in a message; a svmlight file has no columns."""
        named = "Field" if self.holds_texts else "Column"
        what = f"{named} {self.label!r}" if self.holds_texts or bags.feature_names is not None else "The labels"
        return f"{what} of {str(self.path)!r}"


def check_for_training(source: Source, bags: Any, y: Array, objective: str | None, scale: str | None) -> None:
    """Raise ValueError for labels or values that nothing can be learned from."""
    _check_labels(source, bags, y)
    # The word vectors of texts are within the range.
    if objective not in (None, "discriminative") and not source.holds_texts:
        _check_range(source, bags, str(objective), scaled=scale != "none")


def refuse_swapped(model: Path | None, data: Path, usage: str) -> None:
    """Refuse a model in the place of the data, and a data file in that of the model; say what to type instead."""
    from setrbm.datasets.files import is_data_name

    if model is None and data.suffix == ".safetensors":
        cure = f"Use: setrbm {usage.format(model=data, data='DATA')}."
        raise Refused(f"DATA must be a file of sets. Got the model {str(data)!r}. {cure}")
    if model is not None and is_data_name(model) and not is_data_name(data):
        raise Refused(f"MODEL and DATA are swapped. Use: setrbm {usage.format(model=data, data=model)}.")


def refuse_data_name(model: Path) -> None:
    """Refuse to write a model to a file that has the name of a data file: it may be one."""
    from setrbm.datasets.files import is_data_name

    if is_data_name(model):
        raise Refused(f"MODEL must be a model file, such as model.safetensors. Got the data file {str(model)!r}.")


def _all(n: int) -> str:
    return "the only set" if n == 1 else f"all {n} sets"


def _check_labels(source: Source, bags: Any, y: Array) -> None:
    import numpy as np

    labels = source.labels_of(bags)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"{labels} must have at least two classes. Got one: {classes[0]!s} for {_all(len(y))}.")
    measured = [k for k, label in enumerate(y.tolist()) if _is_measurement(str(label))]
    if measured and all(as_number(str(label)) is not None for label in classes.tolist()):
        raise ValueError(
            f"{labels} must have classes. Got numbers with decimals, the first {y[measured[0]]!s} for set "
            f"{bags.ids[measured[0]]!s}. setrbm classifies; it does not predict numbers."
        )


def as_number(text: str) -> float | None:
    """Return a text as a number; None if it is not one."""
    try:
        return float(text)
    except ValueError:
        return None


def _is_measurement(text: str) -> bool:
    number = as_number(text)
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
