import pickle
from itertools import pairwise

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from setrbm import Bags
from setrbm.bags import offsets_of


@pytest.fixture
def X():
    return np.arange(12.0).reshape(6, 2)


@pytest.fixture
def bags(X):
    return Bags(X, [0, 1, 3, 6])


def same(a, b):
    dense = [m.toarray() if sparse.issparse(m) else m for m in (a.X, b.X)]
    return (dense[0] == dense[1]).all() and (a.offsets == b.offsets).all()


def test_list_groups_frame_sparse_and_offsets_give_the_same_bags(bags):
    groups = ["p", "q", "q", "r", "r", "r"]
    frame = pd.DataFrame(bags.X, columns=["x", "z"]).assign(bag=groups)
    for other in (
        Bags.from_list(bags.to_list()),
        Bags.from_groups(bags.X, groups),
        Bags.from_frame(frame),
        Bags.from_frame(pl.from_pandas(frame)),
        Bags.from_frame(pa.Table.from_pandas(frame)),
        Bags.from_list([sparse.csr_array(m) for m in bags]),
        Bags(sparse.coo_array(bags.X), bags.offsets),
    ):
        assert same(bags, other)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_round_trips(bags, backend):
    frame = bags.to_frame(y=["a", "b", "a"], backend=backend)
    again, y = Bags.from_frame(frame, bag="bag", label="label")
    assert same(bags, again)
    assert list(y) == ["a", "b", "a"]
    assert list(again.ids) == [0, 1, 2]


def test_a_frame_in_any_row_order_gives_sets_by_first_appearance_with_aligned_labels():
    frame = pl.DataFrame({"mail": ["z", "a", "z", "m", "a"], "kind": [1, 0, 1, 2, 0], "f": [1.0, 2.0, 3.0, 4.0, 5.0]})
    bags, y = Bags.from_frame(frame, bag="mail", label="kind")
    assert list(bags.ids) == ["z", "a", "m"]
    assert y.tolist() == [1, 0, 2]
    assert [m.ravel().tolist() for m in bags] == [[1.0, 3.0], [2.0, 5.0], [4.0]]
    assert list(bags.feature_names) == ["f"]


def test_an_array_of_three_dimensions_is_sets_of_equal_size():
    array = np.arange(24.0).reshape(2, 3, 4)
    bags = Bags.from_array(array)
    assert (bags[1] == array[1]).all()


@given(
    groups=st.lists(st.integers(0, 5), min_size=1, max_size=30),
    kind=st.sampled_from(["int", "str", "object"]),
)
def test_grouping_keeps_every_row_in_its_order(groups, kind):
    names = {"int": np.array(groups), "str": np.array([f"g{g}" for g in groups])}.get(kind, np.array(groups, object))
    bags = Bags.from_groups(np.arange(len(groups), dtype=float)[:, np.newaxis], names)
    for name, matrix in zip(bags.ids, bags, strict=True):
        assert matrix.ravel().tolist() == [i for i, g in enumerate(names) if g == name]


