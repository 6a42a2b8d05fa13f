"""What a fitted model offers: predictions, samples, features, decisions."""

import numpy as np
import pytest
from scipy.special import logsumexp

from fitting import easy
from setrbm import ClassSetRBM, ClassSetRBMCV
from setrbm.energy import free_energy
from setrbm.estimators import MaxOutClassifier


def test_assigned_letters_change_predictions():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=2, scale=None, pooling="soft", random_state=0).fit(bags, y)
    model.W_ = model.W_ * 0.0
    model.U_ = np.zeros((5, 2))
    model.d_ = np.array([0.0, np.log(3.0)])
    np.testing.assert_allclose(model.predict_proba(bags), np.tile([0.25, 0.75], (40, 1)), rtol=1e-12)
    model.U_[0, 0] = 5.0
    expected = free_energy(bags.X, bags.offsets, model._params(), "xor", "soft")
    np.testing.assert_allclose(model.free_energy(bags), expected, rtol=1e-12)
    model.d_ = np.zeros(3)
    with pytest.raises(ValueError, match=r"d_ must have shape \(2,\). Got \(3,\)"):
        model.predict(bags)


def test_samples_have_the_asked_sizes_the_units_of_the_data_and_known_labels():
    bags, y = easy(60, low=-5.0, high=3.0)
    labels = np.array(["no", "yes"])[y]
    model = ClassSetRBM(20, objective="generative", generative_learning_rate=0.01, random_state=0).fit(bags, labels)
    drawn, classes = model.sample([1, 4, 2] * 20, n_steps=50, random_state=0)
    assert drawn.sizes.tolist() == [1, 4, 2] * 20
    assert set(classes) <= {"no", "yes"}
    assert drawn.X.min() >= bags.X.min()
    assert drawn.X.max() <= bags.X.max()
    again, _ = model.sample([1, 4, 2] * 20, n_steps=50, random_state=0)
    np.testing.assert_array_equal(drawn.X, again.X)
    with pytest.raises(ValueError, match="sizes must be positive integers"):
        model.sample([0, 2])


def test_hidden_probabilities_have_one_row_per_vector():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=2, random_state=0).fit(bags, y)
    h = model.hidden_probabilities(bags, y)
    assert h.shape == (bags.n_vectors, 5)
    # Under xor at most one copy of a unit is on.
    assert (np.add.reduceat(h, bags.offsets[:-1]) <= 1 + 1e-12).all()


def test_only_soft_pooling_has_a_joint_distribution():
    bags, y = easy()
    model = ClassSetRBM(5, max_epochs=2).fit(bags, y)
    with pytest.raises(ValueError, match="log_joint needs pooling='soft' or 'mean'"):
        model.log_joint(bags)
    soft = ClassSetRBM(5, pooling="soft", max_epochs=2).fit(bags, y)
    joint = soft.log_joint(bags)
    np.testing.assert_allclose(
        joint - joint[:, [0]], -(soft.free_energy(bags) - soft.free_energy(bags)[:, [0]]), rtol=0, atol=1e-9
    )


def test_settings_changed_after_a_fit_do_not_change_its_predictions():
    bags, y = easy()
    model = ClassSetRBM(5, constraint="xor", max_epochs=3, random_state=0).fit(bags, y)
    before = model.predict_proba(bags)
    model.set_params(constraint="or", pooling="soft")
    np.testing.assert_array_equal(model.predict_proba(bags), before)
    assert (model.settings_.constraint, model.settings_.pooling) == ("xor", "hard")


@pytest.mark.parametrize("estimator", [ClassSetRBM(5, max_epochs=3), ClassSetRBMCV(5, max_epochs=3)], ids=["one", "cv"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_log_odds_or_minus_the_free_energies(estimator, n_classes):
    bags, _ = easy(30)
    model = estimator.set_params(random_state=0).fit(bags, np.arange(30) % n_classes)
    decisions, log_p = model.decision_function(bags), model.predict_log_proba(bags)
    if n_classes == 2:
        np.testing.assert_allclose(decisions, log_p[:, 1] - log_p[:, 0], rtol=1e-9, atol=1e-12)
        assert ((decisions > 0) == (model.predict(bags) == 1)).all()
    else:
        np.testing.assert_allclose(decisions, -model.free_energy(bags) / model.temperature_, rtol=1e-12)
        np.testing.assert_allclose(decisions - logsumexp(decisions, axis=1, keepdims=True), log_p, rtol=1e-9)


@pytest.mark.parametrize("unit", ["rbm", "mlp", "logit"])
def test_decisions_of_max_out_classifiers_are_log_odds(unit):
    bags, y = easy(30)
    model = MaxOutClassifier(unit, n_hidden=5, max_epochs=3, random_state=0).fit(bags, y)
    log_p = model.predict_log_proba(bags)
    np.testing.assert_allclose(model.decision_function(bags), log_p[:, 1] - log_p[:, 0], rtol=1e-9, atol=1e-12)
