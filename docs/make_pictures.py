"""Draw the pictures of the documentation: ``python docs/make_pictures.py [name ...]``, into ``docs/images/``.

Names: model, explain, pools, variants, choosing, reject_guarantee; without any, all of them, in about five minutes. The
figures quoted in the text are those that this prints.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

from setrbm import Bags, ClassSetRBM, ClassSetRBMCV
from setrbm.datasets import load_musk1, make_digit_sets
from setrbm.pooling.pools import set_pool

IMAGES = Path(__file__).parent / "images"
RESULTS = Path(__file__).parents[1] / "lab" / "results"

# The palette of Okabe and Ito, which color-blind readers can tell apart.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
GREY = "#666666"
VARIANTS = [("xor", "soft"), ("xor", "hard"), ("or", "soft"), ("or", "hard")]
LOOK = {
    ("xor", "soft"): (SKY, "o"),
    ("xor", "hard"): (BLUE, "s"),
    ("or", "soft"): (ORANGE, "^"),
    ("or", "hard"): (RED, "D"),
}


def save(figure, name):
    """Write a figure as PNG without anything that changes from run to run."""
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / f"{name}.png", metadata={"Software": None})
    print(f"images/{name}.png")


def new_figure(width, height, **kwargs):
    """Return a figure that needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    mpl.rcParams.update(
        {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "savefig.dpi": 150,
         "savefig.facecolor": "white", "legend.frameon": False}
    )  # fmt: skip
    figure = Figure(figsize=(width, height), layout="constrained", **kwargs)
    FigureCanvasAgg(figure)
    return figure


# --- data ------------------------------------------------------------------------------------------


CLUE_A, CLUE_B = slice(0, 3), slice(3, 6)


def background(rng, size):
    """Return binary vectors of 20 features, none of which holds a whole clue."""
    X = (rng.random((size, 20)) < 0.2).astype(float)
    for clue in (CLUE_A, CLUE_B):
        X[X[:, clue].all(axis=1), clue.start + rng.integers(3)] = 0.0
    return X


def one_decides(rng, positive):
    """Clue A is in one vector (positive), or in none."""
    X = background(rng, rng.integers(6, 13))
    if positive:
        X[0, CLUE_A] = 1.0
    return X


def two_clues(rng, positive):
    """Clues A and B are in two vectors (positive); or two vectors have the same clue."""
    X = background(rng, rng.integers(6, 13))
    first, second = (CLUE_A, CLUE_B) if positive else [(CLUE_A, CLUE_A), (CLUE_B, CLUE_B)][rng.integers(2)]
    X[0, first] = X[1, second] = 1.0
    return X


def how_many(rng, positive):
    """Clue A is in 4 to 6 vectors (positive), or in 1 or 2."""
    X = background(rng, rng.integers(6, 13))
    X[: rng.integers(4, 7) if positive else rng.integers(1, 3), CLUE_A] = 1.0
    return X


def draw_sets(task, n_sets, rng):
    """Return labeled sets of a task, half of them positive."""
    y = np.arange(n_sets) % 2
    return Bags.from_list([task(rng, label == 1) for label in y]), y


def repeated(bags, times):
    """Return the sets with every vector repeated."""
    return Bags(np.repeat(bags.X, times, axis=0), bags.offsets * times)


# --- pictures --------------------------------------------------------------------------------------


