"""Memory used by a fit.

The growth of peak memory in a second ``fit`` of a process, beyond four times the parameters. In a process of its own,
the data are loaded, and a first fit of a few sets with one hidden unit loads the kernels. Then the peak of resident
memory during a second fit, of full size and with the default early stopping, is compared with the resident memory just
before it; and the same for a third fit, to detect leaks. On Linux the peak is reset in between; elsewhere the growth of
the peak of the whole process is used.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from _bars import MIB
from _harness import Benchmark, mail_sets, read_sets, write_sets
from _memory import MEBI, growth_in

N_SETS, QUICK_SETS = 14_593, 1_000
N_HIDDEN = 100
MAX_EPOCHS = 3
FIRST_SETS = 50


def measure(path: Path) -> dict[str, float]:
    """Fit three times, and return what the second and the third fit added, in MiB."""
    from setrbm import ClassSetRBM

    bags, y = read_sets(path)
    settings = {"max_epochs": MAX_EPOCHS, "n_jobs": 1, "random_state": 0}
    ClassSetRBM(1, **settings).fit(bags[:FIRST_SETS], y[:FIRST_SETS])
    second, third = ClassSetRBM(N_HIDDEN, **settings), ClassSetRBM(N_HIDDEN, **settings)
    growth = {"second": growth_in(lambda: second.fit(bags, y)), "third": growth_in(lambda: third.fit(bags, y))}
    parameters = sum(np.asarray(getattr(second, f"{letter}_")).nbytes for letter in "WUbcd") / MEBI
    return {name: grown - 4.0 * parameters for name, grown in growth.items()} | {"parameters": parameters}


def measure_apart(path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    bags, y = mail_sets(QUICK_SETS if bench.quick else N_SETS)
    sizes = f"{len(bags):,} sets, {bags.n_vectors:,} vectors, {N_HIDDEN} hidden units, float32"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sets.npz"
        write_sets(path, bags, y)
        runs = [measure_apart(path) for _ in range(1 if bench.quick else bench.rounds)]
    sizes += f"; parameters {runs[0]['parameters']:.1f} MiB"
    for name in ("second", "third"):
        growth = [run[name] for run in runs]
        bench.add(f"{name} fit, growth beyond 4 x the parameters", growth, MIB, "memory", sizes=sizes)
    bench.add("size of the data", _size_of(bags), MIB, sizes=sizes)
    bench.finish()


def _size_of(bags: object) -> float:
    return (bags.X.data.nbytes + bags.X.indices.nbytes + bags.X.indptr.nbytes) / MEBI


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(Path(sys.argv[2]))))
    else:
        main()
