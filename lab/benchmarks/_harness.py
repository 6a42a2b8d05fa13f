"""What all benchmarks share: data, interleaved timing, agreement before timing, rows of results, CSV and picture."""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

import _zipf_sets
from _bars import BARS, RATIO
from _machine import Watch, commit, cores, machine, versions
from _picture import draw_rows
from _zipf_sets import make_zipf_sets
from setrbm import Bags
from setrbm.energy import Params, initial_params

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
# A quick run shows that it works, not how fast it is: few rounds, kept apart from the results.
ROUNDS, QUICK_ROUNDS = 7, 3
# From this number of sets on, generated data are kept on disk.
WORTH_KEEPING = 5_000

Seconds = npt.NDArray[np.float64]
Contender = Callable[[], float]


# --- data ---


def mail_sets(n_sets: int) -> tuple[Bags, npt.NDArray[np.int64]]:
    """Return mail-like sets with seed 0; large ones are kept on disk until their generator changes."""
    if n_sets < WORTH_KEEPING:
        return make_zipf_sets(n_sets, random_state=0)
    source = hashlib.sha256(Path(_zipf_sets.__file__).read_bytes()).hexdigest()[:12]
    path = FOLDER / ".cache" / f"mail_like_{n_sets}_{source}.npz"
    if not path.exists():
        write_sets(path, *make_zipf_sets(n_sets, random_state=0))
    return read_sets(path)


def write_sets(path: Path, bags: Bags, y: npt.NDArray[np.int64]) -> None:
    """Write sparse sets to a file of arrays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    X = bags.X
    unfinished = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(unfinished, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, offsets=bags.offsets, y=y)
    unfinished.replace(path)


def read_sets(path: Path) -> tuple[Bags, npt.NDArray[np.int64]]:
    """Read what ``write_sets`` wrote."""
    with np.load(path) as file:
        X = sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
        return Bags(X, file["offsets"]), file["y"]


# --- timing ---


def wall(job: Callable[[], object], times: int = 1) -> float:
    """Return the seconds one run of a job takes, as the mean of several in a row."""
    begin = time.perf_counter()
    for _ in range(times):
        job()
    return (time.perf_counter() - begin) / times


def epoch_seconds(fit: Callable[[int], object], short: int = 1, long: int = 5) -> float:
    """Return the cost of one epoch as a difference of two fits; ``fit`` takes the number of epochs."""
    few = wall(lambda: fit(short))
    many = wall(lambda: fit(long))
    return (many - few) / (long - short)


def interleave(contenders: dict[str, Contender], rounds: int) -> dict[str, Seconds]:
    """Return the seconds of every contender in every round.

    A contender returns the seconds it took. All run once uncounted. Then, round by round, each runs once, and every
    round begins with another one, so that disturbances by other processes affect all of them.
    """
    names = list(contenders)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for r in range(rounds + 1):
        first = r % len(names)
        for name in names[first:] + names[:first]:
            seconds[name].append(contenders[name]())
    return {name: np.array(values[1:]) for name, values in seconds.items()}


# --- agreement ---


def start_params(model: object, n_features: int, n_classes: int, dtype: npt.DTypeLike = np.float32) -> Params:
    """Return the parameters a fitted discriminative model started from."""
    return initial_params(n_features, model.n_hidden, n_classes, model.init_scale, model.seed_, dtype)


def fitted_params(model: object) -> Params:
    """Return a copy of a fitted model's parameters."""
    return Params(*(np.array(getattr(model, f"{letter}_")) for letter in "WUbcd"))


def way_apart(ours: Params, theirs: Params, start: Params) -> float:
    """Return the distance between two trained models, relative to how far ours moved from the common start."""

    def distance(a: Params, b: Params) -> float:
        parts = [(getattr(a, f.name).astype(np.float64) - getattr(b, f.name)).ravel() for f in fields(Params)]
        return float(np.linalg.norm(np.concatenate(parts)))

    return distance(ours, theirs) / distance(ours, start)


def require_agreement(what: str, difference: float, tolerance: float) -> None:
    """Say how well two contenders agree; raise ValueError if they do not, before anything is timed."""
    if not difference <= tolerance:
        raise ValueError(f"{what} must agree to {tolerance:g} before they are timed. Got {difference:g}.")
    print(f"  agree: {what}, to {difference:.1e} (limit {tolerance:g})", flush=True)


