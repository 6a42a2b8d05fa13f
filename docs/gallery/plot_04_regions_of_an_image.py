"""
Regions of an image
===================

Where in an image is the object, if only whole images are labeled? Cut each image into
overlapping windows. The image is then a set of windows, positive if one of them shows
the object. A model that learned to tell images apart can point to the windows that
made the difference.
"""

# %%
# Images with and without a seven
# -------------------------------
# Each image is a noisy canvas of 24 by 24 pixels with four handwritten digits. Half of
# the images contain a seven. Nothing says where.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from setrbm import Bags, ClassSetRBM

digits, numbers = load_digits(return_X_y=True)
TARGET, CANVAS, STEP = 7, 24, 2
CORNERS = [
    (r, c) for r in range(0, CANVAS - 7, STEP) for c in range(0, CANVAS - 7, STEP)
]


def make_image(rng, rows, positive):
    """Return an image with four digits, and the corner of the seven (or None)."""
    image = rng.uniform(0, 3, (CANVAS, CANVAS))
    others = rng.choice(rows[~np.isin(numbers[rows], [TARGET])], 4)
    if positive:
        others[0] = rng.choice(rows[numbers[rows] == TARGET])
    quarters = [(0, 0), (0, 12), (12, 0), (12, 12)]
    corners = []
    for digit, quarter in zip(others, rng.permutation(quarters), strict=True):
        r, c = quarter + STEP * rng.integers(0, 3, 2)
        image[r : r + 8, c : c + 8] += digits[digit].reshape(8, 8)
        corners.append((int(r), int(c)))
    return image, corners[0] if positive else None


def make_images(n_images, part, seed):
    """Return images, whether each contains a seven, and where.

    Training and test images share no digit.
    """
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(np.arange(len(digits)) % 2 == (part == "test"))
    y = np.arange(n_images) % 2
    images, places = zip(
        *(make_image(rng, rows, label == 1) for label in y), strict=True
    )
    return images, y, places


def windows(image):
    """Return the set of all windows of 8 by 8 pixels, one vector each."""
    return np.array([image[r : r + 8, c : c + 8].ravel() for r, c in CORNERS])


train_images, y_train, _ = make_images(1000, "train", seed=0)
test_images, y_test, places = make_images(200, "test", seed=1)
train = Bags.from_list([windows(image) for image in train_images])
test = Bags.from_list([windows(image) for image in test_images])
print(train)

# %%
# Train on labels of whole images
# -------------------------------

model = ClassSetRBM(
    n_hidden=80,
    learning_rate=0.05,
    init_scale=0.1,
    max_epochs=150,
    random_state=0,
).fit(train, y_train)
print(f"accuracy {model.score(test, y_test):.3f} on {len(test)} new images")

# %%
# Where does it look?
# -------------------
# Two quantities point to windows: ``drop``, the decrease in log-probability if the
# window is left out, and ``alone``, the probability of the class for the window by
# itself. How often is the window with the largest value within two pixels of the seven,
# and how often is a random window?

found = np.flatnonzero((y_test == 1) & (model.predict(test) == 1))
explanation = model.explain(test[found])
drop = explanation.drop.reshape(len(found), len(CORNERS))
alone = explanation.alone[:, 1].reshape(len(found), len(CORNERS))
corners = np.array(CORNERS)
near = np.array([np.abs(corners - places[k]).max(axis=1) <= 2 for k in found])
for name, values in (("largest drop", drop), ("largest alone", alone)):
    hits = near[np.arange(len(found)), values.argmax(axis=1)]
    print(
        f"{name:14} near the seven in {hits.mean():.3f} "
        f"of {len(found)} recognized images"
    )
print(f"a random window is near it in {near.mean():.3f}")

# %%
# Four recognized images. The frame is the window with the largest drop. Second row: the
# probability of "contains a seven" of each window alone, drawn at the center of the
# window.

figure, grid = plt.subplots(2, 4, figsize=(7.5, 4.1), layout="constrained")
side = int(np.sqrt(len(CORNERS)))
low, high = 3.5 - STEP / 2, 3.5 - STEP / 2 + STEP * side
for i, column in enumerate(grid.T):
    r, c = corners[drop[i].argmax()]
    column[0].imshow(test_images[found[i]], cmap="gray_r")
    column[1].set_facecolor("#440154")
    heat = column[1].imshow(
        alone[i].reshape(side, side), vmin=0, vmax=1, extent=(low, high, high, low)
    )
    for axes in column:
        axes.add_patch(
            plt.Rectangle(
                (c - 0.5, r - 0.5), 8, 8, fill=False, color="#D55E00", linewidth=3
            )
        )
        axes.set(
            xticks=[], yticks=[], xlim=(-0.5, CANVAS - 0.5), ylim=(CANVAS - 0.5, -0.5)
        )
grid[0, 0].set_ylabel("image")
grid[1, 0].set_ylabel("windows alone")
figure.colorbar(heat, ax=grid[1, :], label="probability")
plt.show()
