"""Files of sets: every format gives the same sets, and every fault is named with its place."""

from __future__ import annotations

import gzip
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from setrbm import Bags
from setrbm.datasets import load_musk1
from setrbm.datasets._csv import BLOCK
from setrbm.datasets.files import read_bags, read_sets, write_csv

CSV = "bag,label,x,y\nb,dog,1,2\na,cat,3,4.5\nb,dog,-5e-1,6\n"


def saved(folder, text, name="data.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def saved_table(folder, columns):
    import pyarrow
    import pyarrow.parquet

    path = folder / "data.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def test_sets_come_in_order_of_first_appearance_with_names_and_labels(tmp_path):
    bags, y = read_sets(saved(tmp_path, CSV))
    assert list(bags.ids) == ["b", "a"]
    assert list(y) == ["dog", "cat"]
    assert list(bags.feature_names) == ["x", "y"]
    np.testing.assert_array_equal(bags[0], [[1, 2], [-0.5, 6]])
    np.testing.assert_array_equal(bags[1], [[3, 4.5]])


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + CSV,
        CSV.replace("\n", "\r\n"),
        CSV.replace(",", ", "),
        CSV + "\n\n",
        CSV.replace("dog", '"dog"'),
        "label,y,bag,x\ndog,2,b,1\ncat,4.5,a,3\ndog,6,b,-5e-1\n",
    ],
    ids=["byte-order mark", "Windows", "spaces", "empty lines", "quoted", "columns in another order"],
)
def test_the_way_a_csv_is_written_changes_nothing(tmp_path, text):
    expected, y = read_sets(saved(tmp_path, CSV, "plain.csv"))
    bags, labels = read_sets(saved(tmp_path, text), feature_names=["x", "y"])
    np.testing.assert_array_equal(bags.X, expected.X)
    np.testing.assert_array_equal(bags.offsets, expected.offsets)
    np.testing.assert_array_equal(labels, y)


def test_a_packed_csv_reads_like_a_plain_one(tmp_path):
    plain, _ = read_sets(saved(tmp_path, CSV))
    packed, _ = read_sets(saved(tmp_path, gzip.compress(CSV.encode()), "data.csv.gz"))
    np.testing.assert_array_equal(packed.X, plain.X)


@pytest.mark.parametrize(
    "labels", [[0, 1, 2], [-3, 7, 8], ["b", "a", "1"], ["01", "02", "3"], ["x, y", 'say "z"', "ü"]]
)
def test_labels_and_set_names_come_back_as_they_were_written(tmp_path, labels):
    bags = Bags(np.arange(8.0).reshape(4, 2) / 3, offsets=[0, 1, 3, 4], ids=labels)
    write_csv(tmp_path / "data.csv", bags, labels)
    again, y = read_sets(tmp_path / "data.csv")
    assert again.ids.tolist() == labels
    assert y.tolist() == labels
    np.testing.assert_array_equal(again.X, bags.X)
    np.testing.assert_array_equal(again.offsets, bags.offsets)
    assert list(again.feature_names) == ["f0", "f1"]


def test_integers_too_large_to_hold_stay_text(tmp_path):
    bags, _ = read_sets(saved(tmp_path, "bag,label,x\n99999999999999999999,0,1\n"))
    assert bags.ids.tolist() == ["99999999999999999999"]


def test_musk1_comes_back_the_same_from_every_format(tmp_path):
    import pyarrow.parquet

    bags, y = load_musk1()
    write_csv(tmp_path / "musk1.csv", bags, y)
    pyarrow.parquet.write_table(bags.to_frame(y, backend="pyarrow"), tmp_path / "musk1.parquet")
    X, groups = bags.to_groups()
    dump_svmlight_file(X, np.repeat(y, bags.sizes), str(tmp_path / "musk1.svm"), query_id=groups)
    for name in ("musk1.csv", "musk1.parquet", "musk1.svm"):
        again, labels = read_sets(tmp_path / name)
        np.testing.assert_array_equal(again.X.toarray() if again.is_sparse else again.X, bags.X)
        np.testing.assert_array_equal(again.ids, bags.ids)
        np.testing.assert_array_equal(labels, y)
        assert again.is_sparse == name.endswith(".svm")


