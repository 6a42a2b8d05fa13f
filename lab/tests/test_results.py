import os
import subprocess
import sys

import pytest

from made_rows import row
from setrbm_lab import results
from setrbm_lab.results import RowWriter, only_writer, read, write


def rows(n=3):
    return [row("SVM-max", "musk1", 0, fold, fold, chosen='{"a": "x, \\"y\\""}') for fold in range(n)]


def test_rows_are_read_back_as_written(tmp_path):
    path = tmp_path / "new" / "table.csv"
    writer = RowWriter(path)
    for one in rows():
        writer.add([one])
    assert read(path) == rows()
    assert read(path)[2].accuracy == 0.1
    assert read(tmp_path / "none.csv") == []


def test_an_incomplete_last_line_is_removed(tmp_path):
    path = tmp_path / "table.csv"
    RowWriter(path).add(rows())
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        kept = read(path)
        assert kept == rows()[: len(kept)]
        RowWriter(path).add(rows()[len(kept) :])
        assert read(path) == rows(), end


def test_other_files_are_refused_and_left_unchanged(tmp_path):
    path = tmp_path / "table.csv"
    RowWriter(path).add(rows())
    for content in (path.read_bytes().replace(b"\n", b"\r"), b"my precious data", b"formatted"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"must be a results file or not exist"):
            RowWriter(path)
        assert path.read_bytes() == content


def test_a_file_with_windows_line_ends_is_read(tmp_path):
    path = tmp_path / "table.csv"
    RowWriter(path).add(rows())
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read(path) == rows()


def test_a_file_is_replaced_atomically_with_sorted_rows(tmp_path):
    path = tmp_path / "table.csv"
    write(path, reversed(rows()))
    assert read(path) == rows()
    assert os.listdir(tmp_path) == ["table.csv"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("n_right", "right"), "must be a results file with the columns format, dataset"),
        (lambda text: text.replace("\n1,", "\n2,"), "must be in results format 1. Got format '2' in line 2"),
        (lambda text: text.replace(",cpu,", ","), "must have 13 columns. Got 12 in line 2"),
        (lambda text: text.replace(",20,", ",many,"), "Line 2 of .* must have numbers in its numeric columns"),
        (lambda text: text.replace(",20,", ",0,"), "Line 2 of .* must have n_right from 0 to n_test. Got 0 of 0"),
        (lambda text: "not a table\n", "must be a results file"),
    ],
)
def test_files_of_another_kind_or_version_are_refused(tmp_path, change, message):
    path = tmp_path / "table.csv"
    write(path, rows())
    changed = change(path.read_text())
    path.write_text(changed)
    for attempt in (read, RowWriter):
        with pytest.raises(ValueError, match=message):
            attempt(path)
    assert path.read_text() == changed


def test_two_processes_do_not_write_to_one_file(tmp_path):
    path = tmp_path / "table.csv"
    code = (
        "import sys; from pathlib import Path; from setrbm_lab.results import only_writer\n"
        "with only_writer(Path(sys.argv[1])): print('in')"
    )

    def other():
        return subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)

    with only_writer(path):
        held = other()
    assert held.returncode != 0
    assert "must have one writer at a time" in held.stderr
    assert other().stdout == "in\n"


def test_every_line_has_the_format_number(tmp_path):
    write(tmp_path / "t.csv", rows())
    assert all(line.startswith(f"{results.FORMAT},") for line in (tmp_path / "t.csv").read_text().splitlines()[1:])
