"""
Digits: which digit decided?
============================

A set is labeled as a whole. Which of its vectors is the reason? Here each set holds 3
to 7 handwritten digits and is labeled "two", "seven" or "neither", after a digit that
it contains. The model is never told which digit that is.
"""

# %%
# Train on sets with one label each
# ---------------------------------

import matplotlib.pyplot as plt
import numpy as np

from setrbm import ClassSetRBMCV
from setrbm.datasets import make_digit_sets

train, y_train = make_digit_sets(300, random_state=0)
test, y_test = make_digit_sets(300, part="test", random_state=1)
model = ClassSetRBMCV(n_hidden=50, random_state=0).fit(train, y_train)
print(
    f"accuracy {model.score(test, y_test):.3f} on {len(test)} new sets; "
    "always guessing one class has 0.333"
)

# %%
# Explain some predictions
# ------------------------
# Four sets of six digits that are predicted to hold a two or a seven.

predicted = model.predict(test)
shown = np.flatnonzero((test.sizes == 6) & (predicted != "neither"))[:4]
explanation = model.explain(test[shown])

# %%
# One row per set. An orange frame marks a digit that decided: without it, another class
# is predicted. The number below each digit is its drop, the decrease in the
# log-probability of the class if the digit is left out.

figure, grid = plt.subplots(4, 6, figsize=(7.5, 6.2), layout="constrained")
for row, k, one in zip(grid, shown, explanation, strict=True):
    for s, axes in enumerate(row):
        axes.imshow(test[k][s].reshape(8, 8), cmap="gray_r", interpolation="bicubic")
        axes.set(xticks=[], yticks=[])
        axes.set_xlabel(f"{one.drop[s].round(2) + 0.0:.2f}", fontsize=10)
        if one.decided[s]:
            axes.spines[:].set(color="#D55E00", linewidth=4)
    row[0].set_ylabel(
        f'"{predicted[k]}"', rotation=0, ha="right", va="center", fontsize=11
    )
figure.supxlabel("drop of each digit")
plt.show()

# %%
# Which pixels?
# -------------
# ``contributions`` are the slope of the log-odds times the input. Orange pixels are
# evidence for the class, purple ones against it. This is the second set from above.

one, k = explanation[1], shown[1]
most = np.abs(one.contributions).max()
figure, grid = plt.subplots(2, 6, figsize=(7.5, 2.9), layout="constrained")
for s in range(6):
    grid[0, s].imshow(test[k][s].reshape(8, 8), cmap="gray_r", interpolation="bicubic")
    image = grid[1, s].imshow(
        one.contributions[s].reshape(8, 8), cmap="PuOr_r", vmin=-most, vmax=most
    )
for axes in grid.flat:
    axes.set(xticks=[], yticks=[])
bar = figure.colorbar(image, ax=grid, shrink=0.9)
bar.set_label(f'contribution to "{predicted[k]}"')
plt.show()

# %%
# Here nearly all contributions are on the digit that decided. That is not always so:
# pixels of another digit can speak for and against the class and cancel. Over all sets
# that are predicted to hold a two or a seven, for the digit with the largest drop:

found = test[predicted != "neither"]
on_strongest = [
    np.abs(one.contributions[one.drop.argmax()]).sum() / np.abs(one.contributions).sum()
    for one in model.explain(found)
]
print(f"its share of the contributions: {np.mean(on_strongest):.2f}")
print(f"if all digits had the same share: {np.mean(1 / found.sizes):.2f}")