def test_a_label_column_is_optional_and_ignored_if_no_labels_are_requested(tmp_path):
    assert list(read_bags(saved(tmp_path, "bag,x\n1,3\n")).feature_names) == ["x"]
    # Not even its cells are looked at.
    bags = read_bags(saved(tmp_path, "bag,label,x\n1,,3\n1,dog,3\n"))
    assert list(bags.feature_names) == ["x"]
    assert bags.n_vectors == 2


def test_requested_features_are_found_by_name_and_other_columns_are_ignored(tmp_path):
    path = saved(tmp_path, "note,y,bag,x\nhello,2,1,1\n")
    np.testing.assert_array_equal(read_bags(path, feature_names=["x", "y"]).X, [[1, 2]])
    with pytest.raises(ValueError, match=r"must have a feature column 'z'\. Got the columns 'note', 'y', 'bag', 'x'"):
        read_bags(path, feature_names=["x", "z"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ignored_columns_are_no_features_and_may_hold_anything(tmp_path, ending):
    if ending == "csv":
        path = saved(tmp_path, "bag,label,note,x,row\n1,a,hello,3,17\n2,b,,4,18\n")
    else:
        columns = {"bag": [1, 2], "label": ["a", "b"], "note": ["hello", None], "x": [3, 4], "row": [17, 18]}
        path = saved_table(tmp_path, columns)
    bags, _ = read_sets(path, ignore=["note", "row"])
    assert list(bags.feature_names) == ["x"]
    np.testing.assert_array_equal(bags.X, [[3], [4]])
    assert list(read_bags(path, ignore=["note"]).feature_names) == ["x", "row"]
    with pytest.raises(ValueError, match=r"must have a column to ignore, 'nota'\. Got .*; the nearest is 'note'"):
        read_bags(path, ignore=["nota"])
    with pytest.raises(ValueError, match=r"besides 'bag', 'label', 'note', 'row', 'x'\. Got none"):
        read_bags(path, ignore=["note", "row", "x"])
    # What is not read anyway may be missing.
    assert list(read_bags(path, ignore=["gone"], feature_names=["x"]).feature_names) == ["x"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "bag"}, r"bag and the label must be two columns\. Got 'bag' for both"),
        ({"ignore": ["bag"]}, r"must not be ignored\. Got 'bag', the bag column"),
        ({"ignore": ["label"]}, r"must not be ignored\. Got 'label', the label column"),
        ({"ignore": ["x"], "feature_names": ["x"]}, r"must not be ignored\. Got 'x', one of the features"),
    ],
)
def test_a_column_has_one_part_only(tmp_path, change, message):
    for read in (read_sets, read_bags):
        with pytest.raises(ValueError, match=message):
            read(saved(tmp_path, CSV), **change)


def test_ids_and_labels_are_read_without_the_spaces_around_them(tmp_path):
    rows = [("u ", " a"), ("v", "b"), (" u", "a ")]
    text = "bag,label,x\n" + "".join(f'"{bag}","{label}",1\n' for bag, label in rows)
    table = {"bag": [bag for bag, _ in rows], "label": [label for _, label in rows], "x": [1, 1, 1]}
    for path in (saved(tmp_path, text), saved_table(tmp_path, table)):
        bags, y = read_sets(path)
        assert bags.ids.tolist() == ["u", "v"]
        assert bags.sizes.tolist() == [2, 1]
        assert y.tolist() == ["a", "b"]


