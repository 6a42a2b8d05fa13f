"""Import and first fit.

Each in a new process. The import is compared with ``import sklearn.base``. The first fit in a new environment has to
compile the kernels; its time includes everything that ``fit`` does, such as loading numba. In later processes the
compiled kernels are cached; imports are not counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import numpy as np

from _bars import COUNT, RATIO, SECONDS
from _harness import Benchmark, interleave

STATEMENTS = {"setrbm": "from setrbm import ClassSetRBM", "sklearn": "import sklearn.base"}
TIMED_IMPORT = """
import json, sys, time
begin = time.perf_counter()
{statement}
seconds = time.perf_counter() - begin
print(json.dumps([seconds, sum(name.split(".")[0] == "numba" for name in sys.modules)]))
"""
TIMED_FIT = """
import json, time
import numpy as np
from setrbm import ClassSetRBM
from setrbm.datasets import load_musk1
bags, y = load_musk1()
bags = bags.with_vectors(bags.X.astype(np.{dtype}))
model = ClassSetRBM(objective="{objective}", max_epochs=2, n_jobs=1, random_state=0)
{imports}
begin = time.perf_counter()
model.fit(bags, y)
print(json.dumps(time.perf_counter() - begin))
"""
# What a later process imports before its fit is timed.
ENGINE = "import setrbm.engines.cpu"
# Rounds with an empty cache; the hybrid objective, which compiles more kernels, is tried once, in a full run only.
ROUNDS_FIRST, QUICK_ROUNDS_FIRST = 7, 1


def run(code: str, **environment: str) -> object:
    """Return what a new process prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ | environment
    )
    return json.loads(done.stdout)


def import_seconds(name: str) -> float:
    return run(TIMED_IMPORT.format(statement=STATEMENTS[name]))[0]


def fits(objective: str, dtype: str = "float64") -> tuple[float, float]:
    """Return the seconds of the first fit ever, and of the first fit of a later process."""
    with tempfile.TemporaryDirectory() as cache:
        first = TIMED_FIT.format(objective=objective, dtype=dtype, imports="")
        later = TIMED_FIT.format(objective=objective, dtype=dtype, imports=ENGINE)
        return tuple(run(code, NUMBA_CACHE_DIR=cache) for code in (first, later))


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    seconds = interleave({name: lambda n=name: import_seconds(n) for name in STATEMENTS}, bench.rounds)
    loaded = run(TIMED_IMPORT.format(statement=STATEMENTS["setrbm"]))[1]
    bench.add(
        f"{STATEMENTS['setrbm']} ÷ {STATEMENTS['sklearn']}", seconds["setrbm"] / seconds["sklearn"], RATIO, "import"
    )
    bench.add("numba modules loaded by the import", loaded, COUNT, "import-numba")
    for name, values in seconds.items():
        bench.add(STATEMENTS[name], values, SECONDS)
    n_rounds = QUICK_ROUNDS_FIRST if bench.quick else ROUNDS_FIRST
    first, later = np.transpose([fits("discriminative") for _ in range(n_rounds)])
    sizes = "Musk1, 2 epochs, float64"
    bench.add("first fit in a new environment, discriminative", first, SECONDS, "first-fit", sizes=sizes)
    bench.add("first fit in a later process, discriminative", later, SECONDS, "later-fit", sizes=sizes)
    if not bench.quick:
        first, later = fits("hybrid")
        bench.add("first fit in a new environment, hybrid", first, SECONDS, "first-fit", sizes=sizes)
        bench.add("first fit in a later process, hybrid", later, SECONDS, "later-fit", sizes=sizes)
    bench.finish()


if __name__ == "__main__":
    main()
