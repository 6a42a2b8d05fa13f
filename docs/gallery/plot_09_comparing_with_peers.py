"""
How does it compare with other methods?
=======================================

Is a simpler method good enough for my data? The package has the usual baselines of
multiple-instance learning under the same contract, so comparing them takes one loop.
On a small data set like Musk1 (92 molecules) the spread matters as much as the mean.
"""

# %%
# Five methods
# ------------

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from setrbm import ClassSetRBMCV
from setrbm.datasets import load_musk1
from setrbm.estimators import InputPooling, MaxOutClassifier, PerVector, SetSVC

bags, y = load_musk1()
methods = {
    # Averages several models with different start weights.
    "ClassSetRBMCV": ClassSetRBMCV(
        learning_rate=(0.03, 0.1), init_scale=0.3, max_epochs=150, random_state=0
    ),
    # Minimum and maximum of each feature over the set, then a support vector machine.
    "pooled inputs, SVM": make_pipeline(
        PerVector(MinMaxScaler()), InputPooling(["min", "max"]), SVC(C=10.0)
    ),
    # A support vector machine with a kernel between sets.
    "SetSVC, miGraph": make_pipeline(
        PerVector(MinMaxScaler()), SetSVC("migraph", C=10.0)
    ),
    "SetSVC, max": make_pipeline(PerVector(MinMaxScaler()), SetSVC("max", C=10.0)),
    # A neural network for vectors; the vector with the highest response decides.
    "max-out network": make_pipeline(
        PerVector(StandardScaler()),
        MaxOutClassifier(
            "mlp",
            scale=None,
            learning_rate=0.01,
            early_stopping=False,
            max_epochs=100,
            random_state=0,
        ),
    ),
}

# %%
# The same folds for all
# ----------------------
# Two times repeated five-fold cross-validation. Settings are fixed or chosen inside the
# training folds, never on the test fold.

folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
scores = {}
for name, method in methods.items():
    start = time.perf_counter()
    scores[name] = 100 * cross_val_score(method, bags, y, cv=folds)
    seconds = time.perf_counter() - start
    mean, spread = scores[name].mean(), scores[name].std(ddof=1)
    print(
        f"{name:20} {mean:5.1f} %, standard deviation of the folds {spread:4.1f}, "
        f"{seconds:4.1f} s"
    )

# %%
# One circle per fold (18 or 19 molecules), the black bar is the mean. For most pairs of
# methods the means are closer to each other than the folds of one method, so this
# comparison cannot name a winner. The page "Reproduction" has five data sets, more
# repetitions and significance tests.

figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
rng = np.random.default_rng(0)
for row, values in enumerate(scores.values()):
    jitter = row + rng.uniform(-0.18, 0.18, len(values))
    axes.scatter(
        values,
        jitter,
        s=36,
        facecolors="none",
        edgecolors="#0072B2",
        linewidths=1.5,
        clip_on=False,
    )
    axes.plot([values.mean()] * 2, [row - 0.32, row + 0.32], color="black", linewidth=3)
axes.axvline(100 * max(y.mean(), 1 - y.mean()), color="gray", linestyle=":")
axes.text(
    100 * max(y.mean(), 1 - y.mean()) + 0.7,
    -0.55,
    "always the larger class",
    color="dimgray",
    fontsize=9,
)
axes.set_yticks(range(len(scores)), scores)
axes.set(xlabel="accuracy (%)", xlim=(48, 101), ylim=(len(scores) - 0.5, -0.8))
plt.show()