def test_data_are_copied_only_to_convert_them(X):
    bags = Bags(X, [0, 2, 6])
    assert np.shares_memory(bags.X, X)
    assert np.shares_memory(bags[1], X)
    assert np.shares_memory(bags[:1].X, X)
    assert np.shares_memory(Bags.from_groups(X, [1, 1, 2, 2, 3, 3]).X, X)
    assert np.shares_memory(Bags.from_array(X.reshape(2, 3, 2)).X, X)
    matrix = sparse.csr_array(X)
    assert np.shares_memory(Bags(matrix, [0, 6]).X.data, matrix.data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_types_are_kept_and_others_become_float64(X, dtype):
    assert Bags(X.astype(dtype), [0, 6]).dtype == dtype
    assert Bags(sparse.csr_matrix(X.astype(dtype)), [0, 6]).dtype == dtype
    assert Bags(X.astype(int), [0, 6]).dtype == np.float64


@pytest.mark.parametrize(
    "key", [[2, 0], np.array([2, 0]), slice(None, None, -2), np.array([True, False, True]), [-1, -3]]
)
def test_every_kind_of_key_selects_those_sets_with_their_ids(bags, key):
    for chosen in (bags[key], bags[key, ...], bags[key, :]):
        positions = np.arange(3)[key]
        assert chosen.ids.tolist() == positions.tolist()
        for matrix, k in zip(chosen, positions, strict=True):
            assert (matrix == bags[int(k)]).all()


def test_sets_may_be_selected_repeatedly(bags):
    assert bags[[1, 1, 1]].sizes.tolist() == [2, 2, 2]


def test_duplicate_sparse_entries_are_summed():
    matrix = sparse.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert Bags(matrix, [0, 1]).X.data.tolist() == [3.0]
    assert matrix.nnz == 2


@given(
    rows=st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=6),
    claim=st.booleans(),
)
def test_sparse_rows_in_any_order_with_duplicates_and_empty_rows_become_canonical(rows, claim):
    indptr = offsets_of([len(row) for row in rows])
    indices = np.array([column for row in rows for column in row], dtype=np.int32)
    matrix = sparse.csr_array((np.arange(1.0, len(indices) + 1), indices, indptr), shape=(len(rows), 4))
    expected = matrix.toarray()
    if claim:
        matrix.has_canonical_format = True
    X = Bags.from_rows(matrix).X
    np.testing.assert_array_equal(X.toarray(), expected)
    assert all((np.diff(X.indices[a:b]) > 0).all() for a, b in pairwise(X.indptr))
    assert np.shares_memory(X.indices, matrix.indices) == (len(indices) > 0 and rows == [sorted(set(r)) for r in rows])


def test_bags_survive_pickling(bags):
    assert same(pickle.loads(pickle.dumps(bags)), bags)


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 1, 5], r"end with the number of vectors, 6. Got 0 and 5"),
        ([1, 6], r"start with 0"),
        ([0, 4, 2, 6], r"must not decrease. Got 4 then 2 at 1"),
        ([0, 2, 2, 6], r"at least one vector. Got 1 empty of 3 sets, the first at index 1"),
        ([0.0, 6.0], r"one-dimensional array of integers"),
        ([], r"one-dimensional array of integers"),
    ],
)
def test_offsets_that_do_not_fit_are_named(X, offsets, message):
    with pytest.raises(ValueError, match=message):
        Bags(X, offsets)


def test_no_sets_are_refused(bags):
    for make in (lambda: Bags.from_list([]), lambda: bags[[]], lambda: bags[3:], lambda: Bags(np.ones((0, 2)), [0])):
        with pytest.raises(ValueError, match="at least one set. Got none"):
            make()


def test_empty_sets_in_a_list_are_named():
    with pytest.raises(ValueError, match="Got 2 empty of 3 sets, the first at index 1"):
        Bags.from_list([np.ones((1, 2)), np.ones((0, 2)), np.ones((0, 2))])
    with pytest.raises(ValueError, match="Got 3 empty of 3"):
        Bags.from_array(np.ones((3, 0, 2)))


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: Bags(rows, [0, 2]),
        lambda rows: Bags.from_rows(rows),
        lambda rows: Bags.from_groups(rows, [1, 1]),
    ],
)
def test_vectors_of_different_lengths_are_named(make):
    with pytest.raises(ValueError, match="same number of features. Got 1 in the first vector and 2 in the vector at"):
        make([[1.0], [2.0, 3.0]])


def test_a_ragged_set_is_named():
    with pytest.raises(ValueError, match="Got 2 in the first vector of the set at index 1 and 3 in the vector at"):
        Bags.from_list([[[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0, 5.0]]])
    with pytest.raises(ValueError, match="Nested lists must have equal lengths to form an array"):
        Bags.from_array([[[1.0, 2.0], [3.0]]])


@pytest.mark.parametrize("sets", [[["page one", "page two"]], [np.array([["1", "page two"]])]])
def test_text_in_a_list_of_sets_is_refused(sets):
    with pytest.raises(ValueError, match="All values must be numbers. Got text, the first 'page"):
        Bags.from_list(sets)


