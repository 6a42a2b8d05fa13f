"""A collection of mail.

How long does one fit of ClassSetRBM XOR* take on 14,593 pieces of mail (``make_mail_like``: 102,071 pages, 11 classes),
and how long would an SVM with the miGraph kernel take? XOR* has 100 hidden units and the settings of its row in
Table 2, which are not chosen here. The SVM is fitted to growing samples; its time for all mail is extrapolated by the
power of the number of sets that fits the samples best (least squares of the logarithms). Three samples tell little
about this exponent, so both ends of the 95% interval of the extrapolated time are given. Accuracies are on 2,000 other
pieces of mail.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import linregress
from scipy.stats import t as student

from _bars import COUNT, SECONDS
from _harness import Benchmark, wall
from _machine import cores
from setrbm import ClassSetRBM
from setrbm.datasets import make_mail_like
from setrbm.estimators import SetSVC

N_SETS, QUICK_SETS = 14_593, 300
SAMPLES, QUICK_SAMPLES = (2_000, 4_000, 8_000), (60, 90, 120)
N_TEST = 2_000
EPOCHS, QUICK_EPOCHS = 30, 2
ROUNDS = 5


def power_law(n: Sequence[int], seconds: Sequence[float], target: int) -> dict[str, float]:
    """Return the exponent of n that fits the seconds best, and the time for a target size, with their errors."""
    x, y = np.log(n), np.log(seconds)
    line = linregress(x, y)
    freedom = len(n) - 2
    residual = np.sqrt(np.sum((y - line.intercept - line.slope * x) ** 2) / freedom)
    away = np.log(target) - x.mean()
    error = residual * np.sqrt(1 + 1 / len(n) + away**2 / np.sum((x - x.mean()) ** 2))
    likely, margin = line.intercept + line.slope * np.log(target), student.ppf(0.975, freedom) * error
    return {
        "exponent": float(line.slope),
        "exponent, standard error": float(line.stderr),
        "extrapolated": float(np.exp(likely)),
        "extrapolated, lower end": float(np.exp(likely - margin)),
        "extrapolated, upper end": float(np.exp(likely + margin)),
    }


def add_power_law(bench: Benchmark, n: Sequence[int], seconds: Sequence[float], target: int) -> None:
    """Add what the times of samples say about the time for all sets."""
    for name, value in power_law(n, seconds, target).items():
        unit, sizes = (
            (SECONDS, f"{target:,} sets") if "extrapolated" in name else (COUNT, f"{n[0]:,} to {n[-1]:,} sets")
        )
        bench.add(f"fit of SVM-miGraph, {name}", value, unit, threads=cores(), sizes=sizes)


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
    add_power_law(bench, samples, times, n_sets)
    bench.finish()


if __name__ == "__main__":
    main()
