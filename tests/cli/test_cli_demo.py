"""``setrbm demo``: what it shows, and the files that it writes."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import answer, run
from setrbm import ClassSetRBMCV, load
from setrbm.datasets.files import read_bags, read_sets


def make_quick(patch):
    """Let the demo fit small models, briefly."""

    def new_model():
        return ClassSetRBMCV(n_hidden=10, learning_rate=0.1, init_scale=0.3, max_epochs=10, random_state=0)

    patch.setattr("setrbm.cli._digits.new_model", new_model)
    patch.setattr("setrbm.cli._molecules.new_model", new_model)
    patch.setattr("setrbm.cli._molecules.FOLDS", 2)


@pytest.fixture
def quick_demo(monkeypatch):
    make_quick(monkeypatch)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the demo shows, and its folder."""
    folder = tmp_path_factory.mktemp("shown") / "a folder"
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        result = run("demo", "--output", folder)
    assert result.exit_code == 0, result.stderr
    return result.stdout, folder


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The demo as JSON, with two cross-validations, and its folder."""
    folder = tmp_path_factory.mktemp("told")
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        return answer("demo", "--output", folder, "--repeats", "2"), folder


DEMO_FILES = {
    f"{name}{end}" for name in ("digits", "musk1") for end in (".safetensors", ".csv", "-test.csv", ".png")
}  # fmt: skip


def test_the_demo_writes_its_files_and_the_commands_it_names_work(shown):
    text, folder = shown
    assert "The paper reports 83.91 %" in text
    assert {path.name for path in folder.iterdir()} == DEMO_FILES
    for name in ("digits.png", "musk1.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    named = [line.strip() for line in text.splitlines() if line.strip().startswith("setrbm ")]
    assert len(named) == 4
    for line in named[:3]:
        done = run(*shlex.split(line)[1:])
        assert done.exit_code == 0, done.stderr
    assert "fit" in named[3]
    # It fits into the usual terminal; the commands at the end may be as long as the path is.
    assert max(len(line) for line in text.splitlines() if "setrbm " not in line and str(folder) not in line) <= 80


def test_the_demo_says_what_its_columns_mean(shown):
    text, _ = shown
    assert "drop: the most that log p of the class falls if one digit is left out." in text


def test_the_demo_as_json_holds_what_it_shows(told):
    document, folder = told
    musk = document["musk1"]
    assert len(musk["cross_validation"]["accuracy_by_fold"]) == 4
    assert musk["cross_validation"]["paper"] == 0.8391
    assert len(musk["molecules"]) == 12
    assert sum(molecule["label"] for molecule in musk["molecules"]) == 6
    assert all(Path(name).is_file() for name in musk["files"] + document["digits"]["files"])
    # The held-out molecules are those in the file, with the classes they have there.
    bags, y = read_sets(folder / "musk1-test.csv")
    assert [m["set"] for m in musk["molecules"]] == bags.ids.tolist()
    assert [m["label"] for m in musk["molecules"]] == y.tolist()


def test_the_demo_counts_how_often_the_planted_digit_decided(told):
    from setrbm.datasets import make_digit_sets

    document, folder = told
    digits = document["digits"]
    bags, y, planted = make_digit_sets(300, "test", random_state=0, return_evidence=True)
    model = load(folder / "digits.safetensors")
    assert digits["accuracy"] == (model.predict(bags) == y).mean()
    hits, chances = 0, []
    for k, part in enumerate(model.explain(bags)):
        inside = planted[bags.offsets[k] : bags.offsets[k + 1]]
        if inside.any():
            chances.append(1 / len(inside))
            strongest = part.drop.argmax()
            hits += bool(part.decided[strongest] and inside[strongest])
    assert digits["sets_with_the_digit"] == len(chances) == 200
    assert digits["decided_by_the_digit"] == hits
    assert digits["decided_by_chance"] == pytest.approx(np.mean(chances))
    assert [len(one["digits"]) for one in digits["sets"]] == bags.sizes[:6].tolist()
    for one in digits["sets"]:
        assert {"two": 2, "seven": 7}.get(one["label"], one["digits"][0]) in one["digits"]


def test_the_demo_shows_what_is_predicted_without_the_conformation_that_matters_most(shown):
    text, folder = shown
    model, bags = load(folder / "musk1.safetensors"), read_bags(folder / "musk1-test.csv")
    why, rows = model.explain(bags), re.findall(r"([01]\.\d{3}) +([01]\.\d{3}) +(\d+) of (\d+)", text)
    for X, one, strongest, row in zip(bags, why, why.strongest_vectors(), rows, strict=True):
        code = model.classes_.tolist().index(one.predicted[0])
        without = model.predict_proba([np.delete(X, strongest, axis=0)])[0, code]
        n_same = sum(model.predict(X[:, np.newaxis]) == one.predicted[0])
        p = model.predict_proba([X])[0, code]
        assert row == (f"{p:.3f}", f"{without:.3f}", str(n_same), str(len(X)))
    stable = sum(not one.decided.any() for one in why)
    assert f"{stable} of the 12 predictions stay the same whichever conformation is left out" in text


def test_the_demo_frames_the_digits_that_decided_and_no_others(quick_demo, tmp_path, monkeypatch):
    from setrbm.cli import _picture

    drawn, draw = [], _picture._draw_digit
    monkeypatch.setattr(_picture, "_draw_digit", lambda *all_of: (drawn.append(all_of[3]), draw(*all_of)))
    result = run("demo", "--output", tmp_path)
    decided = load(tmp_path / "digits.safetensors").explain(read_bags(tmp_path / "digits-test.csv")[:6]).decided
    assert drawn == decided.tolist()
    assert result.stdout.count("[") == decided.sum() > 0


def test_the_demo_without_matplotlib_says_how_to_get_it_and_goes_on(quick_demo, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 0
    assert result.stderr == "No pictures: they need matplotlib. Run: pip install 'setrbm[plot]'\n"
    assert {path.name for path in tmp_path.iterdir()} == {name for name in DEMO_FILES if not name.endswith(".png")}


def test_the_demo_leaves_no_folder_behind_when_it_is_stopped(quick_demo, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("setrbm.cli._molecules.cross_validate", interrupted)
    result = run("demo", "--output", tmp_path / "new")
    assert result.exit_code == 130
    assert not (tmp_path / "new").exists()


def test_the_demo_refuses_a_folder_that_cannot_be_written_to_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("setrbm.cli._digits.run", None)
    (tmp_path / "file").touch()
    result = run("demo", "--output", tmp_path / "file")
    assert result.exit_code == 2
    assert "must be a folder, or the name of a new one" in result.stderr
