"""Scaling with the number of sets.

Does an epoch over ten times the sets take ten times as long? One epoch of XOR* by the public ``fit`` on one thread, as
a difference of two fits. Two comparisons: up to the size of the paper's mail data, where the smaller data fit into the
processor's cache; and from there to ten times as many sets, which are copies at different places in memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from _bars import SECONDS
from _harness import Benchmark, epoch_seconds, interleave, mail_sets
from setrbm import Bags, ClassSetRBM

N_SETS, QUICK_SETS = 14_593, 500
N_HIDDEN = 100
TIMES = 10
# Each difference of two fits covers at least this many visits of sets, whatever the number of sets.
VISITS, QUICK_VISITS = 60_000, 15_000


def repeated(bags: Bags, y: np.ndarray, times: int) -> tuple[Bags, np.ndarray]:
    """Return the sets, repeated."""
    X = sparse.csr_array(sparse.vstack([bags.X] * times, format="csr"))
    starts = np.concatenate([bags.offsets[:-1] + k * bags.n_vectors for k in range(times)])
    return Bags(X, np.append(starts, times * bags.n_vectors)), np.tile(y, times)


def epoch(bags: Bags, y: np.ndarray, visits: int) -> float:
    def fit(max_epochs: int) -> object:
        # Words need no scaling; preparing a million vectors for it would blur the difference of two fits.
        return ClassSetRBM(
            N_HIDDEN, max_epochs=max_epochs, early_stopping=False, scale=None, n_jobs=1, random_state=0
        ).fit(bags, y)

    return epoch_seconds(fit, 1, 1 + math.ceil(visits / len(bags)))


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    bags, y = mail_sets(QUICK_SETS if bench.quick else N_SETS)
    n = len(bags) // TIMES * TIMES
    data = {"full": (bags[:n], y[:n])}
    data["tenth"] = tuple(part[: n // TIMES] for part in data["full"])
    data["tenfold"] = repeated(*data["full"], TIMES)
    visits = QUICK_VISITS if bench.quick else VISITS
    seconds = interleave({name: lambda sets=sets: epoch(*sets, visits) for name, sets in data.items()}, bench.rounds)
    for small, large in (("tenth", "full"), ("full", "tenfold")):
        few, many = len(data[small][0]), len(data[large][0])
        ratio = seconds[large] / seconds[small]
        bench.add(
            f"epoch over {many:,} sets ÷ epoch over {few:,} sets",
            ratio,
            bar="scaling",
            sizes=f"{N_HIDDEN} hidden units, float32",
        )
    for name, values in seconds.items():
        sets = data[name][0]
        sizes = f"{len(sets):,} sets, {sets.n_vectors:,} vectors, {N_HIDDEN} hidden units, float32"
        bench.add(f"one epoch over {len(sets):,} sets", values, SECONDS, sizes=sizes)
    bench.finish()


if __name__ == "__main__":
    main()