def test_a_file_of_many_blocks_is_read_whole_and_its_last_line_is_named(tmp_path):
    n = 2 * BLOCK + 5
    rows = [f"{i // 3},{i // 3 % 2},{i}" for i in range(n)]
    bags, y = read_sets(saved(tmp_path, "\n".join(["bag,label,x", *rows])))
    np.testing.assert_array_equal(bags.X.ravel(), np.arange(n))
    assert len(y) == len(bags) == (n + 2) // 3
    rows[-1] = rows[-1].rpartition(",")[0] + ",oops"
    with pytest.raises(ValueError, match=rf"Got 'oops' in line {n + 1}, column 'x'"):
        read_sets(saved(tmp_path, "\n".join(["bag,label,x", *rows])))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bag,label,x\n1,0,1\n1,0,abc\n", r"hold a finite number\. Got 'abc' in line 3, column 'x' of '.*data\.csv'"),
        ("bag,label,x\n1,0,1\n\n1,0,\n", r"hold a number\. Got an empty one in line 4, column 'x'"),
        ('bag,label,x\n"1\n2",0,1\n1,0,\n', r"Got an empty one in line 4, column 'x'"),
        ("bag,label,x\n1,0,nan\n", r"finite number\. Got 'nan' in line 2, column 'x'.*Impute or drop"),
        ("bag,label,x\n1,0,-inf\n", r"finite number\. Got '-inf' in line 2, column 'x'"),
        ("bag,label,x\n1,0,1e999\n", r"finite number\. Got '1e999' in line 2, column 'x'"),
        ("bag,label,x\n1,0\n", r"one cell for each of the 3 columns\. Got 2 in line 2.*Fill in the missing cells"),
        ("bag,label,x\n1,0,3,4\n", r"one cell for each of the 3 columns\. Got 4 in line 2.*Quote cells"),
        ("bag,label,x,x\n1,0,3,4\n", r"names must be unique\. Got 'x' for columns 3 and 4"),
        (
            "Bags,label,x\n1,0,3\n",
            r"must have a bag column 'bag'\. Got the columns 'Bags', 'label', 'x'; the nearest is",
        ),
        (
            "bag,class,x\n1,0,3\n",
            r"must have a label column 'label'\. Got the columns 'bag', 'class', 'x'\. Name the column",
        ),
        ("bag;label;x\n1;0;3\n", r"Got the column 'bag;label;x'\. The columns seem to be separated by ';'"),
        ("bag,label\n1,0\n", r"at least one feature column besides 'bag', 'label'\. Got none"),
        ("bag,label,x\n1,,3\n", r"have a value in column 'label'\. Got an empty cell in line 2"),
        ("bag,label,x\n ,1,3\n", r"have a value in column 'bag'\. Got an empty cell in line 2"),
        ("bag,label,x\n7,0,3\n8,1,3\n7,1,3\n", r"same label\. Got 0 in line 2 and 1 in line 4 of '.*' for set 7"),
        ("bag,label,x\n", r"at least one row below the column names\. Got none"),
        ("", r"must start with a line of column names\. It is empty"),
        (b"bag,label,x\n1,0,3\n1,\xff,3\n", r"text in UTF-8\. Got the byte 0xff in line 3, byte 3\. Save"),
        ('bag,label,x\n1,0,3\n1,"0,3\n', r"'.*data\.csv' must be a CSV file. .* line 3: .* Check its quotation marks"),
        ('"bag"x,label,f1\n1,0,3\n', r"'.*data\.csv' must be a CSV file. .* line 1: .* Check its quotation marks"),
        ("\n\nbag,label," + "x" * 200_000 + "\n", r"'.*data\.csv' must be a CSV file. .* line 3: field larger than"),
    ],
)
def test_a_fault_in_a_csv_is_named_with_its_place(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_sets(saved(tmp_path, text))


def refusal(path):
    """The message of the ValueError that reading a file raises, or None."""
    try:
        read_bags(path)
    except ValueError as error:
        return str(error)


def damaged(content):
    """A gzip file cut off or changed at every place, and one that was never compressed."""
    packed = gzip.compress(content, mtime=0)
    yield content
    yield from (packed[:length] for length in range(1, len(packed)))
    for at in range(len(packed)):
        yield packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :]


@pytest.mark.parametrize(
    ("name", "content"),
    [("data.csv.gz", CSV.encode() * 2), ("a.svm.gz", b"1 qid:1 1:2 3:4\n0 qid:2 2:3\n" * 4)],
    ids=["csv", "svmlight"],
)
def test_a_damaged_gzip_file_is_refused_by_name(tmp_path, name, content):
    refusals = [refusal(saved(tmp_path, damage, name)) for damage in damaged(content)]
    assert all(name in message for message in refusals if message is not None)
    # Only time, level and operating system in the header may change unnoticed.
    assert refusals.count(None) <= 6


def test_a_gzip_file_whose_damage_looks_like_other_text_is_refused_by_name(tmp_path):
    text = b"bag,label,x\n1,0,3\n" + b"1,0,3\n" * 40
    # Stored blocks hold the bytes as they are, so that the damage is first met as a byte that is not UTF-8.
    packed = bytearray(gzip.compress(text, compresslevel=0, mtime=0))
    packed[packed.index(b"1,0,3")] = 0xFF
    with pytest.raises(ValueError, match=r"data\.csv\.gz' must be (text in UTF-8|a gzip file)"):
        read_sets(saved(tmp_path, bytes(packed), "data.csv.gz"))
    packed = bytearray(gzip.compress(text, compresslevel=0, mtime=0))[:-60]
    packed[-3] = 0xFF
    with pytest.raises(ValueError, match=r"data\.csv\.gz' must be (text in UTF-8|a gzip file)"):
        read_sets(saved(tmp_path, bytes(packed), "data.csv.gz"))


