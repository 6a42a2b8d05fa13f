"""``setrbm evaluate``: scores of a model and of a cross-validation."""

from __future__ import annotations

import numpy as np
import pytest

from command_line import QUICK, answer, run, sets
from setrbm import ClassSetRBMCV, load
from setrbm.datasets.files import write_csv


def test_a_model_is_scored_as_scikit_learn_would(work, tmp_path):
    from sklearn.metrics import (
        accuracy_score,
        balanced_accuracy_score,
        confusion_matrix,
        log_loss,
        recall_score,
        roc_auc_score,
    )  # fmt: skip

    bags, y = sets(seed=5)
    # Some labels are wrong, more of one class than of the other, so that no score is that of a perfect model.
    y = np.where(np.isin(np.arange(20), [0, 3, 6, 10, 14]), y[::-1], y)
    write_csv(tmp_path / "test.csv", bags, y)
    told = answer("evaluate", tmp_path / "test.csv", "--model", work / "model.safetensors")
    model = load(work / "model.safetensors")
    predicted = model.predict(bags)
    assert told["accuracy"] == accuracy_score(y, predicted)
    assert told["mean_negative_log_p"] == pytest.approx(log_loss(y, model.predict_proba(bags)))
    assert told["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert told["roc_auc"] == pytest.approx(roc_auc_score(y == "yes", model.predict_log_proba(bags)[:, 1]))
    assert 0.5 < told["roc_auc"] < 1.0
    assert told["confusion"] == confusion_matrix(y, predicted).tolist()
    assert [c["recall"] for c in told["classes"]] == recall_score(y, predicted, average=None).tolist()
    assert told["accuracy_by_fold"] == []
    shown = run("evaluate", tmp_path / "test.csv", "--model", work / "model.safetensors").stdout
    assert f"accuracy            {100 * told['accuracy']:.1f} %" in shown
    assert f"balanced accuracy   {100 * told['balanced_accuracy']:.1f} %\n" in shown
    assert f"ROC AUC             {told['roc_auc']:.4f}\n" in shown
    assert "is \\ predicted" in shown


def test_cross_validation_predicts_each_set_once_a_repeat_by_models_that_never_saw_it(work, monkeypatch):
    seen = []
    fit = ClassSetRBMCV.fit

    def noted(self, X, y, sample_weight=None):
        seen.append(set(X.ids.tolist()))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(ClassSetRBMCV, "fit", noted)
    told = answer("evaluate", work / "data.csv", "--folds", "4", "--repeats", "2", *QUICK)
    assert told["predictions"] == 40
    assert len(told["accuracy_by_fold"]) == len(seen) == 8
    assert told["mean_accuracy_of_folds"] == pytest.approx(np.mean(told["accuracy_by_fold"]))
    everything = {f"set{k}" for k in range(20)}
    for repeat in (seen[:4], seen[4:]):
        tested = [everything - learned for learned in repeat]
        assert sum(map(len, tested)) == 20
        assert set.union(*tested) == everything


def test_the_roc_auc_of_a_cross_validation_is_the_mean_of_its_folds(tmp_path):
    from sklearn.metrics import roc_auc_score

    from setrbm.evaluation.splits import repeated_folds

    bags, y = sets()
    bags = bags.with_vectors(np.random.default_rng(0).random(bags.X.shape))
    write_csv(tmp_path / "data.csv", bags, y)
    asked = ("evaluate", tmp_path / "data.csv", "--folds", "2", *QUICK)
    told = answer(*asked)
    model = ClassSetRBMCV(4, learning_rate=0.1, max_epochs=40, engine="cpu", random_state=0)
    expected = []
    for split in repeated_folds(y, folds=2, repeats=1, seed=0):
        fitted = model.fit(bags[split.train], y[split.train])
        expected.append(roc_auc_score(y[split.test] == "yes", fitted.predict_log_proba(bags[split.test])[:, 1]))
    assert told["roc_auc_by_fold"] == pytest.approx(expected)
    assert len({*expected, 1.0}) == 3
    assert f"ROC AUC             {np.mean(expected):.4f}, mean of 2 folds\n" in run(*asked).stdout


def test_roc_auc_is_not_defined_where_a_class_does_not_occur(work, tmp_path):
    bags, y = sets()
    write_csv(tmp_path / "test.csv", bags[y == "no"], y[y == "no"])
    scored = ("evaluate", tmp_path / "test.csv", "--model", work / "model.safetensors")
    told = answer(*scored)
    assert told["roc_auc"] is None
    assert told["balanced_accuracy"] == told["accuracy"]
    assert "ROC AUC             not defined: there is no set of class yes\n" in run(*scored).stdout


def test_folds_that_a_class_cannot_fill_are_refused_with_the_most_there_can_be(work):
    result = run("evaluate", work / "data.csv", "--folds", "11")
    assert result.exit_code == 2
    assert "Got 10 of class no. Use --folds 10." in result.stderr


def test_settings_of_training_go_with_cross_validation_only(work):
    result = run("evaluate", work / "data.csv", "--model", work / "model.safetensors", "--learning-rate", "0.1")
    assert result.exit_code == 2
    assert "--learning-rate is for cross-validation" in result.stderr


def test_a_label_the_model_never_learned_is_refused(work, tmp_path):
    bags, y = sets(labels=("no", "maybe"))
    write_csv(tmp_path / "test.csv", bags, y)
    result = run("evaluate", tmp_path / "test.csv", "--model", work / "model.safetensors")
    assert result.exit_code == 1
    assert f"Column 'label' of {str(tmp_path / 'test.csv')!r} must hold classes the model has learned: no, yes. " in (
        result.stderr
    )
    assert "Got maybe for set set1." in result.stderr
