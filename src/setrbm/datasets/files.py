"""Read and write files of sets: CSV and Parquet with a bag and a label column, svmlight with qid as the bag.

Every format is read into a table of rows with their positions in the file, so that the checks shared by all formats can
name the position of an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm.bags import Bags, Labels
from setrbm.datasets._csv import as_csv, read_csv
from setrbm.datasets._parquet import needs_pyarrow, read_parquet, write_sets_to
from setrbm.datasets._rows import ColumnSelection, Table, existing, refuse_no_name, sets_of
from setrbm.datasets._svmlight import read_svmlight
from setrbm.datasets.page_texts import SUFFIXES, holds_page_texts
from setrbm.tools.files import replacing, write_atomically

TEXT, SVMLIGHT, PARQUET = (".csv",), (".svm", ".svmlight", ".libsvm"), (".parquet", ".pq")


def read_sets(
    path: str | os.PathLike[str],
    bag: str = "bag",
    label: str = "label",
    *,
    ignore: str | Sequence[str] = (),
    feature_names: Sequence[str] | None = None,
    n_features: int | None = None,
) -> tuple[Bags, Labels]:
    """Read labeled sets from a file.

    Parameters
    ----------
    path : path
        ``.csv`` or ``.parquet`` with one vector per row, a bag column, a label column and one column per feature, or
        ``.svm``, ``.svmlight``, ``.libsvm`` with the bag as qid; features keep their numbers. Sparse vectors in
        ``.parquet`` are two columns of lists, ``indices`` and ``values``; see ``write_parquet``.
        ``.csv`` and svmlight files may be gzipped (``.csv.gz``).
    bag, label : str
        The columns with the set and the label of a row; not used for svmlight. Spaces around ids and labels are
        removed.
    ignore : str or sequence of str
        Columns that are not features; not for svmlight.
    feature_names : sequence of str, optional
        The columns to read as features, in this order; by default all except the bag, label and ignored columns. With
        it, columns to ignore may be missing.
    n_features : int, optional
        The number of features of a svmlight file; by default its largest feature number plus one, which must not exceed
        16,777,216.

    Returns
    -------
    bags : Bags
        In order of first appearance.
    y : ndarray of shape (n_sets,)
        The label of each set. Labels and ids are integers if all of them are written as integers, else text.

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
    refuse_no_name("bag", bag, "If every row is a set of its own, use the matrix as it is.")
    refuse_no_name("label", label, "For sets without labels, use read_bags.")
    path = existing(Path(path))
    selection = ColumnSelection(bag, label, _as_names(ignore), feature_names=feature_names, n_features=n_features)
    bags, y = sets_of(_reader_for(path)(path, selection), str(path))
    return bags, np.array(y.tolist())


def read_bags(
    path: str | os.PathLike[str],
    bag: str = "bag",
    label: str = "label",
    *,
    ignore: str | Sequence[str] = (),
    feature_names: Sequence[str] | None = None,
    n_features: int | None = None,
) -> Bags:
    """Read sets without labels from a file; a label column is ignored.

    The parameters are those of ``read_sets``.

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
    selection = ColumnSelection(
        bag, label, _as_names(ignore), with_labels=False, feature_names=feature_names, n_features=n_features
    )
    table = _reader_for(path)(path, selection)
    return Bags.from_groups(table.X, table.bags, feature_names=table.names)


def write_csv(
    path: str | os.PathLike[str], bags: Bags, y: npt.ArrayLike | None = None, bag: str = "bag", label: str = "label"
) -> None:
    """Write sets and, if given, their labels to a CSV file for ``read_sets``.

    Features without names are named f0, f1 and so on.

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
    X, groups = bags.to_groups()
    columns = [groups.tolist()]
    if y is not None:
        columns.append(bags.of_each_vector(y).tolist())
    header = [bag, *([] if y is None else [label]), *_feature_names(bags)]
    vectors = ((vector.toarray().ravel() if sparse.issparse(vector) else vector).tolist() for vector in X)
    rows = ([*cells, *vector] for cells, vector in zip(zip(*columns, strict=True), vectors, strict=True))
    write_atomically(Path(path), as_csv([header, *rows]).encode())


def write_parquet(
    path: str | os.PathLike[str], bags: Bags, y: npt.ArrayLike | None = None, bag: str = "bag", label: str = "label"
) -> None:
    """Write sets and, if given, their labels to a Parquet file for ``read_sets``. Needs the extra ``parquet``.

    Sparse vectors become lists: ``indices`` with the numbers of the features that are not 0, and ``values``, which is
    left out if all of them are 1. Dense vectors have one column per feature; those without names are f0, f1 and so on.

    Examples
    --------
    >>> import os, tempfile
    >>> from scipy.sparse import csr_array
    >>> from setrbm import Bags
    >>> from setrbm.datasets import read_bags, write_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "words.parquet")
    ...     write_parquet(path, Bags(csr_array([[0, 1.0, 2.0], [1.0, 0, 0]]), [0, 1, 2]))
    ...     read_bags(path)
    Bags(2 sets, 2 vectors, 3 features, CSR float64)
    """
    X, groups = bags.to_groups()
    labels = None if y is None else bags.of_each_vector(y)
    needs_pyarrow(f"Writing {str(path)!r}")
    with replacing(Path(path)) as file:
        write_sets_to(file, groups, X, _feature_names(bags), labels, bag, label)


def _feature_names(bags: Bags) -> list[str]:
    return [f"f{i}" for i in range(bags.shape[1])] if bags.feature_names is None else list(bags.feature_names)


def _reader_for(path: Path) -> Callable[[Path, ColumnSelection], Table]:
    name = path.name.lower()
    if name.endswith(PARQUET):
        return read_parquet
    unpacked = name.removesuffix(".gz")
    if unpacked.endswith(TEXT):
        return read_csv
    if unpacked.endswith(SVMLIGHT):
        return read_svmlight
    if holds_page_texts(path):
        raise ValueError(f"A file of sets must hold numbers. Got {str(path)!r}. Read page texts with read_pages.")
    known = ", ".join([*TEXT, *SVMLIGHT, *SUFFIXES])
    raise ValueError(
        f"The name of a data file must end with one of {known}, each also with .gz, or with {' or '.join(PARQUET)}. "
        f"Got {str(path)!r}. Rename or convert it."
    )


def is_data_name(path: Path) -> bool:
    """Return whether a file has a name that ends as the name of a data file must."""
    try:
        _reader_for(path)
    except ValueError:
        return holds_page_texts(path)
    return True


def _as_names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
