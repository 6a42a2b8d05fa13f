"""Scores of predictions, against those of scikit-learn."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.metrics import balanced_accuracy_score, classification_report, confusion_matrix, log_loss, roc_auc_score

from setrbm.evaluation.scores import Predictions, all_scores, roc_auc


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_roc_auc_and_balanced_accuracy_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(n_classes)
    p = rng.dirichlet(np.ones(n_classes), size=60)
    truth = rng.integers(n_classes, size=60)
    told = all_scores(Predictions(np.arange(n_classes), truth, np.log(p), [20, 60]))
    parts = [slice(0, 60), slice(0, 20), slice(20, 60)]
    auc = [
        roc_auc_score(truth[part], p[part, 1] if n_classes == 2 else p[part], multi_class="ovr", average="macro")
        for part in parts
    ]
    np.testing.assert_allclose([told["roc_auc"], *told["roc_auc_by_fold"]], auc, rtol=1e-12)
    assert told["mean_roc_auc_of_folds"] == pytest.approx(np.mean(auc[1:]))
    balanced = [balanced_accuracy_score(truth[part], p[part].argmax(axis=1)) for part in parts]
    np.testing.assert_allclose([told["balanced_accuracy"], *told["balanced_accuracy_by_fold"]], balanced, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_scores_of_classes_and_of_all_sets_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    classes = np.array(["a", "b", "c"])
    p, truth = rng.dirichlet(np.ones(3), size=40), rng.integers(3, size=40)
    predicted = p.argmax(axis=1)
    told = all_scores(Predictions(classes, truth, np.log(p), []))
    assert (told["predictions"], told["right"]) == (40, (predicted == truth).sum())
    assert told["mean_negative_log_p"] == pytest.approx(log_loss(truth, p))
    assert told["confusion"] == confusion_matrix(truth, predicted).tolist()
    report = classification_report(classes[truth], classes[predicted], output_dict=True)
    names = {"sets": "support", "precision": "precision", "recall": "recall", "f1": "f1-score"}
    for of_class in told["classes"]:
        expected = report[of_class["label"]]
        assert [of_class[ours] for ours in names] == pytest.approx([expected[theirs] for theirs in names.values()])
    assert told["accuracy"] == pytest.approx(report["accuracy"])
    # Without folds there is nothing to average.
    assert told["accuracy_by_fold"] == []
    assert told["mean_accuracy_of_folds"] is told["standard_deviation_of_folds"] is None


def test_the_spread_is_that_of_the_folds_and_a_class_that_one_fold_lacks_is_named():
    truth, log_p = np.array([0, 1, 1, 0, 0, 0]), np.log([[0.6, 0.4]] * 6)
    told = all_scores(Predictions(np.array(["no", "yes"]), truth, log_p, [2, 4, 6]))
    assert told["accuracy_by_fold"] == [0.5, 0.5, 1.0]
    assert told["mean_accuracy_of_folds"] == pytest.approx(2 / 3)
    assert told["standard_deviation_of_folds"] == pytest.approx(np.std([0.5, 0.5, 1.0], ddof=1))
    assert (told["roc_auc"], told["roc_auc_by_fold"]) == (0.5, [0.5, 0.5, None])
    assert told["mean_roc_auc_of_folds"] is None
    assert told["not_defined"] == "there is no set of class yes"


def test_roc_auc_keeps_apart_probabilities_that_round_to_one():
    log_p = log_softmax([[0.0, log_odds] for log_odds in (50.0, 60.0, 70.0, 80.0)], axis=1)
    assert (log_p[:, 1] == 0.0).all()
    assert roc_auc(Predictions(np.arange(2), np.array([0, 0, 1, 1]), log_p, [])) == 1.0