def draw_model():
    """Draw a set of three vectors, their copies of the hidden layer, the pool and the classes."""
    figure = new_figure(7.0, 3.4)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set(xlim=(-0.2, 10.6), ylim=(-0.4, 4.9))
    rows, unit_x = [3.4, 1.9, 0.4], np.array([3.7, 4.2, 4.7, 5.2])
    on = {(0, 1), (1, 3), (2, 0)}

    def unit(x, y, filled):
        axes.plot(x, y, "o", ms=11, mec=BLACK, mfc=BLACK if filled else "white")

    def box(x, y, width, text):
        style = {"boxstyle": f"round,pad=0.5,rounding_size={0.3 * width}", "fc": "#EEF4FA", "ec": BLUE}
        axes.text(x, y, text, ha="center", va="center", bbox=style)

    def arrow(start, end, text=None, above=0.16):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 1.2})
        if text:
            axes.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + above, text, ha="center", color=GREY)

    for s, y in enumerate(rows):
        box(0.9, y, 1, f"vector $x_{s + 1}$")
        arrow((1.75, y), (3.35, y), "$W$, $c$")
        for j, x in enumerate(unit_x):
            unit(x, y, (s, j) in on)
    for x in unit_x:
        axes.plot([x, x], [rows[2] + 0.22, rows[1] - 0.22], ":", color=BLUE, lw=1.4)
        axes.plot([x, x], [rows[1] + 0.22, rows[0] - 0.22], ":", color=BLUE, lw=1.4)
    arrow((5.65, 1.9), (6.85, 1.9), "pool over\nthe set")
    for j, y in enumerate([2.65, 2.15, 1.65, 1.15]):
        unit(7.15, y, j != 2)
    arrow((7.5, 1.9), (8.75, 1.9), "$U$, $d$")
    box(9.6, 1.9, 1, "class\n$p(y\\mid X)$")
    for x, text in (
        (0.9, "the set"),
        (4.45, "one hidden layer per vector"),
        (7.15, "pooled units"),
        (9.6, "posterior"),
    ):
        axes.text(x, 4.5, text, ha="center", weight="bold")
    axes.text(
        4.45, -0.35, "dotted: copies of one unit; with xor, at most one is on", ha="center", color=BLUE, fontsize=9
    )
    save(figure, "model")


def draw_explanation():
    """Draw one set of digits with the evidence of each vector and of each pixel."""
    train, y_train = make_digit_sets(450, "train", random_state=0)
    test, y_test = make_digit_sets(450, "test", random_state=1)
    model = ClassSetRBMCV(n_hidden=50, random_state=0).fit(train, y_train)
    print(f"digits: accuracy {model.score(test, y_test):.3f} on {len(test)} sets, chosen {model.best_params_}")
    # Of the test sets of seven digits, the one that is recognized as "seven" most clearly.
    seven = int(np.flatnonzero(model.classes_ == "seven")[0])
    p = np.where((test.sizes == 7) & (y_test == "seven"), model.predict_proba(test)[:, seven], 0.0)
    k = int(p.argmax())
    why = model.explain(test[[k]])
    print("drop", why.drop.round(2), "alone", why.alone[:, seven].round(3), "p", p[k].round(3))
    without = model.predict([np.delete(test[k], s, axis=0) for s in range(7)])
    print("decided", why.decided, "class without each digit", without)
    figure = new_figure(8.0, 4.2)
    grid = figure.subplots(4, 7, height_ratios=[1, 1, 0.55, 0.55])
    shown = draw_digits(grid[:2], test[k], why.contributions, why.decided)
    draw_column_bars(grid[2], why.drop, why.decided, "drop", 1.3 * why.drop.max())
    draw_column_bars(grid[3], why.alone[:, seven], why.decided, 'p("seven")\nalone', 1.3)
    bar = figure.colorbar(shown, ax=grid[1, :], aspect=8)
    bar.set_label('contribution\nto "seven"', fontsize=9)
    other = without[why.decided][0]
    figure.suptitle(f'A set classified as "seven", and as "{other}" without the framed digit', fontsize=11)
    save(figure, "explain")


def draw_digits(grid, images, contributions, decided):
    """Draw the digits of a set, below them the contributions of their pixels, and frame those that decided."""
    most = np.abs(contributions).max()
    for s, (ink, evidence) in enumerate(grid.T):
        ink.imshow(images[s].reshape(8, 8), cmap="gray_r", interpolation="bicubic", vmin=0, vmax=16)
        shown = evidence.imshow(contributions[s].reshape(8, 8), cmap="PuOr_r", vmin=-most, vmax=most)
        for axes in (ink, evidence):
            axes.set(xticks=[], yticks=[])
            axes.spines[["top", "right"]].set_visible(True)
            if decided[s]:
                axes.spines[:].set(color=RED, linewidth=3)
        ink.set_title(f"vector {s}", fontsize=9, weight="bold" if decided[s] else "normal")
    grid[0, 0].set_ylabel("the set", fontsize=9)
    grid[1, 0].set_ylabel("pixels", fontsize=9)
    return shown


