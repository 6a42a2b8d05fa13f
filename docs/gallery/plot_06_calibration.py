"""
Probabilities that mean what they say
=====================================

If a model says 90 %, is it right nine times in ten? A model trained on few sets is
usually too sure of itself. ``ClassSetRBMCV(calibrate=True)`` fits one number, a
temperature, to predictions for sets that the model did not learn from. It changes the
probabilities and never the predicted classes.
"""

# %%
# Few sets, noisy vectors
# -----------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from setrbm import ClassSetRBMCV
from setrbm.datasets import make_digit_sets


def make_noisy(n_sets, part, seed, noise=6.0):
    """Return sets of digits with noise added to every pixel."""
    bags, y = make_digit_sets(n_sets, part, random_state=seed)
    rng = np.random.default_rng(seed)
    return bags.with_vectors(bags.X + rng.normal(0.0, noise, bags.X.shape)), y


train, y_train = make_noisy(150, "train", seed=0)
test, y_test = make_noisy(3000, "test", seed=1)

# %%
# With and without calibration
# ----------------------------
# Calibration trains the chosen model several more times, each time without a part of
# the sets, so it takes longer.

plain = ClassSetRBMCV(max_epochs=200, random_state=0).fit(train, y_train)
calibrated = ClassSetRBMCV(max_epochs=200, calibrate=True, random_state=0).fit(
    train, y_train
)
print(
    f"temperature {calibrated.calibration_temperature_:.2f}; "
    "above 1 means that the model was too sure"
)
for name, model in (("plain", plain), ("calibrated", calibrated)):
    p = model.predict_proba(test)
    print(
        f"{name:11} accuracy {model.score(test, y_test):.3f}, "
        f"mean confidence {p.max(axis=1).mean():.3f}, "
        f"log loss {log_loss(y_test, p):.3f}"
    )

# %%
# The accuracy is the same, and the mean confidence is now close to it.
#
# Reliability
# -----------
# Test sets are grouped by the probability of their predicted class. A group that lies
# on the diagonal is right as often as it claims. Below the diagonal the model claims
# too much. The size of a mark shows how many sets are in the group.


def reliability(model):
    """Return mean confidence, accuracy and size of each group of test sets."""
    p = model.predict_proba(test)
    confidence, right = p.max(axis=1), model.predict(test) == y_test
    group = np.digitize(confidence, np.arange(0.4, 1.0, 0.1))
    return np.array(
        [
            [
                confidence[group == g].mean(),
                right[group == g].mean(),
                np.sum(group == g),
            ]
            for g in set(group)
        ]
    )


figure, panels = plt.subplots(
    1, 2, figsize=(7.5, 4.3), sharey=True, layout="constrained"
)
for axes, title, model, color in zip(
    panels,
    ("plain", "calibrated"),
    (plain, calibrated),
    ("#D55E00", "#0072B2"),
    strict=True,
):
    confidence, accuracy, size = reliability(model).T
    axes.plot([1 / 3, 1], [1 / 3, 1], color="gray", linestyle=":")
    axes.plot(confidence, accuracy, color=color)
    axes.scatter(confidence, accuracy, s=size / 4, color=color)
    axes.set(title=title, xlabel="probability of the predicted class", aspect="equal")
    axes.set(xlim=(0.3, 1.05), ylim=(0.3, 1.05))
panels[0].set_ylabel("share that is right")
plt.show()
