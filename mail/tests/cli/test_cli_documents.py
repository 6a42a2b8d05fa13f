"""``setrbm-mail``: generate, fit, classify, explain and evaluate, on mail with a text layer."""

import base64
import csv
import json
import shutil
from html.parser import HTMLParser

import pytest
from PIL import Image
from typer.testing import CliRunner

from setrbm import load
from setrbm.estimators.pipelines import first_step
from setrbm_mail.answers import Answer
from setrbm_mail.cli import app
from setrbm_mail.pictures import safe_name
from setrbm_mail.report import Report

N_TRAIN, N_TEST = 120, 30
# Reading by OCR is tested elsewhere.
FAST = ("--no-ocr", "-q")
ALL = ("--features", "words,grid,layout,types")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="setrbm-mail")


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Return a folder with generated mail to learn from and to test, a model, and the pages of both."""
    from setrbm_mail.generate import generate_mail

    folder = tmp_path_factory.mktemp("documents")
    settings = {"collection": "DsUs", "formats": ("pdf",), "born_digital": 1.0, "pages_per_set": 2.0}
    generate_mail(folder / "train", N_TRAIN, random_state=0, **settings)
    generate_mail(folder / "test", N_TEST, random_state=1, **settings)
    done = run("fit", folder / "train", "-o", folder / "out", "--precision", "0.4", *ALL, *FAST)
    assert done.exit_code == 0, done.stderr
    return folder


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_generate_writes_mail_and_says_so(tmp_path):
    arguments = ("generate", tmp_path / "mail", "--sets", 8, "--pages", 1.5, "--formats", "pdf,eml", "-q")
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Wrote 8 pieces of mail with 12 pages to ")
    assert len(rows(tmp_path / "mail" / "manifest.csv")) == 8
    before = {path: path.read_bytes() for path in (tmp_path / "mail").glob("piece-*")}
    assert run(*arguments).exit_code == 0
    assert {path: path.read_bytes() for path in (tmp_path / "mail").glob("piece-*")} == before


def test_fit_writes_a_model_and_what_was_not_read(work):
    assert (work / "out" / "model.safetensors").exists()
    assert rows(work / "out" / "problems.csv") == []


@pytest.mark.parametrize(("asked", "blocks"), [((), ("words",)), (("--features", "words,types"), ("words", "types"))])
def test_fit_learns_from_words_unless_other_features_are_asked_for(asked, blocks, work, tmp_path):
    pages = work / "out" / "pages.sqlite"
    done = run("fit", work / "train", "-o", tmp_path, "--precision", 0, "--cache", pages, *asked, *FAST)
    assert done.exit_code == 0, done.stderr
    assert first_step(load(tmp_path / "model.safetensors")).blocks == blocks


def test_classify_answers_for_every_document_and_lists_those_for_a_person(work):
    (work / "test" / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    try:
        done = run("classify", work / "out" / "model.safetensors", work / "test", "-o", work / "answers", *FAST)
    finally:
        (work / "test" / "broken.pdf").unlink()
    assert done.exit_code == 0, done.stderr
    answers = rows(work / "answers" / "answers.csv")
    assert len(answers) == N_TEST + 1
    truth = {row["document"]: row["true_class"] for row in rows(work / "test" / "manifest.csv")}
    right = [row["label"] == truth[row["document"]] for row in answers if row["accepted"] == "true"]
    assert len(right) > 5
    assert sum(right) >= 0.4 * len(right)
    people = rows(work / "answers" / "for-a-person.csv")
    assert [row["document"] for row in people] == [row["document"] for row in answers if row["accepted"] == "false"]
    (broken,) = [row for row in people if row["document"] == "broken.pdf"]
    assert broken["why_a_person"].startswith("nothing could be read: broken.pdf: ")
    assert "For a person: " in done.stdout
    assert [row["document"] for row in rows(work / "answers" / "problems.csv")] == ["broken.pdf"]
    told = json.loads((work / "answers" / "answers.json").read_text())
    assert [one["document"] for one in told] == [row["document"] for row in answers]


def test_classify_takes_another_precision(work):
    arguments = ("classify", work / "out" / "model.safetensors", work / "test", *FAST, "--json")
    found = [run(*arguments, "-o", work / "precision", "--precision", wanted) for wanted in (0.1, 0.5)]
    assert [one.exit_code for one in found] == [0, 0], found[1].stderr
    lax, strict = (json.loads(one.stdout)["documents"] for one in found)
    assert [one["label"] for one in lax] == [one["label"] for one in strict]
    accepted = [sum(one["accepted"] for one in answers) for answers in (lax, strict)]
    assert accepted[0] > accepted[1]
    refused = run(*arguments, "-o", work / "precision", "--precision", 0.99)
    assert refused.exit_code == 1
    assert "A precision of 0.99 with a confidence of 0.95 needs at least" in refused.stderr


def test_explain_leaves_the_answers_of_classify_alone(work):
    model, mail, output = work / "out" / "model.safetensors", work / "test", work / "both"
    assert run("classify", model, mail, "-o", output, *FAST).exit_code == 0
    before = {path.name: path.read_bytes() for path in output.glob("answers.*")}
    assert len(before) == 2
    assert run("explain", model, mail, "-d", "piece-00003.pdf", "-o", output, *FAST).exit_code == 0
    assert {path.name: path.read_bytes() for path in output.glob("answers.*")} == before
    (explained,) = json.loads((output / "explanations.json").read_text())
    assert explained["document"] == "piece-00003.pdf"
    assert explained["picture"].endswith(".png")


def test_explain_draws_with_the_limits_of_the_user(work):
    done = run("explain", work / "out" / "model.safetensors", work / "test", "-d", "piece-00003.pdf", "-o",
        work / "limited", *FAST, "--max-bytes", 10,
    )  # fmt: skip
    assert done.exit_code == 0
    assert "the limit is 10 (file_bytes)" in done.stdout
    assert not list((work / "limited" / "pictures").glob("*"))


def test_classify_prints_json_alone(work):
    done = run("classify", work / "out" / "model.safetensors", work / "test", "-o", work / "json", "--json", *FAST)
    told = json.loads(done.stdout)
    assert len(told["documents"]) == N_TEST
    assert set(told["documents"][0]) >= {"document", "label", "probability", "accepted", "page", "words"}


def test_explain_draws_the_page_that_matters_most_with_its_words_marked(work):
    done = run("explain", work / "out" / "model.safetensors", work / "test", "-d", "piece-00003.pdf", "-o",
        work / "why", *FAST,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    (picture,) = (work / "why" / "pictures").glob("*.png")
    assert str(picture) in done.stdout
    with Image.open(picture) as image:
        colors = image.convert("RGB").getcolors(1 << 24)
    assert any(blue < 100 < red for _, (red, _, blue) in colors), "no word is marked"


def test_what_cannot_work_is_refused_before_reading(work, tmp_path):
    """Reading may take hours."""
    few = run("fit", work / "train", "-o", tmp_path / "a", "--precision", 0.95, *FAST)
    assert few.exit_code == 2
    assert "A precision of 0.95 takes at least 200 documents, three tenths of them held out. Got 120." in few.stderr
    truth = rows(work / "test" / "manifest.csv")
    lines = [f"{row['document']},lottery" for row in truth]
    (tmp_path / "m.csv").write_text("\n".join(["document,label", *lines]))
    arguments = ("evaluate", work / "out" / "model.safetensors", work / "test", "--manifest", tmp_path / "m.csv")
    unknown = run(*arguments, "-o", tmp_path / "b", *FAST)
    assert unknown.exit_code == 2
    assert "Got documents of class 'lottery'." in unknown.stderr
    assert not list(tmp_path.glob("*/pages.sqlite"))


def test_names_of_senders_are_no_formulas(work, tmp_path):
    mail = tmp_path / "mail"
    mail.mkdir()
    shutil.copy(work / "test" / "piece-00003.pdf", mail / "=cmd|calc.pdf")
    (mail / "manifest.csv").write_text("sent by somebody")
    done = run("classify", work / "out" / "model.safetensors", mail, "-o", tmp_path / "out", *FAST)
    assert done.exit_code == 0, done.stderr
    # A file with the name of a manifest is a document too, if nothing was generated there.
    assert [row["document"] for row in rows(tmp_path / "out" / "answers.csv")] == ["'=cmd|calc.pdf", "manifest.csv"]
    told = json.loads((tmp_path / "out" / "answers.json").read_text())
    assert told[0]["document"] == "=cmd|calc.pdf"


def test_mail_without_a_known_word_is_left_to_a_person(work, tmp_path):
    mail = tmp_path / "mail"
    mail.mkdir()
    (mail / "hello.eml").write_text("From: a@b.c\nSubject: xyzzy\n\nplugh frotz\n")
    arguments = ("classify", work / "out" / "model.safetensors", mail, "-o", tmp_path / "out", "--precision", 0.1)
    assert run(*arguments, *FAST).exit_code == 0
    (row,) = rows(tmp_path / "out" / "for-a-person.csv")
    assert row["why_a_person"] == "no word on it is known to the model"


def test_evaluate_scores_and_draws_curves(work):
    done = run("evaluate", work / "out" / "model.safetensors", work / "test", "-o", work / "scores", *FAST)
    assert done.exit_code == 0, done.stderr
    scores = json.loads((work / "scores" / "scores.json").read_text())
    assert scores["predictions"] == N_TEST
    assert scores["accuracy"] > 0.4
    with Image.open(work / "scores" / "curves.png") as picture:
        assert picture.width > 300
    assert "accepted" in done.stdout


def test_evaluate_leaves_to_a_person_what_classify_does(work, tmp_path):
    """A mail of which one attachment cannot be read is never accepted; one that cannot be read has no class."""
    mail = tmp_path / "mail"
    mail.mkdir()
    names = [path.name for path in sorted((work / "test").glob("piece-*.pdf"))[:12]]
    for name in names:
        content = base64.b64encode((work / "test" / name).read_bytes()).decode()
        part = f"Content-Type: application/pdf; name={name}\nContent-Transfer-Encoding: base64\n\n{content}\n"
        bad = "Content-Type: application/zip; name=a.zip\nContent-Transfer-Encoding: base64\n\nUEsDBAAAAAA=\n"
        head = "Subject: papers\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n"
        (mail / f"{name}.eml").write_text(f"{head}--x\n{part}--x\n{bad}--x--\n")
    (mail / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    truth = {row["document"]: row["true_class"] for row in rows(work / "test" / "manifest.csv")}
    lines = [f"{name}.eml,{truth[name]}" for name in names]
    (mail / "manifest.csv").write_text("\n".join(["document,label", *lines, f"broken.pdf,{truth[names[0]]}"]))
    done = run("evaluate", work / "out" / "model.safetensors", mail, "-o", tmp_path / "out", *FAST)
    assert done.exit_code == 0, done.stderr
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert (scores["predictions"], scores["not_read"], scores["accepted"]) == (12, 1, 0)
    assert "1 document could not be read, and would be left to a person." in done.stdout


def test_entries_of_labeled_folders_that_are_no_documents_are_reported(work, tmp_path):
    mail = tmp_path / "mail"
    for k, path in enumerate(sorted((work / "train").glob("piece-*.pdf"))[:60]):
        place = mail / "ab"[k % 2]
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    (mail / "a" / "out.pdf").symlink_to("/etc/passwd")
    done = run("fit", mail, "-o", tmp_path / "out", "--precision", 0, *FAST)
    assert done.exit_code == 0, done.stderr
    assert [row["document"] for row in rows(tmp_path / "out" / "problems.csv")] == ["a/out.pdf"]
    assert "It accepts every answer." in done.stdout
    refused = run("classify", tmp_path / "out" / "model.safetensors", mail, "-o", tmp_path / "x", "--precision", 0.9,
        *FAST,
    )  # fmt: skip
    assert refused.exit_code == 2
    assert "needs a model with a reject option" in refused.stderr


def test_the_output_must_not_lie_in_the_folder_that_is_read(work, tmp_path, monkeypatch):
    monkeypatch.chdir(work / "test")
    for arguments in (("fit", "."), ("classify", work / "out" / "model.safetensors", ".")):
        done = run(*arguments, *FAST)
        assert done.exit_code == 2
        assert "-o must name a folder outside of FOLDER" in done.stderr
    assert not (work / "test" / "documents-output").exists()


HOSTILE_NAMES = ("%2f..%2fup.pdf", "-rf.pdf", "a'b;touch x.pdf", "<b>.pdf", "new\nline.pdf", "=1+1.pdf")


def test_nothing_is_written_outside_of_the_output_folder(work, tmp_path, monkeypatch):
    mail, output = tmp_path / "mail", tmp_path / "output"
    mail.mkdir()
    for name, path in zip(HOSTILE_NAMES, sorted((work / "test").glob("piece-*.pdf")), strict=False):
        shutil.copy(path, mail / name)
    monkeypatch.chdir(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for command in ("classify", "explain"):
        done = run(command, work / "out" / "model.safetensors", mail, "-o", output, *FAST)
        assert done.exit_code == 0, done.stderr
    pictures = list((output / "pictures").iterdir())
    assert len(pictures) == len(rows(output / "answers.csv")) == len(HOSTILE_NAMES)
    outside = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if not path.is_relative_to(output)}
    assert outside == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "{}/missing"), "must be a folder of documents. There is none."),
        (("fit", "{}/empty"), "There must be documents with classes: one folder per class, or manifest.csv."),
        (("classify", "{}/missing.safetensors", "{}/test"), "missing.safetensors"),
        (
            ("explain", "{}/out/model.safetensors", "{}/test", "-d", "other.pdf"),
            "unknown document, the first 'other.pdf'",
        ),
        (("generate", "{}/mail", "--formats", "docx"), "formats must be among"),
        (("fit", "{}/train", "--features", "words,color"), "must be some of words, grid, layout, types, each once."),
        (("fit", "{}/train", "--features", "words,words"), "must be some of words, grid, layout, types, each once."),
        (("fit", "{}/train", "--precision", "0", "--language", "xyz"), "There must be data for the language 'xyz'"),
    ],
)
def test_wrong_use_is_explained(work, tmp_path, arguments, message):
    (work / "empty").mkdir(exist_ok=True)
    given = [str(one).format(work) for one in arguments]
    output = () if given[0] == "generate" else ("-o", tmp_path)
    done = run(*given, *output)
    assert done.exit_code in (1, 2)
    assert message in done.stderr.replace("\n", " ")


def test_a_model_of_vectors_is_refused(work, tmp_path):
    from setrbm import ClassSetRBM
    from setrbm.datasets import load_musk1

    ClassSetRBM(max_epochs=1, random_state=0).fit(*load_musk1()).save(tmp_path / "musk.safetensors")
    done = run("classify", tmp_path / "musk.safetensors", work / "test", "-o", tmp_path)
    assert done.exit_code == 2
    assert "must be a model of documents" in done.stderr


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_the_page_of_a_report_escapes_what_senders_wrote(tmp_path):
    name = "<script>alert(1)</script>.pdf"
    answer = Answer(name, "<b>claim", 0.7, "not sure & <i>", 1, f"{name}, page 1", ["<u>"])
    picture = tmp_path / "pages" / f"{safe_name(name)}.png"
    report = Report("Mail <x>", {"a<": "b<"}, [answer], {name: picture}, {name: "<em>"})
    report.write(tmp_path / "report.html")
    parser = _Tags()
    parser.feed((tmp_path / "report.html").read_text(encoding="utf-8"))
    known = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "table", "tr", "th", "td", "div", "figure",
             "img", "figcaption", "b", "br", "mark"}  # fmt: skip
    assert {tag for tag, _ in parser.tags} <= known
    (source,) = [attributes["src"] for tag, attributes in parser.tags if tag == "img"]
    assert source.startswith("pages/")


def test_names_of_pictures_cannot_leave_their_folder():
    assert "/" not in safe_name("../../etc/passwd")
    assert safe_name("a b/\n<c>.pdf") == "a-b-c-.pdf"
    assert len(safe_name("x" * 500)) <= 60
