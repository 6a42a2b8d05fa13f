"""
Can explanations be trusted?
============================

How often does an explanation point to the right vector? With real data nobody knows.
In sets of digits we do: ``make_digit_sets(return_evidence=True)`` also returns which
digit gave each set its label, so ``decided`` and ``alone`` can be compared with the
truth and with guessing.
"""

# %%
# Train on labels of sets only
# ----------------------------

import matplotlib.pyplot as plt
import numpy as np

from setrbm import Bags, ClassSetRBMCV
from setrbm.datasets import make_digit_sets

train, y_train = make_digit_sets(60, random_state=0)
test, y_test, evidence = make_digit_sets(
    600, part="test", random_state=1, return_evidence=True
)
model = ClassSetRBMCV(n_hidden=50, random_state=0).fit(train, y_train)
print(f"accuracy {model.score(test, y_test):.3f} on {len(test)} new sets")

# %%
# Where does the explanation point?
# ---------------------------------
# For sets with a two or a seven, recognized or not: did the digit that gave the label
# decide, that is, does the predicted class change without it? Is it the vector that is
# most convincing alone? Of several vectors that decided, the one with the largest drop
# counts. A vector picked at random from a set of five is right in one of five cases.


def hits(bags, y, evidence):
    """Return for each set whether decided, alone and chance point to the evidence."""
    explanation = model.explain(bags, y)
    column = {label: i for i, label in enumerate(model.classes_)}
    parts = np.split(evidence, bags.offsets[1:-1])
    by_decision = [
        (part & one.decided)[one.drop.argmax()]
        for part, one in zip(parts, explanation, strict=True)
    ]
    by_alone = [
        part[one.alone[:, column[label]].argmax()]
        for part, one, label in zip(parts, explanation, y, strict=True)
    ]
    chance = [part.mean() for part in parts]
    return np.array(by_decision), np.array(by_alone), np.array(chance)


chosen = y_test != "neither"
bags, labels, truth = (
    test[chosen],
    y_test[chosen],
    evidence[np.repeat(chosen, test.sizes)],
)
one_digit = hits(bags, labels, truth)
for name, values in zip(("decided", "alone", "at random"), one_digit, strict=True):
    print(f"{name:10} {100 * values.mean():5.1f} % of {len(bags)} sets")

# %%
# When two vectors say the same
# -----------------------------
# Now the digit that gave the label is in its set twice. Leaving out one of them changes
# little, because the other is still there: the drop of both is small, and hardly any
# vector decided. ``alone`` does not have this weakness.

doubled, doubled_evidence = [], []
for matrix, part in zip(bags, np.split(truth, bags.offsets[1:-1]), strict=True):
    doubled.append(np.vstack([matrix, matrix[part]]))
    doubled_evidence.append(np.append(part, True))
two_digits = hits(Bags.from_list(doubled), labels, np.concatenate(doubled_evidence))
for name, values in zip(("decided", "alone", "at random"), two_digits, strict=True):
    print(f"{name:10} {100 * values.mean():5.1f} % of {len(bags)} sets")

# %%
# Each bar is the share of sets where the explanation points to the digit that gave the
# label. The dotted line is the share expected from picking a vector at random.

figure, panels = plt.subplots(
    1, 2, figsize=(7.5, 3.6), sharey=True, layout="constrained"
)
for axes, title, (*methods, chance) in zip(
    panels,
    ("the digit is there once", "the digit is there twice"),
    (one_digit, two_digits),
    strict=True,
):
    for x, (values, color) in enumerate(
        zip(methods, ("#0072B2", "#D55E00"), strict=True)
    ):
        share = 100 * values.mean()
        axes.bar(x, share, color=color, width=0.5)
        inside = share > 20
        axes.text(
            x,
            share / 2 if inside else 3,
            f"{share:.0f} %",
            ha="center",
            color="white" if inside else "black",
        )
    axes.axhline(100 * chance.mean(), color="black", linestyle=":", linewidth=1.5)
    axes.text(0.5, 100 * chance.mean() + 2, "chance", ha="center")
    axes.set(xticks=[0, 1], xlim=(-0.5, 1.5), ylim=(0, 110), title=title)
    axes.set_xticklabels(["decided", "most convincing\nalone"])
panels[0].set_ylabel("points to the digit (%)")
plt.show()

# %%
# Read both quantities. A vector that decided was needed. If none was although the model
# is sure, several vectors say the same; then ``alone`` shows which.
