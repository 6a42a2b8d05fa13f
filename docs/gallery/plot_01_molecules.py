"""
Molecules: which ones are musks?
================================

Does a molecule smell of musk? A molecule is flexible and takes many shapes
(conformations). It is a musk if one of its shapes fits the receptor, and nobody knows
which shape that is. This is the problem that multiple-instance learning was invented
for: a label for each molecule, none for its shapes.
"""

# %%
# The data
# --------
# Musk1 comes with the package: 92 molecules. Each is a set of vectors, one vector of
# 166 distances per conformation.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split

from setrbm import ClassSetRBMCV
from setrbm.datasets import load_musk1

bags, y = load_musk1()
print(bags)
print(
    f"{(y == 1).sum()} musks, {(y == 0).sum()} others; "
    f"{bags.sizes.min()} to {bags.sizes.max()} conformations each"
)

# %%
# Predict each molecule by a model that has not seen it
# -----------------------------------------------------
# ``cross_val_predict`` splits whole molecules, never the conformations of one molecule.

folds = StratifiedKFold(5, shuffle=True, random_state=0)
p = cross_val_predict(
    ClassSetRBMCV(max_epochs=200, random_state=0),
    bags,
    y,
    cv=folds,
    method="predict_proba",
)[:, 1]
right = (p > 0.5) == (y == 1)
print(
    f"accuracy {accuracy_score(y, p > 0.5):.3f} on {len(y)} molecules, "
    f"log loss {log_loss(y, p):.3f}"
)

# %%
# Every molecule, sorted by its predicted probability. Blue squares above the dotted
# line and orange circles below it are mistakes.

BLUE, ORANGE = "#0072B2", "#D55E00"
figure, axes = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
place = np.argsort(np.argsort(p))
for label, name, color, marker in (
    (1, "musk", ORANGE, "o"),
    (0, "not a musk", BLUE, "s"),
):
    chosen = y == label
    axes.scatter(place[chosen], p[chosen], color=color, marker=marker, s=28, label=name)
axes.scatter(
    place[~right],
    p[~right],
    facecolors="none",
    edgecolors="black",
    s=110,
    label="wrong",
)
axes.axhline(0.5, color="gray", linewidth=1, linestyle=":")
axes.set(
    xlabel="molecule, sorted by predicted probability",
    ylabel="predicted probability of musk",
    ylim=(-0.04, 1.04),
)
axes.legend(loc="upper left")
plt.show()

# %%
# How much does one conformation matter?
# --------------------------------------
# A model that learned from three quarters of the molecules explains the others. We look
# at recognized musks with at least three conformations. A conformation decided if the
# molecule is no musk without it. How many of the musks have one?

train, test, y_train, y_test = train_test_split(bags, y, stratify=y, random_state=0)
model = ClassSetRBMCV(max_epochs=200, random_state=0).fit(train, y_train)
musks = test[(y_test == 1) & (model.predict(test) == 1) & (test.sizes >= 3)]
explanation = model.explain(musks)
decided = sum(one.decided.any() for one in explanation)
print(f"a single conformation decided {decided} of {len(musks)} such musks")

# %%
# ``drop`` is the decrease in log-probability if the conformation is left out; ``alone``
# is the probability of the class if it were the only one. Conformations of a molecule
# resemble each other: several can be convincing alone while none is indispensable. Then
# the drops are small, and no conformation decided. This is the musk with the largest
# drop; a conformation that decided would be orange.

largest = max(explanation, key=lambda one: one.drop.max())
largest.plot()
plt.show()