def test_a_missing_file_a_folder_and_an_unknown_file_type_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*none\.csv'"):
        read_sets(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match=r"must be a file\. Got the folder"):
        read_sets(tmp_path)
    known = r"\.csv, .*\.libsvm, \.jsonl, \.ndjson, each also with \.gz, or with \.parquet or \.pq\."
    with pytest.raises(ValueError, match=rf"must end with one of {known} Got '.*data\.xlsx'"):
        read_sets(saved(tmp_path, CSV, "data.xlsx"))


def test_a_csv_is_read_where_no_frame_library_is_installed(tmp_path):
    path = saved(tmp_path, CSV)
    code = (
        "import sys\nfor name in ('pandas', 'pyarrow', 'polars'): sys.modules[name] = None\n"
        f"from setrbm.datasets.files import read_sets\nprint(len(read_sets({str(path)!r})[1]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"


# --- Parquet ---


def test_parquet_keeps_float32_and_whole_labels_and_leaves_out_the_index_of_pandas(tmp_path):
    table = {
        "bag": ["u", "v", "u"],
        "label": [1.0, 2.0, 1.0],
        "x": np.array([1, 2, 3], dtype=np.float32),
        "__index_level_0__": [5, 6, 7],
    }
    bags, y = read_sets(saved_table(tmp_path, table))
    assert bags.dtype == np.float32
    assert bags.shape == (2, 1)
    assert y.tolist() == [1, 2]
    assert isinstance(y.tolist()[0], int)


def test_parquet_categories_are_read_as_their_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"bag": [1, 2], "label": pandas.Categorical(["a", "b"]), "x": [True, False]})
    frame.to_parquet(tmp_path / "data.parquet")
    _, y = read_sets(tmp_path / "data.parquet")
    assert y.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": ["a", "c", "b"]}, r"same label\. Got 'a' in row 1 and 'c' in row 2 of '.*' for set 1"),
        ({"label": ["a", None, "b"]}, r"have a value in column 'label'\. Got an empty cell in row 2"),
        ({"x": [1, None, 3]}, r"hold a number\. Got an empty one in row 2, column 'x'"),
        ({"x": [True, None, False]}, r"hold a number\. Got an empty one in row 2, column 'x'"),
        ({"x": [Decimal(1), None, Decimal(2)]}, r"hold a number\. Got an empty one in row 2, column 'x'"),
        ({"bag": ["u", "  ", "v"]}, r"have a value in column 'bag'\. Got an empty cell in row 2"),
        ({"bag": [1.0, float("nan"), 2.0]}, r"have a value in column 'bag'\. Got an empty cell in row 2"),
        ({"label": [0.0, 0.0, float("nan")]}, r"have a value in column 'label'\. Got an empty cell in row 3"),
        ({"x": [1.0, 2.0, float("inf")]}, r"finite number\. Got inf in row 3, column 'x'"),
        ({"x": ["1", "2", "3"]}, r"must be numeric\. Got type string for column 'x' of '.*data\.parquet'"),
        ({"bag": []} | {"label": [], "x": []}, r"at least one row\. Got none"),
    ],
)
def test_a_fault_in_a_parquet_file_is_named_with_its_place(tmp_path, change, message):
    columns = {"bag": [1, 1, 2], "label": ["a", "a", "b"], "x": [1, 2, 3]} | change
    with pytest.raises(ValueError, match=message):
        read_sets(saved_table(tmp_path, columns))


def test_text_in_a_parquet_file_that_is_not_utf8_is_refused_by_name(tmp_path):
    path = saved_table(tmp_path, {"bag": [1, 2], "label": ["qqqq", "b"], "xxxx": [1.0, 2.0]})
    whole = path.read_bytes()
    for text in (b"xxxx", b"qqqq"):
        path.write_bytes(whole.replace(text, b"\xff\xfe\xfd\xfc"))
        with pytest.raises(ValueError, match=r"data\.parquet' must be a Parquet file\. It is damaged"):
            read_sets(path)