DAYS = np.array(["2020-01-01", "NaT"], "M8[ns]")[:, np.newaxis]
NO_NUMBERS = {
    "dates": (DAYS, "Got dates or durations, the first 2020-01-01"),
    "days": (DAYS.astype("M8[D]"), "Got dates or durations, the first 2020-01-01"),
    "durations": (DAYS - DAYS[0], "Got dates or durations, the first 0 nanoseconds"),
    "objects of pandas": (np.array([[1.0], [pd.Timestamp("2020-01-01")]], object), "durations, the first 2020-01-01"),
    "missing": (np.array([[1.0], [pd.NaT]], object), "Got dates or durations, the first NaT"),
    "pandas' durations": (np.array([[pd.Timedelta(1, "s")], [1.0]], object), "durations, the first 0 days 00:00:01"),
    "objects of numpy": (np.array([[1.0], [np.datetime64("2020-01-01")]], object), "the first 2020-01-01"),
    "numpy's durations": (np.array([[np.timedelta64(1, "D")], [1.0]], object), "the first 1 days"),
    "numbers as text": (np.array([["1e3"], ["2"]]), r"numbers written as text, the first '1e3'.*X.astype\(float\)"),
    "numbers as objects": (np.array([[1.0], ["1e3"]], object), "numbers written as text, the first '1e3'"),
    "bytes": (np.array([[b"1"], [b"2"]]), "numbers written as text, the first .*1"),
    "strings of variable length": (np.array([["1"], ["2"]], np.dtypes.StringDType()), "as text, the first '1'"),
    "text": (np.array([["1"], ["one"]]), "Got text, the first 'one'. Turn text into numbers first"),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
@pytest.mark.parametrize(
    "make",
    [
        lambda X: Bags(X, [0, 2]),
        lambda X: Bags.from_list([np.eye(1), X]),
        lambda X: Bags.from_array(X[np.newaxis]),
        lambda X: Bags.from_groups(X, [7, 7]),
        lambda X: Bags.from_groups(pd.DataFrame(X), [7, 7]),
        lambda X: Bags.from_rows(X),
        lambda X: Bags(np.eye(2), [0, 2]).with_vectors(X),
    ],
    ids=["constructor", "from_list", "from_array", "from_groups", "frame", "from_rows", "with_vectors"],
)
def test_dates_durations_and_text_are_no_numbers(make, kind):
    X, message = NO_NUMBERS[kind]
    with pytest.raises(ValueError, match=f"All values must be numbers. .*{message}"):
        make(X)


def test_objects_that_are_numbers_are_taken_and_none_is_missing():
    X = np.array([[1, 2.5], [True, None], [np.float32(0.5), np.int8(3)]], object)
    np.testing.assert_array_equal(Bags(X, [0, 3]).X, [[1.0, 2.5], [1.0, np.nan], [0.5, 3.0]])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_data_frame_needs_its_package(backend, monkeypatch):
    def missing(*_, **__):
        raise ModuleNotFoundError(f"No module named '{backend}'")

    monkeypatch.setattr(nw, "from_dict", missing)
    with pytest.raises(ImportError, match=f"to_frame needs {backend}, which is not installed. Run: pip install"):
        Bags.from_rows([[1.0]]).to_frame(backend=backend)
    with pytest.raises(ValueError, match="backend must be one of 'pandas', 'polars', 'pyarrow'. Got 'excel'"):
        Bags.from_rows([[1.0]]).to_frame(backend="excel")


def test_sets_of_different_width_are_named():
    with pytest.raises(ValueError, match="Got 2 in the first set and 3 in the set at index 1"):
        Bags.from_list([np.ones((1, 2)), np.ones((1, 3))])
    with pytest.raises(ValueError, match=r"Got 1 dimension for the set at index 1"):
        Bags.from_list([np.ones((1, 2)), np.ones(2)])


def test_a_set_whose_rows_have_different_labels_is_named():
    with pytest.raises(ValueError, match="same label. Got no in row 2 of set p, whose first vector has yes"):
        Bags.from_groups(np.ones((3, 1)), ["p", "q", "p"], labels=["yes", "no", "no"])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_value_that_is_not_finite_is_found(X, value, is_sparse):
    X[4, 1] = value
    bags = Bags(sparse.csr_array(X) if is_sparse else X, [0, 1, 3, 6])
    with pytest.raises(ValueError, match=r"(NaN|infinity) in the set at index 2, vector 1, feature 1"):
        bags.check_finite()


@pytest.mark.parametrize(("value", "dtype"), [(1e308, np.float64), (-3e38, np.float32)])
def test_finite_values_whose_sum_overflows_are_accepted(value, dtype):
    Bags(np.full((4, 1), value, dtype=dtype), [0, 4]).check_finite()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"x": [1.0]}), "must have a column 'bag'. Got the columns 'x'"),
        (pd.DataFrame({"bag": [1, None], "x": [1.0, 2.0]}), "'bag' must have a value in every row. Got 1 missing"),
        (pd.DataFrame({"bag": [1], "x": ["red"]}), "must be numeric. Got 'x'"),
        (pd.DataFrame({"bag": [1]}), "at least one feature column"),
    ],
)
def test_invalid_frames_are_refused(frame, message):
    with pytest.raises(ValueError, match=message):
        Bags.from_frame(frame)


