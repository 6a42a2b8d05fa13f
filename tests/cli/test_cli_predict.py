"""``setrbm predict``: the predictions of the library, as a table, as JSON and in a file."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from command_line import QUICK, answer, run, saved, sets
from setrbm import Bags, ClassSetRBM, load
from setrbm.datasets.files import read_bags, write_csv


def test_predictions_are_those_of_the_library(work):
    model, bags = load(work / "model.safetensors"), read_bags(work / "data.csv")
    rows = list(
        csv.DictReader(run("predict", work / "model.safetensors", work / "data.csv", "--proba").stdout.splitlines())
    )
    p = model.predict_proba(bags)
    assert [row["bag"] for row in rows] == bags.ids.tolist()
    assert [row["label"] for row in rows] == model.predict(bags).tolist()
    np.testing.assert_allclose([[float(row["p_no"]), float(row["p_yes"])] for row in rows], p, rtol=1e-5)
    np.testing.assert_allclose([float(row["probability"]) for row in rows], p.max(axis=1), rtol=1e-5)


def test_predictions_as_json_hold_the_same(work):
    told = answer("predict", work / "model.safetensors", work / "data.csv", "--proba")
    p = load(work / "model.safetensors").predict_proba(read_bags(work / "data.csv"))
    assert [one["set"] for one in told["sets"]] == [f"set{k}" for k in range(20)]
    np.testing.assert_array_equal([list(one["probabilities"].values()) for one in told["sets"]], p)


def test_predictions_can_go_to_a_file_that_is_not_overwritten(work, tmp_path):
    out = tmp_path / "answers.csv"
    result = run("predict", work / "model.safetensors", work / "data.csv", "--output", out)
    assert result.stdout == ""
    assert result.stderr == f"Wrote the classes of 20 sets to {out}.\n"
    assert out.read_text() == run("predict", work / "model.safetensors", work / "data.csv").stdout
    assert run("predict", work / "model.safetensors", work / "data.csv", "--output", out).exit_code == 2
    assert run("predict", work / "model.safetensors", work / "data.csv", "--output", out, "--force").exit_code == 0


def test_features_are_found_by_name_whatever_else_the_file_holds(work, tmp_path):
    bags, _ = sets()
    order = [2, 0, 1]
    shuffled = Bags(bags.X[:, order], bags.offsets, bags.ids, bags.feature_names[order])
    write_csv(tmp_path / "new.csv", shuffled, np.repeat("unknown", 20), label="remark")
    new = run("predict", work / "model.safetensors", tmp_path / "new.csv")
    assert new.stdout == run("predict", work / "model.safetensors", work / "data.csv").stdout


def test_what_lies_outside_the_range_of_training_is_counted_on_request(work, tmp_path):
    bags, _ = sets()
    X = bags.X.copy()
    X[0, 0], X[1, 0], X[-1, 2] = 99.0, -99.0, 99.0
    big = Bags(np.vstack([X, X[:9]]), [*bags.offsets, len(X) + 9], [*bags.ids, "big"], bags.feature_names)
    write_csv(tmp_path / "new.csv", big)
    predict = ("predict", work / "model.safetensors", tmp_path / "new.csv")
    told = answer(*predict, "--check-range")["range"]
    assert told["values"] == big.X.size
    # The first two rows are in the last set once more.
    assert told["values_outside"] == 5
    assert told["sets_with_values_outside"] == 3
    assert told["values_outside_by_feature"] == {"size": 4, "color": 1}
    assert (told["largest_set_in_training"], told["larger_sets"]) == (int(bags.sizes.max()), 1)
    result = run(*predict, "--check-range")
    assert result.stdout == run(*predict).stdout
    assert result.stderr == (
        f"Outside the range seen in training: 5 of {big.X.size} values, in 3 sets (size: 4, color: 1); 1 set with more "
        f"than {bags.sizes.max()} vectors, the most in training.\n"
    )
    inside = run("predict", work / "model.safetensors", work / "data.csv", "--check-range").stderr
    assert inside.startswith(f"Outside the range seen in training: 0 of {bags.X.size} values; 0 sets with more than")


def test_a_model_that_keeps_no_range_is_refused(work, tmp_path):
    assert run("fit", work / "data.csv", tmp_path / "m", *QUICK, "--scale", "none").exit_code == 0
    result = run("predict", tmp_path / "m", work / "data.csv", "--check-range")
    assert result.exit_code == 2
    assert "--check-range needs a classifier fitted with --scale auto" in result.stderr


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("0", "x"), ("01", "02")])
def test_labels_come_out_as_they_went_in(tmp_path, labels):
    bags, y = sets(labels=labels)
    write_csv(tmp_path / "data.csv", bags, y)
    assert run("fit", tmp_path / "data.csv", tmp_path / "m", *QUICK).exit_code == 0
    shown = run("predict", tmp_path / "m", tmp_path / "data.csv").stdout.splitlines()[1:]
    assert {line.split(",")[1] for line in shown} == {str(label) for label in labels}
    # One class alone may be written as integers where the model knows text.
    write_csv(tmp_path / "one.csv", bags[:1], y[:1])
    assert answer("evaluate", tmp_path / "one.csv", "--model", tmp_path / "m")["predictions"] == 1


def test_svmlight_files_with_fewer_features_than_the_model_are_read(tmp_path):
    (tmp_path / "train.svm").write_text("\n".join(f"{k % 2} qid:{k} {1 + k % 2}:1 3:{k / 20}" for k in range(12)))
    assert run("fit", tmp_path / "train.svm", tmp_path / "m", *QUICK).exit_code == 0
    (tmp_path / "new.svm").write_text("0 qid:5 1:1\n1 qid:6 2:1\n")
    told = answer("predict", tmp_path / "m", tmp_path / "new.svm")
    assert [one["set"] for one in told["sets"]] == [5, 6]
    (tmp_path / "wide.svm").write_text("0 qid:1 9:1\n")
    result = run("predict", tmp_path / "m", tmp_path / "wide.svm")
    assert result.exit_code == 1
    assert "Feature numbers must be below 4, the number of features. Got 9 in line 1" in result.stderr


@pytest.mark.parametrize("labels", [[0.0, 1.0], [0, 1]])
def test_labels_that_are_numbers_are_compared_by_value(tmp_path, labels):
    bags, y = sets(labels=labels)
    ClassSetRBM(2, max_epochs=2, random_state=0).fit(bags, y).save(tmp_path / "m")
    for name, written in (("integers", y.astype(int)), ("decimals", [f"{label:.1f}" for label in y])):
        write_csv(tmp_path / f"{name}.csv", bags, written)
        told = answer("evaluate", tmp_path / f"{name}.csv", "--model", tmp_path / "m")
        assert told["predictions"] == len(bags)
        assert [one["label"] for one in told["classes"]] == labels
        for asked in ("1", "1.0"):
            told = answer("explain", tmp_path / "m", tmp_path / f"{name}.csv", "--class", asked)
            assert told["sets"][0]["explained"] == labels[1]


def test_labels_that_are_texts_are_compared_as_texts(tmp_path):
    bags, y = sets(labels=["07", "7x"])
    ClassSetRBM(2, max_epochs=2, random_state=0).fit(bags, y).save(tmp_path / "m")
    write_csv(tmp_path / "data.csv", bags)
    result = run("explain", tmp_path / "m", tmp_path / "data.csv", "--class", "7")
    assert result.exit_code == 2
    assert "--class must name a class the model has learned: 07, 7x. Got '7'." in result.stderr


def test_a_file_with_another_number_of_features_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, "".join(f"{k % 2} qid:{k} 1:{k / 9}\n" for k in range(6)), "a.svm")
    assert run("fit", "a.svm", "m", *QUICK).exit_code == 0
    saved(tmp_path, "bag,x,y,z\n1,1,2,3\n")
    result = run("predict", "m", "data.csv")
    assert result.exit_code == 1
    assert "'data.csv' must have 2 feature columns, as many as the model has features. Got 3." in result.stderr
    assert run("predict", "m", "data.csv", "--ignore", "z").exit_code == 0


def test_a_model_that_cannot_explain_is_refused_by_its_name(work, tmp_path):
    from setrbm.estimators import MaxOutClassifier

    bags, y = sets()
    MaxOutClassifier(max_epochs=2, engine="reference", random_state=0).fit(bags, y).save(tmp_path / "m")
    result = run("explain", tmp_path / "m", work / "data.csv")
    assert result.exit_code == 1
    assert "setrbm explain needs a model with the method explain." in result.stderr
    assert "holds a MaxOutClassifier, which has no such method." in result.stderr


def test_a_file_that_is_no_model_is_refused(work):
    result = run("predict", work / "data.csv", work / "data.csv")
    assert result.exit_code == 1
    assert "must be a model file" in result.stderr


def test_a_feature_cannot_be_the_bag_column(work):
    name = load(work / "model.safetensors").feature_names_in_[0]
    result = run("predict", work / "model.safetensors", work / "data.csv", "--bag", name)
    assert result.exit_code == 1
    assert f"The bag column must not be a feature of the model. Got '{name}'. Name another column" in result.stderr