def test_a_file_that_is_no_parquet_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must be a Parquet file\. It is damaged"):
        read_sets(saved(tmp_path, "bag", "data.parquet"))


def test_parquet_without_pyarrow_says_how_to_get_it(tmp_path, monkeypatch):
    path = saved_table(tmp_path, {"bag": [1], "label": [0], "x": [1.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow.*pip install 'setrbm\[parquet\]'"):
        read_sets(path)


# --- svmlight ---


def test_svmlight_features_keep_their_numbers_so_that_two_files_agree(tmp_path):
    first, y = read_sets(saved(tmp_path, "1 qid:4 1:0.5 3:2 # a comment\n-1 qid:9 2:1\n", "a.svm"))
    assert first.shape == (2, 4)
    assert first.ids.tolist() == [4, 9]
    assert y.tolist() == [1, -1]
    other = read_bags(saved(tmp_path, "0 qid:1 2:7\n", "b.libsvm"), n_features=4)
    np.testing.assert_array_equal(other.X.toarray(), [[0, 0, 7, 0]])


def test_a_svmlight_file_has_no_columns_to_ignore(tmp_path):
    with pytest.raises(ValueError, match=r"Only columns of CSV and Parquet .* Got 'x' for '.*a\.svm'"):
        read_bags(saved(tmp_path, "1 qid:1 0:2\n", "a.svm"), ignore=["x"])


def test_a_packed_svmlight_file_is_read(tmp_path):
    bags, _ = read_sets(saved(tmp_path, gzip.compress(b"1 qid:1 0:2\n"), "a.svm.gz"))
    np.testing.assert_array_equal(bags.X.toarray(), [[2]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:2\n1 1:2\n", r"Got no qid:set after the label in line 2 of '.*a\.svm'"),
        ("1 1:2\n", r"Got no qid:set after the label in line 1"),
        ("# note\nx qid:1 1:2\n", r"Got the label 'x', which is not a finite number, in line 2"),
        ("1 qid:1 1:x\n", r"Got '1:x', which is not number:value with a finite value, in line 1"),
        ("1 qid:1 1:nan\n", r"Got '1:nan', which is not number:value"),
        ("1 qid:1 3:1 2:2\n", r"Got feature 2 after feature 3, which must increase, in line 1"),
        ("1 qid:1 3:1 5:2\n", r"numbers must be below 4, .* Got 5 in line 1 of .* count from 0"),
        ("1 qid:1 4:1 3:2\n", r"Got feature 3 after feature 4, which must increase, in line 1"),
        ("1 qid:1\n1 qid:1 4:2\n", r"Feature numbers must be below 4, the number of features\. Got 4 in line 2 of"),
        ("1 qid:1 1:2\n1 qid:1 2147483646:1\n", r"Got feature 2147483646, .* limit of 16,777,216 .* in line 2 of"),
        ("1 qid:1 1:2\n1 qid:1 99999999999999999999:1\n", r"Got feature 99999999999999999999, .* in line 2 of"),
        ("1 qid:1 16777216:1\n", r"Got feature 16777216, .* in line 1 of"),
        ("# note\n1 qid:1 1:2\n\n0 qid:1 1:2\n", r"same label\. Got 1 in line 2 and 0 in line 4"),
        ("# nothing\n", r"must have at least one vector\. Got none"),
    ],
)
def test_a_fault_in_a_svmlight_file_is_named_with_its_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_sets(saved(tmp_path, text, "a.svm"), n_features=4 if "below 4" in message else None)


def test_svmlight_features_may_be_many_where_their_number_is_given(tmp_path):
    path = saved(tmp_path, "1 qid:1 0:1 16777215:3\n", "a.svm")
    assert read_sets(path)[0].shape == (1, 2**24)
    path = saved(tmp_path, "1 qid:1 16777216:3\n", "b.svm")
    assert read_sets(path, n_features=2**24 + 1)[0].shape == (1, 2**24 + 1)


def test_a_column_without_a_name_is_refused(tmp_path):
    path = tmp_path / "index.csv"
    path.write_text(",bag,label,x\n0,1,0,1.5\n")
    with pytest.raises(ValueError, match="must have a name. Got none for column 1 .* index=False"):
        read_sets(path)
