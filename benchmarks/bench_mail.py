"""A collection of mail.

How long does one fit of ClassSetRBM XOR* take on 14,593 pieces of mail (``make_mail_like``: 102,071 pages, 11 classes),
and how long would an SVM with the miGraph kernel take? XOR* has 100 hidden units and the settings of its row in
Table 2, which are not chosen here. The SVM is fitted to growing samples; its time for all mail is extrapolated by the
power of the number of sets that fits the two largest samples. Accuracies are on 2,000 other pieces of mail.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from _bars import COUNT, SECONDS
from _harness import Benchmark, wall
from _machine import cores

from setrbm import ClassSetRBM
from setrbm.datasets import make_mail_like
from setrbm.estimators import SetSVC

N_SETS, QUICK_SETS = 14_593, 300
SAMPLES, QUICK_SAMPLES = (2_000, 4_000, 8_000), (60, 120)
N_TEST = 2_000
EPOCHS, QUICK_EPOCHS = 30, 2
ROUNDS = 5


def extrapolated(n: Sequence[int], seconds: Sequence[float], target: int) -> float:
    """Return the time for a target size by the power law through the last two sizes."""
    power = np.log(seconds[-1] / seconds[-2]) / np.log(n[-1] / n[-2])
    return float(seconds[-1] * (target / n[-1]) ** power)


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    n_sets, epochs = (QUICK_SETS, QUICK_EPOCHS) if bench.quick else (N_SETS, EPOCHS)
    bags, y = make_mail_like(n_sets, random_state=0)
    test, y_test = make_mail_like(QUICK_SETS if bench.quick else N_TEST, random_state=1)
    sizes = f"{n_sets:,} sets, {bags.n_vectors:,} vectors, {bags.X.nnz:,} entries"
    model = ClassSetRBM(
        100, learning_rate=0.03, init_scale=0.1, max_epochs=epochs, early_stopping=False, scale=None, n_jobs=1,
        random_state=0,
    )  # fmt: skip
    model.fit(bags[:100], np.arange(100) % 2)
    seconds = [wall(lambda: model.fit(bags, y)) for _ in range(2 if bench.quick else ROUNDS)]
    what = f"fit of ClassSetRBM XOR*, {epochs} epochs"
    bench.add(what, seconds, SECONDS, "mail-fit", sizes=sizes)
    bench.add("accuracy of ClassSetRBM XOR*", model.score(test, y_test), COUNT, sizes=sizes)
    times, samples = [], QUICK_SAMPLES if bench.quick else SAMPLES
    for n in samples:
        machine = SetSVC("migraph", C=10.0, scale=None, memory_mib=4096)
        times.append(wall(lambda machine=machine, n=n: machine.fit(bags[:n], y[:n])))
        bench.add(f"fit of SVM-miGraph, {n:,} sets", times[-1], SECONDS, threads=cores(), sizes=f"{n:,} sets")
    bench.add(f"accuracy of SVM-miGraph, {samples[-1]:,} sets", machine.score(test, y_test), COUNT, sizes=f"{n:,} sets")
    all_of_it = extrapolated(samples, times, n_sets)
    bench.add("fit of SVM-miGraph, extrapolated", all_of_it, SECONDS, threads=cores(), sizes=f"{n_sets:,} sets")
    bench.finish()


if __name__ == "__main__":
    main()
