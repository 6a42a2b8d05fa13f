"""Time of a prediction.

``predict_proba`` on one thread, compared with the forward product alone (scipy's CSR times dense, one thread), which no
prediction can avoid; also on all cores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from _bars import SECONDS
from _harness import Benchmark, interleave, mail_sets, require_agreement, wall
from _machine import cores
from setrbm import Bags, ClassSetRBM
from setrbm.energy import free_energy_of_pool
from setrbm.pooling.pools import set_pool

N_SETS, QUICK_SETS = 14_593, 1_000
N_HIDDEN = 100
# Each is run as often in a row; the mean counts.
TIMES = 2
VARIANTS = {"XOR*": ("xor", "hard"), "XOR soft": ("xor", "soft"), "OR soft": ("or", "soft"), "OR*": ("or", "hard")}
# The largest difference of two probabilities, float32 against float64.
TOLERANCE = 1e-4


def fitted(variant: str, bags: Bags, y: np.ndarray) -> ClassSetRBM:
    constraint, pooling = VARIANTS[variant]
    settings = {"constraint": constraint, "pooling": pooling, "early_stopping": False, "random_state": 0, "n_jobs": 1}
    return ClassSetRBM(N_HIDDEN, max_epochs=1, **settings).fit(bags, y)


def check(variant: str, model: ClassSetRBM, bags: Bags) -> None:
    """The probabilities must be those that follow from the forward product."""
    few = bags[:500]
    params = model._params().astype(np.float64)
    a = few.X.astype(np.float64) @ params.W.T + params.c
    pool, _ = set_pool(a, few.offsets, *VARIANTS[variant])
    expected = softmax(-free_energy_of_pool(pool, params), axis=1)
    apart = float(np.abs(model.predict_proba(few) - expected).max())
    require_agreement(f"predict_proba of {variant} and the formula", apart, TOLERANCE)


def predict(model: ClassSetRBM, bags: Bags, n_jobs: int) -> float:
    model.set_params(n_jobs=n_jobs)
    return wall(lambda: model.predict_proba(bags), TIMES)


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    bags, y = mail_sets(QUICK_SETS if bench.quick else N_SETS)
    sizes = f"{len(bags):,} sets, {bags.n_vectors:,} vectors, {N_HIDDEN} hidden units, float32"
    models = {variant: fitted(variant, bags, y) for variant in VARIANTS}
    W = np.ascontiguousarray(models["XOR*"].W_.T)
    contenders = {"forward product": lambda: wall(lambda: bags.X @ W, TIMES)}
    for variant, model in models.items():
        check(variant, model, bags)
        contenders[variant] = lambda m=model: predict(m, bags, 1)
        contenders[f"{variant}, all cores"] = lambda m=model: predict(m, bags, cores())
    seconds = interleave(contenders, bench.rounds)
    floor = seconds["forward product"]
    for variant in VARIANTS:
        bench.add(f"{variant} predict_proba ÷ forward product", seconds[variant] / floor, bar="predict", sizes=sizes)
    for variant in VARIANTS:
        values = seconds[f"{variant}, all cores"] / floor
        bench.add(f"{variant} predict_proba on all cores ÷ forward product", values, threads=cores(), sizes=sizes)
    bench.add("forward product", floor, SECONDS, sizes=sizes)
    bench.add("XOR* predict_proba", seconds["XOR*"], SECONDS, sizes=sizes)
    bench.finish()


if __name__ == "__main__":
    main()