def draw_column_bars(row, values, decided, label, height):
    """Draw one bar per column, all on the same scale."""
    for s, (axes, value) in enumerate(zip(row, values, strict=True)):
        axes.bar(0, max(value, 0.0), color=RED if decided[s] else SKY, width=0.5)
        axes.text(0, max(value, 0.0) + 0.04 * height, f"{round(value, 2) + 0.0:.2f}", ha="center", fontsize=8)
        axes.set(xlim=(-1, 1), ylim=(0, height), xticks=[], yticks=[])
        axes.spines["left"].set_visible(False)
    row[0].set_ylabel(label, fontsize=9)


def draw_pools():
    """Draw what each variant pools: against the number of copies, and against the strength of one vector."""
    figure = new_figure(8.0, 3.3)
    copies_axes, strength_axes = figure.subplots(1, 2)
    copies, strengths = np.arange(1, 21), np.linspace(-6, 6, 121)
    for variant in VARIANTS:
        color, marker = LOOK[variant]
        style = {"color": color, "marker": marker, "ms": 5, "lw": 2, "label": ", ".join(variant)}
        pools = [set_pool(np.full((n, 1), 1.0), np.array([0, n]), *variant)[0].item() for n in copies]
        copies_axes.plot(copies, pools, markevery=4, **style)
        pools = [set_pool(np.array([[0.0], [a]]), np.array([0, 2]), *variant)[0].item() for a in strengths]
        strength_axes.plot(strengths, pools, markevery=20, **style)
    copies_axes.set(xlabel="copies of one vector with $a = 1$", ylabel="pool", xticks=[1, 5, 10, 15, 20])
    copies_axes.set_title("how often it is there", fontsize=10)
    strength_axes.set(xlabel="activation $a$ of one vector\n(the other vector has $a = 0$)", ylabel="pool")
    strength_axes.set_title("how strongly it is there", fontsize=10)
    strength_axes.legend(loc="upper left")
    save(figure, "pools")


def draw_variants(n_seeds=5):
    """Measure and draw the four variants on three tasks, and on test sets with every vector four times."""
    tasks = {"one vector decides": one_decides, "two clues in two vectors": two_clues, "how many vectors": how_many}
    figure = new_figure(8.0, 3.6)
    panels = figure.subplots(1, 3, sharey=True, sharex=True)
    for axes, (title, task) in zip(panels, tasks.items(), strict=True):
        for row, variant in enumerate(VARIANTS):
            scores = np.array([accuracies(task, variant, seed) for seed in range(n_seeds)])
            mean, spread = scores.mean(axis=0), scores.std(axis=0, ddof=1)
            print(f"{title:26} {variant[0]:4} {variant[1]:5} {mean[0]:6.1f} +- {spread[0]:4.1f}   "
                  f"every vector four times {mean[1]:6.1f} +- {spread[1]:4.1f}", flush=True)  # fmt: skip
            color, marker = LOOK[variant]
            axes.plot(scores[:, 1], np.full(n_seeds, row + 0.17), marker, mec=color, mfc="none", ms=6, clip_on=False)
            axes.plot(scores[:, 0], np.full(n_seeds, row - 0.17), marker, mec=color, mfc=color, ms=6, clip_on=False)
        axes.axvline(50, color=GREY, lw=0.8, ls=":")
        axes.set_title(title, fontsize=10)
        axes.set(xlim=(42, 101), xticks=[50, 75, 100], xlabel="accuracy (%)")
        axes.grid(axis="y", color="#DDDDDD")
        axes.set_axisbelow(True)
    panels[0].set_yticks(range(4), [", ".join(variant) for variant in VARIANTS])
    panels[0].set_ylim(3.6, -0.6)
    handles = [mpl.lines.Line2D([], [], marker="o", ls="", mec=GREY, mfc=fill) for fill in (GREY, "none")]
    figure.legend(handles, ["test sets like the training sets", "the same, with every vector repeated four times"],
                  loc="outside lower center", ncols=2)  # fmt: skip
    save(figure, "variants")


def accuracies(task, variant, seed):
    """Return the accuracy, in percent, on 1000 test sets as drawn, and with every vector four times."""
    rng = np.random.default_rng(seed)
    train, y_train = draw_sets(task, 500, rng)
    test, y_test = draw_sets(task, 1000, rng)
    # Large initial weights, because the soft variants begin on a plateau.
    model = ClassSetRBMCV(
        n_hidden=30, constraint=variant[0], pooling=variant[1], learning_rate=(0.03, 0.1), init_scale=1.0,
        max_epochs=400, patience=None, random_state=seed,
    ).fit(train, y_train)  # fmt: skip
    return 100 * model.score(test, y_test), 100 * model.score(repeated(test, 4), y_test)


