"""
A rare class
============

What if only a few sets are positive? A model can then be right most of the time by
never predicting the rare class. Accuracy hides this. Balanced accuracy, the mean of
the recalls of both classes, does not, and ``class_weight="balanced"`` makes the rare
class count as much as the common one in training.
"""

# %%
# Six sets in a hundred are positive
# ----------------------------------
# Sets of handwritten digits with noise added. A set is positive if it holds a two.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import (
    RocCurveDisplay,
    balanced_accuracy_score,
    confusion_matrix,
    roc_auc_score,
)

from setrbm import ClassSetRBM
from setrbm.datasets import make_digit_sets


def make_rare(n_sets, part, seed, share=0.06, noise=4.0):
    """Return noisy sets of digits, a given share of them with a two."""
    rng = np.random.default_rng(seed)
    bags, label = make_digit_sets(3 * n_sets, part, random_state=seed)
    n_positive = round(share * n_sets)
    positive, negative = np.flatnonzero(label == "two"), np.flatnonzero(label != "two")
    chosen = rng.permutation(
        np.r_[positive[:n_positive], negative[: n_sets - n_positive]]
    )
    bags = bags[chosen]
    return bags.with_vectors(bags.X + rng.normal(0.0, noise, bags.X.shape)), (
        label[chosen] == "two"
    ).astype(int)


train, y_train = make_rare(400, "train", seed=0)
test, y_test = make_rare(1000, "test", seed=1)
print(f"{y_train.sum()} of {len(y_train)} training sets are positive")

# %%
# With and without class weights
# ------------------------------
# Five random starts each, to see how much is luck.

weights = {"no class weights": None, 'class_weight="balanced"': "balanced"}
models = {
    name: [
        ClassSetRBM(class_weight=weight, max_epochs=100, random_state=seed).fit(
            train, y_train
        )
        for seed in range(5)
    ]
    for name, weight in weights.items()
}
probabilities = {
    name: [model.predict_proba(test)[:, 1] for model in fits]
    for name, fits in models.items()
}
for name, fits in probabilities.items():
    accuracy = [np.mean((p > 0.5) == y_test) for p in fits]
    balanced = [balanced_accuracy_score(y_test, p > 0.5) for p in fits]
    area = [roc_auc_score(y_test, p) for p in fits]
    print(f"{name}, mean of 5 starts (standard deviation)")
    for title, scores in (
        ("accuracy", accuracy),
        ("balanced accuracy", balanced),
        ("area under the ROC", area),
    ):
        print(f"  {title:19} {np.mean(scores):.3f} ({np.std(scores, ddof=1):.3f})")
print(
    f"never predicting the rare class: accuracy {1 - y_test.mean():.3f}, "
    "balanced accuracy 0.500"
)

# %%
# The confusion matrices of the first start, rows are the true classes:

for name, fits in probabilities.items():
    print(name)
    print(confusion_matrix(y_test, fits[0] > 0.5))

# %%
# Left: the ROC curves of the first start. Marks show where the threshold 0.5 lies:
# without weights it finds few of the positive sets. The curves themselves differ less
# than the marks; if only the threshold is wrong, moving it helps too. Right: balanced
# accuracy at the threshold 0.5, one mark per start.

BLUE, ORANGE = "#0072B2", "#D55E00"
figure, (left, right) = plt.subplots(
    1, 2, figsize=(8.0, 4.0), layout="constrained", width_ratios=(1.3, 1)
)
for row, ((name, fits), color, marker) in enumerate(
    zip(probabilities.items(), (BLUE, ORANGE), "os", strict=True)
):
    RocCurveDisplay.from_predictions(
        y_test, fits[0], ax=left, name=name, curve_kwargs={"color": color}
    )
    found = fits[0] > 0.5
    left.plot(
        found[y_test == 0].mean(),
        found[y_test == 1].mean(),
        marker,
        color=color,
        ms=10,
        mec="black",
    )
    scores = [balanced_accuracy_score(y_test, p > 0.5) for p in fits]
    right.plot(
        scores,
        np.full(5, row),
        marker,
        color=color,
        ms=8,
        mec="black",
        alpha=0.8,
        clip_on=False,
    )
left.set(xlabel="false positive rate", ylabel="true positive rate")
left.legend(loc="lower right", fontsize=8)
right.axvline(0.5, color="gray", linestyle=":")
right.set(
    xlim=(0.48, 1.0), ylim=(-0.6, 1.6), xlabel="balanced accuracy (0.5 is chance)"
)
right.set_yticks([0, 1], ["no class\nweights", "balanced"])
plt.show()
