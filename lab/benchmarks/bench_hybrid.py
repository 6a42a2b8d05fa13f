"""Cost of hybrid training.

A hybrid epoch, which also learns the inputs, compared with a discriminative one. Contrastive divergence draws every
input of every vector, including zeros, so it cannot be as cheap as sparse data suggest. The public ``fit`` on one
thread; an epoch is the difference of two fits, so it is the second one. The first epoch is shown as well: while the
weights are random, reconstructions have many more ones than the data, which takes longer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from _bars import SECONDS
from _harness import (
    Benchmark,
    Contender,
    fitted_params,
    interleave,
    mail_sets,
    require_agreement,
    wall,
    way_apart,
)
from setrbm import Bags, ClassSetRBM

N_SETS, QUICK_SETS = 1_500, 100
N_HIDDEN = 100
# The differences of a quick run are over more epochs, since it has fewer sets.
EPOCHS = {"discriminative": (1, 9), "hybrid": (1, 2)}
QUICK_EPOCHS = {"discriminative": (1, 41), "hybrid": (1, 4)}
VARIANTS = {"XOR soft": ("xor", "soft"), "XOR*": ("xor", "hard"), "OR soft": ("or", "soft")}
# Both engines draw the same random numbers; in float64 so that none falls on the other side of its threshold.
CHECKED_SETS, CHECKED_RATE, TOLERANCE = 6, 0.01, 1e-6


def model(variant: str, objective: str, max_epochs: int, **settings: object) -> ClassSetRBM:
    constraint, pooling = VARIANTS[variant]
    return ClassSetRBM(
        N_HIDDEN, constraint=constraint, pooling=pooling, objective=objective, max_epochs=max_epochs,
        early_stopping=False, n_jobs=1, random_state=0, **settings,
    )  # fmt: skip


def check(variant: str, bags: Bags, y: np.ndarray) -> None:
    """One hybrid epoch over a few sets must end where the reference engine ends."""
    # A few hundred words keep the reference engine, and its dense reconstructions, quick.
    few = bags[:CHECKED_SETS].with_vectors(bags[:CHECKED_SETS].X[:, :400].astype(np.float64))
    first, second, obvious = (
        model(variant, "hybrid", n, engine=engine, learning_rate=CHECKED_RATE).fit(few, y[:CHECKED_SETS])
        for n, engine in ((1, "cpu"), (2, "cpu"), (2, "reference"))
    )
    apart = way_apart(fitted_params(second), fitted_params(obvious), fitted_params(first))
    require_agreement(f"hybrid epochs of {variant} and of the reference engine", apart, TOLERANCE)


def epoch_of(
    variant: str, objective: str, quick: bool, bags: Bags, y: np.ndarray, first_fits: dict[str, list[float]]
) -> Contender:
    """Return a contender that times an epoch as a difference of two fits, and notes the seconds of the shorter."""
    short, long = (QUICK_EPOCHS if quick else EPOCHS)[objective]
    noted = first_fits.setdefault(f"{variant} {objective}", [])

    def run() -> float:
        noted.append(wall(lambda: model(variant, objective, short).fit(bags, y)))
        return (wall(lambda: model(variant, objective, long).fit(bags, y)) - noted[-1]) / (long - short)

    return run


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    bags, y = mail_sets(QUICK_SETS if bench.quick else N_SETS)
    sizes = f"{len(bags):,} sets, {bags.n_vectors:,} vectors, {N_HIDDEN} hidden units, float32"
    contenders: dict[str, Contender] = {}
    first_fits: dict[str, list[float]] = {}
    for variant in VARIANTS:
        check(variant, bags, y)
        for objective in EPOCHS:
            contenders[f"{variant} {objective}"] = epoch_of(variant, objective, bench.quick, bags, y, first_fits)
    seconds = interleave(contenders, bench.rounds)
    for variant in VARIANTS:
        ratio = seconds[f"{variant} hybrid"] / seconds[f"{variant} discriminative"]
        bar = "hybrid" if variant.startswith("XOR") else ""
        bench.add(f"{variant}, hybrid epoch ÷ discriminative epoch", ratio, bar=bar, sizes=sizes)
    for variant in VARIANTS:
        # What a first hybrid epoch costs beyond a discriminative one; what else a fit does is the same in both.
        more = np.subtract(first_fits[f"{variant} hybrid"], first_fits[f"{variant} discriminative"])[1:]
        ratio = 1.0 + more / seconds[f"{variant} discriminative"]
        bench.add(f"{variant}, first hybrid epoch ÷ discriminative epoch", ratio, sizes=sizes)
    for name, values in seconds.items():
        bench.add(f"{name} epoch", values, SECONDS, sizes=sizes)
    bench.finish()


if __name__ == "__main__":
    main()