def draw_choosing():
    """Draw held-out likelihood and held-out error of one training run on Musk1."""
    bags, y = load_musk1()
    model = ClassSetRBM(learning_rate=0.01, patience=None, max_epochs=300, random_state=1).fit(bags, y)
    history = model.history_
    epochs = np.arange(1, len(history["loss"]) + 1)
    figure = new_figure(8.0, 3.2)
    likelihood, error = figure.subplots(1, 2)
    likelihood.plot(epochs, history["loss"], color=GREY, lw=1.5, ls="--", label="training sets")
    likelihood.plot(epochs, history["held_out_loss"], color=BLUE, lw=2, label="held-out sets")
    likelihood.plot(model.best_epoch_, min(history["held_out_loss"]), "o", color=RED, ms=8, label="kept")
    likelihood.set(xlabel="epoch", ylabel=r"mean $-\log p(y\mid X)$", ylim=(0, None))
    likelihood.set_title('stopping="likelihood"', fontsize=10)
    likelihood.legend()
    wrong = 100 * np.array(history["held_out_error"])
    error.plot(epochs, wrong, color=ORANGE, lw=2, drawstyle="steps-mid")
    lowest = np.flatnonzero(wrong == wrong.min())
    error.plot(lowest + 1, wrong[lowest], ".", color=RED, ms=4, label=f"{len(lowest)} epochs tie")
    error.set(xlabel="epoch", ylabel="held-out error (%)", ylim=(0, None))
    error.set_title('stopping="error"', fontsize=10)
    error.legend()
    print(f"choosing: best epoch {model.best_epoch_}, {len(lowest)} epochs share the least error {wrong.min():.1f}")
    save(figure, "choosing")


def draw_reject_guarantee():
    """Draw how often the reject option broke its promise, and how much it accepted, from the recorded results."""
    with open(RESULTS / "reject_guarantee.csv", newline="", encoding="utf-8") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    figure = new_figure(8.0, 3.3)
    broken, coverage = figure.subplots(1, 2)
    for precision, color, marker in ((0.9, SKY, "o"), (0.95, BLUE, "s"), (0.98, RED, "D")):
        own = [row for row in rows if row["precision"] == precision]
        n = [row["held_out"] for row in own]
        style = {"color": color, "marker": marker, "ms": 6, "lw": 2, "clip_on": False}
        broken.plot(n, [100 * row["broken"] for row in own], label=f"precision {precision:.2f}", **style)
        coverage.plot(n, [100 * row["mean_coverage"] for row in own], **style)
        coverage.axhline(100 * own[0]["hindsight_coverage"], color=color, lw=1, ls="--")
        for row in own:
            print(f"{precision:.2f} {row['held_out']:6.0f}  broken {row['broken']:.3f}  refused {row['refused']:.3f}  "
                  f"coverage {row['mean_coverage']:.3f} of {row['hindsight_coverage']:.3f}")  # fmt: skip
    broken.axhline(5, color=GREY, lw=1, ls=":")
    broken.text(500, 5.15, "allowed", color=GREY, fontsize=9)
    broken.set(ylabel="promises broken (%)", ylim=(0, 7))
    broken.legend(loc="upper right")
    coverage.set(ylabel="sets accepted (%)", ylim=(0, 105))
    coverage.text(20_000, 19, "dashed: best in hindsight", color=GREY, fontsize=9, ha="right")
    for axes in (broken, coverage):
        axes.set(xscale="log", xlabel="held-out sets", xticks=n, xticklabels=[f"{int(k):,}" for k in n])
        axes.minorticks_off()
        axes.tick_params(axis="x", labelsize=8)
    save(figure, "reject_guarantee")


PICTURES = {
    "model": draw_model,
    "explain": draw_explanation,
    "pools": draw_pools,
    "variants": draw_variants,
    "choosing": draw_choosing,
    "reject_guarantee": draw_reject_guarantee,
}

if __name__ == "__main__":
    for picture in sys.argv[1:] or PICTURES:
        PICTURES[picture]()
