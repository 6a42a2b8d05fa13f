"""Time of a training epoch.

One set per step, compared with the forward product alone, which no epoch can avoid: scipy's CSR matrix of all vectors
times a dense (n_features, n_hidden) matrix, on one thread. The epoch is that of the public ``fit`` with its default
rates, as the difference of two fits. One model trains on one thread.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from _bars import SECONDS
from _harness import (
    Benchmark,
    Contender,
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
EPOCHS, QUICK_EPOCHS = (1, 4), (1, 9)
# The floor is run as often in a row, so that it and three epochs see about as much of the machine.
PRODUCTS = 3
VARIANTS = {
    "XOR*": ("xor", "hard", "epoch-xor-hard"),
    "XOR soft": ("xor", "soft", "epoch-soft"),
    "OR soft": ("or", "soft", "epoch-soft"),
    "OR*": ("or", "hard", ""),
}
# The engine is compared with the reference on this many sets; float32 with float64, relative to the distance moved.
CHECKED_SETS, TOLERANCE = 30, 1e-3


def model(variant: str, max_epochs: int, **settings: object) -> ClassSetRBM:
    constraint, pooling, _ = VARIANTS[variant]
    return ClassSetRBM(
        N_HIDDEN, constraint=constraint, pooling=pooling, max_epochs=max_epochs, early_stopping=False, n_jobs=1,
        random_state=0, **settings,
    )  # fmt: skip


def epoch_of(variant: str, bags: Bags, y: np.ndarray, epochs: tuple[int, int]) -> Contender:
    return lambda: epoch_seconds(lambda n: model(variant, n).fit(bags, y), *epochs)


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
    epochs = QUICK_EPOCHS if bench.quick else EPOCHS
    sizes = f"{len(bags):,} sets, {bags.n_vectors:,} vectors, {N_HIDDEN} hidden units, float32"
    for variant in VARIANTS:
        check(variant, bags, y)
    W = np.random.default_rng(0).standard_normal((bags.shape[1], N_HIDDEN), dtype=np.float32)
    contenders = {"forward product": lambda: wall(lambda: bags.X @ W, PRODUCTS)}
    contenders |= {variant: epoch_of(variant, bags, y, epochs) for variant in VARIANTS}
    seconds = interleave(contenders, bench.rounds)
    for variant, (_, _, bar) in VARIANTS.items():
        bench.add(
            f"{variant} epoch ÷ forward product", seconds[variant] / seconds["forward product"], bar=bar, sizes=sizes
        )
    for name, values in seconds.items():
        bench.add(f"{name}, one pass", values, SECONDS, sizes=sizes)
    bench.finish()


if __name__ == "__main__":
    main()