# --- results ---


@dataclass(frozen=True)
class Row:
    """One measured value: the median of the rounds, and their quartiles.

    ``others`` is how many cores other processes kept busy meanwhile, on average; NaN where that is not known.
    ``commit`` is the commit that was measured.
    """

    benchmark: str
    what: str
    value: float
    low: float
    high: float
    unit: str
    bar: str
    threads: int
    sizes: str
    rounds: int
    quick: bool
    date: str
    others: float
    machine: str
    versions: str
    commit: str = "unknown"

    @property
    def met(self) -> bool | None:
        """Whether the row's bar is met; None for a row without one."""
        return BARS[self.bar].is_met(self.value) if self.bar else None


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [_row(record) for record in csv.DictReader(file)]


def _row(record: dict[str, str]) -> Row:
    numbers = {name: float(record[name]) for name in ("value", "low", "high", "others")}
    counts = {name: int(record[name]) for name in ("threads", "rounds")}
    return Row(**record | numbers | counts | {"quick": record["quick"] == "True"})


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows to a CSV file, one line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            numbers = {name: f"{getattr(row, name):.6g}" for name in ("value", "low", "high", "others")}
            writer.writerow(asdict(row) | numbers)


def shown(value: float, unit: str) -> str:
    """Return a value in three digits with its unit."""
    number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{number} {unit}".rstrip()


class Benchmark:
    """One run of one file: its options, its rows, and what is printed and written."""

    def __init__(self, file: str, question: str, argv: Sequence[str] | None = None) -> None:
        parser = argparse.ArgumentParser(description=question, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--quick", action="store_true", help="small sizes and few rounds: does it work?")
        parser.add_argument("--results", type=Path, help="where CSV and picture go")
        options = parser.parse_args(argv)
        self.name = Path(file).stem.removeprefix("bench_")
        self.quick: bool = options.quick
        self.rounds = QUICK_ROUNDS if self.quick else ROUNDS
        self.folder: Path = options.results or (RESULTS / "quick" if self.quick else RESULTS)
        self.rows: list[Row] = []
        self.watch, self.heading, self.commit = Watch(), "", commit()
        print(f"{self.name}: {question.splitlines()[0]}")
        print(f"  {machine()}")
        print(f"  {versions()}")
        if self.quick:
            print("  quick: small sizes and few rounds, not a result", flush=True)

    def add(
        self,
        what: str,
        values: npt.ArrayLike,
        unit: str = RATIO,
        bar: str = "",
        *,
        threads: int = 1,
        sizes: str = "",
    ) -> None:
        """Add one result: the median of these values, one per round."""
        low, value, high = np.quantile(np.atleast_1d(np.asarray(values, dtype=float)), (0.25, 0.5, 0.75))
        date = datetime.now(UTC).date().isoformat()
        row = Row(
            self.name, what, float(value), float(low), float(high), unit, bar, threads, sizes, np.size(values),
            self.quick, date, float("nan"), machine(), versions(), self.commit,
        )  # fmt: skip
        self.rows.append(row)
        verdict = "" if row.met is None else f"   target {BARS[bar]}: {'met' if row.met else 'MISSED'}"
        spread = f" ({shown(row.low, '')} to {shown(row.high, '')})" if row.rounds > 1 else ""
        heading = f"{sizes}; threads: {threads}; runs: {row.rounds}".removeprefix("; ")
        if heading != self.heading:
            print(f"  {heading}")
        self.heading = heading
        print(f"    {what}: {shown(row.value, unit)}{spread}{verdict}", flush=True)

    def finish(self) -> None:
        """Write the CSV and the picture."""
        others = self.watch.others()
        self.rows = [replace(row, others=others) for row in self.rows]
        print(
            f"  other processes kept {others:.1f} of {cores()} cores busy meanwhile; {self.watch.wall():.0f} s in total"
        )
        write_rows(self.folder / f"{self.name}.csv", self.rows)
        draw_rows(self.folder / f"{self.name}.png", self.rows)
        print(f"  written to {os.path.relpath(self.folder)}/{self.name}.csv and .png", flush=True)
