"""
Which variant should I choose?
==============================

Hard or soft pooling, xor or or? The four variants differ in how they combine the
vectors of a set. Three made-up problems show where that matters: whether *some* vector
has a pattern, *how many* vectors have it, and how many if the pattern is faint in some
vectors and strong in others.
"""

# %%
# Three problems
# --------------
# A vector has 20 features. The pattern is in the first three. Vectors without it are
# random.

import matplotlib.pyplot as plt
import numpy as np

from setrbm import Bags, ClassSetRBMCV

PATTERN = slice(0, 3)


def background(rng):
    """Return 6 to 12 random binary vectors without the whole pattern."""
    X = (rng.random((rng.integers(6, 13), 20)) < 0.2).astype(float)
    X[X[:, PATTERN].all(axis=1), rng.integers(3)] = 0.0
    return X


def some_vector(rng, positive):
    """Positive sets hold the pattern once, negative sets never."""
    X = background(rng)
    if positive:
        X[0, PATTERN] = 1.0
    return X


def how_many(rng, positive):
    """Positive sets hold the pattern 4 to 6 times, negative sets once or twice."""
    X = background(rng)
    X[: rng.integers(4, 7) if positive else rng.integers(1, 3), PATTERN] = 1.0
    return X


def faint_and_strong(rng, positive):
    """As how_many, but each pattern has its own strength."""
    X = 0.15 * background(rng)
    n = rng.integers(4, 7) if positive else rng.integers(1, 3)
    X[:n, PATTERN] = rng.uniform(0.25, 1.0, n)[:, np.newaxis]
    return X


def make_sets(problem, n_sets, rng):
    """Return labeled sets, half of them positive."""
    y = np.arange(n_sets) % 2
    return Bags.from_list([problem(rng, label == 1) for label in y]), y


# %%
# Four variants on each, three times
# ----------------------------------
# New data and new start weights in each repetition. The second problem is also tested
# on sets in which every vector occurs four times, as happens when events are logged
# more than once.


def repeated(bags):
    """Return the sets with every vector four times."""
    return Bags(np.repeat(bags.X, 4, axis=0), 4 * bags.offsets)


VARIANTS = [("xor", "hard"), ("or", "hard"), ("xor", "soft"), ("or", "soft")]
PROBLEMS = {
    "some vector": (some_vector, None),
    "how many": (how_many, None),
    "how many,\nfaint and strong": (faint_and_strong, None),
    "how many, test\nvectors repeated": (how_many, repeated),
}
scores = {}
for variant in VARIANTS:
    for seed in range(3):
        for problem in (some_vector, how_many, faint_and_strong):
            rng = np.random.default_rng(seed)
            train, y_train = make_sets(problem, 300, rng)
            test, y_test = make_sets(problem, 600, rng)
            model = ClassSetRBMCV(
                n_hidden=20,
                constraint=variant[0],
                pooling=variant[1],
                learning_rate=(0.03, 0.1),
                init_scale=1.0,
                max_epochs=200,
                n_fits=1,
                random_state=seed,
            ).fit(train, y_train)
            for name, (of_problem, change) in PROBLEMS.items():
                if of_problem is problem:
                    sets = change(test) if change else test
                    scores.setdefault((name, variant), []).append(
                        100 * model.score(sets, y_test)
                    )

print("accuracy in %, mean of 3 repetitions (lowest to highest)")
for name in PROBLEMS:
    print(name.replace("\n", " "))
    for variant in VARIANTS:
        values = scores[name, variant]
        print(
            f"    {', '.join(variant):10} {np.mean(values):5.1f} "
            f"({min(values):.1f} to {max(values):.1f})"
        )

# %%
# One mark per repetition. If some vector decides, take any variant; hard pooling is the
# safest. If the *number* of vectors with a pattern carries the label, soft pooling is
# better, and or better than xor: it counts in how many vectors the pattern is present,
# where xor adds up its strength. The price is in the last panel: repeated vectors
# mislead soft pooling, and do not change the answers of hard pooling.

COLORS = {
    ("xor", "hard"): "#0072B2",
    ("or", "hard"): "#56B4E9",
    ("xor", "soft"): "#D55E00",
    ("or", "soft"): "#E69F00",
}
figure, panels = plt.subplots(
    1, 4, figsize=(8.5, 3.4), sharey=True, layout="constrained"
)
for axes, name in zip(panels, PROBLEMS, strict=True):
    for row, variant in enumerate(VARIANTS):
        marker = "s" if variant[1] == "hard" else "o"
        axes.plot(
            scores[name, variant],
            [row] * 3,
            marker,
            color=COLORS[variant],
            ms=8,
            mec="black",
            clip_on=False,
        )
    axes.axvline(50, color="gray", linestyle=":")
    axes.set_title(name, fontsize=10)
    axes.set(xlim=(45, 101), xticks=[50, 75, 100])
    axes.grid(axis="y", color="#DDDDDD")
panels[0].set_yticks(range(4), [", ".join(variant) for variant in VARIANTS])
panels[0].set_ylim(3.5, -0.5)
figure.supxlabel("accuracy (%), chance is 50")
plt.show()
