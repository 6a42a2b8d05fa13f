"""Reading documents on a Dask cluster: as on one machine, kept, resumed, and never quietly lost."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import dask
import numpy as np
import pyarrow.parquet
import pytest

from clusters import cluster_of, dying_workers, marks, model_of, settings
from setrbm import save
from setrbm.dask import ClusterError, score_files, scoring
from setrbm_mail import Limits, Reading, document_classifier
from setrbm_mail import cluster as cluster_reading
from setrbm_mail import read_documents as read_here
from setrbm_mail.cluster import ClusterProgress, _key, iter_documents, read_documents
from setrbm_mail.formats.folders import DocumentFiles
from setrbm_mail.generate import generate_mail
from setrbm_mail.scoring import DocumentScoring

pytestmark = marks
# Text layers only, which is fast.
TEXT = Reading(ocr="never")


def test_other_ways_of_reading_have_outputs_of_their_own(work, tmp_path):
    ways = [{}, {"reading": TEXT}, {"reading": Reading(dpi=100.0)}, {"limits": Limits(words=10)}]
    ways += [{"reading": Reading(dpi=100.0, ocr="never")}, {"limits": Limits(words=10, pages=1)}]
    jobs = [scoring._tasks(model_of(work), [tmp_path], tmp_path / "out", DocumentScoring(**how)) for how in ways]
    assert len({job.output for (job,) in jobs}) == len({job.receipt for (job,) in jobs}) == len(ways)


@pytest.fixture(scope="module")
def mail(tmp_path_factory):
    """Mail with text layers, a damaged file among it."""
    folder = tmp_path_factory.mktemp("mail")
    generate_mail(folder, 13, n_classes=3, pages_per_set=1.2, formats=("pdf", "eml"), born_digital=1.0)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    return folder


def plain(documents):
    return [document.to_json() for document in documents]


def test_documents_are_read_as_on_one_machine(mail, two, tmp_path):
    seen = []
    found = read_documents(mail, output=tmp_path, client=two, reading=TEXT, on_progress=seen.append)
    assert plain(found) == plain(read_here(mail, reading=TEXT))
    assert seen[-1] == ClusterProgress(14, 14, found.n_pages)
    few = read_documents(mail, [found[3].id, found[1].id, found[3].id], output=tmp_path, client=two, reading=TEXT)
    assert few.ids.tolist() == [found[3].id, found[1].id, found[3].id]


def test_the_same_documents_from_any_workers_and_after_kills(mail, tmp_path):
    few = ["broken.pdf", *sorted(path.name for path in mail.glob("piece-0000[0-5]*"))]
    expected = plain(read_here(mail, few, reading=TEXT))
    for n, kind in ((1, {}), (3, {}), (1, {"processes": False, "threads_per_worker": 2})):
        with cluster_of(n, **kind) as client:
            assert plain(read_documents(mail, few, output=tmp_path / str(n), client=client, reading=TEXT)) == expected
            shutil.rmtree(tmp_path / str(n))
    with (
        settings(allowed_failures=100),
        dying_workers(tmp_path, "setrbm_mail.cluster", "read_found", which=1) as deaths,
        cluster_of(2) as client,
    ):
        assert plain(read_documents(mail, few, output=tmp_path / "killed", client=client, reading=TEXT)) == expected
    assert len(list(deaths.iterdir())) > 3


def test_what_was_read_whole_is_kept(mail, two, tmp_path):
    whole = [path.name for path in mail.glob("piece-*")]
    found = read_documents(mail, whole, output=tmp_path, client=two, reading=TEXT)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    with cluster_of(0, processes=False) as nobody:
        assert plain(read_documents(mail, whole, output=tmp_path, client=nobody, reading=TEXT)) == plain(found)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times
    # What has changed, or is damaged, is read again.
    os.utime(mail / found[0].id)
    damaged = next(iter(times))
    damaged.write_text("{")
    assert plain(read_documents(mail, whole, output=tmp_path, client=two, reading=TEXT)) == plain(found)
    assert len(list(tmp_path.iterdir())) == len(times) + 1
    assert damaged.stat().st_mtime_ns > times[damaged]


def test_a_document_that_could_not_be_read_is_tried_again(mail, two, tmp_path):
    """A worker may not have seen it, or may have been too slow."""
    name = sorted(path.name for path in mail.glob("piece-*"))[0]
    away = tmp_path / "away"
    stat = (mail / name).stat()
    wanted = cluster_reading._wanted(mail, [name], False, tmp_path / "out", TEXT, Limits())
    shutil.move(mail / name, away)
    cluster_reading._Run(cluster_reading.Cluster(two), ClusterProgress(1, 0, 0), None).read(wanted)
    assert "No such file" in str(wanted[0].document().problems[0])
    shutil.move(away, mail / name)
    os.utime(mail / name, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (found,) = read_documents(mail, [name], output=tmp_path / "out", client=two, reading=TEXT)
    assert found.pages
    assert not found.problems


def test_a_document_that_nobody_can_read_is_not_tried_again(mail, two, tmp_path):
    """It is damaged, encrypted or over a limit: the next command would only take as long."""
    (first,) = read_documents(mail, ["broken.pdf"], output=tmp_path, client=two, reading=TEXT)
    assert first.problems
    with cluster_of(0, processes=False) as nobody:
        (second,) = read_documents(mail, ["broken.pdf"], output=tmp_path, client=nobody, reading=TEXT)
    assert plain([second]) == plain([first])


def test_a_document_that_kills_its_worker_costs_itself_alone(mail, tmp_path, monkeypatch):
    deadly = sorted(path.name for path in mail.glob("piece-*"))[3]
    code = tmp_path / "deadly.py"
    code.write_text(
        "import os, signal\n"
        "import setrbm_mail.cluster as reading\n"
        "def read_found(folder, wanted, real=reading.read_found, **others):\n"
        f"    if any(getattr(one, 'id', '') == {deadly!r} for one in wanted):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(folder, wanted, **others)\n"
        "reading.read_found = read_found\n"
    )
    with (
        settings(allowed_failures=0),
        dask.config.set({"distributed.worker.preload": [str(code)]}),
        cluster_of(2) as client,
    ):
        found = read_documents(mail, output=tmp_path / "out", client=client, reading=TEXT)
    (lost,) = [one for one in found if not one.pages and one.id != "broken.pdf"]
    assert (lost.id, len(found)) == (deadly, 14)
    assert "1 worker died while running this task alone" in lost.problems[0].reason
    assert f"To try it again, delete '{tmp_path / 'out'}" in lost.problems[0].reason


def test_faults_of_workers_are_no_faults_of_documents(mail, two, tmp_path, monkeypatch):
    """Without the language, or the extra, nothing would be read: no model must be fitted to that."""
    german = Reading(language="deu", language_folder=str(tmp_path))
    with pytest.raises(ClusterError, match=r"14 documents could not be read on the cluster, .*Rerun to resume"):
        read_documents(mail, output=tmp_path / "out", client=two, reading=german)
    assert not list((tmp_path / "out").iterdir())


def test_a_folder_that_a_worker_does_not_have_is_its_fault(mail, two, tmp_path):
    with pytest.raises(NotADirectoryError, match="must be on every worker, under this path"):
        cluster_reading.read_batch(str(tmp_path / "none"), [], TEXT, Limits())


def test_documents_come_one_at_a_time(mail, two, tmp_path):
    documents = iter_documents(mail, output=tmp_path, client=two, reading=TEXT)
    first = next(documents)
    rest = list(documents)
    assert plain([first, *rest]) == plain(read_here(mail, reading=TEXT))


def test_a_folder_of_documents_is_an_input_too(mail, two, tmp_path):
    documents = read_here(mail, reading=TEXT).readable
    labels = np.array([k % 2 for k in range(len(documents))])
    save(document_classifier(None, random_state=0).fit(documents, labels), tmp_path / "model.safetensors")
    few = tmp_path / "few"
    few.mkdir()
    with_words = [one.id for one in documents if any(page.words for page in one.pages)]
    for name in (*with_words[:2], "broken.pdf"):
        shutil.copy(mail / name, few)
    how = DocumentScoring(reading=TEXT, format="csv")
    (one,) = score_files(tmp_path / "model.safetensors", [few], tmp_path / "out", how, client=two)
    assert (one.failed, one.n_sets) == ("", 3)
    lines = Path(one.output).read_text().splitlines()
    assert lines[0] == "document,label,probability,accepted,why_a_person,page,place,words"
    assert sum("nothing could be read" in line for line in lines) == 1
    assert sum(",true," in line for line in lines) == 2
    # Limits are those of the caller.
    small = DocumentScoring(reading=TEXT, limits=Limits(file_bytes=10))
    (one,) = score_files(tmp_path / "model.safetensors", [few], tmp_path / "out", small, client=two)
    table = pyarrow.parquet.read_table(one.output)
    assert all("the limit is 10 (file_bytes)" in reason for reason in table["why_a_person"].to_pylist())
    # The types of the columns do not depend on what could be read.
    (full,) = score_files(
        tmp_path / "model.safetensors", [few], tmp_path / "out", DocumentScoring(reading=TEXT), client=two
    )  # fmt: skip
    assert pyarrow.parquet.read_schema(full.output).types == table.schema.types


def test_results_kept_by_earlier_versions_are_found_again(tmp_path):
    """The key of a document holds the name that its class had at first."""
    source, about = DocumentFiles("a.pdf", ("a.pdf",)), "settings"
    expected = hashlib.sha256(json.dumps(["Found(id='a.pdf', files=('a.pdf',))", ["gone"], about]).encode())
    assert _key(tmp_path, source, about) == expected.hexdigest()[:32]
