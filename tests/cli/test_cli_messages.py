"""What the command line says to people who have mistyped, swapped or left out something."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from setrbm import Bags, ClassRBM, ClassSetRBM, save
from setrbm.cli import app
from setrbm.datasets import write_csv
from setrbm.engines.protocol import NoDeviceError
from setrbm.estimators import InputPooling, PerVector, SetSVC, SetSVCCV
from setrbm.tools.commands import in_words

COMMANDS = ("demo", "fit", "predict", "evaluate", "explain", "datasets")
RBM = {"n_hidden": 3, "max_epochs": 1, "random_state": 0, "engine": "reference"}


def run(*arguments, **settings):
    return CliRunner(**settings).invoke(app, [str(argument) for argument in arguments])


def made(n_sets=12):
    """Return sets of three vectors; the second class has larger values."""
    y = np.arange(n_sets) % 2
    X = np.random.default_rng(0).random((n_sets, 3, 2)) + y[:, np.newaxis, np.newaxis]
    return Bags.from_array(X, feature_names=["size", "shape"]), y


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with data, labeled, and a model fitted to them."""
    folder = tmp_path_factory.mktemp("work")
    write_csv(folder / "data.csv", *made())
    ClassSetRBM(**RBM).fit(*made()).save(folder / "model.safetensors")
    return folder


# --- help ---


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=str)
def test_help_shows_neither_the_type_of_flags_nor_braces(command):
    shown = run(*command, "--help", env={"COLUMNS": "200"}).stdout
    assert "--help" in shown
    assert "<bool>" not in shown
    assert "{" not in shown


def test_the_usage_names_the_arguments():
    assert re.search(r"Usage: \S+ predict \[OPTIONS\] MODEL DATA\b", run("predict", "--help").stdout)


@pytest.mark.parametrize(
    ("command", "told"), [("documents", "pip install . ./mail"), ("reproduce", "scripts/reproduce")]
)
def test_commands_that_moved_say_where(command, told):
    found = run(command, "fit", "--anything")
    assert found.exit_code == 2
    assert told in found.stderr


# --- options ---


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--hidden", "many", "it must be an integer. Got 'many'."),
        ("--hidden", "0", "it must be 1 or more. Got 0."),
        ("--seed", "4294967296", "it must be 4294967295 or less. Got 4294967296."),
        ("--learning-rate", "fast", "it must be a number. Got 'fast'."),
        ("--constraint", "nand", "'nand' is not one of 'xor', 'or'."),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_in_our_words(option, value, message):
    if message.startswith("it must be"):
        pytest.importorskip("typer", minversion="0.29", reason="typer before 0.29 has its own words")
    result = run("fit", "data.csv", "m", option, value, env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert f"Invalid value for '{option}': {message}" in result.stderr


# --- swapped arguments ---


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (("predict", "data.csv", "model.safetensors"), "setrbm predict model.safetensors data.csv"),
        (("explain", "data.csv", "model.safetensors"), "setrbm explain model.safetensors data.csv"),
        (("fit", "new.safetensors", "data.csv"), "setrbm fit data.csv new.safetensors"),
        (("predict", "new.jsonl", "model.safetensors"), "setrbm predict model.safetensors new.jsonl"),
        (
            ("evaluate", "model.safetensors", "--model", "data.csv"),
            "setrbm evaluate data.csv --model model.safetensors",
        ),
    ],
    ids=lambda words: words[0],
)
def test_swapped_arguments_are_named(work, monkeypatch, arguments, cure):
    monkeypatch.chdir(work)
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr == f"Error: MODEL and DATA are swapped. Use: {cure}.\n"


def test_a_model_instead_of_data_to_cross_validate_is_named(work, monkeypatch):
    monkeypatch.chdir(work)
    result = run("evaluate", "model.safetensors")
    assert result.exit_code == 2
    assert "Got the model 'model.safetensors'. Use: setrbm evaluate DATA --model model.safetensors." in result.stderr


@pytest.mark.parametrize("name", ["other.csv", "other.jsonl.gz"])
def test_a_data_file_is_not_overwritten_with_a_model_even_by_force(work, monkeypatch, name):
    monkeypatch.chdir(work)
    before = Path("data.csv").read_bytes()
    Path(name).write_bytes(before)
    result = run("fit", "data.csv", name, "--force")
    assert result.exit_code == 2
    assert f"MODEL must be a model file, such as model.safetensors. Got the data file '{name}'." in result.stderr
    assert Path(name).read_bytes() == before


# --- advice that fits the command ---


@pytest.mark.parametrize("kind", [NoDeviceError, ImportError, ValueError])
def test_the_engine_is_named_as_an_option(kind):
    assert (
        in_words(kind("engine='gpu' needs a GPU. Use engine='cpu'.")) == "--engine gpu needs a GPU. Use --engine cpu."
    )


