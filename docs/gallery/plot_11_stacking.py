"""
A deeper model: features learned without labels
===============================================

Does it help to learn features of single vectors first, without labels, and to classify
sets of these features? The paper names such a deep architecture as future work.
``PerVector`` applies any transformer to the vectors of sets, so a ``BernoulliRBM`` of
scikit-learn before a ClassSetRBM takes one line.
"""

# %%
# The pipeline
# ------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from setrbm import ClassSetRBMCV
from setrbm.datasets import make_digit_sets
from setrbm.estimators import PerVector


def features():
    """Return a transformer of sets: pixels to [0, 1], then 100 features per vector."""
    rbm = BernoulliRBM(100, learning_rate=0.05, n_iter=20, random_state=0)
    return make_pipeline(PerVector(MinMaxScaler()), PerVector(rbm))


def classifier(scale):
    """Return the classifier of sets, the same for all."""
    return ClassSetRBMCV(scale=scale, max_epochs=100, n_fits=1, random_state=0)


# %%
# Learn features from many sets without labels
# --------------------------------------------
# Labels are often expensive while vectors are not. Here 600 sets have no labels.
# ``FrozenEstimator`` keeps the features as they are when the pipeline is trained on
# labeled sets.

unlabeled, _ = make_digit_sets(600, random_state=100)
learned = features().fit(unlabeled)
rbm = learned[-1].transformer_

figure, grid = plt.subplots(3, 8, figsize=(7.5, 3.0), layout="constrained")
for axes, weights in zip(grid.flat, rbm.components_, strict=False):
    most = np.abs(weights).max()
    axes.imshow(weights.reshape(8, 8), cmap="PuOr_r", vmin=-most, vmax=most)
    axes.set(xticks=[], yticks=[])
figure.suptitle("weights of 24 of the 100 features")
plt.show()

# %%
# Three ways, few labeled sets
# ----------------------------
# Each way is trained on 30, 60 and 150 labeled sets, with three different draws of
# them, and tested on 600 new sets.

test, y_test = make_digit_sets(600, part="test", random_state=0)
WAYS = {
    "pixels": lambda: classifier("auto"),
    "features from the labeled sets": lambda: make_pipeline(
        features(), classifier(None)
    ),
    "features from 600 unlabeled sets": lambda: make_pipeline(
        FrozenEstimator(learned), classifier(None)
    ),
}
N_LABELED, DRAWS = (30, 60, 150), 3
scores = {name: np.empty((len(N_LABELED), DRAWS)) for name in WAYS}
for i, n_sets in enumerate(N_LABELED):
    for draw in range(DRAWS):
        train, y_train = make_digit_sets(n_sets, random_state=draw)
        for name, make in WAYS.items():
            scores[name][i, draw] = 100 * make().fit(train, y_train).score(test, y_test)
for name, values in scores.items():
    rows = [
        f"{n} sets: {row.mean():.1f} ({row.min():.1f} to {row.max():.1f})"
        for n, row in zip(N_LABELED, values, strict=True)
    ]
    print(f"{name:33} {', '.join(rows)}")

# %%
# One mark per draw, the lines join the means.

figure, axes = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
for (name, values), color, marker, shift in zip(
    scores.items(),
    ("#0072B2", "#E69F00", "#D55E00"),
    "osD",
    (0.96, 1.0, 1.04),
    strict=True,
):
    x = shift * np.array(N_LABELED)
    axes.plot(x, values.mean(axis=1), color=color, marker=marker, label=name)
    axes.plot(np.repeat(x, DRAWS), values.ravel(), marker, ms=7, mec=color, mfc="none")
axes.axhline(100 / 3, color="gray", linestyle=":")
axes.text(150, 100 / 3 + 1, "chance", ha="right", color="dimgray")
axes.set(xscale="log", xlabel="labeled sets", ylabel="accuracy (%)", ylim=(30, 101))
axes.set_xticks(N_LABELED, [str(n) for n in N_LABELED])
axes.minorticks_off()
axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.08))
plt.show()

# %%
# Features learned from a few labeled sets alone are poor: an RBM needs many vectors.
# Features from many unlabeled sets come close to the pixels, but do not beat them here.
# Small images of digits are an easy input, in which a ClassSetRBM already finds its own
# features. Try the deeper model where vectors are many and labels few, and keep it only
# if it wins on held-out sets.