def test_converting_bags_to_an_array_is_refused_with_alternatives(bags):
    with pytest.raises(TypeError, match="PerVector"):
        np.asarray(bags)


@pytest.mark.parametrize("key", [5, [0, 9], np.array([True]), [0.5], (0, 1)])
def test_invalid_keys_are_refused(bags, key):
    with pytest.raises(IndexError):
        bags[key]


def test_bags_can_be_concatenated(bags):
    joined = Bags.concatenate([bags, bags[[2]]])
    assert joined.ids.tolist() == [0, 1, 2, 2]
    assert (joined[3] == bags[2]).all()
    named = Bags(bags.X, bags.offsets, feature_names=["a", "b"])
    assert list(Bags.concatenate([named, named]).feature_names) == ["a", "b"]
    with pytest.raises(ValueError, match="Part 1 differs"):
        Bags.concatenate([named, bags])


def test_frames_in_a_list_and_by_groups_keep_their_names_and_must_agree():
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    assert list(Bags.from_list([frame, frame]).feature_names) == ["a", "b"]
    assert list(Bags.from_groups(frame, [0]).feature_names) == ["a", "b"]
    with pytest.raises(ValueError, match="same columns in the same order. The set at index 1 differs"):
        Bags.from_list([frame, frame[["b", "a"]]])


def test_column_names_must_be_strings():
    with pytest.raises(ValueError, match=r"must be strings. Got 0. Rename them first"):
        Bags.from_frame(pd.DataFrame({0: [1.0], "bag": [1]}))


def test_small_integer_keys_do_not_overflow_and_a_bool_is_not_a_position():
    bags = Bags(np.arange(300.0)[:, np.newaxis], np.arange(301))
    assert bags[np.array([200, 255], dtype=np.uint8)].X.ravel().tolist() == [200.0, 255.0]
    assert bags[np.array([-1, 100], dtype=np.int8)].X.ravel().tolist() == [299.0, 100.0]
    with pytest.raises(IndexError, match="A mask must hold one value for each of 300 sets"):
        bags[True]


def test_a_value_that_is_not_finite_is_named_by_id_and_feature():
    bags = Bags([[1.0, 2.0], [3.0, np.inf]], [0, 1, 2], ids=["a", "b"], feature_names=["x", "y"])
    with pytest.raises(ValueError, match=r"first infinity in the set at index 1 \(b\), vector 0, feature 1 \(y\)"):
        bags.check_finite()