@pytest.mark.parametrize(("cell", "cure"), [("", "Fill it in"), ("big", "Write it as a number")])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_feature_of_the_model_cannot_be_left_out(work, tmp_path, cell, cure, kind):
    data = pd.DataFrame({"bag": [1, 1], "size": ["0.5", cell], "shape": [1.0, 2.0]})
    if kind == "csv":
        data.to_csv(tmp_path / "new.csv", index=False)
    else:
        # Text is refused as a column there, a missing number by its place.
        if not cell:
            data["size"] = [0.5, None]
        data.to_parquet(tmp_path / "new.parquet")
        cure = cure if not cell else "Convert it to numbers"
    told = run("predict", work / "model.safetensors", tmp_path / f"new.{kind}")
    assert told.exit_code == 1
    assert told.stderr.endswith(f"{cure}: this feature is needed.\n")
    data["label"] = [0, 0]
    data.to_csv(tmp_path / "train.csv", index=False)
    assert "--ignore on the command line" in run("fit", tmp_path / "train.csv", tmp_path / "m").stderr


def test_one_set_is_not_called_all_sets(work, tmp_path):
    bags, y = made()
    write_csv(tmp_path / "one.csv", bags[:1], y[:1])
    assert "Got one: 0 for the only set." in run("fit", tmp_path / "one.csv", tmp_path / "m").stderr
    write_csv(tmp_path / "two.csv", bags[[0, 2]], y[[0, 2]])
    assert "Got one: 0 for all 2 sets." in run("fit", tmp_path / "two.csv", tmp_path / "m").stderr


@pytest.mark.parametrize(("name", "hint"), [("molecule", False), ("blah", False), ("bags", True)])
def test_only_a_name_that_is_like_another_gets_a_suggestion(work, name, hint):
    told = run("evaluate", work / "data.csv", "--bag", name).stderr
    assert ("the nearest is 'bag'" in told) == hint
    assert ("nearest" in told) == hint


def test_a_set_svc_without_probabilities_is_refused_with_the_cure(work, tmp_path):
    for model in (SetSVC(), make_pipeline(PerVector(StandardScaler()), SetSVC())):
        save(model.fit(*made()), tmp_path / "m")
        told = run("predict", tmp_path / "m", work / "data.csv").stderr
        assert told.endswith("which has no such method. Fit it with probability=True.\n")


# --- the range of other models ---


def moved():
    """Return the sets with one value far outside the range, and one set that is larger than any."""
    bags, _ = made()
    X = bags.X.copy()
    X[4, 1] = 99.0
    return Bags(np.vstack([X, X[:4]]), [*bags.offsets, len(X) + 4], feature_names=bags.feature_names)


@pytest.mark.parametrize(
    "model",
    [
        SetSVC(probability=True),
        SetSVCCV(C=1.0, probability=True),
        make_pipeline(PerVector(StandardScaler()), ClassSetRBM(**RBM)),
        make_pipeline(PerVector(StandardScaler()), SetSVC(probability=True)),
        Pipeline([("classify", ClassSetRBM(**RBM))]),
    ],
    ids=repr,
)
def test_the_range_is_checked_for_kernels_and_pipelines(work, tmp_path, model):
    save(model.fit(*made()), tmp_path / "m")
    write_csv(tmp_path / "new.csv", moved())
    told = run("predict", tmp_path / "m", tmp_path / "new.csv", "--check-range").stderr
    assert told == (
        "Outside the range seen in training: 1 of 80 values, in 1 set (shape: 1); 1 set with more than 3 vectors, the "
        "most in training.\n"
    )


def test_pooled_sets_have_no_sizes_to_compare(work, tmp_path):
    save(make_pipeline(InputPooling(["max"]), ClassRBM(**RBM)).fit(*made()), tmp_path / "m")
    write_csv(tmp_path / "new.csv", moved())
    told = run("predict", tmp_path / "m", tmp_path / "new.csv", "--check-range").stderr
    assert told == "Outside the range seen in training: 1 of 26 values, in 1 set (1: 1).\n"


def test_a_classifier_of_a_pipeline_that_keeps_no_range_is_named(work, tmp_path):
    save(make_pipeline(PerVector(StandardScaler()), SetSVC(scale=None, probability=True)).fit(*made()), tmp_path / "m")
    told = run("predict", tmp_path / "m", work / "data.csv", "--check-range")
    assert told.exit_code == 2
    assert "which keeps the range of each feature. The SetSVC of this file was fitted without." in told.stderr


def test_a_model_among_the_arguments_of_evaluate_gets_a_hint():
    result = run("evaluate", "data.csv", "m.safetensors")
    assert result.exit_code == 2
    words = " ".join(result.stderr.replace("│", " ").split())
    assert "Got one argument too many: m.safetensors. If it is a model, use --model m.safetensors." in words
    assert "extra argument" in run("fit", "a.csv", "m", "more").stderr
