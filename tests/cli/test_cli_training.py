"""The options that change what is learned, and data that nothing can be learned from."""

from __future__ import annotations

from typing import get_args, get_type_hints

import numpy as np
import pytest

from command_line import QUICK, run, saved
from setrbm import ClassSetRBMCV, load
from setrbm.datasets.files import read_sets


def test_the_defaults_shown_in_help_are_those_of_the_estimator():
    from setrbm.cli._training import TrainingOptions

    defaults = ClassSetRBMCV().get_params()
    hints = get_type_hints(TrainingOptions, include_extras=True)
    for option, name in (
        ("constraint", "constraint"),
        ("pooling", "pooling"),
        ("objective", "objective"),
        ("hidden", "n_hidden"),
        ("learning_rate", "learning_rate"),
        ("epochs", "max_epochs"),
    ):
        assert hints[option].__metadata__[0].show_default == str(defaults[name]).strip("()")


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        (("balanced",), "balanced"),
        (("yes=3",), {"yes": 3.0}),
        (("no=0.5", "yes=2"), {"no": 0.5, "yes": 2.0}),
    ],
)
def test_class_weights_are_those_of_the_library(work, tmp_path, given, weights):
    options = [part for one in given for part in ("--class-weight", one)]
    assert run("fit", work / "data.csv", tmp_path / "m", *QUICK, *options).exit_code == 0
    bags, y = read_sets(work / "data.csv")
    model = ClassSetRBMCV(
        n_hidden=4, learning_rate=0.1, max_epochs=40, class_weight=weights, engine="cpu", random_state=0
    ).fit(bags, y)
    np.testing.assert_array_equal(load(tmp_path / "m").W_, model.W_)
    assert load(tmp_path / "m").class_weight == weights


def test_classes_that_are_numbers_or_hold_an_equals_sign_can_be_weighted():
    from setrbm.cli._training import class_weights

    assert class_weights(["1=3"], np.array([0, 1])) == {1: 3.0}
    assert class_weights(["a=b=3"], np.array(["a=b", "c"])) == {"a=b": 3.0}
    assert class_weights(None, np.array([0, 1])) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("heavy",), "--class-weight must be 'balanced' alone, or CLASS=WEIGHT with a positive number. Got 'heavy'."),
        (("yes=0",), "with a positive number. Got 'yes=0'."),
        (("yes=nan",), "with a positive number. Got 'yes=nan'."),
        (("balanced", "yes=2"), "--class-weight must be 'balanced' alone, or CLASS=WEIGHT"),
        (("maybe=2",), "--class-weight must name a class of the data: no, yes. Got 'maybe'."),
        (("yes=2", "yes=3"), "--class-weight must be given once for each class. Got class yes twice."),
    ],
)
def test_class_weights_that_mean_nothing_are_refused(work, tmp_path, given, message):
    options = [part for one in given for part in ("--class-weight", one)]
    for command in (("fit", work / "data.csv", tmp_path / "m"), ("evaluate", work / "data.csv")):
        result = run(*command, *options)
        assert result.exit_code == 2
        assert message in result.stderr


def test_scaling_can_be_left_out(work, tmp_path):
    assert run("fit", work / "data.csv", tmp_path / "m", *QUICK, "--scale", "none").exit_code == 0
    assert load(tmp_path / "m").scale is None
    assert load(work / "model.safetensors").scale == "auto"


ROWS = "bag,label,x,price\n" + "".join(f"s{k},{'ab'[k % 2]},{k / 40},{k}\n" for k in range(40))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "bag,kind,x\n1,a,1\n2,a,2\n",
            ("--label", "kind"),
            "Column 'kind' of 'data.csv' must have at least two classes. Got one: a for all 2 sets.",
        ),
        (
            "bag,label,x\n7,1,1\n8,2.5,2\n",
            (),
            "Column 'label' of 'data.csv' must have classes. Got numbers with decimals, the first 2.5 for set 8.",
        ),
        (
            ROWS,
            ("--objective", "generative", "--scale", "none"),
            "--objective generative needs values from 0 to 1 with --scale none. Got 38 other values in 'data.csv', the "
            "first in column 'price', set s2. Use --objective discriminative, or --scale auto.",
        ),
        (
            ROWS,
            ("--learning-rate", "1e9", "--scale", "none", "--engine", "reference", "--epochs", "5"),
            "Training diverged with --learning-rate 1e+09. Use a smaller one, or --scale auto.",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_named_by_column_set_and_option(tmp_path, monkeypatch, text, options, message):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, text)
    for command in (("fit", "data.csv", "m"), ("evaluate", "data.csv", "--folds", "2")):
        result = run(*command, *options)
        assert result.exit_code == 1, result.stdout
        assert f"Error: {message}" in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_svmlight_file_has_labels_and_features_instead_of_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, "1 qid:1 1:2\n1 qid:2 2:-3\n", "a.svm")
    assert "The labels of 'a.svm' must have at least two classes." in run("fit", "a.svm", "m").stderr
    saved(tmp_path, "1 qid:1 1:2\n0 qid:2 2:-3\n", "a.svm")
    message = (
        "--objective hybrid needs values of 0 or more in a svmlight file. Got 1 other value in 'a.svm', the first in "
        "feature 2, set 2. Use --objective discriminative."
    )
    assert message in run("fit", "a.svm", "m", "--objective", "hybrid").stderr


@pytest.mark.filterwarnings("default")
def test_columns_that_say_little_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"s{k},{'ab'[k % 2]},{k / 160},{1e9 if k in (1, 80) else k}\n" for k in range(160))
    saved(tmp_path, "bag,label,x,price\n" + rows)
    result = run("evaluate", "data.csv", "--folds", "2", *QUICK, "--epochs", "2")
    assert result.exit_code == 0
    # Once, not for every fold.
    assert result.stderr.startswith("Note: In 1 of 2 features (the first: price) outliers leave")
    assert result.stderr.count("Note") == 1
    saved(tmp_path, "bag,label,x\n" + "".join(f"{k},{k % 2},7\n" for k in range(8)))
    assert "Note: Every feature is constant" in run("fit", "data.csv", "m", *QUICK).stderr


def test_engines_offered_are_those_there_are(work):
    from setrbm.cli._training import TrainingOptions
    from setrbm.engines import ENGINES

    assert set(get_args(get_type_hints(TrainingOptions)["engine"])) == {"auto", *ENGINES}


def test_probabilities_can_be_calibrated(work, tmp_path):
    assert run("fit", work / "data.csv", tmp_path / "m", *QUICK, "--calibrate").exit_code == 0
    assert load(tmp_path / "m").calibration_temperature_ != 1.0