@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 7], [0, 1, 2]), ([0, 2], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 3, 2])]
)
def test_an_inconsistent_sparse_matrix_is_refused(indices, indptr):
    X = sparse.csr_array(np.eye(2))
    X.indices, X.indptr = np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
    with pytest.raises(ValueError, match="of a sparse matrix must"):
        Bags(X, [0, 1, 2])


@pytest.mark.parametrize("indptr", [[0, 1, 3], [1, 1, 2], [0, 2]])
def test_row_pointers_that_do_not_fit_the_matrix_are_refused(indptr):
    X = sparse.csr_array(np.eye(2))
    X.indptr = np.array(indptr, dtype=np.int32)
    with pytest.raises(ValueError, match="index pointer"):
        Bags(X, [0, 1, 2])


@pytest.mark.parametrize("missing", [None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s")])
@pytest.mark.parametrize(
    "make",
    [list, lambda g: np.array(g, dtype=object), lambda g: pd.Series(g, dtype=object)],
    ids=["list", "array", "series"],
)
def test_vectors_without_a_group_are_refused(missing, make):
    groups = make(["a", missing, "b", missing])
    with pytest.raises(ValueError, match=r"groups must have a value in every row\. Got 2 missing, in rows 1, 3\."):
        Bags.from_groups(np.ones((4, 1)), groups)


@pytest.mark.parametrize(
    "groups",
    [
        np.array([1.0, np.nan, 2.0, np.nan]),
        np.array(["2024-01-01", "NaT", "2024-01-02", "NaT"], dtype="datetime64[D]"),
        pd.array(["a", None, "b", None], dtype="string"),
        pd.array([1, None, 2, None], dtype="Int64"),
        pd.Categorical(["a", None, "b", None]),
        np.array(["a", np.nan, "b", np.nan], dtype=np.dtypes.StringDType(na_object=np.nan)),
    ],
    ids=["float", "date", "string", "Int64", "category", "numpy string"],
)
def test_missing_groups_of_every_type_are_refused(groups):
    with pytest.raises(ValueError, match=r"groups must have a value in every row\. Got 2 missing, in rows 1, 3\."):
        Bags.from_groups(np.ones((4, 1)), groups)


@pytest.mark.parametrize("backend", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
@pytest.mark.parametrize("column", ["bag", "label"])
def test_missing_values_in_a_frame_are_refused_with_their_rows(backend, column):
    columns = {"bag": ["p", "q"] * 5, "label": ["yes", "no"] * 5, "x": [1.0] * 10}
    columns[column] = ["p", None, "q", None, None, None, None, None, None, "r"]
    with pytest.raises(
        ValueError, match=rf"'{column}' must have a value in every row. Got 7 missing, in rows 1, 3, 4, 5, 6 and 2 more"
    ):
        Bags.from_frame(backend(columns), label="label")


@pytest.mark.parametrize("labels", [["yes", None], ["yes", np.nan], [1.0, np.nan]])
def test_vectors_without_a_label_are_refused(labels):
    with pytest.raises(ValueError, match=r"labels must have a value in every row. Got 1 missing, in rows 1\."):
        Bags.from_groups(np.ones((2, 1)), ["p", "q"], labels)


def test_a_group_that_is_the_text_nan_is_an_id_like_any_other():
    bags = Bags.from_groups(np.ones((3, 1)), ["nan", "None", "nan"])
    assert bags.ids.tolist() == ["nan", "None"]


@pytest.mark.parametrize("backend", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_the_schema_of_a_frame_is_read_as_often_for_many_columns_as_for_few(monkeypatch, backend):
    reads = []
    for name in ("schema", "columns"):
        original = getattr(nw.DataFrame, name)
        counted = property(lambda frame, read=original.fget: (reads.append(1), read(frame))[1])
        monkeypatch.setattr(nw.DataFrame, name, counted)

    def reads_for(n_columns):
        reads.clear()
        Bags.from_frame(backend({"bag": [1, 2]} | {f"x{i}": [0.0, 1.0] for i in range(n_columns)}))
        return len(reads)

    assert reads_for(200) == reads_for(2) > 0
