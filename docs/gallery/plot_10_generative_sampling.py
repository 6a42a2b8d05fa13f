"""
Drawing new sets
================

What does a model believe a typical set looks like? A ClassSetRBM trained with
``objective="generative"`` learns sets and labels together and can be sampled. Looking
at its samples shows what it has understood, and what not.
"""

# %%
# Sets of one digit in different handwriting
# ------------------------------------------
# All four images of a set show the same digit, and the digit is the label. Pixels are
# turned into black and white.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from setrbm import Bags, ClassSetRBM, ClassSetRBMCV

images, numbers = load_digits(return_X_y=True)
images = (images > 7).astype(float)
DIGITS, SIZE = (0, 1, 7), 4


def make_sets(n_sets, rows, seed):
    """Return sets of four images of one digit, and the digit."""
    rng = np.random.default_rng(seed)
    y = np.array(DIGITS)[np.arange(n_sets) % len(DIGITS)]
    return Bags.from_list(
        [images[rng.choice(rows[numbers[rows] == digit], SIZE)] for digit in y]
    ), y


rows = np.arange(len(images))
train, y_train = make_sets(600, rows[rows % 2 == 0], seed=0)
test, y_test = make_sets(300, rows[rows % 2 == 1], seed=1)

# %%
# Train and sample
# ----------------
# ``sample`` starts a Gibbs chain for each set and runs it for many steps.

model = ClassSetRBM(
    n_hidden=100,
    constraint="or",
    pooling="soft",
    objective="generative",
    generative_learning_rate=0.01,
    init_scale=0.1,
    early_stopping=False,
    max_epochs=100,
    random_state=0,
).fit(train, y_train)
drawn, labels = model.sample([SIZE] * 45, n_steps=300, random_state=0)
print(
    {digit: int((labels == digit).sum()) for digit in DIGITS},
    "sets drawn with each label",
)

# %%
# A classifier that learned from real sets is the judge: does it give a drawn set the
# label it was drawn with?

judge = ClassSetRBMCV(
    n_hidden=50,
    learning_rate=0.03,
    init_scale=0.3,
    max_epochs=50,
    n_fits=1,
    random_state=0,
)
judge.fit(train, y_train)
print(f"the judge is right on {judge.score(test, y_test):.3f} of new real sets")
print(
    f"the judge agrees with {judge.score(drawn, labels):.3f} of {len(drawn)} drawn sets"
)

# %%
# Left: real sets of the three digits. Right: drawn sets with the same labels, the first
# of each in the sample.

widths = [1] * SIZE + [0.4] + [1] * SIZE
figure, grid = plt.subplots(
    3, 2 * SIZE + 1, figsize=(8.0, 3.2), layout="constrained", width_ratios=widths
)
for row, digit in zip(grid, DIGITS, strict=True):
    row[SIZE].set_axis_off()
    for (bags, y), columns in (
        ((test, y_test), row[:SIZE]),
        ((drawn, labels), row[SIZE + 1 :]),
    ):
        for axes, vector in zip(
            columns, bags[int(np.flatnonzero(y == digit)[0])], strict=True
        ):
            axes.imshow(vector.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[])
    row[0].set_ylabel(f'"{digit}"', rotation=0, ha="right", va="center")
grid[0, 1].set_title("real sets", loc="left")
grid[0, SIZE + 2].set_title("drawn sets", loc="left")
plt.show()

# %%
# Most single images are good digits. The sets are less consistent: some drawn sets mix
# digits, because the images of a set influence each other only through the label and
# the pooled units. So take samples as a look at what was learned, not as data to train
# on.
