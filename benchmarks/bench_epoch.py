"""How long is one epoch at one set a step, beside the forward product that no epoch can do without?

The public ``fit`` with its default rates, on one thread; the cost of one epoch is the difference of two fits. The floor
is scipy's CSR matrix of all vectors times a dense (n_features, n_hidden) matrix, which runs on one thread.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from _bars import SECONDS
from _harness import (
    Benchmark,
    epoch_seconds,
    fitted_params,
    interleave,
    mail_sets,
    require_agreement,
    start_params,
    wall,
    way_apart,
)

from setrbm import Bags, ClassSetRBM

N_SETS, QUICK_SETS = 14_593, 1_000
N_HIDDEN = 100
EPOCHS, QUICK_EPOCHS = (1, 5), (1, 9)
# The floor is run as often in a row, so that it and four epochs see about as much of the machine.
PRODUCTS = 4
VARIANTS = {
    "XOR*": ("xor", "hard", "epoch-xor-hard"),
    "XOR soft": ("xor", "soft", "epoch-soft"),
    "OR soft": ("or", "soft", "epoch-soft"),
    "OR*": ("or", "hard", ""),
}
# The engine is held against the obvious one on so many sets; float32 against float64, as a part of the way gone.
CHECKED_SETS, TOLERANCE = 30, 1e-3


def model(variant: str, max_epochs: int, **settings: object) -> ClassSetRBM:
    constraint, pooling, _ = VARIANTS[variant]
    return ClassSetRBM(
        N_HIDDEN, constraint=constraint, pooling=pooling, max_epochs=max_epochs, early_stopping=False, n_jobs=1,
        random_state=0, **settings,
    )  # fmt: skip


def check(variant: str, bags: Bags, y: np.ndarray) -> None:
    """One epoch over a few sets must end where the reference engine ends."""
    few, labels = bags[:CHECKED_SETS], y[:CHECKED_SETS]
    ours = model(variant, 1).fit(few, labels)
    obvious = model(variant, 1, engine="reference").fit(few, labels)
    start = start_params(ours, bags.shape[1], len(ours.classes_))
    apart = way_apart(fitted_params(ours), fitted_params(obvious), start)
    require_agreement(f"an epoch of {variant} and of the reference engine", apart, TOLERANCE)


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    bags, y = mail_sets(QUICK_SETS if bench.quick else N_SETS)
    short, long = QUICK_EPOCHS if bench.quick else EPOCHS
    sizes = f"{len(bags):,} sets, {bags.n_vectors:,} vectors, {N_HIDDEN} hidden units, float32"
    for variant in VARIANTS:
        check(variant, bags, y)
    W = np.random.default_rng(0).standard_normal((bags.shape[1], N_HIDDEN), dtype=np.float32)
    contenders = {"forward product": lambda: wall(lambda: bags.X @ W, PRODUCTS)}
    for variant in VARIANTS:
        contenders[variant] = lambda v=variant: epoch_seconds(lambda n: model(v, n).fit(bags, y), short, long)
    seconds = interleave(contenders, bench.rounds)
    floor = seconds["forward product"]
    for variant, (_, _, bar) in VARIANTS.items():
        bench.add(f"{variant} epoch ÷ forward product", seconds[variant] / floor, bar=bar, sizes=sizes)
    for name, values in seconds.items():
        bench.add(f"{name}, one pass", values, SECONDS, sizes=sizes)
    bench.finish()


if __name__ == "__main__":
    main()
