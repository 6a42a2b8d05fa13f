"""Parquet files with sparse vectors as lists of indices and values: written, read, and refused where they are wrong."""

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from scipy import sparse

from setrbm import Bags
from setrbm.datasets import make_mail_like, read_bags, read_sets, write_parquet

ROWS = {"bag": ["x", "x", "y"], "label": [1, 1, 0], "indices": [[2, 0], [], [1]], "values": [[0.5, 2.0], [], [3.0]]}


def file_of(folder, **changes):
    """A file with three vectors in two sets; changes replace columns, None leaves one out."""
    columns = {name: values for name, values in (ROWS | changes).items() if values is not None}
    path = folder / "sets.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("binary", [True, False])
def test_sparse_sets_come_back_as_they_were_written(binary, dtype, tmp_path):
    bags, y = make_mail_like(40, n_classes=3, random_state=0)
    X = bags.X.astype(dtype)
    X.data = np.ones_like(X.data) if binary else np.random.default_rng(0).random(X.nnz).astype(dtype) + 0.1
    given = Bags(X, bags.offsets, [f"set {k}" for k in range(40)])
    write_parquet(tmp_path / "mail.parquet", given, y)
    found, labels = read_sets(tmp_path / "mail.parquet", n_features=X.shape[1])
    assert (found.X != given.X).nnz == 0
    # Values that are all 1 are not stored.
    assert found.X.dtype == (np.float32 if binary else dtype)
    assert found.sizes.tolist() == given.sizes.tolist()
    assert found.ids.tolist() == given.ids.tolist()
    assert labels.tolist() == y.tolist()
    assert ("values" in pyarrow.parquet.read_schema(tmp_path / "mail.parquet").names) is not binary


def test_lists_may_be_in_any_order_and_large(tmp_path):
    expected = [[2.0, 0.0, 0.5], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]]
    for kind in (pyarrow.list_, pyarrow.large_list):
        indices = pyarrow.array(ROWS["indices"], type=kind(pyarrow.int64()))
        values = pyarrow.array(ROWS["values"], type=kind(pyarrow.float32()))
        found = read_bags(file_of(tmp_path, indices=indices, values=values))
        np.testing.assert_array_equal(found.X.toarray(), expected)
        assert found.ids.tolist() == ["x", "y"]


def test_what_is_read_can_be_changed(tmp_path):
    """Memory of pyarrow is read-only."""
    X = read_bags(file_of(tmp_path)).X
    X.data *= 2.0
    assert X.indices.flags.writeable
    assert X.indptr.dtype == X.indices.dtype == np.int32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": [[0.5], [], [3.0]]}, r"'indices' and 'values' must be equally long\. row 1 of .* differs"),
        ({"values": [[0.5, 2.0], [3.0], []]}, r"must be equally long\. row 2 of "),
        ({"indices": [[2, 2], [], [1]]}, "must name each feature once"),
        ({"indices": [[2, 0], [], [-1]]}, r"must be from 0 to .*\. Got -1 in row 3 of "),
        ({"indices": [[2, 0], [], [10**9]]}, r"must be from 0 to .*\. Got 1000000000 in row 3 of "),
        ({"values": [[0.5, np.inf], [], [3.0]]}, "'values' must be finite numbers"),
        ({"values": [[0.5, None], [], [3.0]]}, "'values' .* must hold lists of numbers, without gaps"),
        ({"indices": [[2, 0], None, [1]]}, "'indices' .* must hold lists of whole numbers, without gaps"),
        ({"indices": [["a", "b"], [], ["c"]]}, "'indices' .* must hold lists of whole numbers"),
        ({"bag": None}, "bag"),
    ],
)
def test_damaged_lists_are_refused(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_bags(file_of(tmp_path, **changes))


def test_a_model_decides_how_many_features_there_are(tmp_path):
    path = file_of(tmp_path)
    assert read_bags(path).shape == (2, 3)
    assert read_bags(path, n_features=7).shape == (2, 7)
    with pytest.raises(ValueError, match=r"must be from 0 to 1\. Got 2 in row 1 of "):
        read_bags(path, n_features=2)


def test_dense_sets_have_one_column_per_feature(tmp_path):
    bags = Bags(np.arange(6.0).reshape(3, 2), [0, 1, 3], feature_names=["width", "height"])
    write_parquet(tmp_path / "dense.parquet", bags, [1, 0])
    found = read_bags(tmp_path / "dense.parquet")
    np.testing.assert_array_equal(found.X, bags.X)
    assert not sparse.issparse(found.X)
    assert found.feature_names.tolist() == ["width", "height"]
