"""Sets from files: CSV and Parquet with a bag and a label column, svmlight with qid as the bag.

Every format becomes a table of rows that knows where each row stands in its file; the checks of sets, shared by all
formats, then name that place.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._files import write_atomically
from setrbm.bags import Bags, Labels
from setrbm.datasets._csv import read_csv
from setrbm.datasets._parquet import read_parquet
from setrbm.datasets._rows import (
    Table,
    Wanted,
    existing,
    refuse_mixed_labels,
)
from setrbm.datasets._svmlight import read_svmlight

TEXT, SVMLIGHT, PARQUET = (".csv",), (".svm", ".svmlight", ".libsvm"), (".parquet", ".pq")


def read_sets(
    path: str | os.PathLike[str],
    bag: str = "bag",
    label: str = "label",
    *,
    feature_names: Sequence[str] | None = None,
    n_features: int | None = None,
) -> tuple[Bags, Labels]:
    """Return the sets of a file, in order of first appearance, and the label of each.

    Parameters
    ----------
    path : path
        ``.csv`` or ``.parquet`` with one vector a row, a bag column, a label column and one column a feature, or
        ``.svm``, ``.svmlight``, ``.libsvm`` with the bag as qid and features kept under the numbers they have there.
        ``.csv`` and svmlight files may be packed by gzip (``.csv.gz``).
    bag, label : str
        The columns that name a row's set and carry its label; svmlight has its own places for both.
    feature_names : sequence of str, optional
        The columns to read as features, in this order; by default all columns but the bag's and the label's.
    n_features : int, optional
        The number of features of a svmlight file; by default its largest feature number plus one.

    Returns
    -------
    bags : Bags
    y : ndarray of shape (n_sets,)
        Like the bags' ids, integers if all of them are written as integers, else text.

    Examples
    --------
    >>> import os, tempfile
    >>> from setrbm.datasets.files import read_sets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "mail.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("bag,label,x\\n7,bill,0.5\\n8,letter,1.5\\n7,bill,2.5\\n")
    ...     bags, y = read_sets(path)
    >>> bags, bags.ids, y
    (Bags(2 sets, 3 vectors, 1 feature, dense float64), array([7, 8]), array(['bill', 'letter'], dtype='<U6'))
    """
    path = existing(Path(path))
    table = _reader_for(path)(path, Wanted(bag, label, True, feature_names, n_features))
    refuse_mixed_labels(path, table)
    bags, y = Bags.from_groups(table.X, table.bags, table.labels, feature_names=table.names)
    return bags, np.array(y.tolist())


def read_bags(
    path: str | os.PathLike[str],
    bag: str = "bag",
    label: str = "label",
    *,
    feature_names: Sequence[str] | None = None,
    n_features: int | None = None,
) -> Bags:
    """Return the sets of a file without labels: a label column may be missing, and one that is there is passed over.

    Parameters are those of ``read_sets``.

    Examples
    --------
    >>> import os, tempfile
    >>> from setrbm import Bags
    >>> from setrbm.datasets import read_bags, write_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "new.csv")
    ...     write_csv(path, Bags.from_list([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]))
    ...     read_bags(path)
    Bags(2 sets, 3 vectors, 2 features, dense float64)
    """
    path = existing(Path(path))
    table = _reader_for(path)(path, Wanted(bag, label, False, feature_names, n_features))
    return Bags.from_groups(table.X, table.bags, feature_names=table.names)


def write_csv(
    path: str | os.PathLike[str], bags: Bags, y: npt.ArrayLike | None = None, bag: str = "bag", label: str = "label"
) -> None:
    """Write sets, and the label of each where given, to a CSV file that ``read_sets`` reads back the same.

    Features without names are called f0, f1 and so on.

    Examples
    --------
    >>> import os, tempfile
    >>> from setrbm import Bags
    >>> from setrbm.datasets import read_bags, write_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "new.csv")
    ...     write_csv(path, Bags.from_list([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]))
    ...     read_bags(path)
    Bags(2 sets, 3 vectors, 2 features, dense float64)
    """
    names = [f"f{i}" for i in range(bags.shape[1])] if bags.feature_names is None else list(bags.feature_names)
    X, groups = bags.to_groups()
    columns = [groups.tolist()]
    if y is not None:
        columns.append(np.repeat(np.asarray(y), bags.sizes).tolist())
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([bag, *([] if y is None else [label]), *names])
    for first, vector in zip(zip(*columns, strict=True), X, strict=True):
        writer.writerow([*first, *(vector.toarray().ravel() if sparse.issparse(vector) else vector).tolist()])
    write_atomically(Path(path), text.getvalue().encode())


def _reader_for(path: Path) -> Callable[[Path, Wanted], Table]:
    name = path.name.lower()
    if name.endswith(PARQUET):
        return read_parquet
    unpacked = name.removesuffix(".gz")
    if unpacked.endswith(TEXT):
        return read_csv
    if unpacked.endswith(SVMLIGHT):
        return read_svmlight
    known = ", ".join([*TEXT, ".csv.gz", *PARQUET, *SVMLIGHT])
    raise ValueError(f"The name of a data file must end in one of {known}. Got {str(path)!r}. Rename or convert it.")
