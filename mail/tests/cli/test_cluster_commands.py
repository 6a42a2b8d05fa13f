"""The commands with --cluster."""

import pytest
from test_cli_documents import run as command

from clusters import marks
from setrbm_mail.generate import generate_mail

pytestmark = marks


@pytest.fixture(scope="module")
def mail(tmp_path_factory):
    """Mail with text layers, a damaged file among it."""
    folder = tmp_path_factory.mktemp("mail")
    generate_mail(folder, 40, n_classes=3, pages_per_set=1.2, formats=("pdf", "eml"), born_digital=1.0)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    return folder


def test_documents_are_classified_on_a_cluster(mail, two, tmp_path):
    labels = {path.name: "ab"[k % 2] for k, path in enumerate(sorted(mail.glob("piece-*")))}
    manifest = tmp_path / "labels.csv"
    manifest.write_text("document,label\n" + "".join(f"{name},{label}\n" for name, label in labels.items()))
    options = ("--no-ocr", "--quiet", "-o", tmp_path / "out", "--cluster", two.scheduler.address)
    fitted = command("fit", mail, "--manifest", manifest, "--precision", "0.5", *options)
    assert fitted.exit_code == 0, fitted.stderr
    found = command("classify", tmp_path / "out" / "model.safetensors", mail, *options)
    assert found.exit_code == 0, found.stderr
    assert len((tmp_path / "out" / "answers.csv").read_text().splitlines()) == 42
    # Nothing was read twice.
    assert len(list((tmp_path / "out" / "read").iterdir())) == 41
