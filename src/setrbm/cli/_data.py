"""Data files as the commands read them: options are checked first, and errors name columns and options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from setrbm.tools.commands import Refused

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.datasets.columns import Columns


@dataclass(frozen=True)
class DataFile:
    """A data file, and which of its columns, or fields of its JSON lines, are what.

    Attributes
    ----------
    path : Path
    columns : Columns
    """

    path: Path
    columns: Columns

    @classmethod
    def of(cls, path: Path, bag: str, label: str, ignore: list[str] | None, pages: str) -> Self:
        """Return the file that the options of a command describe; refuse options that contradict each other."""
        from setrbm.datasets.columns import Columns

        if bag == label:
            raise Refused(f"--bag and --label must name two columns. Got {bag!r} for both.")
        for name in ignore or []:
            if name in (bag, label):
                raise Refused(f"--ignore must not name the {'bag' if name == bag else 'label'} column. Got {name!r}.")
        data = cls(path, Columns(bag, label, tuple(ignore or ()), pages))
        if data.holds_texts and ignore:
            raise Refused(
                f"--ignore is for columns of CSV and Parquet files. Got {ignore[0]!r} for {str(path)!r}, whose other "
                "fields are ignored anyway. Leave it out."
            )
        if data.holds_texts and pages in (bag, label):
            raise Refused(f"--pages must name another field than --bag and --label. Got {pages!r}.")
        return data

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

    def labels_of(self, bags: Any) -> str:
        """Return what to call the labels in a message; a svmlight file has no columns."""
        named = "Field" if self.holds_texts else "Column"
        what = f"{named} {self.columns.label!r}" if self.holds_texts or bags.feature_names is not None else "The labels"
        return f"{what} of {str(self.path)!r}"


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


def as_number(text: str) -> float | None:
    """Return a text as a number; None if it is not one."""
    try:
        return float(text)
    except ValueError:
        return None
