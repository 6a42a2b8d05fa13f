"""``setrbm fit``: the model that it writes, the summary, and the columns that it reads."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from command_line import QUICK, answer, run, saved, sets
from setrbm import ClassSetRBMCV, load
from setrbm.datasets.files import read_sets, write_csv


def test_a_fitted_file_holds_the_model_the_library_would_fit(work, tmp_path):
    options = (*QUICK, "--engine", "reference", "--constraint", "or", "--seed", "3")
    told = answer("fit", work / "data.csv", tmp_path / "model.safetensors", *options)
    bags, y = read_sets(work / "data.csv")
    model = ClassSetRBMCV(
        n_hidden=4, learning_rate=0.1, max_epochs=40, constraint="or", engine="reference", random_state=3
    ).fit(bags, y)
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").W_, model.W_)
    assert told["sets"] == 20
    assert told["vectors"] == bags.n_vectors
    assert told["classes"] == [{"label": "no", "sets": 10}, {"label": "yes", "sets": 10}]
    assert told["chosen"] == model.best_params_
    assert told["settings"]["constraint"] == "or"
    assert told["epochs"] == model.best_epoch_
    assert told["mean_negative_log_p"] == -model.best_score_


@pytest.mark.parametrize("pooling", ["hard", "mean", "mixed"])
@pytest.mark.parametrize("scale", ["auto", "center", "standardize"])
def test_pooling_and_scale_are_those_of_the_library(work, tmp_path, pooling, scale):
    options = ("--pooling", pooling, "--scale", scale, "--seed", "3")
    answer("fit", work / "data.csv", tmp_path / "model.safetensors", *QUICK, *options)
    fitted = load(tmp_path / "model.safetensors")
    bags, y = read_sets(work / "data.csv")
    settings = {"n_hidden": 4, "learning_rate": 0.1, "max_epochs": 40, "engine": "cpu", "random_state": 3}
    model = ClassSetRBMCV(pooling=pooling, scale=scale, **settings).fit(bags, y)
    np.testing.assert_array_equal(fitted.W_, model.W_)
    assert (fitted.pooling, fitted.scale) == (pooling, scale)


def test_several_learning_rates_are_chosen_from(work, tmp_path):
    rates = ("--learning-rate", "0.05", "--learning-rate", "0.2")
    told = answer("fit", work / "data.csv", tmp_path / "m.safetensors", *QUICK, *rates)
    assert told["candidates"] == 6
    assert told["chosen"]["learning_rate"] in (0.05, 0.1, 0.2)


def test_the_summary_of_a_fit_names_what_was_learned(work, tmp_path):
    shown = run("fit", work / "data.csv", tmp_path / "m.safetensors", *QUICK).stdout
    assert "sets       20, with" in shown
    assert "classes    2: no (10), yes (10)" in shown
    assert "mean -log p on held-out sets" in shown
    assert str(tmp_path / "m.safetensors") in shown


def test_columns_may_have_other_names(work, tmp_path):
    write_csv(tmp_path / "data.csv", *sets(), bag="molecule", label="musk")
    named = ("--bag", "molecule", "--label", "musk")
    told = answer("fit", tmp_path / "data.csv", tmp_path / "m.safetensors", *QUICK, *named)
    assert told["features"] == 3
    shown = run("predict", tmp_path / "m.safetensors", tmp_path / "data.csv", *named).stdout
    assert shown.startswith("molecule,musk,probability\nset0,")


def test_columns_can_be_ignored_and_the_model_remembers_its_features(work, tmp_path):
    bags, y = sets()
    rows = list(csv.reader((work / "data.csv").read_text().splitlines()))
    noted = [[*row, "note" if i == 0 else "some words", "row" if i == 0 else str(i)] for i, row in enumerate(rows)]
    data = saved(tmp_path, "".join(",".join(row) + "\n" for row in noted))
    refused = run("fit", data, tmp_path / "m", *QUICK)
    assert refused.exit_code == 1
    assert "Got 'some words' in line 2, column 'note'" in refused.stderr
    assert "--ignore on the command line" in refused.stderr
    ignored = ("--ignore", "note", "--ignore", "row")
    assert answer("fit", data, tmp_path / "m", *QUICK, *ignored)["features"] == 3
    np.testing.assert_array_equal(load(tmp_path / "m").W_, load(work / "model.safetensors").W_)
    # The same columns may be named again, but need not be, and may be missing.
    expected = run("predict", work / "model.safetensors", work / "data.csv").stdout
    for command in ((data,), (data, *ignored), (work / "data.csv", *ignored)):
        assert run("predict", tmp_path / "m", *command).stdout == expected
        assert run("explain", tmp_path / "m", *command).exit_code == 0
        assert run("evaluate", command[0], "--model", tmp_path / "m", *command[1:]).exit_code == 0
    cross_validated = ("evaluate", data, "--folds", "2", *QUICK)
    assert run(*cross_validated).exit_code == 1
    assert answer(*cross_validated, *ignored)["predictions"] == len(y) == len(bags)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--bag", "label"), "--bag and --label must name two columns. Got 'label' for both."),
        (("--ignore", "bag"), "--ignore must not name the bag column. Got 'bag'."),
        (("--ignore", "label"), "--ignore must not name the label column. Got 'label'."),
    ],
)
def test_a_column_cannot_be_two_things(work, tmp_path, options, message):
    model, data = work / "model.safetensors", work / "data.csv"
    for command in (
        ("fit", data, tmp_path / "m"),
        ("evaluate", data),
        ("predict", model, data),
        ("explain", model, data),
    ):
        result = run(*command, *options)
        assert result.exit_code == 2
        assert result.stderr == f"Error: {message}\n"
    refused = run("predict", model, data, "--ignore", "size").stderr
    assert "Columns to ignore must not be features of the model. Got 'size'." in refused
