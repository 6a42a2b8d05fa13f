"""
95 % right, or ask a clerk
==========================

A mailroom wants the machine to route only what it can route reliably: at least 95 % of
the routed mail must be right. How much mail can it route, and how much is left to
people? ``RejectOption`` sets the threshold on held-out mail, so that the promise holds
for new mail.
"""

# %%
# Mail, and a classifier with a reject option
# -------------------------------------------
# Generated mail: every piece is a set of pages, and most have one page that shows their
# class. In 6 % of the pieces nothing does, and 2 % of the labels are wrong, so no
# classifier is always right.

import matplotlib.pyplot as plt

from setrbm import ClassSetRBM
from setrbm.datasets import make_mail_like
from setrbm.selective import PrecisionCoverageDisplay, RejectOption

settings = {
    "n_classes": 4,
    "n_words": 1000,
    "words_per_page": 40,
    "evidence_share": 0.4,
}
mail, y = make_mail_like(10_000, random_state=0, **settings)
classifier = ClassSetRBM(
    30, scale=None, learning_rate=0.05, max_epochs=5, random_state=0
)
model = RejectOption(classifier, precision=0.95, random_state=0).fit(mail, y)
found = model.promise_
print(
    f"{found.n_held_out} held-out sets, {found.n_accepted} accepted, "
    f"{found.n_right} of these right"
)
share, low, high = model.share_left_
print(f"left to people: {share:.1%}, 95% interval {low:.1%} to {high:.1%}")

# %%
# Does the promise hold for new mail?
# -----------------------------------

new, y_new = make_mail_like(20_000, random_state=1, **settings)
accepted = model.accepts(new)
right = model.predict(new) == y_new
print(f"all mail: {right.mean():.1%} right")
print(f"accepted: {right[accepted].mean():.1%} right")
print(f"left to people: {1 - accepted.mean():.1%}")
print(model.predict_or_reject(new[30:42], rejected="clerk").tolist())

# %%
# Precision against coverage
# --------------------------
# Every point of the curve is a threshold: the farther to the right, the more mail is
# accepted, and the less of it is right. The curve is that of the new mail, which in
# practice nobody has labeled. The dot is the threshold that was set on held-out mail.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
PrecisionCoverageDisplay.from_estimator(
    model, new, y_new, ax=axes, name="new mail", color="#0072B2"
)
axes.axhline(0.95, color="gray", linestyle=":", label="promised")
axes.plot(
    accepted.mean(), right[accepted].mean(), "o", color="#D55E00", label="threshold"
)
axes.set_ylim(0.85, 1.0)
axes.legend(loc="lower left")
plt.show()

# %%
# The dot lies a little to the left of the point where the curve crosses the promised
# precision. This distance is the price of the guarantee, and shrinks with more held-out
# mail.
#
# A promise for each class
# ------------------------
# One threshold for all mail may be too low for some classes. With ``per_class=True``
# each predicted class has its own.

each = RejectOption(classifier, precision=0.9, per_class=True, random_state=0)
each.fit(mail, y)
accepted, predicted = each.accepts(new), each.predict(new)
for label in each.classes_:
    own = predicted == label
    print(
        f"class {label}: {(accepted & own).sum() / own.sum():.1%} accepted, "
        f"{right[accepted & own].mean():.1%} of these right"
    )
